//! The latest metrics, which one thread publishes and others read: the HTTP server, and the one that keeps a file up to date.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use hyper::body::Bytes;

use crate::report::prometheus::metrics_text;
use crate::sink::gzip_bytes;
use crate::totals::MetricsSnapshot;

/// The intervals after which a sample is late, if [`MAX_LATE`] has passed as well: a busy host may miss one sample.
const MAX_LATE_INTERVALS: u32 = 2;
/// The additional time, which matters to short intervals.
const MAX_LATE: Duration = Duration::from_secs(1);

pub(super) struct Published {
    interval: Duration,
    latest: Mutex<Option<Arc<Latest>>>,
}

/// The metrics of an interval. Their text is made for the first who asks for it, and shared by all others.
pub(super) struct Latest {
    snapshot: MetricsSnapshot,
    /// The monotonic time of the publication.
    pub(super) at: Duration,
    text: OnceLock<Bytes>,
    compressed: OnceLock<Bytes>,
}

impl Latest {
    pub(super) fn text(&self) -> &Bytes {
        self.text
            .get_or_init(|| metrics_text(&self.snapshot).into())
    }

    /// Returns the text, compressed with gzip.
    pub(super) fn compressed(&self) -> &Bytes {
        self.compressed
            .get_or_init(|| gzip_bytes(self.text()).into())
    }
}

impl Published {
    /// Creates a place for metrics that are published after each interval of this length.
    pub(super) fn new(interval: Duration) -> Self {
        Self {
            interval,
            latest: Mutex::new(None),
        }
    }

    pub(super) fn publish(&self, snapshot: MetricsSnapshot, at: Duration) {
        let latest = Latest {
            snapshot,
            at,
            text: OnceLock::new(),
            compressed: OnceLock::new(),
        };
        *self.latest.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(latest));
    }

    /// Returns the latest metrics; `None` before the first.
    pub(super) fn latest(&self) -> Option<Arc<Latest>> {
        self.latest
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
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
        assert_eq!(
            (published.lateness(s(111)), published.lateness(s(112))),
            (None, Some(s(12)))
        );
        published.publish(MetricsSnapshot::default(), s(112));
        assert_eq!(
            (
                published.lateness(s(112)),
                published.latest().map(|latest| latest.at)
            ),
            (None, Some(s(112)))
        );
    }
}
