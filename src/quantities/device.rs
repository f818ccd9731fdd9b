//! The quantities of a device, those of each kind of requests first.

use super::Quantity;
use super::Requests::{All, Discards, Flushes, Reads, ReadsAndWrites, Writes};
use super::Unit::{
    Count, Kib, KibPerSecond, Mean, Milliseconds, PerSecond, RequestPercent, TimePercent, Times,
};
use crate::judge::{IoDirection, Judged};
use crate::metrics::{Completed, DataFlag};

pub const READS_PER_S: Quantity = Quantity {
    name: "reads_per_s",
    title: "r/s",
    meaning: "reads completed per second",
    unit: PerSecond,
    requests: Reads,
    value: |of| of.interval.reads.per_s(),
};

pub const READ_KIB_PER_S: Quantity = Quantity {
    name: "read_kib_per_s",
    title: "rMB/s",
    meaning: "data read per second",
    unit: KibPerSecond,
    requests: Reads,
    value: |of| of.interval.reads.kib_per_s(),
};

pub const READ_MERGES_PER_S: Quantity = Quantity {
    name: "read_merges_per_s",
    title: "rrqm/s",
    meaning: "reads merged into others per second",
    unit: PerSecond,
    requests: Reads,
    value: |of| of.interval.reads.merges_per_s(),
};

pub const READ_MERGE_PCT: Quantity = Quantity {
    name: "read_merge_pct",
    title: "rmrg",
    meaning: "share of the reads that were merged into others before they were issued",
    unit: RequestPercent,
    requests: Reads,
    value: |of| of.interval.reads.merge_pct(),
};

pub const READ_AWAIT_MS: Quantity = Quantity {
    name: "read_await_ms",
    title: "r_await",
    meaning: "mean latency of the reads completed",
    unit: Milliseconds,
    requests: Reads,
    value: |of| of.interval.reads.await_ms(),
};

pub const READ_SIZE_KIB: Quantity = Quantity {
    name: "read_size_kib",
    title: "r_sz",
    meaning: "mean size of a read",
    unit: Kib,
    requests: Reads,
    value: |of| of.interval.reads.size_kib(),
};

pub const READ_QUEUE: Quantity = Quantity {
    name: "read_queue",
    title: "r_qu",
    meaning: "mean number of reads in the queue or being served",
    unit: Mean,
    requests: Reads,
    value: |of| of.interval.reads.queue(),
};

pub const READ_SATURATION: Quantity = Quantity {
    name: "read_saturation",
    title: "r_sat",
    meaning: "read saturation: latency as a multiple of the highest latency that the unloaded device may have for requests of that size; in an interval of several samples, only if it is known for 90% of the reads",
    unit: Times,
    requests: Reads,
    value: |of| of.saturation(IoDirection::Reads),
};

pub const WRITES_PER_S: Quantity = Quantity {
    name: "writes_per_s",
    title: "w/s",
    meaning: "writes completed per second",
    unit: PerSecond,
    requests: Writes,
    value: |of| of.interval.writes.per_s(),
};

pub const WRITE_KIB_PER_S: Quantity = Quantity {
    name: "write_kib_per_s",
    title: "wMB/s",
    meaning: "data written per second",
    unit: KibPerSecond,
    requests: Writes,
    value: |of| of.interval.writes.kib_per_s(),
};

pub const WRITE_MERGES_PER_S: Quantity = Quantity {
    name: "write_merges_per_s",
    title: "wrqm/s",
    meaning: "writes merged into others per second",
    unit: PerSecond,
    requests: Writes,
    value: |of| of.interval.writes.merges_per_s(),
};

pub const WRITE_MERGE_PCT: Quantity = Quantity {
    name: "write_merge_pct",
    title: "wmrg",
    meaning: "share of the writes that were merged into others before they were issued",
    unit: RequestPercent,
    requests: Writes,
    value: |of| of.interval.writes.merge_pct(),
};

pub const WRITE_AWAIT_MS: Quantity = Quantity {
    name: "write_await_ms",
    title: "w_await",
    meaning: "mean latency of the writes completed",
    unit: Milliseconds,
    requests: Writes,
    value: |of| of.interval.writes.await_ms(),
};

pub const WRITE_SIZE_KIB: Quantity = Quantity {
    name: "write_size_kib",
    title: "w_sz",
    meaning: "mean size of a write",
    unit: Kib,
    requests: Writes,
    value: |of| of.interval.writes.size_kib(),
};

pub const WRITE_QUEUE: Quantity = Quantity {
    name: "write_queue",
    title: "w_qu",
    meaning: "mean number of writes in the queue or being served",
    unit: Mean,
    requests: Writes,
    value: |of| of.interval.writes.queue(),
};

