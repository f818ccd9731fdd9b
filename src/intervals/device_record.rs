//! The memory of a device from one interval to the next, and after it disappeared.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::device_interval::DeviceActivity;
use super::events::MAX_GAP_INTERVALS;
use super::summary::DeviceSummary;
use crate::analysis::{Assessment, Beside, LiveVerdict, PeerHistory, SharedLimit, Verdict};
use crate::metrics::{Completed, DataFlag, HostStats, Interval, StallTimer};

/// The most departed devices that are remembered: bounds the memory if new names keep appearing.
const MAX_DEPARTED: usize = 1000;

/// The verdict on each step of a device.
#[derive(Clone, Debug, Default)]
pub(super) struct DeviceJudge {
    /// `None` until the device is active: most devices of a large host never are.
    live_verdict: Option<Box<LiveVerdict>>,
    stall_timer: StallTimer,
    pub(super) peers: PeerHistory,
    /// The seconds since a request completed; `None` if none has since the beginning or a break.
    pub(super) idle_s: Option<f64>,
}

impl DeviceJudge {
    /// Notes a break in time: the next step does not follow the latest.
    pub(super) fn interrupt(&mut self) {
        if let Some(live_verdict) = &mut self.live_verdict {
            live_verdict.interrupt();
        }
        self.stall_timer = StallTimer::default();
        self.peers = PeerHistory::default();
        self.idle_s = None;
    }

    /// Judges a step, with the host in it and the limit that the device shares with others. `new_live_verdict` creates the live verdict of a device that becomes active.
    pub(super) fn judge(
        &mut self,
        stats: &Interval,
        host: &HostStats,
        shared_limit: Option<SharedLimit>,
        new_live_verdict: impl FnOnce() -> LiveVerdict,
    ) -> Assessment {
        let stalled_s = self.stall_timer.observe(stats);
        self.idle_s = match self.idle_s {
            _ if stats.completed() > 0 => Some(0.0),
            idle_s => idle_s.map(|idle_s| idle_s + stats.seconds()),
        };
        if self.live_verdict.is_none() && stats.is_idle() {
            return Assessment {
                verdict: Some(Verdict::Idle),
                ..Assessment::default()
            };
        }
        let live_verdict = self
            .live_verdict
            .get_or_insert_with(|| Box::new(new_live_verdict()));
        live_verdict.observe(
            stats,
            stalled_s,
            host,
            Beside {
                slow: self.peers.slow(),
                shared_limit,
            },
        )
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct DeviceRecord {
    stall_timer: StallTimer,
    pub(super) summary: DeviceSummary,
    pub(super) judge: DeviceJudge,
    /// The interval so far.
    pub(super) judged: Judged,
    /// The last known identity of the device; `None` if it was never known.
    identity: Option<String>,
}

impl DeviceRecord {
    /// Creates the record of a device that came back: its summary continues.
    pub(super) fn with_summary(summary: DeviceSummary) -> Self {
        Self {
            summary,
            ..Self::default()
        }
    }

    /// Notes a break in time: the next interval does not follow the latest.
    pub(super) fn interrupt(&mut self) {
        self.interrupt_statistics();
        self.judge.interrupt();
    }

    /// Notes that another device took the name: drops what was learned about the first.
    pub(super) fn reset(&mut self) {
        self.interrupt_statistics();
        self.judge = DeviceJudge::default();
    }

    /// Notes a reset within an interval; called at the end of the interval.
    pub(super) fn interrupt_statistics(&mut self) {
        self.stall_timer = StallTimer::default();
    }

    /// Notes the identity of the device, if it is known now.
    pub(super) fn identify(&mut self, identity: Option<&str>) {
        let Some(identity) = identity.filter(|identity| self.identity.as_deref() != Some(identity))
        else {
            return;
        };
        if self.identity.replace(identity.to_owned()).is_some() {
            self.reset();
        }
    }

    /// Takes an interval that ended `at`, and sets the values that also depend on earlier intervals.
    pub(super) fn observe(&mut self, activity: &mut DeviceActivity, at: Option<Timestamp>) {
        activity.flag = DataFlag::of_util(&activity.stats);
        activity.stalled_s = self.stall_timer.observe(&activity.stats);
        self.summary
            .observe(&activity.stats, activity.stalled_s, at);
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
        Self {
            first_index: Some(first_index),
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
        let verdict_s = if is_whole {
            stats.seconds()
        } else {
            self.verdict_s
        };
        DeviceActivity {
            stats,
            verdict_s: worst.verdict.map(|_| verdict_s),
            assessment: Assessment {
                read_saturation,
                write_saturation,
                flush_saturation,
                ..worst
            },
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
        let since_s = if is_same {
            self.lasted_s + self.pause_s + step_s
        } else {
            0.0
        };
        *self = Self {
            lasted_s: lasted_s.max(since_s),
            pause_s: 0.0,
        };
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
            let evidence = vec![Evidence::NothingCompleted {
                in_flight: second,
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
                assessment,
                &stats,
                Timestamp::from_second(second as i64).ok(),
            );
        }
        judged.take_activity(judged.interval.unwrap_or_default())
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
            (None, None, Some(2))
        );
        assert_eq!(verdict(&[]), (None, None, None));
    }

    #[test]
    fn seconds_without_rounding_errors_are_those_of_the_interval() {
        let mut judged = Judged::from(0);
        let stats = Interval::unknown(0.1);
        let ok = Assessment {
            verdict: Some(Verdict::Ok),
            ..Assessment::default()
        };
        (0..10).for_each(|_| {
            judged.add(Some(&stats));
            judged.add_assessment(ok.clone(), &stats, None);
        });
        assert_ne!(judged.verdict_s, 1.0);
        assert_eq!(
            judged.take_activity(judged.interval.unwrap()).verdict_s,
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
}
