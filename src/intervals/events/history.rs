//! The events of one device.

use std::collections::VecDeque;
use std::sync::Arc;

use super::event::{Course, Event, Figures, MAX_GAP_INTERVALS, TOLERANCE_S};
use super::event::{cause_of_interval, is_same_event, merge};
use crate::analysis::{IoDirection, Verdict};
use crate::intervals::{DeviceActivity, DeviceNames, Moment};

/// The most intervals that an onset can reach back over: those that are searched for a plateau.
const MAX_RECENT: usize = 64;
/// The number of intervals with `ok` that are kept, because an onset may be among them.
const RECENT_OK: usize = THROTTLED_INTERVALS - 1;
/// The number of intervals before `throttled` is claimed.
const THROTTLED_INTERVALS: usize = 3;
/// The mean number of waiting requests from which slow ones cost anybody anything: nobody notices that a flush takes
/// 0.4 ms instead of 0.05 seven times a second.
const MIN_WAITING: f64 = 0.1;
/// The factor from which latency has clearly risen.
const MIN_RISE: f64 = 2.0;

/// The recent past of a device and its event, in bounded memory.
#[derive(Debug, Default)]
pub(super) struct DeviceHistory {
    pub(super) names: Arc<DeviceNames>,
    recent: VecDeque<Figures>,
    /// The earliest second of the run for an onset: the end of an interval without trouble, a break or a reset.
    floor_s: f64,
    /// The earliest second for the onset of `throttled`, which intervals with the verdict `ok` do not limit.
    throttled_floor_s: f64,
    current: Option<Event>,
    /// The number of intervals since its end.
    gap_intervals: f64,
    /// The event before it, which it may continue.
    previous: Option<Event>,
    interval_s: f64,
    /// The latest interval of the run in which the device was seen.
    pub(super) seen: u64,
    /// The number of the incident that it belongs to; 0 without one.
    pub(super) incident: u64,
}

impl DeviceHistory {
    /// A device that was idle until this second of the run.
    pub(super) fn new(names: &Arc<DeviceNames>, run_s: f64) -> Self {
        Self {
            names: Arc::clone(names),
            floor_s: run_s,
            throttled_floor_s: run_s,
            ..Self::default()
        }
    }

    /// Takes an interval that ended at `end`. Returns an event that has ended for good.
    pub(super) fn observe(&mut self, activity: &DeviceActivity, end: Moment) -> Option<Event> {
        let seconds = activity.stats.seconds();
        self.interval_s = seconds;
        let begin_s = end.run_s - seconds;
        let mut figures = Figures::of(activity);
        figures.begin_s = begin_s;
        let waiting = figures.waiting();
        if self.recent.len() == MAX_RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(figures);
        let has_cost = |verdict: &Verdict| match verdict {
            Verdict::Slow | Verdict::Queueing => waiting >= MIN_WAITING,
            _ => true,
        };
        match activity.assessment.verdict.filter(has_cost) {
            Some(verdict) if verdict.severity() >= Verdict::Queueing.severity() => {
                self.observe_trouble(verdict, activity, end)
            }
            Some(Verdict::Ok) => {
                self.recent
                    .drain(..self.recent.len().saturating_sub(RECENT_OK));
                self.floor_s = end.run_s;
                self.close()
            }
            Some(_) => self.observe_idle(end),
            None => {
                self.gap_intervals += 1.0;
                if self.gap_intervals > MAX_GAP_INTERVALS {
                    self.close()
                } else {
                    None
                }
            }
        }
    }

    /// Takes an interval in which the device was idle.
    pub(super) fn observe_idle(&mut self, end: Moment) -> Option<Event> {
        self.recent.clear();
        (self.floor_s, self.throttled_floor_s) = (end.run_s, end.run_s);
        self.close()
    }

    /// Ends the ongoing phase, at a break in time or a reset. Returns the events.
    pub(super) fn interrupt(&mut self, run_s: f64) -> impl Iterator<Item = Event> + use<> {
        let closed = self.close();
        self.recent.clear();
        (self.floor_s, self.throttled_floor_s) = (run_s, run_s);
        closed.into_iter().chain(self.previous.take())
    }

    /// Takes the event that can no longer be continued after an idle time until this second of the run; `None` if there
    /// is none.
    pub(super) fn take_ended(&mut self, run_s: f64) -> Option<Event> {
        let is_over =
            |phase: &mut Event| run_s - phase.end.run_s > MAX_GAP_INTERVALS * self.interval_s;
        self.previous.take_if(is_over)
    }

