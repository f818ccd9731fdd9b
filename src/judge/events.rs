//! From the verdicts of steps to the events of a device: when trouble begins, goes on and ends.

use super::summary::VerdictTimes;
use super::thresholds::{MIN_BAD, MIN_CONFIRMATIONS, PATIENCE_S, PATIENCE_STEPS, QUARTER};
use super::verdict::Verdict;

/// A step with its verdict; seconds are those of the run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JudgedTime {
    pub begin_s: f64,
    pub end_s: f64,
    pub verdict: Option<Verdict>,
}

impl JudgedTime {
    fn is_bad(&self) -> bool {
        self.verdict.is_some_and(Verdict::is_trouble)
    }

    fn is_stalled(&self) -> bool {
        self.verdict == Some(Verdict::Stalled)
    }
}

/// An event that goes on.
#[derive(Clone, Copy, Debug)]
struct Open {
    /// The end of the latest bad step.
    last_s: f64,
    /// The steps since then.
    good: usize,
    is_stall: bool,
}

/// What a step changes. An event that ends comes before one that begins.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Turn {
    /// The event before the step is over.
    pub ends: bool,
    /// The bad steps that become part of the event: the step itself, and where one begins, those before it.
    pub bad: Vec<JudgedTime>,
}

/// The events of one device. The second bad step (slow or worse) of three begins one, which is dated back to the first; one of
/// five seconds or longer begins one by itself. It ends after five steps and five seconds without, dated to the last bad one.
/// A stall is an event of its own, from its first step to the first that completes requests.
#[derive(Clone, Debug, Default)]
pub struct EventRule {
    open: Option<Open>,
    /// The latest steps, while no event goes on.
    recent: Vec<JudgedTime>,
}

impl EventRule {
    /// Takes a step.
    pub fn observe(&mut self, now: JudgedTime) -> Turn {
        let mut turn = Turn::default();
        let is_long = now.end_s - now.begin_s >= PATIENCE_S;
        if let Some(open) = &self.open
            && now.is_stalled() != open.is_stall
            && (now.is_stalled() || now.verdict != Some(Verdict::Busy))
        {
            turn.ends = true;
            self.end();
        }
        if let Some(open) = &mut self.open {
            if now.is_bad() {
                open.last_s = now.end_s;
                open.good = 0;
                turn.bad.push(now);
                return turn;
            }
            open.good += 1;
            let is_over = open.good >= if is_long { 1 } else { PATIENCE_STEPS };
            if is_over && now.end_s - open.last_s >= PATIENCE_S {
                turn.ends = true;
                self.end();
            }
            return turn;
        }
        if self.recent.len() == MIN_CONFIRMATIONS {
            self.recent.remove(0);
        }
        self.recent.push(now);
        let mut bad = self.recent.clone();
        bad.retain(JudgedTime::is_bad);
        if now.is_stalled() {
            bad = vec![now];
        }
        let is_certain = bad.len() >= MIN_BAD || now.is_bad() && (is_long || now.is_stalled());
        if !is_certain {
            return turn;
        }
        self.recent.clear();
        self.open = Some(Open {
            last_s: now.end_s,
            good: 0,
            is_stall: now.is_stalled(),
        });
        turn.bad = bad;
        turn
    }

    /// Ends what goes on, at a break in time or because of another cause.
    pub fn end(&mut self) {
        self.open = None;
        self.recent.clear();
    }

    /// Returns whether the latest step was part of the event that goes on.
    pub fn is_bad_now(&self) -> bool {
        self.open.as_ref().is_some_and(|open| open.good == 0)
    }
}

/// The word for an event with these times: the first, most severe ones first, that has a quarter of it.
pub fn word_of_event(times: &VerdictTimes) -> Option<Verdict> {
    let mut bad = Vec::from(Verdict::ALL);
    bad.retain(|verdict| verdict.is_trouble() && times.of(*verdict) > 0.0);
    let all_s: f64 = bad.iter().map(|verdict| times.of(*verdict)).sum();
    bad.into_iter()
        .find(|verdict| times.of(*verdict) >= QUARTER * all_s)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::Verdict::{Busy, Ok, Saturated, Slow, Stalled};

    /// The turns of steps of a second each: `(ends, seconds at which the bad steps begin)`.
    fn turns(verdicts: &[Verdict]) -> Vec<(bool, Vec<f64>)> {
        let mut rule = EventRule::default();
        let mut found = Vec::new();
        for (second, verdict) in verdicts.iter().enumerate() {
            let turn = rule.observe(JudgedTime {
                begin_s: second as f64,
                end_s: second as f64 + 1.0,
                verdict: Some(*verdict),
            });
            found.push((turn.ends, turn.bad.iter().map(|bad| bad.begin_s).collect()));
        }
        found
    }

    #[test]
    fn the_second_bad_step_of_three_begins_an_event_which_ends_after_five_good_ones() {
        let found = turns(&[Slow, Ok, Ok, Slow, Ok, Saturated, Ok, Ok, Ok, Ok, Ok, Ok]);
        let begins: Vec<&Vec<f64>> = found
            .iter()
            .map(|(_, bad)| bad)
            .filter(|bad| !bad.is_empty())
            .collect();
        assert_eq!(begins, [&vec![3.0, 5.0]]);
        let ends: Vec<usize> = (0..found.len()).filter(|at| found[*at].0).collect();
        assert_eq!(ends, [10]);
    }

    #[test]
    fn a_stall_is_an_event_of_its_own_up_to_the_first_completion() {
        let found = turns(&[Saturated, Saturated, Stalled, Busy, Stalled, Saturated, Ok]);
        assert_eq!(found[1].1, [0.0, 1.0]);
        assert_eq!(found[2], (true, vec![2.0]));
        assert_eq!(found[3], (false, vec![]));
        assert_eq!(found[4], (false, vec![4.0]));
        assert_eq!(found[5], (true, vec![]));
    }
}
