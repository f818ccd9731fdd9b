//! The memory of a device from one interval to the next, and after it disappeared.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;

use super::device_interval::DeviceActivity;
use super::summary::DeviceSummary;
use crate::judge::{Judged, JudgedStep, Verdict};
use crate::metrics::{Amount, DataFlag, Interval, StallTimer};

/// The most departed devices that are remembered: bounds the memory if new names keep appearing.
const MAX_DEPARTED: usize = 1000;

#[derive(Clone, Debug, Default)]
pub(super) struct DeviceRecord {
    /// Its index in the first sample of the interval; `None` if it was not in every sample.
    pub(super) first_index: Option<usize>,
    /// The interval so far.
    pub(super) judged: Judged,
    /// The time after it that is not judged yet.
    rest: Interval,
    /// True if the counters were reset in the interval.
    pub(super) is_reset: bool,
    /// The time since the latest step of the judge; `None` without data, as after a reset.
    pub(super) unjudged: Option<Interval>,
    /// The latest judgement; `None` without data.
    pub(super) latest: Option<Arc<JudgedStep>>,
    pub(super) summary: DeviceSummary,
    stall_timer: StallTimer,
    shown: ShownVerdict,
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
        *self = Self::with_summary(std::mem::take(&mut self.summary));
    }

    /// Begins an interval of the device at this index of its first sample.
    pub(super) fn begin_interval(&mut self, index: usize) {
        self.first_index = Some(index);
        self.judged = Judged::default();
        self.is_reset = false;
    }

    /// Adds a step; `None` if its counters were reset. `is_first` is true after a step of the judge.
    pub(super) fn add(&mut self, step: Option<&Interval>, is_first: bool) {
        let Some(step) = step else {
            self.is_reset = true;
            self.unjudged = None;
            return;
        };
        self.rest = self.rest.followed_by(step);
        if is_first {
            self.unjudged = Some(*step);
        } else if let Some(before) = &mut self.unjudged {
            *before = before.followed_by(step);
        }
    }

    /// Takes the judgement on a step; `None` without data.
    pub(super) fn note_judgement(&mut self, judged: Option<JudgedStep>) {
        self.latest = judged.map(Arc::new);
        self.judge_rest();
    }

    /// Adds the time that no judgement covers yet to the interval, with the latest judgement.
    pub(super) fn judge_rest(&mut self) {
        let rest = std::mem::take(&mut self.rest);
        if rest.ns > 0 {
            self.judged += &Judged::of(&rest, self.latest.as_ref());
        }
    }

    /// Returns the activity in an interval that ended `at`; `without_util` if it is too short for util.
    pub(super) fn take_activity(
        &mut self,
        without_util: bool,
        at: Option<Timestamp>,
    ) -> DeviceActivity {
        let mut judged = std::mem::take(&mut self.judged);
        if without_util {
            judged.interval.busy = Amount::default();
        }
        let stalled_s = self.stall_timer.observe(&judged.interval);
        self.summary.observe(&judged, stalled_s, at);
        DeviceActivity {
            flag: DataFlag::of_util(&judged.interval),
            stalled_s,
            shown_verdict: self
                .shown
                .observe(judged.verdict(), judged.interval.seconds()),
            judged,
            ..DeviceActivity::default()
        }
    }
}

/// The verdict on a screen, which must not flicker: a new one is shown once it was reached twice in a row. A stall, its end and the
/// first verdict are shown at once, and so is every verdict on an interval of five seconds or longer.
#[derive(Clone, Copy, Debug, Default)]
struct ShownVerdict {
    latest: Option<Verdict>,
    shown: Option<Verdict>,
}

impl ShownVerdict {
    fn observe(&mut self, verdict: Option<Verdict>, seconds: f64) -> Option<Verdict> {
        const LONG_S: f64 = 5.0;
        let is_certain =
            verdict == self.latest || verdict == Some(Verdict::Stalled) || seconds >= LONG_S;
        let is_over = self.shown == Some(Verdict::Stalled);
        if is_certain || is_over || self.shown <= Some(Verdict::Idle) {
            self.shown = verdict;
        }
        self.latest = verdict;
        self.shown
    }
}

/// Labels and summaries of devices that disappeared, by the kernel's names.
#[derive(Default)]
pub(super) struct DepartedDevices(pub(super) BTreeMap<String, (String, DeviceSummary)>);

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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_screen_shows_a_new_word_when_it_was_said_twice() {
        use Verdict::{Busy, Idle, Ok, Saturated, Stalled};
        let shown = |seconds: f64, said: &[Verdict]| -> Vec<Option<Verdict>> {
            let mut word = ShownVerdict::default();
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
