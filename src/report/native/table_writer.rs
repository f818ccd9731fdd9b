//! The table as an output format, as large as the terminal.

use jiff::tz::TimeZone;

use super::layout::Layout;
use super::summary::draw_summary;
use super::table::Table;
use crate::analysis::DEFAULT_SATURATION_THRESHOLD;
use crate::intervals::{DeviceSummary, IntervalRows, RunSpan};
use crate::report::IntervalWriter;
use crate::report::layout::DEFAULT_WIDTH;

/// The number of lines after which the column titles are repeated without a terminal.
const DEFAULT_ROWS: usize = 50;

#[derive(Clone, Debug, PartialEq)]
pub struct TableOptions {
    /// The width of a line; `None` for the width of the terminal, or no limit without a terminal.
    pub width: Option<usize>,
    /// Show all columns, however wide.
    pub all_columns: bool,
    /// Intervals may have several samples, so that verdicts may hold for a part of an interval.
    pub verdict_seconds: bool,
    pub mounts: bool,
    /// Show the evidence for each verdict.
    pub explain: bool,
    /// Show the cgroups and blocked tasks of devices that are not ok.
    pub who: bool,
    /// Use colors on a terminal.
    pub colors: bool,
    /// Latency, as a multiple of unloaded latency, from which it is colored as an alert.
    pub saturation_threshold: f64,
}

impl Default for TableOptions {
    fn default() -> Self {
        Self {
            width: None,
            all_columns: false,
            verdict_seconds: false,
            mounts: false,
            explain: false,
            who: false,
            colors: false,
            saturation_threshold: DEFAULT_SATURATION_THRESHOLD,
        }
    }
}

/// Writes intervals as tables, and a summary.
pub struct TableWriter {
    table: Table,
    /// The width that the user chose.
    width: Option<usize>,
    all_columns: bool,
    time_zone: TimeZone,
}

impl TableWriter {
    /// Creates a writer of the default size, which [`IntervalWriter::resize`] changes.
    pub fn new(options: &TableOptions, is_terminal: bool, time_zone: TimeZone) -> Self {
        let TableOptions {
            width,
            all_columns,
            verdict_seconds,
            mounts,
            explain,
            who,
            colors,
            saturation_threshold,
        } = *options;
        let layout = Layout {
            width: fitted_width(width, all_columns, is_terminal.then_some(DEFAULT_WIDTH)),
            rows: DEFAULT_ROWS,
            is_screen: is_terminal,
            all_columns,
            verdict_seconds,
            mounts,
            explain,
            who,
            colors: colors && is_terminal,
            saturation_threshold,
            time_zone: time_zone.clone(),
        };
        Self { table: Table::new(layout), width, all_columns, time_zone }
    }
}

impl IntervalWriter for TableWriter {
    fn resize(&mut self, columns: usize, rows: usize) {
        self.table.resize(fitted_width(self.width, self.all_columns, Some(columns)), rows);
    }

    fn push_note(&mut self, text: &str, out: &mut Vec<u8>) {
        self.table.push_note(text, out);
    }

    fn push_interval(&mut self, rows: &IntervalRows, out: &mut Vec<u8>) {
        self.table.push_interval(rows, out);
    }

    fn push_summary(&mut self, devices: &[(String, DeviceSummary)], span: &RunSpan, out: &mut Vec<u8>) {
        draw_summary(devices, span, self.table.width(), &self.time_zone, out);
    }
}

/// Returns the width of the table, given that of the screen; `None` for no limit.
fn fitted_width(chosen: Option<usize>, all_columns: bool, screen: Option<usize>) -> Option<usize> {
    if all_columns { None } else { chosen.or(screen) }
}
