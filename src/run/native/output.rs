//! Lines into the format that was asked for.

use anyhow::Result;
use jiff::tz::TimeZone;

use super::tracker::Shown;
use crate::plan::{DeviceSelection, Format, TableOptions, View};
use crate::report::native::{
    Block, Extent, Layout, Line, SortKey, Summary, Table, csv_header, csv_line, draw_summary, json_line,
};
use crate::run::{RunContext, WIDTH, put};
use crate::terminal::screen_size;

/// Lines between two headers where there is no terminal.
const ROWS: usize = 50;

/// Writes the blocks of a run.
pub(super) struct Output<'a> {
    choice: &'a DeviceSelection,
    writer: Writer<'a>,
    text: Vec<u8>,
}

enum Writer<'a> {
    Table { table: Box<Table>, options: &'a TableOptions, is_terminal: bool },
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
                let (width, rows) = size(options, is_terminal);
                let layout = Layout {
                    width,
                    rows,
                    is_screen: is_terminal,
                    all_columns: options.all_columns,
                    mounts: options.mounts,
                    explain: options.explain,
                    colors: options.colors && is_terminal,
                    time_zone,
                };
                Writer::Table { table: Box::new(Table::new(layout)), options, is_terminal }
            }
        };
        Self { choice: &plan.choice, writer, text }
    }

    /// Adds a line of its own to a table.
    pub(super) fn note(&mut self, note: &str) {
        if let Writer::Table { table, .. } = &mut self.writer {
            table.note(note, &mut self.text);
        }
    }

    /// Adds the block of an interval.
    pub(super) fn block(&mut self, block: &Block, shown: Shown<'_>, news: &[String]) {
        let mut lines = shown.lines;
        self.arrange(&mut lines);
        if let Some(state) = shown.total.filter(|_| self.choice.total) {
            lines.push(Line { device: "total", shown: "total", mounts: String::new(), state });
        }
        match &mut self.writer {
            Writer::Json => lines.iter().for_each(|line| json_line(block, line, &mut self.text)),
            Writer::Csv => lines.iter().for_each(|line| csv_line(block, line, &mut self.text)),
            Writer::Table { table, options, is_terminal } => {
                let (width, rows) = size(options, *is_terminal);
                table.resize(width, rows);
                table.block(block, &lines, news, &mut self.text);
            }
        }
    }

    fn arrange(&self, lines: &mut Vec<Line<'_>>) {
        let key = self.choice.sort.or_else(|| self.choice.top.map(|_| SortKey::QUEUE));
        if let Some(key) = key {
            // What hangs has no figures to sort by, and matters most.
            let value = |line: &Line<'_>| match line.judged() {
                Some(judged) if judged.stalled_s > 0.0 => f64::INFINITY,
                _ => key.value(line).unwrap_or(-1.0),
            };
            lines.sort_by(|a, b| value(b).total_cmp(&value(a)));
        }
        lines.truncate(self.choice.top.unwrap_or(usize::MAX));
    }

    /// Writes what was added, at once.
    ///
    /// # Errors
    /// When standard output takes no more.
    pub(super) fn flush(&mut self, world: &mut RunContext<'_>) -> Result<()> {
        if self.text.is_empty() { Ok(()) } else { put(world.out, &mut self.text) }
    }

    /// Adds the summary, if people read it.
    pub(super) fn summary(
        &mut self,
        summaries: impl FnOnce() -> Vec<(String, Summary)>,
        extent: &Extent,
        zone: &TimeZone,
    ) {
        if let Writer::Table { options, is_terminal, .. } = &self.writer {
            let (width, _) = size(options, *is_terminal);
            draw_summary(&summaries(), extent, width, zone, &mut self.text);
        }
    }
}

/// Columns and lines of a screen.
fn size(options: &TableOptions, is_terminal: bool) -> (Option<usize>, usize) {
    let (columns, rows) = is_terminal.then(screen_size).flatten().unwrap_or((WIDTH, ROWS));
    let width = if options.all_columns { None } else { Some(options.width.unwrap_or(columns)) };
    (width, rows)
}
