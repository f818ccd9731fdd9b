//! Intervals: the one place that turns a stream of samples into a stream of [`DeviceInterval`]s.
//!
//! ```text
//! SampleSource ──Sample──▶ IntervalSource ──SamplePair──▶ DeviceTracker ──DeviceInterval──▶ outputs
//! live, capture            pairs, aggregates              state of each device              table, JSON, analysis
//! ```
//!
//! [`Intervals`] is the entry: it takes samples at their deadlines or from a capture, skips over breaks in time,
//! aggregates the samples of a longer interval, follows devices that come and go, applies the selection, adds up a
//! total, flags numbers not to be trusted, and joins the live verdict. The numbers of an interval come from its first and
//! last sample; the verdict is the worst of those on each sample. [`collect`] feeds an analysis with all
//! intervals. Nothing is printed here: warnings go to a callback, and every output takes the same [`IntervalRows`].

mod aggregate;
mod all_requests;
mod baseline_store;
mod collect;
mod device_filter;
mod device_interval;
mod device_judge;
mod device_lookup;
mod device_record;
mod device_tracker;
mod device_usage;
mod interval_source;
mod layers;
mod learn_baselines;
mod load_baselines;
mod neighbors;
mod options;
mod sample_pair;
mod sample_source;
mod stream;
mod summary;
mod total;
mod total_role;

pub use baseline_store::BaselineStore;
pub use collect::{Collected, collect};
pub use device_interval::{
    DeviceActivity, DeviceEvent, DeviceInterval, DeviceState, EventKind, IntervalHeader, IntervalRows,
    TopCgroup,
};
pub use device_lookup::{NotFound, find_device, similar_name};
pub use learn_baselines::learn_baselines;
pub use load_baselines::load_baselines;
pub use options::{BaselineOption, Detail, DeviceSelection, Input, VerdictOptions};
pub use sample_source::OnWarning;
pub use stream::{Intervals, NextInterval};
pub use summary::{DeviceSummary, DirectionTotals, Peak, RunSpan};
