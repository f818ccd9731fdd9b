//! The facts about a device on which its verdict over all intervals is based.

use super::Hung;
use crate::analysis::capacity::CapacityReport;
use crate::analysis::caps::{NearLimit, Plateau};
use crate::analysis::load::ConcurrencyLevel;
use crate::analysis::stats::{DirectionReport, Distribution};
use crate::attribution::ReachedLimit;

/// Facts about a device over all intervals.
#[derive(Clone, Debug, Default)]
pub(in crate::analysis) struct DeviceFacts<'a> {
    pub(in crate::analysis) intervals: u64,
    pub(in crate::analysis) seconds: f64,
    /// Intervals in which reads or writes were completed.
    pub(in crate::analysis) busy_intervals: u64,
    /// Intervals with requests whose times the kernel does not give.
    pub(in crate::analysis) untimed_intervals: u64,
    /// The kernel does not count the device's requests.
    pub(in crate::analysis) is_accounting_off: bool,
    /// True if it was not idle all the time.
    pub(in crate::analysis) was_busy: bool,
    /// Seconds of all stalls.
    pub(in crate::analysis) stalled_s: f64,
    /// The longest stall in seconds that is far longer than the usual latency; 0 without one.
    pub(in crate::analysis) longest_stall_s: f64,
    /// The requests that hung for longest while others completed.
    pub(in crate::analysis) hung: Option<Hung>,
    /// Seconds in which a cgroup at its limit held the device back.
    pub(in crate::analysis) throttled_s: f64,
    /// The limit that held it back for longest.
    pub(in crate::analysis) limit: Option<&'a ReachedLimit>,
    pub(in crate::analysis) discards: f64,
    pub(in crate::analysis) flushes: f64,
    pub(in crate::analysis) read: DirectionReport,
    pub(in crate::analysis) write: DirectionReport,
    /// Reads and writes together.
    pub(in crate::analysis) all: DirectionReport,
    /// Util in percent, in the intervals in which it can be right.
    pub(in crate::analysis) util_pct: Distribution,
    pub(in crate::analysis) levels: &'a [ConcurrencyLevel],
    /// The capacity of reads and writes together.
    pub(in crate::analysis) capacity: CapacityReport,
    /// Rates that stayed constant at a cap.
    pub(in crate::analysis) plateaus: &'a [Plateau],
    /// A rate that stayed constant because of a cap or because of busy servers, which cannot be told apart.
    pub(in crate::analysis) unclear: Option<&'a Plateau>,
    /// A known limit near which its rate lay under load.
    pub(in crate::analysis) near_limit: Option<NearLimit>,
}
