//! The allowed differences between blkstat and a real iostat, with reasons. All else must be equal.

use super::case::{Case, End};
use super::machine::Machine;
use super::rows::{self, Row};
use crate::support::references::{Outcome, describe};

/// A version of sysstat, such as 12.7.5.
pub(crate) type Version = [u32; 3];

/// No version yet.
const NEVER: Version = [u32::MAX; 3];

/// An allowed difference.
pub(crate) struct Difference {
    /// Why blkstat differs.
    pub(crate) reason: &'static str,
    /// The first version of sysstat without it.
    until: Version,
    pub(crate) applies: fn(&Case, &Machine) -> bool,
    /// Changes the output of the real iostat to the expected one, or masks in both what cannot be derived.
    normalize: fn(&Case, &Machine, &mut Outcome, &mut Outcome),
}

/// The output of `-V`.
const VERSION: &str = concat!(
    "blkstat ",
    env!("CARGO_PKG_VERSION"),
    ", compatible with iostat of sysstat 12.7.5; -G, -U, -y and the end by SIGTERM are those of 12.7.9\n"
);

/// All allowed differences.
pub(crate) const DIFFERENCES: [Difference; 7] = [
    Difference {
        reason: "12.7.9 prints no blank line in place of the report that -y leaves out, except in JSON",
        until: [12, 7, 9],
        applies: |case, _| case.first_sample() == 1 && !case.has_word("-o"),
        normalize: |_, _, theirs, _| theirs.stdout = theirs.stdout.replacen("\n\n\n", "\n\n", 1),
    },
    Difference {
        reason: "iostat divides the %util of a group by the number of the report, too, which is a bug",
        until: NEVER,
        applies: |case, _| case.has_word("-g"),
        normalize: |case, _, theirs, ours| {
            let skipped = case.first_sample();
            rows::change(&mut theirs.stdout, &mut ours.stdout, |row| {
                normalize_group_util(skipped, row)
            });
        },
    },
    Difference {
        reason: "for that, iostat adds up the devices that a group had in each report, which may change",
        until: NEVER,
        applies: |case, _| case.has_word("-g"),
        normalize: |case, machine, theirs, ours| {
            rows::change(&mut theirs.stdout, &mut ours.stdout, |row| {
                normalize_changed_group(case, machine, row)
            });
        },
    },
    Difference {
        reason: "-V prints the version of the program itself",
        until: NEVER,
        applies: |case, _| case.has('V'),
        normalize: |_, _, theirs, _| {
            if theirs.stdout.starts_with("sysstat version") {
                theirs.stdout = VERSION.to_owned();
            }
        },
    },
    Difference {
        // A test of its own compares the reports of such an interval.
        reason: "0.5 is an interval for blkstat, and a device name for iostat",
        until: NEVER,
        applies: |case, _| case.arguments.iter().any(|word| is_fraction(word)),
        normalize: |_, _, theirs, ours| theirs.clone_from(ours),
    },
    Difference {
        reason: "12.7.9 ends at SIGTERM as at SIGINT, and closes a JSON document",
        until: [12, 7, 9],
        applies: |case, _| case.end == End::Signal("TERM"),
        normalize: |case, _, theirs, _| {
            let closed = if case.has_word("-o") {
                "\n\t\t\t]\n\t\t}\n\t]\n}}\n"
            } else {
                "\n"
            };
            theirs.stdout.push_str(closed);
            theirs.status = 0;
        },
    },
    Difference {
        // Tests of their own compare their reports with those of -k and -t.
        reason: "-G and -U are new in 12.7.9",
        until: [12, 7, 9],
        applies: |case, _| case.has('G') || case.has('U'),
        normalize: |_, _, theirs, ours| theirs.clone_from(ours),
    },
];

/// Returns the differences that are not allowed; `None` if there are none.
pub(crate) fn mismatch(
    case: &Case,
    machine: &Machine,
    version: Version,
    theirs: &Outcome,
    ours: &Outcome,
) -> Option<String> {
    let (mut theirs, mut ours) = (theirs.clone(), ours.clone());
    let mut reasons = String::new();
    let is_allowed = |difference: &&Difference| {
        version < difference.until && (difference.applies)(case, machine)
    };
    for difference in DIFFERENCES.iter().filter(is_allowed) {
        let before = (theirs.clone(), ours.clone());
        (difference.normalize)(case, machine, &mut theirs, &mut ours);
        if before != (theirs.clone(), ours.clone()) {
            reasons.push_str(&format!("      (allowed for: {})\n", difference.reason));
        }
    }
    let name = format!("{}: iostat {}", case.machine, case.line);
    (theirs != ours).then(|| describe(&name, &theirs, &ours) + &reasons)
}

fn is_fraction(word: &str) -> bool {
    word.contains('.') && word.parse::<f64>().is_ok_and(|number| number >= 0.0)
}

/// Accepts our %util if it is theirs times the number of the report, within the rounding error of its decimals.
fn normalize_group_util(skipped: usize, row: &mut Row<'_>) -> bool {
    let number = (row.report + skipped + 1) as f64;
    let util = row.titles.iter().position(|title| title == "util");
    let Some(util) = util.filter(|_| row.name.starts_with(' ')) else {
        return false;
    };
    let value = |cell: &str| {
        cell.trim_end_matches('%')
            .parse::<f64>()
            .unwrap_or(f64::NAN)
    };
    let decimals = row.theirs[util]
        .trim_end_matches('%')
        .split_once('.')
        .map_or(0, |(_, rest)| rest.len());
    let half = 0.5 / 10f64.powi(i32::try_from(decimals).unwrap_or(0));
    if (value(&row.theirs[util]) * number - value(&row.ours[util])).abs()
        <= half * (number + 1.0) + 1e-9
    {
        row.theirs[util].clone_from(&row.ours[util]);
        return true;
    }
    false
}

fn normalize_changed_group(case: &Case, machine: &Machine, row: &mut Row<'_>) -> bool {
    let last = case.first_sample() + row.report;
    let names = |sample| names_at(case, machine, sample);
    let devices_changed = (0..last).any(|sample| names(sample) != names(last));
    let util = row.titles.iter().position(|title| title == "util");
    let Some(util) = util.filter(|_| row.name.starts_with(' ') && devices_changed) else {
        return false;
    };
    row.theirs[util].clone_from(&row.ours[util]);
    true
}

/// Returns the names of the devices at a sample.
fn names_at(case: &Case, machine: &Machine, sample: usize) -> Vec<String> {
    let devices = &machine.step(sample * case.interval().unwrap_or(1)).devices;
    devices.iter().map(|device| device.name.clone()).collect()
}
