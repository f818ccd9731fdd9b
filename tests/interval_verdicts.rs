//! The verdict on a long interval: the worst of those on its samples, with its seconds, replayed and live.

#![allow(clippy::unwrap_used, clippy::panic, clippy::disallowed_methods)]

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use blkstat::clock::{Clock, WaitOutcome};
use blkstat::exit::Exit;
use blkstat::run::{RunContext, run};
use jiff::Timestamp;
use serde_json::Value;

fn blkstat(words: &str) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_blkstat"));
    command.args(words.split_whitespace()).env("TZ", "UTC").current_dir(env!("CARGO_MANIFEST_DIR"));
    let output = command.output().unwrap();
    assert!(output.status.success(), "{words}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn captures() -> Vec<PathBuf> {
    let folder = fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/captures")).unwrap();
    let paths = folder.map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension().is_some_and(|extension| extension == "txt")).collect()
}

/// The rank of a verdict among those on the samples of an interval, as the README describes it.
fn rank(verdict: Option<&str>) -> usize {
    let from_best = [Some("idle"), None, Some("ok"), Some("queueing"), Some("slow"), Some("saturated")];
    let worst = [Some("capped"), Some("throttled"), Some("stalled")];
    from_best.into_iter().chain(worst).position(|other| other == verdict).unwrap()
}

/// Microseconds of a time.
fn micros(time: &Value) -> i128 {
    time.as_str().unwrap().parse::<Timestamp>().unwrap().as_microsecond().into()
}

#[test]
fn a_long_interval_has_the_worst_verdict_of_its_samples_and_its_seconds() {
    let mut partial = 0;
    let mut seen = BTreeMap::new();
    for path in captures() {
        let file = path.display();
        let samples = lines(&blkstat(&format!("--json --all --from {file}")));
        for interval in [3, 8, 20] {
            for long in lines(&blkstat(&format!("--json --all --from {file} {interval}"))) {
                let no_numbers = ["reset", "accounting_off", "appeared", "disappeared", "reappeared"];
                let is_event = |flag: &Value| flag.as_str().unwrap().starts_with("appeared");
                let flags = long["flags"].as_array().unwrap();
                if flags.iter().any(|flag| no_numbers.iter().any(|name| flag == name) || is_event(flag)) {
                    continue;
                }
                let (end, length) = (micros(&long["time"]), long["elapsed_s"].as_f64().unwrap());
                let begin = end - (length * 1e6).round() as i128;
                let is_within = |sample: &&Value| {
                    sample["device"] == long["device"]
                        && (begin + 10..=end + 10).contains(&micros(&sample["time"]))
                };
                let within: Vec<&Value> = samples.iter().filter(is_within).collect();
                let worst = within.iter().map(|sample| sample["verdict"].as_str()).max_by_key(|it| rank(*it));
                let worst = worst.unwrap_or_else(|| panic!("{file} {interval}: no samples for {long}"));
                assert_eq!(long["verdict"].as_str(), worst, "{file} {interval}: {long}");
                let has_worst = |sample: &&&Value| sample["verdict"].as_str() == worst;
                let seconds: f64 =
                    within.iter().filter(has_worst).map(|sample| sample["elapsed_s"].as_f64().unwrap()).sum();
                match worst {
                    Some(verdict) => {
                        let verdict_s = long["verdict_s"].as_f64().unwrap();
                        assert!((verdict_s - seconds).abs() < 1e-4, "{file} {interval}: {seconds} {long}");
                        partial += u64::from(verdict_s < length);
                        *seen.entry(verdict.to_owned()).or_insert(0) += 1;
                    }
                    None => assert!(long["verdict_s"].is_null(), "{long}"),
                }
                let last = within.iter().rfind(|sample| sample["verdict"].as_str() == worst).unwrap();
                assert_eq!(long["evidence"], last["evidence"], "{file} {interval}");
            }
        }
    }
    let kinds: Vec<&str> = seen.keys().map(String::as_str).collect();
    assert!(partial > 20 && kinds.contains(&"capped") && kinds.contains(&"stalled"), "{partial} {seen:?}");
}

#[test]
fn a_sample_of_its_own_has_its_whole_length() {
    for line in lines(&blkstat("--json --from fixtures/captures/capped-3000.txt")) {
        let expected = if line["verdict"].is_null() { &Value::Null } else { &line["elapsed_s"] };
        assert_eq!(&line["verdict_s"], expected, "{line}");
    }
}

