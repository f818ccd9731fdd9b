//! Intervals: the one place that turns a stream of samples into a stream of [`DeviceInterval`]s.
//!
//! ```text
//! SampleSource ──Sample──▶ IntervalSource ──SamplePair──▶ DeviceTracker ──DeviceInterval──▶ outputs
//! live, capture            pairs, aggregates              state of each device              table, JSON, analysis
//! ```
//!
//! [`Intervals`] is the entry: it takes samples at their deadlines or from a capture, skips over breaks in time,
//! aggregates the samples of a longer interval, follows devices that appear and disappear, applies the selection, adds
//! up a total, flags numbers that cannot be trusted, and adds the live verdict. The numbers of an interval come from
//! its first and last sample; the verdict is the worst of those on each sample. [`collect()`] feeds an analysis with
//! all intervals, [`RunningTotals`] adds them up for metrics, and a [`History`] keeps the data for charts in bounded
//! memory ([`series`]). Nothing is printed here: warnings go to a callback, and every output takes the same
//! [`IntervalRows`].

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
mod events;
mod history;
mod interval_source;
mod latency_series;
mod layers;
mod learn_baselines;
mod load_baselines;
mod neighbors;
mod options;
mod run_clock;
mod running_totals;
mod sample_pair;
mod sample_source;
pub mod series;
mod stream;
mod summary;
mod total;
mod total_role;
mod traced;

pub use baseline_store::BaselineStore;
pub use collect::{Collected, collect};
pub use device_interval::{
    DeviceActivity, DeviceEvent, DeviceInterval, DeviceState, EventKind, IntervalHeader, IntervalRows,
    TopCgroup,
};
pub use device_lookup::{NotFound, find_device, similar_name};
pub use events::{
    Course, Departure, Event, EventEvidence, EventLimit, EventRate, EventTracker, Events, Incident, Moment,
    PeakLatency, Since, group_incidents,
};
pub use history::{
    BlockedTaskTime, CgroupHistory, DeviceHistory, DeviceQuantity, History, HostQuantity, UsageHistory,
};
pub use latency_series::LatencySeries;
pub use learn_baselines::learn_baselines;
pub use load_baselines::load_baselines;
pub use options::{BaselineOption, Detail, DeviceSelection, Input, VerdictOptions};
pub use run_clock::RunClock;
pub use running_totals::{
    BucketCounts, DeviceInfo, DeviceScope, DeviceSnapshot, DeviceTotals, KnownLimit, LATENCY_BOUNDS_MS,
    LimitSource, LimitedCgroup, MetricsSnapshot, QUEUE_BOUNDS, RunningTotals, SaturationTotals, StackRole,
    TimedRequests, VerdictSeconds,
};
pub use sample_source::{HostIdentity, OnLiveSample, OnWarning};
pub use stream::{Intervals, NextInterval};
pub use summary::{DeviceSummary, DirectionPeaks, Peak, RunSpan};
pub use traced::{KernelRole, TracedDevice, TracedInterval, TracedThread};
