//! Metrics for Prometheus: text to scrape, text of a recording to import, a dashboard and alert rules.
//!
//! All text is in Prometheus' text format 0.0.4, which every Prometheus scrapes and node_exporter's textfile collector
//! reads. `promtool` imports a recording only as OpenMetrics, with timestamps in seconds and a last line `# EOF`, but
//! accepts everything else in the form of the text format. The text is written here rather than by `prometheus-client`,
//! which has neither timestamps nor the text format. A test lets a real Prometheus read all of it. All metrics are in
//! the table below.

#[cfg(test)]
mod tests;

use std::io::Write;

use Columns::{Basic, Discards, Flushes, Partition};
use Value::{Real, Whole};
use Values::{Cgroup, Device, Host, Kernel};
use jiff::Timestamp;

use crate::attribution::Limit;
use crate::counters::{Columns, Counters};
use crate::incidents::Told;
use crate::judge::{Compared, RateUnit, Verdict};
use crate::report::json_csv::owner_paths;
use crate::sanitize::sanitize;
use crate::totals::{
    Buckets, DeviceSnapshot, LATENCY_BOUNDS_MS, LimitedCgroup, MetricsSnapshot, QUEUE_BOUNDS,
};
use crate::units::SECTOR_BYTES;

/// The value of the header `Content-Type`.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

pub const ALERT_RULES: &str = include_str!("alert_rules.yml");

/// Unit tests of the alert rules, for `promtool test rules`. They expect the rules in a file called
/// `blkstat-alerts.yml`.
pub const ALERT_TESTS: &str = include_str!("alert_tests.yml");

/// Rules that compare each disk with its peers, and each host with the others.
pub const PEER_RULES: &str = include_str!("peer_rules.yml");

/// Returns the families of metrics with their meanings, for the manual.
pub(super) fn metrics() -> impl Iterator<Item = (&'static str, &'static str)> {
    FAMILIES.iter().map(|family| (family.name, family.help))
}

/// Returns the metrics for a scrape.
pub fn metrics_text(snapshot: &MetricsSnapshot) -> Vec<u8> {
    let mut out = Vec::new();
    let mut metrics = Metrics::new(None, "", &mut out);
    for family in FAMILIES {
        metrics.push_metadata(family);
        family.write(snapshot, &mut metrics);
    }
    out
}

/// Returns labels for every metric of a recording, given by their names and values: it lacks those that Prometheus adds
/// when it scrapes, such as `instance`.
pub fn common_labels(labels: &[(String, String)]) -> String {
    let mut text = Vec::new();
    for (name, value) in labels {
        if !text.is_empty() {
            text.push(b',');
        }
        push_label(name, value, &mut text);
    }
    String::from_utf8_lossy(&text).into_owned()
}

/// Writes all metadata, which precede the metrics of a recording, for `promtool tsdb create-blocks-from openmetrics`.
///
/// The metrics of one point in time after another follow, so that a recording of any length takes little memory.
/// Prometheus accepts this, although OpenMetrics requires all points of a metric to be together, which would take memory
/// for the whole recording. The last line is [`END`].
pub fn push_metadata(out: &mut Vec<u8>) {
    let mut metrics = Metrics::new(None, "", out);
    for family in FAMILIES {
        metrics.push_metadata(family);
    }
}

/// Writes the metrics at one point in time with these labels; nothing if that time is not known.
pub fn push_metrics(snapshot: &MetricsSnapshot, labels: &str, out: &mut Vec<u8>) {
    if snapshot.at.is_none() {
        return;
    }
    let mut metrics = Metrics::new(snapshot.at, labels, out);
    for family in FAMILIES {
        family.write(snapshot, &mut metrics);
    }
}

/// The text after the last point in time.
pub const END: &[u8] = b"# EOF\n";

/// The dashboard as JSON. Grafana asks for the data source when the dashboard is imported.
pub const DASHBOARD: &str = include_str!("dashboard.json");

#[derive(Clone, Copy, Debug, PartialEq)]
enum Value {
    Whole(u64),
    Real(f64),
}

/// A label: its name and its value.
type Label<'a> = (&'a str, &'a str);

