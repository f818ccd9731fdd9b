//! The program against the reference judge (`reference/refjudge.py`), whose verdicts on stored captures are in
//! `fixtures/oracle`: live verdicts of each interval, and the verdict on the whole capture with hindsight. What follows for
//! incidents is compared with their own reference, in `tests/incidents`.
//!
//! | captures | contents |
//! | --- | --- |
//! | `servers`, `arrivals`, `disks`, `ssds`, `limits`, `limits-2`, `troubles`, `loaded`, `loaded-2` | simulated devices, about ten side by side; a comment at the top of the capture names the kind of each |
//! | `*-01s`, `*-shell`, `ten-seconds` | intervals of 0.1 s and 10 s, and times that are off by milliseconds |
//! | `long-walk`, `long-cap`, `healthy-hours` | hours |
//! | `peers`, `shared-limit`, `known-classes` | what shows side by side, and devices whose class is given |
//! | `fstrim*`, `dd`, `swapped-disk`, `unplugged-disk`, `small-kind`, `commits-in-bursts`, `stack` | one case each |
//! | `backup-*` | recordings of a host with a database and a backup |
//!
//! The others are captures of real devices, from `fixtures/captures`.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread;

use serde_json::Value;

use crate::judge::run;

/// A device on which the program judges otherwise, on purpose.
struct Exception {
    capture: &'static str,
    device: &'static str,
    reason: &'static str,
}

const EXCEPTIONS: [Exception; 1] = [Exception {
    capture: "stalls",
    device: "sdc",
    reason: "4,294,967,295 requests in flight are -1, a count that the kernel let fall below zero: the reference takes them \
                 for requests that hang, the program ignores the count",
}];

/// The share of all intervals that must be equal.
const MIN_EQUAL: f64 = 0.995;
/// The share of those in which the reference says more than idle and ok.
const MIN_EQUAL_NOTABLE: f64 = 0.98;

/// What is said of a device.
#[derive(Clone, Debug, Default)]
struct Said {
    /// The verdict on each interval; `-` without one.
    live: Vec<String>,
    summary: String,
}

type ByDevice = BTreeMap<String, Said>;

/// Reads what the reference said, and the options with which the program is to judge.
fn read_verdicts(text: &str) -> (ByDevice, Vec<String>) {
    let mut devices = ByDevice::new();
    let mut options = Vec::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let said = devices.entry(words[1].to_owned()).or_default();
        match words[0] {
            "class" => options.extend(["--class".to_owned(), format!("{}={}", words[1], words[2])]),
            "live" => said.live = words[2..].iter().flat_map(|run| unpack(run)).collect(),
            "summary" => said.summary = words[2].to_owned(),
            // The reference judge tells events by its own rule.
            "event" => {}
            other => panic!("{other}"),
        }
    }
    (devices, options)
}

/// Returns the verdicts of a run such as `ok*3`.
fn unpack(run: &str) -> Vec<String> {
    let (word, count) = run.split_once('*').unwrap();
    vec![word.to_owned(); count.parse().unwrap()]
}

fn name_of(verdict: &Value) -> String {
    verdict.as_str().unwrap_or("-").to_owned()
}

/// Returns what the program says.
fn judge(capture: &Path, options: &[String]) -> ByDevice {
    let arguments = |words: &[&'static str]| -> Vec<String> {
        let words = words.iter().map(|word| (*word).to_owned());
        words.chain(options.iter().cloned()).collect()
    };
    let mut live = arguments(&["--json", "--all", "--partitions", "--as-live"]);
    live.push("--from".to_owned());
    let mut devices = ByDevice::new();
    let mut times: Vec<Value> = Vec::new();
    for line in run(&live, capture).lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        if times.last() != Some(&row["time"]) {
            times.push(row["time"].clone());
        }
        let said = devices.entry(name_of(&row["device"])).or_default();
        said.live.resize(times.len() - 1, "-".to_owned());
        said.live.push(name_of(&row["verdict"]));
    }
    for said in devices.values_mut() {
        said.live.resize(times.len(), "-".to_owned());
    }
    let document: Value =
        serde_json::from_str(&run(&arguments(&["analyze", "--json"]), capture)).unwrap();
    for report in document["devices"].as_array().unwrap() {
        let said = devices.entry(name_of(&report["device"])).or_default();
        said.summary = name_of(&report["verdict"]);
    }
    devices
}

