//! The memory of a device from one interval to the next, and after it disappeared.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::device_interval::DeviceActivity;
use super::summary::DeviceSummary;
use crate::judge::{Assessment, Verdict, VerdictTimes};
use crate::metrics::{Completed, DataFlag, Interval, StallTimer};

/// The most departed devices that are remembered: bounds the memory if new names keep appearing.
const MAX_DEPARTED: usize = 1000;

#[derive(Clone, Debug, Default)]
pub(super) struct DeviceRecord {
    stall_timer: StallTimer,
    pub(super) summary: DeviceSummary,
    /// What happened since the latest step of the judge; `None` if nothing is known of it, as after a reset.
    pub(super) unjudged: Option<Interval>,
    /// The latest judgement.
    latest: Option<Assessment>,
    /// The interval so far.
    pub(super) judged: Judged,
    shown: ShownWord,
}

impl DeviceRecord {
    /// Creates the record of a device that came back: its summary continues.
    pub(super) fn with_summary(summary: DeviceSummary) -> Self {
        Self {
            summary,
            ..Self::default()
        }
    }

    /// Notes a break in time, or a reset within an interval: the next interval does not follow the latest.
    pub(super) fn interrupt(&mut self) {
        *self = Self {
            summary: self.summary,
            judged: std::mem::take(&mut self.judged),
            ..Self::default()
        };
    }

    /// Takes the judgement on a step that ended `at`.
    pub(super) fn note_judgement(
        &mut self,
        assessment: Option<Assessment>,
        step: &Interval,
        at: Option<Timestamp>,
    ) {
        if let Some(assessment) = &assessment {
            self.judged.add_assessment(assessment, step, at);
        }
        self.latest = assessment;
    }

    /// The latest judgement; `None` without data.
    pub(super) fn latest(&self) -> Option<&Assessment> {
        self.latest.as_ref()
    }

    /// Returns the activity in an interval that ended `at`. An interval that is shorter than a step of the judge has the latest
    /// word.
    pub(super) fn take_activity(
        &mut self,
        stats: Interval,
        at: Option<Timestamp>,
    ) -> DeviceActivity {
        let mut activity = self.judged.take_activity(stats, self.latest.as_ref());
        activity.shown_verdict = self
            .shown
            .observe(activity.assessment.verdict, stats.seconds());
        activity.flag = DataFlag::of_util(&activity.stats);
        activity.stalled_s = self.stall_timer.observe(&activity.stats);
        self.summary
            .observe(&activity.stats, activity.stalled_s, at);
        activity
    }
}

/// The word that a screen shows, which does not flicker: a new one when it was said twice in a row. A stall, its end and the first word
/// are shown at once, and so is every word of an interval of five seconds or longer.
#[derive(Clone, Copy, Debug, Default)]
struct ShownWord {
    said: Option<Verdict>,
    shown: Option<Verdict>,
}

impl ShownWord {
    fn observe(&mut self, verdict: Option<Verdict>, seconds: f64) -> Option<Verdict> {
        const LONG_S: f64 = 5.0;
        let is_certain =
            verdict == self.said || verdict == Some(Verdict::Stalled) || seconds >= LONG_S;
        let is_over = self.shown == Some(Verdict::Stalled);
        if is_certain || is_over || self.shown <= Some(Verdict::Idle) {
            self.shown = verdict;
        }
        self.said = verdict;
        self.shown
    }
}

/// Labels and summaries of devices that disappeared, by the kernel's names.
#[derive(Default)]
pub(super) struct DepartedDevices(BTreeMap<String, (String, DeviceSummary)>);

impl DepartedDevices {
    /// Keeps the summary of a device that disappeared. The summary of an idle device holds only its time, which matters
    /// only if the device comes back and becomes active, so it is dropped first to make room for one that was active.
    pub(super) fn insert(&mut self, name: &str, label: &str, summary: DeviceSummary) {
        if self.0.len() >= MAX_DEPARTED && !summary.is_empty() {
            self.0.retain(|_, (_, summary)| !summary.is_empty());
        }
        if self.0.len() < MAX_DEPARTED {
            self.0.insert(name.to_owned(), (label.to_owned(), summary));
        }
    }

