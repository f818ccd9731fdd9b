//! An event: a time in which a device was in trouble.

use std::sync::Arc;

use crate::intervals::DeviceNames;
use crate::intervals::incident::{Cause, Moment};
use crate::judge::{JudgedTime, Verdict, VerdictTimes, word_of_event};

/// Less than any interval, more than the rounding error of a sum of seconds.
pub(super) const TOLERANCE_S: f64 = 1e-3;

/// A verdict within an event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Course {
    pub verdict: Verdict,
    pub begin: Moment,
    /// Seconds from its onset to the end of the last interval with it.
    pub duration_s: f64,
}

/// A time in which one device was in trouble. What it suffered from, since when and because of whom is its incident's.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    pub names: Arc<DeviceNames>,
    /// The word for it, and the seconds with that verdict.
    pub verdict: Verdict,
    pub verdict_s: f64,
    /// The onset, and whether it was observed.
    pub begin: Moment,
    pub begin_is_known: bool,
    /// The moment, shortly before, since which requests waited in every step: the incident begins there.
    pub(super) rise: Moment,
    pub end: Moment,
    pub is_ongoing: bool,
    /// The verdicts with their onsets, where they changed on the way.
    pub course: Vec<Course>,
    /// The number of its incident.
    pub incident: Option<u64>,
    pub(super) times: VerdictTimes,
    /// The most certain cause that the device itself shows.
    pub(super) cause: Option<Cause>,
}

impl Event {
    /// An event that begins with a bad step, which ended at `now` or before.
    pub(super) fn new(names: &Arc<DeviceNames>, first: &JudgedTime, now: Moment) -> Self {
        let begin = now.at_run_s(first.begin_s);
        Self {
            names: Arc::clone(names),
            verdict: first.verdict.unwrap_or(Verdict::Slow),
            verdict_s: 0.0,
            begin,
            begin_is_known: true,
            rise: begin,
            end: begin,
            is_ongoing: false,
            course: Vec::new(),
            incident: None,
            times: VerdictTimes::default(),
            cause: None,
        }
    }

    /// Adds a bad step, which ended at `now` or before.
    pub(super) fn add(&mut self, step: &JudgedTime, now: Moment) {
        let Some(verdict) = step.verdict else {
            return;
        };
        self.times.add(step.verdict, step.end_s - step.begin_s);
        self.note_times();
        self.end = now.at_run_s(step.end_s);
        if let Some(last) = self
            .course
            .last_mut()
            .filter(|last| last.verdict == verdict)
        {
            last.duration_s = step.end_s - last.begin.run_s;
            return;
        }
        // The first ones are kept: they show how the trouble began.
        if self.course.len() < MAX_COURSE {
            self.course.push(Course {
                verdict,
                begin: now.at_run_s(step.begin_s),
                duration_s: step.end_s - step.begin_s,
            });
        }
    }

    /// Ends it at an earlier moment, at which another event begins. Returns the seconds of each verdict since then.
    pub(super) fn cut(&mut self, end: Moment) -> VerdictTimes {
        let mut later = VerdictTimes::default();
        while let Some(mut last) = self.course.pop() {
            let end_s = last.begin.run_s + last.duration_s;
            let kept_s = (end.run_s - last.begin.run_s).max(0.0);
            let beyond_s = (end_s - end.run_s.max(last.begin.run_s)).max(0.0);
            let seconds = beyond_s.min(self.times.of(last.verdict));
            later.add(Some(last.verdict), seconds);
            self.times.add(Some(last.verdict), -seconds);
            if kept_s > 0.0 {
                last.duration_s = last.duration_s.min(kept_s);
                self.course.push(last);
                break;
            }
        }
        self.end = end;
        self.note_times();
        later
    }

    /// Finds the word for the seconds of each verdict.
    fn note_times(&mut self) {
        self.verdict = word_of_event(&self.times).unwrap_or(self.verdict);
        self.verdict_s = self.times.of(self.verdict);
    }

    /// Takes the cause that a step shows, unless a more certain one is known. Errors are counted, a rebuild goes on, and a
    /// limit may be changed.
    pub(super) fn note_cause(&mut self, cause: Option<Cause>) {
        let rank = self.cause.as_ref().map_or(0, Cause::rank);
        if let Some(cause) = cause
            && cause.rank() >= rank
        {
            self.cause = Some(cause);
        }
    }

    /// Returns whether it is a stall, which no other verdict is part of.
    pub(super) fn is_stall(&self) -> bool {
        self.verdict == Verdict::Stalled
    }

    pub(super) fn duration_s(&self) -> f64 {
        self.end.run_s - self.begin.run_s
    }

    /// Its seconds, each weighted by its verdict, so that a long time at a limit counts more than a short stall.
    pub(super) fn trouble_s(&self) -> f64 {
        self.times
            .iter()
            .map(|(verdict, seconds)| seconds * verdict.map_or(0.0, verdict_weight))
            .sum()
    }

    /// Changes the seconds of all moments.
    pub(super) fn shift(&mut self, seconds: f64) {
        self.begin.run_s += seconds;
        self.end.run_s += seconds;
        for course in &mut self.course {
            course.begin.run_s += seconds;
        }
    }

    /// Returns the cause of an incident that the device shows. What a device below the victim is based on says nothing about
    /// the victim.
    pub(super) fn cause_of_incident(&self, is_victim: bool) -> Option<Cause> {
        let own = self
            .cause
            .as_ref()
            .filter(|cause| is_victim || !cause.is_of_victim());
        own.cloned()
            .or_else(|| (!is_victim).then(|| Cause::DeviceBelow(Arc::clone(&self.names))))
    }
}

/// The most verdicts that an event keeps.
const MAX_COURSE: usize = 8;

/// Returns how many seconds of a slow device a second of a verdict counts as. During a stall nothing completes; at a limit or
/// saturated, requests take several times longer than unloaded; a slow device still serves its load.
fn verdict_weight(verdict: Verdict) -> f64 {
    match verdict {
        Verdict::Stalled => 20.0,
        Verdict::Throttled | Verdict::Capped => 4.0,
        Verdict::Saturated => 3.0,
        Verdict::Slow => 2.0,
        _ => 0.0,
    }
}
