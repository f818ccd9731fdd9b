//! Runs blkstat on an invented host or a generated capture.

use std::fmt::Write as _;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// Prepares blkstat with arguments separated by blanks and a fixed environment.
pub(crate) fn blkstat(words: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_blkstat"));
    command.args(words.split_whitespace()).env("TZ", "UTC").env("LC_ALL", "C").env("HOME", "/nonexistent");
    for name in ["NO_COLOR", "TERM", "S_TIME_FORMAT", "S_COLORS", "LINES", "COLUMNS", "RUST_BACKTRACE"] {
        command.env_remove(name);
    }
    command.stdin(Stdio::null());
    command
}

/// The outcome of a run.
#[derive(Debug, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) out: String,
    pub(crate) err: String,
    /// The exit code; -1 if a signal ended the run.
    pub(crate) code: i32,
}

impl From<Output> for Outcome {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        let code = output.status.code().unwrap_or(-1);
        Self { out: text(output.stdout), err: text(output.stderr), code }
    }
}

/// Runs blkstat on standard input.
pub(crate) fn on_input(words: &str, input: &[u8]) -> Outcome {
    let mut child =
        blkstat(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            // blkstat may close its input early.
            let _ = stdin.write_all(input);
        });
        child.wait_with_output().unwrap().into()
    })
}

/// A diskstats line of a device after this many reads and as many writes.
pub(crate) fn device(minor: u64, name: &str, ios: u64) -> String {
    let (sectors, ms) = (8 * ios, 2 * ios);
    format!(
        "   8 {minor:7} {name} {ios} 0 {sectors} {ms} {ios} 0 {sectors} {ms} 1 {ms} {} 0 0 0 0 0 0\n",
        2 * ms
    )
}

/// A sample of a capture.
pub(crate) fn sample(second: u64, lines: &str) -> String {
    format!("TS {second}.500000000 2026-11-20 18:22:11\n{lines}")
}

/// A capture of two devices that are always busy.
pub(crate) fn capture(samples: u64) -> String {
    let mut text = String::new();
    for at in 0..samples {
        let lines = device(0, "sda", 1000 + 100 * at) + &device(16, "sdb", 7 * at);
        text.write_str(&sample(1_800_000_000 + at, &lines)).unwrap();
    }
    text
}

/// Writes the state at `second` of a host with two disks and a device-mapper device.
pub(crate) fn write_host(root: &Path, second: u64) {
    for name in ["sda", "sdb", "dm-0"] {
        fs::create_dir_all(root.join("sys/block").join(name)).unwrap();
    }
    fs::create_dir_all(root.join("proc")).unwrap();
    let lines = device(0, "sda", 1000 + 100 * second) + &device(16, "sdb", 5) + &device(32, "dm-0", second);
    fs::write(root.join("proc/diskstats"), lines).unwrap();
    fs::write(root.join("proc/uptime"), format!("{}.00 5.00\n", 100 + second)).unwrap();
    fs::write(root.join("proc/stat"), format!("cpu  {} 0 5 {} 0 0 0 0\n", 20 * second, 80 * second)).unwrap();
}

/// A host whose counters do not change.
pub(crate) fn host() -> TempDir {
    let root = tempfile::tempdir().unwrap();
    write_host(root.path(), 0);
    root
}
