//! The columns of the table and the keys to sort devices by, as data, with their cells.

use std::borrow::Cow;

use super::Emphasis;
use crate::counters::Columns;
use crate::intervals::{DeviceActivity, DeviceInterval, OngoingIncident};
use crate::judge::{IoDirection, Verdict};
use crate::metrics::Completed;
use crate::report::evidence::sign_of_begin;
use crate::report::layout::number_format::{
    Figure, NumberFormat, count_figure, mib_figure, multiple_figure, number_figure, percent_figure,
    queue_figure, size_figure, time_figure,
};
use crate::sanitize::sanitize;

/// The width of the verdict, with the blank before it.
pub(super) const VERDICT_WIDTH: usize = 10;
/// The width of the verdict with its time: `throttled >99s`.
pub(super) const VERDICT_WIDTH_WITH_TIME: usize = 15;

/// A column, or another key to sort by.
pub(super) struct Column {
    /// Its title: iostat's name if that has one.
    pub(super) title: &'static str,
    /// A sentence part for the help.
    pub(super) meaning: &'static str,
    /// Its width with the blank before it.
    pub(super) width: usize,
    /// Its importance: columns with lower ranks are dropped first.
    pub(super) rank: u8,
    /// The columns that the kernel must print for it.
    pub(super) needs: Columns,
    value: Value,
    text: CellText,
}

type OfDevice = fn(&DeviceActivity) -> Option<f64>;

