//! The allowed differences between blkstat and the real pt-diskstats, and the text of all others.

use crate::support::references::{Outcome, describe};

/// An allowed difference.
pub(crate) struct Difference {
    pub(crate) reason: &'static str,
    /// The captures that it applies to.
    pub(crate) captures: &'static [&'static str],
    /// Returns whether two different outcomes are as expected.
    pub(crate) is_expected: fn(&Outcome, &Outcome) -> bool,
}

pub(crate) const DIFFERENCES: &[Difference] = &[
    Difference {
        reason: "If the clock does not advance or goes back, the real one dies, or takes it for an interval if it adds up \
                 several; blkstat starts a new segment.",
        captures: &["backts", "equalts"],
        is_expected: |theirs, ours| {
            let adds_up = theirs.status == 0 && lines(&theirs.stdout) == lines(&ours.stdout);
            ours.status == 0 && (adds_up || ours.stdout.starts_with(&theirs.stdout))
        },
    },
    Difference {
        reason: "If counters go backwards, the real one prints negative numbers, and blkstat zeros.",
        captures: &["reset"],
        is_expected: |theirs, ours| {
            theirs.status == ours.status
                && differ_in_negative_lines_only(&theirs.stdout, &ours.stdout)
        },
    },
];

/// Exit statuses with which the real one dies, which depend on its last system call.
const DIED: [i32; 3] = [25, 29, 255];

/// Replaces the status of the real one by that of blkstat if both failed.
fn without_cause(theirs: &Outcome, ours: &Outcome) -> Outcome {
    let died = DIED.contains(&theirs.status) && ours.status != 0;
    Outcome {
        stdout: theirs.stdout.clone(),
        status: if died { ours.status } else { theirs.status },
    }
}

fn lines(text: &str) -> usize {
    text.lines().count()
}

/// Returns whether only lines with negative numbers, and those of sums, differ.
fn differ_in_negative_lines_only(theirs: &str, ours: &str) -> bool {
    let is_sum = |line: &str| {
        line.split_whitespace()
            .take(2)
            .any(|word| word.starts_with('{'))
    };
    lines(theirs) == lines(ours)
        && theirs.lines().zip(ours.lines()).all(|(a, b)| {
            a == b || ((a.contains(" -") || is_sum(a)) && !b.contains(" -") && a.len() >= 20)
        })
}

/// Returns the differences that are not allowed; `None` if there are none.
pub(crate) fn mismatch(
    capture: &str,
    name: &str,
    theirs: &Outcome,
    ours: &Outcome,
) -> Option<String> {
    let theirs = &without_cause(theirs, ours);
    let allowed = |difference: &Difference| {
        difference.captures.contains(&capture) && (difference.is_expected)(theirs, ours)
    };
    if theirs == ours || DIFFERENCES.iter().any(allowed) {
        return None;
    }
    let more = DIFFERENCES
        .iter()
        .filter(|difference| difference.captures.contains(&capture));
    let more = more.map(|allowed| format!("      more than is allowed: {}\n", allowed.reason));
    Some(describe(&format!("{capture}: {name}"), theirs, ours) + &more.collect::<String>())
}
