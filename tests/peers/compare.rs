//! Runs cases with both programs, many at a time, and compares what they left.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::thread;

use crate::sandbox::{Program, Sandbox};
use crate::support::case::Case;
use crate::support::machine::Machine;
use crate::support::outcomes::Outcome;
use crate::support::{differences, mask};

/// Cases of one machine in one sandbox; each starts two programs.
const AT_ONCE: usize = 12;
/// Sandboxes at a time: the programs mostly sleep.
const SANDBOXES: usize = 8;
/// A busy machine may move a sample to the wrong side of a step; what is truly wrong is wrong each time.
const ATTEMPTS: usize = 3;

/// How often a batch is started anew because the computer was too busy.
const STARTS: usize = 30;

/// A case with what the real iostat and blkstat left.
pub(crate) struct Pair {
    pub(crate) case: Case,
    pub(crate) theirs: Outcome,
    pub(crate) ours: Outcome,
}

/// Runs the cases until `is_settled` says of each that it need not be run again, given what was left before.
pub(crate) fn run(
    machines: &BTreeMap<String, Machine>,
    cases: &[Case],
    is_settled: &(dyn Fn(&Pair, Option<&Pair>) -> bool + Sync),
) -> Vec<Pair> {
    let mut pairs: Vec<Option<Pair>> = cases.iter().map(|_| None).collect();
    let mut open: Vec<usize> = (0..cases.len()).collect();
    for _ in 0..ATTEMPTS {
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

fn run_once(machines: &BTreeMap<String, Machine>, cases: &[Case], open: &[usize]) -> Vec<(usize, Pair)> {
    let mut batches: Vec<Vec<usize>> = Vec::new();
    for index in open {
        match batches.last_mut() {
            Some(batch) if batch.len() < AT_ONCE && cases[batch[0]].machine == cases[*index].machine => {
                batch.push(*index);
            }
            _ => batches.push(vec![*index]),
        }
    }
    let queue = Mutex::new(batches.into_iter());
    let done = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..SANDBOXES {
            scope.spawn(|| {
                loop {
                    let Some(batch) = queue.lock().unwrap().next() else { break };
                    let picked: Vec<Case> = batch.iter().map(|index| cases[*index].clone()).collect();
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
    let programs =
        [Program { command: &["iostat"] }, Program { command: &[env!("CARGO_BIN_EXE_blkstat"), "iostat"] }];
    let run = || Sandbox::new(machine).expect("the sandbox worked before").run(cases, &programs);
    let outcomes = (0..STARTS).find_map(|_| run()).expect("this computer is too busy to keep the time");
    let pairs = cases.iter().cloned().zip(outcomes).map(|(case, mut outcomes)| {
        let ours = outcomes.pop().unwrap();
        Pair { case, theirs: outcomes.pop().unwrap(), ours }
    });
    pairs.collect()
}

/// In what the two differ that should not; `None` when they agree.
pub(crate) fn mismatch(machine: &Machine, pair: &Pair) -> Option<String> {
    let masked = |outcome: &Outcome| Outcome { stdout: mask::times(&outcome.stdout), status: outcome.status };
    differences::mismatch(&pair.case, machine, &masked(&pair.theirs), &masked(&pair.ours))
}
