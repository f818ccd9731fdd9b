//! The columns of requests: rate, throughput, latency and size, by kind.

use super::CellText::{Latency, Value};
use super::Column;
use super::state::{read_emphasis, write_emphasis};
use crate::counters::Columns;
use crate::metrics::Completed;
use crate::report::layout::figure::Figure;
use crate::report::layout::number_format::{MIB, NUMBER, SIZE, TIME};

pub(super) const COLUMNS: [Column; 14] = [
    Column {
        title: "r/s",
        meaning: "reads completed per second",
        rank: 93,
        value: |a| a.stats.reads.per_s(),
        text: Value(NUMBER),
        ..Column::DEFAULT
    },
    Column {
        title: "rMB/s",
        meaning: "MiB read per second (1024 * 1024 bytes, as in iostat)",
        rank: 91,
        value: |a| a.stats.reads.kib_per_s(),
        text: Value(MIB),
        ..Column::DEFAULT
    },
    Column {
        title: "r_await",
        meaning: "mean latency of the reads completed",
        width: 8,
        rank: 99,
        emphasis: read_emphasis,
        value: |a| a.stats.reads.await_ms(),
        text: Latency(|a| &a.stats.reads),
        ..Column::DEFAULT
    },
    Column {
        title: "r_sz",
        meaning: "mean size of a read",
        width: 5,
        rank: 50,
        value: |a| a.stats.reads.size_kib(),
        text: Value(SIZE),
        ..Column::DEFAULT
    },
    Column {
        title: "w/s",
        meaning: "writes completed per second",
        rank: 93,
        value: |a| a.stats.writes.per_s(),
        text: Value(NUMBER),
        ..Column::DEFAULT
    },
    Column {
        title: "wMB/s",
        meaning: "MiB written per second",
        rank: 91,
        value: |a| a.stats.writes.kib_per_s(),
        text: Value(MIB),
        ..Column::DEFAULT
    },
    Column {
        title: "w_await",
        meaning: "mean latency of the writes completed",
        width: 8,
        rank: 96,
        emphasis: write_emphasis,
        value: |a| a.stats.writes.await_ms(),
        text: Latency(|a| &a.stats.writes),
        ..Column::DEFAULT
    },
    Column {
        title: "w_sz",
        meaning: "mean size of a write",
        width: 5,
        rank: 50,
        value: |a| a.stats.writes.size_kib(),
        text: Value(SIZE),
        ..Column::DEFAULT
    },
    Column {
        title: "d/s",
        meaning: "discards completed per second",
        rank: 30,
        needs: Columns::Discards,
        value: |a| a.stats.discards.per_s(),
        text: Value(NUMBER),
        ..Column::DEFAULT
    },
    Column {
        title: "dMB/s",
        meaning: "MiB discarded per second",
        rank: 20,
        needs: Columns::Discards,
        value: |a| a.stats.discards.kib_per_s(),
        text: Value(MIB),
        ..Column::DEFAULT
    },
    Column {
        title: "d_await",
        meaning: "mean latency of the discards completed",
        width: 8,
        rank: 28,
        needs: Columns::Discards,
        value: |a| a.stats.discards.await_ms(),
        text: Latency(|a| &a.stats.discards),
        ..Column::DEFAULT
    },
    Column {
        title: "d_sz",
        meaning: "mean size of a discard",
        width: 5,
        rank: 10,
        needs: Columns::Discards,
        value: |a| a.stats.discards.size_kib(),
        text: Value(SIZE),
        ..Column::DEFAULT
    },
    Column {
        title: "f/s",
        meaning: "flushes completed per second",
        rank: 35,
        needs: Columns::Flushes,
        value: |a| a.stats.flushes.per_s(),
        text: Value(NUMBER),
        ..Column::DEFAULT
    },
    Column {
        title: "f_await",
        meaning: "mean latency of the flushes completed",
        width: 8,
        rank: 33,
        needs: Columns::Flushes,
        value: |a| a.stats.flushes.await_ms(),
        text: Value(TIME),
        ..Column::DEFAULT
    },
];

/// Returns the mean latency of a direction. The kernel sums request times in whole milliseconds, so the latency of a
/// few requests is only approximate (`~`) or a bound (`<`). `None` without a latency.
#[inline]
pub(in crate::report::native) fn latency_figure(stats: &Completed) -> Option<Figure> {
    const APPROXIMATE_FRACTION: f64 = 0.1;
    let await_ms = stats.await_ms()?;
    let resolution_ms = 1.0 / stats.timed_ios as f64;
    let (ms, prefix) = if await_ms == 0.0 {
        (resolution_ms, Some(b'<'))
    } else {
        (await_ms, (resolution_ms > APPROXIMATE_FRACTION * await_ms).then_some(b'~'))
    };
    Some(TIME.figure(ms).with_prefix(prefix))
}
