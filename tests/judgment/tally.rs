//! Numbers of verdicts by outcome.

use std::ops::AddAssign;

/// One comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Right,
    Near,
    Late,
    Silent,
    Wrong,
    NotScored,
}

/// Numbers of comparisons by outcome.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) right: u64,
    pub(crate) near: u64,
    pub(crate) late: u64,
    pub(crate) silent: u64,
    pub(crate) wrong: u64,
}

impl Tally {
    pub(crate) fn count(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Right => self.right += 1,
            Outcome::Near => self.near += 1,
            Outcome::Late => self.late += 1,
            Outcome::Silent => self.silent += 1,
            Outcome::Wrong => self.wrong += 1,
            Outcome::NotScored => {}
        }
    }

    pub(crate) fn total(&self) -> u64 {
        self.right + self.near + self.late + self.silent + self.wrong
    }

    /// Returns the share of a number in percent; 0 without any comparison.
    pub(crate) fn percent(&self, number: u64) -> f64 {
        100.0 * number as f64 / self.total().max(1) as f64
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.right += other.right;
        self.near += other.near;
        self.late += other.late;
        self.silent += other.silent;
        self.wrong += other.wrong;
    }
}

/// The scores of one or more captures.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Score {
    pub(crate) analyze: Tally,
    pub(crate) live: Tally,
    /// The live intervals of captures that begin loaded, which `live` holds too.
    pub(crate) live_loaded: Tally,
    /// Changes of the live verdict, and those of the truth.
    pub(crate) changes: (u64, u64),
    /// Caps that were named in time, and all that should have been.
    pub(crate) caps: (u64, u64),
}

impl AddAssign for Score {
    fn add_assign(&mut self, other: Self) {
        self.analyze += other.analyze;
        self.live += other.live;
        self.live_loaded += other.live_loaded;
        self.changes = (self.changes.0 + other.changes.0, self.changes.1 + other.changes.1);
        self.caps = (self.caps.0 + other.caps.0, self.caps.1 + other.caps.1);
    }
}
