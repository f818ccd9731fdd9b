//! The columns of the table, as data.

use super::style::Emphasis;
use crate::analysis::Verdict;
use crate::intervals::DeviceActivity;
use crate::metrics::{DirectionStats, IntervalStats};
use crate::report::layout::number_format::{count, multiple, number, percent, queue, size, time};
use crate::report::layout::{FittedColumns, fit_columns};

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
    /// Shown only once a device had such activity; `None` for always.
    pub(super) only_with: Option<fn(&IntervalStats) -> bool>,
    /// The emphasis of a cell that is neither empty nor zero.
    pub(super) emphasis: fn(&DeviceActivity) -> Emphasis,
    /// The value shown, by which devices can be sorted.
    pub(super) value: Quantity,
    text: CellText,
}

/// A quantity of a device; `None` where it has no value.
pub(super) type Quantity = fn(&DeviceActivity) -> Option<f64>;

/// The text of a cell.
#[derive(Clone, Copy)]
enum CellText {
    /// The formatted value.
    Value(fn(f64) -> String),
    /// A text that needs more than the value.
    Custom(fn(&DeviceActivity) -> Option<String>),
}

impl Column {
    /// Returns the cell of a device; `None` where it has no value.
    pub(super) fn cell(&self, activity: &DeviceActivity) -> Option<String> {
        match self.text {
            CellText::Value(text) => (self.value)(activity).map(text),
            CellText::Custom(text) => text(activity),
        }
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
        only_with: None,
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
        only_with: None,
        emphasis: plain,
        value,
        text: CellText::Custom(text),
    }
}

const fn only_with(column: Column, only_with: fn(&IntervalStats) -> bool) -> Column {
    Column { only_with: Some(only_with), ..column }
}

const fn emphasized(column: Column, emphasis: fn(&DeviceActivity) -> Emphasis) -> Column {
    Column { emphasis, ..column }
}

