//! The scores as a table.

use std::fmt::Write;

use crate::tally::{EventTally, Outcome, Score, Tally};

/// The percentages of a tally: wrong, busy, right.
fn cells(tally: &Tally) -> String {
    if tally.total() == 0 {
        return format!("{:>6} {:>6} {:>6}", "-", "-", "-");
    }
    let [wrong, busy, right] =
        [Outcome::Wrong, Outcome::Busy, Outcome::Right].map(|outcome| tally.percent(outcome));
    format!("{wrong:6.1} {busy:6.1} {right:6.1}")
}

/// The scores of events: false ones; missed windows; hidden ones; the percentage of calm in events, and of trouble outside
/// them; and the median and 95% of the errors of begin and end, in intervals.
fn event_cells(tally: &EventTally) -> String {
    let begin = |fraction| EventTally::quantile(&tally.begin_errors, fraction);
    let end = |fraction| EventTally::quantile(&tally.end_errors, fraction);
    let percent = |part: f64, whole: f64| 100.0 * part / whole.max(1.0);
    format!(
        "{:>3}/{:<4} {:>3}/{:<4} {:>3} {:5.1} {:5.1} {:5.1} {:5.1} {:5.1} {:5.1}",
        tally.false_events,
        tally.events,
        tally.missed_windows,
        tally.windows,
        tally.hidden_windows,
        percent(tally.calm_time, tally.event_time),
        percent(tally.outside_time, tally.window_time),
        begin(0.5),
        begin(0.95),
        end(0.5),
        end(0.95)
    )
}

/// The titles of the scores of events.
const EVENTS: &str = "   false   missed  hid  calm  out   begin   95%   end   95%";

/// Appends a line of the table.
fn push_line(name: &str, score: &Score, out: &mut String) {
    let per_100 = |changes: u64| 100.0 * changes as f64 / score.live.total().max(1) as f64;
    let caps = match score.caps {
        (_, 0) => "-".to_owned(),
        (named, all) => format!("{named}/{all}"),
    };
    let _ = writeln!(
        out,
        "{name:52} {} | {} | {:6.1} {:6.1} | {caps:>9} | {}",
        cells(&score.analyze),
        cells(&score.live),
        per_100(score.changes.0),
        per_100(score.changes.1),
        event_cells(&score.events),
    );
}

/// Returns the table: percentages by scenario, and the totals.
pub(crate) fn table(scores: &[(&str, Score)]) -> String {
    let mut out = format!(
        "{:52} {:20} | {:20} | {:13} | {:9} | events\n{:52} {:>6} {:>6} {:>6} | {:>6} {:>6} {:>6} | {:>6} {:>6} | {:>9} | {EVENTS}\n",
        "percent",
        "analyze",
        "live",
        "changes/100",
        "",
        "",
        "wrong",
        "busy",
        "right",
        "wrong",
        "busy",
        "right",
        "said",
        "true",
        "caps"
    );
    for (name, score) in scores {
        push_line(name, score, &mut out);
    }
    push_line("all", &total(scores), &mut out);
    out
}

/// Returns the sum of all scores.
pub(crate) fn total(scores: &[(&str, Score)]) -> Score {
    let mut total = Score::default();
    scores.iter().for_each(|(_, score)| total += score.clone());
    total
}
