//! Finds the clock in the first copies of /proc/diskstats in a capture. Several things near a copy may read as a time: the clock is
//! the one that goes on from copy to copy, so the first copies are looked at before any is handed out. What never changes is none.

use std::collections::HashSet;

use jiff::{SignedDuration, Timestamp};

use super::candidates::{Candidate, Candidates, MAX_CANDIDATES, Slot};
use super::clock::Clock;
use super::time_form::LocalTimes;
use crate::capture::diskstats_line::device_line_start;

/// Looks at the first copies of a capture.
#[derive(Default)]
pub(crate) struct FirstCopies {
    /// At its beginning.
    clock: Clock,
    copies: Vec<Candidates>,
    gap: Candidates,
    /// The devices of the copy so far.
    names: HashSet<String>,
    last_name: String,
    /// The number of devices in each copy before, and the last of them.
    before: Vec<(usize, String)>,
    words_before: usize,
    line: u64,
    /// The times in lines that go back within a copy: they are those since the line before.
    going_back: Vec<Slot>,
}

/// How much is known of the times of a capture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Known {
    Nothing,
    /// One of several clocks, and later copies may show that it is another.
    Likely,
    Enough,
}

/// So many copies may be of the same second.
const MAX_ALIKE_COPIES: usize = 3;
/// The copies that are compared where they do not have to be waited for.
const ENOUGH_COPIES: usize = 8;

impl FirstCopies {
    pub(crate) fn new(local: LocalTimes) -> Self {
        Self {
            clock: Clock::new(local),
            ..Self::default()
        }
    }

    /// Returns whether a device was found.
    pub(crate) fn has_devices(&self) -> bool {
        !self.names.is_empty()
    }

    /// Takes the next line.
    pub(crate) fn add(&mut self, text: &str) -> Known {
        self.line += 1;
        let Some(device) = device_line_start(text, self.words_before) else {
            self.gap.add(text, false, self.line);
            if self.is_time_after() {
                return self.known();
            }
            return Known::Nothing;
        };
        self.words_before = device.words_before;
        let before_device = &text[..device.at];
        let is_repeated = self.names.contains(device.name);
        if self.copies.is_empty() || is_repeated || !self.gap.times.is_empty() {
            self.begin_copy(before_device);
        }
        self.look_for_time_going_back(before_device);
        self.names.insert(device.name.to_owned());
        device.name.clone_into(&mut self.last_name);
        if self.is_whole() {
            return self.known();
        }
        Known::Nothing
    }

    fn begin_copy(&mut self, before_device: &str) {
        if !self.copies.is_empty() {
            let last_name = std::mem::take(&mut self.last_name);
            self.before.push((self.names.len(), last_name));
        }
        self.names.clear();
        let mut candidates = std::mem::take(&mut self.gap);
        candidates.add(before_device, true, self.line);
        self.copies.push(candidates);
    }

    fn look_for_time_going_back(&mut self, before_device: &str) {
        let mut in_line = Candidates::default();
        in_line.add(before_device, true, self.line);
        let Some(copy) = self.copies.last() else {
            return;
        };
        for now in in_line.times {
            let Some(before) = copy.at(now.slot) else {
                continue;
            };
            let back = before.found.time.duration_since(now.found.time);
            if back > SignedDuration::ZERO && back < SignedDuration::from_hours(11) {
                self.going_back.push(now.slot);
            }
        }
    }

    fn known(&self) -> Known {
        if self.copies.len() > ENOUGH_COPIES && !self.copies.len().is_power_of_two() {
            return Known::Nothing;
        }
        let clocks = self.clocks();
        match &clocks[..] {
            [] => Known::Nothing,
            // Two whole seconds show how many copies each has.
            [clock, ..] if clock.repeats > 0 && clock.changes < 3 => Known::Likely,
            _ if self.copies.len() < ENOUGH_COPIES => Known::Likely,
            // Only a later day shows which number is the day.
            [first, rest @ ..] if rest.iter().any(|other| first.is_other_order(other)) => {
                Known::Likely
            }
            _ => Known::Enough,
        }
    }

    /// Returns whether the copy so far has the devices of the first one.
    fn is_whole(&self) -> bool {
        match self.before.first() {
            Some((count, last)) => self.names.len() == *count && self.last_name == *last,
            None => false,
        }
    }

    /// Returns whether each time follows its copy: there is none before the first copy, which is whole.
    pub(super) fn is_time_after(&self) -> bool {
        let [first, ..] = &self.copies[..] else {
            return false;
        };
        let is_like_second = match &self.before[..] {
            [first, second, ..] => first == second,
            _ => self.is_whole(),
        };
        first.times.is_empty()
            && self.copies.len() > 1
            && is_like_second
            && !(self.copies.len() == 2 && self.gap.times.is_empty())
    }

