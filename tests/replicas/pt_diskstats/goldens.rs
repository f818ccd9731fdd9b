//! Compares blkstat with the recorded output of the real pt-diskstats. `peers` records the output.
//!
//! BLKSTAT_PEERS_ONLY=TEXT: only the cases whose capture and line contain the text.

use crate::pt_diskstats::captures::{COLUMNS, Captures};
use crate::pt_diskstats::case::{Case, Session};
use crate::pt_diskstats::differences::{DIFFERENCES, mismatch};
use crate::pt_diskstats::fail_if_any;
use crate::pt_diskstats::programs::{OURS, map, run};
use crate::pt_diskstats::{recorded, terminal};
use crate::support::references::Outcome;
use crate::wait_for_turn;

const MAX_RUNS: usize = 4;
const MAX_SESSIONS: usize = 24;
/// On a busy machine a key may come too early; a real difference is the same each time.
const MAX_ATTEMPTS: usize = 3;

/// Returns the recorded cases that are to be compared.
fn selected<C>(cases: Vec<(C, Outcome)>, name: impl Fn(&C) -> String) -> Vec<(C, Outcome)> {
    let only = std::env::var("BLKSTAT_PEERS_ONLY").unwrap_or_default();
    cases
        .into_iter()
        .filter(|(case, _)| name(case).contains(&only))
        .collect()
}

#[test]
fn blkstat_prints_what_pt_diskstats_printed_at_every_width() {
    let _turn = wait_for_turn();
    let captures = Captures::write();
    let cases = selected(recorded::cases(), Case::name);
    let found = map(&cases, MAX_RUNS, |(case, theirs)| {
        COLUMNS
            .iter()
            .filter_map(|columns| {
                let ours = run(
                    OURS,
                    &case.arguments(&captures.path(&case.capture, *columns)),
                );
                mismatch(
                    &case.capture,
                    &format!("{} ({columns} columns)", case.line),
                    theirs,
                    &ours,
                )
            })
            .next()
    });
    fail_if_any(found);
}

#[test]
fn blkstat_exits_as_pt_diskstats_did() {
    let _turn = wait_for_turn();
    let captures = Captures::write();
    let cases = selected(recorded::status_only(), Case::name);
    let found = map(&cases, MAX_RUNS, |(case, theirs)| {
        let ours = run(
            OURS,
            &case.arguments(&captures.path(&case.capture, COLUMNS[0])),
        );
        let ours = Outcome {
            stdout: String::new(),
            ..ours
        };
        mismatch(&case.capture, &case.line, theirs, &ours)
    });
    fail_if_any(found);
}

#[test]
fn blkstat_obeys_keys_as_pt_diskstats_did() {
    let _turn = wait_for_turn();
    let captures = Captures::write();
    let sessions = selected(recorded::sessions(), Session::full_name);
    let found = map(&sessions, MAX_SESSIONS, |(session, theirs)| {
        let path = captures.path(&session.capture, COLUMNS[0]);
        let arguments = Case::new(&session.capture, &session.line).arguments(&path);
        let mut differs = None;
        for _ in 0..MAX_ATTEMPTS {
            let ours = terminal::run(OURS, &arguments, session);
            differs = mismatch(&session.capture, &session.name(), theirs, &ours);
            if differs.is_none() {
                break;
            }
        }
        differs
    });
    fail_if_any(found);
}

#[test]
fn every_allowed_difference_applies_to_its_captures() {
    let captures = Captures::write();
    let cases = recorded::cases();
    for difference in DIFFERENCES {
        for capture in difference.captures {
            let differs = |(case, theirs): &(Case, Outcome)| {
                let ours = || run(OURS, &case.arguments(&captures.path(capture, COLUMNS[0])));
                let is_expected = |ours| ours != *theirs && (difference.is_expected)(theirs, &ours);
                case.capture == *capture && is_expected(ours())
            };
            assert!(
                cases.iter().any(differs),
                "{capture}: no {}",
                difference.reason
            );
        }
    }
}