#[derive(Clone, Copy)]
enum Value {
    Requests(&'static Kind, fn(&Completed) -> Option<f64>),
    Device(OfDevice),
}

#[derive(Clone, Copy)]
enum CellText {
    Number(NumberFormat),
    /// A latency, marked if it is an estimate, emphasized by the saturation of its requests.
    Latency,
    Saturation,
    Util,
    Verdict,
}

/// A kind of requests.
struct Kind {
    of: fn(&DeviceActivity) -> &Completed,
    saturation: OfDevice,
    /// The columns of the kernel that count these requests.
    counted: Columns,
}

static READS: Kind = Kind {
    of: |a| &a.judged.interval.reads,
    saturation: |a| a.judged.saturation(IoDirection::Reads),
    counted: Columns::Partition,
};
static WRITES: Kind = Kind {
    of: |a| &a.judged.interval.writes,
    saturation: |a| a.judged.saturation(IoDirection::Writes),
    counted: Columns::Partition,
};
static DISCARDS: Kind = Kind {
    of: |a| &a.judged.interval.discards,
    saturation: |_| None,
    counted: Columns::Discards,
};
static FLUSHES: Kind = Kind {
    of: |a| &a.judged.interval.flushes,
    saturation: |a| a.judged.saturation(IoDirection::Flushes),
    counted: Columns::Flushes,
};

/// A quantity of a kind of requests: the width of its columns, its value and its text.
type Measure = (usize, fn(&Completed) -> Option<f64>, CellText);

const RATE: Measure = (6, Completed::per_s, Number(number_figure));
const THROUGHPUT: Measure = (6, Completed::kib_per_s, Number(mib_figure));
const LATENCY: Measure = (8, Completed::await_ms, Latency);
const MEAN_SIZE: Measure = (5, Completed::size_kib, Number(size_figure));
const MERGED: Measure = (5, Completed::merge_pct, Number(percent_figure));
const MEAN_QUEUE: Measure = (5, Completed::queue, Number(queue_figure));

const fn requests(title: &'static str, rank: u8, kind: &'static Kind, of: Measure) -> Column {
    let (width, value, text) = of;
    Column {
        title,
        meaning: "",
        width,
        rank,
        needs: kind.counted,
        value: Value::Requests(kind, value),
        text,
    }
}

const fn device(title: &'static str, rank: u8, value: OfDevice, text: CellText) -> Column {
    let width = if matches!(text, CellText::Verdict) {
        VERDICT_WIDTH
    } else {
        6
    };
    let needs = Columns::Partition;
    Column {
        title,
        meaning: "",
        width,
        rank,
        needs,
        value: Value::Device(value),
        text,
    }
}

use CellText::{Latency, Number, Saturation, Util};

/// The columns from left to right.
pub(super) static COLUMNS: [Column; 27] = [
    requests("r/s", 93, &READS, RATE).meaning("reads completed per second"),
    requests("rMB/s", 91, &READS, THROUGHPUT)
        .meaning("MiB read per second (1024 * 1024 bytes, as in iostat)"),
    requests("r_await", 99, &READS, LATENCY).meaning("mean latency of the reads completed"),
    requests("r_sz", 50, &READS, MEAN_SIZE).meaning("mean size of a read"),
    requests("w/s", 93, &WRITES, RATE).meaning("writes completed per second"),
    requests("wMB/s", 91, &WRITES, THROUGHPUT).meaning("MiB written per second"),
    requests("w_await", 96, &WRITES, LATENCY).meaning("mean latency of the writes completed"),
    requests("w_sz", 50, &WRITES, MEAN_SIZE).meaning("mean size of a write"),
    requests("d/s", 30, &DISCARDS, RATE).meaning("discards completed per second"),
    requests("dMB/s", 20, &DISCARDS, THROUGHPUT).meaning("MiB discarded per second"),
    requests("d_await", 28, &DISCARDS, LATENCY).meaning("mean latency of the discards completed"),
    requests("d_sz", 10, &DISCARDS, MEAN_SIZE).meaning("mean size of a discard"),
    requests("f/s", 35, &FLUSHES, RATE).meaning("flushes completed per second"),
    requests("f_await", 33, &FLUSHES, (8, Completed::await_ms, Number(time_figure)))
        .meaning("mean latency of the flushes completed"),
    requests("rmrg", 40, &READS, MERGED)
        .meaning("share of the reads that were merged into others before they were issued"),
    requests("wmrg", 40, &WRITES, MERGED).meaning("share of the writes that were merged into others"),
    requests("dmrg", 5, &DISCARDS, MERGED).meaning("share of the discards that were merged into others"),
    requests("r_qu", 90, &READS, MEAN_QUEUE).meaning("mean number of reads in the queue or being served"),
    requests("w_qu", 90, &WRITES, MEAN_QUEUE).meaning("mean number of writes in the queue or being served"),
    requests("d_qu", 5, &DISCARDS, MEAN_QUEUE)
        .meaning("mean number of discards in the queue or being served"),
    // Shown only if the columns above do not fit; a sort key for users of iostat's aqu-sz.
    device("queue", 98, |a| a.judged.interval.queue(), Number(queue_figure)).meaning(
        "mean number of requests of all kinds in the queue or being served; shown where r_qu and w_qu do \
         not fit",
    ),
    device("inflt", 82, |a| Some(a.judged.interval.in_flight? as f64), Number(count_figure))
        .meaning("requests in flight at the end of the interval"),
    device("util", 97, |a| a.judged.interval.util_pct(), Util).meaning(
        "share of the time with a request in flight, as the kernel counts it; 100% is not a limit by \
         itself, as most devices serve several requests at once",
    ),
    device("≤util", 70, |a| a.judged.interval.util_upper_bound_pct(), Number(percent_figure)).meaning(
        "upper bound of the true util: request times in the interval plus requests still in flight, at \
         most 100%; its sort key is util_ub",
    ),
    device("r_sat", 85, |a| a.judged.saturation(IoDirection::Reads), Saturation).meaning(
        "read saturation: latency as a multiple of the highest latency that the unloaded device may have \
         for requests of that size; in an interval of several samples, only if it is known for 90% of \
         the reads",
    ),
    device("w_sat", 85, |a| a.judged.saturation(IoDirection::Writes), Saturation)
        .meaning("write saturation, defined like read saturation"),
    device("verdict", 100, verdict_severity, CellText::Verdict).meaning(
        "the state of the device, with the time since its incident began (> if that may have been earlier), or the \
         device that suffers from the incident; see 'blkstat help verdicts'",
    ),
];

/// Further keys to sort by.
static MORE_KEYS: [Column; 5] = [
    device(
        "util_ub",
        0,
        |a| a.judged.interval.util_upper_bound_pct(),
        Number(number_figure),
    ),
    device(
        "iops",
        0,
        |a| sum(DATA.map(|kind| (kind.of)(a).per_s())),
        Number(number_figure),
    ),
    device(
        "MB/s",
        0,
        |a| {
            sum([
                a.judged.interval.reads.kib_per_s(),
                a.judged.interval.writes.kib_per_s(),
            ])
        },
        Number(mib_figure),
    ),
    device(
        "sat",
        0,
        |a| max(COMPARED.map(|kind| (kind.saturation)(a))),
        Number(multiple_figure),
    ),
    device(
        "await",
        0,
        |a| max(DATA.map(|kind| (kind.of)(a).await_ms())),
        Number(number_figure),
    ),
];

/// The kinds of requests that carry data.
static DATA: [&Kind; 3] = [&READS, &WRITES, &DISCARDS];

/// Those whose latency is compared with that of the unloaded device.
static COMPARED: [&Kind; 3] = [&READS, &WRITES, &FLUSHES];

fn sum<const N: usize>(parts: [Option<f64>; N]) -> Option<f64> {
    parts.into_iter().flatten().reduce(|a, b| a + b)
}

fn max(parts: [Option<f64>; 3]) -> Option<f64> {
    parts.into_iter().flatten().reduce(f64::max)
}

/// Returns the place of the verdict among all of them: the more severe, the higher.
fn verdict_severity(activity: &DeviceActivity) -> Option<f64> {
    Some(f64::from(activity.judged.assessment().verdict? as u8))
}

impl Column {
    const fn meaning(self, meaning: &'static str) -> Self {
        Self { meaning, ..self }
    }

