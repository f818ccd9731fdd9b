//! The time for which cgroups at their limits held a device back.

use crate::attribution::{LimitKind, ReachedLimit};

/// The number of limits that are kept; of further limits, only the time counts.
const MAX_LIMITS: usize = 16;

/// Adds up the time of each limit.
#[derive(Clone, Debug, Default)]
pub(crate) struct ThrottledTime {
    pub(crate) seconds: f64,
    limits: Vec<(ReachedLimit, f64)>,
}

impl ThrottledTime {
    /// Adds an interval of this length in seconds.
    pub(crate) fn add(&mut self, limit: &ReachedLimit, seconds: f64) {
        self.seconds += seconds;
        match self.limits.iter().position(|(known, _)| key(known) == key(limit)) {
            // The limit as passed last has the latest share.
            Some(at) => self.limits[at] = (limit.clone(), self.limits[at].1 + seconds),
            None if self.limits.len() < MAX_LIMITS => self.limits.push((limit.clone(), seconds)),
            None => {}
        }
    }

    /// The limit with the longest time; `None` if there was none.
    pub(crate) fn longest(&self) -> Option<&ReachedLimit> {
        self.limits.iter().max_by(|a, b| a.1.total_cmp(&b.1)).map(|(limit, _)| limit)
    }
}

/// Identifies a limit: its cgroup, device, kind and value.
fn key(limit: &ReachedLimit) -> (&str, &str, LimitKind, u64) {
    (&limit.cgroup, &limit.limited_device, limit.kind, limit.value)
}
