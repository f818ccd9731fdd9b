//! A host whose counters grow with the time.

use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::fs::{CWD, FileType, Mode, mknodat};

use crate::support::fake_root::FakeRoot;

/// The capture of the volume at its limit.
const CAPTURE: &str = "fixtures/captures/capped-3000.txt";
/// The reads per second of the disk.
pub(crate) const READS_PER_S: u64 = 400;
/// The limit of the cgroup that writes to the disk, in bytes per second, and its writes per second of 64 KiB.
pub(crate) const WRITE_LIMIT_BYTES: u64 = 64 * 1024 * WRITES_PER_S;
const WRITES_PER_S: u64 = 160;

/// The time between two changes of the files that are not computed when they are read.
const STEP: Duration = Duration::from_millis(100);

/// The host. Its counters stop when this is dropped.
///
/// Its /proc/diskstats becomes a pipe once a program has started to read it. The counters are then computed when they are
/// read, so that rates are right however busy the machine is that runs the test. Two that open the pipe at once would share
/// its text, and threads that start do so.
pub(crate) struct AdvancingHost {
    host: FakeRoot,
    stop: Arc<AtomicBool>,
    serve: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl AdvancingHost {
    /// Starts a host whose counters have grown since `start`.
    pub(crate) fn start(start: Instant) -> Self {
        let host = FakeRoot::in_memory();
        host.file(
            "proc/1/mountinfo",
            "25 22 0:23 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw",
        )
        .disk("sda", "8:0", 1024)
        .virtual_device("loop0", "7:0", 300)
        .file(
            "sys/fs/cgroup/db.service/io.max",
            format!("8:0 rbps=max wbps={WRITE_LIMIT_BYTES} riops=max wiops=max"),
        );
        let root = host.path().to_owned();
        fs::create_dir_all(root.join("proc/pressure")).unwrap();
        let volume = volume_lines();
        write_files(&root, Duration::ZERO);
        write_diskstats(&root, &volume, start.elapsed());
        let [stop, serve] = [(); 2].map(|()| Arc::new(AtomicBool::new(false)));
        let (stopped, served) = (Arc::clone(&stop), Arc::clone(&serve));
        let thread = std::thread::spawn(move || {
            let mut file_of = Some(volume);
            while !stopped.load(Ordering::Relaxed) {
                write_files(&root, start.elapsed());
                if let Some(volume) = file_of.take_if(|_| served.load(Ordering::Relaxed)) {
                    serve_diskstats(&root, volume, start);
                }
                file_of
                    .iter()
                    .for_each(|volume| write_diskstats(&root, volume, start.elapsed()));
                std::thread::sleep(STEP);
            }
        });
        Self {
            host,
            stop,
            serve,
            thread: Some(thread),
        }
    }

    /// Makes /proc/diskstats a pipe: the program that reads it has started.
    pub(crate) fn compute_when_read(&self) {
        self.serve.store(true, Ordering::Relaxed);
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

fn write_diskstats(root: &Path, volume: &[Vec<u64>], elapsed: Duration) {
    replace(&root.join("proc/diskstats"), &diskstats(volume, elapsed));
}

/// Makes /proc/diskstats a pipe, and answers everyone who reads it. The thread ends with the test.
fn serve_diskstats(root: &Path, volume: Vec<Vec<u64>>, start: Instant) {
    let path = root.join("proc/diskstats");
    let next = root.join("proc/diskstats.next");
    make_pipe(&next).unwrap();
    fs::rename(&next, &path).unwrap();
    std::thread::spawn(move || {
        // Opening waits for a reader.
        while let Ok(mut pipe) = OpenOptions::new().write(true).open(&path) {
            // The next reader gets a pipe of its own: this one is open until its reader has read to the end.
            if make_pipe(&next).is_err() || fs::rename(&next, &path).is_err() {
                return;
            }
            // The reader may be gone.
            let _ = pipe.write_all(diskstats(&volume, start.elapsed()).as_bytes());
        }
    });
}

fn make_pipe(path: &Path) -> rustix::io::Result<()> {
    mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)
}

/// Returns the counters of the volume in each sample of the capture.
fn volume_lines() -> Vec<Vec<u64>> {
    let text = fs::read_to_string(CAPTURE).unwrap();
    let lines = text
        .lines()
        .filter(|line| line.split_whitespace().nth(2) == Some("loop0"));
    lines
        .map(|line| {
            line.split_whitespace()
                .skip(3)
                .map(|word| word.parse().unwrap())
                .collect()
        })
        .collect()
}

/// Returns the counters of the volume at a second. After the end of the capture, they grow as in its last seconds.
fn volume_at(samples: &[Vec<u64>], second: u64) -> Vec<u64> {
    const REPEATED: usize = 4;
    let last = samples.len() - 1;
    let second = usize::try_from(second).unwrap();
    let cycles = second.saturating_sub(last).div_ceil(REPEATED);
    let sample = &samples[second - REPEATED * cycles];
    let growth = samples[last]
        .iter()
        .zip(&samples[last - REPEATED])
        .map(|(new, old)| new.wrapping_sub(*old));
    let value = |((column, value), growth): ((usize, &u64), u64)| {
        let growth = if column == IN_FLIGHT { 0 } else { growth };
        value + growth * cycles as u64
    };
    sample.iter().enumerate().zip(growth).map(value).collect()
}

/// The column of the requests in flight, which is no counter.
const IN_FLIGHT: usize = 8;

/// Returns a count that grows by this number per second.
fn grown(per_s: u64, elapsed: Duration) -> u64 {
    (per_s as f64 * elapsed.as_secs_f64()) as u64
}

/// Returns the text of /proc/diskstats.
fn diskstats(volume: &[Vec<u64>], elapsed: Duration) -> String {
    let second = elapsed.as_secs();
    let part = elapsed.subsec_nanos() as f64 / 1e9;
    let (from, to) = (volume_at(volume, second), volume_at(volume, second + 1));
    let between = |(column, (from, to)): (usize, (&u64, &u64))| {
        let grown = if column == IN_FLIGHT {
            0.0
        } else {
            (to - from) as f64 * part
        };
        (from + grown as u64).to_string()
    };
    let columns: Vec<String> = from.iter().zip(&to).enumerate().map(between).collect();
    let mut lines = format!("7 0 loop0 {}\n", columns.join(" "));
    // Every second request is merged, reads take 2 ms, writes 5 ms, flushes 3 ms, discards 1 ms.
    let (reads, writes) = (grown(READS_PER_S, elapsed), grown(WRITES_PER_S, elapsed));
    let (discards, flushes) = (grown(10, elapsed), grown(10, elapsed));
    writeln!(
        lines,
        "8 0 sda {reads} {reads} {} {} {writes} {writes} {} {} 2 {} {} {discards} {discards} {} {discards} {flushes} {}",
        8 * reads,
        2 * reads,
        128 * writes,
        5 * writes,
        grown(900, elapsed),
        2 * reads + 5 * writes,
        2048 * discards,
        3 * flushes,
    )
    .unwrap();
    lines
}

/// Writes the other files that change.
fn write_files(root: &Path, elapsed: Duration) {
    let writes = grown(WRITES_PER_S, elapsed);
    let io = format!(
        "8:0 rbytes=0 wbytes={} rios=0 wios={writes} dbytes=0 dios=0\n",
        64 * 1024 * writes
    );
    replace(&root.join("sys/fs/cgroup/db.service/io.stat"), &io);
    let (some, full) = (grown(1000, elapsed), grown(500, elapsed));
    let pressure = format!(
        "some avg10=0 avg60=0 avg300=0 total={some}\nfull avg10=0 avg60=0 avg300=0 total={full}\n"
    );
    replace(&root.join("proc/pressure/io"), &pressure);
    replace(&root.join("proc/pressure/memory"), &pressure);
    replace(
        &root.join("proc/uptime"),
        &format!("{:.2} 5.00\n", 1000.0 + elapsed.as_secs_f64()),
    );
}

/// Replaces a file as a whole, so that no reader finds a part of it.
fn replace(path: &Path, text: &str) {
    let temporary = PathBuf::from(format!("{}.new", path.display()));
    fs::write(&temporary, text).unwrap();
    fs::rename(temporary, path).unwrap();
}
