//! Processes that run beside a test.

use std::fs;
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// The longest wait for anything that a program does soon unless it hangs. Long enough for a busy machine.
const MAX_WAIT: Duration = Duration::from_secs(60);

/// Sends a program a signal.
pub(crate) fn send(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

/// Waits until a condition holds. Returns `false` if it does not hold in time.
pub(crate) fn wait_until(mut is_met: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    while !is_met() {
        if start.elapsed() > MAX_WAIT {
            return false;
        }
        thread::sleep(Duration::from_millis(5));
    }
    true
}

/// What a process has taken of the system.
#[derive(Debug)]
pub(crate) struct Usage {
    pub(crate) resident_kib: u64,
    pub(crate) open_files: usize,
}

/// Returns what the process with this number has taken.
pub(crate) fn usage(pid: u32) -> Usage {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let resident = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .unwrap();
    let files = fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
    Usage {
        resident_kib: resident.trim().trim_end_matches(" kB").parse().unwrap(),
        open_files: files.count(),
    }
}
