//! Captures that were made by other programs than pt-diskstats and blkstat: copies of /proc/diskstats with their times
//! between them, in each of their lines, or nowhere.
//!
//! Several things near a copy may read as a time. The clock is the one that goes on from copy to copy, so the first copies
//! are looked at before any is handed out.

use std::collections::HashSet;
use std::time::Duration;

use jiff::tz::AmbiguousOffset;
use jiff::{SignedDuration, Timestamp};

use super::time_form::{FoundTime, LocalTimes, TimeForm, find_time, find_times};
use crate::capture::diskstats_line::{DeviceLineStart, device_line_start};

/// The place of a time beside its copy.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Slot {
    form: TimeForm,
    /// It is in the lines of the devices, not before them.
    in_line: bool,
    words_before: usize,
    digits: usize,
    /// The times of this kind that follow it before the copy: headers may precede it.
    followers: usize,
}

/// Something near a copy that reads as a time.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    slot: Slot,
    found: FoundTime,
    line: u64,
}

/// What was found before a copy.
#[derive(Debug, Default)]
struct Candidates {
    times: Vec<Candidate>,
    last_line: u64,
}

impl Candidates {
    fn add(&mut self, text: &str, in_line: bool, line: u64) {
        if !text.trim_ascii().is_empty() {
            self.last_line = line;
        }
        for found in find_times(text) {
            if self.times.len() == MAX_CANDIDATES {
                return;
            }
            let FoundTime {
                form,
                words_before,
                digits,
                ..
            } = found;
            let slot = Slot {
                form,
                in_line,
                words_before,
                digits,
                followers: 0,
            };
            for before in &mut self.times {
                if before.slot.is_like(slot) {
                    before.slot.followers += 1;
                }
            }
            self.times.push(Candidate { slot, found, line });
        }
    }

    fn at(&self, slot: Slot) -> Option<&Candidate> {
        self.times.iter().find(|candidate| candidate.slot == slot)
    }

    /// Returns whether other lines are between the time and the copy; `false` without a time.
    fn has_lines_behind(&self, slot: Slot) -> bool {
        match self.at(slot) {
            Some(candidate) => candidate.line < self.last_line,
            None => false,
        }
    }
}

/// The most times that are looked at before a copy.
const MAX_CANDIDATES: usize = 100;

impl Slot {
    fn is_like(self, other: Self) -> bool {
        Self {
            followers: 0,
            ..self
        } == Self {
            followers: 0,
            ..other
        }
    }

    /// Forms that other numbers hardly have come first.
    fn rank(self) -> u32 {
        match self.form {
            TimeForm::YearFirst
            | TimeForm::DayFirst
            | TimeForm::MonthFirst
            | TimeForm::NamedDate => 0,
            TimeForm::DayOfYear => 1,
            TimeForm::Uptime => 2,
            TimeForm::TimeOfDay => 3,
            TimeForm::Epoch => 4,
        }
    }

    /// Whether its times have a date, or at least show the time of day.
    fn knowledge(self) -> u32 {
        match self.form {
            TimeForm::Uptime => 0,
            TimeForm::TimeOfDay => 1,
            TimeForm::DayOfYear => 2,
            _ => 3,
        }
    }
}

/// Makes a time of each copy out of what is written.
#[derive(Clone, Debug, Default)]
struct Clock {
    local: LocalTimes,
    latest: Option<Timestamp>,
    /// The time between the latest two copies.
    usual: Option<SignedDuration>,
    /// The time that is added to times without a date after midnight, and to all after the clocks were changed.
    carried: SignedDuration,
    spread: Option<Spread>,
}

