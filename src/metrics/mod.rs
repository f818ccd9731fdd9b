//! Two readings and the time between them, turned into rates: the one place where that is done.
//!
//! Pure: live reading, replay and every dialect call the same functions. "Since boot" is the interval from
//! zero over the uptime. What has no value (an await without requests, a counter that went back) is `None`;
//! each dialect decides how to print it.

mod counter_delta;
mod cpu;
mod device_match;
mod host_stats;
mod interval_stats;
mod util_check;
mod wraparound;

pub use counter_delta::CounterDelta;
pub use cpu::CpuPercentages;
pub use device_match::DeviceMatch;
pub use host_stats::HostStats;
pub use interval_stats::{DirectionStats, IntervalStats, in_flight};
pub use util_check::{DataFlag, UtilCheck};
pub use wraparound::{RequestChange, wrapping_sub_u32};
