//! The `blkstat` program: parses the arguments, executes the plan and returns the exit code.

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use blkstat::clock::RealClock;
use blkstat::commands::{COMPLETION_VARIABLE, complete, plan, run};
use blkstat::console::RunContext;
use blkstat::exit::Exit;
use blkstat::os_error::os_error_text;
use blkstat::signals::Signals;
use blkstat::sink::StandardOutput;
use rustix::stdio::{stderr, stdout};

fn main() -> ExitCode {
    let environment = |name: &str| std::env::var_os(name);
    if environment(COMPLETION_VARIABLE).is_some_and(|shell| !shell.is_empty()) {
        return complete().into();
    }
    let plan = match plan(std::env::args_os(), &environment) {
        Ok(plan) => plan,
        Err(error) => return print_instead(&error.message, error.exit).into(),
    };
    let signals = if plan.needs_signals() {
        Signals::catch(&plan.further_signals()).ok()
    } else {
        None
    };
    let clock = RealClock::new(signals.as_ref());
    let out = StandardOutput::open(signals.as_ref());
    let mut err = io::stderr();
    match out {
        Ok(mut out) => {
            let is_terminal = stdout().is_terminal();
            let mut context = RunContext {
                clock: &clock,
                environment: &environment,
                out: &mut out,
                err: &mut err,
                is_terminal,
                err_is_terminal: stderr().is_terminal(),
                may_lock_memory: true,
            };
            run(&plan, &mut context).into()
        }
        Err(error) => print_instead(&cannot_write(&error), Exit::Error).into(),
    }
}

/// Prints a usage error, or help that was requested, instead of a run. Returns the exit code.
fn print_instead(message: &str, exit: Exit) -> Exit {
    let printed = match exit {
        Exit::Success => io::stdout().write_all(message.as_bytes()),
        _ => io::stderr().write_all(message.as_bytes()),
    };
    match printed {
        Ok(()) => exit,
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => exit,
        Err(error) => {
            // If this cannot be printed either, the exit code remains.
            let _ = io::stderr().write_all(cannot_write(&error).as_bytes());
            Exit::Error
        }
    }
}

fn cannot_write(error: &io::Error) -> String {
    let reason = os_error_text(error);
    format!("blkstat: cannot write to standard output: {reason}\n")
}