    /// Returns whether the history of an idle device is the same as a new one.
    pub(super) fn is_empty(&self) -> bool {
        self.current.is_none() && self.previous.is_none()
    }

    /// The unfinished events: the latest and the one before it.
    pub(super) fn unfinished(&self) -> impl Iterator<Item = Event> + use<> {
        let (previous, current) = match (self.previous.clone(), self.current.clone()) {
            (Some(previous), Some(current))
                if is_same_event(&previous, &current, self.interval_s) =>
            {
                (None, Some(merge(previous, current)))
            }
            both => both,
        };
        let is_ongoing = self.current.is_some() && self.gap_intervals == 0.0;
        previous.into_iter().chain(current.map(|phase| Event {
            is_ongoing,
            ..phase
        }))
    }

    /// The ongoing phase, and the onset of the trouble that it belongs to; `None` without trouble. Requests that only
    /// wait for each other a little are the way into trouble.
    pub(super) fn present(&self) -> Option<(&Event, Moment)> {
        let current = self
            .current
            .as_ref()
            .filter(|_| self.gap_intervals == 0.0)?;
        let trouble = self.course().find(|one| one.verdict != Verdict::Queueing);
        Some((
            current,
            trouble.map_or(current.begin, |trouble| trouble.begin),
        ))
    }

    pub(super) fn onset_of_event(&self) -> Option<Moment> {
        self.course().next().map(|first| first.begin)
    }

    /// The verdicts of the ongoing event.
    fn course(&self) -> impl Iterator<Item = &Course> {
        let current = self.current.as_ref();
        let same = |previous: &&Event| {
            current.is_some_and(|current| is_same_event(previous, current, self.interval_s))
        };
        let previous = self.previous.as_ref().filter(same);
        previous
            .into_iter()
            .chain(current)
            .flat_map(|phase| &phase.course)
    }

    /// Returns whether it is in trouble, or has been shortly before, beyond requests that wait for each other a little.
    pub(super) fn is_in_trouble(&self) -> bool {
        self.present().is_some_and(|(current, begin)| {
            current.verdict != Verdict::Queueing || begin.run_s < current.begin.run_s
        })
    }

    /// Returns the beginning of the first recent interval from `onset` on that shows the trouble: requests of this kind
    /// took clearly longer than `before_ms`, compared with those of the latest interval, or nothing has completed since.
    /// The evidence for an onset may include intervals of a milder load.
    pub(super) fn rise(
        &self,
        onset: Moment,
        requests: Option<IoDirection>,
        before_ms: Option<f64>,
    ) -> Option<Moment> {
        let latest = self.recent.back()?;
        let since = || {
            self.recent
                .iter()
                .filter(|one| one.begin_s >= onset.run_s - TOLERANCE_S)
        };
        let first = if latest.is_stalled() {
            since().rev().take_while(|one| one.is_stalled()).last()?
        } else {
            let (requests, before_ms) = (requests?, before_ms?);
            let now_ms = latest.await_ms(requests)?;
            let threshold_ms = (before_ms * now_ms).sqrt().max(MIN_RISE * before_ms);
            let is_risen = |one: &&Figures| {
                one.await_ms(requests)
                    .is_some_and(|await_ms| await_ms >= threshold_ms)
            };
            since().find(is_risen)?
        };
        Some(onset.minus(onset.run_s - first.begin_s))
    }

    /// The mean latency of a kind of requests in the recent intervals before the ongoing event; `None` if none completed,
    /// or if they took as long as they do now.
    pub(super) fn latency_before_ms(&self, requests: IoDirection) -> Option<f64> {
        let mut sum = Figures::default();
        let begin_s = self.onset_of_event()?.run_s;
        let is_before = |one: &&Figures| one.begin_s + one.seconds <= begin_s + TOLERANCE_S;
        self.recent
            .iter()
            .filter(is_before)
            .for_each(|one| sum.add(one));
        let now_ms = self.recent.back()?.await_ms(requests)?;
        sum.await_ms(requests)
            .filter(|before_ms| *before_ms < now_ms)
    }

