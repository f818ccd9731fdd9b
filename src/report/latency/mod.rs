//! The latencies of single requests: as a table with histograms for people, as a heat map over time, as JSON Lines and
//! as CSV.

pub(super) mod fields;
mod table;
#[cfg(test)]
mod tests;

use jiff::tz::TimeZone;

pub(crate) use self::table::push_note;
pub use self::table::{dropped_text, trace_notes, trace_problem_text};
use crate::intervals::{IntervalHeader, TracedDevice, TracedInterval};

#[derive(Clone, Debug)]
pub struct LatencyInterval<'a> {
    /// The values that all devices of the interval share.
    pub header: &'a IntervalHeader,
    /// All traced requests; the devices to show are in [`Self::devices`].
    pub traced: &'a TracedInterval,
    /// The devices that are shown.
    pub devices: Vec<&'a TracedDevice>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LatencyFormat {
    /// A table of this width for people; `None` for the width of the terminal.
    Table(Option<usize>),
    /// A heat map for people, a line per interval, device and kind of request; the width is that of a table.
    Heatmap(Option<usize>),
    /// JSON Lines.
    Json {
        /// With the buckets of the histograms.
        buckets: bool,
    },
    Csv,
}

pub struct LatencyWriter {
    format: LatencyFormat,
    width: usize,
    time_zone: TimeZone,
}

impl LatencyWriter {
    /// Creates a writer; `width` is the width of tables unless the format has one.
    pub fn new(format: LatencyFormat, width: usize, time_zone: TimeZone) -> Self {
        let width = match format {
            LatencyFormat::Table(Some(width)) | LatencyFormat::Heatmap(Some(width)) => width,
            _ => width,
        };
        Self { format, width, time_zone }
    }

    /// Adapts to the width of a terminal, unless another was chosen.
    pub fn resize(&mut self, columns: usize) {
        if matches!(self.format, LatencyFormat::Table(None) | LatencyFormat::Heatmap(None)) {
            self.width = columns;
        }
    }

    /// Appends the text before the first interval.
    pub fn begin(&self, out: &mut Vec<u8>) {
        match self.format {
            LatencyFormat::Csv => fields::csv_header(out),
            LatencyFormat::Heatmap(_) => table::legend(self.width, out),
            LatencyFormat::Table(_) | LatencyFormat::Json { .. } => {}
        }
    }

    pub fn push(&self, interval: &LatencyInterval<'_>, out: &mut Vec<u8>) {
        match self.format {
            LatencyFormat::Table(_) => {
                table::table(interval, self.width, &self.time_zone, out);
            }
            LatencyFormat::Heatmap(_) => table::lines(interval, self.width, &self.time_zone, out),
            LatencyFormat::Json { buckets } => fields::json_lines(interval, buckets, out),
            LatencyFormat::Csv => fields::csv_lines(interval, out),
        }
    }
}