    /// Returns the times that go on from copy to copy, the best first.
    fn clocks(&self) -> Vec<Advance> {
        let mut slots: Vec<Slot> = Vec::new();
        for copy in self.copies.iter().chain([&self.gap]) {
            for Candidate { slot, .. } in &copy.times {
                let is_known = slots.contains(slot) || self.going_back.contains(slot);
                if !is_known && slots.len() < MAX_CANDIDATES {
                    slots.push(*slot);
                }
            }
        }
        let mut clocks = Vec::new();
        for slot in slots {
            clocks.extend(self.advance(slot));
        }
        clocks.retain(|clock| clock.step_s > 0.0);
        // The least of alike ones, because the counters beside a clock are faster.
        clocks.sort_by(|one, other| {
            one.missing
                .cmp(&other.missing)
                .then(one.slot.rank().cmp(&other.slot.rank()))
                .then(one.step_s.total_cmp(&other.step_s))
        });
        let Some(&surest) = clocks.first() else {
            return clocks;
        };
        // Of those that agree with it, the best known one.
        clocks.retain(|clock| {
            clock.missing == surest.missing && (clock.step_s - surest.step_s).abs() <= 1.01
        });
        // A copy was made after all that stands before it, so of alike ones the latest is the nearest.
        clocks.sort_by_key(|clock| {
            std::cmp::Reverse((
                clock.slot.knowledge(),
                clock.is_fine,
                !clock.is_local,
                clock.latest,
            ))
        });
        clocks
    }

    fn advance(&self, slot: Slot) -> Option<Advance> {
        let mut clock = self.clock.clone();
        let (mut first, mut latest) = (None, None);
        let (mut missing, mut repeats, mut changes) = (0, 0, 0);
        let (mut is_fine, mut is_local) = (false, false);
        let mut copies = Vec::from_iter(&self.copies);
        if self.is_time_after() {
            copies.push(&self.gap);
        }
        for copy in copies {
            let Some(candidate) = copy.at(slot) else {
                missing += 1;
                continue;
            };
            let time = clock.advance(&candidate.found);
            if Some(time) < latest {
                return None;
            }
            let is_same = latest == Some(time);
            repeats += usize::from(is_same);
            changes += usize::from(latest.is_some() && !is_same);
            first = first.or(Some(time));
            latest = Some(time);
            is_fine |= time.subsec_nanosecond() != 0;
            is_local |= candidate.found.is_local;
        }
        let latest = latest?;
        let step_s =
            latest.duration_since(first?).as_secs_f64() / (repeats + changes).max(1) as f64;
        Some(Advance {
            slot,
            missing,
            step_s,
            repeats,
            changes,
            is_fine,
            is_local,
            latest,
        })
    }

    /// Returns a clock at its beginning.
    pub(super) fn clock(&self) -> Clock {
        self.clock.clone()
    }

    /// Returns whether nothing is between each copy and the time in a place.
    pub(super) fn is_adjacent(&self, slot: Slot) -> bool {
        !self.copies.iter().any(|copy| copy.has_lines_behind(slot))
    }

    /// Returns the times in a place, of all copies that have one there.
    pub(super) fn times(&self, slot: Slot) -> Vec<Timestamp> {
        let mut clock = self.clock.clone();
        let mut times = Vec::new();
        for copy in &self.copies {
            if let Some(candidate) = copy.at(slot) {
                times.push(clock.advance(&candidate.found));
            }
        }
        times
    }

    /// Returns the place of the times, after as many copies as can be had.
    pub(super) fn choose(&self) -> Option<Slot> {
        if let Some(clock) = self.clocks().first() {
            return Some(clock.slot);
        }
        // Nothing goes on. What is the same in all of many copies is no time, such as that of the boot.
        if self.copies.len() > MAX_ALIKE_COPIES {
            return None;
        }
        let mut slots = Vec::new();
        for copy in &self.copies {
            slots.extend(copy.times.iter().map(|candidate| candidate.slot));
        }
        slots.retain(|slot| !self.going_back.contains(slot));
        slots.into_iter().min_by_key(|slot| slot.rank())
    }
}

/// How a time goes on in the first copies.
#[derive(Clone, Copy, Debug)]
struct Advance {
    slot: Slot,
    /// The copies without it.
    missing: usize,
    step_s: f64,
    /// The copies with the time of the one before, and the others.
    repeats: usize,
    changes: usize,
    /// It has fractions of a second.
    is_fine: bool,
    /// It names no time zone.
    is_local: bool,
    latest: Timestamp,
}

impl Advance {
    fn is_other_order(&self, other: &Self) -> bool {
        self.slot.form.other_order() == Some(other.slot.form)
    }
}
