//! The text of iostat, byte for byte.

mod cells;
mod colors;
mod columns;
mod json;
mod style;
mod tables;

use std::borrow::Cow;

pub(super) use colors::Palette;
pub(super) use style::{Format, Style, Unit};

use super::rates::IostatRates;
use crate::metrics::CpuPercentages;
use crate::source::Host;

#[derive(Clone, Debug, Default)]
pub(super) struct Report<'a> {
    /// The formatted time; `None` without `-t`.
    pub(super) time: Option<String>,
    /// CPU utilization; `None` if unknown.
    pub(super) cpu: Option<CpuPercentages>,
    /// Devices and groups in order.
    pub(super) rows: Vec<Row<'a>>,
    /// True if the report ends after the last row because of an error.
    pub(super) is_truncated: bool,
}

/// A device or a group in a report.
#[derive(Clone, Debug)]
pub(super) struct Row<'a> {
    pub(super) name: Cow<'a, str>,
    pub(super) is_group: bool,
    /// `None` for a group that never had a device: it is not printed, but JSON has the comma after it.
    pub(super) rates: Option<IostatRates>,
}

/// Appends the reports of one run to a buffer.
pub(super) struct Printer {
    style: Style,
    tables: Vec<tables::Table>,
    position: json::Position,
}

impl Printer {
    /// Returns a printer for reports in a style.
    pub(super) fn new(style: Style) -> Self {
        Self { tables: tables::device_tables(&style), style, position: json::Position::First }
    }

    /// Appends the heading with a formatted date.
    pub(super) fn begin(&self, host: &Host, date: &str, out: &mut Vec<u8>) {
        match self.style.format {
            Format::Text => tables::begin(host, date, out),
            Format::Json => json::begin(host, date, out),
        }
    }

    pub(super) fn skip_report(&mut self) {
        self.position = json::Position::FirstAfterSkipped;
    }

    pub(super) fn report(&mut self, report: &Report<'_>, out: &mut Vec<u8>) {
        match self.style.format {
            Format::Text => tables::report(&self.style, &self.tables, report, out),
            Format::Json => json::report(&self.style, report, self.position, out),
        }
        self.position = json::Position::Next;
    }

    /// Appends the end of the output.
    pub(super) fn end(&self, out: &mut Vec<u8>) {
        match self.style.format {
            Format::Text => {}
            Format::Json => json::end(out),
        }
    }
}
