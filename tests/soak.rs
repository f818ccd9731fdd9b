//! Very many samples of a machine whose devices come and go: memory and open files stay as they are.
//!
//! `cargo test --release --test soak -- --ignored --nocapture --test-threads 1` takes a million and prints what it measured.

#![allow(clippy::unwrap_used, clippy::panic, clippy::disallowed_methods, clippy::print_stderr)]

use std::cell::RefCell;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::time::Instant;

use blkstat::clock::{ManualClock, WaitOutcome};
use blkstat::exit::Exit;
use blkstat::run::{RunContext, run};
use jiff::Timestamp;
use tempfile::TempDir;

/// Devices that may be there; of the last half, one comes or goes every so many samples.
const NAMES: u64 = 20;
const FEW_NAMES: u64 = 6;
const CHANGE_EVERY: u64 = 50;

/// Writes the moment `at` of the machine.
fn lay(root: &Path, names: u64, at: u64, text: &mut String) {
    text.clear();
    let half = names / 2;
    let away = half + at / CHANGE_EVERY % half;
    for n in (0..names).filter(|n| *n != away) {
        // One that came back counts from zero, and the columns of milliseconds wrap.
        let since = if n < half { at } else { at % (half * CHANGE_EVERY) };
        let (work, ms) = (since * (n % 5) * 100, since * (n % 5) * 40_000 % (1 << 32));
        let sectors = 8 * work;
        writeln!(
            text,
            "   8 {n:7} sd{} {work} 3 {sectors} {ms} {work} 3 {sectors} {ms} {} {ms} {ms} 0 0 0 0 {since} {since}",
            char::from(b'a' + n as u8),
            n % 3
        )
        .unwrap();
    }
    fs::write(root.join("proc/diskstats"), &*text).unwrap();
    fs::write(root.join("proc/uptime"), format!("{}.00 5.00\n", 1000 + at)).unwrap();
}

/// A machine in memory, where there is a place for that.
fn machine(names: u64) -> TempDir {
    let root = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    fs::create_dir_all(root.path().join("proc/pressure")).unwrap();
    for n in 0..names {
        let name = format!("sys/block/sd{}/queue", char::from(b'a' + n as u8));
        fs::create_dir_all(root.path().join(name)).unwrap();
    }
    fs::write(root.path().join("proc/stat"), "cpu  5 0 5 800 0 0 0 0\nprocs_blocked 3\n").unwrap();
    lay(root.path(), names, 0, &mut String::new());
    root
}

/// Memory of this process in KiB, and its open files.
fn taken() -> (u64, usize) {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    let kib = line.trim().trim_end_matches(" kB").parse().unwrap();
    (kib, fs::read_dir("/proc/self/fd").unwrap().count())
}

/// Counts what is written.
struct Counted(u64);

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn soak(words: &str, names: u64, samples: u64) {
    let root = machine(names);
    let measured = RefCell::new(Vec::new());
    let text = RefCell::new(String::new());
    let start = Instant::now();
    let clock = ManualClock::new(Timestamp::UNIX_EPOCH, |at| {
        lay(root.path(), names, at, &mut text.borrow_mut());
        // Once every device has come and gone, everything has the room that it needs.
        if at >= samples / 10 && at % (samples / 10) == 0 {
            measured.borrow_mut().push(taken());
        }
        if at < samples { WaitOutcome::Due } else { WaitOutcome::Signal(15) }
    });
    let line = format!("blkstat {words} --root {}", root.path().display());
    let plan = blkstat::cli::plan(line.split_whitespace().map(OsString::from), &|_| None).unwrap();
    let (mut out, mut err) = (Counted(0), Vec::new());
    let exit =
        run(&plan, &mut RunContext { clock: &clock, out: &mut out, err: &mut err, is_terminal: false });
    assert!(matches!(exit, Exit::Success | Exit::Signal(15)), "{exit:?}: {}", String::from_utf8_lossy(&err));
    assert_eq!(err, b"");
    assert!(out.0 > samples * 100, "{} bytes", out.0);
    drop(clock);
    let measured = measured.into_inner();
    let kib: Vec<u64> = measured.iter().map(|(kib, _)| *kib).collect();
    let seconds = start.elapsed().as_secs_f64();
    eprintln!(
        "{words}: {samples} samples, {} MB written, {seconds:.1} s, KiB {kib:?}, files {}",
        out.0 >> 20,
        measured[0].1
    );
    assert!(measured.iter().all(|(_, files)| *files == measured[0].1), "{words}: files {measured:?}");
    assert!(kib.iter().all(|now| *now <= kib[0] + 512), "{words}: KiB {kib:?}");
}

#[test]
fn twenty_thousand_samples_leave_memory_and_open_files_as_they_are() {
    soak("--json 1", FEW_NAMES, 4_000);
    soak("--summary 1", FEW_NAMES, 4_000);
    soak("iostat -dx -o JSON 1", FEW_NAMES, 12_000);
}

#[test]
#[ignore = "takes minutes"]
fn a_million_samples_as_json() {
    soak("--json 1", NAMES, 1_000_000);
}

#[test]
#[ignore = "takes minutes"]
fn a_million_samples_as_tables_with_a_summary() {
    soak("--summary 1", NAMES, 1_000_000);
}

#[test]
#[ignore = "takes minutes"]
fn a_million_samples_of_iostat() {
    soak("iostat -dx -o JSON 1", NAMES, 1_000_000);
}
