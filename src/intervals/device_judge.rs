//! The verdict on each sample of a device, and the worst of an interval.

use jiff::Timestamp;

use super::device_interval::DeviceActivity;
use crate::analysis::{Assessment, LiveVerdict, Verdict};
use crate::metrics::{Completed, HostStats, Interval, StallTimer};
use crate::units::Span;

/// The fraction of the requests of an interval whose saturation must be known to give that of the interval.
const MIN_KNOWN_FRACTION: f64 = 0.9;

/// Assesses a device after every sample.
#[derive(Clone, Debug, Default)]
pub(super) struct DeviceJudge {
    /// `None` until the device is active, and after a reset until it is active again.
    live_verdict: Option<LiveVerdict>,
    stall_timer: StallTimer,
    worst: WorstVerdict,
}

/// The verdict on a device in an interval.
#[derive(Clone, Debug, Default)]
pub(super) struct IntervalVerdict {
    /// The worst assessment of a sample.
    pub(super) assessment: Assessment,
    /// Seconds with that verdict; `None` without one.
    pub(super) verdict_s: Option<f64>,
    /// The end of the sample that the evidence is about; `None` if that is the end of the interval.
    pub(super) evidence_at: Option<Timestamp>,
}

impl IntervalVerdict {
    /// The verdict on a device that was idle for all these seconds, and in the intervals before.
    pub(super) fn idle(seconds: f64) -> Self {
        let assessment = Assessment { verdict: Some(Verdict::Idle), ..Assessment::default() };
        Self { assessment, verdict_s: Some(seconds), evidence_at: None }
    }

    /// Stores the verdict in the activity of a device.
    pub(super) fn assign_to(self, activity: &mut DeviceActivity) {
        activity.assessment = self.assessment;
        activity.verdict_s = self.verdict_s;
        activity.evidence_at = self.evidence_at;
    }
}

impl DeviceJudge {
    /// Notes a break in time: the next sample does not follow the latest. The samples of the interval so far still
    /// count.
    pub(super) fn interrupt(&mut self) {
        if let Some(live_verdict) = &mut self.live_verdict {
            live_verdict.interrupt();
        }
        self.stall_timer = StallTimer::default();
    }

    /// Notes a reset: drops what was learned about the device, because it may be another one. The samples of the
    /// interval so far still count.
    pub(super) fn reset(&mut self) {
        self.live_verdict = None;
        self.stall_timer = StallTimer::default();
    }

    /// Judges a sample within an interval, which ended `at`, with the host in it.
    pub(super) fn judge_sample(
        &mut self,
        stats: &Interval,
        host: &HostStats,
        at: Option<Timestamp>,
        new_live_verdict: impl FnOnce() -> LiveVerdict,
    ) {
        let mut assessment = Assessment::default();
        self.assess(stats, host, &mut assessment, new_live_verdict);
        self.worst.observe(assessment, stats, at);
    }

    /// Judges an idle sample within an interval, which ended `at`.
    pub(super) fn judge_idle_sample(&mut self, span: Span, at: Option<Timestamp>) {
        let stats = Interval::idle(span);
        let mut assessment = Assessment::default();
        self.assess_idle(&stats, &HostStats::default(), &mut assessment);
        self.worst.observe(assessment, &stats, at);
    }

    fn assess(
        &mut self,
        stats: &Interval,
        host: &HostStats,
        assessment: &mut Assessment,
        new_live_verdict: impl FnOnce() -> LiveVerdict,
    ) {
        if stats.is_idle() {
            return self.assess_idle(stats, host, assessment);
        }
        let stalled_s = self.stall_timer.observe(stats);
        let live_verdict = self.live_verdict.get_or_insert_with(new_live_verdict);
        live_verdict.observe_into(stats, stalled_s, host, assessment);
    }

