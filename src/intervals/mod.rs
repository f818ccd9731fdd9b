//! Intervals: the one place that turns a stream of samples into a stream of [`DeviceInterval`]s.
//!
//! ```text
//! source::StepSource ──Step──▶ DeviceTracker ──DeviceInterval──▶ outputs
//! pairs of samples             judges each step, adds them up   table, JSON, analysis
//! ```
//!
//! [`Intervals`] is the entry: it takes steps from sample to sample, skips over breaks in time, follows devices that appear
//! and disappear, judges each step, adds the steps of an interval, applies the selection, adds up a total, and flags numbers
//! that cannot be trusted. The verdict on an interval is the worst of those on its steps. Intervals add, too ([`Fold`]), and a
//! [`Series`] is the history of whatever adds, in bounded memory: [`History`] keeps one for charts, `top` another.
//! [`collect()`] feeds an analysis with all intervals. Nothing is printed here: warnings go to a callback, and every output
//! takes the same [`IntervalRows`].
//!
//! [`Fold`]: series::Fold
//! [`Series`]: series::Series

mod baseline_store;
mod collect;
mod device_filter;
mod device_interval;
mod device_lookup;

mod device_record;
mod device_tracker;
mod history;
mod incident_log;
mod options;
mod run_clock;
mod seconds;
pub mod series;
mod spread;
mod stream;
mod sum;
mod summary;
mod total;

pub use baseline_store::BaselineStore;
pub use collect::collect;
pub use device_interval::{
    DeviceActivity, DeviceEvent, DeviceInterval, DeviceState, EventKind, IntervalHeader,
    IntervalRows, OngoingIncident, TopCgroup,
};
pub use device_lookup::{NotFound, find_devices};
pub use history::{DeviceHistory, History, UsageHistory};
pub use incident_log::{Departure, IncidentReport, IncidentTotal};
pub use options::{Detail, DeviceSelection};
pub use run_clock::RunClock;
pub use spread::{HostSpread, Spread};
pub use stream::{Intervals, Learned, NextInterval};
pub use summary::{DeviceSummary, Peak, RunSpan};
