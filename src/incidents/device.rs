//! The last minutes of a device.

use std::collections::VecDeque;
use std::sync::Arc;

use super::second::DeviceSecond;
use super::second_cause::SecondCause;
use crate::judge::Verdict;
use crate::topology::DeviceNames;

/// What was before is the minute before the beginning, without its last seconds, in which it may already have begun.
pub(super) const CALM_S: f64 = 60.0;
const CALM_GAP_S: f64 = 3.0;
/// The fewest steps that a minute may have: with long intervals, it is as long as they are together.
const MIN_CALM_STEPS: f64 = 12.0;

/// A second of a device with what is wrong in it.
#[derive(Clone, Debug)]
pub(super) struct Row {
    /// Seconds of the run.
    pub(super) end_s: f64,
    pub(super) seconds: f64,
    pub(super) second: DeviceSecond,
    /// Its word and its cause; `None` if nothing is wrong.
    pub(super) class: Option<(Verdict, SecondCause)>,
    /// It was in use all the time.
    pub(super) is_used: bool,
}

impl Row {
    /// Returns whether something is wrong with the device. The lack of CPU is not.
    pub(super) fn is_bad(&self) -> bool {
        (self.class.as_ref()).is_some_and(|(_, cause)| *cause != SecondCause::Cpu)
    }

    pub(super) fn kib_per_s(&self) -> f64 {
        self.second.kib_per_s.iter().sum()
    }

    pub(super) fn has(&self, cause: &SecondCause) -> bool {
        self.class.as_ref().is_some_and(|(_, own)| own == cause)
    }
}

#[derive(Clone, Debug)]
pub(super) struct Device {
    pub(super) names: Arc<DeviceNames>,
    /// Its place among all devices.
    pub(super) place: usize,
    pub(super) rows: VecDeque<Row>,
}

impl Device {
    /// The row of a second.
    pub(super) fn row(&self, end_s: f64) -> Option<&Row> {
        let at = self.index_from(end_s);
        self.rows.get(at).filter(|row| row.end_s == end_s)
    }

    /// The index of the first row that ends at a second or later.
    pub(super) fn index_from(&self, end_s: f64) -> usize {
        self.rows.partition_point(|row| row.end_s < end_s)
    }

    /// The rows that end from one second on, and before another.
    pub(super) fn rows_between(&self, from_s: f64, until_s: f64) -> impl Iterator<Item = &Row> {
        let (from, until) = (self.index_from(from_s), self.index_from(until_s));
        self.rows.range(from..until.max(from))
    }

    /// The seconds of the calm before a second in which nothing was wrong.
    pub(super) fn before(&self, second_s: f64) -> impl Iterator<Item = &Row> {
        use Verdict::{Busy, Idle, Ok, Queueing};
        let step_s = self.step_s();
        let until_s = second_s - CALM_GAP_S.max(step_s);
        let calm = self.rows_between(until_s - calm_s(step_s), until_s);
        calm.filter(|row| {
            matches!(row.second.verdict, Ok | Busy | Idle | Queueing) && !row.is_bad()
        })
    }

    /// The usual length of its steps: one of several may be a gap.
    pub(super) fn step_s(&self) -> f64 {
        let latest = self.rows.iter().rev().take(3);
        let shortest = latest.map(|row| row.seconds).reduce(f64::min);
        shortest.unwrap_or(1.0).max(1.0)
    }

    /// Forgets what ended before a second.
    pub(super) fn forget(&mut self, before_s: f64) {
        while self.rows.front().is_some_and(|row| row.end_s < before_s) {
            self.rows.pop_front();
        }
    }
}

/// The length of the calm before, with steps of this length.
pub(super) fn calm_s(step_s: f64) -> f64 {
    CALM_S.max(MIN_CALM_STEPS * step_s)
}

/// How far back the calm before a second reaches, with steps of this length.
pub(super) fn past_s(step_s: f64) -> f64 {
    calm_s(step_s) + CALM_GAP_S.max(step_s) + step_s
}
