//! The sum of the judged steps of an interval.

use jiff::Timestamp;

use super::device_interval::DeviceActivity;
use super::events::MAX_GAP_INTERVALS;
use crate::analysis::{Assessment, Verdict};
use crate::counters::Counters;
use crate::metrics::{Completed, Interval, in_flight};

/// The fraction of the requests of an interval whose saturation must be known to give that of the interval.
const MIN_KNOWN_FRACTION: f64 = 0.9;

/// What a device did in the steps of an interval so far, and the verdicts on them.
#[derive(Clone, Debug, Default)]
pub(super) struct Judged {
    /// Its index in the first sample of the interval; `None` if it was not in every sample.
    pub(super) first_index: Option<usize>,
    /// `None` before the first step, and after a reset.
    pub(super) interval: Option<Interval>,
    /// The most requests in flight at the end of a step.
    pub(super) max_in_flight: u64,
    steps: u64,
    /// The worst assessment, the latest among equals, with the end of its step.
    worst: Option<(Assessment, Option<Timestamp>)>,
    /// The seconds with that verdict.
    verdict_s: f64,
    trouble: Trouble,
    /// Those of reads, writes and flushes.
    saturations: [MeanSaturation; 3],
}

impl Judged {
    /// Begins an interval of the device at this index of its first sample.
    pub(super) fn from(first_index: usize) -> Self {
        Self { first_index: Some(first_index), ..Self::default() }
    }

    /// Adds a step that ended with these counters; `None` if they were reset.
    pub(super) fn add(&mut self, step: Option<&Interval>, counters: &Counters) {
        self.interval = match step {
            Some(step) if self.steps == 0 => Some(*step),
            _ => self.interval.zip(step).map(|(before, step)| before.followed_by(step)),
        };
        self.steps += 1;
        self.max_in_flight = self.max_in_flight.max(in_flight(counters).unwrap_or(0));
    }

    /// Adds the assessment of a step that ended `at`.
    pub(super) fn add_assessment(
        &mut self,
        mut assessment: Assessment,
        step: &Interval,
        at: Option<Timestamp>,
    ) {
        if let Some(lasted_s) = &mut assessment.lasted_s {
            *lasted_s = self.trouble.continued_s(*lasted_s, step.seconds());
        } else {
            self.trouble.pause(assessment.verdict, step.seconds());
        }
        let [reads, writes, flushes] = &mut self.saturations;
        reads.add(assessment.read_saturation, &step.reads);
        writes.add(assessment.write_saturation, &step.writes);
        flushes.add(assessment.flush_saturation, &step.flushes);
        let worst = self.worst.as_ref().map(|(worst, _)| rank(worst.verdict));
        let own = rank(assessment.verdict);
        if worst.is_none_or(|worst| own > worst) {
            self.verdict_s = 0.0;
        }
        if worst.is_none_or(|worst| own >= worst) {
            self.verdict_s += step.seconds();
            self.worst = Some((assessment, at));
        }
    }

    /// Returns whether the device was in trouble in a step.
    pub(super) fn is_in_trouble(&self) -> bool {
        let worst = self.worst.as_ref().and_then(|(worst, _)| worst.verdict);
        worst.is_some_and(Verdict::is_trouble)
    }

    /// Returns the activity of the device, with the verdict, in the interval as it is to be shown. The verdict is taken out.
    pub(super) fn take_activity(&mut self, stats: Interval) -> DeviceActivity {
        /// More than the rounding error of a sum, and less than any step.
        const TOLERANCE_S: f64 = 1e-6;
        let (worst, evidence_at) = self.worst.take().unwrap_or_default();
        let [read_saturation, write_saturation, flush_saturation] =
            self.saturations.map(|saturation| saturation.mean());
        let is_whole = (stats.seconds() - self.verdict_s).abs() < TOLERANCE_S;
        let verdict_s = if is_whole { stats.seconds() } else { self.verdict_s };
        DeviceActivity {
            stats,
            verdict_s: worst.verdict.map(|_| verdict_s),
            assessment: Assessment { read_saturation, write_saturation, flush_saturation, ..worst },
            // The evidence about the only step is that about the interval.
            evidence_at: evidence_at.filter(|_| self.steps > 1),
            ..DeviceActivity::default()
        }
    }
}

