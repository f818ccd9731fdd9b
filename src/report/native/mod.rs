//! The incident view as text: a table of each interval, and a summary of the run. Here are the layout and the
//! colors of the table, and the choice of columns. It is made for the first devices, and again only if the width of the
//! terminal changes: a column neither appears nor disappears because of what a device does.

mod columns;
mod lines;
mod summary;
mod table;

pub(super) use self::columns::columns_with_meanings;
use self::columns::{COLUMNS, Column, UNSPLIT, VERDICT_WIDTH, VERDICT_WIDTH_WITH_TIME};
#[cfg(feature = "top")]
pub(crate) use self::columns::{Cell, cell, incident_time, see_text};
pub use self::columns::{ColumnList, sort_keys, sort_value, title_of_field};
#[cfg(feature = "top")]
pub(crate) use self::lines::{
    available_cpu_text, event_text, header_line, state_message, who_line,
};
pub use self::table::TableWriter;
use crate::counters::Columns;
use crate::intervals::DeviceInterval;
use crate::judge::SATURATED;
use crate::report::layout::{UNLIMITED_WIDTH, ellipsize, fit_columns, text_width};
use crate::sanitize::sanitize;

/// The minimum width of the device column.
const MIN_NAME_WIDTH: usize = 10;

#[derive(Clone, Default)]
pub struct TableOptions {
    /// The width of a line; `None` for the width of the terminal, or no limit without a terminal.
    pub width: Option<usize>,
    /// Show the evidence for each verdict.
    pub explain: bool,
    /// Show the cgroups and blocked tasks of devices that are not ok.
    pub who: bool,
    /// Use colors.
    pub colors: bool,
    /// Begin each line of a device with the time.
    pub has_times: bool,
    /// The columns that are wanted; `None` for as many of all as fit.
    pub columns: Option<ColumnList>,
}

/// The width of the time before each device, with the blank behind it.
const TIME_WIDTH: usize = 9;
/// Its title.
const TIME_TITLE: &str = "time";
/// What begins a line that explains the line above, so that no program takes it for that of a device.
const EXPLANATION: &str = "\u{2514} ";

/// Returns the maximum width of names on lines of `width` columns.
fn max_name_width(width: usize) -> usize {
    (width / 5).max(MIN_NAME_WIDTH).min(width)
}

impl TableOptions {
    /// Returns the width of the table, given that of the screen.
    fn fitted_width(&self, screen: Option<usize>) -> usize {
        self.width.or(screen).unwrap_or(UNLIMITED_WIDTH)
    }
}

/// Percentage of the time with some task waiting for I/O from which pressure is colored as a warning.
const MIN_SOME_PRESSURE_PCT: f64 = 10.0;
/// Percentage of the time with all tasks waiting for I/O, so that nothing else was done, from which pressure is colored
/// as an alert.
const MIN_FULL_PRESSURE_PCT: f64 = 10.0;

/// The emphasis of a text on a terminal with colors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Emphasis {
    Plain,
    Bold,
    Dim,
    Alert,
    Warning,
}

/// The multiple of unloaded latency from which requests clearly wait: see `judge`.
const MIN_QUEUEING_SATURATION: f64 = 1.5;

impl Emphasis {
    /// The emphasis of a latency, by its multiple of unloaded latency: plain if that is not known.
    fn of_saturation(saturation: Option<f64>) -> Self {
        match saturation {
            Some(saturation) if saturation >= SATURATED => Self::Alert,
            Some(saturation) if saturation >= MIN_QUEUEING_SATURATION => Self::Warning,
            _ => Self::Plain,
        }
    }

    /// The emphasis of I/O pressure, from its percentages for some tasks and for all.
    fn of_pressure(some_pct: f64, full_pct: f64) -> Self {
        if full_pct >= MIN_FULL_PRESSURE_PCT {
            Self::Alert
        } else if some_pct >= MIN_SOME_PRESSURE_PCT {
            Self::Warning
        } else {
            Self::Plain
        }
    }
}

/// Appends a text, in the color of its emphasis if there are colors.
fn paint(text: &str, emphasis: Emphasis, has_colors: bool, out: &mut Vec<u8>) {
    let begin = out.len();
    out.extend_from_slice(text.as_bytes());
    if has_colors {
        paint_from(begin, emphasis, out);
    }
}

