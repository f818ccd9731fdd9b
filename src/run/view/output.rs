//! Writes intervals in the requested format.

use anyhow::Result;
use jiff::tz::TimeZone;

use crate::intervals::{DeviceInterval, IntervalRows, Intervals};
use crate::plan::{Format, TableOptions, View};
use crate::report::json_csv::{csv_header, csv_line, json_line};
use crate::report::native::{Layout, SortKey, Table, draw_summary};
use crate::run::{DEFAULT_WIDTH, RunContext, emit};
use crate::terminal::screen_size;

/// The number of lines between two headers without a terminal.
const DEFAULT_ROWS: usize = 50;

/// Writes the intervals of a run.
pub(super) struct Output<'a> {
    plan: &'a View,
    writer: Writer<'a>,
    time_zone: TimeZone,
    is_terminal: bool,
    /// Text not yet written.
    text: Vec<u8>,
}

enum Writer<'a> {
    Table { table: Box<Table>, options: &'a TableOptions },
    Json,
    Csv,
}

impl<'a> Output<'a> {
    pub(super) fn new(plan: &'a View, is_terminal: bool, time_zone: TimeZone) -> Self {
        let mut text = Vec::new();
        let writer = match &plan.format {
            Format::Json => Writer::Json,
            Format::Csv => {
                csv_header(&mut text);
                Writer::Csv
            }
            Format::Table(options) => {
                let (width, rows) = table_size(options, is_terminal);
                let layout = Layout {
                    width,
                    rows,
                    is_screen: is_terminal,
                    all_columns: options.all_columns,
                    mounts: options.mounts,
                    explain: options.explain,
                    colors: options.colors && is_terminal,
                    time_zone: time_zone.clone(),
                };
                Writer::Table { table: Box::new(Table::new(layout)), options }
            }
        };
        Self { plan, writer, time_zone, is_terminal, text }
    }

    /// Adds an interval.
    pub(super) fn push(&mut self, mut rows: IntervalRows<'_>) {
        self.arrange(&mut rows.devices);
        self.push_arranged(&rows);
    }

    /// Adds the averages since boot.
    pub(super) fn push_since_boot(&mut self, rows: &IntervalRows<'_>) {
        if let Writer::Table { table, .. } = &mut self.writer {
            table.note("since boot:", &mut self.text);
        }
        self.push(rows.clone());
    }

    fn push_arranged(&mut self, rows: &IntervalRows<'_>) {
        let lines = || rows.devices.iter().chain(&rows.total);
        match &mut self.writer {
            Writer::Json => lines().for_each(|line| json_line(&rows.header, line, &mut self.text)),
            Writer::Csv => lines().for_each(|line| csv_line(&rows.header, line, &mut self.text)),
            Writer::Table { table, options } => {
                let (width, screen_rows) = table_size(options, self.is_terminal);
                table.resize(width, screen_rows);
                table.interval(rows, &mut self.text);
            }
        }
    }

    /// Sorts the devices and keeps only the first ones, as the plan requests.
    fn arrange(&self, devices: &mut Vec<DeviceInterval<'_>>) {
        let key = self.plan.sort.or_else(|| self.plan.top.map(|_| SortKey::QUEUE));
        if let Some(key) = key {
            // A stalled device may have no value to sort by, but matters most.
            let value = |device: &DeviceInterval<'_>| match device.activity() {
                Some(activity) if activity.stalled_s > 0.0 => f64::INFINITY,
                _ => key.value(device).unwrap_or(-1.0),
            };
            devices.sort_by(|a, b| value(b).total_cmp(&value(a)));
        }
        devices.truncate(self.plan.top.unwrap_or(usize::MAX));
    }

    /// Adds the summary of the run to a table.
    pub(super) fn push_summary(&mut self, intervals: &Intervals<'_>) {
        if let Writer::Table { options, .. } = &self.writer {
            let (width, _) = table_size(options, self.is_terminal);
            let summaries = intervals.summaries();
            draw_summary(&summaries, intervals.span(), width, &self.time_zone, &mut self.text);
        }
    }

    /// Writes the text added since the last call, with a single write.
    ///
    /// # Errors
    /// If standard output cannot be written.
    pub(super) fn flush(&mut self, context: &mut RunContext<'_>) -> Result<()> {
        if self.text.is_empty() { Ok(()) } else { emit(context.out, &mut self.text) }
    }
}

/// Returns the width of the table in columns (`None` for no limit) and the number of lines between headers.
fn table_size(options: &TableOptions, is_terminal: bool) -> (Option<usize>, usize) {
    let (columns, rows) = is_terminal.then(screen_size).flatten().unwrap_or((DEFAULT_WIDTH, DEFAULT_ROWS));
    let width = if options.all_columns { None } else { Some(options.width.unwrap_or(columns)) };
    (width, rows)
}
