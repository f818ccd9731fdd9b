//! Where blkstat prints something else than the packaged iostat 12.6.1, and why. All else has to be the same.

use super::case::{Case, End};
use super::diff;
use super::fallen::{Cell, Ends, zero_like};
use super::machine::Machine;
use super::outcomes::Outcome;
use super::rows::{self, Row};

/// One difference.
pub(crate) struct Difference {
    /// Why it is right to differ.
    pub(crate) reason: &'static str,
    pub(crate) applies: fn(&Case, &Machine) -> bool,
    /// Turns what was recorded into what is expected, or masks in both what cannot be told from the other.
    settle: fn(&Case, &Machine, &mut Outcome, &mut Outcome),
}

/// All of them.
pub(crate) const DIFFERENCES: [Difference; 9] = [
    Difference {
        reason: "12.7.9 prints no blank line in place of the report that -y leaves out",
        applies: |case, _| case.first_sample() == 1,
        settle: |_, _, theirs, ours| {
            theirs.stdout = without_blank_line(&theirs.stdout);
            if ours.stdout.starts_with('{') {
                // What 12.7.9 does in JSON is not known, and no reader of JSON cares.
                ours.stdout = without_blank_line(&ours.stdout);
            }
        },
    },
    Difference {
        reason: "12.7.9 refuses --dec= with anything but 0, 1 and 2",
        applies: |case, _| {
            let dec = |word: &String| word.strip_prefix("--dec=").map(|n| ["0", "1", "2"].contains(&n));
            case.arguments.iter().any(|word| dec(word) == Some(false))
        },
        settle: |_, _, theirs, _| *theirs = Outcome { stdout: String::new(), status: 1 },
    },
    Difference {
        reason: "12.7.9 shows 0.00 where a counter went back, 12.6.1 wraps",
        applies: |_, _| true,
        settle: |case, machine, theirs, ours| {
            rows::change(&mut theirs.stdout, &mut ours.stdout, |row| settle_fallen(case, machine, row));
        },
    },
    Difference {
        reason: "iostat divides a group's %util by the number of the report as well, which is a fault",
        applies: |case, _| case.has_word("-g"),
        settle: |case, _, theirs, ours| {
            let skipped = case.first_sample();
            rows::change(&mut theirs.stdout, &mut ours.stdout, |row| settle_group_util(skipped, row));
        },
    },
    Difference {
        reason: "a group that a device left, or whose counters went back, is no sum that can be compared",
        applies: |case, _| case.has_word("-g"),
        settle: |case, machine, theirs, ours| {
            rows::change(&mut theirs.stdout, &mut ours.stdout, |row| settle_broken_group(case, machine, row));
        },
    },
    Difference {
        reason: "-V says which program it is",
        applies: |case, _| case.has('V'),
        settle: |_, _, theirs, ours| {
            if !theirs.stdout.is_empty() && !ours.stdout.is_empty() {
                theirs.stdout.clone_from(&ours.stdout);
            }
        },
    },
    Difference {
        reason: "blkstat takes 0.5 for an interval, iostat for a device",
        applies: |case, _| case.arguments.iter().any(|word| is_fraction(word)),
        settle: |_, _, theirs, ours| theirs.clone_from(ours),
    },
    Difference {
        reason: "12.7.9 ends on SIGTERM as on SIGINT, and closes a JSON document",
        applies: |case, _| case.end == End::Signal("TERM"),
        settle: |case, _, theirs, _| {
            let closed = if case.has_word("-o") { "\n\t\t\t]\n\t\t}\n\t]\n}}\n" } else { "\n" };
            theirs.stdout.push_str(closed);
            theirs.status = 0;
        },
    },
    Difference {
        reason: "-G and -U are new in 12.7",
        applies: |case, _| case.has('G') || case.has('U'),
        settle: |_, _, theirs, ours| theirs.clone_from(ours),
    },
];

/// In what the two differ that should not; `None` when they agree.
pub(crate) fn mismatch(case: &Case, machine: &Machine, theirs: &Outcome, ours: &Outcome) -> Option<String> {
    let (mut theirs, mut ours) = (theirs.clone(), ours.clone());
    let mut reasons = String::new();
    for difference in DIFFERENCES.iter().filter(|difference| (difference.applies)(case, machine)) {
        let before = (theirs.clone(), ours.clone());
        (difference.settle)(case, machine, &mut theirs, &mut ours);
        if before != (theirs.clone(), ours.clone()) {
            reasons.push_str(&format!("      (allowed for: {})\n", difference.reason));
        }
    }
    (theirs != ours).then(|| diff::outcomes(case, &theirs, &ours) + &reasons)
}

fn without_blank_line(text: &str) -> String {
    let opening = if text.starts_with('{') { "\"statistics\": [\n" } else { "\n\n" };
    text.replacen(&format!("{opening}\n"), opening, 1)
}

fn is_fraction(word: &str) -> bool {
    word.contains('.') && word.parse::<f64>().is_ok_and(|number| number >= 0.0)
}

fn settle_fallen(case: &Case, machine: &Machine, row: &mut Row<'_>) -> bool {
    let Some(ends) = Ends::of(machine, case, row.name, row.report).filter(Ends::any_fell) else {
        return false;
    };
    for (column, title) in row.titles.iter().enumerate() {
        match ends.cell(title) {
            Cell::Same => {}
            Cell::Zero => row.theirs[column] = zero_like(&row.theirs[column]),
            Cell::Any => row.theirs[column].clone_from(&row.ours[column]),
        }
    }
    true
}

/// Our %util has to be theirs times the number of the report, as far as its decimals tell.
fn settle_group_util(skipped: usize, row: &mut Row<'_>) -> bool {
    let number = (row.report + skipped + 1) as f64;
    let util = row.titles.iter().position(|title| title == "util");
    let Some(util) = util.filter(|_| row.name.starts_with(' ')) else { return false };
    let value = |cell: &str| cell.trim_end_matches('%').parse::<f64>().unwrap_or(f64::NAN);
    let decimals = row.theirs[util].trim_end_matches('%').split_once('.').map_or(0, |(_, rest)| rest.len());
    let half = 0.5 / 10f64.powi(i32::try_from(decimals).unwrap_or(0));
    if (value(&row.theirs[util]) * number - value(&row.ours[util])).abs() <= half * (number + 1.0) + 1e-9 {
        row.theirs[util].clone_from(&row.ours[util]);
        return true;
    }
    false
}

fn settle_broken_group(case: &Case, machine: &Machine, row: &mut Row<'_>) -> bool {
    let last = case.first_sample() + row.report;
    let every = case.interval().unwrap_or(1);
    let names = |sample: usize| {
        machine.step(sample * every).devices.iter().map(|device| device.name.clone()).collect::<Vec<_>>()
    };
    let came_or_went = (last.saturating_sub(2)..last).any(|sample| names(sample) != names(last));
    let fell = |name: &String| {
        Ends::of(machine, case, name, row.report).is_some_and(|ends| ends.replugged || ends.any_fell())
    };
    if row.name.starts_with(' ') && (came_or_went || names(last).iter().any(fell)) {
        row.theirs.clone_from(row.ours);
        return true;
    }
    false
}
