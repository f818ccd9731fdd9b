//! The columns of the table, as data.

use super::style::Emphasis;
use super::verdict_cell::{VerdictLength, verdict_cell};
use crate::analysis::Verdict;
use crate::intervals::DeviceActivity;
use crate::metrics::{DirectionStats, IntervalStats};
use crate::report::layout::number_format::{count, multiple, number, percent, queue, size, time};

/// A column of the table.
#[derive(Clone, Copy)]
pub(super) struct Column {
    pub(super) title: &'static str,
    /// The explanation in the help.
    pub(super) meaning: &'static str,
    /// The width, with the blank before it.
    pub(super) width: usize,
    /// Columns of the lowest rank are dropped first from lines that are too wide.
    pub(super) rank: u8,
    /// The activity without which the column is empty: all its cells are `-` or zero.
    pub(super) has_content: fn(&IntervalStats) -> bool,
    /// Not shown while it is empty. Other empty columns are shown where they fit.
    pub(super) is_hidden_empty: bool,
    /// The emphasis of a cell that is neither empty nor zero.
    pub(super) emphasis: EmphasisRule,
    /// The value shown, by which devices can be sorted.
    pub(super) value: Quantity,
    text: CellText,
}

/// The emphasis of a cell, given the multiple of unloaded latency from which a device counts as saturated.
type EmphasisRule = fn(&DeviceActivity, f64) -> Emphasis;

/// A quantity of a device; `None` where it has no value.
pub(super) type Quantity = fn(&DeviceActivity) -> Option<f64>;

/// The text of a cell.
#[derive(Clone, Copy)]
enum CellText {
    /// The formatted value.
    Value(fn(f64) -> String),
    /// A text that needs more than the value.
    Custom(fn(&DeviceActivity) -> Option<String>),
    /// The verdict.
    Verdict,
}

impl Column {
    /// Returns the cell of a device, with a verdict of this length; `None` where it has no value.
    pub(super) fn cell(&self, activity: &DeviceActivity, verdict_length: VerdictLength) -> Option<String> {
        match self.text {
            CellText::Value(text) => (self.value)(activity).map(text),
            CellText::Custom(text) => text(activity),
            CellText::Verdict => verdict_cell(activity, verdict_length),
        }
    }

    /// Returns whether this is the column of the verdict, which widens for longer cells.
    pub(super) fn is_verdict(&self) -> bool {
        matches!(self.text, CellText::Verdict)
    }
}

const fn column(
    (title, meaning): (&'static str, &'static str),
    width: usize,
    rank: u8,
    value: Quantity,
    text: fn(f64) -> String,
) -> Column {
    Column {
        title,
        meaning,
        width,
        rank,
        has_content: always,
        is_hidden_empty: false,
        emphasis: plain,
        value,
        text: CellText::Value(text),
    }
}

const fn custom(
    (title, meaning): (&'static str, &'static str),
    width: usize,
    rank: u8,
    value: Quantity,
    text: fn(&DeviceActivity) -> Option<String>,
) -> Column {
    Column {
        title,
        meaning,
        width,
        rank,
        has_content: always,
        is_hidden_empty: false,
        emphasis: plain,
        value,
        text: CellText::Custom(text),
    }
}

/// A column that is empty without such activity.
const fn of(has_content: fn(&IntervalStats) -> bool, column: Column) -> Column {
    Column { has_content, ..column }
}

/// A column that is shown only once there was such activity.
const fn only_with(column: Column, has_content: fn(&IntervalStats) -> bool) -> Column {
    Column { has_content, is_hidden_empty: true, ..column }
}

const fn emphasized(column: Column, emphasis: EmphasisRule) -> Column {
    Column { emphasis, ..column }
}

fn plain(_: &DeviceActivity, _: f64) -> Emphasis {
    Emphasis::Plain
}

fn always(_: &IntervalStats) -> bool {
    true
}

fn never(_: &IntervalStats) -> bool {
    false
}

fn has_reads(stats: &IntervalStats) -> bool {
    stats.reads.ios.is_some_and(|ios| ios > 0)
}

fn has_writes(stats: &IntervalStats) -> bool {
    stats.writes.ios.is_some_and(|ios| ios > 0)
}

fn has_read_merges(stats: &IntervalStats) -> bool {
    stats.reads.merge_pct.is_some_and(|share| share > 0.0)
}

