//! Events: the times in which a device was in trouble, from the onset of the trouble to its end; and incidents: what the
//! events of devices stacked on each other have in common.
//!
//! The rule for the events of one device is the judge's ([`crate::judge::EventRule`]). An event also ends where the kernel
//! states another cause than before: a limit of a cgroup, a suspended volume, a rebuild. An incident is found while its events
//! last, and ends with the last of them, so that nothing inherits the beginning, cause or owner of what was there before. The
//! rows of an interval have the incident of their device, so that all views say the same of it.

mod event;
mod history;
mod incident_tracker;
#[cfg(test)]
mod tests;
mod tracker;

pub use event::{Course, Event};
pub(super) use history::JudgedDevice;
pub use incident_tracker::{Harm, IncidentSummary};
pub(super) use tracker::EventTracker;
pub use tracker::{Departure, Events, IncidentTotal};
