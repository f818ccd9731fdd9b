//! Latencies of requests of similar size at similar queues.

use crate::analysis::stats::{Histogram, IoTotals};
use crate::analysis::thresholds::{MIN_LATENCY_REQUESTS, MIN_LATENCY_SUM_MS};

/// Latencies of one class of sizes and queues.
#[derive(Clone, Debug, Default)]
pub(super) struct LatencyClass {
    pub(super) await_ms: Histogram,
    pub(super) queue: Histogram,
    /// Requests that are still too few for a latency.
    pending: IoTotals,
}

impl LatencyClass {
    /// Returns whether there were enough requests for a latency.
    pub(super) fn is_known(&self) -> bool {
        self.await_ms.weight() > 0.0
    }

    /// Takes the requests of an interval and the mean queue of all requests of the device.
    pub(super) fn observe(&mut self, totals: &IoTotals, queue: f64) {
        self.queue.add(queue, totals.ios);
        self.pending = self.pending.plus(totals);
        // Short intervals are pooled, not left out: leaving out those with little request time would keep the slow
        // ones.
        if self.pending.ios >= MIN_LATENCY_REQUESTS && self.pending.ms >= MIN_LATENCY_SUM_MS {
            let pooled = std::mem::take(&mut self.pending);
            self.await_ms.add(pooled.ms / pooled.ios, pooled.ios);
        }
    }
}
