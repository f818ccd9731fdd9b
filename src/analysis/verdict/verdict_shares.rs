//! The fractions of the busy time by the verdict on each load.

use super::load_verdict::LoadAssessment;
use super::{Latency, Verdict};
use crate::analysis::baseline::Baselines;
use crate::analysis::load::{IoDirection, LoadSample};
use crate::analysis::stats::IoTotals;

/// Fractions of the busy time by the verdict on each load alone.
#[derive(Debug, Default)]
pub(in crate::analysis) struct VerdictShares {
    pub(super) ok: f64,
    pub(super) queueing: f64,
    pub(super) saturated: f64,
    pub(super) slow: f64,
    pub(super) unknown: f64,
    /// Number of saturated intervals.
    pub(super) saturated_intervals: f64,
    pub(super) saturated_loads: LoadSum,
    /// Number of slow intervals.
    pub(super) slow_intervals: f64,
    pub(super) slow_loads: LoadSum,
    pub(super) unknown_loads: LoadSum,
    /// The time of all loads in seconds.
    pub(super) seconds: f64,
}

impl VerdictShares {
    /// The shares of loads, each against the baselines of its device.
    pub(in crate::analysis) fn of_loads<'a>(
        loads: impl Iterator<Item = (&'a LoadSample, &'a Baselines)>,
        saturation_threshold: f64,
    ) -> Self {
        let mut shares = Self::default();
        for (load, baselines) in loads {
            shares.seconds += load.seconds;
            match LoadAssessment::of(load, baselines, saturation_threshold).verdict {
                Some(Verdict::Slow) => {
                    shares.slow += load.seconds;
                    shares.slow_intervals += load.intervals;
                    shares.slow_loads.add(load);
                }
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
            shares.slow /= shares.seconds;
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
