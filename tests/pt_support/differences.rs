//! Where blkstat rightly prints something else than the real pt-diskstats, and how to show what else differs.

use super::outcomes::Outcome;

/// What is allowed to differ.
pub(crate) struct Difference {
    pub(crate) reason: &'static str,
    /// The captures.
    pub(crate) captures: &'static [&'static str],
    /// Whether the two are as they should be, given that they differ.
    is_right: fn(&Outcome, &Outcome) -> bool,
}

pub(crate) const DIFFERENCES: &[Difference] = &[
    Difference {
        reason: "Where time stands still or goes back the real one dies, or takes it for an interval if it adds up \
                 several; blkstat begins anew there.",
        captures: &["backts", "equalts"],
        is_right: |theirs, ours| {
            let adds_up = theirs.status == 0 && lines(&theirs.stdout) == lines(&ours.stdout);
            ours.status == 0 && (adds_up || ours.stdout.starts_with(&theirs.stdout))
        },
    },
    Difference {
        reason: "Counters that went back are negative numbers there; here the interval is zeros.",
        captures: &["reset"],
        is_right: |theirs, ours| {
            theirs.status == ours.status && negative_lines_only(&theirs.stdout, &ours.stdout)
        },
    },
];

/// Statuses with which the real one dies: whatever the last error of a system call was.
const DIED: [i32; 3] = [25, 29, 255];

/// The outcome with one status for all deaths of the real one, of which blkstat has another one.
fn without_cause(theirs: &Outcome, ours: &Outcome) -> Outcome {
    let died = DIED.contains(&theirs.status) && ours.status != 0;
    Outcome { stdout: theirs.stdout.clone(), status: if died { ours.status } else { theirs.status } }
}

fn lines(text: &str) -> usize {
    text.lines().count()
}

/// Whether only lines with negative numbers, and those of sums, differ.
fn negative_lines_only(theirs: &str, ours: &str) -> bool {
    let is_sum = |line: &str| line.split_whitespace().take(2).any(|word| word.starts_with('{'));
    lines(theirs) == lines(ours)
        && theirs
            .lines()
            .zip(ours.lines())
            .all(|(a, b)| a == b || ((a.contains(" -") || is_sum(a)) && !b.contains(" -") && a.len() >= 20))
}

/// In what the two differ that should not; `None` when they agree.
pub(crate) fn mismatch(capture: &str, name: &str, theirs: &Outcome, ours: &Outcome) -> Option<String> {
    let theirs = &without_cause(theirs, ours);
    let allowed = |difference: &Difference| {
        difference.captures.contains(&capture) && (difference.is_right)(theirs, ours)
    };
    if theirs == ours || DIFFERENCES.iter().any(allowed) {
        return None;
    }
    Some(text(capture, name, theirs, ours))
}

/// Lines before the first difference, and from it on.
const BEFORE: usize = 2;
const AFTER: usize = 3;

fn text(capture: &str, name: &str, theirs: &Outcome, ours: &Outcome) -> String {
    let mut text = format!("{capture}: {name}\n");
    for allowed in DIFFERENCES.iter().filter(|difference| difference.captures.contains(&capture)) {
        text += &format!("      more than is allowed: {}\n", allowed.reason);
    }
    if theirs.status != ours.status {
        text += &format!("      exit {}, not {}\n", ours.status, theirs.status);
    }
    let (a, b): (Vec<&str>, Vec<&str>) =
        (theirs.stdout.split_inclusive('\n').collect(), ours.stdout.split_inclusive('\n').collect());
    if a != b {
        let same = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
        text += &format!("      line {} of {}; blkstat has {}\n", same + 1, a.len(), b.len());
        a[same.saturating_sub(BEFORE)..same].iter().for_each(|line| text += &format!("       {line:?}\n"));
        a[same..].iter().take(AFTER).for_each(|line| text += &format!("      -{line:?}\n"));
        b[same..].iter().take(AFTER).for_each(|line| text += &format!("      +{line:?}\n"));
    }
    text
}
