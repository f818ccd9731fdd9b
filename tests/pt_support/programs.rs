//! A program run on a file, with nobody to press keys.

use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread;

use super::outcomes::Outcome;

/// blkstat in the place of the real one.
pub(crate) const OURS: &[&str] = &[env!("CARGO_BIN_EXE_blkstat"), "pt-diskstats"];

/// A run that takes longer than so many seconds does not end by itself; its exit status is 124.
const LONGEST: &str = "8";

/// A command in an environment that is the same everywhere. The first words start it apart from any terminal.
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
    let words: Vec<&str> = ["timeout", LONGEST, "setsid"].iter().chain(program).copied().collect();
    let output = command(&words).args(arguments).stdin(Stdio::null()).stderr(Stdio::null()).output().unwrap();
    Outcome {
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        status: output.status.code().unwrap_or(-1),
    }
}

/// What `make` gives for each of `items`, so many at a time.
pub(crate) fn map<T: Sync, R: Send>(items: &[T], at_once: usize, make: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = Mutex::new(items.iter().enumerate());
    let made = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..at_once {
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
