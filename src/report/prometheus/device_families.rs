//! The metrics of a device. The counters of the kernel have node_exporter's names after `node_disk_`, and its units.

use super::family::Family;
use super::text::{HistogramValue, Label, TextWriter, Value};
use crate::analysis::RateUnit;
use crate::counters::{Columns, Counters};
use crate::intervals::{
    DeviceSnapshot, KnownLimit, LATENCY_BOUNDS_MS, QUEUE_BOUNDS, SaturationTotals, TimedRequests,
};
use crate::metrics::in_flight;
use crate::units::SECTOR_BYTES;

/// The upper bounds of the buckets of latency, in seconds.
const LATENCY_BOUNDS_S: [f64; LATENCY_BOUNDS_MS.len()] = {
    let mut bounds = LATENCY_BOUNDS_MS;
    let mut index = 0;
    while index < bounds.len() {
        bounds[index] /= 1000.0;
        index += 1;
    }
    bounds
};

/// A family with one or more metrics for each device.
pub(super) struct DeviceFamily {
    pub(super) family: Family,
    values: DeviceValues,
}

/// The values of a device in a family.
enum DeviceValues {
    /// A counter of the kernel, if it prints these columns.
    Kernel(Columns, fn(&Counters) -> Value),
    Own(fn(&DeviceSnapshot, &mut Metrics<'_, '_>)),
}

/// Writes the metrics of a device in a family.
struct Metrics<'w, 't> {
    family: &'w Family,
    device: &'w str,
    text: &'w mut TextWriter<'t>,
}

