//! A made-up machine that is recorded, and its recordings read back.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use blkstat::capture::Reader;
use blkstat::clock::RealClock;
use blkstat::clock::{ManualClock, WaitOutcome};
use blkstat::counters::Sample;
use blkstat::exit::Exit;
use blkstat::plan::{Plan, Record};
use blkstat::run::{RunContext, run};
use blkstat::schedule::Schedule;
use blkstat::source::Replay;
use jiff::Timestamp;

/// When the clock starts.
const START: i64 = 1_795_198_931;

/// The machine at its step `n`: a disk, a partition of an old kernel, and from step 5 on another disk.
pub(crate) fn lay(root: &Path, n: u64) {
    for folder in ["proc/sys/kernel/random", "proc/pressure", "sys/block/sda"] {
        fs::create_dir_all(root.join(folder)).unwrap();
    }
    let write = |name: &str, text: String| fs::write(root.join("proc").join(name), text).unwrap();
    let sda = format!("   8       0 sda {n} 1 {} 3 4 5 6 7 0 9 {} 12 13 14 15 16 17\n", n * 8, n * 11);
    let sda1 = format!("   8       1 sda1 {n} 2 3 4\n");
    let sdb = format!("   8      16 sdb {n} 1 2 3 4 5 6 7 8 9 10\n");
    write("diskstats", if n < 5 { sda + &sda1 } else { sda + &sda1 + &sdb });
    write("stat", format!("cpu  {n} 2 3 4 5 6 7 8 9 10\ncpu0 1 2 3 4\nprocs_running 1\nprocs_blocked {n}\n"));
    write("uptime", format!("{}.25 5.00\n", 100 + n));
    write("meminfo", format!("MemTotal: 5 kB\nDirty:   {n} kB\nWriteback:  7 kB\n"));
    let averages = "avg10=1.14 avg60=0.79 avg300=0.39";
    write("pressure/io", format!("some {averages} total={}\nfull {averages} total={n}\n", n * 2));
    write("sys/kernel/hostname", "box\n".into());
    write("sys/kernel/osrelease", "6.1.0\n".into());
    write("sys/kernel/random/boot_id", "boot-1\n".into());
}

/// A folder with the machine and room for recordings.
pub(crate) struct Lab {
    folder: tempfile::TempDir,
}

impl Lab {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        lay(&folder.path().join("root"), 0);
        Self { folder }
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().join("root")
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A plan of `count` intervals of 250 ms.
    pub(crate) fn plan(&self, name: &str, count: u64) -> Record {
        Record {
            file: if name == "-" { "-".into() } else { self.path(name) },
            schedule: Schedule { interval: Some(Duration::from_millis(250)), count: Some(count) },
            root: self.root(),
            time_zone: Some("UTC".into()),
            ..Record::default()
        }
    }

    /// Records; the machine goes one step further at each wait, beginning with `from`.
    pub(crate) fn record(&self, plan: Record, from: u64) -> (String, String, Exit) {
        let clock = self.clock(from, |_| WaitOutcome::Due);
        self.record_by(plan, &clock)
    }

    /// A clock that starts as many intervals late, whose waits are ended by `woken`.
    pub(crate) fn clock<'a>(&'a self, from: u64, woken: impl Fn(u64) -> WaitOutcome + 'a) -> ManualClock<'a> {
        lay(&self.root(), from);
        let late = Duration::from_millis(250 * from);
        let start = Timestamp::new(START, 7).unwrap().checked_add(late).unwrap();
        ManualClock::new(start, move |n| {
            lay(&self.root(), from + n);
            woken(n)
        })
    }

    pub(crate) fn record_by(&self, plan: Record, clock: &ManualClock<'_>) -> (String, String, Exit) {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut world = RunContext { clock, out: &mut out, err: &mut err, is_terminal: false };
        let exit = run(&Plan::Record(Box::new(plan)), &mut world);
        (String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap(), exit)
    }

    /// Records, and nothing must be said of it.
    pub(crate) fn recorded(&self, plan: Record, from: u64) {
        assert_eq!(self.record(plan, from), (String::new(), String::new(), Exit::Success));
    }

    pub(crate) fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }
}

/// The samples of a text, and what was wrong with it.
pub(crate) fn read(text: impl Read) -> (Vec<Sample>, Vec<(u64, String)>) {
    let mut reader = Reader::new(text);
    let (mut before, mut sample) = (Sample::default(), Sample::default());
    let mut samples = Vec::new();
    while reader.next(&before, &mut sample).unwrap() {
        samples.push(sample.clone());
        std::mem::swap(&mut before, &mut sample);
    }
    (samples, reader.take_warnings().into_iter().map(|f| (f.line, f.kind.to_string())).collect())
}

/// The samples of a file, compressed or not, and what was wrong with it.
pub(crate) fn replay(path: &Path) -> (Vec<Sample>, Vec<String>) {
    let clock = RealClock::new(None);
    let mut source = Replay::open(path, &clock).unwrap();
    let (mut before, mut sample) = (Sample::default(), Sample::default());
    let mut samples = Vec::new();
    while source.next(&before, &mut sample).unwrap() {
        samples.push(sample.clone());
        std::mem::swap(&mut before, &mut sample);
    }
    (samples, source.take_warnings().into_iter().map(|fault| fault.kind.to_string()).collect())
}
