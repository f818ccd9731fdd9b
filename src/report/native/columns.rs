//! The columns of the table and the keys to sort devices by, as data, with their cells.

use std::borrow::Cow;

use super::Emphasis;
use crate::intervals::{DeviceActivity, DeviceInterval, OngoingIncident};
use crate::judge::Verdict;
use crate::metrics::Completed;
use crate::quantities::device::*;
use crate::quantities::{Quantity, Requests, Unit};
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
#[derive(Debug)]
pub(super) struct Column {
    /// Its title; that of a key is its name.
    pub(super) title: &'static str,
    pub(super) quantity: &'static Quantity,
    /// What the help says of it after its meaning.
    pub(super) note: &'static str,
    /// Its width with the blank before it.
    pub(super) width: usize,
    /// Its importance: columns with lower ranks are dropped first.
    pub(super) rank: u8,
    text: CellText,
}

#[derive(Clone, Copy, Debug)]
enum CellText {
    Number,
    /// A latency, marked if it is an estimate, emphasized by the saturation of its requests.
    Latency,
    Saturation,
    /// A util, marked if it cannot be right.
    Util,
    Verdict,
}

use CellText::{Latency, Number, Saturation, Util};

const fn column(quantity: &'static Quantity, width: usize, rank: u8, text: CellText) -> Column {
    Column {
        title: quantity.title,
        quantity,
        note: "",
        width,
        rank,
        text,
    }
}

/// A key that is a column only on request.
const fn key(quantity: &'static Quantity) -> Column {
    column(quantity, 8, 80, Number)
}

/// The place of the verdict among all of them: the more severe, the higher.
const VERDICT: Quantity = Quantity {
    name: "verdict",
    title: "verdict",
    meaning: "the state of the device, with the time since its incident began (> if that may have been earlier), or the device that suffers from the incident; see 'blkstat help verdicts'",
    unit: Unit::Count,
    requests: Requests::All,
    formula: |_, judged| Some(f64::from(judged.verdict()? as u8)),
};

/// What the columns say that are only for logs of other tools.
pub(super) const UNSPLIT: &str = "; shown for logs that do not split them";

/// The columns from left to right.
pub(super) static COLUMNS: &[Column] = &[
    Column {
        note: UNSPLIT,
        ..column(&IOPS, 7, 94, Number)
    },
    Column {
        note: UNSPLIT,
        ..column(&AWAIT_MS, 9, 99, Latency)
    },
    column(&READS_PER_S, 6, 93, Number),
    column(&READ_KIB_PER_S, 7, 91, Number),
    column(&READ_AWAIT_MS, 8, 99, Latency),
    column(&READ_SIZE_KIB, 5, 50, Number),
    column(&WRITES_PER_S, 6, 93, Number),
    column(&WRITE_KIB_PER_S, 7, 91, Number),
    column(&WRITE_AWAIT_MS, 8, 96, Latency),
    column(&WRITE_SIZE_KIB, 5, 50, Number),
    column(&DISCARDS_PER_S, 6, 30, Number),
    column(&DISCARD_KIB_PER_S, 7, 20, Number),
    column(&DISCARD_AWAIT_MS, 8, 28, Latency),
    column(&DISCARD_SIZE_KIB, 5, 10, Number),
    column(&FLUSHES_PER_S, 6, 35, Number),
    column(&FLUSH_AWAIT_MS, 8, 33, Number),
    column(&READ_MERGE_PCT, 5, 40, Number),
    column(&WRITE_MERGE_PCT, 5, 40, Number),
    column(&DISCARD_MERGE_PCT, 5, 5, Number),
    column(&READ_QUEUE, 5, 65, Number),
    column(&WRITE_QUEUE, 5, 65, Number),
    column(&DISCARD_QUEUE, 5, 5, Number),
    column(&QUEUE, 6, 98, Number),
    column(&IN_FLIGHT, 6, 82, Number),
    column(&UTIL_PCT, 6, 97, Util),
    Column {
        note: "; its sort key is util_ub",
        ..column(&UTIL_UPPER_BOUND_PCT, 6, 70, Number)
    },
    column(&READ_SATURATION, 6, 85, Saturation),
    column(&WRITE_SATURATION, 6, 85, Saturation),
    column(&VERDICT, VERDICT_WIDTH, 100, CellText::Verdict),
];

