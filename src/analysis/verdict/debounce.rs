//! Steady verdicts: one odd interval neither starts nor ends one.

use std::collections::VecDeque;

use super::Verdict;
use crate::analysis::thresholds::{
    MIN_RECOVERED_INTERVALS, MIN_SATURATED_INTERVALS, SATURATION_WINDOW_INTERVALS,
};

/// Confirms the verdicts on single intervals. An interval whose verdict differs from the present one and is not
/// confirmed yet gets no verdict: a wrong one would be worse.
#[derive(Clone, Debug, Default)]
pub(super) struct Debounce {
    /// The latest verdict that was confirmed.
    present: Option<Verdict>,
    /// The verdicts on the latest intervals alone, with their lengths in seconds.
    latest: VecDeque<(Option<Verdict>, f64)>,
}

impl Debounce {
    /// The latest verdict that was confirmed.
    pub(super) fn present(&self) -> Option<Verdict> {
        self.present
    }

    /// Takes the verdict on an interval by itself, with its length in seconds, and returns the confirmed verdict;
    /// `None` if no verdict is confirmed.
    pub(super) fn confirm(&mut self, verdict: Option<Verdict>, seconds: f64) -> Option<Verdict> {
        if self.latest.len() == SATURATION_WINDOW_INTERVALS {
            self.latest.pop_front();
        }
        self.latest.push_back((verdict, seconds));
        let verdict = verdict?;
        if self.present != Some(verdict) && !self.is_confirmed(verdict) {
            return None;
        }
        self.present = Some(verdict);
        Some(verdict)
    }

    /// Returns the total seconds of the latest consecutive intervals that showed trouble, as far as they are
    /// remembered.
    pub(super) fn trouble_s(&self) -> f64 {
        let in_trouble = |entry: &&(Option<Verdict>, f64)| entry.0.is_some_and(Verdict::is_trouble);
        self.latest.iter().rev().take_while(in_trouble).map(|(_, seconds)| seconds).sum()
    }

    /// Forgets everything, after a break.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    fn is_confirmed(&self, verdict: Verdict) -> bool {
        let was_in_trouble = self.present.is_some_and(Verdict::is_trouble);
        let needed = match verdict {
            // These verdicts are certain from a single interval, or were found over several.
            Verdict::Idle
            | Verdict::Stalled
            | Verdict::Throttled
            | Verdict::Capped
            | Verdict::AccountingOff => 1,
            Verdict::Ok if was_in_trouble => MIN_RECOVERED_INTERVALS,
            Verdict::Ok => 1,
            Verdict::Queueing | Verdict::Slow | Verdict::Saturated => MIN_SATURATED_INTERVALS,
        };
        // A saturated device also queues.
        let supports = |(other, _): &&(Option<Verdict>, f64)| match other {
            Some(Verdict::Saturated | Verdict::Capped) if verdict == Verdict::Queueing => true,
            other => *other == Some(verdict),
        };
        self.latest.iter().filter(supports).count() >= needed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Verdict::{Idle, Ok, Queueing, Saturated};

    fn confirmed(verdicts: &[Verdict]) -> Vec<Option<Verdict>> {
        let mut debounce = Debounce::default();
        verdicts.iter().map(|verdict| debounce.confirm(Some(*verdict), 1.0)).collect()
    }

    #[test]
    fn one_odd_interval_changes_nothing() {
        let found = confirmed(&[Ok, Saturated, Ok, Ok, Saturated, Saturated, Ok, Saturated]);
        let ok = Some(Ok);
        assert_eq!(found, [ok, None, ok, ok, None, None, ok, Some(Saturated)]);
    }

    #[test]
    fn the_end_of_trouble_takes_two_intervals() {
        let found = confirmed(&[Saturated, Saturated, Saturated, Ok, Ok, Idle]);
        assert_eq!(found[2..], [Some(Saturated), None, Some(Ok), Some(Idle)]);
    }

    #[test]
    fn the_beginning_of_trouble_is_the_first_of_the_intervals_in_a_row_that_show_it() {
        let mut debounce = Debounce::default();
        let mut trouble_s = |verdict| {
            debounce.confirm(verdict, 2.0);
            debounce.trouble_s()
        };
        let verdicts = [Some(Ok), Some(Queueing), Some(Saturated), Some(Saturated), None, Some(Saturated)];
        assert_eq!(verdicts.map(&mut trouble_s), [0.0, 2.0, 4.0, 6.0, 0.0, 2.0]);
    }

    #[test]
    fn saturated_intervals_support_queueing() {
        let found = confirmed(&[Saturated, Queueing, Saturated, Queueing]);
        assert_eq!(found, [None, None, None, Some(Queueing)]);
    }
}