/// The names of all labels that metrics have.
pub const LABELS: [&str; 21] = [
    "begin_known",
    "cause",
    "cgroup",
    "device",
    "direction",
    "identity",
    "incident",
    "kind",
    "le",
    "model",
    "name",
    "owner",
    "pod_uid",
    "pv",
    "quantile",
    "role",
    "serial",
    "source",
    "verdict",
    "version",
    "victim",
];

/// Writes metrics at the end of a text.
struct Metrics<'a> {
    /// The name of the family whose metrics are written.
    family: &'static str,
    /// The labels of the device or cgroup.
    labels: Vec<Label<'a>>,
    /// The labels of every metric.
    common_labels: &'a str,
    /// The timestamp of every metric, with the blank before it; empty for none.
    timestamp: String,
    out: &'a mut Vec<u8>,
}

impl<'a> Metrics<'a> {
    /// Creates a writer of metrics at one point in time, or without timestamps, all with these labels.
    fn new(at: Option<Timestamp>, common_labels: &'a str, out: &'a mut Vec<u8>) -> Self {
        // Prometheus stores milliseconds.
        let timestamp = at
            .map(|at| format!(" {:.3}", at.as_millisecond() as f64 / 1e3))
            .unwrap_or_default();
        Self {
            family: "",
            labels: Vec::new(),
            common_labels,
            timestamp,
            out,
        }
    }

