//! blkstat's own reports: the table for people, JSON Lines and CSV for programs. They take finished numbers.

mod columns;
mod machine_formats;
mod summary;
mod table;

pub use columns::{SortKey, sort_keys};
pub use machine_formats::{csv_header, csv_line, json_line};
pub use summary::{Extent, Extreme, Means, Summary, draw_summary};
pub use table::{Layout, Table};

use jiff::Timestamp;

use crate::analysis::{Assessment, Verdict};
use crate::metrics::{DataFlag, HostStats, IntervalStats};

/// What the lines of one interval have in common.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Block {
    /// The end of the interval; `None` where there is no wall clock.
    pub time: Option<Timestamp>,
    /// Its measured length in seconds.
    pub elapsed_s: f64,
    /// Deadlines that were skipped before it.
    pub missed: u64,
    /// The machine meanwhile.
    pub machine: HostStats,
}

/// One device in one interval.
#[derive(Clone, Debug, PartialEq)]
pub struct Line<'a> {
    /// The kernel's name.
    pub device: &'a str,
    /// What people call it.
    pub shown: &'a str,
    /// Where it is mounted; empty where that is not asked for.
    pub mounts: String,
    /// What is known of it.
    pub state: State,
}

/// What is known of a device in an interval.
#[derive(Clone, Debug, PartialEq)]
pub enum State {
    /// What it did.
    Worked(Box<Judged>),
    /// Its counters started anew, so that nothing can be said.
    Reset,
    /// It is a total, and the counters of one of its devices started anew.
    PartReset,
    /// The kernel does not count what it does.
    AccountingOff,
}

/// IntervalStats, and what several intervals say of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Judged {
    /// The figures.
    pub figures: IntervalStats,
    /// What is wrong with it.
    pub mark: Option<DataFlag>,
    /// For how long it has stalled, in seconds; zero when it has not.
    pub stalled_s: f64,
    /// What is thought of it.
    pub judgement: Assessment,
}

impl Judged {
    /// What its util can be at most; a util that is too low bounds nothing.
    pub fn util_bound_pct(&self) -> Option<f64> {
        self.figures.util_bound_pct.filter(|_| self.mark != Some(DataFlag::UtilTooLow))
    }
}

impl Line<'_> {
    /// Its figures, where it has any.
    pub fn judged(&self) -> Option<&Judged> {
        match &self.state {
            State::Worked(judged) => Some(judged),
            State::Reset | State::PartReset | State::AccountingOff => None,
        }
    }

    /// Its verdict, where there is one.
    pub fn verdict(&self) -> Option<Verdict> {
        match &self.state {
            State::Worked(judged) => judged.judgement.verdict,
            State::Reset | State::PartReset => None,
            State::AccountingOff => Some(Verdict::AccountingOff),
        }
    }

    /// Its figures, where it has any.
    pub fn figures(&self) -> Option<&IntervalStats> {
        self.judged().map(|judged| &judged.figures)
    }
}
