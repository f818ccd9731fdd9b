//! The columns of the table, as data, and which of them fit.

use super::{Judged, Line};
use crate::metrics::{DirectionStats, IntervalStats};
use crate::report::layout::number_format as cells;

/// A column of the table.
#[derive(Clone, Copy)]
pub(super) struct Column {
    pub(super) title: &'static str,
    /// Its width with the space before it.
    pub(super) width: usize,
    /// What goes first where there is no room: the least.
    importance: u8,
    /// Only where there was such work.
    pub(super) only_with: Option<fn(&IntervalStats) -> bool>,
    /// What it shows and what lines are sorted by.
    value: Quantity,
    text: Text,
}

/// What a device is measured by.
type Quantity = fn(&Judged) -> Option<f64>;

/// How a column tells its quantity.
#[derive(Clone, Copy)]
enum Text {
    Number(fn(f64) -> String),
    /// The number alone does not tell all.
    Told(fn(&Judged) -> Option<String>),
}

impl Column {
    /// The text for a device; `None` where it has no such quantity.
    pub(super) fn cell(&self, judged: &Judged) -> Option<String> {
        match self.text {
            Text::Number(text) => (self.value)(judged).map(text),
            Text::Told(text) => text(judged),
        }
    }
}

const fn column(
    title: &'static str,
    width: usize,
    importance: u8,
    value: Quantity,
    text: fn(f64) -> String,
) -> Column {
    Column { title, width, importance, only_with: None, value, text: Text::Number(text) }
}

const fn told(
    title: &'static str,
    width: usize,
    importance: u8,
    value: Quantity,
    text: fn(&Judged) -> Option<String>,
) -> Column {
    Column { title, width, importance, only_with: None, value, text: Text::Told(text) }
}

const fn with(column: Column, only_with: fn(&IntervalStats) -> bool) -> Column {
    Column { only_with: Some(only_with), ..column }
}

fn discarded(figures: &IntervalStats) -> bool {
    figures.discards.ios.is_some_and(|ios| ios > 0)
}

fn flushed(figures: &IntervalStats) -> bool {
    figures.flushes_per_s.is_some_and(|rate| rate > 0.0)
}

fn mib(kib: f64) -> String {
    cells::number(kib / 1024.0)
}

/// The times of requests are added up in whole milliseconds, so that few requests tell it only roughly.
pub(super) fn response(of: &DirectionStats) -> Option<String> {
    const ROUGHLY: f64 = 0.1;
    let (await_ms, ios) = of.await_ms.zip(of.ios)?;
    let exact_to = 1.0 / ios as f64;
    Some(match await_ms {
        0.0 => format!("<{}", cells::time(exact_to)),
        _ if exact_to > ROUGHLY * await_ms => format!("~{}", cells::time(await_ms)),
        _ => cells::time(await_ms),
    })
}

fn util(judged: &Judged) -> Option<String> {
    let doubt = if judged.mark.is_some() { "?" } else { "" };
    judged.figures.util_pct.map(|util| cells::percent(util) + doubt)
}

fn verdict(judged: &Judged) -> Option<String> {
    judged.judgement.verdict.map(|verdict| verdict.name().to_owned())
}

/// All columns, in the order in which they are shown.
pub(super) const COLUMNS: [Column; 27] = [
    column("r/s", 6, 100, |j| j.figures.reads.per_s, cells::number),
    column("rMB/s", 6, 80, |j| j.figures.reads.kib_per_s, mib),
    told("r_await", 8, 95, |j| j.figures.reads.await_ms, |j| response(&j.figures.reads)),
    column("r_sz", 5, 50, |j| j.figures.reads.size_kib, cells::size),
    column("w/s", 6, 100, |j| j.figures.writes.per_s, cells::number),
    column("wMB/s", 6, 80, |j| j.figures.writes.kib_per_s, mib),
    told("w_await", 8, 95, |j| j.figures.writes.await_ms, |j| response(&j.figures.writes)),
    column("w_sz", 5, 50, |j| j.figures.writes.size_kib, cells::size),
    with(column("d/s", 6, 30, |j| j.figures.discards.per_s, cells::number), discarded),
    with(column("dMB/s", 6, 20, |j| j.figures.discards.kib_per_s, mib), discarded),
    with(
        told("d_await", 8, 28, |j| j.figures.discards.await_ms, |j| response(&j.figures.discards)),
        discarded,
    ),
    with(column("d_sz", 5, 10, |j| j.figures.discards.size_kib, cells::size), discarded),
    with(column("f/s", 6, 35, |j| j.figures.flushes_per_s, cells::number), flushed),
    with(column("f_await", 8, 33, |j| j.figures.flush_await_ms, cells::time), flushed),
    column("rmrg", 5, 40, |j| j.figures.reads.merge_pct, cells::percent),
    column("wmrg", 5, 40, |j| j.figures.writes.merge_pct, cells::percent),
    with(column("dmrg", 5, 5, |j| j.figures.discards.merge_pct, cells::percent), discarded),
    column("r_qu", 5, 75, |j| j.figures.reads.queue, cells::queue),
    column("w_qu", 5, 75, |j| j.figures.writes.queue, cells::queue),
    with(column("d_qu", 5, 5, |j| j.figures.discards.queue, cells::queue), discarded),
    // The two above say more; it is there for who wants iostat's aqu-sz.
    with(column("queue", 6, 5, |j| j.figures.queue, cells::queue), |_| false),
    column(
        "infl",
        5,
        60,
        |j| j.figures.in_flight.map(|count| count as f64),
        |count| cells::count(count as u64),
    ),
    told("util", 6, 90, |j| j.figures.util_pct, util),
    column("bound", 6, 70, Judged::util_bound_pct, cells::percent),
    column("r_sat", 6, 85, |j| j.judgement.read_saturation, cells::multiple),
    column("w_sat", 6, 85, |j| j.judgement.write_saturation, cells::multiple),
    told("verdict", 10, 98, |j| j.judgement.verdict.map(|it| f64::from(it.severity())), verdict),
];