/// The trouble in the latest steps, up to the latest one that showed it.
#[derive(Clone, Copy, Debug, Default)]
struct Trouble {
    /// The seconds for which it has lasted; 0 without one.
    lasted_s: f64,
    /// The seconds since then that did not show it.
    pause_s: f64,
}

impl Trouble {
    /// Adds a step that shows trouble which has lasted for these seconds by itself. Returns the seconds since the
    /// beginning of trouble that paused for so few steps that they may be chance.
    fn continued_s(&mut self, lasted_s: f64, step_s: f64) -> f64 {
        let is_same = self.lasted_s > 0.0 && self.pause_s <= MAX_GAP_INTERVALS * step_s;
        let since_s = if is_same { self.lasted_s + self.pause_s + step_s } else { 0.0 };
        *self = Self { lasted_s: lasted_s.max(since_s), pause_s: 0.0 };
        self.lasted_s
    }

    /// Adds a step that shows no trouble.
    fn pause(&mut self, verdict: Option<Verdict>, step_s: f64) {
        match verdict {
            None => self.pause_s += step_s,
            Some(_) => *self = Self::default(),
        }
    }
}

/// The rank of the verdict on a step: the highest is shown. Steps without a verdict do not hide a verdict, which is
/// shown with its seconds; but they rank above `idle`, because an interval with I/O is not idle.
fn rank(verdict: Option<Verdict>) -> u8 {
    match verdict {
        Some(Verdict::Idle) => 0,
        None => 1,
        Some(verdict) => 2 + verdict.severity(),
    }
}

/// The saturation of reads, writes or flushes over several steps: the mean weighted by requests, which is the total
/// latency as a multiple of unloaded latency.
#[derive(Clone, Copy, Debug, Default)]
struct MeanSaturation {
    ios: f64,
    known_ios: f64,
    sum: f64,
}

impl MeanSaturation {
    fn add(&mut self, saturation: Option<f64>, completed: &Completed) {
        let ios = completed.ios as f64;
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

    /// The activity in steps of a second each: verdict, saturation of reads and flushes, and their number.
    fn activity(steps: &[(Option<Verdict>, Option<f64>, u64)]) -> DeviceActivity {
        let mut judged = Judged::from(0);
        for (second, (verdict, saturation, ios)) in (1..).zip(steps) {
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
            judged.add(Some(&stats), &Counters::ZERO);
            judged.add_assessment(assessment, &stats, Timestamp::from_second(second as i64).ok());
        }
        judged.take_activity(judged.interval.unwrap_or_default())
    }

    fn verdict(verdicts: &[Option<Verdict>]) -> (Option<Verdict>, Option<f64>, Option<i64>) {
        let samples: Vec<_> = verdicts.iter().map(|verdict| (*verdict, None, 0)).collect();
        let DeviceActivity { assessment, verdict_s, evidence_at, .. } = activity(&samples);
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
        let mut judged = Judged::from(0);
        let stats = Interval::unknown(0.1);
        let ok = Assessment { verdict: Some(Verdict::Ok), ..Assessment::default() };
        (0..10).for_each(|_| {
            judged.add(Some(&stats), &Counters::ZERO);
            judged.add_assessment(ok.clone(), &stats, None);
        });
        assert_ne!(judged.verdict_s, 1.0);
        assert_eq!(judged.take_activity(judged.interval.unwrap()).verdict_s, Some(1.0));
    }

    #[test]
    fn saturation_is_that_of_all_requests_or_unknown() {
        let saturation = |samples: &[(Option<f64>, u64)]| {
            let samples: Vec<_> = samples.iter().map(|(times, ios)| (None, *times, *ios)).collect();
            let Assessment { read_saturation, flush_saturation, .. } = activity(&samples).assessment;
            assert_eq!(flush_saturation, read_saturation);
            read_saturation
        };
        assert_eq!(saturation(&[(Some(1.0), 300), (Some(5.0), 100)]), Some(2.0));
        assert_eq!(saturation(&[(Some(3.0), 90), (None, 10), (None, 0)]), Some(3.0));
        assert_eq!(saturation(&[(Some(3.0), 90), (None, 11)]), None);
        assert_eq!(saturation(&[(None, 0)]), None);
    }
}
