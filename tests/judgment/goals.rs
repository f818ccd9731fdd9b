//! The bounds that the scores must keep.

use std::fmt::Write;

use crate::tally::Outcome::{self, Busy, Near, Right, Silent, Wrong};
use crate::tally::{EventTally, Score};

/// The scores of all scenarios.
pub(crate) struct Scores<'a> {
    pub(crate) scenarios: &'a [(&'a str, Score)],
    pub(crate) total: Score,
}

impl Scores<'_> {
    /// Returns the percentage of an outcome among the live intervals; every scenario has the same weight.
    fn live_percent(&self, outcome: Outcome) -> f64 {
        let scored: Vec<f64> = self
            .scenarios
            .iter()
            .map(|(_, score)| score.live)
            .filter(|live| live.total() > 0)
            .map(|live| live.percent(outcome))
            .collect();
        scored.iter().sum::<f64>() / scored.len().max(1) as f64
    }

    fn analyze_percent(&self, outcome: Outcome) -> f64 {
        self.total.analyze.percent(outcome)
    }

    fn events(&self) -> &EventTally {
        &self.total.events
    }
}

/// A score with its bound.
struct Goal {
    name: &'static str,
    value: fn(&Scores) -> f64,
    bound: f64,
    /// The number must be at least the bound, rather than at most.
    is_minimum: bool,
}

const fn at_most(name: &'static str, bound: f64, value: fn(&Scores) -> f64) -> Goal {
    Goal {
        name,
        value,
        bound,
        is_minimum: false,
    }
}

const fn at_least(name: &'static str, bound: f64, value: fn(&Scores) -> f64) -> Goal {
    Goal {
        name,
        value,
        bound,
        is_minimum: true,
    }
}

const GOALS: [Goal; 15] = [
    at_least("live: right, % of intervals", 66.0, |scores| {
        scores.live_percent(Right)
    }),
    at_most("live: wrong, % of intervals", 1.5, |scores| {
        scores.live_percent(Wrong)
    }),
    at_most("live: near, % of intervals", 17.0, |scores| {
        scores.live_percent(Near)
    }),
    at_most("live: busy, % of intervals", 21.0, |scores| {
        scores.live_percent(Busy)
    }),
    at_most("live: silent, % of intervals", 1.0, |scores| {
        scores.live_percent(Silent)
    }),
    at_least("analyze: right, %", 64.0, |scores| {
        scores.analyze_percent(Right)
    }),
    at_most("analyze: wrong, %", 3.5, |scores| {
        scores.analyze_percent(Wrong)
    }),
    at_most(
        "live: changes of the verdict, as a multiple of the truth's",
        2.5,
        |scores| scores.total.changes.0 as f64 / scores.total.changes.1.max(1) as f64,
    ),
    at_least(
        "live: steady caps named within 15 intervals, %",
        30.0,
        |scores| 100.0 * scores.total.caps.0 as f64 / scores.total.caps.1.max(1) as f64,
    ),
    at_most("events: without trouble, %", 10.0, |scores| {
        100.0 * scores.events().false_events as f64 / scores.events().events.max(1) as f64
    }),
    at_most("events: times of trouble without one, %", 16.0, |scores| {
        100.0 * scores.events().missed_windows as f64 / scores.events().windows.max(1) as f64
    }),
    at_most(
        "events: error of the begin that half do not exceed, intervals",
        1.0,
        |scores| EventTally::quantile(&scores.events().begin_errors, 0.5),
    ),
    at_most(
        "events: error of the begin that 90% do not exceed, intervals",
        4.0,
        |scores| EventTally::quantile(&scores.events().begin_errors, 0.9),
    ),
    at_most("events: surely calm, % of their time", 5.0, |scores| {
        100.0 * scores.events().calm_time / scores.events().event_time.max(1.0)
    }),
    at_most(
        "events: trouble outside them, % of its time",
        18.0,
        |scores| 100.0 * scores.events().outside_time / scores.events().window_time.max(1.0),
    ),
];

impl Goal {
    fn is_met(&self, value: f64) -> bool {
        if self.is_minimum {
            value >= self.bound
        } else {
            value <= self.bound
        }
    }
}

/// Returns each score with its bound.
pub(crate) fn report(scores: &Scores) -> String {
    let mut out = String::new();
    for goal in &GOALS {
        let value = (goal.value)(scores);
        let sign = if goal.is_minimum { ">=" } else { "<=" };
        let _ = writeln!(
            out,
            "{:62} {value:6.2}  {sign} {:5.1}",
            goal.name, goal.bound
        );
    }
    out
}

/// Returns a sentence for each score beyond its bound.
pub(crate) fn failures(scores: &Scores) -> Vec<String> {
    let mut failures = Vec::new();
    for goal in &GOALS {
        let value = (goal.value)(scores);
        if !goal.is_met(value) {
            failures.push(format!(
                "{}: {value:.2} is beyond {:.2}",
                goal.name, goal.bound
            ));
        }
    }
    failures
}

/// The numbers of the README: the beginning of a row, and the goal.
const IN_README: [(&str, &str); 6] = [
    ("| right |", "live: right, % of intervals"),
    (
        "| the simulation cannot say whether it is right |",
        "live: near, % of intervals",
    ),
    ("| `busy`: it cannot tell |", "live: busy, % of intervals"),
    ("| wrong:", "live: wrong, % of intervals"),
    (
        "| missed: times of trouble that no incident reports |",
        "events: times of trouble without one, %",
    ),
    (
        "| false alarms: incidents without trouble |",
        "events: without trouble, %",
    ),
];

/// Returns a sentence for each number in the README that is more than a point, or a third, off.
pub(crate) fn stale_in_readme(scores: &Scores) -> Vec<String> {
    let readme = std::fs::read_to_string("README.md").unwrap();
    let mut stale = Vec::new();
    for (beginning, name) in IN_README {
        let goal = GOALS.iter().find(|goal| goal.name == name).unwrap();
        let value = (goal.value)(scores);
        let row = readme.lines().find(|line| line.starts_with(beginning));
        let cell = row.and_then(|row| row.trim_end_matches(" |").rsplit(' ').next());
        let shown: Option<f64> = cell.and_then(|cell| cell.trim_end_matches('%').parse().ok());
        let is_near = |shown: f64| (shown - value).abs() <= (value / 3.0).min(1.0);
        if !shown.is_some_and(is_near) {
            stale.push(format!(
                "README.md has {cell:?} in '{beginning}', not {value:.2}%"
            ));
        }
    }
    stale
}
