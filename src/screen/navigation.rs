//! Moves in time (by steps, to times of day, to events and to the worst interval).

use jiff::Timestamp;

use super::app::{App, Page, Source};
use super::history::{is_trouble, lasted_s};
use crate::incidents::Told;
use crate::intervals::DeviceInterval;
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
        let worst = self.incidents.iter().min_by(|a, b| a.worst_first(b));
        match worst.cloned() {
            Some(incident) => {
                self.show_at_least(INCIDENT_CONTEXT * incident.duration_s());
                self.go_to_worst_of(&incident);
            }
            None => {
                self.show_at_least(0.0);
                self.go_to_worst();
            }
        }
        self.message = None;
        if self.cursor.is_none() {
            self.cursor = self.newest_s();
        }
    }

    /// Shows at least these seconds and the default span, or all of a shorter recording.
    fn show_at_least(&mut self, seconds: f64) {
        let seconds = seconds.max(DEFAULT_SPAN_S).min(self.history.end_s());
        self.axis.show_at_least(seconds);
    }

    /// The end of the newest interval; `None` before the first.
    fn newest_s(&self) -> Option<f64> {
        self.history.newest().map(|newest| newest.span.end_s)
    }

    /// Notes the time on the monotonic clock.
    pub(crate) fn tick(&mut self, now_s: f64) {
        self.now_s = now_s;
        if let Some((_, until_s)) = self.message
            && until_s < now_s
        {
            self.message = None;
        }
    }

    /// Pauses at the interval that is shown, or follows the newest one again.
    pub(crate) fn toggle_pause(&mut self) {
        if self.options.source != Source::Live {
            self.say("a recording stands still; left and right step through it");
            return;
        }
        self.has_moved = true;
        self.cursor = match self.cursor {
            Some(_) => None,
            None => Some(self.cursor_s()),
        };
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
        let forward = seconds > 0.0;
        match self.history.end_at((current + seconds).max(0.0)) {
            Some(target) if (target - current).abs() < 1e-9 => self.step(forward),
            target => self.move_to(target, forward),
        }
    }

    /// Moves to the first or the newest interval.
    pub(crate) fn move_to_end(&mut self, newest: bool) {
        if newest && self.options.source == Source::Live {
            self.cursor = None;
            return;
        }
        let end_s = match newest {
            true => self.newest_s(),
            false => self.history.end_at(0.0),
        };
        self.move_to(end_s, newest);
    }

    fn move_to(&mut self, end_s: Option<f64>, forward: bool) {
        self.has_moved = true;
        let is_newest = end_s.is_none() || end_s == self.newest_s();
        // At the newest interval or after a step forward from it, the screen follows again.
        if forward && is_newest && self.options.source == Source::Live {
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
        let only = self.only_device().cloned();
        if !self.go_to_worst_within((0.0, f64::INFINITY), only.as_deref()) {
            self.say("no trouble so far");
        }
    }

    /// The selected device if only that is shown.
    fn only_device(&self) -> Option<&String> {
        match self.page {
            Page::Detail => self.selected.as_ref(),
            Page::List | Page::Help => None,
        }
    }

    /// Moves to the worst interval of a time, of all devices or of one. Returns `false` if there was no trouble.
    fn go_to_worst_within(&mut self, (begin_s, end_s): (f64, f64), only: Option<&str>) -> bool {
        let mut worst: Option<(f64, &DeviceInterval)> = None;
        for frame in self.history.within(begin_s, end_s) {
            for device in &frame.rows.devices {
                if !is_trouble(device.shown_verdict())
                    || only.is_some_and(|only| device.device() != only)
                {
                    continue;
                }
                // Among equals, the first one.
                if worst.is_none_or(|(_, worst)| rank(device) > rank(worst)) {
                    worst = Some((frame.span.end_s, device));
                }
            }
        }
        let Some((worst_s, device)) = worst else {
            return false;
        };
        let name = device.device().to_owned();
        self.move_to(Some(worst_s), false);
        self.selected = Some(name);
        true
    }

    /// Moves to the beginning of the next or the previous incident; only to those of the selected device if only that
    /// is shown.
    pub(crate) fn go_to_next_incident(&mut self, forward: bool) {
        let current = self.cursor_s();
        let only = self.only_device();
        let mut own = (self.incidents.iter()).filter(|one| only.is_none_or(|name| one.has(name)));
        let found = if forward {
            own.find(|one| self.first_end_s(one).unwrap_or(0.0) > current + 1e-9)
        } else {
            own.rfind(|one| self.first_end_s(one).unwrap_or(0.0) < current - 1e-9)
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

    /// The end of the first interval of an incident; `None` before the first interval.
    fn first_end_s(&self, incident: &Told) -> Option<f64> {
        self.history.end_at(incident.begin.run_s + 1e-6)
    }

    /// Moves to the worst interval of an incident.
    fn go_to_worst_of(&mut self, incident: &Told) {
        self.go_to_incident(incident);
        let time = (incident.begin.run_s + 1e-6, incident.end.run_s - 1e-6);
        self.go_to_worst_within(time, Some(&incident.victim.device));
    }

    /// Moves to the beginning of an incident and selects its victim.
    fn go_to_incident(&mut self, incident: &Told) {
        self.move_to(self.first_end_s(incident), false);
        self.selected = Some(incident.victim.device.clone());
    }

    /// The number of the incident under the cursor, from 1, and the number of incidents; `None` outside incidents.
    pub(crate) fn incident_at_cursor(&self) -> Option<(usize, usize)> {
        let end_s = self.moment()?.span.end_s;
        let mut found = None;
        for (at, one) in self.incidents.iter().enumerate() {
            let is_here = one.begin.run_s < end_s - 1e-9 && end_s <= one.end.run_s + 1e-6;
            if !is_here {
                continue;
            }
            // Rather one of the selected device.
            if self.selected.as_ref().is_some_and(|name| one.has(name)) {
                found = Some(at);
                break;
            }
            found = found.or(Some(at));
        }
        let at = found?;
        let dropped = self.dropped_incidents as usize;
        Some((dropped + at + 1, dropped + self.incidents.len()))
    }
}

/// How bad a device is: its verdict, then its highest latency or, while it is stalled, for how long it has
/// been.
fn rank(device: &DeviceInterval) -> (Option<Verdict>, f64) {
    let mut badness: f64 = 0.0;
    if device.shown_verdict() == Some(Verdict::Stalled) {
        badness = lasted_s(device);
    } else if let Some(stats) = device.stats() {
        for kind in [stats.reads, stats.writes, stats.flushes] {
            badness = badness.max(kind.await_ms().unwrap_or(0.0));
        }
    }
    (device.shown_verdict(), badness)
}
