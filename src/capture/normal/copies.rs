//! Captures that were made by other programs than pt-diskstats and blkstat: copies of /proc/diskstats with their times
//! between them, in each of their lines, or nowhere.

use std::collections::HashSet;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::candidates::{Candidates, Slot};
use super::clock::Clock;
use super::first_copies::FirstCopies;
use super::spread::Spread;
use super::time_form::{FoundTime, TimeForm, find_time};
use crate::capture::diskstats_line::{DeviceLineStart, device_line_start};

/// The meaning of a line.
#[derive(Debug, PartialEq)]
pub(crate) enum ForeignLine {
    /// It is the first device of a copy, whose time is this, from this line; `None` if no time is known, and a time of `None`
    /// if it is behind the copy. It is to be read once more.
    FirstDevice(Option<(Option<Timestamp>, u64)>),
    /// A device, whose line begins at this byte.
    Device(usize),
    /// The time of the copy before it.
    TimeOfCopyBefore(Timestamp),
    /// The time of the copy that follows.
    Time(Timestamp),
    Other,
}

/// Finds the copies in such a capture, and their times.
#[derive(Default)]
pub(crate) struct ForeignLines {
    /// It is the raw data of collectl: copies of many files of /proc, each line with the name of its kind.
    is_collectl: bool,
    clock: Clock,
    spread: Option<Spread>,
    /// The distance of copies, if they have no times, and the time of the latest one then.
    every: Option<Duration>,
    latest: Option<Timestamp>,
    /// The place of their times; `None` if they have none.
    slot: Option<Slot>,
    /// A time follows its copy.
    is_after: bool,
    /// Nothing is between a time and its copy.
    is_adjacent: bool,
    gap: Candidates,
    before: Candidates,
    /// The devices of the copy so far.
    names: HashSet<String>,
    /// The next line is the first of a copy, which was announced.
    has_begun: bool,
    /// The number of words before a device in the line before.
    words_before: usize,
}

impl ForeignLines {
    /// Begins with the first copies, which are read once more. If there are no times, they go on after `latest`.
    pub(crate) fn new(
        first: &FirstCopies,
        every: Option<Duration>,
        latest: Option<Timestamp>,
    ) -> Self {
        let mut copies = Self {
            clock: first.clock(),
            slot: first.choose(),
            is_after: first.is_time_after(),
            is_adjacent: true,
            every,
            latest,
            ..Self::default()
        };
        if let Some(slot) = copies.slot {
            copies.spread = Spread::of(&first.times(slot), every);
            copies.is_adjacent = first.is_adjacent(slot);
        }
        copies
    }

    pub(crate) fn of_collectl() -> Self {
        Self {
            is_collectl: true,
            ..Self::default()
        }
    }

    /// Returns the form of the times, and whether those of copies in the same second or minute are spread evenly.
    pub(crate) fn form(&self) -> Option<(TimeForm, bool)> {
        let form = match self.slot {
            Some(slot) => slot.form,
            None if self.is_collectl => TimeForm::Epoch,
            None => return None,
        };
        Some((form, self.spread.is_some()))
    }

    /// Takes the next line.
    pub(crate) fn read(&mut self, line: &[u8], number: u64) -> ForeignLine {
        let Ok(text) = std::str::from_utf8(line) else {
            return ForeignLine::Other;
        };
        if self.is_collectl {
            return self.read_collectl(text);
        }
        let Some(DeviceLineStart {
            at,
            name,
            words_before,
        }) = device_line_start(text, self.words_before)
        else {
            self.gap.add(text, false, number);
            let ends_copy = self.is_after && !self.names.is_empty();
            let mut times = self.gap.times.iter();
            if let Some(slot) = self.slot
                && ends_copy
                && let Some(candidate) = times.find(|candidate| slot.is_like(candidate.slot))
            {
                self.names.clear();
                let found = candidate.found;
                return ForeignLine::TimeOfCopyBefore(self.next_time(&found));
            }
            return ForeignLine::Other;
        };
        self.words_before = words_before;
        let gap = std::mem::take(&mut self.gap);
        let is_in_gap = match self.slot {
            Some(slot) => !slot.in_line && !self.is_after && gap.at(slot).is_some(),
            None => false,
        };
        let is_first = self.names.is_empty() || self.names.contains(name) || is_in_gap;
        if std::mem::take(&mut self.has_begun) || !is_first {
            self.names.insert(name.to_owned());
            return ForeignLine::Device(at);
        }
        self.has_begun = true;
        self.names.clear();
        let mut candidates = gap;
        candidates.add(&text[..at], true, number);
        ForeignLine::FirstDevice(match self.slot {
            Some(_) if self.is_after => Some((None, number)),
            // A damaged line there is from the copy of this time, and the device from the next.
            Some(slot) if self.is_adjacent && candidates.has_lines_behind(slot) => None,
            Some(slot) => self
                .time_of(slot, candidates)
                .map(|(time, line)| (Some(time), line)),
            None => self.next_untimed().map(|time| (Some(time), number)),
        })
    }

