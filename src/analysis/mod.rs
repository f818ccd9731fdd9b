//! Many intervals of a device turned into a judgement with its evidence, or into what is missing for one.
//!
//! Pure: no files, no clock, no printing. The live view asks a [`LiveVerdict`] after every interval; a capture goes
//! through a [`DeviceAnalysis`] into a [`DeviceReport`]. Memory is bounded, however long either runs. What is not
//! known is `None`, and a verdict that needs more than was seen is not given.

mod baseline;
mod cap;
mod clouds;
mod device;
mod explain;
mod fit;
mod held;
mod judge;
mod layers;
mod levels;
mod load;
mod loads;
mod machine;
mod not_the_disk;
mod plateau;
mod report;
mod scatter;
mod settings;
mod statistic;
mod still;
mod summary;
mod trace;
mod usl;
mod verdict;
mod whole;
mod working;

pub use baseline::{Baseline, BaselinePolicy, DeviceBaseline, SavedBaselines, UnloadedLatency};
pub use cap::CapModel;
pub use device::{DeviceAnalysis, Observation};
pub use explain::{number, per_second};
pub use fit::{Capacity, Model, RatePoint};
pub use judge::{Assessment, LiveVerdict};
pub use layers::{Layer, LayerLink, QueueByLayer, guess_stack, where_requests_wait};
pub use levels::{ConcurrencyLevel, levels};
pub use load::{IoDirection, IoTotals, LoadSample, RateUnit};
pub use loads::LoadHistory;
pub use machine::{Extent, HostAnalysis, HostReport};
pub use not_the_disk::not_the_disk;
pub use plateau::{Plateau, STATED, plateaus};
pub use report::{CapParameters, Capacities, CapacityReport, DeviceReport, Excluded};
pub use settings::{Settings, StatedCap};
pub use statistic::{Distribution, Histogram};
pub use summary::{DirectionReport, Pattern};
pub use trace::ActivityTimeline;
pub use usl::Usl;
pub use verdict::Verdict;
pub use working::BusyMean;