/// Gives the text from `begin` on the color of its emphasis.
fn paint_from(begin: usize, emphasis: Emphasis, out: &mut Vec<u8>) {
    let sgr = match emphasis {
        Emphasis::Plain => return,
        Emphasis::Bold => "\x1b[1m",
        Emphasis::Dim => "\x1b[2m",
        Emphasis::Alert => "\x1b[1;31m",
        Emphasis::Warning => "\x1b[33m",
    };
    if out.len() > begin {
        out.splice(begin..begin, sgr.bytes());
        out.extend_from_slice(b"\x1b[0m");
    }
}

/// The line width from which the time of verdicts has its space: it would take narrower lines too much else.
const MIN_WIDTH_WITH_VERDICT_TIME: usize = 80;
/// The title of the names.
const NAME_TITLE: &str = "device";

/// The columns shown, and their widths.
struct ColumnChoice {
    /// The columns, from left to right.
    shown: Vec<&'static Column>,
    /// The titles of the columns that do not fit, from left to right.
    hidden: Vec<&'static str>,
    name_width: usize,
    verdict_width: usize,
    /// The line of the column titles.
    titles: String,
}

impl ColumnChoice {
    /// Chooses the columns that fit into `line_width` beside the names of these lines.
    fn new(options: &TableOptions, line_width: usize, lines: &[&DeviceInterval]) -> Self {
        let mut longest_name = 0;
        for line in lines {
            longest_name = longest_name.max(text_width(&sanitize(line.label())));
        }
        let name_width = longest_name
            .min(max_name_width(line_width))
            .max(MIN_NAME_WIDTH);
        let mut choice = Self {
            shown: Vec::new(),
            hidden: Vec::new(),
            name_width,
            verdict_width: match line_width {
                MIN_WIDTH_WITH_VERDICT_TIME.. => VERDICT_WIDTH_WITH_TIME,
                _ => VERDICT_WIDTH,
            },
            titles: String::new(),
        };
        let counted = counted_columns(lines);
        let mut candidates: Vec<&Column> = COLUMNS.iter().collect();
        candidates.retain(|column| column.quantity.needs() <= counted);
        let is_unsplit = lines.iter().filter_map(|line| line.stats()).any(|stats| {
            let unsplit = &stats.unsplit;
            unsplit.is_counted() || unsplit.time.ns > 0
        });
        candidates.retain(|column| is_unsplit || column.note != UNSPLIT);
        if let Some(ColumnList(wanted)) = &options.columns {
            candidates.clone_from(wanted);
        }
        let times = if options.has_times { TIME_WIDTH } else { 0 };
        choice.fit(&candidates, line_width.saturating_sub(times + name_width));
        let mut titles = String::new();
        if options.has_times {
            titles += &format!("{TIME_TITLE:<TIME_WIDTH$}");
        }
        titles += &format!("{NAME_TITLE:<name_width$}");
        for column in &choice.shown {
            let width = choice.width(column);
            titles += &format!("{:>width$}", column.title);
        }
        choice.titles = ellipsize(&titles, line_width);
        choice
    }

    /// Shows those of these columns that fit into `room`.
    fn fit(&mut self, candidates: &[&'static Column], room: usize) {
        let widths: Vec<usize> = candidates.iter().map(|column| self.width(column)).collect();
        let ranks: Vec<u8> = candidates.iter().map(|column| column.rank).collect();
        let fitted = fit_columns(&widths, &ranks, room);
        self.shown.clear();
        self.hidden.clear();
        for (at, column) in candidates.iter().enumerate() {
            if fitted.contains(&at) {
                self.shown.push(column);
            } else {
                self.hidden.push(column.title);
            }
        }
    }

    /// Returns the width of a column that is shown.
    fn width(&self, column: &Column) -> usize {
        if column.is_verdict() {
            self.verdict_width
        } else {
            column.width
        }
    }
}

/// Returns the columns that the kernel prints for one of these devices; all if none of them has statistics.
fn counted_columns(lines: &[&DeviceInterval]) -> Columns {
    let mut most = None;
    for activity in lines.iter().filter_map(|line| line.activity()) {
        let stats = &activity.judged.interval;
        let counted = match (stats.flushes.is_counted(), stats.discards.is_counted()) {
            (true, _) => Columns::Flushes,
            (false, true) => Columns::Discards,
            (false, false) => Columns::Basic,
        };
        most = most.max(Some(counted));
    }
    most.unwrap_or(Columns::Flushes)
}

#[cfg(test)]
mod layout_tests {
    use super::*;

