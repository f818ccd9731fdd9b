//! Moves in time (by steps, to times of day, to events and to the worst interval), and the replay.

use jiff::Timestamp;

use super::app::{App, PLAY_SPEEDS, Page, Source};
use super::history::{is_trouble, lasted_s};
use crate::intervals::{DeviceInterval, IncidentSummary};
use crate::judge::Verdict;

/// The time shown when a capture is opened, as a multiple of the length of the incident that it opens at, and its minimum
/// below.
const INCIDENT_CONTEXT: f64 = 3.0;
const DEFAULT_SPAN_S: f64 = 180.0;

impl App {
    /// Notes that the whole capture has been read. The screen goes to the worst incident, unless the user
    /// has moved.
    pub(crate) fn finish_loading(&mut self) {
        self.progress = None;
        if self.has_moved || self.options.source == Source::Live {
            return;
        }
        let worst = self
            .incidents
            .iter()
            .min_by(|a, b| a.worst_first(b))
            .cloned();
        let incident_s = worst.as_ref().map_or(0.0, IncidentSummary::duration_s);
        self.axis.show_at_least(
            self.history
                .end_s()
                .min((INCIDENT_CONTEXT * incident_s).max(DEFAULT_SPAN_S)),
        );
        match worst {
            Some(incident) => self.go_to_worst_of(&incident),
            None => self.go_to_worst(),
        }
        self.message = None;
        self.cursor = self
            .cursor
            .or(self.history.newest().map(|newest| newest.span.end_s));
    }

    /// Notes the time on the monotonic clock, and advances a replay.
    pub(crate) fn tick(&mut self, now_s: f64) {
        let passed = now_s - self.now_s;
        self.now_s = now_s;
        if self
            .message
            .as_ref()
            .is_some_and(|(_, until)| *until < now_s)
        {
            self.message = None;
        }
        let (Some(speed), Some(mut end_s)) = (self.play_speed(), self.cursor) else {
            return;
        };
        // At the beginning, no time has passed yet.
        if passed > 60.0 {
            return;
        }
        self.axis.played_s += passed * speed;
        while let Some(next) = self.history.after(end_s).map(|moment| moment.span.end_s)
            && self.axis.played_s >= next - end_s
        {
            self.axis.played_s -= next - end_s;
            end_s = next;
        }
        self.cursor = Some(end_s);
        if self.progress.is_none() && self.history.after(end_s).is_none() {
            self.playing = None;
            self.say("end of the recording");
        }
    }

    /// Pauses at the interval that is shown, or follows the newest one again. A capture starts or stops playing.
    pub(crate) fn toggle_pause(&mut self) {
        self.has_moved = true;
        self.axis.played_s = 0.0;
        if self.options.source != Source::Live {
            self.playing = if self.playing.is_some() {
                None
            } else {
                Some(0)
            };
            self.cursor = self.cursor.or(Some(self.cursor_s()));
            return;
        }
        self.cursor = if self.follows() {
            Some(self.cursor_s())
        } else {
            None
        };
    }

    /// Plays faster; after the highest speed, returns to the recorded speed.
    pub(crate) fn change_speed(&mut self) {
        match &mut self.playing {
            Some(at) => *at = (*at + 1) % PLAY_SPEEDS.len(),
            None => self.say("x changes the speed of a recording that plays"),
        }
    }

    /// Moves by a number of intervals.
    pub(crate) fn step(&mut self, forward: bool) {
        let current = self.cursor_s();
        let next = if forward {
            self.history.after(current)
        } else {
            self.history.before(current)
        };
        self.move_to(next.map(|moment| moment.span.end_s), forward);
    }

    /// Moves by some seconds, at least by an interval.
    pub(crate) fn move_by(&mut self, seconds: f64) {
        let current = self.cursor_s();
        let target = self
            .history
            .at((current + seconds).max(0.0))
            .map(|moment| moment.span.end_s);
        if target.is_some_and(|target| (target - current).abs() < 1e-9) {
            self.step(seconds > 0.0);
        } else {
            self.move_to(target, seconds > 0.0);
        }
    }

    /// Moves to the first or the newest interval.
    pub(crate) fn move_to_end(&mut self, newest: bool) {
        let end = if newest {
            self.history.newest()
        } else {
            self.history.frames().front()
        };
        let end = end.map(|moment| moment.span.end_s);
        if newest && self.options.source == Source::Live {
            self.cursor = None;
            return;
        }
        self.move_to(end, newest);
    }

    fn move_to(&mut self, end_s: Option<f64>, forward: bool) {
        self.has_moved = true;
        self.playing = None;
        let newest_s = self.history.newest().map(|newest| newest.span.end_s);
        // At the newest interval or after a step forward from it, the screen follows again.
        if forward && self.options.source == Source::Live && (end_s.is_none() || end_s == newest_s)
        {
            self.cursor = None;
        } else if end_s.is_some() {
            self.cursor = end_s;
        } else {
            self.say(if forward {
                "this is the newest interval"
            } else {
                "no earlier interval"
            });
        }
    }

