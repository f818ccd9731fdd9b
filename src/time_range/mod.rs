//! Points in time as people type them, and the part of a capture between two of them: `16:04`, a date, `-10m` from the
//! end, `+5m` from the start.
//!
//! Pure: a [`RangeFilter`] is shown the times of the samples one after the other.

mod filter;
mod point;

use std::ffi::OsString;

pub use filter::{CaptureTimes, Place, RangeFilter};
pub use point::TimePoint;

/// The part of a capture that is shown. An interval belongs to it if its middle does, so that each end is at the sample
/// nearest to it: samples are never exactly on time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TimeRange {
    /// The beginning; `None` for that of the capture.
    pub begin: Option<TimePoint>,
    /// The end; `None` for that of the capture.
    pub end: Option<TimePoint>,
    /// The value of the environment variable TZ, which names the zone of times without one.
    pub time_zone: Option<OsString>,
}

impl TimeRange {
    /// Returns whether it is the whole capture.
    pub fn is_everything(&self) -> bool {
        self.begin.is_none() && self.end.is_none()
    }

    /// The points that are given, with the options that give them.
    pub fn points(&self) -> impl Iterator<Item = (&'static str, &TimePoint)> {
        let points = [("--begin", &self.begin), ("--end", &self.end)];
        points.into_iter().filter_map(|(option, point)| Some((option, point.as_ref()?)))
    }
}
