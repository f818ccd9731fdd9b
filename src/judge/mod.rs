//! The judge: what the numbers of devices mean.
//!
//! Pure: no files, no clock, no text. A step of all devices goes in, and one judgement for each device comes out
//! ([`HostJudge`]); nothing changes a verdict afterwards. All that is known of the unloaded latency of a kind of requests is a
//! range, at most `hi` and at least `lo`, and the verdict on a step is a function of the step and that range. Where nothing can
//! be said of requests that wait, the verdict is `busy`, never silence. Hindsight is the same judge, run again with what it
//! had learned. Memory is bounded, however long either runs.
//!
//! | file | contents |
//! | --- | --- |
//! | `thresholds` | most numbers of the judge, with unit and reason; the others stand at the rule that they belong to |
//! | `step` | what the judge takes at a time |
//! | `verdict` | verdicts, and evidence as data; `report` turns it into sentences |
//! | `load` | the part of an interval that is looked at |
//! | `range`, `best` | what is known of the unloaded latency |
//! | `limit`, `shared_limit` | rates that are held by a limit |
//! | `hung` | requests that hang while others complete |
//! | `health_watch` | what the kernel says of the health of devices |
//! | `device` | the judge of one device |
//! | `peers`, `layers` | disks beside each other, devices above each other |
//! | `host_judge` | the judge of all devices |
//! | `judged` | what happened, with its judgements, which adds |
//! | `events` | when trouble of a device begins and ends |
//! | `summary` | the word for a longer time |
//! | `report` | the report on a device over a capture, from `direction`, `histogram` and `levels` |
//! | `host_report`, `not_the_disk`, `queue_by_layer` | the host, and where requests wait in a stack |
//! | `settings` | what is known of a device before |

mod best;
mod by_class;
mod device;
mod direction;
mod health_watch;
mod histogram;
mod host_judge;
mod host_report;
mod hung;
mod judged;
mod layers;
mod levels;
mod limit;
mod load;
mod not_the_disk;
mod peers;
mod queue_by_layer;
mod range;
mod report;
mod settings;
mod shared_limit;
mod step;
mod still;
mod summary;
mod thresholds;
mod verdict;

pub use crate::attribution::{IoDirection, RateUnit};
pub use direction::{BusyMean, DirectionReport, Pattern};
pub use histogram::Distribution;
pub use host_judge::{HostJudge, Knowledge};
pub use host_report::{
    HostReport, LOW_AVAILABLE_CPU_PCT, LOW_IO_PRESSURE_PCT, MIN_NOTICED_PCT, MeanMinMax, NfsWait,
    hidden_io_wait_pct, high_memory_pressure_pct, no_cpu_pct,
};
pub use judged::{Compared, Judged, JudgedStep};
pub use layers::HeldBetween;
pub use levels::{CapacityReport, ConcurrencyLevel};
pub use limit::Plateau;
pub use not_the_disk::not_the_disk;
pub use peers::SlowBesidePeers;
pub use queue_by_layer::{Layer, LayerLink, QueueByLayer, WaitLocation, queue_by_layer};
pub use report::{
    DeviceAnalysis, DeviceReport, ExceededCap, Excluded, MIN_UTIL_INTERVAL_S, OtherCause,
    PlateauInRun, WorstMoment,
};
pub use settings::{BaselineSource, Settings, StatedCap};
pub use shared_limit::SharedLimit;
pub use step::{DeviceStep, Step};
pub use summary::VerdictTimes;
pub(crate) use thresholds::{MIN_CONFIRMATIONS, PATIENCE_S, PATIENCE_STEPS, QUARTER, SATURATED};
pub use verdict::{Assessment, Doubt, Evidence, HealthEvidence, Latency, Verdict};