    fn read_collectl(&mut self, text: &str) -> ForeignLine {
        if let Some(time) = collectl_time(text) {
            self.names.clear();
            return ForeignLine::Time(time);
        }
        if let Some(line) = text.strip_prefix("disk ")
            && let Some(device) = device_line_start(line, 0)
            && device.words_before == 0
            && self.names.insert(device.name.to_owned())
        {
            return ForeignLine::Device("disk ".len() + device.at);
        }
        ForeignLine::Other
    }

    /// Returns the time of the next copy if it has none.
    fn next_untimed(&mut self) -> Option<Timestamp> {
        let every = self.every?;
        let next = match self.latest {
            Some(latest) => latest.saturating_add(every).unwrap_or(latest),
            None => Timestamp::UNIX_EPOCH,
        };
        Some(*self.latest.insert(next))
    }

    /// Returns the time of the next copy, which is written so.
    fn next_time(&mut self, found: &FoundTime) -> Timestamp {
        let before = self.clock.latest();
        let written = self.clock.advance(found);
        if before == Some(written) && written.subsec_nanosecond() == 0 && self.spread.is_none() {
            self.spread = Some(Spread::from_second(written));
        }
        match &mut self.spread {
            Some(spread) => spread.next(written),
            None => written,
        }
    }

    /// Returns the time of a copy and its line.
    fn time_of(&mut self, slot: Slot, candidates: Candidates) -> Option<(Timestamp, u64)> {
        let before = std::mem::replace(&mut self.before, candidates);
        let now = &self.before;
        let alike = now.times.iter().rev().find(|other| {
            let other = other.slot;
            other.form == slot.form && other.in_line == slot.in_line && other.digits == slot.digits
        });
        let mut found = now.at(slot).or(alike).copied();
        let is_going_on = found.is_some()
            && self
                .step(&before, slot)
                .is_none_or(|step| step.is_zero() || is_next(step));
        if !before.times.is_empty() && !is_going_on {
            // Another one goes on: the day was taken for the month, or the name of the next month is not known.
            let mut best = None;
            for other in &now.times {
                if let Some(step) = self.step(&before, other.slot)
                    && is_next(step)
                    && best.is_none_or(|(least, rank, _)| (step, other.slot.rank()) < (least, rank))
                {
                    best = Some((step, other.slot.rank(), *other));
                }
            }
            if let Some((_, _, other)) = best
                && let Some(latest) = self.clock.latest()
                && let Some(last) = before.at(other.slot)
            {
                found = Some(other);
                self.slot = Some(other.slot);
                self.clock.go_on(&last.found, latest);
            }
        }
        let found = found?;
        Some((self.next_time(&found.found), found.line))
    }

    /// Returns how much the time in a place has grown since the copy before.
    fn step(&self, before: &Candidates, slot: Slot) -> Option<SignedDuration> {
        let (before, now) = (before.at(slot)?, self.before.at(slot)?);
        Some(self.clock.step(&before.found, &now.found))
    }
}

fn is_next(step: SignedDuration) -> bool {
    step > SignedDuration::ZERO && step < SignedDuration::from_hours(24)
}

/// The time of a copy in the raw data of collectl: `>>> 1502000000.001 <<<`.
pub(crate) fn collectl_time(line: &str) -> Option<Timestamp> {
    let found = find_time(line.strip_prefix(">>> ")?.split_once(" <<<")?.0)?;
    if found.form != TimeForm::Epoch {
        return None;
    }
    Some(found.time)
}