    fn value(&self, activity: &DeviceActivity) -> Option<f64> {
        match self.value {
            Value::Requests(kind, value) => value((kind.of)(activity)),
            Value::Device(value) => value(activity),
        }
    }

    /// Appends a cell, right-aligned in `width`: `-` without a value. The verdict has its time if that makes at most
    /// `max_verdict_width` columns.
    pub(super) fn push_cell(
        &self,
        activity: &DeviceActivity,
        width: usize,
        max_verdict_width: usize,
        out: &mut Vec<u8>,
    ) {
        let figure = match (self.text, self.value(activity)) {
            (CellText::Verdict, _) => {
                let text = verdict_cell(activity, max_verdict_width);
                return push_right(text.as_deref().unwrap_or("-"), width, out);
            }
            (_, None) => return push_right("-", width, out),
            (Latency, Some(await_ms)) => match self.value {
                Value::Requests(kind, _) => latency_figure(await_ms, (kind.of)(activity)),
                Value::Device(_) => time_figure(await_ms),
            },
            (Number(format), Some(value)) => format(value),
            (Saturation, Some(multiple)) => multiple_figure(multiple),
            (Util, Some(util)) => percent_figure(util).with_suffix(activity.flag.map(|_| b'?')),
        };
        figure.push(out, width);
    }

    /// Returns the emphasis of a cell with this text; `threshold` is the multiple of unloaded latency from which a device
    /// counts as saturated.
    pub(super) fn emphasis(
        &self,
        text: &[u8],
        activity: &DeviceActivity,
        threshold: f64,
    ) -> Emphasis {
        if matches!(text, b"-" | b"0" | b"0%") {
            return Emphasis::Dim;
        }
        match (self.text, self.value) {
            (Latency, Value::Requests(kind, _)) => {
                Emphasis::of_saturation((kind.saturation)(activity), threshold)
            }
            (Saturation, _) => Emphasis::of_saturation(self.value(activity), threshold),
            // Trouble that costs nobody anything belongs to no incident.
            (CellText::Verdict, _) if activity.incident.is_none() => Emphasis::Plain,
            (CellText::Verdict, _) => match activity.judged.assessment().verdict {
                Some(Verdict::Queueing) => Emphasis::Warning,
                Some(verdict) if verdict.is_trouble() => Emphasis::Alert,
                _ => Emphasis::Plain,
            },
            _ => Emphasis::Plain,
        }
    }