pub const WRITE_SATURATION: Quantity = Quantity {
    name: "write_saturation",
    title: "w_sat",
    meaning: "write saturation, defined like read saturation",
    unit: Times,
    requests: Writes,
    value: |of| of.saturation(IoDirection::Writes),
};

pub const DISCARDS_PER_S: Quantity = Quantity {
    name: "discards_per_s",
    title: "d/s",
    meaning: "discards completed per second",
    unit: PerSecond,
    requests: Discards,
    value: |of| of.interval.discards.per_s(),
};

pub const DISCARD_KIB_PER_S: Quantity = Quantity {
    name: "discard_kib_per_s",
    title: "dMB/s",
    meaning: "data discarded per second",
    unit: KibPerSecond,
    requests: Discards,
    value: |of| of.interval.discards.kib_per_s(),
};

pub const DISCARD_MERGES_PER_S: Quantity = Quantity {
    name: "discard_merges_per_s",
    title: "drqm/s",
    meaning: "discards merged into others per second",
    unit: PerSecond,
    requests: Discards,
    value: |of| of.interval.discards.merges_per_s(),
};

pub const DISCARD_MERGE_PCT: Quantity = Quantity {
    name: "discard_merge_pct",
    title: "dmrg",
    meaning: "share of the discards that were merged into others before they were issued",
    unit: RequestPercent,
    requests: Discards,
    value: |of| of.interval.discards.merge_pct(),
};

pub const DISCARD_AWAIT_MS: Quantity = Quantity {
    name: "discard_await_ms",
    title: "d_await",
    meaning: "mean latency of the discards completed",
    unit: Milliseconds,
    requests: Discards,
    value: |of| of.interval.discards.await_ms(),
};

pub const DISCARD_SIZE_KIB: Quantity = Quantity {
    name: "discard_size_kib",
    title: "d_sz",
    meaning: "mean size of a discard",
    unit: Kib,
    requests: Discards,
    value: |of| of.interval.discards.size_kib(),
};

pub const DISCARD_QUEUE: Quantity = Quantity {
    name: "discard_queue",
    title: "d_qu",
    meaning: "mean number of discards in the queue or being served",
    unit: Mean,
    requests: Discards,
    value: |of| of.interval.discards.queue(),
};

pub const FLUSHES_PER_S: Quantity = Quantity {
    name: "flushes_per_s",
    title: "f/s",
    meaning: "flushes completed per second",
    unit: PerSecond,
    requests: Flushes,
    value: |of| of.interval.flushes.per_s(),
};

pub const FLUSH_AWAIT_MS: Quantity = Quantity {
    name: "flush_await_ms",
    title: "f_await",
    meaning: "mean latency of the flushes completed",
    unit: Milliseconds,
    requests: Flushes,
    value: |of| of.interval.flushes.await_ms(),
};

pub const FLUSH_SATURATION: Quantity = Quantity {
    name: "flush_saturation",
    title: "f_sat",
    meaning: "latency of flushes as a multiple of the lowest seen",
    unit: Times,
    requests: Flushes,
    value: |of| of.saturation(IoDirection::Flushes),
};

pub const IOPS: Quantity = Quantity {
    name: "iops",
    title: "r+w/s",
    meaning: "reads and writes completed per second",
    unit: PerSecond,
    requests: ReadsAndWrites,
    value: |of| {
        let writes_per_s = of.interval.writes.per_s().unwrap_or(0.0);
        Some(of.interval.reads.per_s()? + writes_per_s)
    },
};

pub const AWAIT_MS: Quantity = Quantity {
    name: "await_ms",
    title: "rw_await",
    meaning: "mean latency of the reads and writes completed",
    unit: Milliseconds,
    requests: ReadsAndWrites,
    value: |of| of.interval.reads.beside(&of.interval.writes).await_ms(),
};

pub const CONCURRENCY: Quantity = Quantity {
    name: "concurrency",
    title: "rw_qu",
    meaning: "mean number of reads and writes in the queue or being served",
    unit: Mean,
    requests: ReadsAndWrites,
    value: |of| {
        let writes = of.interval.writes.queue().unwrap_or(0.0);
        Some(of.interval.reads.queue()? + writes)
    },
};

pub const REQUESTS_PER_S: Quantity = Quantity {
    name: "requests_per_s",
    title: "iops",
    meaning: "reads, writes and discards completed per second",
    unit: PerSecond,
    requests: All,
    value: |of| sum(data(of).map(Completed::per_s)),
};