    /// Moves to a point in time by the wall clock.
    pub(crate) fn go_to_wall(&mut self, wall: Timestamp) {
        match self.history.at_wall(wall).map(|moment| moment.span.end_s) {
            Some(end_s) => self.move_to(Some(end_s), false),
            None => self.say("these intervals have no time of day"),
        }
    }

    /// Moves to the worst interval of all devices, or of the selected device if only that is shown.
    pub(crate) fn go_to_worst(&mut self) {
        let own = self.selected.clone().filter(|_| self.page == Page::Detail);
        if !self.go_to_worst_within((0.0, f64::INFINITY), own.as_deref()) {
            self.say("no trouble so far");
        }
    }

    /// Moves to the worst interval of a time, of all devices or of one. Returns `false` if there was no trouble.
    fn go_to_worst_within(&mut self, (begin_s, end_s): (f64, f64), only: Option<&str>) -> bool {
        let moments = self.history.within(begin_s, end_s);
        let devices = moments.flat_map(|frame| {
            frame
                .rows
                .devices
                .iter()
                .map(|device| (frame.span.end_s, device))
        });
        let in_trouble = devices.filter(|(_, device)| {
            is_trouble(device.shown_verdict()) && only.is_none_or(|only| device.device() == only)
        });
        // Among equals, the first one.
        let worst = in_trouble.reduce(|a, b| if rank(b.1) > rank(a.1) { b } else { a });
        let Some((end_s, name)) = worst.map(|(end_s, device)| (end_s, device.device().to_owned()))
        else {
            return false;
        };
        self.move_to(Some(end_s), false);
        self.selected = Some(name);
        true
    }

    /// Moves to the beginning of the next or the previous incident; only to those of the selected device if only that
    /// is shown.
    pub(crate) fn go_to_next_incident(&mut self, forward: bool) {
        let current = self.cursor_s();
        let only = self
            .selected
            .as_deref()
            .filter(|_| self.page == Page::Detail);
        let own = (self.incidents.iter()).filter(|one| only.is_none_or(|name| one.has(name)));
        let begin_s = |one: &&IncidentSummary| one.incident.begin.run_s;
        let target = |one: &IncidentSummary| {
            self.history
                .at(one.incident.begin.run_s + 1e-6)
                .map_or(0.0, |moment| moment.span.end_s)
        };
        let found = if forward {
            own.filter(|one| target(one) > current + 1e-9)
                .min_by(|a, b| begin_s(a).total_cmp(&begin_s(b)))
        } else {
            own.filter(|one| target(one) < current - 1e-9)
                .max_by(|a, b| begin_s(a).total_cmp(&begin_s(b)))
        };
        match found.cloned() {
            Some(incident) => self.go_to_incident(&incident),
            None if forward => self.say("no later incident"),
            None if self.dropped_incidents > 0 => {
                let dropped = self.dropped_incidents;
                self.say(format!("no earlier incident kept; {dropped} were too many"));
            }
            None => self.say("no earlier incident"),
        }
    }

    /// Moves to the worst interval of an incident.
    fn go_to_worst_of(&mut self, incident: &IncidentSummary) {
        self.go_to_incident(incident);
        let time = (
            incident.incident.begin.run_s + 1e-6,
            incident.end.run_s - 1e-6,
        );
        self.go_to_worst_within(time, Some(&incident.incident.victim.device));
    }

    /// Moves to the beginning of an incident and selects its victim.
    fn go_to_incident(&mut self, incident: &IncidentSummary) {
        let begin = self
            .history
            .at(incident.incident.begin.run_s + 1e-6)
            .map(|moment| moment.span.end_s);
        self.move_to(begin, false);
        self.selected = Some(incident.incident.victim.device.clone());
    }

    /// The number of the incident under the cursor, from 1, and the number of incidents; `None` outside incidents.
    pub(crate) fn incident_at_cursor(&self) -> Option<(usize, usize)> {
        let end_s = self.moment()?.span.end_s;
        let is_at = |one: &IncidentSummary| {
            one.incident.begin.run_s < end_s - 1e-9 && end_s <= one.end.run_s + 1e-6
        };
        let own = |one: &IncidentSummary| self.selected.as_ref().is_some_and(|name| one.has(name));
        let at = self.incidents.iter().position(|one| is_at(one) && own(one));
        let at = at.or_else(|| self.incidents.iter().position(is_at))?;
        let dropped = self.dropped_incidents as usize;
        Some((dropped + at + 1, dropped + self.incidents.len()))
    }
}

/// How bad a device is: its verdict, then its highest latency or, while it is stalled, for how long it has
/// been.
fn rank(device: &DeviceInterval) -> (Option<Verdict>, f64) {
    let kinds = device
        .stats()
        .map(|stats| [stats.reads, stats.writes, stats.flushes]);
    let latencies = kinds
        .into_iter()
        .flatten()
        .filter_map(|kind| kind.await_ms());
    let is_stalled = device.shown_verdict() == Some(Verdict::Stalled);
    let badness = if is_stalled {
        lasted_s(device)
    } else {
        latencies.fold(0.0, f64::max)
    };
    (device.shown_verdict(), badness)
}