    pub(super) fn is_verdict(&self) -> bool {
        matches!(self.text, CellText::Verdict)
    }
}

fn push_right(text: &str, width: usize, out: &mut Vec<u8>) {
    out.resize(out.len() + width.saturating_sub(text.chars().count()), b' ');
    out.extend_from_slice(text.as_bytes());
}

/// Returns the mean latency of requests. The kernel sums request times in whole milliseconds, so the latency of a few
/// requests is only approximate (`~`) or a bound (`<`).
pub(super) fn latency_figure(await_ms: f64, of: &Completed) -> Figure {
    const APPROXIMATE_FRACTION: f64 = 0.1;
    let resolution_ms = 1.0 / of.timed_ios as f64;
    if await_ms == 0.0 {
        time_figure(resolution_ms).with_prefix(Some(b'<'))
    } else {
        let is_approximate = resolution_ms > APPROXIMATE_FRACTION * await_ms;
        time_figure(await_ms).with_prefix(is_approximate.then_some(b'~'))
    }
}

/// Returns the verdict with the time since its incident began; without that if it is longer than `max_width`. A device
/// below the one that suffers names that. `None` without a verdict.
fn verdict_cell(activity: &DeviceActivity, max_width: usize) -> Option<Cow<'static, str>> {
    let name = activity.shown_verdict.map(Verdict::name);
    let is_trouble = activity.shown_verdict.is_some_and(Verdict::is_trouble);
    let text = match activity.incident.as_ref().filter(|_| is_trouble) {
        Some(ongoing) if ongoing.is_victim => format!("{} {}", name?, incident_time(ongoing)),
        Some(ongoing) => {
            let see = format!("see {}", sanitize(&ongoing.incident.victim.label));
            return Some(if see.chars().count() <= max_width {
                see.into()
            } else {
                name.unwrap_or("see above").into()
            });
        }
        None => return name.map(Cow::from),
    };
    Some(if text.len() <= max_width {
        text.into()
    } else {
        name?.into()
    })
}

/// Returns the time since an incident began: `12s`, `>65s` if it may have begun earlier, `99m`, `3h`, `2d`.
pub(crate) fn incident_time(ongoing: &OngoingIncident) -> String {
    let sign = sign_of_begin(&ongoing.incident);
    match ongoing.lasted_s {
        seconds @ ..99.5 => format!("{sign}{seconds:.0}s"),
        seconds @ ..5970.0 => format!("{sign}{:.0}m", seconds / 60.0),
        seconds @ ..171_000.0 => format!("{sign}{:.0}h", seconds / 3600.0),
        seconds => format!("{sign}{:.0}d", seconds / 86_400.0),
    }
}

fn keys() -> impl Iterator<Item = &'static Column> {
    COLUMNS.iter().chain(&MORE_KEYS)
}

/// Returns the names of the sort keys: the column titles, `util_ub` for `≤util`, and `iops`, `MB/s`, `await`.
pub fn sort_keys() -> impl Iterator<Item = &'static str> {
    keys().map(|key| key.title)
}

/// Returns the value of a device by which a key sorts it: the largest comes first.
pub fn sort_value(key: &str, device: &DeviceInterval) -> f64 {
    let of_activity = |activity| keys().find(|one| one.title == key)?.value(activity);
    match device.activity() {
        // A stalled device may have no value, but matters most.
        Some(activity) if activity.stalled_s > 0.0 => f64::INFINITY,
        activity => activity.and_then(of_activity).unwrap_or(-1.0),
    }
}

/// Returns the columns with their meanings, for the manual.
pub(in crate::report) fn columns_with_meanings() -> Vec<(&'static str, &'static str)> {
    COLUMNS
        .iter()
        .map(|column| (column.title, column.meaning))
        .collect()
}

/// A text with its emphasis.
pub(crate) type Cell = (String, Emphasis);