fn has_write_merges(stats: &IntervalStats) -> bool {
    stats.writes.merge_pct.is_some_and(|share| share > 0.0)
}

fn has_discard_merges(stats: &IntervalStats) -> bool {
    stats.discards.merge_pct.is_some_and(|share| share > 0.0)
}

fn has_in_flight(stats: &IntervalStats) -> bool {
    stats.in_flight.is_some_and(|in_flight| in_flight > 0)
}

/// Returns whether discards completed.
pub(super) fn has_discards(stats: &IntervalStats) -> bool {
    stats.discards.ios.is_some_and(|ios| ios > 0)
}

/// Returns whether flushes completed.
pub(super) fn has_flushes(stats: &IntervalStats) -> bool {
    stats.flushes_per_s.is_some_and(|rate| rate > 0.0)
}

fn mib(kib: f64) -> String {
    number(kib / 1024.0)
}

/// Returns the mean latency of a direction. The kernel sums request times in whole milliseconds, so that of a few
/// requests is only approximate (`~`) or a bound (`<`).
pub(super) fn latency(stats: &DirectionStats) -> Option<String> {
    const APPROXIMATE_FRACTION: f64 = 0.1;
    let (await_ms, ios) = stats.await_ms.zip(stats.ios)?;
    let resolution_ms = 1.0 / ios as f64;
    Some(match await_ms {
        0.0 => format!("<{}", time(resolution_ms)),
        _ if resolution_ms > APPROXIMATE_FRACTION * await_ms => format!("~{}", time(await_ms)),
        _ => time(await_ms),
    })
}

/// Returns the util, marked with `?` where it is implausible.
fn util(activity: &DeviceActivity) -> Option<String> {
    let mark = if activity.flag.is_some() { "?" } else { "" };
    activity.stats.util_pct.map(|util| percent(util) + mark)
}

/// An unknown verdict ranks like accounting that is off: below every known problem, above ok.
fn verdict_severity(activity: &DeviceActivity) -> Option<f64> {
    Some(f64::from(activity.assessment.verdict.unwrap_or(Verdict::AccountingOff).severity()))
}

fn read_emphasis(activity: &DeviceActivity, threshold: f64) -> Emphasis {
    Emphasis::of_saturation(activity.assessment.read_saturation, threshold)
}

fn write_emphasis(activity: &DeviceActivity, threshold: f64) -> Emphasis {
    Emphasis::of_saturation(activity.assessment.write_saturation, threshold)
}

fn verdict_emphasis(activity: &DeviceActivity, _: f64) -> Emphasis {
    match activity.assessment.verdict.map(Verdict::severity) {
        Some(severity) if severity > Verdict::Queueing.severity() => Emphasis::Alert,
        Some(severity) if severity == Verdict::Queueing.severity() => Emphasis::Warning,
        _ => Emphasis::Plain,
    }
}

/// The width of verdicts that held for the whole interval.
pub(super) const VERDICT_WIDTH: usize = 10;