pub const KIB_PER_S: Quantity = Quantity {
    name: "kib_per_s",
    title: "MB/s",
    meaning: "data read and written per second",
    unit: KibPerSecond,
    requests: ReadsAndWrites,
    value: |of| sum([&of.interval.reads, &of.interval.writes].map(Completed::kib_per_s)),
};

pub const LONGEST_AWAIT_MS: Quantity = Quantity {
    name: "longest_await_ms",
    title: "await",
    meaning: "the longest of the mean latencies of reads, writes and discards",
    unit: Milliseconds,
    requests: All,
    value: |of| max(data(of).map(Completed::await_ms)),
};

pub const SATURATION: Quantity = Quantity {
    name: "saturation",
    title: "sat",
    meaning: "the highest saturation of reads, writes and flushes",
    unit: Times,
    requests: All,
    value: |of| max(COMPARED.map(|requests| of.saturation(requests))),
};

pub const QUEUE: Quantity = Quantity {
    name: "queue",
    title: "queue",
    meaning: "mean number of requests of all kinds in the queue or being served",
    unit: Mean,
    requests: All,
    value: |of| of.interval.queue(),
};

pub const IN_FLIGHT: Quantity = Quantity {
    name: "in_flight",
    title: "inflt",
    meaning: "requests in flight at the end of the interval; no value if the kernel miscounted them",
    unit: Count,
    requests: All,
    value: |of| of.interval.in_flight.map(|count| count as f64),
};

pub const UTIL_PCT: Quantity = Quantity {
    name: "util_pct",
    title: "util",
    meaning: "share of the time with a request in flight, as the kernel counts it; 100% is not a limit by itself, as most devices serve several requests at once",
    unit: TimePercent,
    requests: All,
    value: |of| of.interval.util_pct(),
};

/// Without what cannot be right, for a mean over time.
pub const PLAUSIBLE_UTIL_PCT: Quantity = Quantity {
    meaning: "util that is not above its upper bound",
    value: |of| of.interval.util_pct().filter(|_| !is_doubtful(of)),
    ..UTIL_PCT
};

pub const DOUBTFUL_UTIL_PCT: Quantity = Quantity {
    name: "doubtful_util_pct",
    title: "util?",
    meaning: "util above its upper bound, which cannot be true",
    value: |of| of.interval.util_pct().filter(|_| is_doubtful(of)),
    ..UTIL_PCT
};

pub const UTIL_UPPER_BOUND_PCT: Quantity = Quantity {
    name: "util_upper_bound_pct",
    title: "≤util",
    meaning: "upper bound of the true util: request times in the interval plus requests still in flight, at most 100%; no value if the kernel miscounted the requests in flight",
    unit: TimePercent,
    requests: All,
    value: |of| of.interval.util_upper_bound_pct(),
};

/// The quantities that a history keeps, for charts.
pub static CHARTED: [Quantity; 25] = [
    READ_AWAIT_MS,
    WRITE_AWAIT_MS,
    FLUSH_AWAIT_MS,
    AWAIT_MS,
    READS_PER_S,
    WRITES_PER_S,
    IOPS,
    FLUSHES_PER_S,
    DISCARDS_PER_S,
    READ_KIB_PER_S,
    WRITE_KIB_PER_S,
    DISCARD_KIB_PER_S,
    QUEUE,
    CONCURRENCY,
    IN_FLIGHT,
    PLAUSIBLE_UTIL_PCT,
    DOUBTFUL_UTIL_PCT,
    UTIL_UPPER_BOUND_PCT,
    READ_SATURATION,
    WRITE_SATURATION,
    FLUSH_SATURATION,
    READ_SIZE_KIB,
    WRITE_SIZE_KIB,
    READ_MERGE_PCT,
    WRITE_MERGE_PCT,
];

/// The requests whose latency is compared with that of the unloaded device.
const COMPARED: [IoDirection; 3] = [
    IoDirection::Reads,
    IoDirection::Writes,
    IoDirection::Flushes,
];

fn data(of: &Judged) -> [&Completed; 3] {
    [
        &of.interval.reads,
        &of.interval.writes,
        &of.interval.discards,
    ]
}

fn sum<const N: usize>(parts: [Option<f64>; N]) -> Option<f64> {
    parts.into_iter().flatten().reduce(|a, b| a + b)
}

fn max(parts: [Option<f64>; 3]) -> Option<f64> {
    parts.into_iter().flatten().reduce(f64::max)
}

fn is_doubtful(of: &Judged) -> bool {
    DataFlag::of_util(&of.interval) == Some(DataFlag::UtilTooHigh)
}
