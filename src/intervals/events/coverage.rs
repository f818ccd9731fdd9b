//! How much of the loaded time has a verdict.

use crate::analysis::{Evidence, MIN_LOADED_QUEUE, Verdict};
use crate::intervals::DeviceActivity;

/// Seconds of devices with a mean queue of [`MIN_LOADED_QUEUE`] or more, or in trouble.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct VerdictCoverage {
    pub loaded_s: f64,
    /// Those without a verdict.
    pub silent_s: f64,
    /// Those without a verdict because the unloaded latency is not known.
    pub without_baseline_s: f64,
}

impl VerdictCoverage {
    pub(super) fn observe(&mut self, activity: &DeviceActivity) {
        let is_loaded = activity.stats.queue().is_some_and(|queue| queue >= MIN_LOADED_QUEUE);
        let verdict = activity.assessment.verdict;
        if !is_loaded && !verdict.is_some_and(Verdict::is_trouble) {
            return;
        }
        let seconds = activity.stats.seconds();
        self.loaded_s += seconds;
        if verdict.is_some() {
            return;
        }
        self.silent_s += seconds;
        let lacks_baseline = |evidence: &Evidence| matches!(evidence, Evidence::Latency { doubt: Some(doubt), .. } if doubt.is_about_baseline());
        if activity.assessment.evidence.iter().any(lacks_baseline) {
            self.without_baseline_s += seconds;
        }
    }
}
