//! The fractions of the busy time by the verdict on each load.

use super::{Latency, Verdict, more_severe};
use crate::analysis::baseline::Baseline;
use crate::analysis::load::{IoDirection, LoadSample};
use crate::analysis::stats::IoTotals;
use crate::analysis::thresholds::MAX_UNLOADED_QUEUE;

/// Fractions of the busy time by the verdict on each load alone.
#[derive(Debug, Default)]
pub(in crate::analysis) struct VerdictShares {
    pub(super) ok: f64,
    pub(super) queueing: f64,
    pub(super) saturated: f64,
    pub(super) unknown: f64,
    /// Number of saturated intervals.
    pub(super) saturated_intervals: f64,
    pub(super) saturated_loads: LoadSum,
    pub(super) unknown_loads: LoadSum,
    /// The time of all loads in seconds.
    pub(super) seconds: f64,
}

impl VerdictShares {
    /// The shares of loads against the baselines of their device.
    pub(in crate::analysis) fn of_loads(
        loads: &[LoadSample],
        reads: &Baseline,
        writes: &Baseline,
        saturation_threshold: f64,
    ) -> Self {
        let mut shares = Self::default();
        for load in loads {
            shares.seconds += load.seconds;
            match load_verdict(load, reads, writes, saturation_threshold) {
                Some(Verdict::Queueing) => shares.queueing += load.seconds,
                Some(Verdict::Saturated) => {
                    shares.saturated += load.seconds;
                    shares.saturated_intervals += load.intervals;
                    shares.saturated_loads.add(load);
                }
                Some(_) => shares.ok += load.seconds,
                None => {
                    shares.unknown += load.seconds;
                    shares.unknown_loads.add(load);
                }
            }
        }
        if shares.seconds > 0.0 {
            shares.ok /= shares.seconds;
            shares.queueing /= shares.seconds;
            shares.saturated /= shares.seconds;
            shares.unknown /= shares.seconds;
        }
        shares
    }
}

/// Several loads as one.
#[derive(Debug, Default)]
pub(super) struct LoadSum {
    totals: IoTotals,
    seconds: f64,
}

impl LoadSum {
    fn add(&mut self, load: &LoadSample) {
        self.totals = self.totals.plus(&load.totals(IoDirection::Both));
        self.seconds += load.seconds;
    }

    /// The mean latency and queue; `None` without requests.
    pub(super) fn latency(&self) -> Option<Latency> {
        let queue = self.totals.ms / 1000.0 / self.seconds;
        Some(Latency { await_ms: self.totals.await_ms()?, queue, saturation: None })
    }
}

/// The verdict on a load alone; `None` where saturation is unknown for a direction that matters, which may be worse
/// than the other.
fn load_verdict(
    load: &LoadSample,
    reads: &Baseline,
    writes: &Baseline,
    saturation_threshold: f64,
) -> Option<Verdict> {
    let total_queue = load.queue(IoDirection::Both);
    let verdict = |baseline: &Baseline, direction: IoDirection| {
        let (totals, queue) = (load.totals(direction), load.queue(direction));
        let verdict = baseline
            .saturation(&totals, total_queue)
            .map(|times| Verdict::from_saturation(times, queue, load.in_flight, saturation_threshold))
            // At so short a queue no request waits, however high its latency.
            .or_else(|| (total_queue < MAX_UNLOADED_QUEUE).then_some(Verdict::Ok));
        (verdict, verdict.is_none() && load.is_major(direction))
    };
    let (reads, reads_unknown) = verdict(reads, IoDirection::Reads);
    let (writes, writes_unknown) = verdict(writes, IoDirection::Writes);
    let is_unknown = reads_unknown || writes_unknown;
    more_severe(reads, writes).filter(|verdict| *verdict != Verdict::Ok || !is_unknown)
}
