//! Runs blkstat as iostat on a synthetic machine: in this process, without root and without waiting.

use std::cell::Cell;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use blkstat::clock::{Clock, WaitOutcome};
use blkstat::exit::Exit;
use jiff::Timestamp;

use crate::iostat::case::{Case, End};
use crate::iostat::layout;
use crate::iostat::machine::Machine;
use crate::support::in_process::in_process;
use crate::support::references::Outcome;

/// No case takes longer; a run that does is stopped.
const MAX_RUN: Duration = Duration::from_secs(100);

/// A clock that advances only when it is waited on. The machine then advances to the step of that time.
struct StepClock<'a> {
    now: Cell<Duration>,
    top: &'a Path,
    steps: u64,
    end: End,
    shown: Cell<u64>,
}

impl StepClock<'_> {
    /// Shows a step, the last one at most. As in the peers tests, a step begins half a second before its time.
    fn show(&self, step: u64) {
        let step = step.min(self.steps - 1);
        if self.shown.replace(step) != step {
            layout::switch_to(self.top, usize::try_from(step).unwrap());
        }
    }
}

impl Clock for StepClock<'_> {
    fn monotonic(&self) -> Duration {
        self.now.get()
    }

    fn wall(&self) -> Timestamp {
        Timestamp::from_second(1_790_000_000).unwrap()
    }

    fn wait(&self, deadline: Option<Duration>, _input: Option<BorrowedFd<'_>>) -> WaitOutcome {
        let Some(deadline) = deadline else {
            return WaitOutcome::Input;
        };
        match self.end {
            End::Signal(name) if deadline >= Duration::from_secs(self.steps) => {
                WaitOutcome::Signal(if name == "INT" { 2 } else { 15 })
            }
            _ if deadline > MAX_RUN => WaitOutcome::Signal(9),
            _ => {
                self.now.set(deadline.max(self.now.get()));
                self.show((deadline + Duration::from_millis(500)).as_secs());
                WaitOutcome::Due
            }
        }
    }
}

/// Runs blkstat.
pub(crate) fn run_ours(case: &Case, machine: &Machine, top: &Path) -> Outcome {
    layout::switch_to(top, 0);
    let clock = StepClock {
        now: Cell::default(),
        top,
        steps: machine.steps.len() as u64,
        end: case.end,
        shown: Cell::new(0),
    };
    let mut iostat = in_process("iostat")
        .root(&top.join("current"))
        .args(case.arguments_at(top));
    for (name, value) in &case.environment {
        iostat = iostat.env(name, value);
    }
    let (stdout, _, exit) = iostat.run(&clock);
    Outcome {
        stdout,
        status: status(exit),
    }
}

/// Returns the exit status as a number.
fn status(exit: Exit) -> i32 {
    let is_equal = |number: &u8| ExitCode::from(exit) == ExitCode::from(*number);
    i32::from((0..=u8::MAX).find(is_equal).unwrap())
}

/// Replaces the nodes of mapped names by links, because a regular file does not have a device number.
pub(crate) fn with_links(machine: &Machine) -> Machine {
    let mut machine = machine.clone();
    machine
        .steps
        .iter_mut()
        .flat_map(|step| &mut step.mapped)
        .for_each(|mapped| mapped.is_link = true);
    machine
}
