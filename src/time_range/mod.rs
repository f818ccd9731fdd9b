//! Points in time as people type them, and their positions in a capture: `16:04`, a date, `-10m` from the end, `+5m`
//! from the start.
//!
//! Pure: a [`TimeSearch`] is shown the times of a capture one after the other. A time of day can occur more than once:
//! on several days, or if a clock was set back. The search finds every occurrence, so that none is chosen silently.

mod candidates;
mod message;
mod point;
mod search;

use std::ffi::OsString;

use jiff::tz::TimeZone;

pub use message::{outside_message, span_text, time_text};
pub use point::TimePoint;
pub use search::{Occurrence, TimeSearch, is_before_middle};

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

    /// Returns whether a point needs a time zone.
    pub fn needs_time_zone(&self) -> bool {
        self.points().any(|(_, point)| point.needs_time_zone())
    }
}

/// Returns the occurrences of a point among these times of a capture, with their indices, for a screen that already has
/// the times. `zone` is the zone of times without one.
pub fn occurrences(
    point: &TimePoint,
    zone: &TimeZone,
    times: impl IntoIterator<Item = jiff::Timestamp>,
) -> Vec<Occurrence> {
    let mut search = TimeSearch::new(point, zone);
    for (index, at) in times.into_iter().enumerate() {
        search.observe(at, index as u64);
    }
    search.finish();
    search.found().to_vec()
}
