//! A synthetic host, and generated captures.

use crate::support::fake_root::{FakeRoot, busy_line};
use crate::support::program::{Outcome, blkstat};

/// Runs blkstat on standard input.
pub(crate) fn on_input(words: &str, input: &[u8]) -> Outcome {
    blkstat(words).input(input).run()
}

/// Returns a diskstats line of a device after this many reads and as many writes.
pub(crate) fn device(minor: u64, name: &str, ios: u64) -> String {
    busy_line(&format!("   8 {minor:7}"), name, ios, 1)
}

/// Returns a sample of a capture.
pub(crate) fn sample(second: u64, lines: &str) -> String {
    format!("TS {second}.500000000 2026-11-20 18:22:11\n{lines}")
}

/// Returns a capture of two devices that are always busy.
pub(crate) fn capture(samples: u64) -> String {
    let lines = |at: u64| device(0, "sda", 1000 + 100 * at) + &device(16, "sdb", 7 * at);
    (0..samples)
        .map(|at| sample(1_800_000_000 + at, &lines(at)))
        .collect()
}

/// Writes the state at `second` of a host with two disks and a device-mapper device.
pub(crate) fn write_host(host: &FakeRoot, second: u64) {
    for name in ["sda", "sdb", "dm-0"] {
        host.folder(&format!("sys/block/{name}"));
    }
    let lines =
        device(0, "sda", 1000 + 100 * second) + &device(16, "sdb", 5) + &device(32, "dm-0", second);
    let ticks = format!("{} 0 5 {} 0 0 0 0", 20 * second, 80 * second);
    host.diskstats(&lines)
        .uptime(format!("{}.00", 100 + second))
        .cpu(&ticks, 0);
}

/// Returns a host whose counters do not change.
pub(crate) fn host() -> FakeRoot {
    let host = FakeRoot::new();
    write_host(&host, 0);
    host
}