/// The distance of copies that are taken more often than the written time, in whole seconds or minutes, changes.
#[derive(Clone, Copy, Debug)]
struct Spread {
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
    /// Returns the time of the next copy, which is not before the written one, and not a unit behind it.
    fn next(&mut self, written: Timestamp) -> Timestamp {
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

impl Clock {
    fn new(local: LocalTimes) -> Self {
        Self {
            local,
            ..Self::default()
        }
    }

    /// Returns the time of the next copy.
    fn next(&mut self, found: &FoundTime) -> Timestamp {
        let before = self.latest;
        let written = self.advance(found);
        if before == Some(written) && written.subsec_nanosecond() == 0 && self.spread.is_none() {
            let unit = SignedDuration::from_secs(1);
            self.spread = Some(Spread {
                unit,
                step: unit / 2,
                is_stated: false,
                first_late: SignedDuration::ZERO,
                latest: Some((written, written)),
                since: Some((written, 0)),
            });
        }
        match &mut self.spread {
            Some(spread) => spread.next(written),
            None => written,
        }
    }

    fn advance(&mut self, found: &FoundTime) -> Timestamp {
        const HOUR: SignedDuration = SignedDuration::from_hours(1);
        let written = self.in_zone(found);
        let time = add(written, self.carried);
        let Some(latest) = self.latest.replace(time) else {
            return time;
        };
        let usual = self
            .usual
            .unwrap_or(SignedDuration::from_secs(60))
            .max(SignedDuration::from_secs(1));
        let follows = |by: SignedDuration| {
            let step = add(time, by).duration_since(latest);
            step > SignedDuration::ZERO && step <= usual * 2
        };
        let step = time.duration_since(latest);
        let by = if step < SignedDuration::ZERO {
            let (periods, longest_back) = match found.form {
                TimeForm::TimeOfDay => ([HOUR, HOUR * 12, HOUR * 24], HOUR * 12),
                TimeForm::Epoch | TimeForm::Uptime => {
                    ([SignedDuration::ZERO; 3], SignedDuration::MAX)
                }
                // The clocks of the host were put back.
                _ if found.is_local => ([HOUR; 3], SignedDuration::MAX),
                _ => ([SignedDuration::ZERO; 3], SignedDuration::MAX),
            };
            let after = if -step > longest_back {
                periods[2]
            } else {
                SignedDuration::ZERO
            };
            periods.into_iter().find(|by| follows(*by)).unwrap_or(after)
        } else if found.is_local
            && usual * 6 < HOUR
            && follows(-HOUR)
            && is_after_full_hour(time, usual)
        {
            -HOUR
        } else {
            SignedDuration::ZERO
        };
        self.carried += by;
        let carried = add(time, by);
        if carried > latest {
            self.usual = Some(carried.duration_since(latest));
        }
        self.latest = Some(carried);
        carried
    }

    /// Returns the time in its zone. One of an hour that occurs twice is taken so that it follows the time before.
    fn in_zone(&self, found: &FoundTime) -> Timestamp {
        let earlier = self.local.timestamp(found);
        if !found.is_local || found.form == TimeForm::TimeOfDay {
            return earlier;
        }
        let ambiguous = self
            .local
            .zone
            .to_ambiguous_timestamp(self.local.civil(found));
        let is_fold = matches!(ambiguous.offset(), AmbiguousOffset::Fold { .. });
        match self.latest {
            Some(latest) if is_fold && add(earlier, self.carried) <= latest => {
                ambiguous.later().unwrap_or(earlier)
            }
            _ => earlier,
        }
    }
}

fn add(time: Timestamp, by: SignedDuration) -> Timestamp {
    time.saturating_add(by).unwrap_or(time)
}

fn is_after_full_hour(time: Timestamp, within: SignedDuration) -> bool {
    time.as_second().rem_euclid(3600) <= within.as_secs()
}

/// Looks at the first copies of a capture.
#[derive(Default)]
pub(in crate::capture) struct FirstCopies {
    local: LocalTimes,
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
pub(in crate::capture) enum Known {
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
    pub(in crate::capture) fn new(local: LocalTimes) -> Self {
        Self {
            local,
            ..Self::default()
        }
    }

    /// Returns whether a device was found.
    pub(in crate::capture) fn has_devices(&self) -> bool {
        !self.names.is_empty()
    }

    /// Takes the next line.
    pub(in crate::capture) fn add(&mut self, text: &str) -> Known {
        self.line += 1;
        let Some(device) = device_line_start(text, self.words_before) else {
            self.gap.add(text, false, self.line);
            return if self.is_time_after() {
                self.known()
            } else {
                Known::Nothing
            };
        };
        let (at, name) = (device.at, device.name);
        self.words_before = device.words_before;
        let is_repeated = self.names.contains(name);
        if self.copies.is_empty() || is_repeated || !self.gap.times.is_empty() {
            if !self.copies.is_empty() {
                self.before
                    .push((self.names.len(), std::mem::take(&mut self.last_name)));
            }
            self.names.clear();
            let mut candidates = std::mem::take(&mut self.gap);
            candidates.add(&text[..at], true, self.line);
            self.copies.push(candidates);
        }
        let mut in_line = Candidates::default();
        in_line.add(&text[..at], true, self.line);
        if let Some(copy) = self.copies.last() {
            for now in &in_line.times {
                let Some(before) = copy.at(now.slot) else {
                    continue;
                };
                let back = before.found.time.duration_since(now.found.time);
                if back > SignedDuration::ZERO && back < SignedDuration::from_hours(11) {
                    self.going_back.push(now.slot);
                }
            }
        }
        self.names.insert(name.to_owned());
        name.clone_into(&mut self.last_name);
        if self.is_whole() {
            self.known()
        } else {
            Known::Nothing
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
    fn is_time_after(&self) -> bool {
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
        let mut clock = Clock::new(self.local.clone());
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

    /// Returns the distance of copies that are taken more often than the time in a slot changes; `None` if it always does.
    /// `every` is the distance if it is stated.
    fn spread(&self, slot: Slot, every: Option<Duration>) -> Option<Spread> {
        let mut clock = Clock::new(self.local.clone());
        let mut times = Vec::new();
        let mut changes = Vec::new();
        for copy in &self.copies {
            if let Some(candidate) = copy.at(slot) {
                let time = clock.advance(&candidate.found);
                if times.last().is_some_and(|before| time != *before) {
                    changes.push(times.len());
                }
                times.push(time);
            }
        }
        if !are_multiples(&times, 1) {
            return None;
        }
        let unit_s = if are_multiples(&times, 60) { 60 } else { 1 };
        let unit = SignedDuration::from_secs(unit_s);
        let stated = match every.map(SignedDuration::try_from) {
            Some(Ok(every)) if every < unit => Some(every),
            _ => None,
        };
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
        for (at, time) in (0..).zip(&times) {
            first_late = first_late.max(time.duration_since(times[0]) - step * at);
        }
        Some(Spread {
            unit,
            step,
            is_stated: stated.is_some(),
            first_late: first_late.min(unit - SignedDuration::from_nanos(1)),
            latest: None,
            since: None,
        })
    }

    /// Returns the place of the times, after as many copies as can be had.
    fn choose(&self) -> Option<Slot> {
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

/// Returns whether all times are multiples of so many seconds.
fn are_multiples(times: &[Timestamp], seconds: i64) -> bool {
    times
        .iter()
        .all(|time| time.subsec_nanosecond() == 0 && time.as_second() % seconds == 0)
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

/// The meaning of a line.
#[derive(Debug, PartialEq)]
pub(in crate::capture) enum ForeignLine {
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
pub(in crate::capture) struct ForeignLines {
    /// It is the raw data of collectl: copies of many files of /proc, each line with the name of its kind.
    is_collectl: bool,
    clock: Clock,
    /// The distance of copies, if they have no times.
    every: Option<Duration>,
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
    pub(in crate::capture) fn new(
        first: &FirstCopies,
        every: Option<Duration>,
        latest: Option<Timestamp>,
    ) -> Self {
        let slot = first.choose();
        let mut clock = Clock::new(first.local.clone());
        let mut is_adjacent = true;
        match slot {
            Some(slot) => {
                clock.spread = first.spread(slot, every);
                is_adjacent = !first.copies.iter().any(|copy| copy.has_lines_behind(slot));
            }
            None => clock.latest = latest,
        }
        Self {
            clock,
            every,
            slot,
            is_after: first.is_time_after(),
            is_adjacent,
            ..Self::default()
        }
    }

    pub(in crate::capture) fn of_collectl() -> Self {
        Self {
            is_collectl: true,
            ..Self::default()
        }
    }

    /// Returns the form of the times, and whether those of copies in the same second or minute are spread evenly.
    pub(in crate::capture) fn form(&self) -> Option<(TimeForm, bool)> {
        let form = match self.slot {
            Some(slot) => slot.form,
            None if self.is_collectl => TimeForm::Epoch,
            None => return None,
        };
        Some((form, self.clock.spread.is_some()))
    }

    /// Takes the next line.
    pub(in crate::capture) fn read(&mut self, line: &[u8], number: u64) -> ForeignLine {
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
                return ForeignLine::TimeOfCopyBefore(self.clock.next(&candidate.found));
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
            None => self.every.map(|every| {
                let next = self
                    .clock
                    .latest
                    .map(|latest| latest.saturating_add(every).unwrap_or(latest));
                let time = *self
                    .clock
                    .latest
                    .insert(next.unwrap_or(Timestamp::UNIX_EPOCH));
                (Some(time), number)
            }),
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

    /// Returns the time of a copy and its line.
    fn time_of(&mut self, slot: Slot, candidates: Candidates) -> Option<(Timestamp, u64)> {
        const DAY: SignedDuration = SignedDuration::from_hours(24);
        let before = std::mem::replace(&mut self.before, candidates);
        let (clock, now) = (&self.clock, &self.before);
        let step = |slot| {
            let mut clock = Clock {
                latest: None,
                carried: SignedDuration::ZERO,
                ..clock.clone()
            };
            let last = clock.advance(&before.at(slot)?.found);
            Some(clock.advance(&now.at(slot)?.found).duration_since(last))
        };
        let is_next = |step: &SignedDuration| *step > SignedDuration::ZERO && *step < DAY;
        let alike = |other: &&Candidate| {
            let key = |slot: Slot| (slot.form, slot.in_line, slot.digits);
            key(other.slot) == key(slot)
        };
        let mut found = now
            .at(slot)
            .or_else(|| now.times.iter().rev().find(alike))
            .copied();
        if !before.times.is_empty()
            && found.is_none_or(|_| {
                step(slot).is_some_and(|by| !(SignedDuration::ZERO..DAY).contains(&by))
            })
        {
            // Another one goes on: the day was taken for the month, or the name of the next month is not known.
            let others = now
                .times
                .iter()
                .filter(|other| step(other.slot).filter(is_next).is_some());
            if let Some(other) = others.min_by_key(|other| (step(other.slot), other.slot.rank()))
                && let Some(latest) = clock.latest
                && let Some(last) = before.at(other.slot)
            {
                found = Some(*other);
                self.slot = Some(other.slot);
                self.clock.carried = latest.duration_since(clock.in_zone(&last.found));
            }
        }
        let found = found?;
        Some((self.clock.next(&found.found), found.line))
    }
}

/// The time of a copy in the raw data of collectl: `>>> 1502000000.001 <<<`.
pub(in crate::capture) fn collectl_time(line: &str) -> Option<Timestamp> {
    let found = find_time(line.strip_prefix(">>> ")?.split_once(" <<<")?.0)?;
    if found.form != TimeForm::Epoch {
        return None;
    }
    Some(found.time)
}