    #[test]
    fn latency_is_colored_by_saturation_and_pressure_by_level() {
        let latency =
            [None, Some(1.4), Some(1.5), Some(2.9), Some(3.0)].map(Emphasis::of_saturation);
        use Emphasis::{Alert, Plain, Warning};
        assert_eq!(latency, [Plain, Plain, Warning, Warning, Alert]);
        let pressure = [(9.9, 0.0), (10.0, 9.9), (10.0, 10.0)]
            .map(|(some, full)| Emphasis::of_pressure(some, full));
        assert_eq!(pressure, [Plain, Warning, Alert]);
    }
}

#[cfg(test)]
mod column_choice_tests {
    use super::*;
    use crate::intervals::{DeviceActivity, DeviceState, EventKind};
    use crate::judge::Assessment;
    use crate::metrics::{Completed, Interval};
    use crate::report::native::TableOptions;

    fn layout(width: Option<usize>) -> TableOptions {
        TableOptions {
            width,
            ..TableOptions::default()
        }
    }

    fn choice(options: &TableOptions, device: &DeviceInterval) -> ColumnChoice {
        ColumnChoice::new(options, options.fitted_width(None), &[device])
    }

    /// A device of a kernel that prints these columns.
    fn device(columns: Columns) -> DeviceInterval {
        let none = |kind| {
            if columns >= kind {
                Completed::example(1.0, 0, 0.0)
            } else {
                Completed::default()
            }
        };
        let (discards, flushes) = (none(Columns::Discards), none(Columns::Flushes));
        let stats = Interval {
            discards,
            flushes,
            ..Interval::unknown(1.0)
        };
        let state = DeviceState::Active(Box::new(DeviceActivity::example(
            stats,
            Assessment::default(),
        )));
        DeviceInterval::without_alias("sda", state)
    }

    /// The titles shown, and those hidden.
    fn titles(options: &TableOptions, columns: Columns) -> (String, String) {
        let choice = choice(options, &device(columns));
        let shown: Vec<&str> = choice.shown.iter().map(|column| column.title).collect();
        assert!(choice.titles.chars().count() <= options.fitted_width(None));
        (shown.join(" "), choice.hidden.join(" "))
    }

    #[test]
    fn columns_depend_on_what_the_kernel_counts() {
        let count = |columns| titles(&layout(None), columns).0.split(' ').count();
        let basic = "r/s rMiB/s r_await r_sz w/s wMiB/s w_await w_sz rmrg wmrg r_qu w_qu queue inflt util ≤util r_sat w_sat verdict";
        assert_eq!(
            titles(&layout(None), Columns::Basic),
            (basic.to_owned(), String::new())
        );
        assert_eq!(
            (count(Columns::Discards), count(Columns::Flushes)),
            (19 + 6, COLUMNS.len() - 2)
        );
        let state = DeviceState::Event(EventKind::Appeared);
        let unknown = DeviceInterval {
            state,
            ..device(Columns::Basic)
        };
        assert_eq!(
            choice(&layout(None), &unknown).shown.len(),
            COLUMNS.len() - 2
        );
    }

    #[test]
    fn narrow_tables_keep_what_matters() {
        let all_but_discards = [
            "r/s rMiB/s r_await w/s wMiB/s w_await r_qu w_qu queue inflt util ≤util r_sat w_sat verdict",
            "r/s rMiB/s r_await w/s wMiB/s w_await queue inflt util r_sat w_sat verdict",
            "r/s rMiB/s r_await w/s wMiB/s w_await queue util verdict",
            "r/s r_await w/s w_await queue util verdict",
            "r_await queue util verdict",
            "r_await verdict",
        ];
        for (width, expected) in [120, 100, 80, 60, 40, 30].into_iter().zip(all_but_discards) {
            assert_eq!(
                titles(&layout(Some(width)), Columns::Flushes).0,
                expected,
                "{width}"
            );
        }
        let hidden = "rMiB/s r_sz wMiB/s w_sz rmrg wmrg r_qu w_qu inflt ≤util r_sat w_sat";
        assert_eq!(
            titles(&layout(Some(60)), Columns::Basic).1,
            hidden,
            "in their order in the table"
        );
        assert_eq!(titles(&layout(Some(3)), Columns::Basic).0, "");
    }
}
