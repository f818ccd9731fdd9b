//! The times of copies that are taken more often than the written time, in whole seconds or minutes, changes.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::clock::add;

/// How copies within the same second or minute are spread.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spread {
    /// The longest time for which the written one may stand still.
    unit: SignedDuration,
    step: SignedDuration,
    is_stated: bool,
    /// The first copy is so much later than written.
    first_late: SignedDuration,
    /// The time written last, and the one handed out.
    latest: Option<(Timestamp, Timestamp)>,
    /// A written time that was new, and the copies since then.
    since: Option<(Timestamp, i32)>,
}

impl Spread {
    /// Returns how the first copies are spread, whose written `times` these are; `None` if each has a time of its own. `every` is
    /// their distance if it is stated.
    pub(super) fn of(times: &[Timestamp], every: Option<Duration>) -> Option<Self> {
        if !are_multiples(times, 1) {
            return None;
        }
        let unit_s = if are_multiples(times, 60) { 60 } else { 1 };
        let unit = SignedDuration::from_secs(unit_s);
        let stated = match every.map(SignedDuration::try_from) {
            Some(Ok(every)) if every < unit => Some(every),
            _ => None,
        };
        let mut changes = Vec::new();
        for at in 1..times.len() {
            if times[at] != times[at - 1] {
                changes.push(at);
            }
        }
        if stated.is_none() && changes.len() + 1 >= times.len() {
            return None;
        }
        let (&first, &last) = (changes.first()?, changes.last()?);
        // With a single change, the first copies may have begun within a second.
        let (span, steps) = if first == last {
            (unit, first)
        } else {
            (times[last].duration_since(times[first]), last - first)
        };
        let step = stated.unwrap_or(span / i32::try_from(steps).ok()?);
        // The latest copy of those that must not be earlier decides.
        let mut first_late = SignedDuration::ZERO;
        for (at, time) in (0..).zip(times) {
            first_late = first_late.max(time.duration_since(times[0]) - step * at);
        }
        Some(Self {
            unit,
            step,
            is_stated: stated.is_some(),
            first_late: first_late.min(unit - SignedDuration::from_nanos(1)),
            latest: None,
            since: None,
        })
    }

    /// Begins with the second copy in the same second.
    pub(super) fn from_second(written: Timestamp) -> Self {
        let unit = SignedDuration::from_secs(1);
        Self {
            unit,
            step: unit / 2,
            is_stated: false,
            first_late: SignedDuration::ZERO,
            latest: Some((written, written)),
            since: Some((written, 0)),
        }
    }

    /// Returns the time of the next copy, which is not before the written one, and not a unit behind it.
    pub(super) fn next(&mut self, written: Timestamp) -> Timestamp {
        let end = add(written, self.unit);
        let time = match self.latest {
            None => add(written, self.first_late),
            // The clock was changed.
            Some((before, _)) if written < before => written,
            Some((before, latest)) => {
                self.measure(before, written);
                match add(latest, self.step) {
                    next if next >= end => add(
                        latest,
                        (end.duration_since(latest) / 2).max(SignedDuration::from_nanos(1)),
                    ),
                    next => next.max(written),
                }
            }
        };
        self.latest = Some((written, time));
        time
    }

    /// Takes the distance from the copies so far, unless it is stated.
    fn measure(&mut self, before: Timestamp, written: Timestamp) {
        let is_gap = written.duration_since(before) > self.unit;
        self.since = match self.since {
            Some((first, copies)) if !is_gap => {
                if written != before && !self.is_stated {
                    self.step = written.duration_since(first) / (copies + 1);
                }
                Some((first, copies.saturating_add(1)))
            }
            _ if written != before => Some((written, 0)),
            _ => None,
        };
    }
}

/// Returns whether all times are multiples of so many seconds.
fn are_multiples(times: &[Timestamp], seconds: i64) -> bool {
    times
        .iter()
        .all(|time| time.subsec_nanosecond() == 0 && time.as_second() % seconds == 0)
}
