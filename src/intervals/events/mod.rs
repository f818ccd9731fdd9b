//! Events: the times in which a device was in trouble, from the onset of the trouble to its end.
//!
//! A live verdict is claimed late on purpose: after three of four intervals, a cap after a plateau of several, a limit of a
//! cgroup after three intervals at it. An event begins at the onset instead, which its evidence dates back:
//!
//! - The onset is the first of the intervals in a row that showed the verdict ([`Assessment::lasted_s`]), and for a
//!   throttled device the first of the three that the claim takes.
//! - It is never before a break in time, a reset of the counters, or an interval with the verdict `ok` or `idle`.
//!   Requests that wait for a limit above the device do not slow it down, so that `ok` is no obstacle for `throttled`.
//! - The end is that of the last interval with the verdict. Up to [`MAX_GAP_INTERVALS`] intervals without it do not split an
//!   event: so long it takes to confirm a verdict, so that what is shorter could not be confirmed as its opposite either.
//! - Verdicts of one incident become one event with the worst of them ([`Event::course`] has them all), where the milder
//!   ones are a short way into it or out of it, or no longer than the worst; otherwise they are events that follow each
//!   other. A stall keeps its own length: it takes in only what is short.
//!
//! After the last interval, the analysis of all of them may know a baseline that the live verdicts lacked:
//! [`EventTracker::events_with`] adds the trouble that it shows where no event is.
//!
//! [`group_incidents`] then joins the events of devices stacked on each other.
//!
//! [`Assessment::lasted_s`]: crate::analysis::Assessment::lasted_s
//! [`MAX_GAP_INTERVALS`]: merge::MAX_GAP_INTERVALS

mod event;
mod figures;
mod history;
mod incident;
mod merge;
mod phase;
mod retrospect;
#[cfg(test)]
mod tests;
mod tracker;

pub use event::{Course, Event, EventEvidence, EventLimit, EventRate, Moment, PeakLatency};
pub use incident::{Incident, group_incidents};
pub use tracker::{EventTracker, Events, Since};