    fn assess_idle(&mut self, stats: &Interval, host: &HostStats, assessment: &mut Assessment) {
        let stalled_s = self.stall_timer.observe(stats);
        match &mut self.live_verdict {
            Some(live_verdict) => live_verdict.observe_into(stats, stalled_s, host, assessment),
            None => {
                assessment.clear();
                assessment.verdict = Some(Verdict::Idle);
            }
        }
    }

    /// Takes the verdict on the samples of an interval of this length in seconds.
    pub(super) fn take_worst(&mut self, seconds: f64) -> IntervalVerdict {
        std::mem::take(&mut self.worst).finish(seconds)
    }
}

/// The worst verdict so far on the samples of an interval.
#[derive(Clone, Debug, Default)]
struct WorstVerdict {
    /// The worst assessment, the latest among equals, with the end of its sample.
    worst: Option<(Assessment, Option<Timestamp>)>,
    verdict_s: f64,
    samples: u32,
    reads: MeanSaturation,
    writes: MeanSaturation,
    flushes: MeanSaturation,
}

impl WorstVerdict {
    fn observe(&mut self, assessment: Assessment, stats: &Interval, at: Option<Timestamp>) {
        let ios = |kind: &Completed| kind.ios as f64;
        self.reads.observe(assessment.read_saturation, ios(&stats.reads));
        self.writes.observe(assessment.write_saturation, ios(&stats.writes));
        self.flushes.observe(assessment.flush_saturation, ios(&stats.flushes));
        self.samples += 1;
        let worst = self.worst.as_ref().map(|(worst, _)| rank(worst.verdict));
        let own = rank(assessment.verdict);
        if worst.is_none_or(|worst| own > worst) {
            self.verdict_s = 0.0;
        }
        if worst.is_none_or(|worst| own >= worst) {
            self.verdict_s += stats.seconds();
            self.worst = Some((assessment, at));
        }
    }

    fn finish(self, seconds: f64) -> IntervalVerdict {
        /// More than the rounding error of a sum, and less than any sample.
        const TOLERANCE_S: f64 = 1e-6;
        let (worst, evidence_at) = self.worst.unwrap_or_default();
        let is_whole = (seconds - self.verdict_s).abs() < TOLERANCE_S;
        let verdict_s = if is_whole { seconds } else { self.verdict_s };
        let verdict_s = worst.verdict.map(|_| verdict_s);
        let assessment = Assessment {
            read_saturation: self.reads.mean(),
            write_saturation: self.writes.mean(),
            flush_saturation: self.flushes.mean(),
            ..worst
        };
        // The evidence about the only sample is that about the interval.
        let evidence_at = evidence_at.filter(|_| self.samples > 1);
        IntervalVerdict { assessment, verdict_s, evidence_at }
    }
}

/// The rank of the verdict on a sample: the highest is shown. Samples without a verdict do not hide a verdict, which is
/// shown with its seconds; but they rank above `idle`, because an interval with I/O is not idle.
fn rank(verdict: Option<Verdict>) -> u8 {
    match verdict {
        Some(Verdict::Idle) => 0,
        None => 1,
        Some(verdict) => 2 + verdict.severity(),
    }
}

/// The saturation of reads, writes or flushes over several samples: the mean weighted by requests, which is the total
/// latency as a multiple of unloaded latency.
#[derive(Clone, Copy, Debug, Default)]
struct MeanSaturation {
    ios: f64,
    known_ios: f64,
    sum: f64,
}

impl MeanSaturation {
    fn observe(&mut self, saturation: Option<f64>, ios: f64) {
        self.ios += ios;
        if let Some(saturation) = saturation {
            self.known_ios += ios;
            self.sum += saturation * ios;
        }
    }