impl Metrics<'_, '_> {
    fn push(&mut self, labels: &[Label<'_>], value: Value) {
        let labels = with_device(self.device, labels);
        self.text.metric(self.family, &labels, value);
    }

    fn histogram(&mut self, labels: &[Label<'_>], value: &HistogramValue<'_>) {
        let labels = with_device(self.device, labels);
        self.text.histogram(self.family, &labels, value);
    }

    fn latency(&mut self, direction: &str, requests: &TimedRequests) {
        let value = HistogramValue {
            bounds: &LATENCY_BOUNDS_S,
            within: &requests.buckets.within,
            count: requests.buckets.count(),
            sum: requests.ms as f64 / 1e3,
        };
        self.histogram(&[("direction", direction)], &value);
    }

    fn limits(&mut self, limits: &[KnownLimit], unit: RateUnit) {
        for limit in limits.iter().filter(|limit| limit.unit == unit) {
            let labels = [("direction", limit.direction.name()), ("source", limit.source.name())];
            self.push(&labels, Value::Real(limit.value()));
        }
    }
}

impl DeviceFamily {
    const fn kernel(
        name: &'static str,
        help: &'static str,
        columns: Columns,
        value: fn(&Counters) -> Value,
    ) -> Self {
        Self { family: Family::counter(name, help), values: DeviceValues::Kernel(columns, value) }
    }

    const fn own(family: Family, write: fn(&DeviceSnapshot, &mut Metrics<'_, '_>)) -> Self {
        Self { family, values: DeviceValues::Own(write) }
    }

    /// Writes the metrics of a device.
    pub(super) fn write(&self, device: &DeviceSnapshot, text: &mut TextWriter<'_>) {
        let mut metrics = Metrics { family: &self.family, device: &device.info.device, text };
        match self.values {
            DeviceValues::Kernel(columns, value) => {
                if device.counters.columns >= columns {
                    metrics.push(&[], value(&device.counters));
                }
            }
            DeviceValues::Own(write) => write(device, &mut metrics),
        }
    }
}

fn with_device<'l>(device: &'l str, labels: &[Label<'l>]) -> Vec<Label<'l>> {
    [("device", device)].into_iter().chain(labels.iter().copied()).collect()
}

/// Returns bytes, from a number of sectors.
fn bytes(sectors: u64) -> Value {
    Value::Whole(sectors.saturating_mul(SECTOR_BYTES))
}

/// Returns the two directions whose latency is compared with that of the unloaded device.
fn compared(device: &DeviceSnapshot) -> [(&'static str, &SaturationTotals); 2] {
    [("read", &device.totals.read_saturation), ("write", &device.totals.write_saturation)]
}

pub(super) const DEVICE_FAMILIES: &[DeviceFamily] = &[
    DeviceFamily::own(
        Family::gauge(
            "blkstat_disk_info",
            "Names of the device and its place in the stack. Sums over the role 'physical' count each request once.",
        ),
        |device, metrics| {
            let info = &device.info;
            let labels = [
                ("name", info.name.as_str()),
                ("kind", info.kind.name()),
                ("role", info.role.name()),
                ("model", &info.model),
                ("serial", &info.serial),
                ("identity", &info.identity),
            ];
            metrics.push(&labels, Value::Whole(1));
        },
    ),
    DeviceFamily::kernel(
        "blkstat_disk_reads_completed_total",
        "Reads completed.",
        Columns::Partition,
        |counters| Value::Whole(counters.reads.ios),
    ),
    DeviceFamily::kernel(
        "blkstat_disk_reads_merged_total",
        "Reads merged with an adjacent one before they were issued.",
        Columns::Basic,
        |counters| Value::Whole(counters.reads.merges),
    ),
    DeviceFamily::kernel("blkstat_disk_read_bytes_total", "Bytes read.", Columns::Partition, |counters| {
        bytes(counters.reads.sectors)
    }),
    DeviceFamily::kernel(
        "blkstat_disk_read_time_seconds_total",
        "Time from start to completion, summed over all reads.",
        Columns::Basic,
        |counters| Value::from_ms(counters.reads.ms),
    ),
    DeviceFamily::kernel(
        "blkstat_disk_writes_completed_total",
        "Writes completed.",
        Columns::Partition,
        |counters| Value::Whole(counters.writes.ios),
    ),
    DeviceFamily::kernel(
        "blkstat_disk_writes_merged_total",
        "Writes merged with an adjacent one before they were issued.",
        Columns::Basic,
        |counters| Value::Whole(counters.writes.merges),
    ),
    DeviceFamily::kernel(
        "blkstat_disk_written_bytes_total",
        "Bytes written.",
        Columns::Partition,
        |counters| bytes(counters.writes.sectors),
    ),
    DeviceFamily::kernel(
        "blkstat_disk_write_time_seconds_total",
        "Time from start to completion, summed over all writes.",
        Columns::Basic,
        |counters| Value::from_ms(counters.writes.ms),
    ),
    DeviceFamily::own(
        Family::gauge("blkstat_disk_io_now", "Requests in flight at the time of the last sample."),
        |device, metrics| {
            if let Some(requests) = in_flight(&device.counters) {
                metrics.push(&[], Value::Whole(requests));
            }
        },
    ),
    DeviceFamily::kernel(
        "blkstat_disk_io_time_seconds_total",
        "Time with a request in flight, as the kernel counts it.",
        Columns::Basic,
        |counters| Value::from_ms(counters.busy_ms),
    ),
    DeviceFamily::kernel(
        "blkstat_disk_io_time_weighted_seconds_total",
        "Time multiplied by the requests in flight. Its rate is the mean queue.",
        Columns::Basic,
        |counters| Value::from_ms(counters.weighted_ms),
    ),
    DeviceFamily::kernel(
        "blkstat_disk_discards_completed_total",
        "Discards completed.",
        Columns::Discards,
        |counters| Value::Whole(counters.discards.ios),
    ),
    DeviceFamily::kernel(
        "blkstat_disk_discards_merged_total",
        "Discards merged with an adjacent one before they were issued.",
        Columns::Discards,
        |counters| Value::Whole(counters.discards.merges),
    ),
    DeviceFamily::kernel(
        "blkstat_disk_discarded_sectors_total",
        "Sectors of 512 bytes discarded.",
        Columns::Discards,
        |counters| Value::Whole(counters.discards.sectors),
    ),
    DeviceFamily::kernel(
        "blkstat_disk_discard_time_seconds_total",
        "Time from start to completion, summed over all discards.",
        Columns::Discards,
        |counters| Value::from_ms(counters.discards.ms),
    ),
    DeviceFamily::kernel(
        "blkstat_disk_flush_requests_total",
        "Flushes completed.",
        Columns::Flushes,
        |counters| Value::Whole(counters.flushes),
    ),
    DeviceFamily::kernel(
        "blkstat_disk_flush_requests_time_seconds_total",
        "Time from start to completion, summed over all flushes.",
        Columns::Flushes,
        |counters| Value::from_ms(counters.flush_ms),
    ),
    DeviceFamily::own(
        Family::counter(
            "blkstat_disk_verdict_seconds_total",
            "Seconds with each verdict since the start of blkstat; 'unknown' without one. See 'blkstat help verdicts'.",
        ),
        |device, metrics| {
            for (verdict, seconds) in device.totals.verdicts.iter() {
                metrics.push(&[("verdict", verdict)], Value::Real(seconds));
            }
        },
    ),
    DeviceFamily::own(
        Family::counter(
            "blkstat_disk_stalled_seconds_total",
            "Seconds in intervals in which requests were in flight and none completed, since the start of blkstat.",
        ),
        |device, metrics| metrics.push(&[], Value::Real(device.totals.stalled_s)),
    ),
    DeviceFamily::own(
        Family::histogram(
            "blkstat_disk_interval_latency_seconds",
            "Requests by the mean latency of the interval in which they completed: not request percentiles, since slow requests \
             hide among fast ones of their interval. Sum and count are exact.",
        ),
        |device, metrics| {
            metrics.latency("read", &device.totals.reads);
            metrics.latency("write", &device.totals.writes);
            if device.counters.columns >= Columns::Discards {
                metrics.latency("discard", &device.totals.discards);
            }
        },
    ),
    DeviceFamily::own(
        Family::histogram(
            "blkstat_disk_interval_queue",
            "Intervals by their mean number of requests waiting or being served: it shows bursts that the average between two \
             scrapes hides.",
        ),
        |device, metrics| {
            let totals = &device.totals;
            let (within, count) = (&totals.queue.within, totals.queue.count());
            let value = HistogramValue { bounds: &QUEUE_BOUNDS, within, count, sum: totals.queue_sum };
            metrics.histogram(&[], &value);
        },
    ),
    DeviceFamily::own(
        Family::counter(
            "blkstat_disk_compared_time_seconds_total",
            "Time of the requests whose unloaded latency is known. Divided by blkstat_disk_unloaded_time_seconds_total, it is the \
             saturation: latency as a multiple of unloaded latency.",
        ),
        |device, metrics| {
            for (direction, totals) in compared(device) {
                metrics.push(&[("direction", direction)], Value::Real(totals.taken_ms / 1e3));
            }
        },
    ),
    DeviceFamily::own(
        Family::counter(
            "blkstat_disk_unloaded_time_seconds_total",
            "Time that the requests in blkstat_disk_compared_time_seconds_total would have taken on the unloaded device.",
        ),
        |device, metrics| {
            for (direction, totals) in compared(device) {
                metrics.push(&[("direction", direction)], Value::Real(totals.unloaded_ms / 1e3));
            }
        },
    ),
    DeviceFamily::own(
        Family::gauge(
            "blkstat_disk_unloaded_latency_seconds",
            "Baseline: the unloaded latency that requests were compared with last, for requests of their size, and its source.",
        ),
        |device, metrics| {
            for (direction, totals) in compared(device) {
                if let Some((ms, source)) = totals.baseline {
                    metrics
                        .push(&[("direction", direction), ("source", source.name())], Value::Real(ms / 1e3));
                }
            }
        },
    ),
    DeviceFamily::own(
        Family::gauge(
            "blkstat_disk_limit_iops",
            "Known limits in requests per second: the given one (--cap), and the one that the device reached last, of a cgroup or \
             inferred from a rate that stayed constant.",
        ),
        |device, metrics| metrics.limits(&device.limits, RateUnit::Requests),
    ),
    DeviceFamily::own(
        Family::gauge(
            "blkstat_disk_limit_bytes_per_second",
            "Known limits in bytes per second, with their sources.",
        ),
        |device, metrics| metrics.limits(&device.limits, RateUnit::Kib),
    ),
];