    fn observe_trouble(
        &mut self,
        verdict: Verdict,
        activity: &DeviceActivity,
        end: Moment,
    ) -> Option<Event> {
        self.gap_intervals = 0.0;
        let cause = cause_of_interval(activity, verdict, &self.names);
        if let Some(current) = self
            .current
            .as_mut()
            .filter(|current| current.verdict == verdict)
        {
            if let Some(latest) = self.recent.back() {
                current.extend(end, latest, cause);
            }
            return None;
        }
        let onset = self.onset(verdict, activity, end);
        let current = self.current.take();
        let is_worse = |current: &Event| verdict.severity() > current.verdict.severity();
        // The onset of a worse verdict lies within the milder one, or before it.
        let replaced = current.filter(|current| {
            !is_worse(current) || current.begin.run_s < onset.run_s - TOLERANCE_S
        });
        let begin = match &replaced {
            Some(milder) if is_worse(milder) => onset,
            Some(worse) if worse.end.run_s > onset.run_s => worse.end,
            _ => onset,
        };
        let closed = replaced.and_then(|mut replaced| {
            if replaced.end.run_s > begin.run_s {
                replaced.set_end(begin);
                if let Some(figures) = self.figures(replaced.begin, begin) {
                    replaced.figures = figures;
                }
            }
            self.push(replaced)
        });
        let figures = self
            .figures(begin, end)
            .unwrap_or_else(|| Figures::of(activity));
        self.current = Some(Event::new(
            &self.names,
            verdict,
            (begin, end),
            figures,
            cause,
        ));
        closed
    }

    /// The onset of a verdict that is claimed for an interval.
    fn onset(&self, verdict: Verdict, activity: &DeviceActivity, end: Moment) -> Moment {
        let seconds = activity.stats.seconds();
        // The evidence may be about an earlier sample of the interval.
        let later_s = activity
            .evidence_at
            .zip(end.at)
            .map_or(0.0, |(evidence_at, end)| {
                end.duration_since(evidence_at)
                    .as_secs_f64()
                    .clamp(0.0, seconds)
            });
        let throttled_s = || {
            let first = self.recent.len().saturating_sub(THROTTLED_INTERVALS);
            self.recent
                .get(first)
                .map(|first| end.run_s - first.begin_s)
        };
        let (lasted_s, floor_s) = match verdict {
            Verdict::Throttled => (throttled_s(), self.throttled_floor_s),
            // A suspended device seems idle until it is known why nothing completes.
            Verdict::Stalled if activity.stats.is_idle() => (activity.assessment.lasted_s, 0.0),
            _ => (activity.assessment.lasted_s, self.floor_s),
        };
        let previous_s = self
            .previous
            .as_ref()
            .map_or(0.0, |previous| previous.end.run_s);
        let lasted_s = later_s + lasted_s.unwrap_or(seconds - later_s);
        let mut begin_s = (end.run_s - lasted_s).max(floor_s.max(previous_s));
        if verdict == Verdict::Throttled {
            begin_s = begin_s.min(self.same_latency_since_s().max(previous_s));
        }
        end.minus((end.run_s - begin_s).max(0.0))
    }

    /// Returns the second since which requests have taken about as long as in the latest interval, without a verdict that
    /// this is good.
    fn same_latency_since_s(&self) -> f64 {
        let latest = || Some((self.recent.back()?.slowest(|_| None)?, self.recent.back()?));
        let Some((requests, latest)) = latest() else {
            return f64::INFINITY;
        };
        let is_same = |one: &&Figures| {
            let await_ms = one.await_ms(requests).zip(latest.await_ms(requests));
            one.begin_s >= self.floor_s - TOLERANCE_S
                && await_ms.is_some_and(|(before_ms, now_ms)| MIN_RISE * before_ms >= now_ms)
        };
        let first = self.recent.iter().rev().take_while(is_same).last();
        first.map_or(f64::INFINITY, |first| first.begin_s)
    }

    /// Adds up the numbers of the intervals between two moments; `None` if some of them are no longer stored.
    fn figures(&self, begin: Moment, end: Moment) -> Option<Figures> {
        self.recent
            .front()
            .filter(|first| first.begin_s <= begin.run_s + TOLERANCE_S)?;
        let mut sum = Figures::default();
        for interval in &self.recent {
            let middle_s = interval.begin_s + interval.seconds / 2.0;
            if (begin.run_s..end.run_s).contains(&middle_s) {
                sum.add(interval);
            }
        }
        (sum.seconds > 0.0).then_some(sum)
    }

    fn close(&mut self) -> Option<Event> {
        self.gap_intervals = 0.0;
        let current = self.current.take()?;
        self.push(current)
    }

    /// Adds a phase that has ended. Returns the event before it, if it is a different one.
    fn push(&mut self, ended: Event) -> Option<Event> {
        match self.previous.take() {
            Some(previous) if is_same_event(&previous, &ended, self.interval_s) => {
                self.previous = Some(merge(previous, ended));
                None
            }
            other => {
                self.previous = Some(ended);
                other
            }
        }
    }
}