/// Further keys to sort by.
static MORE_KEYS: &[Column] = &[
    Column {
        title: "util_ub",
        ..key(&UTIL_UPPER_BOUND_PCT)
    },
    key(&READ_MERGES_PER_S),
    key(&WRITE_MERGES_PER_S),
    key(&DISCARD_MERGES_PER_S),
    key(&FLUSH_SATURATION),
    key(&REQUESTS_PER_S),
    key(&KIB_PER_S),
    key(&SATURATION),
    key(&LONGEST_AWAIT_MS),
];

/// The format of a quantity in this unit.
pub(super) fn format_of(unit: Unit) -> NumberFormat {
    match unit {
        Unit::PerSecond => number_figure,
        Unit::KibPerSecond => mib_figure,
        Unit::Milliseconds => time_figure,
        Unit::Kib => size_figure,
        Unit::RequestPercent | Unit::TimePercent => percent_figure,
        Unit::Times => multiple_figure,
        Unit::Mean => queue_figure,
        Unit::Count => count_figure,
    }
}

impl Column {
    fn value(&self, activity: &DeviceActivity) -> Option<f64> {
        self.quantity.value(&activity.judged)
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
            (Latency, Some(await_ms)) => latency_figure(
                await_ms,
                &self.quantity.requests.completed(&activity.judged),
            ),
            (Util, Some(util)) => percent_figure(util).with_suffix(activity.flag.map(|_| b'?')),
            (Number | Saturation, Some(value)) => format_of(self.quantity.unit)(value),
        };
        figure.push(out, width);
    }

    /// Returns the emphasis of a cell with this text.
    pub(super) fn emphasis(&self, text: &[u8], activity: &DeviceActivity) -> Emphasis {
        if matches!(text, b"-" | b"0" | b"0%") {
            return Emphasis::Dim;
        }
        let is_trouble = activity.shown_verdict.is_some_and(Verdict::is_trouble);
        if !is_trouble || activity.incident_above().is_some() {
            return Emphasis::Plain;
        }
        match self.text {
            Latency | Saturation => {
                let saturation = self.quantity.requests.saturation(&activity.judged);
                Emphasis::of_saturation(saturation)
            }
            // Trouble that costs nobody anything belongs to no incident.
            CellText::Verdict if activity.incident.is_some() => Emphasis::Alert,
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
    let resolution_ms = 1.0 / of.timed_ios;
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
    let is_trouble = activity.shown_verdict > Some(Verdict::Ok);
    let text = if let Some(above) = activity.incident_above() {
        see_text(above)
    } else if is_trouble && let Some(ongoing) = &activity.incident {
        format!("{} {}", name?, incident_time(ongoing))
    } else {
        return name.map(Cow::from);
    };
    Some(match text.chars().count() <= max_width {
        true => text.into(),
        false => name.unwrap_or("see above").into(),
    })
}

/// Points from a device below the one that suffers to that: `see loop0`.
pub(crate) fn see_text(ongoing: &OngoingIncident) -> String {
    format!("see {}", sanitize(&ongoing.told.victim.label))
}

/// Returns the time since an incident began: `12s`, `>65s` if it may have begun earlier, `99m`, `3h`, `2d`.
pub(crate) fn incident_time(ongoing: &OngoingIncident) -> String {
    let sign = sign_of_begin(&ongoing.told);
    match ongoing.lasted_s {
        seconds @ ..99.5 => format!("{sign}{seconds:.0}s"),
        seconds @ ..5970.0 => format!("{sign}{:.0}m", seconds / 60.0),
        seconds @ ..171_000.0 => format!("{sign}{:.0}h", seconds / 3600.0),
        seconds => format!("{sign}{:.0}d", seconds / 86_400.0),
    }
}

fn keys() -> impl Iterator<Item = &'static Column> {
    COLUMNS.iter().chain(MORE_KEYS)
}

/// The fields that begin a row: the time if it is chosen, and the device always.
const BEGIN_OF_ROW: [&str; 2] = ["time", "device"];

