//! Stalls: nothing completes for longer than the device usually needs.

use std::borrow::Borrow;

use crate::analysis::load::{IoDirection, LoadSample, weighted_median_of};
use crate::analysis::thresholds::{MIN_STALL_LATENCY_RATIO, MIN_STALL_S, USUAL_LATENCY_INTERVALS};

/// Returns whether `stalled_s` seconds with requests in flight and no completion are a stall on a device with these
/// latest loads. A slow device may need a second for a single request.
pub(crate) fn is_stall<L: Borrow<LoadSample>>(stalled_s: f64, latest: impl FnOnce(usize) -> Vec<L>) -> bool {
    stalled_s >= MIN_STALL_S && {
        let loads = latest(USUAL_LATENCY_INTERVALS);
        let loads: Vec<&LoadSample> = loads.iter().map(Borrow::borrow).collect();
        // If several are in flight, the next completion comes sooner.
        let distance_ms = |load: &LoadSample| {
            let await_ms = load.totals(IoDirection::Both).await_ms()?;
            Some(await_ms / load.queue(IoDirection::Both).max(1.0))
        };
        let usual_ms = weighted_median_of(&loads, distance_ms).unwrap_or(0.0);
        stalled_s >= MIN_STALL_LATENCY_RATIO * usual_ms / 1000.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::stats::IoTotals;

    /// Returns whether there is a stall after intervals of one second with two requests of these latencies.
    fn is_stall_after(await_ms: &[f64], stalled_s: f64) -> bool {
        let loads: Vec<LoadSample> = await_ms
            .iter()
            .map(|ms| {
                let reads = IoTotals { ios: 2.0, kib: 8.0, ms: 2.0 * ms };
                LoadSample { seconds: 1.0, intervals: 1.0, reads, ..LoadSample::default() }
            })
            .collect();
        is_stall(stalled_s, |count| loads.iter().rev().take(count).collect())
    }

    #[test]
    fn a_stall_is_far_longer_than_the_usual_latency() {
        assert!(is_stall_after(&[], 1.0) && !is_stall_after(&[], 0.9));
        assert!(is_stall_after(&[5.0; 20], 1.0));
        assert!(!is_stall_after(&[300.0; 20], 2.0) && is_stall_after(&[300.0; 20], 3.5));
        // The requests of an earlier stall do not count.
        assert!(is_stall_after(&[5.0, 5.0, 8000.0, 5.0, 5.0], 1.0));
        // Two requests per second that take two seconds each: one completes every half second.
        assert!(is_stall_after(&[2000.0; 20], 5.0));
    }
}
