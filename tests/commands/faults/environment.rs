//! Hosts that lack files, and unusual environment variables.

use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, prlimit};
use serde_json::Value;

use super::support::{capture, host};
use crate::support::fake_root::FakeRoot;
use crate::support::process::send;
use crate::support::program::{Outcome, blkstat};

/// Runs a command on the host below a root.
fn run_on(root: &Path, words: &str) -> Outcome {
    let root = root.to_str().unwrap();
    blkstat(&words.replace("ROOT", root)).run()
}

/// The commands that read a live host.
const LIVE: [&str; 5] = [
    "--root ROOT --json 10ms 1",
    "--root ROOT 10ms 1",
    "analyze --root ROOT 10ms 1",
    "record --root ROOT - 10ms 1",
    "iostat --root ROOT -dx 1 1",
];

/// Returns whether blkstat runs as another tool, whose exit codes apply.
fn is_replica(words: &str) -> bool {
    words.starts_with("iostat") || words.starts_with("pt-diskstats")
}

#[test]
fn a_host_without_diskstats_is_one_line_that_names_the_file() {
    let root = host();
    let file = root.path().join("proc/diskstats");
    fs::remove_file(&file).unwrap();
    // iostat reads other files then.
    let live = || LIVE.iter().filter(|words| !words.starts_with("iostat"));
    let commands = || live().chain(&["pt-diskstats --root ROOT --iterations 1"]);
    let missing: Vec<Outcome> = commands().map(|words| run_on(root.path(), words)).collect();
    // An unreadable file is treated the same. Even root cannot read a directory.
    fs::create_dir(&file).unwrap();
    let unreadable: Vec<Outcome> = commands().map(|words| run_on(root.path(), words)).collect();
    for (words, outcome) in commands()
        .chain(commands())
        .zip(missing.iter().chain(&unreadable))
    {
        assert_eq!(outcome.err.lines().count(), 1, "{words}: {outcome:?}");
        let start = format!("blkstat: cannot read {}: ", file.display());
        assert!(outcome.err.starts_with(&start), "{words}: {outcome:?}");
    }
    for (words, outcome) in commands().zip(&missing) {
        let code = if is_replica(words) { 2 } else { 1 };
        let names_root = outcome.err.contains("; use --root DIR to read");
        assert_eq!(
            (outcome.code, names_root),
            (code, code == 1),
            "{words}: {outcome:?}"
        );
    }
    assert!(
        unreadable.iter().all(|outcome| outcome.code == 2),
        "{unreadable:?}"
    );
}

#[test]
fn a_host_without_block_devices_is_one_line_that_names_the_option_root() {
    let root = host();
    let file = root.path().join("proc/diskstats");
    fs::write(&file, "").unwrap();
    let hint = "use --root DIR to read DIR/proc and DIR/sys instead";
    let message = format!("blkstat: no block devices in {}; {hint}\n", file.display());
    for words in LIVE.iter().filter(|words| !is_replica(words)) {
        let outcome = run_on(root.path(), words);
        assert_eq!(
            (outcome.out.as_str(), &outcome.err, outcome.code),
            ("", &message, 1),
            "{words}"
        );
    }
}

#[test]
fn an_unknown_time_zone_is_reported_and_times_are_in_utc() {
    let root = host();
    let run = |words: &str, zone: &str| {
        let words = words.replace("ROOT", root.path().to_str().unwrap());
        blkstat(&words).env("TZ", zone).run()
    };
    let warning = "blkstat: unknown time zone 'Mars/Olympus' in TZ; times are in UTC\n";
    for (words, has_times) in [
        ("--root ROOT 10ms 1", true),
        ("record --root ROOT - 10ms 1", true),
        ("--root ROOT --csv 10ms 1", false),
    ] {
        let unknown = run(words, "Mars/Olympus");
        assert_eq!(
            (unknown.err.as_str(), unknown.code),
            (if has_times { warning } else { "" }, 0),
            "{words}"
        );
        assert_eq!(run(words, "UTC").err, "", "{words}");
    }
    assert!(
        run("--root ROOT 10ms 1", "Mars/Olympus")
            .out
            .contains(" UTC\n")
    );
}

#[test]
fn a_host_without_sys_works_as_far_as_possible() {
    let root = host();
    let with_sys: Vec<Outcome> = LIVE
        .iter()
        .map(|words| run_on(root.path(), words))
        .collect();
    fs::remove_dir_all(root.path().join("sys")).unwrap();
    for (words, with_sys) in LIVE.iter().zip(with_sys) {
        let outcome = run_on(root.path(), words);
        assert_eq!(
            (outcome.err.as_str(), outcome.code),
            ("", with_sys.code),
            "{words}"
        );
    }
}

#[test]
fn malformed_files_of_the_host_are_ignored() {
    let root = host();
    for file in [
        "proc/meminfo",
        "proc/pressure/io",
        "proc/self/mountinfo",
        "proc/swaps",
        "sys/block/sda/queue/iostats",
        "sys/block/sda/dev",
        "sys/block/sda/size",
    ] {
        let path = root.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(
            path,
            "some\n\u{1b}[2J \u{7f} 99999999999999999999999 -1 \\040 x\n",
        )
        .unwrap();
    }
    for words in LIVE
        .iter()
        .chain(&["devices --root ROOT", "devices --json --root ROOT"])
    {
        let outcome = run_on(root.path(), words);
        assert_eq!((outcome.err.as_str(), outcome.code), ("", 0), "{words}");
        assert!(
            !outcome.out.contains('\u{1b}') || words.starts_with("record"),
            "{words}: {:?}",
            outcome.out
        );
    }
}

