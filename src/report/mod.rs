//! Output formats: each turns finished numbers into text. No files, no clock, no arguments.
//!
//! To add an output format of the incident view, implement [`IntervalWriter`] in a separate file and add a variant of
//! [`Format`].

pub mod analysis;
pub mod devices;
pub(crate) mod evidence;
pub mod html;
pub mod json_csv;
pub mod latency;
pub(crate) mod layout;
pub mod manual;
pub mod native;
pub mod prometheus;
pub mod version;
pub mod who;

use jiff::tz::TimeZone;

use self::json_csv::Lines;
use self::native::{TableOptions, TableWriter};
use crate::intervals::{DeviceSummary, IntervalRows, RunSpan};

/// An output format of the incident view.
#[derive(Clone, Debug, PartialEq)]
pub enum Format {
    Table(TableOptions),
    /// JSON Lines.
    Json,
    Csv,
}

impl Format {
    /// Returns a writer of this format. `is_terminal` is true if a terminal shows its output; times for people are in
    /// `time_zone`.
    pub fn writer(&self, is_terminal: bool, time_zone: TimeZone) -> Box<dyn IntervalWriter> {
        match self {
            Self::Table(options) => Box::new(TableWriter::new(options, is_terminal, time_zone)),
            Self::Json => Box::new(Lines { is_json: true }),
            Self::Csv => Box::new(Lines { is_json: false }),
        }
    }
}

/// Writes intervals in one format; each method appends to `out`.
pub trait IntervalWriter {
    /// Writes the text before the first interval.
    fn begin(&mut self, out: &mut Vec<u8>) {
        let _ = out;
    }

    /// Adapts to the size of a terminal. Called before each interval that a terminal shows.
    fn resize(&mut self, columns: usize, rows: usize) {
        let _ = (columns, rows);
    }

    /// Writes a line for people. Formats that programs read have none.
    fn push_note(&mut self, text: &str, out: &mut Vec<u8>) {
        let _ = (text, out);
    }

    /// Writes the devices of an interval and their total.
    fn push_interval(&mut self, rows: &IntervalRows, out: &mut Vec<u8>);

    /// Writes the summary of a run for people: the label and summary of each device.
    fn push_summary(&mut self, devices: &[(String, DeviceSummary)], span: &RunSpan, out: &mut Vec<u8>) {
        let _ = (devices, span, out);
    }
}