/// Intervals, and how many of them are equal.
#[derive(Clone, Copy, Debug, Default)]
struct Equal {
    all: usize,
    equal: usize,
}

impl Equal {
    fn count(&mut self, is_equal: bool) {
        self.all += 1;
        self.equal += usize::from(is_equal);
    }

    fn share(self) -> f64 {
        self.equal as f64 / self.all as f64
    }
}

/// The comparison of all captures.
#[derive(Debug, Default)]
struct Comparison {
    intervals: Equal,
    /// Those in which the reference says more than idle and ok.
    notable: Equal,
    /// By capture and device, what differs.
    differences: BTreeMap<(String, String), String>,
}

impl Comparison {
    fn add(&mut self, capture: &str, device: &str, reference: &Said, program: &Said) {
        let mut differences = String::new();
        if reference.live.len() != program.live.len() {
            let _ = writeln!(
                differences,
                "{} and {} intervals",
                reference.live.len(),
                program.live.len()
            );
        }
        for (at, (expected, said)) in reference.live.iter().zip(&program.live).enumerate() {
            let is_equal = expected == said;
            self.intervals.count(is_equal);
            if !["idle", "ok", "-"].contains(&expected.as_str()) {
                self.notable.count(is_equal);
            }
            if !is_equal {
                let _ = writeln!(differences, "interval {at}: {expected}, but {said}");
            }
        }
        if reference.summary != program.summary {
            let _ = writeln!(
                differences,
                "summary: {}, but {}",
                reference.summary, program.summary
            );
        }
        if !differences.is_empty() {
            self.differences
                .insert((capture.to_owned(), device.to_owned()), differences);
        }
    }
}

/// Returns the capture with verdicts in this file.
fn capture_of(verdicts: &Path) -> PathBuf {
    let name = verdicts.file_stem().unwrap().to_str().unwrap();
    let own = verdicts.with_file_name(format!("{name}.txt.gz"));
    if own.exists() {
        own
    } else {
        PathBuf::from(format!("fixtures/captures/{name}.txt"))
    }
}

#[test]
fn verdicts_are_those_of_the_reference() {
    let files = std::fs::read_dir("fixtures/oracle").unwrap();
    let mut stored: Vec<PathBuf> = files.map(|entry| entry.unwrap().path()).collect();
    stored.retain(|path| {
        path.extension()
            .is_some_and(|extension| extension == "verdicts")
    });
    // The largest take longest.
    stored.sort_by_key(|path| std::fs::metadata(capture_of(path)).unwrap().len());
    let waiting = Mutex::new(stored);
    let comparison = Mutex::new(Comparison::default());
    let work = || {
        loop {
            let Some(path) = waiting.lock().unwrap().pop() else {
                return;
            };
            let capture = path.file_stem().unwrap().to_str().unwrap();
            let (reference, options) = read_verdicts(&std::fs::read_to_string(&path).unwrap());
            let program = judge(&capture_of(&path), &options);
            for (device, expected) in &reference {
                let said = program.get(device).cloned().unwrap_or_default();
                comparison
                    .lock()
                    .unwrap()
                    .add(capture, device, expected, &said);
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });

    let Comparison {
        intervals,
        notable,
        mut differences,
    } = comparison.into_inner().unwrap();
    println!("{intervals:?}, notable: {notable:?}");
    for exception in &EXCEPTIONS {
        let key = (exception.capture.to_owned(), exception.device.to_owned());
        assert!(
            differences.remove(&key).is_some(),
            "no longer different: {key:?}, because {}",
            exception.reason
        );
    }
    let text: String = differences
        .iter()
        .map(|((capture, device), text)| format!("{capture}, {device}:\n{text}"))
        .collect();
    assert!(differences.is_empty(), "without a reason:\n{text}");
    assert!(intervals.share() >= MIN_EQUAL, "{intervals:?}");
    assert!(notable.share() >= MIN_EQUAL_NOTABLE, "{notable:?}");
}
