//! Compares blkstat with the recorded output of the real pt-diskstats. `peers` records the output.
//!
//! BLKSTAT_PEERS_ONLY=TEXT: only the cases whose capture and line contain the text.

use crate::pt_diskstats::captures::{COLUMNS, Captures};
use crate::pt_diskstats::case::{Case, Session};
use crate::pt_diskstats::differences::{DIFFERENCES, mismatch};
use crate::pt_diskstats::fail_if_any;
use crate::pt_diskstats::programs::{OURS, map, run};
use crate::pt_diskstats::recorded::{STATUSES, keys_file, read};
use crate::pt_diskstats::{table, terminal};
use crate::support::references::Outcome;
use crate::wait_for_turn;

const MAX_RUNS: usize = 4;
const MAX_SESSIONS: usize = 24;
/// On a busy machine a key may come too early; a real difference is the same each time.
const MAX_ATTEMPTS: usize = 3;

/// Pairs the cases with their recorded outcomes, from the files that `file` names.
fn recorded<C>(cases: Vec<C>, file: impl Fn(&C) -> String, name: impl Fn(&C) -> String) -> Vec<(C, Outcome)> {
    let only = std::env::var("BLKSTAT_PEERS_ONLY").unwrap_or_default();
    let mut files = std::collections::BTreeMap::new();
    let mut pairs = Vec::new();
    for case in cases {
        let (file, name) = (file(&case), name(&case));
        if !format!("{file}: {name}").contains(&only) {
            continue;
        }
        let sections = files.entry(file.clone()).or_insert_with(|| read(&file));
        let outcome = sections.iter().find(|(line, _)| *line == name).map(|(_, outcome)| outcome.clone());
        let hint = "record it with BLKSTAT_RECORD=1 cargo test --test replicas recorded_on_request";
        pairs.push((case, outcome.unwrap_or_else(|| panic!("{file}: {name}: {hint}"))));
    }
    pairs
}

#[test]
fn blkstat_prints_what_pt_diskstats_printed_at_every_width() {
    let _turn = wait_for_turn();
    let captures = Captures::write();
    let cases = recorded(table::cases(), |case| case.capture.clone(), |case| case.line.clone());
    let found = map(&cases, MAX_RUNS, |(case, theirs)| {
        COLUMNS
            .iter()
            .filter_map(|columns| {
                let ours = run(OURS, &case.arguments(&captures.path(&case.capture, *columns)));
                mismatch(&case.capture, &format!("{} ({columns} columns)", case.line), theirs, &ours)
            })
            .next()
    });
    fail_if_any(found);
}

#[test]
fn blkstat_exits_as_pt_diskstats_did() {
    let _turn = wait_for_turn();
    let captures = Captures::write();
    let cases = recorded(table::status_only(), |_| STATUSES.to_owned(), |case| case.line.clone());
    let found = map(&cases, MAX_RUNS, |(case, theirs)| {
        let ours = run(OURS, &case.arguments(&captures.path(&case.capture, COLUMNS[0])));
        let ours = Outcome { stdout: String::new(), ..ours };
        mismatch(&case.capture, &case.line, theirs, &ours)
    });
    fail_if_any(found);
}

#[test]
fn blkstat_obeys_keys_as_pt_diskstats_did() {
    let _turn = wait_for_turn();
    let captures = Captures::write();
    let sessions = recorded(table::sessions(), |session| keys_file(&session.capture), Session::name);
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
    for difference in DIFFERENCES {
        for capture in difference.captures {
            let cases = table::cases().into_iter().filter(|case| case.capture == *capture).collect();
            let cases = recorded(cases, |case| case.capture.clone(), |case| case.line.clone());
            let differs = |(case, theirs): &(Case, Outcome)| {
                let ours = run(OURS, &case.arguments(&captures.path(capture, COLUMNS[0])));
                ours != *theirs && (difference.is_expected)(theirs, &ours)
            };
            let is_filtered = std::env::var_os("BLKSTAT_PEERS_ONLY").is_some();
            assert!(is_filtered || cases.iter().any(differs), "{capture}: no {}", difference.reason);
        }
    }
}
