//! Keeps the program in memory, so that a disk that hangs does not stop the tool that should diagnose it: a page of the
//! program that is not in memory would have to be read from that disk.

use rustix::mm::{MlockAllFlags, mlockall};
use rustix::process::{Resource, getrlimit};
use rustix::thread::{CapabilitySet, capabilities};

/// Locks all memory of the program, which also reads the pages that are not in memory yet. Also locks later
/// allocations, unless the limit could make them fail.
///
/// For commands that run until they are interrupted; called after their first sample, when all files have been read.
/// The memory stays unlocked if the limit of the user (RLIMIT_MEMLOCK) is too low.
pub fn lock_memory() {
    // The program works without it.
    let _ = mlockall(MlockAllFlags::CURRENT);
    // With a limit, an allocation beyond it would fail.
    if can_lock_without_limit() {
        let _ = mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE);
    }
}

/// Returns whether the user may lock any amount of memory.
fn can_lock_without_limit() -> bool {
    let is_privileged =
        capabilities(None).is_ok_and(|sets| sets.effective.contains(CapabilitySet::IPC_LOCK));
    is_privileged || getrlimit(Resource::Memlock).current.is_none()
}