/// All columns, in the order in which they are shown.
pub(super) const COLUMNS: &[Column] = &[
    of(has_reads, column(("r/s", "reads completed per second"), 6, 92, |a| a.stats.reads.per_s, number)),
    of(
        has_reads,
        column(
            ("rMB/s", "MiB read per second (1024 * 1024 bytes, as in iostat)"),
            6,
            80,
            |a| a.stats.reads.kib_per_s,
            mib,
        ),
    ),
    of(
        has_reads,
        emphasized(
            custom(
                ("r_await", "mean latency of the reads completed"),
                8,
                99,
                |a| a.stats.reads.await_ms,
                |a| latency(&a.stats.reads),
            ),
            read_emphasis,
        ),
    ),
    of(has_reads, column(("r_sz", "mean size of a read"), 5, 50, |a| a.stats.reads.size_kib, size)),
    of(has_writes, column(("w/s", "writes completed per second"), 6, 92, |a| a.stats.writes.per_s, number)),
    of(has_writes, column(("wMB/s", "MiB written per second"), 6, 80, |a| a.stats.writes.kib_per_s, mib)),
    of(
        has_writes,
        emphasized(
            custom(
                ("w_await", "mean latency of the writes completed"),
                8,
                96,
                |a| a.stats.writes.await_ms,
                |a| latency(&a.stats.writes),
            ),
            write_emphasis,
        ),
    ),
    of(has_writes, column(("w_sz", "mean size of a write"), 5, 50, |a| a.stats.writes.size_kib, size)),
    only_with(
        column(("d/s", "discards completed per second"), 6, 30, |a| a.stats.discards.per_s, number),
        has_discards,
    ),
    only_with(
        column(("dMB/s", "MiB discarded per second"), 6, 20, |a| a.stats.discards.kib_per_s, mib),
        has_discards,
    ),
    only_with(
        custom(
            ("d_await", "mean latency of the discards completed"),
            8,
            28,
            |a| a.stats.discards.await_ms,
            |a| latency(&a.stats.discards),
        ),
        has_discards,
    ),
    only_with(
        column(("d_sz", "mean size of a discard"), 5, 10, |a| a.stats.discards.size_kib, size),
        has_discards,
    ),
    only_with(
        column(("f/s", "flushes completed per second"), 6, 35, |a| a.stats.flushes_per_s, number),
        has_flushes,
    ),
    only_with(
        column(("f_await", "mean latency of the flushes completed"), 8, 33, |a| a.stats.flush_await_ms, time),
        has_flushes,
    ),
    of(
        has_read_merges,
        column(
            ("rmrg", "share of the reads that were merged into others before they were issued"),
            5,
            40,
            |a| a.stats.reads.merge_pct,
            percent,
        ),
    ),
    of(
        has_write_merges,
        column(
            ("wmrg", "share of the writes that were merged into others"),
            5,
            40,
            |a| a.stats.writes.merge_pct,
            percent,
        ),
    ),
    only_with(
        column(
            ("dmrg", "share of the discards that were merged into others"),
            5,
            5,
            |a| a.stats.discards.merge_pct,
            percent,
        ),
        has_discard_merges,
    ),
    of(
        has_reads,
        column(
            ("r_qu", "mean number of reads in the queue or being served"),
            5,
            90,
            |a| a.stats.reads.queue,
            queue,
        ),
    ),
    of(
        has_writes,
        column(
            ("w_qu", "mean number of writes in the queue or being served"),
            5,
            90,
            |a| a.stats.writes.queue,
            queue,
        ),
    ),
    only_with(
        column(
            ("d_qu", "mean number of discards in the queue or being served"),
            5,
            5,
            |a| a.stats.discards.queue,
            queue,
        ),
        has_discards,
    ),
    // Shown only where the columns above do not fit; a sort key for users of iostat's aqu-sz.
    only_with(
        column(
            (
                "queue",
                "mean number of requests of all kinds in the queue or being served; shown where r_qu and w_qu do not fit",
            ),
            6,
            98,
            |a| a.stats.queue,
            queue,
        ),
        never,
    ),
    of(
        has_in_flight,
        column(
            ("inflt", "requests in flight at the end of the interval"),
            6,
            75,
            |a| a.stats.in_flight.map(|in_flight| in_flight as f64),
            |in_flight| count(in_flight as u64),
        ),
    ),
    custom(
        (
            "util",
            "share of the time with a request in flight, as the kernel counts it; no limit by itself, as most devices serve several requests at once",
        ),
        6,
        97,
        |a| a.stats.util_pct,
        util,
    ),
    column(
        (
            "≤util",
            "upper bound of the true util: request times in the interval plus requests still in flight, at most 100%; its sort key is util_ub",
        ),
        6,
        70,
        |a| a.stats.util_upper_bound_pct,
        percent,
    ),
    of(
        has_reads,
        emphasized(
            column(
                (
                    "r_sat",
                    "read saturation: latency as a multiple of the latency of the unloaded device for requests of that size; in an interval of several samples, only if that is known for 90% of the reads",
                ),
                6,
                85,
                |a| a.assessment.read_saturation,
                multiple,
            ),
            read_emphasis,
        ),
    ),
    of(
        has_writes,
        emphasized(
            column(
                ("w_sat", "write saturation, likewise"),
                6,
                85,
                |a| a.assessment.write_saturation,
                multiple,
            ),
            write_emphasis,
        ),
    ),
    Column {
        title: "verdict",
        meaning: "the state of the device, with its seconds if it held for a part of the interval only; see 'blkstat help verdicts'",
        width: VERDICT_WIDTH,
        rank: 100,
        has_content: always,
        is_hidden_empty: false,
        emphasis: verdict_emphasis,
        value: verdict_severity,
        text: CellText::Verdict,
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_are_narrower_than_their_columns() {
        assert!(COLUMNS.iter().all(|column| column.title.chars().count() < column.width));
    }
}
