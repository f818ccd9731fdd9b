//! The metrics, as rows of one table. The counters of the kernel have node_exporter's names after `node_disk_`, and its
//! units.

use std::sync::LazyLock;
use std::time::Duration;

use super::{Metrics, Value};
use crate::analysis::RateUnit;
use crate::counters::{Columns, Counters, FACTS, Fact, FactValue, Missing};
use crate::intervals::{
    Buckets, Cause, DeviceSnapshot, Incident, KnownLimit, LATENCY_BOUNDS_MS, LimitedCgroup, MetricsSnapshot,
    QUEUE_BOUNDS, SaturationTotals,
};
use crate::metrics::in_flight;
use crate::units::SECTOR_BYTES;

/// A family of metrics: a name, a type and a description for all metrics that differ only in their labels.
#[derive(Clone, Copy)]
pub(super) struct Family {
    /// Its name: that of its metrics, or what the names of a histogram's metrics begin with.
    pub(super) name: &'static str,
    pub(super) help: &'static str,
    values: Values,
}

#[derive(Clone, Copy)]
enum Values {
    /// One value of the host or of blkstat itself, given the time between samples if that is known.
    Host(fn(&MetricsSnapshot, Option<Duration>) -> Option<Value>),
    /// A counter of the kernel for each device, if it prints these columns.
    Kernel(Columns, fn(&Counters) -> Value),
    /// Metrics of each device.
    Device(fn(&DeviceSnapshot, &mut Metrics<'_>)),
    /// What the kernel says of the health of each device.
    Health(&'static Fact),
    /// Metrics of each cgroup that has limits.
    Cgroup(fn(&LimitedCgroup, &mut Metrics<'_>)),
}

impl Family {
    const fn help(self, help: &'static str) -> Self {
        Self { help, ..self }
    }

    /// Its type, as the text format names it.
    pub(super) fn kind(&self) -> &'static str {
        match self.values {
            _ if self.name.ends_with("_total") => "counter",
            Values::Device(_) if self.name.contains("_interval_") => "histogram",
            _ => "gauge",
        }
    }

    /// Writes its metrics, if they have values.
    pub(super) fn write<'a>(
        &self,
        snapshot: &'a MetricsSnapshot,
        interval: Option<Duration>,
        metrics: &mut Metrics<'a>,
    ) {
        (metrics.family, metrics.labels) = (self.name, Vec::new());
        if let Values::Host(value) = self.values {
            let version = [("version", env!("CARGO_PKG_VERSION"))];
            let labels = if self.name == BUILD { &version[..] } else { &[] };
            value(snapshot, interval).into_iter().for_each(|value| metrics.push(labels, value));
        }
        if let Values::Cgroup(write) = self.values {
            for cgroup in &snapshot.cgroups {
                let path = cgroup.cgroup.as_deref().unwrap_or("other");
                metrics.labels = vec![("device", &cgroup.device), ("cgroup", path)];
                write(cgroup, metrics);
            }
        }
        for device in &snapshot.devices {
            metrics.labels = vec![("device", &device.info.node.name)];
            match self.values {
                Values::Kernel(columns, value) => {
                    let Counters { columns: known, missing, .. } = device.counters;
                    if known >= columns && !is_missing(self.name, missing) {
                        metrics.push(&[], value(&device.counters));
                    }
                }
                Values::Device(write) => write(device, metrics),
                Values::Health(fact) => {
                    match device.health.as_ref().and_then(|health| health.value(fact.name)) {
                        Some(FactValue::Word(word)) => metrics.push(&[("state", word)], Whole(1)),
                        Some(FactValue::Number(number)) if fact.scale == 1.0 => {
                            metrics.push(&[], Whole(*number));
                        }
                        Some(FactValue::Number(number)) => {
                            metrics.push(&[], Real(*number as f64 * fact.scale));
                        }
                        None => {}
                    }
                }
                Values::Host(_) | Values::Cgroup(_) => {}
            }
        }
    }
}

const fn host(name: &'static str, value: fn(&MetricsSnapshot, Option<Duration>) -> Option<Value>) -> Family {
    Family { name, help: "", values: Values::Host(value) }
}

/// Returns whether a log lacks the counter of the kernel that a family shows.
fn is_missing(name: &str, missing: Missing) -> bool {
    let has = |word| name.contains(word);
    has("completed") && missing.ios
        || has("merged") && missing.merges
        || (has("bytes") || has("sectors")) && missing.sectors
        || has("io_time_seconds") && missing.busy_ms
        || has("io_time_weighted") && missing.weighted_ms
        || has("_time_seconds") && !has("io_time") && missing.ms
}

const fn kernel(name: &'static str, columns: Columns, value: fn(&Counters) -> Value) -> Family {
    Family { name, help: "", values: Values::Kernel(columns, value) }
}

const fn device(name: &'static str, write: fn(&DeviceSnapshot, &mut Metrics<'_>)) -> Family {
    Family { name, help: "", values: Values::Device(write) }
}

const fn cgroup(name: &'static str, write: fn(&LimitedCgroup, &mut Metrics<'_>)) -> Family {
    Family { name, help: "", values: Values::Cgroup(write) }
}

impl Metrics<'_> {
    fn latency(&mut self, direction: &str, requests: &Buckets<{ LATENCY_BOUNDS_MS.len() }>) {
        let bounds = LATENCY_BOUNDS_MS.map(|ms| ms / 1000.0);
        let labels = [("direction", direction)];
        self.push_histogram(&labels, &bounds, requests, requests.sum / 1e3);
    }