#[test]
fn saturation_over_a_long_interval_is_the_latency_of_all_its_requests() {
    let options = "--json --baseline-ms 0.2 --from fixtures/captures/capped-3000.txt";
    let intervals = lines(&blkstat(&format!("{options} loop0 8")));
    assert!(intervals.len() > 5);
    for line in intervals {
        let saturation = line["read_await_ms"].as_f64().unwrap() / 0.2;
        let shown = line["read_saturation"].as_f64().unwrap();
        assert!((shown / saturation - 1.0).abs() < 1e-3, "{saturation} {line}");
    }
}

#[test]
fn the_table_says_for_how_long_a_verdict_held() {
    let options = "--from fixtures/captures/capped-3000.txt loop0 8";
    let wide = blkstat(options);
    let narrow = blkstat(&format!("--width 80 {options}"));
    let cell =
        |text: &str, end: &str| text.lines().any(|line| line.starts_with("loop0") && line.ends_with(end));
    let json = lines(&blkstat(&format!("--json {options}")));
    let is_partial = |line: &&Value| line["verdict_s"].as_f64() < line["elapsed_s"].as_f64();
    let partial = json.iter().filter(is_partial).find(|line| line["verdict"] == "capped").unwrap();
    let verdict = partial["verdict"].as_str().unwrap();
    let [with, all] = ["verdict_s", "elapsed_s"].map(|field| partial[field].as_f64().unwrap().round());
    assert!(cell(&wide, &format!(" {verdict} {with} s of {all}")), "{wide}");
    assert!(cell(&narrow, &format!(" {verdict} {with}s")), "{narrow}");
    assert!(narrow.lines().all(|line| line.chars().count() <= 80), "{narrow}");
    let whole = json.iter().find(|line| line["verdict_s"] == line["elapsed_s"]).unwrap();
    assert!(cell(&wide, &format!(" {}", whole["verdict"].as_str().unwrap())), "{wide}");
    // The blanks after short names make way for the seconds.
    let narrowest = blkstat("--width 40 --from fixtures/captures/capped-3000.txt 20");
    assert!(cell(&narrowest, " capped 18s"), "{narrowest}");
    assert!(narrowest.lines().all(|line| line.chars().count() <= 40), "{narrowest}");
    let last_titles = narrowest.lines().rfind(|line| line.starts_with("device")).unwrap();
    let titles: Vec<&str> = last_titles.split_whitespace().collect();
    assert_eq!(titles, ["device", "r_await", "queue", "util", "verdict"]);
    // The evidence names the time of its sample.
    let explained = blkstat(&format!("--explain {options}"));
    assert!(
        explained.lines().any(|line| line.starts_with("  18:2") && line.contains("reads/s")),
        "{explained}"
    );
}

/// Writes the state of a host whose disk completes a read per millisecond until it hangs.
fn write_host(root: &Path, millis: u128, hung_from: u128) {
    fs::create_dir_all(root.join("proc")).unwrap();
    fs::create_dir_all(root.join("sys/block/sda/queue")).unwrap();
    fs::write(root.join("sys/block/sda/queue/iostats"), "1\n").unwrap();
    let in_flight = if millis >= hung_from { 7 } else { 0 };
    let (ios, ms) = (millis.min(hung_from), millis.min(hung_from) / 10);
    let line = format!("8 0 sda {ios} 0 {} {ms} 0 0 0 0 {in_flight} {ms} {ms} 0 0 0 0 0 0\n", 8 * ios);
    fs::write(root.join("proc/diskstats"), line).unwrap();
    fs::write(root.join("proc/uptime"), format!("{}.00 0.00\n", 100 + millis / 1000)).unwrap();
}

/// A clock that advances only by waits, each of which lasts `late` too long if it is the one of that number, and ends
/// with a signal at a time.
struct Steps<'a> {
    now: Cell<Duration>,
    deadlines: RefCell<Vec<u128>>,
    late: (usize, Duration),
    signal_at: Duration,
    hung_from: u128,
    root: &'a Path,
}

impl Clock for Steps<'_> {
    fn monotonic(&self) -> Duration {
        self.now.get()
    }

    fn wall(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH + self.now.get()
    }

    fn wait_until(&self, deadline: Duration) -> WaitOutcome {
        if deadline > self.signal_at {
            return WaitOutcome::Signal(2);
        }
        self.deadlines.borrow_mut().push(deadline.as_millis());
        let (number, late) = self.late;
        let is_late = self.deadlines.borrow().len() == number;
        self.now.set(self.now.get().max(deadline) + if is_late { late } else { Duration::ZERO });
        write_host(self.root, self.now.get().as_millis(), self.hung_from);
        WaitOutcome::Due
    }
}

