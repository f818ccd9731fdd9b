//! `blkstat`: arguments, then a run, then an exit code.

use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::process::ExitCode;

use blkstat::clock::RealClock;
use blkstat::exit::Exit;
use blkstat::run::{RunContext, run};
use blkstat::signals::Signals;

fn main() -> ExitCode {
    let plan = match blkstat::cli::plan(std::env::args_os(), &|name| std::env::var_os(name)) {
        Ok(plan) => plan,
        Err(refusal) => return refuse(&refusal.message, refusal.exit).into(),
    };
    let signals = Signals::catch().ok();
    let clock = RealClock::new(signals.as_ref());
    // Unbuffered, so that a report is one write.
    let out = io::stdout().as_fd().try_clone_to_owned().map(File::from);
    let mut err = io::stderr();
    match out {
        Ok(mut out) => {
            let is_terminal = io::stdout().is_terminal();
            run(&plan, &mut RunContext { clock: &clock, out: &mut out, err: &mut err, is_terminal }).into()
        }
        Err(error) => {
            refuse(&format!("blkstat: cannot write to standard output: {error}\n"), Exit::Error).into()
        }
    }
}

/// Prints why there is no run, or the help that was asked for.
fn refuse(message: &str, exit: Exit) -> Exit {
    let printed = match exit {
        Exit::Success => io::stdout().write_all(message.as_bytes()),
        _ => io::stderr().write_all(message.as_bytes()),
    };
    match printed {
        Ok(()) => exit,
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => exit,
        Err(error) => {
            // If that cannot be said either, the exit code still tells.
            let _ = writeln!(io::stderr(), "blkstat: cannot write to standard output: {error}");
            Exit::Error
        }
    }
}
