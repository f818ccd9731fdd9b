//! Runs a program without a terminal.

use std::process::Stdio;
use std::sync::Mutex;
use std::thread;

use crate::support::program::{BLKSTAT, Program};
use crate::support::references::Outcome;

/// blkstat as pt-diskstats.
pub(crate) const OURS: &[&str] = &[BLKSTAT, "pt-diskstats"];

/// Seconds after which a run is killed, with exit status 124.
const MAX_RUN_S: &str = "8";

/// Runs a program without a terminal.
pub(crate) fn run(program: &[&str], arguments: &[String]) -> Outcome {
    let words: Vec<&str> = ["timeout", MAX_RUN_S, "setsid"]
        .iter()
        .chain(program)
        .copied()
        .collect();
    // Without TERM, the real one ends with another status if its configuration is invalid.
    let program = Program::new(&words).args(arguments).env("TERM", "xterm");
    let output = program.spawn(Stdio::piped(), Stdio::null());
    let output = output.wait_with_output().unwrap();
    Outcome {
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        status: output.status.code().unwrap_or(-1),
    }
}

/// Maps items in order, with this many threads.
pub(crate) fn map<T: Sync, R: Send>(
    items: &[T],
    threads: usize,
    make: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let next = Mutex::new(items.iter().enumerate());
    let made = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let Some((index, item)) = next.lock().unwrap().next() else {
                        break;
                    };
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
