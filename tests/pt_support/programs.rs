//! Runs a program without a terminal.

use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread;

use super::recorded_runs::Outcome;

/// blkstat as pt-diskstats.
pub(crate) const OURS: &[&str] = &[env!("CARGO_BIN_EXE_blkstat"), "pt-diskstats"];

/// Seconds after which a run is killed, with exit status 124.
const MAX_RUN_S: &str = "8";

/// Returns a command with the same environment everywhere.
pub(crate) fn command(words: &[&str]) -> Command {
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).env("TZ", "UTC").env("LC_ALL", "C").env("HOME", "/nonexistent");
    for name in ["LINES", "COLUMNS", "PERL5OPT", "PERL5LIB", "PTDEBUG", "RUST_BACKTRACE"] {
        command.env_remove(name);
    }
    command
}

/// Runs a program without a terminal.
pub(crate) fn run(program: &[&str], arguments: &[String]) -> Outcome {
    let words: Vec<&str> = ["timeout", MAX_RUN_S, "setsid"].iter().chain(program).copied().collect();
    let output = command(&words).args(arguments).stdin(Stdio::null()).stderr(Stdio::null()).output().unwrap();
    Outcome {
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        status: output.status.code().unwrap_or(-1),
    }
}

/// Maps items in order, with this many threads.
pub(crate) fn map<T: Sync, R: Send>(items: &[T], threads: usize, make: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = Mutex::new(items.iter().enumerate());
    let made = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let Some((index, item)) = next.lock().unwrap().next() else { break };
                    let result = make(item);
                    made.lock().unwrap().push((index, result));
                }
            });
        }
    });
    let mut made = made.into_inner().unwrap();
    made.sort_by_key(|(index, _)| *index);
    made.into_iter().map(|(_, result)| result).collect()
}
