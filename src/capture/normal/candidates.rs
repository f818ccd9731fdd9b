//! What reads as a time beside a copy of /proc/diskstats.

use super::time_form::{FoundTime, TimeForm, find_times};

/// The place of a time beside its copy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Slot {
    pub(super) form: TimeForm,
    /// It is in the lines of the devices, not before them.
    pub(super) in_line: bool,
    pub(super) words_before: usize,
    pub(super) digits: usize,
    /// The times of this kind that follow it before the copy: headers may precede it.
    pub(super) followers: usize,
}

/// Something near a copy that reads as a time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub(super) slot: Slot,
    pub(super) found: FoundTime,
    pub(super) line: u64,
}

/// What was found before a copy.
#[derive(Debug, Default)]
pub(super) struct Candidates {
    pub(super) times: Vec<Candidate>,
    pub(super) last_line: u64,
}

impl Candidates {
    pub(super) fn add(&mut self, text: &str, in_line: bool, line: u64) {
        if !text.trim_ascii().is_empty() {
            self.last_line = line;
        }
        for found in find_times(text) {
            if self.times.len() == MAX_CANDIDATES {
                return;
            }
            let slot = Slot {
                form: found.form,
                in_line,
                words_before: found.words_before,
                digits: found.digits,
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

    pub(super) fn at(&self, slot: Slot) -> Option<&Candidate> {
        self.times.iter().find(|candidate| candidate.slot == slot)
    }

    /// Returns whether other lines are between the time and the copy; `false` without a time.
    pub(super) fn has_lines_behind(&self, slot: Slot) -> bool {
        match self.at(slot) {
            Some(candidate) => candidate.line < self.last_line,
            None => false,
        }
    }
}

/// The most times that are looked at before a copy.
pub(super) const MAX_CANDIDATES: usize = 100;

impl Slot {
    pub(super) fn is_like(self, other: Self) -> bool {
        let followers = other.followers;
        Self { followers, ..self } == other
    }

    /// Forms that other numbers hardly have come first.
    pub(super) fn rank(self) -> u32 {
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
    pub(super) fn knowledge(self) -> u32 {
        match self.form {
            TimeForm::Uptime => 0,
            TimeForm::TimeOfDay => 1,
            TimeForm::DayOfYear => 2,
            _ => 3,
        }
    }
}
