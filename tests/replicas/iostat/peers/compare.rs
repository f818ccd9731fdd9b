//! Runs cases with the real iostat and with blkstat, and compares the outcomes.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::thread;

use super::sandbox::Sandbox;
use crate::iostat::case::Case;
use crate::iostat::differences::{self, Version};
use crate::iostat::machine::Machine;
use crate::iostat::mask;
use crate::iostat::runner::run_ours;
use crate::support::references::Outcome;

/// Machines that are tried at a time.
const MAX_SANDBOXES: usize = 4;

/// Runs the real iostat for cases that are grouped by machine, and hands each outcome to `examine`, with the sandbox, in
/// which the machine still is. Returns what that returns, in the order of the cases.
pub(crate) fn run<T: Send>(
    machines: &BTreeMap<String, Machine>,
    cases: &[Case],
    examine: &(dyn Fn(&Machine, &Case, Outcome, &Sandbox) -> T + Sync),
) -> Vec<T> {
    let groups = cases.chunk_by(|one, other| one.machine == other.machine);
    let queue = Mutex::new(groups.enumerate());
    let done = Mutex::new(BTreeMap::new());
    thread::scope(|scope| {
        for _ in 0..MAX_SANDBOXES {
            scope.spawn(|| {
                let sandbox = Sandbox::new().expect("a sandbox worked before");
                loop {
                    let Some((number, group)) = queue.lock().unwrap().next() else {
                        break;
                    };
                    let machine = &machines[&group[0].machine];
                    sandbox.put(machine);
                    let outcomes = sandbox.run(machine, group).into_iter().zip(group);
                    let examined: Vec<T> = outcomes
                        .map(|(outcome, case)| examine(machine, case, outcome, &sandbox))
                        .collect();
                    done.lock().unwrap().insert(number, examined);
                }
            });
        }
    });
    done.into_inner().unwrap().into_values().flatten().collect()
}

/// Runs the cases with both programs. Returns the differences that are not allowed, by machine.
pub(crate) fn find_mismatches(
    machines: &BTreeMap<String, Machine>,
    cases: &[Case],
    version: Version,
) -> BTreeMap<String, String> {
    let mut found: BTreeMap<String, String> = BTreeMap::new();
    let compared = run(machines, cases, &|machine, case, theirs, sandbox| {
        let ours = run_ours(case, machine, sandbox.path());
        differences::mismatch(case, machine, version, &masked(&theirs), &masked(&ours))
    });
    for (case, difference) in cases.iter().zip(compared) {
        if let Some(text) = difference {
            found
                .entry(case.machine.clone())
                .or_default()
                .push_str(&text);
        }
    }
    found
}

fn masked(outcome: &Outcome) -> Outcome {
    Outcome {
        stdout: mask::machine(&mask::times(&outcome.stdout)),
        status: outcome.status,
    }
}
