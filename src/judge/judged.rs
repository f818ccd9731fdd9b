//! What happened on a device, and how it was judged. Steps add, and so do their sums: an interval of several steps, a summary, a
//! point of a chart and the totals of metrics are all the same sum.

use std::ops::AddAssign;
use std::sync::{Arc, LazyLock};

use jiff::Timestamp;

use super::summary::VerdictTimes;
use super::verdict::{Assessment, Verdict};
use crate::attribution::{IoDirection, ReachedLimit};
use crate::metrics::{Completed, Interval};

/// The fraction of the latency whose unloaded part must be known to give the saturation.
const MIN_KNOWN_FRACTION: f64 = 0.9;
/// More than the rounding error of a sum of seconds.
const TOLERANCE_S: f64 = 1e-6;

/// A device over one step or several.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Judged {
    pub interval: Interval,
    /// Reads, writes and flushes, as far as their unloaded latency is known.
    pub compared: [Compared; 3],
    /// The seconds with each verdict.
    pub times: VerdictTimes,
    /// The step with the worst verdict, the latest among equals; `None` if no step was judged.
    pub worst: Option<Arc<JudgedStep>>,
}

/// Requests beside the same requests on the unloaded device. The saturation is the quotient.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Compared {
    /// The milliseconds that they took.
    pub taken_ms: f64,
    /// The milliseconds that they would have taken on the unloaded device, at most.
    pub unloaded_ms: f64,
}

/// A step with the judgement on it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JudgedStep {
    pub assessment: Assessment,
    /// The word of the device's incident for it; `None` without one.
    pub incident_word: Option<Verdict>,
    /// The limit of a cgroup that was reached on it or below, whether it holds the device back or not.
    pub reached_limit: Option<ReachedLimit>,
    /// The end of the step; `None` without a wall clock.
    pub at: Option<Timestamp>,
    pub seconds: f64,
}

impl Judged {
    /// An interval with the judgement on its step, of which it may be a part; `None` without data.
    pub fn of(interval: &Interval, step: Option<&Arc<JudgedStep>>) -> Self {
        let mut judged = Self {
            interval: *interval,
            worst: step.cloned(),
            ..Self::default()
        };
        judged.times.add(judged.verdict(), interval.seconds());
        if let Some(JudgedStep { assessment, .. }) = step.map(|step| &**step) {
            // The reads of a source that does not split them are all requests.
            let reads = if interval.reads.time.ns > 0 {
                interval.reads
            } else {
                interval.reads_and_writes()
            };
            judged.compared = [
                Compared::of(&reads, assessment.read_saturation),
                Compared::of(&interval.writes, assessment.write_saturation),
                Compared::of(&interval.flushes, assessment.flush_saturation),
            ];
        }
        judged
    }

    /// The worst word; `None` without data.
    pub fn verdict(&self) -> Option<Verdict> {
        self.worst.as_ref()?.word()
    }

    /// The seconds with that verdict; `None` without one.
    pub fn verdict_s(&self) -> Option<f64> {
        let seconds = self.times.of(self.verdict()?);
        let all_s = self.interval.seconds();
        Some(if seconds > all_s - TOLERANCE_S {
            all_s
        } else {
            seconds
        })
    }

    /// The judgement with the worst verdict; an empty one if no step was judged.
    pub fn assessment(&self) -> &Assessment {
        static NONE: LazyLock<Assessment> = LazyLock::new(Assessment::default);
        self.worst.as_ref().map_or(&NONE, |worst| &worst.assessment)
    }

    /// The end of the step that the evidence is about; `None` if that is the whole time, and without a wall clock.
    pub fn evidence_at(&self) -> Option<Timestamp> {
        let worst = self.worst.as_ref()?;
        worst
            .at
            .filter(|_| worst.seconds < self.interval.seconds() - TOLERANCE_S)
    }

    /// The requests of a kind, or reads and writes together.
    pub fn requests(&self, direction: IoDirection) -> Completed {
        match direction {
            IoDirection::Reads => self.interval.reads,
            IoDirection::Writes => self.interval.writes,
            IoDirection::Flushes => self.interval.flushes,
            IoDirection::Both => self.interval.reads_and_writes(),
        }
    }

    /// The latency of requests of a kind as a multiple of the highest that they may have on the unloaded device, and for reads and
    /// writes together that of both; `None` unless that is known of nearly all of them.
    pub fn saturation(&self, direction: IoDirection) -> Option<f64> {
        let [reads, writes, flushes] = self.compared;
        let compared = match direction {
            IoDirection::Reads => reads,
            IoDirection::Writes => writes,
            IoDirection::Flushes => flushes,
            IoDirection::Both => reads.plus(&writes),
        };
        let time = self.requests(direction).time;
        if time.ns == 0 {
            return None;
        }
        compared.saturation(MIN_KNOWN_FRACTION * time.sum)
    }
}

impl JudgedStep {
    /// The judge's word or that of the incident, whichever is more severe.
    pub fn word(&self) -> Option<Verdict> {
        self.assessment.verdict.max(self.incident_word)
    }

    /// An estimate of its memory in bytes.
    pub fn memory(&self) -> usize {
        size_of::<Self>() + size_of_val(self.assessment.evidence.as_slice())
    }
}

impl AddAssign<&Self> for Judged {
    /// Adds a later time.
    fn add_assign(&mut self, later: &Self) {
        self.interval = self.interval.followed_by(&later.interval);
        for (own, later) in self.compared.iter_mut().zip(later.compared) {
            *own = own.plus(&later);
        }
        self.times.add_all(&later.times);
        if later.worst.is_some() && later.verdict() >= self.verdict() {
            self.worst.clone_from(&later.worst);
        }
    }
}

