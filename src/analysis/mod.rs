//! The analysis of devices: from many intervals to a verdict with its evidence, or to the reason why there is none.
//!
//! Pure: no files, no clock, no text. The live view asks a [`LiveVerdict`] after every interval; a whole capture goes
//! through a [`DeviceAnalysis`] into a [`DeviceReport`]. Memory is bounded, however long either runs. A value that is
//! not known is `None`, and a verdict is not given if it needs more than was seen. Evidence is data ([`Evidence`],
//! [`Explanation`], [`OtherCause`], [`Plateau`], [`LayerLink`]); `report` turns it into sentences.
//!
//! A module here imports only modules listed above it:
//!
//! | module | contents |
//! | --- | --- |
//! | `thresholds` | every threshold, with its unit and reason |
//! | `stats` | histograms, statistics of a direction, busy means, timelines |
//! | `host` | CPU, pressure and memory over all intervals |
//! | `load` | loads of intervals, their history, levels of concurrency |
//! | `saved_baselines`, `settings` | unloaded latency as it is saved; what the user can state |
//! | `peers` | devices of one kind beside each other |
//! | `baseline` | unloaded latency as it is learned |
//! | `caps` | rates that stay constant, plateaus, known limits |
//! | `capacity` | the highest rate held, and whether it is the maximum |
//! | `verdict` | live and overall verdict, evidence, other causes |
//! | `blocks` | the load in blocks of time |
//! | `report` | the report of a device |
//! | `compare` | two reports of a device |
//! | `not_the_disk` | the evidence that no device is the bottleneck |
//! | `queue_by_layer` | queue by layer of stacked devices |
//! | `device` | from the intervals of a device to its report |

mod baseline;
mod blocks;
mod capacity;
mod caps;
mod compare;
mod device;
mod host;
mod lifetimes;
mod load;
mod not_the_disk;
mod peers;
mod queue_by_layer;
mod saved_baselines;
mod settings;
mod stats;
mod thresholds;
mod verdict;

pub use baseline::SinceBoot;
pub use blocks::RequestClass;
pub use capacity::CapacityReport;
pub use caps::{CloudLimit, CloudVolume, LimitMatch, Plateau, SharedLimit, SharedLimits};
pub use compare::{BlockMeans, Difference, Outcome, Quantity, compare};
pub use device::{DeviceAnalysis, DeviceReport, Excluded, Observation};
pub use host::{HostReport, NfsWait, Range, hidden_io_wait_pct, high_memory_pressure_pct};
pub use load::{ConcurrencyLevel, IoDirection, LoadSample, RateUnit};
pub use not_the_disk::not_the_disk;
pub use peers::{PEER_ROUND_S, PeerGroup, PeerHistory, SlowBesidePeers};
pub use queue_by_layer::{Layer, LayerLink, QueueByLayer, WaitLocation, queue_by_layer};
pub use saved_baselines::{DeviceBaseline, DeviceMatching, SavedBaselines, UnloadedLatency};
pub use settings::{BaselineSource, KnownDevice, Settings, StatedCap};
pub use stats::{BusyMean, DirectionReport, Distribution, Histogram, Pattern};
pub use thresholds::{
    DEFAULT_SATURATION_THRESHOLD, LOW_AVAILABLE_CPU_PCT, LOW_IO_PRESSURE_PCT, MAX_RATE_TOLERANCE,
    MIN_LOADED_QUEUE, MIN_NOTICED_PCT, MIN_QUEUEING_SATURATION, MIN_SATURATED_QUEUE, MIN_STALL_S,
    MIN_UTIL_INTERVAL_S, MIN_VERDICT_INTERVALS,
};
pub use verdict::{
    Assessment, Beside, Doubt, Evidence, ExceededCap, Explanation, HealthEvidence, Latency,
    LiveVerdict, MaxRate, OtherCause, Reason, TroubleSpan, Verdict, held_between, is_idle_below,
};
