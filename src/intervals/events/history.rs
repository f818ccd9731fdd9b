//! The events of one device.

use std::collections::VecDeque;
use std::sync::Arc;

use super::event::{Event, TOLERANCE_S};
use crate::intervals::DeviceNames;
use crate::intervals::incident::{Cause, Moment};
use crate::judge::{EventRule, IoDirection, Judged, JudgedTime, Turn, Verdict};

/// The most steps that are remembered, to know the latency before an event.
const MAX_RECENT: usize = 16;
/// The most seconds between the beginnings of trouble of a device and of one below it that have one cause: an event begins with
/// the second bad step of three, and steps of a volume and its disk may differ by one.
const MAX_APART_S: f64 = 5.0;
/// The most seconds in which requests waited, but not for long yet, that belong to the trouble that follows at once.
const MAX_RISE_S: f64 = 5.0;
/// The seconds for which a fact that caused an event may be gone before the trouble is another one: limits of cgroups, and facts
/// where all is well, are read every 10 s, and it takes three intervals until a limit is seen to be reached.
const MAX_GONE_S: f64 = 15.0;

/// A device in a step.
pub(in crate::intervals) struct JudgedDevice<'a> {
    pub(in crate::intervals) names: &'a Arc<DeviceNames>,
    pub(in crate::intervals) judged: Judged,
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
    /// The second of the run since which requests wait in every step; `None` if they do not.
    waiting_since_s: Option<f64>,
}

/// The time that the requests of a step took.
#[derive(Clone, Copy, Debug, Default)]
struct Taken {
    /// Seconds of the run.
    end_s: f64,
    seconds: f64,
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
        self.waiting_since_s = if assessment.verdict >= Some(Verdict::Queueing) {
            self.waiting_since_s.or(Some(begin_s))
        } else {
            None
        };
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
            seconds,
            kinds: KINDS.map(|kind| {
                let requests = judged.requests(kind);
                (requests.time.sum, requests.timed_ios)
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
        let rise_s = self.rise_s(first);
        let event = self.current.get_or_insert_with(|| Event {
            rise: now.at_run_s(rise_s),
            ..Event::new(&self.names, first, now)
        });
        for step in &turn.bad {
            event.add(step, now);
        }
        event.note_cause(cause);
    }

    /// The second of the run since which requests waited before the first bad step of an event: seconds of it belong to the trouble.
    fn rise_s(&self, first: &JudgedTime) -> f64 {
        let is_stall = first.verdict == Some(Verdict::Stalled);
        match self.waiting_since_s.filter(|_| !is_stall) {
            Some(since_s) => since_s
                .max(first.begin_s - MAX_RISE_S)
                .max(self.floor_s)
                .min(first.begin_s),
            None => first.begin_s,
        }
    }

    /// Ends the event at the moment at which worse trouble of a device below began, if it began long before: that has another
    /// cause. Another event begins there. Returns the one that ended.
    pub(super) fn split(&mut self, below: &Event, now: Moment) -> Option<Event> {
        let begin = below.rise;
        let event = self.current.as_mut().filter(|_| self.rule.is_bad_now())?;
        // Where the kernel states the cause, it says itself when that is another one.
        let has_fact = event.cause.as_ref().is_some_and(Cause::is_fact);
        let is_worse = below.verdict > event.verdict && !event.is_stall();
        if has_fact || !is_worse || begin.run_s - event.begin.run_s <= MAX_APART_S {
            return None;
        }
        let times = event.cut(begin);
        let mut next = Event::new(
            &self.names,
            &JudgedTime {
                begin_s: begin.run_s,
                end_s: now.run_s,
                verdict: None,
            },
            now,
        );
        let mut begin_s = begin.run_s;
        for (verdict, seconds) in times.iter().filter(|(_, seconds)| *seconds > 0.0) {
            let step = JudgedTime {
                begin_s,
                end_s: begin_s + seconds,
                verdict,
            };
            next.add(&step, now);
            begin_s += seconds;
        }
        next.end = now;
        self.gone_s = 0.0;
        self.floor_s = begin.run_s;
        self.current.replace(next)
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

    /// The sum of the recent steps before the event that goes on; `None` without one.
    fn before(&self) -> Option<Taken> {
        let begin_s = self.current.as_ref()?.rise.run_s;
        let mut sum = Taken::default();
        for taken in &self.recent {
            if taken.end_s <= begin_s + TOLERANCE_S {
                sum.seconds += taken.seconds;
                for (sum, (ms, count)) in sum.kinds.iter_mut().zip(taken.kinds) {
                    sum.0 += ms;
                    sum.1 += count;
                }
            }
        }
        Some(sum)
    }

    /// The mean rate of a kind of requests in the recent steps before the event that goes on; `None` without such steps.
    pub(super) fn rate_before_per_s(&self, requests: IoDirection) -> Option<f64> {
        let kind = KINDS.iter().position(|kind| *kind == requests)?;
        let before = self.before()?;
        let (_, count) = before.kinds[kind];
        (before.seconds > 0.0).then(|| count / before.seconds)
    }

    /// The mean latency of a kind of requests in the recent steps before the event that goes on; `None` if none completed, if
    /// they took less than the kernel counts, or as long as they do now.
    pub(super) fn latency_before_ms(&self, requests: IoDirection) -> Option<f64> {
        let kind = KINDS.iter().position(|kind| *kind == requests)?;
        let (ms, count) = self.before()?.kinds[kind];
        let (now_ms, now_count) = self.recent.back()?.kinds[kind];
        let before_ms = ms / count;
        let is_known = count > 0.0 && now_count > 0.0 && before_ms > 0.0;
        (is_known && before_ms < now_ms / now_count).then_some(before_ms)
    }
}
