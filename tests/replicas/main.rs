//! blkstat as iostat and as pt-diskstats, compared with the output of the real programs.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(clippy::disallowed_methods)] // The peers run in real time, and the fixtures are real files.
#![allow(clippy::print_stdout)]

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::UNIX_EPOCH;

mod iostat;
mod logs;
mod pt_diskstats;

/// Waits until no other test runs that needs this computer for itself: because its programs have to keep the time, or
/// because it keeps all CPUs busy.
fn wait_for_turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the seed and the number of random inputs for a comparison with a real tool: `seed` and `count`, unless
/// BLKSTAT_PEERS_RANDOM=N asks for N others, and BLKSTAT_PEERS_SEED=S for this seed, which is printed.
fn requested(seed: u64, count: u64) -> (u64, u64) {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let requested = number("BLKSTAT_PEERS_RANDOM");
    let any_seed = || UNIX_EPOCH.elapsed().map_or(0, |now| now.as_secs());
    let seed = number("BLKSTAT_PEERS_SEED")
        .or_else(|| requested.map(|_| any_seed()))
        .unwrap_or(seed);
    println!("BLKSTAT_PEERS_SEED={seed}");
    (seed, requested.unwrap_or(count))
}

#[allow(dead_code)] // The tests of the commands use the rest.
#[path = "../support"]
mod support {
    pub(crate) mod clock;
    pub(crate) mod fake_root;
    pub(crate) mod in_process;
    pub(crate) mod program;
    pub(crate) mod random;
    pub(crate) mod references;
    pub(crate) mod snapshot;
    pub(crate) mod terminal;
    pub(crate) mod text;
}
