//! Counter differences and the statistics of one interval.
//!
//! Pure: the running system, a replay and every output share these functions. Averages since boot are computed like an
//! interval that begins at boot with all counters zero. A quantity without a value (a latency without requests, a
//! counter that went back) is `None`; each output decides how to print it.
//! [`TracedInterval`] has the latencies of single requests, which the kernel counted one by one.

mod completed;
mod data_flag;
mod device_match;
mod host_stats;
mod interval;
mod latency;
mod stall_timer;
mod traced;

pub use completed::{Amount, Completed};
pub use data_flag::DataFlag;
pub use device_match::DeviceMatch;
pub use host_stats::{CpuPercentages, HostStats};
pub use interval::{Interval, in_flight};
pub use latency::{LatencyStats, PERCENTILES};
pub use stall_timer::StallTimer;
pub use traced::{TracedDevice, TracedInterval};
