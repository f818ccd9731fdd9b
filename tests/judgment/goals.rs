//! The scores to reach, and those that a change must not worsen.

use std::fmt::Write;

use crate::tally::Outcome::{Silent, Wrong};
use crate::tally::{EventTally, Score};

/// A score with its bounds.
struct Goal {
    name: &'static str,
    /// The number in a score.
    value: fn(&Score) -> f64,
    /// The bound to reach.
    goal: f64,
    /// The bound that holds now. It may only move towards the goal.
    accepted: f64,
    /// The number must be at least the bound, rather than at most.
    is_minimum: bool,
}

const fn at_most(name: &'static str, value: fn(&Score) -> f64, goal: f64, accepted: f64) -> Goal {
    Goal {
        name,
        value,
        goal,
        accepted,
        is_minimum: false,
    }
}

const GOALS: [Goal; 14] = [
    at_most(
        "analyze: wrong, %",
        |score| score.analyze.percent(Wrong),
        1.0,
        1.0,
    ),
    at_most(
        "analyze: silent, %",
        |score| score.analyze.percent(Silent),
        15.0,
        24.0,
    ),
    at_most(
        "live: wrong, % of intervals",
        |score| score.live.percent(Wrong),
        1.0,
        1.0,
    ),
    at_most(
        "live: silent, % of intervals",
        |score| score.live.percent(Silent),
        35.0,
        36.0,
    ),
    at_most(
        "live: silent where the capture begins loaded, % of intervals",
        |score| score.live_loaded.percent(Silent),
        50.0,
        50.0,
    ),
    at_most(
        "live: changes of the verdict, as a multiple of the truth's",
        |score| score.changes.0 as f64 / score.changes.1.max(1) as f64,
        1.2,
        1.2,
    ),
    Goal {
        name: "live: steady caps named within 15 intervals, %",
        value: |score| 100.0 * score.caps.0 as f64 / score.caps.1.max(1) as f64,
        goal: 80.0,
        accepted: 78.0,
        is_minimum: true,
    },
    at_most(
        "events: without trouble, %",
        |score| 100.0 * score.events.false_events as f64 / score.events.events.max(1) as f64,
        2.0,
        2.5,
    ),
    at_most(
        "events: times of trouble without one, %",
        |score| 100.0 * score.events.missed_windows as f64 / score.events.windows.max(1) as f64,
        10.0,
        14.0,
    ),
    at_most(
        "events: median error of the begin, intervals",
        |score| EventTally::quantile(&score.events.begin_errors, 0.5),
        1.0,
        1.0,
    ),
    at_most(
        "events: error of the begin that 95% do not exceed, intervals",
        |score| EventTally::quantile(&score.events.begin_errors, 0.95),
        2.0,
        4.0,
    ),
    at_most(
        "events: error of the end that 95% do not exceed, intervals",
        |score| EventTally::quantile(&score.events.end_errors, 0.95),
        3.0,
        4.0,
    ),
    at_most(
        "events: surely calm, % of their time",
        |score| 100.0 * score.events.calm_time / score.events.event_time.max(1.0),
        3.0,
        3.0,
    ),
    at_most(
        "events: trouble outside them, % of its time",
        |score| 100.0 * score.events.outside_time / score.events.window_time.max(1.0),
        15.0,
        18.0,
    ),
];

impl Goal {
    fn is_met(&self, score: &Score, bound: f64) -> bool {
        let value = (self.value)(score);
        if self.is_minimum {
            value >= bound
        } else {
            value <= bound
        }
    }
}

/// Returns each score with its goal, and whether it is reached.
pub(crate) fn report(score: &Score) -> String {
    let mut out = String::new();
    for goal in &GOALS {
        let value = (goal.value)(score);
        let sign = if goal.is_minimum { ">=" } else { "<=" };
        let result = if goal.is_met(score, goal.goal) {
            "reached"
        } else {
            "missed"
        };
        let _ = writeln!(
            out,
            "{:62} {value:6.2}  goal {sign} {:5.1}  {result}",
            goal.name, goal.goal
        );
    }
    out
}

/// Returns a sentence for each score that became worse than is accepted.
pub(crate) fn failures(score: &Score) -> Vec<String> {
    let failure = |goal: &Goal| {
        let value = (goal.value)(score);
        format!(
            "{}: {value:.2} is beyond the accepted {:.2}",
            goal.name, goal.accepted
        )
    };
    GOALS
        .iter()
        .filter(|goal| !goal.is_met(score, goal.accepted))
        .map(failure)
        .collect()
}
