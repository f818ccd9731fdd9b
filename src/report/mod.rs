//! Output formats: each turns finished numbers into text. No files, no clock, no arguments.
//!
//! To add an output format of the incident view, implement [`IntervalWriter`] in a separate file.

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
pub(crate) mod scale;
pub mod who;

use crate::intervals::{DeviceSummary, IntervalRows, RunSpan};

/// Writes intervals in one format; each method appends to `out`.
pub trait IntervalWriter {
    /// Writes the text before the first interval.
    fn begin(&mut self, _out: &mut Vec<u8>) {}

    /// Adapts to the size of a terminal. Called before each interval that a terminal shows.
    fn resize(&mut self, _columns: usize, _rows: usize) {}

    /// Writes a line for people. Formats that programs read have none.
    fn push_note(&mut self, _text: &str, _out: &mut Vec<u8>) {}

    /// Writes the devices of an interval and their total.
    fn push_interval(&mut self, rows: &IntervalRows, out: &mut Vec<u8>);

    /// Writes the summary of a run for people: the label and summary of each device.
    fn push_summary(&mut self, _of: &[(String, DeviceSummary)], _span: &RunSpan, _out: &mut Vec<u8>) {}
}
