//! Events: the times in which a device was in trouble, from the onset of the trouble to its end.
//!
//! A live verdict is claimed late on purpose: after three of four intervals, a cap after a plateau of several, a limit
//! of a cgroup after three intervals at the limit. An event, however, begins at the onset, which follows from the
//! evidence:
//!
//! - The onset is the first of the consecutive intervals that showed the verdict ([`Assessment::lasted_s`]). For a
//!   throttled device, it is the first of the three intervals needed for the claim.
//! - It is never before a break in time, a reset of the counters, or an interval with the verdict `ok` or `idle`.
//!   Requests that wait for a limit above the device do not slow it down, so that `ok` is no obstacle for `throttled`.
//! - The end is that of the last interval with the verdict. Up to [`MAX_GAP_INTERVALS`] intervals without it do not
//!   split an event: confirming a verdict takes longer, so a shorter gap could not be confirmed as a different state.
//! - Consecutive verdicts become one event with the worst of them ([`Event::course`] has them all) if the milder ones
//!   are a short way into the trouble or out of it, or if they are of the same load; otherwise they are separate
//!   events. A stall keeps its own length: it is merged only with short phases.
//!
//! After the last interval, the analysis of all intervals may have a baseline that the live verdicts lacked:
//! [`EventTracker::events_with`] adds the trouble that it shows at times without an event.
//!
//! The events of devices stacked on each other belong to one [`Incident`], which is found while they last: the rows of
//! their intervals have it, so that all views tell the same of it. Its beginning does not change later.
//!
//! [`Assessment::lasted_s`]: crate::analysis::Assessment::lasted_s
//! [`Incident`]: crate::intervals::Incident
//! [`MAX_GAP_INTERVALS`]: event::MAX_GAP_INTERVALS

mod event;
mod history;
mod incident_tracker;
#[cfg(test)]
mod tests;
mod tracker;

pub(super) use event::MAX_GAP_INTERVALS;
pub use event::{Course, Event};
pub use incident_tracker::{Harm, IncidentSummary};
pub(super) use tracker::EventTracker;
pub use tracker::{Departure, Events, VerdictCoverage};