fn plain(_: &DeviceActivity) -> Emphasis {
    Emphasis::Plain
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

fn util_emphasis(activity: &DeviceActivity) -> Emphasis {
    if activity.flag.is_some() { Emphasis::Warning } else { Emphasis::Plain }
}

fn verdict(activity: &DeviceActivity) -> Option<String> {
    activity.assessment.verdict.map(|verdict| verdict.name().to_owned())
}

fn verdict_severity(activity: &DeviceActivity) -> Option<f64> {
    activity.assessment.verdict.map(|verdict| f64::from(verdict.severity()))
}

fn verdict_emphasis(activity: &DeviceActivity) -> Emphasis {
    match activity.assessment.verdict {
        Some(Verdict::Saturated | Verdict::Capped | Verdict::Stalled) => Emphasis::Alert,
        Some(Verdict::Queueing) => Emphasis::Warning,
        Some(Verdict::Idle | Verdict::Ok | Verdict::AccountingOff) | None => Emphasis::Plain,
    }
}

/// All columns, in the order in which they are shown.
pub(super) const COLUMNS: [Column; 27] = [
    column(("r/s", "reads completed per second"), 6, 100, |a| a.stats.reads.per_s, number),
    column(
        ("rMB/s", "MiB read per second (1024 * 1024 bytes, as in iostat)"),
        6,
        80,
        |a| a.stats.reads.kib_per_s,
        mib,
    ),
    custom(
        ("r_await", "mean latency of the reads completed"),
        8,
        95,
        |a| a.stats.reads.await_ms,
        |a| latency(&a.stats.reads),
    ),
    column(("r_sz", "mean size of a read"), 5, 50, |a| a.stats.reads.size_kib, size),
    column(("w/s", "writes completed per second"), 6, 100, |a| a.stats.writes.per_s, number),
    column(("wMB/s", "MiB written per second"), 6, 80, |a| a.stats.writes.kib_per_s, mib),
    custom(
        ("w_await", "mean latency of the writes completed"),
        8,
        95,
        |a| a.stats.writes.await_ms,
        |a| latency(&a.stats.writes),
    ),
    column(("w_sz", "mean size of a write"), 5, 50, |a| a.stats.writes.size_kib, size),
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
    column(
        ("rmrg", "share of the reads that were merged into others before they were issued"),
        5,
        40,
        |a| a.stats.reads.merge_pct,
        percent,
    ),
    column(
        ("wmrg", "share of the writes that were merged into others"),
        5,
        40,
        |a| a.stats.writes.merge_pct,
        percent,
    ),
    only_with(
        column(
            ("dmrg", "share of the discards that were merged into others"),
            5,
            5,
            |a| a.stats.discards.merge_pct,
            percent,
        ),
        has_discards,
    ),
    column(
        ("r_qu", "mean number of reads in the queue or being served"),
        5,
        75,
        |a| a.stats.reads.queue,
        queue,
    ),
    column(
        ("w_qu", "mean number of writes in the queue or being served"),
        5,
        75,
        |a| a.stats.writes.queue,
        queue,
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
    // Never shown, as the columns above say more; a sort key for users of iostat's aqu-sz.
    only_with(
        column(
            (
                "queue",
                "mean number of requests of all kinds in the queue or being served; only a sort key, not shown",
            ),
            6,
            5,
            |a| a.stats.queue,
            queue,
        ),
        |_| false,
    ),
    column(
        ("inflt", "requests in flight at the end of the interval"),
        6,
        60,
        |a| a.stats.in_flight.map(|in_flight| in_flight as f64),
        |in_flight| count(in_flight as u64),
    ),
    emphasized(
        custom(
            (
                "util",
                "share of the time with a request in flight, as the kernel counts it; no limit by itself, as most devices serve several requests at once",
            ),
            6,
            90,
            |a| a.stats.util_pct,
            util,
        ),
        util_emphasis,
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
    column(
        (
            "r_sat",
            "read saturation: latency as a multiple of the latency of the unloaded device for requests of that size",
        ),
        6,
        85,
        |a| a.assessment.read_saturation,
        multiple,
    ),
    column(("w_sat", "write saturation, likewise"), 6, 85, |a| a.assessment.write_saturation, multiple),
    emphasized(
        custom(
            ("verdict", "the state of the device; see 'blkstat help verdicts'"),
            10,
            98,
            verdict_severity,
            verdict,
        ),
        verdict_emphasis,
    ),
];

/// Returns the indices of the columns that fit into `width`, and the titles of the others. `has_activity` has for each
/// column whether there was activity of its kind.
pub(super) fn visible_columns(
    width: usize,
    has_activity: &[bool; COLUMNS.len()],
) -> (Vec<usize>, Vec<&'static str>) {
    let is_candidate = |index: &usize| COLUMNS[*index].only_with.is_none() || has_activity[*index];
    let candidates: Vec<usize> = (0..COLUMNS.len()).filter(is_candidate).collect();
    let widths: Vec<usize> = candidates.iter().map(|index| COLUMNS[*index].width).collect();
    let ranks: Vec<u8> = candidates.iter().map(|index| COLUMNS[*index].rank).collect();
    let FittedColumns { kept, dropped } = fit_columns(&widths, &ranks, width);
    let visible = kept.into_iter().map(|index| candidates[index]).collect();
    (visible, dropped.into_iter().map(|index| COLUMNS[candidates[index]].title).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn titles(width: usize, has_activity: bool) -> (Vec<&'static str>, Vec<&'static str>) {
        let (shown, hidden) = visible_columns(width, &[has_activity; COLUMNS.len()]);
        (shown.iter().map(|index| COLUMNS[*index].title).collect(), hidden)
    }

    #[test]
    fn the_least_important_columns_are_hidden_first() {
        let (all, none) = titles(1000, true);
        assert_eq!((all.len(), none), (COLUMNS.len(), vec![]));
        let (narrow, hidden) = titles(40, false);
        assert_eq!(narrow, ["r/s", "r_await", "w/s", "w_await", "verdict"]);
        assert_eq!(&hidden[..3], ["rmrg", "wmrg", "r_sz"]);
        assert_eq!(titles(3, false).0, Vec::<&str>::new());
    }

    #[test]
    fn discards_and_flushes_are_hidden_without_any() {
        assert!(titles(1000, false).0.iter().all(|title| !title.starts_with(['d', 'f'])));
    }

    #[test]
    fn titles_are_narrower_than_their_columns() {
        assert!(COLUMNS.iter().all(|column| column.title.chars().count() < column.width));
    }
}
