//! Memory stays bounded on any input.

use std::fs;
use std::io::{self, Write};
use std::process::{ChildStdin, Stdio};
use std::thread;
use std::time::Duration;

use super::support::{device, sample};
use crate::support::program::blkstat;

/// The peak memory, exit code, messages and CPU time of a run.
struct Run {
    peak_kib: u64,
    code: i32,
    err: String,
    seconds: f64,
}

fn run(words: &str, write: impl FnOnce(&mut ChildStdin) -> io::Result<()> + Send) -> Run {
    let mut child = blkstat(words)
        .stdin(Stdio::piped())
        .spawn(Stdio::null(), Stdio::piped());
    let mut stdin = child.stdin.take().unwrap();
    let (status, stat) = (
        format!("/proc/{}/status", child.id()),
        format!("/proc/{}/stat", child.id()),
    );
    thread::scope(|scope| {
        scope.spawn(move || write(&mut stdin).unwrap());
        let (mut peak_kib, mut ticks) = (0, 0);
        // Without the pages of the program itself, which are more in a build for tests.
        while child.try_wait().unwrap().is_none() {
            let text = fs::read_to_string(&status).unwrap_or_default();
            // For a moment after its start the process still has the name and the memory of this one.
            let is_started = text.starts_with("Name:\tblkstat\n");
            let line = text
                .lines()
                .find_map(|line| line.strip_prefix("RssAnon:").filter(|_| is_started));
            let kib = line.map_or(0, |line| {
                line.trim().trim_end_matches(" kB").parse().unwrap()
            });
            peak_kib = peak_kib.max(kib);
            // Hundredths of a second in user and in kernel mode, after the name in parentheses.
            let text = fs::read_to_string(&stat).unwrap_or_default();
            let words = text
                .rsplit(')')
                .next()
                .unwrap_or_default()
                .split_whitespace()
                .skip(11)
                .take(2);
            ticks = ticks.max(words.map(|word| word.parse::<u64>().unwrap()).sum());
            thread::sleep(Duration::from_millis(2));
        }
        let output = child.wait_with_output().unwrap();
        Run {
            peak_kib,
            code: output.status.code().unwrap_or(-1),
            err: String::from_utf8(output.stderr).unwrap(),
            seconds: ticks as f64 / 100.0,
        }
    })
}

/// The maximum memory for a stream of any length, in KiB. A few are in use in any run.
const MAX_KIB: u64 = 6 * 1024;

fn assert_bounded(run: &Run, what: &str) {
    eprintln!(
        "{what}: {} KiB, {:.1} s, exit {}",
        run.peak_kib, run.seconds, run.code
    );
    assert!(
        (1..MAX_KIB).contains(&run.peak_kib),
        "{what}: {} KiB",
        run.peak_kib
    );
    assert!(run.err.lines().count() <= 12, "{what}: {}", run.err);
}

/// Writes `piece` repeatedly, `bytes` bytes in total.
fn repeat(piece: &[u8], bytes: usize) -> impl FnOnce(&mut ChildStdin) -> io::Result<()> + Send {
    let piece = piece.repeat(65_536 / piece.len() + 1);
    move |stdin| (0..bytes / piece.len()).try_for_each(|_| stdin.write_all(&piece))
}

fn endless(megabytes: usize) {
    let bytes = megabytes << 20;
    let two = sample(1, &device(0, "sda", 1)) + &sample(2, &device(0, "sda", 9));
    for words in ["--json --from -", "iostat -dx --from -"] {
        assert_bounded(
            &run(words, repeat(b"9", bytes)),
            &format!("{words}: an endless line"),
        );
        let after = two.clone();
        let after_samples = run(words, move |stdin| {
            stdin.write_all(after.as_bytes())?;
            repeat(b"8 0 sda 1 ", bytes)(stdin)
        });
        assert_bounded(
            &after_samples,
            &format!("{words}: two samples, then an endless line"),
        );
        assert_eq!(after_samples.code, 0, "{}", after_samples.err);
        // In one piece with an invalid line: what follows a pause after a whole sample is not part of it.
        let first = two.clone() + "not a diskstats line\n";
        let invalid = run(words, move |stdin| {
            stdin.write_all(first.as_bytes())?;
            repeat(b"not a diskstats line\n", bytes / 8)(stdin)
        });
        assert_bounded(&invalid, &format!("{words}: invalid lines in one sample"));
        assert!(
            invalid.err.contains(" more warnings like these"),
            "{}",
            invalid.err
        );
        let timestamps = repeat(b"TS 5 x\n", bytes / 32);
        assert_bounded(
            &run(words, timestamps),
            &format!("{words}: only timestamps"),
        );
        let headers = repeat(b"#blkstat {\"version\":\"1\",\"boot_id\":\"a\"}\n#blkstat {\"version\":\"1\",\"boot_id\":\"b\"}\n#blkstat {\"devices\":[{\"name\":\"sda\"}]}\n", bytes / 32);
        assert_bounded(&run(words, headers), &format!("{words}: only headers"));
    }
}

#[test]
fn endless_streams_use_bounded_memory() {
    endless(16);
}

fn bombs(megabytes: usize, pieces: &[(&str, &[u8])]) {
    let pack = |piece: &[u8]| {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(b"TS 1\n").unwrap();
        let piece = piece.repeat(1_048_576 / piece.len());
        (0..megabytes).for_each(|_| gzip.write_all(&piece).unwrap());
        gzip.finish().unwrap()
    };
    for (what, piece) in pieces {
        let packed = pack(piece);
        let size = packed.len() >> 10;
        let run = run("--json --from -", move |stdin| stdin.write_all(&packed));
        assert_bounded(&run, &format!("{megabytes} MB of {what} in {size} KiB"));
    }
}

#[test]
fn a_gzip_bomb_uses_bounded_memory() {
    bombs(64, &[("zeros", b"\0"), ("one line", b"8 0 sda 1 ")]);
}

/// Devices that exist for three samples each, ten at a time.
fn many_names(names: u64) -> impl FnOnce(&mut ChildStdin) -> io::Result<()> + Send {
    move |stdin| {
        let mut out = io::BufWriter::with_capacity(1 << 16, stdin);
        for at in 0..names / 10 {
            let first = at.saturating_sub(2) * 10;
            let lines: String = (first..at * 10 + 10)
                .map(|n| device(n, &format!("x{n:07}"), 100 + n + at))
                .collect();
            out.write_all(sample(1000 + at, &(device(0, "sda", 7 * at) + &lines)).as_bytes())?;
        }
        out.flush()
    }
}

#[test]
fn thousands_of_devices_over_time_use_bounded_memory() {
    for words in ["--json --from -", "--from -"] {
        // Enough that remembering all of them would exceed the bound.
        let run = run(words, many_names(20_000));
        assert_bounded(&run, words);
        assert_eq!(run.code, 0, "{}", run.err);
    }
}
