//! blkstat as iostat and as pt-diskstats, compared with the output of the real programs.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(clippy::disallowed_methods)] // The peers run in real time, and the fixtures are real files.
#![allow(clippy::print_stdout)]

use std::sync::{Mutex, MutexGuard, PoisonError};

mod iostat;
mod logs;
mod pt_diskstats;

/// Waits until no other test runs that needs this computer for itself: because its programs have to keep the time, or
/// because it keeps all CPUs busy.
fn wait_for_turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

#[allow(dead_code)] // The tests of the commands use the rest.
#[path = "../support"]
mod support {
    pub(crate) mod fake_root;
    pub(crate) mod in_process;
    pub(crate) mod program;
    pub(crate) mod random_numbers;
    pub(crate) mod references;
    pub(crate) mod snapshot;
    pub(crate) mod terminal;
}
