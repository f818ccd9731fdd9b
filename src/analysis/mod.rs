//! Many intervals of a device turned into a judgement with its evidence, or into what is missing for one.
//!
//! Pure: no files, no clock, no printing. The live view asks a [`Judge`] after every interval; a capture goes
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

pub use baseline::{Baseline, DeviceBaseline, Reach, SavedBaselines, Unloaded};
pub use cap::CapModel;
pub use device::{DeviceAnalysis, Observation};
pub use explain::{number, per_second};
pub use fit::{Capacity, Model, Point};
pub use judge::{Judge, Judgement};
pub use layers::{Layer, Layers, Step, guess_stack, where_requests_wait};
pub use levels::{Level, levels};
pub use load::{Load, Measure, Side, Work};
pub use loads::Loads;
pub use machine::{Extent, MachineAnalysis, MachineReport};
pub use not_the_disk::not_the_disk;
pub use plateau::{Plateau, STATED, plateaus};
pub use report::{CapParameters, Capacities, CapacityReport, DeviceReport, LeftOut};
pub use settings::{Settings, StatedCap};
pub use statistic::{Histogram, Statistic};
pub use summary::{DirectionReport, Pattern};
pub use trace::Trace;
pub use usl::Usl;
pub use verdict::Verdict;
pub use working::WhileWorking;
