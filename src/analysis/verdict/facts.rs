//! The facts about a device on which its verdict over all intervals is based.

use super::Hung;
use crate::analysis::capacity::CapacityReport;
use crate::analysis::caps::{NearLimit, Plateau};
use crate::analysis::load::ConcurrencyLevel;
use crate::analysis::stats::{DirectionReport, Distribution};
use crate::attribution::ReachedLimit;

/// Facts about a device over all intervals.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeviceFacts<'a> {
    pub(crate) intervals: u64,
    pub(crate) seconds: f64,
    /// Intervals in which reads or writes were completed.
    pub(crate) busy_intervals: u64,
    /// Intervals with requests whose times the kernel does not give.
    pub(crate) untimed_intervals: u64,
    /// The kernel does not count the device's requests.
    pub(crate) is_accounting_off: bool,
    /// True if it was not idle all the time.
    pub(crate) was_busy: bool,
    /// Seconds of all stalls.
    pub(crate) stalled_s: f64,
    /// The longest stall in seconds that is far longer than the usual latency; 0 without one.
    pub(crate) longest_stall_s: f64,
    /// The requests that hung for longest while others completed.
    pub(crate) hung: Option<Hung>,
    /// Seconds in which a cgroup at its limit held the device back.
    pub(crate) throttled_s: f64,
    /// The limit that held it back for longest.
    pub(crate) limit: Option<&'a ReachedLimit>,
    pub(crate) discards: f64,
    pub(crate) flushes: f64,
    pub(crate) read: DirectionReport,
    pub(crate) write: DirectionReport,
    /// Reads and writes together.
    pub(crate) all: DirectionReport,
    /// Util in percent, in the intervals in which it can be right.
    pub(crate) util_pct: Distribution,
    pub(crate) levels: &'a [ConcurrencyLevel],
    /// The capacity of reads and writes together.
    pub(crate) capacity: CapacityReport,
    /// Rates that stayed constant at a cap.
    pub(crate) plateaus: &'a [Plateau],
    /// A rate that stayed constant because of a cap or because of busy servers, which cannot be told apart.
    pub(crate) unclear: Option<&'a Plateau>,
    /// A known limit near which its rate lay under load.
    pub(crate) near_limit: Option<NearLimit>,
}
