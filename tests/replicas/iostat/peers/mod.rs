//! Compares blkstat with the real iostat on the same synthetic machines: bytes and exit status must be equal.
//!
//! The machines are the root directory of iostat, which needs root, `iostat`, `nsenter` and `ldd`. Without one of them the
//! tests are skipped; with BLKSTAT_PEERS=required they fail.
//!
//! Of the recorded cases only those are compared that the recorded output cannot check.
//!
//! - BLKSTAT_PEERS_ONLY=TEXT: the cases whose machine and line contain the text.
//! - BLKSTAT_RECORD=1: records the output of the real iostat in `fixtures/reference`; with BLKSTAT_PEERS_ONLY, only that
//!   of the selected cases.

mod compare;
mod missing_files;
mod random;
mod sandbox;

use std::collections::BTreeMap;
use std::env::var;
use std::process::Command;

use crate::iostat::case::Case;
use crate::iostat::differences::Version;
use crate::iostat::goldens::needs_nodes;
use crate::iostat::machine::Machine;
use crate::iostat::recorded;
use crate::{requested, wait_for_turn};
use compare::{find_mismatches, run};
use sandbox::Sandbox;

/// Returns the version of the real iostat; `None` if it or the sandbox is missing.
fn real_iostat() -> Option<Version> {
    let version = Command::new("iostat")
        .arg("-V")
        .output()
        .ok()
        .map(|out| out.stdout);
    let version =
        version.and_then(|text| parse_version(String::from_utf8(text).ok()?.lines().next()?));
    let ready = version.filter(|_| Sandbox::new().is_some());
    if ready.is_none() {
        println!("skipped: needs iostat, root, nsenter and ldd");
        assert_ne!(
            var("BLKSTAT_PEERS").as_deref(),
            Ok("required"),
            "the peers cannot be run"
        );
    }
    ready
}

/// Returns the version in a text such as `sysstat version 12.6.1`.
fn parse_version(text: &str) -> Option<Version> {
    let numbers = text
        .strip_prefix("sysstat version ")?
        .split('.')
        .map(|number| number.parse().ok());
    numbers.collect::<Option<Vec<u32>>>()?.try_into().ok()
}

/// Returns the machines and the cases that BLKSTAT_PEERS_ONLY names, or without it those that `is_selected`.
fn selected(is_selected: fn(&Case) -> bool) -> (BTreeMap<String, Machine>, Vec<Case>) {
    let only = var("BLKSTAT_PEERS_ONLY").ok();
    let (machines, cases) = recorded::all();
    let is_selected = |case: &Case| match &only {
        Some(text) => format!("{} {}", case.machine, case.line).contains(text),
        None => is_selected(case),
    };
    (
        machines,
        cases
            .into_iter()
            .map(|(case, _)| case)
            .filter(is_selected)
            .collect(),
    )
}

fn fail_if_any(found: impl IntoIterator<Item = String>) {
    let found: Vec<String> = found.into_iter().collect();
    assert!(
        found.is_empty(),
        "{} machines differ (- iostat, + blkstat):\n{}",
        found.len(),
        found.concat()
    );
}

#[test]
fn blkstat_finds_devices_by_the_nodes_by_which_iostat_finds_them() {
    let _turn = wait_for_turn();
    let Some(version) = real_iostat().filter(|_| var("BLKSTAT_RECORD").is_err()) else {
        return;
    };
    let (machines, cases) = selected(needs_nodes);
    fail_if_any(find_mismatches(&machines, &cases, version).into_values());
}

#[test]
fn blkstat_prints_what_iostat_prints_on_random_machines() {
    let _turn = wait_for_turn();
    let Some(version) = real_iostat() else { return };
    let (seed, count) = requested(random::SEED, random::MACHINES);
    let (machines, cases, texts) = random::machines(seed, count);
    let found = find_mismatches(&machines, &cases, version);
    fail_if_any(
        found
            .into_iter()
            .map(|(name, text)| format!("{name}:\n{}{text}", texts[&name])),
    );
}

#[test]
fn the_output_of_iostat_is_recorded_on_request() {
    let _turn = wait_for_turn();
    if var("BLKSTAT_RECORD").is_err() || real_iostat().is_none() {
        return;
    }
    assert_eq!(
        real_iostat(),
        Some(recorded::VERSION),
        "another iostat was recorded"
    );
    let (machines, cases) = selected(|_| true);
    let outcomes = run(&machines, &cases, &|_, _, theirs, _| theirs);
    let (_, mut recorded) = recorded::all();
    for (case, outcome) in &mut recorded {
        if let Some(at) = cases.iter().position(|known| known == case) {
            outcome.clone_from(&outcomes[at]);
        }
    }
    recorded::write(&recorded);
}