    /// Removes a device that came back and returns its summary; `None` if it is not remembered.
    pub(super) fn remove(&mut self, name: &str) -> Option<DeviceSummary> {
        self.0.remove(name).map(|(_, summary)| summary)
    }

    /// Returns name, label and summary of each device, sorted by name.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &str, DeviceSummary)> {
        self.0
            .iter()
            .map(|(name, (label, summary))| (name.as_str(), label.as_str(), *summary))
    }
}

/// The fraction of the requests of an interval whose saturation must be known to give that of the interval.
const MIN_KNOWN_FRACTION: f64 = 0.9;

/// The steps of a device in an interval so far, added up, with the verdicts on them.
#[derive(Clone, Debug, Default)]
pub(super) struct Judged {
    /// Its index in the first sample of the interval; `None` if it was not in every sample.
    pub(super) first_index: Option<usize>,
    /// `None` before the first step, and after a reset.
    pub(super) interval: Option<Interval>,
    steps: u64,
    is_judged: bool,
    /// The seconds of the next step of the judge in the intervals before this one, which have told of them.
    told_s: f64,
    /// The worst assessment, the latest among equals, with the end of its step.
    worst: Option<(Assessment, Option<Timestamp>)>,
    /// The seconds with each verdict.
    times: VerdictTimes,
    /// Those of reads, writes and flushes.
    saturations: [MeanSaturation; 3],
}

impl Judged {
    /// Begins an interval of the device at this index of its first sample. The last `told_s` seconds before it are not judged yet.
    pub(super) fn from(first_index: usize, told_s: f64) -> Self {
        Self {
            first_index: Some(first_index),
            told_s,
            ..Self::default()
        }
    }

    /// Adds a step; `None` if its counters were reset.
    pub(super) fn add(&mut self, step: Option<&Interval>) {
        self.interval = match step {
            Some(step) if self.steps == 0 => Some(*step),
            _ => self
                .interval
                .zip(step)
                .map(|(before, step)| before.followed_by(step)),
        };
        self.steps += 1;
    }

    /// Adds the assessment of a step that ended `at`.
    fn add_assessment(&mut self, assessment: &Assessment, step: &Interval, at: Option<Timestamp>) {
        self.is_judged = true;
        let [reads, writes, flushes] = &mut self.saturations;
        reads.add(assessment.read_saturation, &step.reads);
        writes.add(assessment.write_saturation, &step.writes);
        flushes.add(assessment.flush_saturation, &step.flushes);
        let told_s = std::mem::take(&mut self.told_s);
        self.times
            .add(assessment.verdict, (step.seconds() - told_s).max(0.0));
        let worst = self.worst.as_ref().map(|(worst, _)| worst.verdict);
        if worst.is_none_or(|worst| assessment.verdict >= worst) {
            self.worst = Some((assessment.clone(), at));
        }
    }

    /// Returns whether the device was in trouble in a step.
    pub(super) fn is_in_trouble(&self) -> bool {
        let worst = self.worst.as_ref().and_then(|(worst, _)| worst.verdict);
        worst.is_some_and(Verdict::is_trouble)
    }