    /// Writes the lines that precede the metrics of a family.
    fn push_metadata(&mut self, family: &Family) {
        let (name, help, kind) = (family.name, family.help, family.kind());
        // Writing to a Vec cannot fail.
        let _ = write!(self.out, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    fn push(&mut self, labels: &[Label<'_>], value: Value) {
        self.push_line("", labels, value);
    }

    /// Writes a histogram, given the upper bounds of its buckets and the sum of all observations.
    fn push_histogram<const N: usize>(
        &mut self,
        labels: &[Label<'_>],
        bounds: &[f64; N],
        buckets: &Buckets<N>,
        sum: f64,
    ) {
        let mut cumulative = 0;
        for (bound, count) in bounds.iter().zip(buckets.within) {
            cumulative = count.saturating_add(cumulative);
            // OpenMetrics requires a decimal point in every bound.
            let bound = format!("{bound:?}");
            self.push_line(
                "_bucket",
                &[labels, &[("le", &bound)]].concat(),
                Value::Whole(cumulative),
            );
        }
        let count = Value::Whole(buckets.count);
        self.push_line("_bucket", &[labels, &[("le", "+Inf")]].concat(), count);
        self.push_line("_sum", labels, Value::Real(sum));
        self.push_line("_count", labels, count);
    }

    fn push_line(&mut self, suffix: &str, labels: &[Label<'_>], value: Value) {
        self.out.extend_from_slice(self.family.as_bytes());
        self.out.extend_from_slice(suffix.as_bytes());
        let mut separator = b'{';
        if !self.common_labels.is_empty() {
            self.out.push(std::mem::replace(&mut separator, b','));
            self.out.extend_from_slice(self.common_labels.as_bytes());
        }
        for (name, value) in self.labels.iter().chain(labels) {
            debug_assert!(LABELS.contains(name), "{name} is missing in LABELS");
            self.out.push(std::mem::replace(&mut separator, b','));
            push_label(name, value, self.out);
        }
        self.out
            .extend_from_slice(if separator == b',' { b"}" } else { b"" });
        // Writing to a Vec cannot fail.
        let _ = match value {
            Value::Whole(value) => writeln!(self.out, " {value}{}", self.timestamp),
            Value::Real(value) => writeln!(self.out, " {value}{}", self.timestamp),
        };
    }
}

/// Appends a label. Backslashes, quotes and line feeds are escaped as the format requires; characters that control a
/// terminal are replaced, because people also look at metrics on terminals.
fn push_label(name: &str, value: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"=\"");
    for byte in sanitize(value).bytes() {
        match byte {
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'"' => out.extend_from_slice(b"\\\""),
            byte => out.push(byte),
        }
    }
    out.push(b'"');
}

/// A family of metrics: a name, a type and a description for all metrics that differ only in their labels.
#[derive(Clone, Copy)]
struct Family {
    /// Its name: that of its metrics, or what the names of a histogram's metrics begin with.
    name: &'static str,
    help: &'static str,
    values: Values,
}

#[derive(Clone, Copy)]
enum Values {
    /// One value of the host or of blkstat itself.
    Host(fn(&MetricsSnapshot) -> Option<Value>),
    /// A counter of the kernel for each device, if it prints these columns.
    Kernel(Columns, fn(&Counters) -> Value),
    /// Metrics of each device.
    Device(fn(&DeviceSnapshot, &mut Metrics<'_>)),
    /// Metrics of each cgroup that has limits.
    Cgroup(fn(&LimitedCgroup, &mut Metrics<'_>)),
}

impl Family {
    /// Its type, as the text format names it.
    fn kind(&self) -> &'static str {
        match self.values {
            _ if self.name.ends_with("_total") => "counter",
            Device(_) if self.name.contains("_interval_") => "histogram",
            _ => "gauge",
        }
    }

    /// Writes its metrics, if they have values.
    fn write<'a>(&self, snapshot: &'a MetricsSnapshot, metrics: &mut Metrics<'a>) {
        metrics.family = self.name;
        match self.values {
            Host(value) => {
                metrics.labels = match self.name {
                    BUILD => vec![("version", env!("CARGO_PKG_VERSION"))],
                    _ => Vec::new(),
                };
                if let Some(value) = value(snapshot) {
                    metrics.push(&[], value);
                }
            }
            Cgroup(write) => {
                for cgroup in &snapshot.cgroups {
                    let path = cgroup.cgroup.as_deref().unwrap_or("other");
                    metrics.labels = vec![("device", &cgroup.device), ("cgroup", path)];
                    write(cgroup, metrics);
                }
            }
            Kernel(..) | Device(_) => {
                for device in &snapshot.devices {
                    metrics.labels = vec![("device", &device.info.node.name)];
                    self.write_device(device, metrics);
                }
            }
        }
    }

    fn write_device(&self, device: &DeviceSnapshot, metrics: &mut Metrics<'_>) {
        match self.values {
            Kernel(columns, value) => {
                let counters = &device.counters;
                if counters.columns >= columns {
                    metrics.push(&[], value(counters));
                }
            }
            Device(write) => write(device, metrics),
            Host(_) | Cgroup(_) => {}
        }
    }
}

const fn family(name: &'static str, values: Values, help: &'static str) -> Family {
    Family { name, help, values }
}

impl Metrics<'_> {
    fn latency(&mut self, direction: &str, requests: &Buckets<{ LATENCY_BOUNDS_MS.len() }>) {
        let bounds = LATENCY_BOUNDS_MS.map(|ms| ms / 1000.0);
        let labels = [("direction", direction)];
        self.push_histogram(&labels, &bounds, requests, requests.sum / 1e3);
    }

    fn limits(&mut self, limits: &[Limit], unit: RateUnit) {
        for limit in limits.iter().filter(|limit| limit.unit == unit) {
            let labels = [
                ("direction", limit.direction.name()),
                ("source", limit.source.name()),
            ];
            self.push(&labels, Value::Real(limit.value * unit.size()));
        }
    }

    fn incident(&mut self, told: &Told) {
        let Some(begin) = told.begin.at else {
            return;
        };
        let begin_is_known = told.begin_is_known.to_string();
        let labels = [
            ("incident", &*told.id.to_string()),
            ("victim", &told.victim.device),
            ("cause", told.cause.name()),
            ("owner", &owner_paths(told).unwrap_or_default()),
            ("begin_known", &begin_is_known),
        ];
        self.push(&labels, Value::Real(begin.as_millisecond() as f64 / 1e3));
    }

    /// Pushes a value for each of the directions whose latency is compared with that of the unloaded device.
    fn compared(&mut self, device: &DeviceSnapshot, value: impl Fn(&Compared) -> f64) {
        let of_kinds = &device.totals.sum.compared;
        for (direction, compared) in ["read", "write"].into_iter().zip(of_kinds) {
            self.push(&[("direction", direction)], Value::Real(value(compared)));
        }
    }
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

/// The name of the family whose label is the version.
const BUILD: &str = "blkstat_build_info";

/// All families. Each is on the dashboard, in a rule, or is what others are joined with: every other one would be paid for
/// by all hosts, and seen by nobody.
const FAMILIES: &[Family] = &[
    family(BUILD, Host(|_| Some(Whole(1))), "The version of blkstat."),
    family(
        "blkstat_last_sample_timestamp_seconds",
        Host(|s| Some(Real(s.at?.as_millisecond() as f64 / 1e3))),
        "Time of the last sample, which is the time of all metrics.",
    ),
    family(
        "blkstat_intervals_total",
        Host(|s| Some(Whole(s.intervals))),
        "Intervals between two samples since the start of blkstat.",
    ),
    family(
        "blkstat_missed_samples_total",
        Host(|s| Some(Whole(s.missed_samples))),
        "Samples that were due and could not be taken in time; the interval around them is longer.",
    ),
    family(
        "blkstat_pressure_io_waiting_seconds_total",
        Host(|s| from_us(s.io_pressure?.some_us)),
        "Time in which some task waited for I/O (PSI). Asynchronous I/O does not count.",
    ),
    family(
        "blkstat_pressure_io_stalled_seconds_total",
        Host(|s| from_us(s.io_pressure?.full_us)),
        "Time in which all tasks that had work waited for I/O (PSI).",
    ),
    family(
        "blkstat_disk_info",
        Device(|device, metrics| {
            let info = &device.info;
            let mut labels = vec![
                ("name", info.name()),
                ("kind", info.node.kind.name()),
                ("role", info.role),
                ("model", info.node.model.as_deref().unwrap_or_default()),
                ("serial", info.node.serial.as_deref().unwrap_or_default()),
                (
                    "identity",
                    info.node.identity.as_deref().unwrap_or_default(),
                ),
            ];
            if let Some((volume, pod)) = info.kubernetes_volume() {
                labels.extend([("pv", volume), ("pod_uid", pod)]);
            }
            metrics.push(&labels, Whole(1));
        }),
        "Names of the device and its place in the stack. Sums over the role 'physical' count each request once.",
    ),
    family(
        "blkstat_disk_reads_completed_total",
        Kernel(Partition, |counters| Whole(counters.reads.ios)),
        "Reads completed.",
    ),
    family(
        "blkstat_disk_reads_merged_total",
        Kernel(Basic, |counters| Whole(counters.reads.merges)),
        "Reads merged with an adjacent one before they were issued.",
    ),
    family(
        "blkstat_disk_read_bytes_total",
        Kernel(Partition, |counters| bytes(counters.reads.sectors)),
        "Bytes read.",
    ),
    family(
        "blkstat_disk_read_time_seconds_total",
        Kernel(Basic, |counters| from_ms(counters.reads.ms)),
        "Time from start to completion, summed over all reads.",
    ),
    family(
        "blkstat_disk_writes_completed_total",
        Kernel(Partition, |counters| Whole(counters.writes.ios)),
        "Writes completed.",
    ),
    family(
        "blkstat_disk_writes_merged_total",
        Kernel(Basic, |counters| Whole(counters.writes.merges)),
        "Writes merged with an adjacent one before they were issued.",
    ),
    family(
        "blkstat_disk_written_bytes_total",
        Kernel(Partition, |counters| bytes(counters.writes.sectors)),
        "Bytes written.",
    ),
    family(
        "blkstat_disk_write_time_seconds_total",
        Kernel(Basic, |counters| from_ms(counters.writes.ms)),
        "Time from start to completion, summed over all writes.",
    ),
    family(
        "blkstat_disk_io_time_seconds_total",
        Kernel(Basic, |counters| from_ms(counters.busy_ms)),
        "Time with a request in flight, as the kernel counts it.",
    ),
    family(
        "blkstat_disk_io_time_weighted_seconds_total",
        Kernel(Basic, |counters| from_ms(counters.weighted_ms)),
        "Time multiplied by the requests in flight. Its rate is the mean queue.",
    ),
    family(
        "blkstat_disk_discards_completed_total",
        Kernel(Discards, |counters| Whole(counters.discards.ios)),
        "Discards completed.",
    ),
    family(
        "blkstat_disk_flush_requests_total",
        Kernel(Flushes, |counters| Whole(counters.flushes)),
        "Flushes completed.",
    ),
    family(
        "blkstat_disk_flush_requests_time_seconds_total",
        Kernel(Flushes, |counters| from_ms(counters.flush_ms)),
        "Time from start to completion, summed over all flushes.",
    ),
    family(
        "blkstat_disk_verdict_seconds_total",
        Device(|device, metrics| {
            for (verdict, seconds) in device.totals.sum.times.iter() {
                let verdict = verdict.map_or("unknown", Verdict::name);
                metrics.push(&[("verdict", verdict)], Real(seconds));
            }
        }),
        "Seconds with each verdict since the start of blkstat; 'unknown' is time without data. See \
         'blkstat help verdicts'.",
    ),
    family(
        "blkstat_disk_incident_begin_timestamp_seconds",
        Device(|device, metrics| {
            if let Some(incident) = &device.incident {
                metrics.incident(incident);
            }
        }),
        "Beginning of the incident that the device is part of; no series without one. Labels: its number, the \
         topmost affected device, the cause, the cgroup responsible, and whether the beginning was observed \
         ('false': it may have begun earlier).",
    ),
    family(
        "blkstat_disk_stalled_seconds_total",
        Device(|d, m| m.push(&[], Real(d.totals.stalled_s))),
        "Seconds in intervals in which requests were in flight and none completed, since the start of \
         blkstat.",
    ),
    family(
        "blkstat_disk_interval_latency_seconds",
        Device(|device, metrics| {
            metrics.latency("read", &device.totals.reads);
            metrics.latency("write", &device.totals.writes);
            if device.counters.columns >= Discards {
                metrics.latency("discard", &device.totals.discards);
            }
        }),
        "Requests by the mean latency of the interval in which they completed. These are not percentiles of \
         requests: slow ones hide among the fast ones of an interval. Sum and count are exact.",
    ),
    family(
        "blkstat_disk_interval_queue",
        Device(|device, metrics| {
            let queue = &device.totals.queue;
            metrics.push_histogram(&[], &QUEUE_BOUNDS, queue, queue.sum);
        }),
        "Intervals by their mean queue, the requests waiting or being served. Reveals bursts that the average \
         between two scrapes hides.",
    ),
    family(
        "blkstat_disk_compared_time_seconds_total",
        Device(|d, m| {
            m.compared(d, |of| of.taken_ms / 1e3);
        }),
        "Time taken by the requests whose unloaded latency is known. Divided by \
         blkstat_disk_unloaded_time_seconds_total it is the saturation: latency as a multiple of the \
         highest possible unloaded latency.",
    ),
    family(
        "blkstat_disk_unloaded_time_seconds_total",
        Device(|d, m| {
            m.compared(d, |of| of.unloaded_ms / 1e3);
        }),
        "Longest time that the requests of blkstat_disk_compared_time_seconds_total would have taken on the \
         unloaded device.",
    ),
    family(
        "blkstat_disk_unloaded_latency_seconds",
        Device(|device, metrics| {
            for (direction, unloaded) in ["read", "write"].into_iter().zip(device.totals.unloaded) {
                if let Some((ms, source)) = unloaded {
                    metrics.push(
                        &[("direction", direction), ("source", source.name())],
                        Real(ms / 1e3),
                    );
                }
            }
        }),
        "Baseline: the highest possible unloaded latency with which requests were last compared, and its \
         source.",
    ),
    family(
        "blkstat_disk_limit_iops",
        Device(|d, m| m.limits(&d.limits, RateUnit::Requests)),
        "Known limits in requests per second: the given one (--cap), and the one that the device reached \
         last, set by a cgroup or inferred from a constant rate.",
    ),
    family(
        "blkstat_disk_limit_bytes_per_second",
        Device(|d, m| m.limits(&d.limits, RateUnit::Kib)),
        "Known limits in bytes per second, with their sources.",
    ),
    family(
        "blkstat_disk_latency_over_peers_ratio",
        Device(|d, m| {
            for (direction, times) in ["read", "write"].into_iter().zip(d.over_peers) {
                times
                    .into_iter()
                    .for_each(|times| m.push(&[("direction", direction)], Real(times)));
            }
        }),
        "Moving average of latency divided by the median of the peers: other disks of the same model or array \
         with a similar load.",
    ),
    family(
        "blkstat_cgroup_at_limit_seconds_total",
        Cgroup(|c, m| m.push(&[], Real(c.at_limit_s))),
        "Seconds in which the cgroup was at one of its own limits on the device, such as io.max; 'other' \
         is the sum over cgroups beyond the first hundred.",
    ),
];

#[cfg(test)]
mod dashboard_tests {
    use serde_json::Value;

    use super::*;
    use crate::judge::Verdict;

    /// The columns of Grafana's grid.
    const GRID_COLUMNS: u64 = 24;

    /// Returns the expressions of all panels.
    fn expressions() -> Vec<String> {
        let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
        let panels = dashboard["panels"].as_array().unwrap().iter();
        let queries = panels.flat_map(|panel| panel["targets"].as_array().unwrap());
        queries
            .map(|query| query["expr"].as_str().unwrap().to_owned())
            .collect()
    }

    #[test]
    fn every_metric_is_used_and_every_used_metric_exists() {
        let texts = [&expressions().join(" "), ALERT_RULES, PEER_RULES].join(" ");
        let words = texts.split(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != ':');
        let is_metric = |word: &&str| word.starts_with("blkstat_");
        let used: std::collections::BTreeSet<&str> = words.filter(is_metric).collect();
        // Joined by the version, as in dashboards about all hosts.
        let mut unused = std::collections::BTreeSet::from([BUILD]);
        let mut known = Vec::new();
        for family in FAMILIES {
            let suffixes: &[&str] = match family.kind() {
                "histogram" => &["_bucket", "_sum", "_count"],
                _ => &[""],
            };
            let names = suffixes
                .iter()
                .map(|suffix| format!("{}{suffix}", family.name));
            let names: Vec<String> = names.collect();
            if !names.iter().any(|name| used.contains(name.as_str())) {
                assert!(unused.remove(family.name), "nobody uses {}", family.name);
            }
            known.extend(names);
        }
        assert!(unused.is_empty());
        for name in used {
            assert!(known.iter().any(|known| known == name), "{name}");
        }
    }

    #[test]
    fn panels_have_identifiers_of_their_own_and_units_that_grafana_knows() {
        let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
        let panels = dashboard["panels"].as_array().unwrap();
        let ids: std::collections::BTreeSet<u64> = panels
            .iter()
            .map(|panel| panel["id"].as_u64().unwrap())
            .collect();
        assert_eq!(ids.len(), panels.len());
        // All units are in the list of @grafana/data 13.2.
        let units = [
            "none",
            "short",
            "s",
            "bytes",
            "Bps",
            "iops",
            "percentunit",
            "dateTimeAsIso",
        ];
        for panel in panels {
            let unit = panel["fieldConfig"]["defaults"]["unit"].as_str().unwrap();
            assert!(units.contains(&unit), "{}: {unit}", panel["title"]);
        }
    }

    #[test]
    fn panels_fill_the_grid_without_overlap() {
        let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
        let mut cells = std::collections::BTreeSet::new();
        for panel in dashboard["panels"].as_array().unwrap() {
            let at = |key: &str| panel["gridPos"][key].as_u64().unwrap();
            for x in at("x")..at("x") + at("w") {
                assert!(x < GRID_COLUMNS);
                for y in at("y")..at("y") + at("h") {
                    assert!(cells.insert((x, y)), "{}", panel["title"]);
                }
            }
        }
    }

    #[test]
    fn the_timeline_of_verdicts_has_all_of_them_by_severity() {
        let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
        let panels = dashboard["panels"].as_array().unwrap();
        let timeline = panels
            .iter()
            .find(|panel| panel["type"] == "state-timeline")
            .unwrap();
        let names = &timeline["fieldConfig"]["defaults"]["mappings"][0]["options"];
        let query = timeline["targets"][0]["expr"].as_str().unwrap();
        // Level 0 stands for no verdict.
        let verdicts = Verdict::ALL.map(|verdict| (verdict as u8 + 1, verdict.name()));
        assert_eq!(names.as_object().unwrap().len(), verdicts.len() + 1);
        for (level, name) in verdicts.into_iter().chain([(0, "unknown")]) {
            assert_eq!(names[level.to_string()]["text"], name);
            assert!(
                query.contains(&format!(
                    "{level} * (rate(blkstat_disk_verdict_seconds_total{{"
                )),
                "{name}"
            );
            assert!(
                query.contains(&format!(",verdict=\"{name}\"}}[$__rate_interval])")),
                "{name}"
            );
        }
    }
}
