//! Keeps the program in memory, so that a disk that hangs does not stop the tool that should diagnose it: a page of the
//! program that is not in memory is read from its file, and waits as long as that disk does.

use rustix::mm::{MlockAllFlags, mlockall};
use rustix::process::{Resource, getrlimit};
use rustix::thread::{CapabilitySet, capabilities};

/// Locks all memory of the program, which reads all of it that is not in memory yet, and later allocations where the
/// system cannot refuse them for it.
///
/// For commands that run until they are interrupted, after their first sample, when all files were read. The memory
/// stays unlocked if the limit of the user (RLIMIT_MEMLOCK) is too low.
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
    let is_privileged = capabilities(None).is_ok_and(|sets| sets.effective.contains(CapabilitySet::IPC_LOCK));
    is_privileged || getrlimit(Resource::Memlock).current.is_none()
}
