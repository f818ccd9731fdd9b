//! A host whose counters a thread advances ten times per second.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::support::fake_root::FakeRoot;

/// The capture of the volume at its limit.
const CAPTURE: &str = "fixtures/captures/capped-3000.txt";
/// The reads per second of the disk.
pub(crate) const READS_PER_S: u64 = 400;
/// The limit of the cgroup that writes to the disk, in bytes per second, and its writes per second of 64 KiB.
pub(crate) const WRITE_LIMIT_BYTES: u64 = 64 * 1024 * WRITES_PER_S;
const WRITES_PER_S: u64 = 160;

/// The time between two changes of the counters: short, so that samples do not find one change more or less.
const STEP: Duration = Duration::from_millis(100);
const STEPS_PER_S: u64 = 10;

/// The host. Its counters stop when this is dropped.
pub(crate) struct AdvancingHost {
    host: FakeRoot,
    /// The seconds for which the counters have advanced.
    pub(crate) seconds: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl AdvancingHost {
    pub(crate) fn start() -> Self {
        let host = FakeRoot::in_memory();
        host.file("proc/1/mountinfo", "25 22 0:23 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw")
            .disk("sda", "8:0", 1024)
            .virtual_device("loop0", "7:0", 300)
            .file(
                "sys/fs/cgroup/db.service/io.max",
                format!("8:0 rbps=max wbps={WRITE_LIMIT_BYTES} riops=max wiops=max"),
            );
        let volume = volume_lines();
        let root = host.path().to_owned();
        write_step(&root, &volume, 0);
        let (seconds, stop) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let (counter, stopped) = (Arc::clone(&seconds), Arc::clone(&stop));
        let thread = std::thread::spawn(move || {
            let start = Instant::now();
            for step in 1.. {
                let due = start + STEP * u32::try_from(step).unwrap();
                std::thread::sleep(due.saturating_duration_since(Instant::now()));
                if stopped.load(Ordering::Relaxed) {
                    return;
                }
                write_step(&root, &volume, step);
                counter.store(step / STEPS_PER_S, Ordering::Relaxed);
            }
        });
        Self { host, seconds, stop, thread: Some(thread) }
    }

    pub(crate) fn root(&self) -> String {
        self.host.path().display().to_string()
    }
}

impl Drop for AdvancingHost {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.thread.take().unwrap().join();
    }
}

/// Returns the counters of the volume in each sample of the capture.
fn volume_lines() -> Vec<Vec<u64>> {
    let text = fs::read_to_string(CAPTURE).unwrap();
    let lines = text.lines().filter(|line| line.split_whitespace().nth(2) == Some("loop0"));
    lines.map(|line| line.split_whitespace().skip(3).map(|word| word.parse().unwrap()).collect()).collect()
}

/// Returns the counters of the volume at a second. After the end of the capture, they grow as in its last seconds.
fn volume_at(samples: &[Vec<u64>], second: u64) -> Vec<u64> {
    const REPEATED: usize = 4;
    let last = samples.len() - 1;
    let second = usize::try_from(second).unwrap();
    let cycles = second.saturating_sub(last).div_ceil(REPEATED);
    let sample = &samples[second - REPEATED * cycles];
    let growth = samples[last].iter().zip(&samples[last - REPEATED]).map(|(new, old)| new.wrapping_sub(*old));
    let value = |((column, value), growth): ((usize, &u64), u64)| {
        let growth = if column == IN_FLIGHT { 0 } else { growth };
        value + growth * cycles as u64
    };
    sample.iter().enumerate().zip(growth).map(value).collect()
}

/// The column of the requests in flight, which is no counter.
const IN_FLIGHT: usize = 8;

fn write_step(root: &Path, volume: &[Vec<u64>], step: u64) {
    let (second, part) = (step / STEPS_PER_S, step % STEPS_PER_S);
    let (from, to) = (volume_at(volume, second), volume_at(volume, second + 1));
    let between = |(column, (from, to)): (usize, (&u64, &u64))| {
        let grown = if column == IN_FLIGHT { 0 } else { (to - from) * part / STEPS_PER_S };
        (from + grown).to_string()
    };
    let columns: Vec<String> = from.iter().zip(&to).enumerate().map(between).collect();
    let mut lines = format!("7 0 loop0 {}\n", columns.join(" "));
    // Every second request is merged, reads take 2 ms, writes 5 ms, flushes 3 ms, discards 1 ms.
    let (reads, writes, discards) =
        (READS_PER_S * step / STEPS_PER_S, WRITES_PER_S * step / STEPS_PER_S, step);
    writeln!(
        lines,
        "8 0 sda {reads} {reads} {} {} {writes} {writes} {} {} 2 {} {} {discards} {discards} {} {discards} {step} {}",
        8 * reads,
        2 * reads,
        128 * writes,
        5 * writes,
        90 * step,
        2 * reads + 5 * writes,
        2048 * discards,
        3 * step,
    )
    .unwrap();
    let io = format!("8:0 rbytes=0 wbytes={} rios=0 wios={writes} dbytes=0 dios=0\n", 64 * 1024 * writes);
    replace(&root.join("sys/fs/cgroup/db.service/io.stat"), &io);
    let pressure = format!(
        "some avg10=0 avg60=0 avg300=0 total={}\nfull avg10=0 avg60=0 avg300=0 total={}\n",
        100 * step,
        50 * step
    );
    fs::create_dir_all(root.join("proc/pressure")).unwrap();
    replace(&root.join("proc/pressure/io"), &pressure);
    replace(&root.join("proc/pressure/memory"), &pressure);
    replace(&root.join("proc/uptime"), &format!("{}.{part}0 5.00\n", 1000 + second));
    replace(&root.join("proc/diskstats"), &lines);
}

/// Replaces a file as a whole, so that no reader finds a part of it.
fn replace(path: &Path, text: &str) {
    let temporary = PathBuf::from(format!("{}.new", path.display()));
    fs::write(&temporary, text).unwrap();
    fs::rename(temporary, path).unwrap();
}