impl Compared {
    pub(super) fn of(requests: &Completed, saturation: Option<f64>) -> Self {
        let taken_ms = requests.time.sum;
        match saturation.filter(|saturation| *saturation > 0.0) {
            Some(saturation) => Self {
                taken_ms,
                unloaded_ms: taken_ms / saturation,
            },
            None => Self::default(),
        }
    }

    pub(super) fn plus(&self, other: &Self) -> Self {
        Self {
            taken_ms: self.taken_ms + other.taken_ms,
            unloaded_ms: self.unloaded_ms + other.unloaded_ms,
        }
    }

    /// The multiple of the unloaded latency; `None` unless it is known of requests that took `least_ms` or more.
    pub(super) fn saturation(&self, least_ms: f64) -> Option<f64> {
        let is_known = self.unloaded_ms > 0.0 && self.taken_ms >= least_ms;
        is_known.then(|| self.taken_ms / self.unloaded_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::Evidence;

    impl Judged {
        /// One step.
        pub(crate) fn example(interval: Interval, assessment: Assessment) -> Self {
            Self::of(&interval, Some(&step(assessment, interval.seconds(), None)))
        }
    }

    fn step(assessment: Assessment, seconds: f64, at: Option<Timestamp>) -> Arc<JudgedStep> {
        Arc::new(JudgedStep {
            assessment,
            at,
            seconds,
            ..JudgedStep::default()
        })
    }

    /// The sum of steps of a second each: verdict, saturation of reads and flushes, and their number.
    fn sum(steps: &[(Option<Verdict>, Option<f64>, u64)]) -> Judged {
        let mut sum = Judged::default();
        for (second, (verdict, saturation, ios)) in (1..).zip(steps) {
            let evidence = vec![Evidence::NothingCompleted {
                in_flight: Some(second),
                for_s: 0.0,
                may_be_leaked: false,
            }];
            let assessment = Assessment {
                verdict: *verdict,
                read_saturation: *saturation,
                flush_saturation: *saturation,
                evidence,
                ..Assessment::default()
            };
            let completed = Completed::example(1.0, *ios, 1.0);
            let interval = Interval {
                reads: completed,
                flushes: completed,
                ..Interval::unknown(1.0)
            };
            let at = Timestamp::from_second(second as i64).ok();
            sum += &Judged::of(&interval, Some(&step(assessment, 1.0, at)));
        }
        sum
    }

    fn verdict(verdicts: &[Option<Verdict>]) -> (Option<Verdict>, Option<f64>, Option<i64>) {
        let steps: Vec<_> = verdicts.iter().map(|verdict| (*verdict, None, 0)).collect();
        let sum = sum(&steps);
        (
            sum.verdict(),
            sum.verdict_s(),
            sum.evidence_at().map(Timestamp::as_second),
        )
    }

    #[test]
    fn the_worst_verdict_has_its_seconds_and_its_latest_evidence() {
        use Verdict::{Capped, Idle, Ok, Queueing, Saturated, Stalled};
        let some =
            |verdicts: &[Verdict]| verdict(&verdicts.iter().copied().map(Some).collect::<Vec<_>>());
        assert_eq!(
            some(&[Idle, Ok, Saturated, Ok, Saturated, Idle]),
            (Some(Saturated), Some(2.0), Some(5))
        );
        assert_eq!(
            some(&[Saturated, Saturated, Capped]),
            (Some(Capped), Some(1.0), Some(3))
        );
        assert_eq!(
            some(&[Capped, Stalled, Queueing]),
            (Some(Stalled), Some(1.0), Some(2))
        );
        assert_eq!(some(&[Idle, Idle]), (Some(Idle), Some(2.0), Some(2)));
        assert_eq!(some(&[Idle]), (Some(Idle), Some(1.0), None));
        assert_eq!(
            verdict(&[None, Some(Ok), None]),
            (Some(Ok), Some(1.0), Some(2))
        );
        assert_eq!(
            verdict(&[Some(Idle), None, Some(Idle)]),
            (Some(Idle), Some(2.0), Some(3))
        );
        assert_eq!(verdict(&[]), (None, None, None));
    }

    #[test]
    fn seconds_without_rounding_errors_are_those_of_the_interval() {
        let ok = Assessment {
            verdict: Some(Verdict::Ok),
            ..Assessment::default()
        };
        let tenth = Judged::example(Interval::unknown(0.1), ok);
        let mut sum = Judged::default();
        (0..10).for_each(|_| sum += &tenth);
        assert_ne!(sum.times.of(Verdict::Ok), 1.0);
        assert_eq!(sum.verdict_s(), Some(1.0));
    }

    #[test]
    fn saturation_is_that_of_all_requests_or_unknown() {
        let saturation = |steps: &[(Option<f64>, u64)]| {
            let steps: Vec<_> = steps
                .iter()
                .map(|(times, ios)| (None, *times, *ios))
                .collect();
            let sum = sum(&steps);
            let of_reads = sum.saturation(IoDirection::Reads);
            assert_eq!(sum.saturation(IoDirection::Flushes), of_reads);
            of_reads
        };
        // 300 ms would take as long unloaded, and 100 ms a fifth of that.
        assert_eq!(
            saturation(&[(Some(1.0), 300), (Some(5.0), 100)]),
            Some(1.25)
        );
        assert_eq!(
            saturation(&[(Some(3.0), 90), (None, 10), (None, 0)]),
            Some(3.0)
        );
        assert_eq!(saturation(&[(Some(3.0), 90), (None, 11)]), None);
        assert_eq!(saturation(&[(None, 0)]), None);
    }
}