    /// Returns the activity of the device, with the verdict, in the interval as it is to be shown. The verdict is taken out. What
    /// is not judged yet has the `latest` word.
    fn take_activity(&mut self, stats: Interval, latest: Option<&Assessment>) -> DeviceActivity {
        if let Some(latest) = latest {
            let rest_s = stats.seconds() - self.times.total_s();
            self.times.add(latest.verdict, rest_s.max(0.0));
        }
        let (worst, evidence_at) = self.worst.take().unwrap_or_default();
        let [read_saturation, write_saturation, flush_saturation] =
            self.saturations.map(|saturation| saturation.mean());
        let assessment = match latest {
            Some(latest) if !self.is_judged => latest.clone(),
            _ => Assessment {
                read_saturation,
                write_saturation,
                flush_saturation,
                ..worst
            },
        };
        // A sum of steps has rounding errors.
        let verdict_s = assessment.verdict.map(|verdict| self.times.of(verdict));
        let is_whole = verdict_s.is_some_and(|seconds| seconds > stats.seconds() - 1e-6);
        DeviceActivity {
            stats,
            verdict_s: if is_whole {
                Some(stats.seconds())
            } else {
                verdict_s
            },
            times: self.times,
            assessment,
            // The evidence about the only step is that about the interval.
            evidence_at: evidence_at.filter(|_| self.steps > 1),
            ..DeviceActivity::default()
        }
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
    use crate::judge::Evidence;

    /// The activity in steps of a second each: verdict, saturation of reads and flushes, and their number.
    fn activity(steps: &[(Option<Verdict>, Option<f64>, u64)]) -> DeviceActivity {
        let mut judged = Judged::from(0, 0.0);
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
            let stats = Interval {
                reads: completed,
                flushes: completed,
                ..Interval::unknown(1.0)
            };
            judged.add(Some(&stats));
            judged.add_assessment(
                &assessment,
                &stats,
                Timestamp::from_second(second as i64).ok(),
            );
        }
        judged.take_activity(judged.interval.unwrap_or_default(), None)
    }

    fn verdict(verdicts: &[Option<Verdict>]) -> (Option<Verdict>, Option<f64>, Option<i64>) {
        let samples: Vec<_> = verdicts.iter().map(|verdict| (*verdict, None, 0)).collect();
        let DeviceActivity {
            assessment,
            verdict_s,
            evidence_at,
            ..
        } = activity(&samples);
        (
            assessment.verdict,
            verdict_s,
            evidence_at.map(Timestamp::as_second),
        )
    }

    #[test]
    fn the_worst_verdict_is_shown_with_its_seconds_and_its_latest_evidence() {
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
        let mut judged = Judged::from(0, 0.0);
        let stats = Interval::unknown(0.1);
        let ok = Assessment {
            verdict: Some(Verdict::Ok),
            ..Assessment::default()
        };
        (0..10).for_each(|_| {
            judged.add(Some(&stats));
            judged.add_assessment(&ok, &stats, None);
        });
        assert_ne!(judged.times.of(Verdict::Ok), 1.0);
        assert_eq!(
            judged
                .take_activity(judged.interval.unwrap(), None)
                .verdict_s,
            Some(1.0)
        );
    }

    #[test]
    fn saturation_is_that_of_all_requests_or_unknown() {
        let saturation = |samples: &[(Option<f64>, u64)]| {
            let samples: Vec<_> = samples
                .iter()
                .map(|(times, ios)| (None, *times, *ios))
                .collect();
            let Assessment {
                read_saturation,
                flush_saturation,
                ..
            } = activity(&samples).assessment;
            assert_eq!(flush_saturation, read_saturation);
            read_saturation
        };
        assert_eq!(saturation(&[(Some(1.0), 300), (Some(5.0), 100)]), Some(2.0));
        assert_eq!(
            saturation(&[(Some(3.0), 90), (None, 10), (None, 0)]),
            Some(3.0)
        );
        assert_eq!(saturation(&[(Some(3.0), 90), (None, 11)]), None);
        assert_eq!(saturation(&[(None, 0)]), None);
    }

    #[test]
    fn a_screen_shows_a_new_word_when_it_was_said_twice() {
        use Verdict::{Busy, Idle, Ok, Saturated, Stalled};
        let shown = |seconds: f64, said: &[Verdict]| -> Vec<Option<Verdict>> {
            let mut word = ShownWord::default();
            said.iter()
                .map(|verdict| word.observe(Some(*verdict), seconds))
                .collect()
        };
        let some = |verdicts: &[Verdict]| -> Vec<Option<Verdict>> {
            verdicts.iter().copied().map(Some).collect()
        };
        let said = [Ok, Saturated, Ok, Busy, Busy, Stalled, Ok, Ok];
        let expected = [Ok, Ok, Ok, Ok, Busy, Stalled, Ok, Ok];
        assert_eq!(shown(1.0, &said), some(&expected));
        assert_eq!(shown(10.0, &said), some(&said));
        // The first word with work is shown at once.
        assert_eq!(shown(1.0, &[Idle, Saturated]), some(&[Idle, Saturated]));
    }
}
