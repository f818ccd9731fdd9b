//! Long runs on a host whose devices appear and disappear: neither memory nor open files grow.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::process::Command;

use blkstat::clock::WaitOutcome;
use blkstat::exit::Exit;
use jiff::Timestamp;

use crate::support::clock::ManualClock;
use crate::support::fake_root::FakeRoot;
use crate::support::in_process::in_process;
use crate::support::process::usage;

/// Devices of the host. One of the second half is absent at any time.
const DEVICES: u64 = 6;
/// Samples after which the next device is absent.
const SAMPLES_PER_CHANGE: u64 = 50;

/// Writes the state of the host at sample `at`.
fn write_host(host: &FakeRoot, at: u64) {
    let mut lines = String::new();
    let half = DEVICES / 2;
    let absent = half + at / SAMPLES_PER_CHANGE % half;
    for n in (0..DEVICES).filter(|n| *n != absent) {
        // A device that reappears counts from zero, and the columns of milliseconds wrap.
        let age = if n < half {
            at
        } else {
            at % (half * SAMPLES_PER_CHANGE)
        };
        let (ios, ms) = (age * (n % 5) * 100, age * (n % 5) * 40_000 % (1 << 32));
        let sectors = 8 * ios;
        writeln!(
            lines,
            "   8 {n:7} sd{} {ios} 3 {sectors} {ms} {ios} 3 {sectors} {ms} {} {ms} {ms} 0 0 0 0 {age} {age}",
            char::from(b'a' + n as u8),
            n % 3
        )
        .unwrap();
    }
    host.diskstats(&lines).uptime(format!("{}.00", 1000 + at));
}

fn new_host() -> FakeRoot {
    let host = FakeRoot::in_memory();
    host.folder("proc/pressure").cpu("5 0 5 800 0 0 0 0", 3);
    for n in 0..DEVICES {
        host.folder(&format!("sys/block/sd{}/queue", char::from(b'a' + n as u8)));
    }
    write_host(&host, 0);
    host
}

/// Counts the bytes that are written to it.
struct ByteCounter(u64);

impl Write for ByteCounter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Runs blkstat for a number of samples and compares its memory and open files throughout.
fn soak(words: &str, samples: u64) {
    let host = new_host();
    let measured = RefCell::new(Vec::new());
    let clock = ManualClock::new(Timestamp::UNIX_EPOCH, |at| {
        write_host(&host, at);
        // By the first fifth, every device has appeared and disappeared, and all buffers have their final size: incidents keep
        // what was up to six minutes before.
        if at >= samples / 5 && at % (samples / 10) == 0 {
            measured.borrow_mut().push(usage(std::process::id()));
        }
        if at < samples {
            WaitOutcome::Due
        } else {
            WaitOutcome::Signal(15)
        }
    });
    let mut out = ByteCounter(0);
    let (err, exit) = in_process(words).root(host.path()).run_to(&mut out, &clock);
    assert!(
        matches!(exit, Exit::Success | Exit::Signal(15)),
        "{exit:?}: {err}"
    );
    assert_eq!(err, "");
    assert!(out.0 > samples * 100, "{} bytes", out.0);
    drop(clock);
    let measured = measured.into_inner();
    let first = &measured[0];
    for now in &measured {
        assert!(
            now.open_files == first.open_files && now.resident_kib <= first.resident_kib + 512,
            "{words}: {measured:?}"
        );
    }
}

/// Set in a process that runs this test alone: it measures the memory and files of its process, in which other tests run.
const ALONE: &str = "BLKSTAT_TEST_ALONE";

#[test]
fn thousands_of_samples_use_constant_memory_and_open_files() {
    if std::env::var_os(ALONE).is_some() {
        soak("--json 1", 2_000);
        soak("--summary 1", 2_000);
        soak("iostat -dx -o JSON 1", 5_000);
        return;
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["soak::thousands_of_samples", "--nocapture"])
        .env(ALONE, "1");
    let output = command.output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && printed.contains("1 passed"),
        "{printed}"
    );
}
