//! The latest metrics, which one thread publishes and others read.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::intervals::MetricsSnapshot;

/// The number of intervals, and below the additional time, after which a sample is late. A busy host may miss one
/// sample.
const MAX_LATE_INTERVALS: u32 = 2;
const MAX_LATE: Duration = Duration::from_secs(1);

pub(super) struct Published {
    interval: Duration,
    latest: Mutex<Option<Latest>>,
}

/// Metrics with the time of their publication.
#[derive(Clone)]
pub(super) struct Latest {
    pub(super) snapshot: Arc<MetricsSnapshot>,
    /// The monotonic time of their publication.
    pub(super) at: Duration,
}

impl Published {
    /// Creates a place for metrics that are published after each interval of this length.
    pub(super) fn new(interval: Duration) -> Self {
        Self { interval, latest: Mutex::new(None) }
    }

    pub(super) fn interval(&self) -> Duration {
        self.interval
    }

    pub(super) fn publish(&self, snapshot: MetricsSnapshot, at: Duration) {
        let latest = Latest { snapshot: Arc::new(snapshot), at };
        *self.latest.lock().unwrap_or_else(PoisonError::into_inner) = Some(latest);
    }

    /// Returns the latest metrics; `None` before the first.
    pub(super) fn latest(&self) -> Option<Latest> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the time since the latest metrics if they are late; `None` if they are not.
    pub(super) fn lateness(&self, now: Duration) -> Option<Duration> {
        let age = now.saturating_sub(self.latest()?.at);
        (age > self.interval * MAX_LATE_INTERVALS + MAX_LATE).then_some(age)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_are_late_after_two_intervals_and_a_second() {
        let s = Duration::from_secs;
        let published = Published::new(s(5));
        assert!(published.latest().is_none() && published.lateness(s(99)).is_none());
        published.publish(MetricsSnapshot::default(), s(100));
        assert_eq!((published.lateness(s(111)), published.lateness(s(112))), (None, Some(s(12))));
        published.publish(MetricsSnapshot::default(), s(112));
        assert_eq!((published.lateness(s(112)), published.latest().map(|it| it.at)), (None, Some(s(112))));
    }
}
