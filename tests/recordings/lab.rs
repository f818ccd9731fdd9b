//! A synthetic host to record, and functions that read its recordings.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use blkstat::capture::Reader;
use blkstat::clock::RealClock;
use blkstat::clock::WaitOutcome;
use blkstat::commands::{Command, Host, Plan, Record};
use blkstat::counters::Sample;
use blkstat::exit::Exit;
use blkstat::sink::Rotation;
use blkstat::source::Replay;
use jiff::Timestamp;
use tempfile::TempDir;

use crate::support::clock::ManualClock;
use crate::support::fake_root::FakeRoot;
use crate::support::in_process::of_plan;
use crate::support::process::wait_until;

/// The start time of the clock.
const START: i64 = 1_795_198_931;

/// Writes the host at step `n`: a disk, a partition of an old kernel, and from step 5 on a second disk.
pub(crate) fn write_host(host: &FakeRoot, n: u64) {
    let sda = format!(
        "   8       0 sda {n} 1 {} 3 4 5 6 7 0 9 {} 12 13 14 15 16 17\n",
        n * 8,
        n * 11
    );
    let sda1 = format!("   8       1 sda1 {n} 2 3 4\n");
    let sdb = format!("   8      16 sdb {n} 1 2 3 4 5 6 7 8 9 10\n");
    host.folder("sys/block/sda")
        .diskstats(&if n < 5 {
            sda + &sda1
        } else {
            sda + &sda1 + &sdb
        })
        .cpu(&format!("{n} 2 3 4 5 6 7 8 9 10"), n)
        .uptime(format!("{}.25", 100 + n))
        .file(
            "proc/meminfo",
            format!("MemTotal: 5 kB\nDirty:   {n} kB\nWriteback:  7 kB"),
        )
        .pressure(n * 2, n)
        .memory_pressure(n * 6, n * 4)
        .swapped(n * 5, n * 3)
        .file("proc/sys/kernel/hostname", "box")
        .file("proc/sys/kernel/osrelease", "6.1.0")
        .file("proc/sys/kernel/random/boot_id", "boot-1");
}

/// A temporary directory with the host and its recordings.
pub(crate) struct Lab {
    folder: TempDir,
    host: FakeRoot,
}

impl Lab {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let host = FakeRoot::at(&folder.path().join("root"));
        write_host(&host, 0);
        Self { folder, host }
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.host.path().to_owned()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn plan(&self, record: Record) -> Plan {
        Plan::Native(
            Command::Record(Box::new(record)),
            Host {
                root: self.root(),
                ..Host::default()
            },
        )
    }

    /// The options of a recording of `count` intervals of 250 ms.
    pub(crate) fn options(&self, name: &str, count: u64) -> Record {
        Record {
            file: if name == "-" {
                "-".into()
            } else {
                self.path(name)
            },
            operands: vec!["250ms".to_owned(), count.to_string()],
            no_who: true,
            ..Record::default()
        }
    }

    /// Records the host, which starts at step `from` and advances by one step at each wait.
    pub(crate) fn record(&self, record: Record, from: u64) -> (String, String, Exit) {
        let clock = self.clock(from, |_| WaitOutcome::Due);
        self.record_with(record, &clock)
    }

    /// A clock that starts `from` intervals late and whose waits have the outcome of `on_wait`.
    pub(crate) fn clock<'a>(
        &'a self,
        from: u64,
        on_wait: impl Fn(u64) -> WaitOutcome + 'a,
    ) -> ManualClock<'a> {
        write_host(&self.host, from);
        let delay = Duration::from_millis(250 * from);
        let start = Timestamp::new(START, 7)
            .unwrap()
            .checked_add(delay)
            .unwrap();
        ManualClock::new(start, move |n| {
            write_host(&self.host, from + n);
            on_wait(n)
        })
    }

    /// Records with a clock, and returns the output, the messages and the exit status.
    pub(crate) fn record_with(
        &self,
        record: Record,
        clock: &ManualClock<'_>,
    ) -> (String, String, Exit) {
        let (out, err, exit) = of_plan(self.plan(record)).run(clock);
        (out, without_open_wait(&err), exit)
    }

    /// Records while standard error is a terminal, and returns the messages.
    pub(crate) fn record_on_terminal(&self, record: Record) -> String {
        let clock = self.clock(0, |_| WaitOutcome::Due);
        without_open_wait(&of_plan(self.plan(record)).beside_terminal().run(&clock).1)
    }

    /// Records, without any output or error.
    pub(crate) fn record_quietly(&self, record: Record, from: u64) {
        assert_eq!(
            self.record(record, from),
            (String::new(), String::new(), Exit::Success)
        );
    }

    pub(crate) fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }
}

/// Leaves out the message that a file is not open yet: on a busy machine, opening it may take that long.
pub(crate) fn without_open_wait(messages: &str) -> String {
    messages
        .split_inclusive('\n')
        .filter(|line| !line.starts_with("blkstat: waiting to open "))
        .collect()
}

/// A rotation at this size.
pub(crate) fn by_size(size: u64, keep: Option<u32>) -> Rotation {
    Rotation {
        size: Some(size),
        keep,
        ..Rotation::default()
    }
}

/// The samples of a text, and its warnings with their lines.
pub(crate) fn read(text: impl Read) -> (Vec<Sample>, Vec<(u64, String)>) {
    let mut reader = Reader::new(text);
    let samples = collect(|previous, sample| reader.next(previous, sample).unwrap());
    let mut warnings = Vec::new();
    for warning in reader.take_warnings() {
        warnings.push((warning.line, warning.text));
    }
    (samples, warnings)
}

/// The samples of a file, compressed or not, and its warnings.
pub(crate) fn replay(path: &Path) -> (Vec<Sample>, Vec<String>) {
    let clock = RealClock::new(None);
    let mut source = Replay::open(path, None, &clock).unwrap();
    let samples = collect(|previous, sample| source.next(previous, sample).unwrap());
    let mut warnings = Vec::new();
    for warning in source.take_warnings() {
        warnings.push(warning.text);
    }
    (samples, warnings)
}

/// Collects the samples that `next` reads, each after the one before it, until there is none.
fn collect(mut next: impl FnMut(&Sample, &mut Sample) -> bool) -> Vec<Sample> {
    let mut previous = Sample::default();
    let mut sample = Sample::default();
    let mut samples = Vec::new();
    while next(&previous, &mut sample) {
        samples.push(sample.clone());
        std::mem::swap(&mut previous, &mut sample);
    }
    samples
}

/// Waits until a file, which another thread writes, has this number of samples.
pub(crate) fn wait_for_samples(file: &Path, count: usize) {
    assert!(wait_until(|| replay(file).0.len() >= count));
}