/// Runs blkstat on a host whose disk hangs from a time on in milliseconds, until a signal at a time in seconds. Returns
/// its output, and the deadlines in milliseconds for which it waited.
fn live(words: &str, hung_from: u128, signal_at: u64, late: (usize, u64)) -> (String, Vec<u128>, Exit) {
    let root = tempfile::tempdir().unwrap();
    write_host(root.path(), 0, hung_from);
    let clock = Steps {
        now: Cell::default(),
        deadlines: RefCell::default(),
        late: (late.0, Duration::from_millis(late.1)),
        signal_at: Duration::from_secs(signal_at),
        hung_from,
        root: root.path(),
    };
    let words = format!("blkstat {words} --root {}", root.path().display());
    let plan = blkstat::cli::plan(words.split_whitespace().map(OsString::from), &|_| None).unwrap();
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let exit =
        run(&plan, &mut RunContext { clock: &clock, out: &mut out, err: &mut err, is_terminal: false });
    assert_eq!(String::from_utf8(err).unwrap(), "");
    (String::from_utf8(out).unwrap(), clock.deadlines.into_inner(), exit)
}

fn numbers(lines: &[Value], field: &str) -> Vec<f64> {
    lines.iter().map(|line| line[field].as_f64().unwrap()).collect()
}

#[test]
fn a_live_interval_is_sampled_every_second_and_printed_once() {
    let (text, deadlines, exit) = live("--json sda 10 2", 13_000, 100, (0, 0));
    let intervals = lines(&text);
    assert_eq!(exit, Exit::Success);
    assert_eq!(deadlines, (1..=20).map(|second| 1000 * second).collect::<Vec<_>>());
    assert_eq!(numbers(&intervals, "elapsed_s"), [10.0, 10.0]);
    assert_eq!(numbers(&intervals, "reads_per_s"), [1000.0, 300.0]);
    // In the first second of the hang requests may have been in flight only at its end.
    assert_eq!(
        (intervals[1]["verdict"].as_str(), intervals[1]["verdict_s"].as_f64()),
        (Some("stalled"), Some(7.0))
    );
    assert_eq!(intervals[1]["evidence"][0], "7 in flight, none completed for 7 s");
    assert_eq!(intervals[1]["stalled_s"], 0.0);
    let (table, ..) = live("sda 10 2", 13_000, 100, (0, 0));
    assert!(table.ends_with(" stalled 7 s of 10\n"), "{table}");
}

#[test]
fn the_samples_of_a_live_interval_divide_it_evenly() {
    let (text, deadlines, _) = live("--json sda 2.5 2", 100_000, 100, (0, 0));
    assert_eq!(deadlines, [833, 1666, 2500, 3333, 4166, 5000]);
    assert_eq!(numbers(&lines(&text), "elapsed_s"), [2.5, 2.5]);
    for (interval, expected) in [("1", [1000, 2000]), ("0.5", [500, 1000])] {
        let (text, deadlines, _) = live(&format!("--json sda {interval} 2"), 100_000, 100, (0, 0));
        assert_eq!((lines(&text).len(), &deadlines[..]), (2, &expected[..]));
    }
    // An analysis has no live verdicts.
    let (_, deadlines, _) = live("analyze --json sda 10 3", 100_000, 100, (0, 0));
    assert_eq!(deadlines, [10_000, 20_000, 30_000]);
}

#[test]
fn a_signal_within_an_interval_ends_the_run_after_the_last_whole_one() {
    let (text, deadlines, exit) = live("--json sda 10", 100_000, 14, (0, 0));
    assert_eq!((lines(&text).len(), deadlines.len(), exit), (1, 14, Exit::Signal(2)));
}

#[test]
fn late_samples_do_not_shift_the_intervals() {
    // The third wait ends 4.2 s late, in the middle of the interval.
    let (text, deadlines, _) = live("--json sda 10 2", 100_000, 100, (3, 4200));
    assert_eq!(deadlines[..5], [1000, 2000, 3000, 8000, 9000]);
    assert_eq!(numbers(&lines(&text), "elapsed_s"), [10.0, 10.0]);
    assert_eq!(numbers(&lines(&text), "missed_samples"), [0.0, 0.0]);
    // The third wait ends in the third interval after its own.
    let (text, ..) = live("--json sda 10 3", 100_000, 100, (3, 31_500));
    assert_eq!(numbers(&lines(&text), "elapsed_s"), [34.5, 5.5, 10.0]);
    assert_eq!(numbers(&lines(&text), "missed_samples"), [0.0, 2.0, 0.0]);
}
