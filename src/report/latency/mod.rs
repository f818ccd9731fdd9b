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
    /// A table for people.
    Table,
    /// A heat map for people, a line per interval, device and kind of request.
    Heatmap,
    /// JSON Lines.
    Json {
        /// With the buckets of the histograms.
        buckets: bool,
    },
    Csv,
}

impl LatencyFormat {
    /// Appends the text before the first interval; `width` is that of tables.
    pub fn begin(self, width: usize, out: &mut Vec<u8>) {
        match self {
            Self::Csv => fields::csv_header(out),
            Self::Heatmap => table::legend(width, out),
            Self::Table | Self::Json { .. } => {}
        }
    }

    pub fn push(self, interval: &LatencyInterval<'_>, width: usize, zone: &TimeZone, out: &mut Vec<u8>) {
        match self {
            Self::Table => table::table(interval, width, zone, out),
            Self::Heatmap => table::lines(interval, width, zone, out),
            Self::Json { buckets } => fields::lines(interval, true, buckets, out),
            Self::Csv => fields::lines(interval, false, false, out),
        }
    }
}