/// Columns chosen by their names.
#[derive(Clone, Debug)]
pub struct ColumnList(pub(super) Vec<&'static Column>);

impl ColumnList {
    /// The columns of these fields, by their names in JSON. The time and the device are not among them: they begin a row.
    ///
    /// # Errors
    /// If the table has no column for a field.
    pub fn of_fields(names: impl Iterator<Item = &'static str>) -> Result<Self, String> {
        let mut columns = Vec::new();
        for name in names.filter(|name| !BEGIN_OF_ROW.contains(name)) {
            columns.push(column_of(name).ok_or_else(|| {
                format!("-o: the table has no '{name}'; --json, --csv and --influx have it")
            })?);
        }
        Ok(Self(columns))
    }
}

fn column_of(name: &str) -> Option<&'static Column> {
    keys().find(|column| column.quantity.name == name)
}

/// Returns the title of a field in the table, by its name in JSON; `None` if the table cannot show it.
pub fn title_of_field(name: &'static str) -> Option<&'static str> {
    if BEGIN_OF_ROW.contains(&name) {
        return Some(name);
    }
    Some(column_of(name)?.title)
}

/// Returns the names of the sort keys: the column titles, `util_ub` for `≤util`, and those of fields without a column.
pub fn sort_keys() -> impl Iterator<Item = &'static str> {
    keys().map(|key| key.title)
}

/// Returns the value of a device by which a key sorts it: the largest comes first.
pub fn sort_value(key: &str, device: &DeviceInterval) -> f64 {
    let Some(activity) = device.activity() else {
        return -1.0;
    };
    // A stalled device may have no value, but matters most.
    if activity.stalled_s > 0.0 {
        return f64::INFINITY;
    }
    let column = keys().find(|column| column.title == key);
    column
        .and_then(|column| column.value(activity))
        .unwrap_or(-1.0)
}

/// Returns the columns with their meanings, for the manual.
pub(crate) fn columns_with_meanings() -> Vec<(String, String)> {
    let mut meanings = Vec::new();
    for column in COLUMNS {
        let unit = match column.quantity.unit {
            Unit::KibPerSecond => ", in MiB (1024 * 1024 bytes, as in iostat)",
            _ => "",
        };
        let meaning = format!("{}{unit}{}", column.quantity.meaning, column.note);
        meanings.push((column.title.to_owned(), meaning));
    }
    meanings
}

/// A text with its emphasis.
pub(crate) type Cell = (String, Emphasis);

/// Returns the cell of a column, by its title or by the name of a sort key: as in the table, `-` without a value.
#[cfg(feature = "top")]
pub(crate) fn cell(title: &str, activity: &DeviceActivity) -> Cell {
    let Some(column) = keys().find(|column| column.title == title) else {
        return ("-".to_owned(), Emphasis::Dim);
    };
    let mut text = Vec::new();
    column.push_cell(activity, 0, usize::MAX, &mut text);
    let emphasis = column.emphasis(&text, activity);
    // Digits, units and the names of verdicts are always valid UTF-8.
    (String::from_utf8(text).unwrap_or_default(), emphasis)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::incidents::Told;
    use crate::topology::DeviceNames;

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
            let is_explained = !column.quantity.meaning.is_empty();
            assert!(
                !column.title.is_empty() && is_explained && column.rank > 0,
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
        use crate::metrics::{Amount, Interval};
        let reads = Completed::example(1.0, 2000, 1.5);
        let writes = Completed {
            sectors: Amount {
                ns: 1_000_000_000,
                sum: 4480.0,
            },
            ..Completed::example(1.0, 0, 0.0)
        };
        let stats = Interval {
            reads,
            writes,
            ..Interval::default()
        };
        let activity = DeviceActivity::example(stats, crate::judge::Assessment::default());
        let text = |title: &str| cell(title, &activity).0;
        assert_eq!(text("r/s"), "2000");
        assert_eq!(text("w/s"), "0");
        assert_eq!(text("MiB/s"), "10.0");
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
            let told = Told {
                victim: DeviceNames::without_alias("loop0"),
                begin_is_known,
                ..Told::example()
            };
            let activity = DeviceActivity {
                shown_verdict: Some(Verdict::Throttled),
                incident: Some(OngoingIncident {
                    told: told.into(),
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