    fn limits(&mut self, limits: &[KnownLimit], unit: RateUnit, has_source: bool) {
        for limit in limits.iter().filter(|limit| limit.unit == unit) {
            let labels = [("direction", limit.direction.name()), ("source", limit.source)];
            self.push(&labels[..1 + usize::from(has_source)], Value::Real(limit.value()));
        }
    }

    fn incident(&mut self, incident: &Incident) {
        let Some(begin) = incident.begin.at else { return };
        let labels = [
            ("incident", &*incident.id.to_string()),
            ("victim", &incident.victim.device),
            ("cause", incident.cause.as_ref().map_or("", Cause::name)),
            ("owner", incident.owner.as_deref().unwrap_or_default()),
            ("begin_known", if incident.begin_is_known { "true" } else { "false" }),
        ];
        self.push(&labels, Value::Real(begin.as_millisecond() as f64 / 1e3));
    }

    /// Pushes a value for each of the directions whose latency is compared with that of the unloaded device.
    fn compared(&mut self, device: &DeviceSnapshot, value: impl Fn(&SaturationTotals) -> f64) {
        for (direction, totals) in compared(device) {
            self.push(&[("direction", direction)], Value::Real(value(totals)));
        }
    }
}

fn compared(device: &DeviceSnapshot) -> [(&'static str, &SaturationTotals); 2] {
    [("read", &device.totals.read_saturation), ("write", &device.totals.write_saturation)]
}

fn bytes(sectors: u64) -> Value {
    Whole(sectors.saturating_mul(SECTOR_BYTES))
}

/// Seconds, from milliseconds.
fn from_ms(ms: u64) -> Value {
    Real(ms as f64 / 1e3)
}

/// Seconds, from microseconds.
fn from_us(us: u64) -> Option<Value> {
    Some(Real(us as f64 / 1e6))
}

use Columns::{Basic, Discards, Flushes, Partition};
use Value::{Real, Whole};

/// The name of the family whose label is the version.
const BUILD: &str = "blkstat_build_info";

/// All families.
pub(super) static FAMILIES: LazyLock<Vec<Family>> = LazyLock::new(|| {
    let of_fact =
        |fact: &'static Fact| Family { name: fact.metric, help: fact.meaning, values: Values::Health(fact) };
    let facts = FACTS.iter().filter(|fact| !fact.metric.is_empty());
    OWN_FAMILIES.iter().copied().chain(facts.map(of_fact)).collect()
});

/// The families beside those of [`FACTS`].
const OWN_FAMILIES: &[Family] = &[
    host(BUILD, |_, _| Some(Whole(1))).help("The version of blkstat."),
    host("blkstat_sample_interval_seconds", |_, interval| Some(Real(interval?.as_secs_f64())))
        .help("Time between samples."),
    host("blkstat_last_sample_timestamp_seconds", |s, _| {
        Some(Real(s.at?.as_millisecond() as f64 / 1e3))
    })
    .help("Time of the last sample. All metrics are of that time."),
    host("blkstat_intervals_total", |s, _| Some(Whole(s.intervals)))
        .help("Intervals between two samples since the start of blkstat."),
    host("blkstat_missed_samples_total", |s, _| Some(Whole(s.missed_samples)))
        .help("Samples that were due and could not be taken in time; the interval around them is longer."),
    host("blkstat_skipped_cgroup_scans_total", |s, _| Some(Whole(s.skipped_scans)))
        .help("Scans of cgroups that were left out because they would have cost too much CPU time."),
    host("blkstat_procs_blocked", |s, _| s.host.blocked.map(Whole))
        .help("Tasks blocked on I/O at the time of the last sample."),
    host("blkstat_pressure_io_waiting_seconds_total", |s, _| from_us(s.host.pressure?.some_us))
        .help("Time in which some task waited for I/O (PSI). Asynchronous I/O does not count."),
    host("blkstat_pressure_io_stalled_seconds_total", |s, _| from_us(s.host.pressure?.full_us))
        .help("Time in which all tasks that had work waited for I/O (PSI)."),
    host("blkstat_pressure_memory_waiting_seconds_total", |s, _| from_us(s.host.memory_pressure?.some_us))
        .help("Time in which some task waited for memory (PSI)."),
    host("blkstat_pressure_memory_stalled_seconds_total", |s, _| from_us(s.host.memory_pressure?.full_us))
        .help("Time in which all tasks that had work waited for memory (PSI)."),
    device("blkstat_disk_info", |device, metrics| {
        let info = &device.info;
        let mut labels = vec![
            ("name", info.name()),
            ("kind", info.node.kind.name()),
            ("role", info.role),
            ("model", info.node.model.as_deref().unwrap_or_default()),
            ("serial", info.node.serial.as_deref().unwrap_or_default()),
            ("identity", info.node.identity.as_deref().unwrap_or_default()),
        ];
        if let Some((volume, pod)) = info.kubernetes_volume() {
            labels.extend([("pv", volume), ("pod_uid", pod)]);
        }
        metrics.push(&labels, Whole(1));
    })
    .help(
        "Names of the device and its place in the stack. Sums over the role 'physical' count each request \
         once.",
    ),
    kernel("blkstat_disk_reads_completed_total", Partition, |counters| Whole(counters.reads.ios))
        .help("Reads completed."),
    kernel("blkstat_disk_reads_merged_total", Basic, |counters| Whole(counters.reads.merges))
        .help("Reads merged with an adjacent one before they were issued."),
    kernel("blkstat_disk_read_bytes_total", Partition, |counters| bytes(counters.reads.sectors))
        .help("Bytes read."),
    kernel("blkstat_disk_read_time_seconds_total", Basic, |counters| from_ms(counters.reads.ms))
        .help("Time from start to completion, summed over all reads."),
    kernel("blkstat_disk_writes_completed_total", Partition, |counters| Whole(counters.writes.ios))
        .help("Writes completed."),
    kernel("blkstat_disk_writes_merged_total", Basic, |counters| Whole(counters.writes.merges))
        .help("Writes merged with an adjacent one before they were issued."),
    kernel("blkstat_disk_written_bytes_total", Partition, |counters| bytes(counters.writes.sectors))
        .help("Bytes written."),
    kernel("blkstat_disk_write_time_seconds_total", Basic, |counters| from_ms(counters.writes.ms))
        .help("Time from start to completion, summed over all writes."),
    device("blkstat_disk_io_now", |d, m| {
        in_flight(&d.counters).into_iter().for_each(|count| m.push(&[], Whole(count)));
    })
        .help("Requests in flight at the time of the last sample."),
    kernel("blkstat_disk_io_time_seconds_total", Basic, |counters| from_ms(counters.busy_ms))
        .help("Time with a request in flight, as the kernel counts it."),
    kernel("blkstat_disk_io_time_weighted_seconds_total", Basic, |counters| from_ms(counters.weighted_ms))
        .help("Time multiplied by the requests in flight. Its rate is the mean queue."),
    kernel("blkstat_disk_discards_completed_total", Discards, |counters| Whole(counters.discards.ios))
        .help("Discards completed."),
    kernel("blkstat_disk_discards_merged_total", Discards, |counters| Whole(counters.discards.merges))
        .help("Discards merged with an adjacent one before they were issued."),
    kernel("blkstat_disk_discarded_sectors_total", Discards, |counters| Whole(counters.discards.sectors))
        .help("Sectors of 512 bytes discarded."),
    kernel("blkstat_disk_discard_time_seconds_total", Discards, |counters| from_ms(counters.discards.ms))
        .help("Time from start to completion, summed over all discards."),
    kernel("blkstat_disk_flush_requests_total", Flushes, |counters| Whole(counters.flushes))
        .help("Flushes completed."),
    kernel("blkstat_disk_flush_requests_time_seconds_total", Flushes, |counters| from_ms(counters.flush_ms))
        .help("Time from start to completion, summed over all flushes."),
    device("blkstat_disk_verdict_seconds_total", |device, metrics| {
        for (verdict, seconds) in device.totals.verdicts.iter() {
            metrics.push(&[("verdict", verdict)], Real(seconds));
        }
    })
    .help(
        "Seconds with each verdict since the start of blkstat; 'unknown' without one. See 'blkstat help \
         verdicts'.",
    ),
    device("blkstat_disk_incident_begin_timestamp_seconds", |device, metrics| {
        if let Some(incident) = &device.incident {
            metrics.incident(incident);
        }
    })
    .help(
        "Time at which the incident began that the device belongs to; no series without one. The labels say its \
         number, the topmost device that suffers, the cause, the cgroup that owns it, and whether its beginning \
         was observed ('false': it may have begun earlier).",
    ),
    device("blkstat_disk_stalled_seconds_total", |d, m| m.push(&[], Real(d.totals.stalled_s)))
        .help(
            "Seconds in intervals in which requests were in flight and none completed, since the start of \
         blkstat.",
        ),
    device("blkstat_disk_interval_latency_seconds", |device, metrics| {
        metrics.latency("read", &device.totals.reads);
        metrics.latency("write", &device.totals.writes);
        if device.counters.columns >= Discards {
            metrics.latency("discard", &device.totals.discards);
        }
    })
    .help(
        "Requests by the mean latency of the interval in which they completed: not request percentiles, \
         since slow requests hide among fast ones of their interval. Sum and count are exact.",
    ),
    device("blkstat_disk_interval_queue", |device, metrics| {
        let queue = &device.totals.queue;
        metrics.push_histogram(&[], &QUEUE_BOUNDS, queue, queue.sum);
    })
    .help(
        "Intervals by their mean number of requests waiting or being served: it shows bursts that the \
         average between two scrapes hides.",
    ),
    device("blkstat_disk_compared_time_seconds_total", |d, m| {
        m.compared(d, |of| of.taken_ms / 1e3);
    })
    .help(
        "Time of the requests whose unloaded latency is known. Divided by \
         blkstat_disk_unloaded_time_seconds_total, it is the saturation: latency as a multiple of \
         unloaded latency.",
    ),
    device("blkstat_disk_unloaded_time_seconds_total", |d, m| {
        m.compared(d, |of| of.unloaded_ms / 1e3);
    })
    .help(
        "Time that the requests in blkstat_disk_compared_time_seconds_total would have taken on the \
         unloaded device.",
    ),
    device("blkstat_disk_unloaded_latency_seconds", |device, metrics| {
        for (direction, totals) in compared(device) {
            if let Some((ms, source)) = totals.baseline {
                metrics.push(&[("direction", direction), ("source", source.name())], Real(ms / 1e3));
            }
        }
    })
    .help(
        "Baseline: the unloaded latency that requests were compared with last, for requests of their \
         size, and its source.",
    ),
    device("blkstat_disk_limit_iops", |d, m| m.limits(&d.limits, RateUnit::Requests, true)).help(
        "Known limits in requests per second: the given one (--cap), and the one that the device reached \
         last, of a cgroup or inferred from a rate that stayed constant.",
    ),
    device("blkstat_disk_limit_bytes_per_second", |d, m| m.limits(&d.limits, RateUnit::Kib, true))
        .help("Known limits in bytes per second, with their sources."),
    device("blkstat_disk_latency_over_peers_ratio", |d, m| {
        for (direction, times) in ["read", "write"].into_iter().zip(d.over_peers) {
            times.into_iter().for_each(|times| m.push(&[("direction", direction)], Real(times)));
        }
    })
    .help(
        "Median over the last quarter of an hour of the latency over that of the peers: the other disks of the same model \
         or array that serve a like load.",
    ),
    cgroup("blkstat_cgroup_at_limit_seconds_total", |c, m| m.push(&[], Real(c.at_limit_s))).help(
        "Seconds in which the cgroup was at one of its own limits on the device, such as io.max; 'other' \
         is the sum over cgroups beyond the first hundred.",
    ),
    cgroup("blkstat_cgroup_limit_iops", |c, m| m.limits(&c.limits, RateUnit::Requests, false))
        .help("Limit of the cgroup on the device in requests per second, reached or not."),
    cgroup("blkstat_cgroup_limit_bytes_per_second", |c, m| {
        m.limits(&c.limits, RateUnit::Kib, false)
    })
    .help("Limit of the cgroup on the device in bytes per second, reached or not."),
];
