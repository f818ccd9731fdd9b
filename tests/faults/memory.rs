//! Memory that stays bounded, whatever comes.

use std::fs;
use std::io::{self, Write};
use std::process::{ChildStdin, Stdio};
use std::thread;
use std::time::Duration;

use super::support::{blkstat, device, sample};

/// The most memory that a run on some input took, in KiB, how it ended, what it said, and its CPU time.
struct Run {
    peak_kib: u64,
    code: i32,
    err: String,
    seconds: f64,
}

fn run(words: &str, write: impl FnOnce(&mut ChildStdin) -> io::Result<()> + Send) -> Run {
    let mut child =
        blkstat(words).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let (status, stat) = (format!("/proc/{}/status", child.id()), format!("/proc/{}/stat", child.id()));
    thread::scope(|scope| {
        scope.spawn(move || write(&mut stdin).unwrap());
        let (mut peak_kib, mut ticks) = (0, 0);
        // The kernel keeps the most; it is gone only with the program.
        while child.try_wait().unwrap().is_none() {
            let text = fs::read_to_string(&status).unwrap_or_default();
            let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
            peak_kib = line.map_or(peak_kib, |line| line.trim().trim_end_matches(" kB").parse().unwrap());
            // Hundredths of a second in user and in kernel mode, behind the name in brackets.
            let text = fs::read_to_string(&stat).unwrap_or_default();
            let words = text.rsplit(')').next().unwrap_or_default().split_whitespace().skip(11).take(2);
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

/// What no run on a stream may take, however long it is.
const BOUND_KIB: u64 = 16 * 1024;

fn bounded(run: &Run, what: &str) {
    eprintln!("{what}: {} KiB, {:.1} s, exit {}", run.peak_kib, run.seconds, run.code);
    assert!(run.peak_kib < BOUND_KIB, "{what}: {} KiB", run.peak_kib);
    assert!(run.err.lines().count() <= 12, "{what}: {}", run.err);
}

/// Writes `piece` until so many bytes are written.
fn again(piece: &[u8], bytes: usize) -> impl FnOnce(&mut ChildStdin) -> io::Result<()> + Send {
    let piece = piece.repeat(65_536 / piece.len() + 1);
    move |stdin| (0..bytes / piece.len()).try_for_each(|_| stdin.write_all(&piece))
}

fn endless(megabytes: usize) {
    let bytes = megabytes << 20;
    let two = sample(1, &device(0, "sda", 1)) + &sample(2, &device(0, "sda", 9));
    for words in ["--json --from -", "iostat -dx --from -"] {
        bounded(&run(words, again(b"9", bytes)), &format!("{words}: one line without an end"));
        let after = two.clone();
        let then = run(words, move |stdin| {
            stdin.write_all(after.as_bytes())?;
            again(b"8 0 sda 1 ", bytes)(stdin)
        });
        bounded(&then, &format!("{words}: two samples, then one line without an end"));
        assert_eq!(then.code, 0, "{}", then.err);
        let rubbish = run(words, move |stdin| {
            stdin.write_all(b"TS 1\n")?;
            again(b"no line of diskstats\n", bytes / 8)(stdin)
        });
        bounded(&rubbish, &format!("{words}: rubbish in one sample"));
        assert!(rubbish.err.contains(" more warnings like these"), "{}", rubbish.err);
        let stamps = again(b"TS 5 x\n", bytes / 32);
        bounded(&run(words, stamps), &format!("{words}: nothing but times"));
        let notes = again(b"#blkstat {\"version\":\"1\",\"boot\":\"a\"}\n#blkstat {\"version\":\"1\",\"boot\":\"b\"}\n#blkstat {\"devices\":[{\"name\":\"sda\"}]}\n", bytes / 32);
        bounded(&run(words, notes), &format!("{words}: recordings that begin again and again"));
    }
}

#[test]
fn streams_without_an_end_take_no_more_memory() {
    endless(16);
}

#[test]
#[ignore = "takes half a minute in a release build"]
fn streams_of_200_megabytes_take_no_more_memory() {
    endless(200);
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
        bounded(&run, &format!("{megabytes} MB of {what} in {size} KiB"));
    }
}

const PIECES: [(&str, &[u8]); 3] = [("zeros", b"\0"), ("one line", b"8 0 sda 1 "), ("empty lines", b"\n")];

#[test]
fn a_gzip_bomb_takes_no_more_memory() {
    bombs(64, &PIECES[..2]);
}

#[test]
#[ignore = "takes half a minute in a release build"]
fn a_gzip_bomb_of_a_gigabyte_takes_no_more_memory() {
    bombs(1024, &PIECES);
}

/// Devices that are there for three samples each, ten at a time.
fn many_names(names: u64) -> impl FnOnce(&mut ChildStdin) -> io::Result<()> + Send {
    move |stdin| {
        let mut out = io::BufWriter::with_capacity(1 << 16, stdin);
        for at in 0..names / 10 {
            let first = at.saturating_sub(2) * 10;
            let lines: String =
                (first..at * 10 + 10).map(|n| device(n, &format!("x{n:07}"), 100 + n + at)).collect();
            out.write_all(sample(1000 + at, &(device(0, "sda", 7 * at) + &lines)).as_bytes())?;
        }
        out.flush()
    }
}

const VIEWS: [&str; 7] = [
    "--json --from -",
    "--from -",
    "--summary --from -",
    "iostat -dx --from -",
    "iostat -d -p ALL --from -",
    "pt-diskstats --group-by all /dev/stdin",
    "pt-diskstats --group-by sample /dev/stdin",
];

#[test]
fn thousands_of_names_over_time_take_no_more_memory() {
    for words in &VIEWS[..2] {
        // Enough that what is remembered of all would not fit.
        let run = run(words, many_names(20_000));
        bounded(&run, words);
        assert_eq!(run.code, 0, "{}", run.err);
    }
}

#[test]
#[ignore = "takes minutes"]
fn a_million_names_over_time_are_linear_in_time_and_bounded_in_memory() {
    for words in VIEWS {
        let bound = match words {
            // Where devices are listed in the order in which they came, their names are remembered.
            _ if words.contains("ALL") || words.starts_with("pt-") => 512 * 1024,
            // So many lines are laid out at once.
            _ if words.contains("summary") => 2 * BOUND_KIB,
            _ => BOUND_KIB,
        };
        let (half, whole) = (run(words, many_names(500_000)), run(words, many_names(1_000_000)));
        eprintln!(
            "{words}: {} names {:.1} s {} KiB, {} names {:.1} s {} KiB, exit {}",
            500_000, half.seconds, half.peak_kib, 1_000_000, whole.seconds, whole.peak_kib, whole.code
        );
        assert!(whole.seconds < 3.0 * half.seconds, "{words}: more than linear");
        assert!(whole.peak_kib < bound, "{words}: {} KiB", whole.peak_kib);
    }
}
