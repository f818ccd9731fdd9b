//! Counter differences and the statistics of one interval.
//!
//! Pure: the running system, a replay and every output share these functions. Averages since boot are computed like an
//! interval that begins at boot with all counters zero. A quantity without a value (a latency without requests, a
//! counter that went back) is `None`; each output decides how to print it.

mod completed;
mod data_flag;
mod device_match;
mod host_stats;
mod interval;
mod stall_timer;

pub use completed::{Amount, Completed};
pub use data_flag::DataFlag;
pub use device_match::DeviceMatch;
pub use host_stats::{CpuPercentages, HostStats};
pub use interval::{Interval, in_flight};
pub use stall_timer::StallTimer;