/// Returns the cell of a column, by its title or by the name of a sort key: as in the table, `-` without a value.
/// Latencies are emphasized from `saturation_threshold`, a multiple of unloaded latency.
#[cfg(feature = "top")]
pub(crate) fn cell(title: &str, activity: &DeviceActivity, saturation_threshold: f64) -> Cell {
    let Some(column) = keys().find(|column| column.title == title) else {
        return ("-".to_owned(), Emphasis::Dim);
    };
    let mut text = Vec::new();
    column.push_cell(activity, 0, usize::MAX, &mut text);
    let emphasis = column.emphasis(&text, activity, saturation_threshold);
    // Digits, units and the names of verdicts are always valid UTF-8.
    (String::from_utf8(text).unwrap_or_default(), emphasis)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::intervals::Incident;

    #[test]
    fn titles_are_narrower_than_their_columns() {
        assert!(
            COLUMNS
                .iter()
                .all(|column| column.title.chars().count() < column.width)
        );
    }

    #[test]
    fn every_column_has_its_own_title_and_a_meaning() {
        for (index, column) in COLUMNS.iter().enumerate() {
            assert!(
                !column.title.is_empty() && !column.meaning.is_empty() && column.rank > 0,
                "{index}"
            );
            assert!(
                COLUMNS[..index]
                    .iter()
                    .all(|other| other.title != column.title),
                "{}",
                column.title
            );
        }
    }

    #[test]
    #[cfg(feature = "top")]
    fn cells_are_those_of_the_table_and_of_the_sort_keys() {
        use crate::metrics::Interval;
        let reads = Completed::example(1.0, 2000, 1.5);
        let writes = Completed {
            sectors: 4480,
            ..Completed::example(1.0, 0, 0.0)
        };
        let stats = Interval {
            reads,
            writes,
            ..Interval::default()
        };
        let activity = DeviceActivity::example(stats, crate::judge::Assessment::default());
        let text = |title: &str| cell(title, &activity, 3.0).0;
        assert_eq!(text("r/s"), "2000");
        assert_eq!(text("w/s"), "0");
        assert_eq!(text("MB/s"), "10.0");
        assert_eq!(text("r_await"), "1.50ms");
        assert_eq!(text("w_await"), "-");
        assert_eq!(text("no such column"), "-");
    }

    #[test]
    fn every_column_is_a_sort_key() {
        let is_key = |column: &Column| sort_keys().any(|key| key == column.title);
        let not_keys: Vec<&str> = COLUMNS
            .iter()
            .filter(|c| !is_key(c))
            .map(|c| c.title)
            .collect();
        assert_eq!(not_keys, Vec::<&str>::new());
    }

    #[test]
    fn the_verdict_has_the_time_since_its_incident_began() {
        let cell = |lasted_s: f64, begin_is_known, is_victim| {
            let victim = crate::intervals::DeviceNames::without_alias("loop0");
            let incident = Incident {
                victim,
                begin_is_known,
                ..Incident::example()
            };
            let activity = DeviceActivity {
                shown_verdict: Some(Verdict::Throttled),
                incident: Some(OngoingIncident {
                    incident: incident.into(),
                    lasted_s,
                    is_victim,
                }),
                ..DeviceActivity::default()
            };
            [14, 9].map(|width| {
                verdict_cell(&activity, width)
                    .unwrap_or_default()
                    .into_owned()
            })
        };
        assert_eq!(cell(12.4, true, true), ["throttled 12s", "throttled"]);
        assert_eq!(cell(65.0, false, true), ["throttled >65s", "throttled"]);
        assert_eq!(cell(4000.0, false, true)[0], "throttled >67m");
        assert_eq!(cell(90_000.0, true, true)[0], "throttled 25h");
        assert_eq!(cell(864_000.0, true, true)[0], "throttled 10d");
        assert_eq!(cell(12.0, true, false), ["see loop0", "see loop0"]);
        let healthy = DeviceActivity {
            shown_verdict: Some(Verdict::Ok),
            ..DeviceActivity::default()
        };
        assert_eq!(verdict_cell(&healthy, 14).as_deref(), Some("ok"));
        assert_eq!(verdict_cell(&DeviceActivity::default(), 14), None);
    }
}
