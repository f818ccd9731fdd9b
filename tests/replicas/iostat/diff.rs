//! The differences of two outcomes, as text.

use super::case::Case;
use crate::support::references::Outcome;

/// The lines of a difference that are shown.
const MAX_LINES: usize = 24;

/// Describes a case and its differences.
pub(crate) fn outcomes(case: &Case, theirs: &Outcome, ours: &Outcome) -> String {
    let mut text = format!("{}: iostat {}\n", case.machine, case.line);
    if theirs.status != ours.status {
        text.push_str(&format!("      exit {}, not {}\n", ours.status, theirs.status));
    }
    if ours.stdout.is_empty() {
        return text + "      prints nothing\n";
    }
    let lines = lines(&theirs.stdout, &ours.stdout);
    lines.lines().take(MAX_LINES).for_each(|line| text.push_str(&format!("{line}\n")));
    match lines.lines().count().saturating_sub(MAX_LINES) {
        0 => text,
        more => text + &format!("      ... {more} more lines\n"),
    }
}

/// Returns the lines that only `theirs` has, marked `-`, and those that only `ours` has, marked `+`, in order and with
/// control characters escaped. Empty if the texts are equal.
fn lines(theirs: &str, ours: &str) -> String {
    let (a, b): (Vec<&str>, Vec<&str>) =
        (theirs.split_inclusive('\n').collect(), ours.split_inclusive('\n').collect());
    // common[i][j] is the length of the longest common subsequence of a[i..] and b[j..].
    let mut common = vec![vec![0usize; b.len() + 1]; a.len() + 1];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            common[i][j] =
                if a[i] == b[j] { common[i + 1][j + 1] + 1 } else { common[i + 1][j].max(common[i][j + 1]) };
        }
    }
    let (mut i, mut j, mut out) = (0, 0, String::new());
    while i < a.len() || j < b.len() {
        if i < a.len() && j < b.len() && a[i] == b[j] {
            (i, j) = (i + 1, j + 1);
        } else if j == b.len() || (i < a.len() && common[i + 1][j] >= common[i][j + 1]) {
            out.push_str(&format!("      -{:?}\n", a[i]));
            i += 1;
        } else {
            out.push_str(&format!("      +{:?}\n", b[j]));
            j += 1;
        }
    }
    out
}