#[test]
fn reading_a_host_writes_no_file() {
    let root = host();
    let list_files = |folder: &Path| {
        let mut found = Vec::new();
        let mut folders = vec![folder.to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
                if entry.path().is_dir() {
                    folders.push(entry.path());
                }
                found.push((entry.path(), entry.metadata().unwrap().modified().unwrap()));
            }
        }
        found.sort();
        found
    };
    let before = list_files(root.path());
    for words in LIVE {
        let words = words.replace("ROOT", root.path().to_str().unwrap());
        blkstat(&words)
            .current_dir(root.path())
            .env("HOME", root.path())
            .run();
    }
    assert_eq!(list_files(root.path()), before);
}

#[test]
fn neither_locale_nor_terminal_changes_a_number() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("capture");
    fs::write(&file, capture(5)).unwrap();
    for words in [
        "--from FILE",
        "--json --from FILE",
        "--csv --from FILE",
        "iostat -dxt --from FILE",
        "pt-diskstats FILE",
        "--help",
    ] {
        let words = words.replace("FILE", file.to_str().unwrap());
        let plain = blkstat(&words).run();
        assert_eq!((plain.err.as_str(), plain.code), ("", 0), "{words}");
        for (name, value) in [
            ("LC_ALL", "de_DE.UTF-8"),
            ("LANG", "de_DE.UTF-8"),
            ("TERM", "dumb"),
            ("TERM", "xterm-256color"),
            ("NO_COLOR", "1"),
        ] {
            let outcome = blkstat(&words).env(name, value).run();
            assert_eq!(outcome, plain, "{words} with {name}={value}");
        }
    }
}

/// Allows a running program this many open files.
fn limit_files(child: &Child, limit: u64) {
    let all = getrlimit(Resource::Nofile);
    let limit = Rlimit {
        current: Some(limit),
        ..all
    };
    prlimit(Some(Pid::from_child(child)), Resource::Nofile, limit).unwrap();
}

/// Returns the most samples that were missed in an interval.
fn most_missed(lines: &str) -> u64 {
    let missed = |line| serde_json::from_str::<Value>(line).unwrap()["missed_samples"].as_u64();
    lines.lines().filter_map(missed).max().unwrap()
}

/// A run of two seconds that was disturbed for half a second.
struct DisturbedRun {
    words: String,
    outcome: Outcome,
    /// The most samples that were missed in an interval.
    missed: u64,
}

/// Runs a view and a recording of a host, and ends them with a signal. Both go on until then.
fn disturbed_runs(
    host: &FakeRoot,
    disturb: impl Fn(&Child),
    undo: impl Fn(&Child),
) -> [DisturbedRun; 2] {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let recording = folder.path().join("recording");
    let root = host.path().display();
    [
        format!("--json --root {root} 50ms"),
        format!("record {} --root {root} 50ms", recording.display()),
    ]
    .map(|words| {
        let mut child = blkstat(&words).spawn(fs::File::create(&out).unwrap(), Stdio::piped());
        thread::sleep(Duration::from_millis(1000));
        disturb(&child);
        thread::sleep(Duration::from_millis(500));
        undo(&child);
        thread::sleep(Duration::from_millis(500));
        assert!(child.try_wait().unwrap().is_none(), "{words}");
        send(&child, Signal::TERM);
        let outcome = Outcome::from(child.wait_with_output().unwrap());
        let mut lines = fs::read_to_string(&out).unwrap();
        if words.starts_with("record") {
            lines = blkstat("--json --from").args([&recording]).run().out;
        }
        DisturbedRun {
            words,
            outcome,
            missed: most_missed(&lines),
        }
    })
}

#[test]
fn no_sample_is_missed_while_no_file_can_be_opened() {
    let runs = disturbed_runs(
        &host(),
        |child| limit_files(child, 3),
        |child| limit_files(child, 1024),
    );
    for run in runs {
        let Outcome { err, code, .. } = run.outcome;
        assert_eq!((code, err.as_str()), (143, ""), "{}", run.words);
        // A busy machine may miss a few.
        assert!(run.missed < 5, "{}: {}", run.words, run.missed);
    }
}

#[test]
fn a_sample_that_cannot_be_read_is_missed_and_counted() {
    let host = host();
    let diskstats = host.path().join("proc/diskstats");
    let moved = host.path().join("moved");
    let runs = disturbed_runs(
        &host,
        |_| fs::rename(&diskstats, &moved).unwrap(),
        |_| fs::rename(&moved, &diskstats).unwrap(),
    );
    let name = diskstats.display();
    let start = format!(
        "blkstat: {name}: cannot be read: No such file or directory; samples are missed until it can\n\
         blkstat: {name}: can be read again; "
    );
    for run in runs {
        let Outcome { err, code, .. } = run.outcome;
        assert_eq!(code, 143, "{}", run.words);
        assert!(
            err.starts_with(&start) && err.ends_with(" samples missed\n"),
            "{}: {err}",
            run.words
        );
        assert!(
            (5..100).contains(&run.missed),
            "{}: {}",
            run.words,
            run.missed
        );
    }
}

#[test]
fn a_fifo_in_place_of_any_file_of_the_host_delays_nothing() {
    let host = host();
    for file in [
        "proc/vmstat",
        "sys/block/sda/size",
        "sys/block/sda/queue/rotational",
    ] {
        host.pipe(file);
    }
    let start = Instant::now();
    for words in ["devices", "--json 0.1 2", "iostat -x 1 2", "record - 0.1 1"] {
        let outcome = run_on(host.path(), &format!("{words} --root ROOT"));
        assert_eq!(outcome.code, 0, "{words}: {}", outcome.err);
    }
    assert!(start.elapsed() < Duration::from_secs(20));
}
