//! The events of one device.

use std::collections::VecDeque;
use std::sync::Arc;

use super::event::{Event, TOLERANCE_S};
use crate::intervals::incident::{Cause, Moment};
use crate::intervals::{DeviceNames, TopCgroup};
use crate::judge::{EventRule, IoDirection, Judged, JudgedTime, Turn};

/// The most steps that are remembered, to know the latency before an event.
const MAX_RECENT: usize = 16;
/// The seconds for which a fact that caused an event may be gone before the trouble is another one: limits of cgroups, and facts
/// where all is well, are read every 10 s, and it takes three intervals until a limit is seen to be reached.
const MAX_GONE_S: f64 = 15.0;

/// A device in a step.
pub(in crate::intervals) struct JudgedDevice<'a> {
    pub(in crate::intervals) names: &'a Arc<DeviceNames>,
    pub(in crate::intervals) judged: Judged,
    /// The cgroup with most of its bytes; `None` if that is not known.
    pub(in crate::intervals) top_cgroup: Option<TopCgroup>,
}

/// The recent past of a device and its event, in bounded memory.
#[derive(Debug, Default)]
pub(super) struct DeviceEvents {
    pub(super) names: Arc<DeviceNames>,
    rule: EventRule,
    recent: VecDeque<Taken>,
    /// The earliest second of the run for an onset: a break in time, a reset, or the end of the event before.
    floor_s: f64,
    current: Option<Event>,
    /// The seconds since the fact that caused the event was seen.
    gone_s: f64,
}

/// What the requests of a step took.
#[derive(Clone, Copy, Debug)]
struct Taken {
    /// Seconds of the run.
    end_s: f64,
    /// The milliseconds of reads, writes and flushes, and their numbers.
    kinds: [(f64, f64); 3],
}

/// The kinds of requests whose latency is remembered.
pub(super) const KINDS: [IoDirection; 3] = [
    IoDirection::Reads,
    IoDirection::Writes,
    IoDirection::Flushes,
];

impl DeviceEvents {
    /// A device that was idle until this second of the run.
    pub(super) fn new(names: &Arc<DeviceNames>, run_s: f64) -> Self {
        Self {
            names: Arc::clone(names),
            floor_s: run_s,
            ..Self::default()
        }
    }

    /// Takes a step that ended at `now`. Returns the event that it ends; `None` if it ends none.
    pub(super) fn observe(&mut self, device: &JudgedDevice<'_>, now: Moment) -> Option<Event> {
        let judged = &device.judged;
        let assessment = judged.assessment();
        let seconds = judged.interval.seconds();
        let cause = Cause::of(assessment, &self.names);
        let mut ended = None;
        if self.has_other_cause(cause.as_ref(), seconds) {
            ended = self.end();
        }
        let late_s = if self.current.is_none() {
            assessment.late_s
        } else {
            0.0
        };
        let begin_s = now.run_s - seconds - late_s;
        let turn = self.rule.observe(JudgedTime {
            begin_s: begin_s.max(self.floor_s),
            end_s: now.run_s,
            verdict: assessment.verdict,
        });
        if turn.ends {
            ended = ended.or(self.end_event());
        }
        if self.recent.len() == MAX_RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(Taken {
            end_s: now.run_s,
            kinds: KINDS.map(|kind| {
                let requests = judged.requests(kind);
                (requests.time.ms as f64, requests.timed_ios as f64)
            }),
        });
        self.add(&turn, cause, now);
        ended
    }

    /// Returns whether the fact that caused the event is another one now, or has been gone for a while.
    fn has_other_cause(&mut self, now: Option<&Cause>, seconds: f64) -> bool {
        let known = self.current.as_ref().and_then(|event| event.cause.as_ref());
        let Some(known) = known.filter(|known| known.is_fact()) else {
            return false;
        };
        match now.filter(|now| now.is_fact()) {
            Some(now) if known.is_same_fact(now) => {
                self.gone_s = 0.0;
                false
            }
            Some(_) => true,
            None => {
                self.gone_s += seconds;
                self.gone_s > MAX_GONE_S
            }
        }
    }

    /// Adds the bad steps of a turn to the event, which begins with them if there is none.
    fn add(&mut self, turn: &Turn, cause: Option<Cause>, now: Moment) {
        let Some(first) = turn.bad.first() else {
            return;
        };
        let event = self
            .current
            .get_or_insert_with(|| Event::new(&self.names, first, now));
        for step in &turn.bad {
            event.add(step, now);
        }
        event.note_cause(cause);
    }

    /// Ends what goes on. Returns the event; `None` if there is none.
    fn end(&mut self) -> Option<Event> {
        self.rule.end();
        self.end_event()
    }

    fn end_event(&mut self) -> Option<Event> {
        self.gone_s = 0.0;
        let ended = self.current.take()?;
        self.floor_s = ended.end.run_s;
        Some(ended)
    }

    /// Ends the event at a break in time, a reset or a disappearance.
    pub(super) fn interrupt(&mut self, run_s: f64) -> Option<Event> {
        self.recent.clear();
        let ended = self.end();
        self.floor_s = run_s;
        ended
    }

    /// The event that goes on, with its present state; `None` without one.
    pub(super) fn unfinished(&self) -> Option<Event> {
        let event = self.current.as_ref()?;
        Some(Event {
            is_ongoing: self.rule.is_bad_now(),
            ..event.clone()
        })
    }

    /// The event that goes on, if its latest step was bad.
    pub(super) fn present(&self) -> Option<&Event> {
        self.current.as_ref().filter(|_| self.rule.is_bad_now())
    }

    /// The number of the incident of the event that goes on; `None` without one.
    pub(super) fn incident(&self) -> Option<u64> {
        self.current.as_ref()?.incident
    }

    /// Notes the incident of the event that goes on.
    pub(super) fn set_incident(&mut self, id: u64) {
        if let Some(event) = &mut self.current {
            event.incident = Some(id);
        }
    }

    /// The mean latency of a kind of requests in the recent steps before the event that goes on; `None` if none completed, or
    /// if they took as long as they do now.
    pub(super) fn latency_before_ms(&self, requests: IoDirection) -> Option<f64> {
        let begin_s = self.current.as_ref()?.begin.run_s;
        let kind = KINDS.iter().position(|kind| *kind == requests)?;
        let (mut ms, mut count) = (0.0, 0.0);
        for taken in &self.recent {
            if taken.end_s <= begin_s + TOLERANCE_S {
                ms += taken.kinds[kind].0;
                count += taken.kinds[kind].1;
            }
        }
        let (now_ms, now_count) = self.recent.back()?.kinds[kind];
        let before_ms = ms / count;
        (count > 0.0 && now_count > 0.0 && before_ms < now_ms / now_count).then_some(before_ms)
    }
}
