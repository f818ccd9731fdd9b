//! Lines of captures and of recordings, and runs on hosts that change from second to second.

use blkstat::clock::WaitOutcome;
use blkstat::exit::Exit;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::support::clock::ManualClock;
use crate::support::fake_root::FakeRoot;
use crate::support::in_process::in_process;

/// A line of a device, with its numbers, after so many reads of 4 KiB that took so long together.
pub(crate) fn reads_line(
    device: &str,
    reads: u64,
    ms: u64,
    in_flight: u64,
    busy_ms: u64,
) -> String {
    let sectors = 8 * reads;
    format!("{device} {reads} 0 {sectors} {ms} 0 0 0 0 {in_flight} {busy_ms} {ms} 0 0 0 0 0 0\n")
}

/// The second of the wall clock at which captures begin.
pub(crate) const START_S: u64 = 1_795_197_600;

/// The line that begins the sample of a second.
pub(crate) fn ts_line(second: u64) -> String {
    format!("TS {}.000000000 2026-11-20 18:00:00\n", START_S + second)
}

/// The header of a recording of these devices.
pub(crate) fn header(devices: &Value) -> String {
    format!(
        "#blkstat {}\n",
        json!({"version": "0.2.0", "devices": devices})
    )
}

/// The line that ends the sample of a recording.
pub(crate) fn end_of_sample(second: u64) -> String {
    format!(
        "#blkstat {}\n",
        json!({"monotonic_ns": 1_000_000_000 * second, "complete": true})
    )
}

/// Runs a command on a host that `write` writes before the start and at each wait, which are numbered from 1. A signal ends
/// it after this number of waits. Returns standard output, standard error and how it ended.
pub(crate) fn run_on(
    write: impl Fn(&FakeRoot, u64),
    words: &str,
    waits: u64,
) -> (String, String, Exit) {
    let host = FakeRoot::new();
    write(&host, 0);
    let clock = ManualClock::new(Timestamp::UNIX_EPOCH, |wait| {
        write(&host, wait);
        if wait > waits {
            WaitOutcome::Signal(2)
        } else {
            WaitOutcome::Due
        }
    });
    in_process(words).root(host.path()).run(&clock)
}
