//! Runs cases with both programs in parallel, and compares the outcomes.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::thread;

use super::sandbox::Sandbox;
use crate::iostat::case::Case;
use crate::iostat::differences::{self, Version};
use crate::iostat::machine::Machine;
use crate::iostat::mask;
use crate::support::program::BLKSTAT;
use crate::support::references::Outcome;

/// Parallel cases in a sandbox; each starts two programs.
const MAX_CASES: usize = 12;
/// Parallel sandboxes, whose programs mostly sleep.
const MAX_SANDBOXES: usize = 8;
/// On a busy machine a sample may be on the wrong side of a step; a real difference is the same each time.
const MAX_ATTEMPTS: usize = 3;

/// Attempts to start a batch while the computer is too busy.
const MAX_STARTS: usize = 30;

/// A case with the outcomes of the real iostat and of blkstat.
pub(crate) struct Pair {
    pub(crate) case: Case,
    pub(crate) theirs: Outcome,
    pub(crate) ours: Outcome,
}

/// Runs the cases, and runs those again that are not settled; `is_settled` gets the current and the previous outcomes.
pub(crate) fn run(
    machines: &BTreeMap<String, Machine>,
    cases: &[Case],
    is_settled: &(dyn Fn(&Pair, Option<&Pair>) -> bool + Sync),
) -> Vec<Pair> {
    let mut pairs: Vec<Option<Pair>> = cases.iter().map(|_| None).collect();
    let mut open: Vec<usize> = (0..cases.len()).collect();
    for _ in 0..MAX_ATTEMPTS {
        let ran = run_once(machines, cases, &open);
        open.clear();
        for (index, pair) in ran {
            if !is_settled(&pair, pairs[index].as_ref()) {
                open.push(index);
            }
            pairs[index] = Some(pair);
        }
    }
    pairs.into_iter().flatten().collect()
}

fn run_once(
    machines: &BTreeMap<String, Machine>,
    cases: &[Case],
    open: &[usize],
) -> Vec<(usize, Pair)> {
    let mut batches: Vec<Vec<usize>> = Vec::new();
    for index in open {
        match batches.last_mut() {
            Some(batch)
                if batch.len() < MAX_CASES && cases[batch[0]].machine == cases[*index].machine =>
            {
                batch.push(*index);
            }
            _ => batches.push(vec![*index]),
        }
    }
    let queue = Mutex::new(batches.into_iter());
    let done = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..MAX_SANDBOXES {
            scope.spawn(|| {
                loop {
                    let Some(batch) = queue.lock().unwrap().next() else {
                        break;
                    };
                    let picked: Vec<Case> =
                        batch.iter().map(|index| cases[*index].clone()).collect();
                    let pairs = run_batch(&machines[&picked[0].machine], &picked);
                    done.lock().unwrap().extend(batch.into_iter().zip(pairs));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap();
    done.sort_by_key(|(index, _)| *index);
    done
}

fn run_batch(machine: &Machine, cases: &[Case]) -> Vec<Pair> {
    let programs: [&[&str]; 2] = [&["iostat"], &[BLKSTAT, "iostat"]];
    let run = || {
        Sandbox::new(machine)
            .expect("the sandbox worked before")
            .run(cases, &programs)
    };
    let outcomes = (0..MAX_STARTS)
        .find_map(|_| run())
        .expect("this computer is too busy to keep the time");
    let pairs = cases
        .iter()
        .cloned()
        .zip(outcomes)
        .map(|(case, mut outcomes)| {
            let ours = outcomes.pop().unwrap();
            Pair {
                case,
                theirs: outcomes.pop().unwrap(),
                ours,
            }
        });
    pairs.collect()
}

/// Returns the differences that are not allowed; `None` if there are none.
pub(crate) fn mismatch(machine: &Machine, version: Version, pair: &Pair) -> Option<String> {
    let masked = |outcome: &Outcome| Outcome {
        stdout: mask::times(&outcome.stdout),
        status: outcome.status,
    };
    differences::mismatch(
        &pair.case,
        machine,
        version,
        &masked(&pair.theirs),
        &masked(&pair.ours),
    )
}