/// Which columns are shown: the most important that fit into `width`, in their order, as indices; and the titles
/// of those that do not fit. `worked` says of each column with work of its own whether there was any.
pub(super) fn fitting(width: usize, worked: &[bool; COLUMNS.len()]) -> (Vec<usize>, Vec<&'static str>) {
    let mut shown: Vec<usize> =
        (0..COLUMNS.len()).filter(|at| COLUMNS[*at].only_with.is_none() || worked[*at]).collect();
    let mut left_out = Vec::new();
    let total = |shown: &[usize]| shown.iter().map(|at| COLUMNS[*at].width).sum::<usize>();
    while total(&shown) > width {
        let Some(least) = shown.iter().map(|at| COLUMNS[*at].importance).min() else { break };
        let goes = |at: &usize| COLUMNS[*at].importance == least;
        if shown.iter().all(goes) {
            // A line without a number tells nothing: of the most important ones those stay that fit.
            left_out.extend(shown.pop().map(|at| COLUMNS[at].title));
            continue;
        }
        left_out.extend(shown.iter().filter(|at| goes(at)).map(|at| COLUMNS[*at].title));
        shown.retain(|at| !goes(at));
    }
    (shown, left_out)
}

/// What lines can be sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SortKey(usize);

/// Keys that are no columns.
const MORE_KEYS: [(&str, Quantity); 3] = [
    ("iops", |j| sum([j.figures.reads.per_s, j.figures.writes.per_s, j.figures.discards.per_s])),
    ("MB/s", |j| sum([j.figures.reads.kib_per_s, j.figures.writes.kib_per_s, None])),
    ("await", |j| most([j.figures.reads.await_ms, j.figures.writes.await_ms, j.figures.discards.await_ms])),
];

/// The keys by their names: the columns of the table, and words that say the same.
fn keys() -> impl Iterator<Item = (&'static str, Quantity)> {
    COLUMNS.iter().map(|column| (column.title, column.value)).chain(MORE_KEYS)
}

fn sum(parts: [Option<f64>; 3]) -> Option<f64> {
    parts.into_iter().flatten().reduce(|a, b| a + b)
}

fn most(parts: [Option<f64>; 3]) -> Option<f64> {
    parts.into_iter().flatten().reduce(f64::max)
}

/// The names of the keys.
pub fn sort_keys() -> impl Iterator<Item = &'static str> {
    keys().map(|(name, _)| name)
}

impl SortKey {
    /// What is used where lines are left out and no key was given.
    pub const QUEUE: Self = Self(20);

    /// The key of this name, whatever its case.
    pub fn named(name: &str) -> Option<Self> {
        keys().position(|(key, _)| key.eq_ignore_ascii_case(name)).map(Self)
    }

    /// The value of a line; `None` where it has none, which comes last.
    pub fn value(self, line: &Line<'_>) -> Option<f64> {
        let (_, quantity) = keys().nth(self.0)?;
        quantity(line.judged()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn titles(width: usize, worked: bool) -> (Vec<&'static str>, Vec<&'static str>) {
        let (shown, left_out) = fitting(width, &[worked; COLUMNS.len()]);
        (shown.iter().map(|at| COLUMNS[*at].title).collect(), left_out)
    }

    #[test]
    fn the_least_important_columns_go_first() {
        let (all, none) = titles(1000, true);
        assert_eq!((all.len(), none), (COLUMNS.len(), vec![]));
        let (narrow, left_out) = titles(40, false);
        assert_eq!(narrow, ["r/s", "r_await", "w/s", "w_await", "verdict"]);
        assert_eq!(&left_out[..3], ["rmrg", "wmrg", "r_sz"]);
        assert_eq!(titles(3, false).0, Vec::<&str>::new());
    }

    #[test]
    fn discards_and_flushes_are_shown_where_there_are_any() {
        assert!(titles(1000, false).0.iter().all(|title| !title.starts_with(['d', 'f'])));
    }

    #[test]
    fn keys_are_found_by_name() {
        assert_eq!(SortKey::named("QUEUE"), Some(SortKey::QUEUE));
        assert_eq!(SortKey::named("nope"), None);
        let is_key = |column: &Column| SortKey::named(column.title).is_some();
        let not_keys: Vec<&str> = COLUMNS.iter().filter(|c| !is_key(c)).map(|c| c.title).collect();
        assert_eq!(not_keys, Vec::<&str>::new());
        assert!(COLUMNS.iter().all(|column| column.title.len() < column.width));
    }
}
