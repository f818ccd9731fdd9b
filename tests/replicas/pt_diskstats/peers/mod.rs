//! Compares blkstat with the real pt-diskstats on random captures: bytes and exit status must be equal.
//!
//! Needs `pt-diskstats`, and `setsid` and `timeout`, which every Linux has. Without it the tests are skipped; with
//! BLKSTAT_PEERS=required they fail.
//!
//! BLKSTAT_RECORD=1 records the output of the real pt-diskstats in `fixtures/reference`.

mod random;

use std::collections::BTreeMap;
use std::env::var;
use std::fs;

use crate::pt_diskstats::captures::{COLUMNS, Captures};
use crate::pt_diskstats::case::{Case, Session};
use crate::pt_diskstats::differences::mismatch;
use crate::pt_diskstats::fail_if_any;
use crate::pt_diskstats::programs::{OURS, map, run};
use crate::pt_diskstats::{recorded, terminal};
use crate::support::program::Program;
use crate::support::references::Outcome;
use crate::{requested, wait_for_turn};

const REAL: &[&str] = &["pt-diskstats"];
/// Parallel runs without a terminal.
const MAX_RUNS: usize = 4;
/// Parallel runs on a terminal, which mostly wait.
const MAX_SESSIONS: usize = 8;
/// On a busy machine a key may come too early; a real difference is the same each time.
const MAX_ATTEMPTS: usize = 3;

/// Returns the version of the real pt-diskstats; `None` if it is missing.
fn real() -> Option<String> {
    let is_installed = Program::new(&["sh", "-c", "command -v pt-diskstats"])
        .run()
        .code
        == 0;
    let version = is_installed.then(|| {
        Program::new(REAL)
            .args(["--version"])
            .run()
            .out
            .trim()
            .to_owned()
    });
    if version.is_none() {
        println!("skipped: needs pt-diskstats");
        assert_ne!(
            var("BLKSTAT_PEERS").as_deref(),
            Ok("required"),
            "pt-diskstats is missing"
        );
    }
    version
}

#[test]
fn blkstat_prints_what_pt_diskstats_prints_of_random_captures() {
    let _turn = wait_for_turn();
    if real().is_none() {
        return;
    }
    let (seed, count) = requested(random::SEED, random::CAPTURES);
    let dir = tempfile::tempdir().unwrap();
    let numbers: Vec<u64> = (0..count).map(|number| seed.wrapping_add(number)).collect();
    let found = map(&numbers, MAX_RUNS, |seed| {
        let (capture, lines) = random::capture(*seed);
        let path = dir.path().join(seed.to_string());
        fs::write(&path, &capture).unwrap();
        let differs = lines.iter().filter_map(|line| {
            let arguments = Case::new("random", line).arguments(&path);
            let [theirs, ours] = [REAL, OURS].map(|program| run(program, &arguments));
            mismatch(&format!("seed {seed}"), line, &theirs, &ours)
        });
        differs
            .reduce(|all, more| all + &more)
            .map(|text| format!("{text}{capture}"))
    });
    fail_if_any(found);
}

fn status(outcome: &Outcome) -> Outcome {
    Outcome {
        stdout: String::new(),
        status: outcome.status,
    }
}

/// Returns whether an output is equal to the recorded one, which was printed twice. The real one loses output if the
/// terminal is slow.
fn is_as_recorded(recorded: &[(Session, Outcome)], session: &Session, outcome: &Outcome) -> bool {
    recorded
        .iter()
        .any(|(known, theirs)| known == session && theirs == outcome)
}

fn press(program: &[&str], captures: &Captures, session: &Session) -> Outcome {
    let path = captures.path(&session.capture, COLUMNS[0]);
    let arguments = Case::new(&session.capture, &session.line).arguments(&path);
    terminal::run(program, &arguments, session)
}

#[test]
fn the_output_of_pt_diskstats_is_recorded_on_request() {
    let _turn = wait_for_turn();
    let Some(version) = var("BLKSTAT_RECORD").ok().and_then(|_| real()) else {
        return;
    };
    let captures = Captures::write();
    let mut files: BTreeMap<String, Vec<(String, Outcome)>> = BTreeMap::new();
    let run = |(case, _): &(Case, Outcome)| {
        run(
            REAL,
            &case.arguments(&captures.path(&case.capture, COLUMNS[0])),
        )
    };
    let (cases, statuses, sessions) = (
        recorded::cases(),
        recorded::status_only(),
        recorded::sessions(),
    );
    for ((case, _), outcome) in cases.iter().zip(map(&cases, MAX_RUNS, run)) {
        files
            .entry(case.capture.clone())
            .or_default()
            .push((case.line.clone(), outcome));
    }
    for ((case, _), outcome) in statuses.iter().zip(map(&statuses, MAX_RUNS, run)) {
        let file = files.entry(recorded::STATUSES.to_owned()).or_default();
        file.push((case.line.clone(), status(&outcome)));
    }
    // Repeated until two runs are equal, or one is as recorded, so that none in which a key came too early is recorded.
    let repeat = |(session, _): &(Session, Outcome)| {
        let mut before = press(REAL, &captures, session);
        for _ in 0..MAX_ATTEMPTS {
            let again = press(REAL, &captures, session);
            if again == before || is_as_recorded(&sessions, session, &again) {
                return Some(again);
            }
            before = again;
        }
        None
    };
    let outcomes = map(&sessions, MAX_SESSIONS, repeat);
    for (recorded, outcome) in sessions.iter().zip(outcomes) {
        let (session, _) = recorded;
        // Once more, one at a time: on a busy machine several sessions disturb each other.
        let Some(outcome) = outcome.or_else(|| repeat(recorded)) else {
            panic!(
                "{}: {} never prints the same twice",
                session.capture,
                session.name()
            );
        };
        let file = files
            .entry(recorded::keys_file(&session.capture))
            .or_default();
        file.push((session.name(), outcome));
    }
    for (name, outcomes) in files {
        recorded::write(&name, &version, &outcomes);
    }
}