    /// The mean saturation; `None` unless it is known for nearly all requests.
    fn mean(&self) -> Option<f64> {
        let is_known = self.known_ios > 0.0 && self.known_ios >= MIN_KNOWN_FRACTION * self.ios;
        is_known.then(|| self.sum / self.known_ios)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::Evidence;

    /// The verdict on samples of a second each: verdict, saturation of reads and flushes, and their number.
    fn worst(samples: &[(Option<Verdict>, Option<f64>, u64)]) -> IntervalVerdict {
        let mut worst = WorstVerdict::default();
        for (second, (verdict, saturation, ios)) in (1..).zip(samples) {
            let evidence =
                vec![Evidence::NothingCompleted { in_flight: second, for_s: 0.0, may_be_leaked: false }];
            let assessment = Assessment {
                verdict: *verdict,
                read_saturation: *saturation,
                flush_saturation: *saturation,
                evidence,
                ..Assessment::default()
            };
            let completed = Completed::example(1.0, *ios, 1.0);
            let stats = Interval { reads: completed, flushes: completed, ..Interval::unknown(1.0) };
            worst.observe(assessment, &stats, Timestamp::from_second(second as i64).ok());
        }
        worst.finish(samples.len() as f64)
    }

    fn verdict(verdicts: &[Option<Verdict>]) -> (Option<Verdict>, Option<f64>, Option<i64>) {
        let samples: Vec<_> = verdicts.iter().map(|verdict| (*verdict, None, 0)).collect();
        let IntervalVerdict { assessment, verdict_s, evidence_at } = worst(&samples);
        (assessment.verdict, verdict_s, evidence_at.map(Timestamp::as_second))
    }

    #[test]
    fn the_worst_verdict_is_shown_with_its_seconds_and_its_latest_evidence() {
        use Verdict::{Capped, Idle, Ok, Queueing, Saturated, Stalled};
        let some = |verdicts: &[Verdict]| verdict(&verdicts.iter().copied().map(Some).collect::<Vec<_>>());
        assert_eq!(some(&[Idle, Ok, Saturated, Ok, Saturated, Idle]), (Some(Saturated), Some(2.0), Some(5)));
        assert_eq!(some(&[Saturated, Saturated, Capped]), (Some(Capped), Some(1.0), Some(3)));
        assert_eq!(some(&[Capped, Stalled, Queueing]), (Some(Stalled), Some(1.0), Some(2)));
        assert_eq!(some(&[Idle, Idle]), (Some(Idle), Some(2.0), Some(2)));
        assert_eq!(verdict(&[None, Some(Ok), None]), (Some(Ok), Some(1.0), Some(2)));
        assert_eq!(verdict(&[Some(Idle), None, Some(Idle)]), (None, None, Some(2)));
        assert_eq!(verdict(&[]), (None, None, None));
    }

    #[test]
    fn seconds_without_rounding_errors_are_those_of_the_interval() {
        let mut worst = WorstVerdict::default();
        let stats = Interval::unknown(0.1);
        let ok = Assessment { verdict: Some(Verdict::Ok), ..Assessment::default() };
        (0..10).for_each(|_| worst.observe(ok.clone(), &stats, None));
        assert_ne!(worst.verdict_s, 1.0);
        assert_eq!(worst.finish(1.0).verdict_s, Some(1.0));
    }

    #[test]
    fn saturation_is_that_of_all_requests_or_unknown() {
        let saturation = |samples: &[(Option<f64>, u64)]| {
            let samples: Vec<_> = samples.iter().map(|(times, ios)| (None, *times, *ios)).collect();
            let Assessment { read_saturation, flush_saturation, .. } = worst(&samples).assessment;
            assert_eq!(flush_saturation, read_saturation);
            read_saturation
        };
        assert_eq!(saturation(&[(Some(1.0), 300), (Some(5.0), 100)]), Some(2.0));
        assert_eq!(saturation(&[(Some(3.0), 90), (None, 10), (None, 0)]), Some(3.0));
        assert_eq!(saturation(&[(Some(3.0), 90), (None, 11)]), None);
        assert_eq!(saturation(&[(None, 0)]), None);
    }
}
