//! Long intervals of a live host: they are sampled every second, and judged by their samples.

use std::cell::{Cell, RefCell};
use std::os::fd::BorrowedFd;
use std::time::Duration;

use blkstat::clock::{Clock, WaitOutcome};
use blkstat::exit::Exit;
use jiff::Timestamp;
use serde_json::Value;

use crate::support::fake_root::FakeRoot;
use crate::support::in_process::in_process;
use crate::support::text::json_lines;

/// Writes the state of a host whose disk completes a read per millisecond until it hangs.
fn write_host(host: &FakeRoot, millis: u128, hung_from: u128) {
    let in_flight = if millis >= hung_from { 7 } else { 0 };
    let (ios, ms) = (millis.min(hung_from), millis.min(hung_from) / 10);
    let line = format!(
        "8 0 sda {ios} 0 {} {ms} 0 0 0 0 {in_flight} {ms} {ms} 0 0 0 0 0 0\n",
        8 * ios
    );
    host.iostats("sda", true)
        .diskstats(&line)
        .uptime(format!("{}.00", 100 + millis / 1000));
}

/// A clock that advances only by waits, and ends with a signal at a time.
struct Steps<'a> {
    now: Cell<Duration>,
    deadlines: RefCell<Vec<u128>>,
    signal_at: Duration,
    hung_from: u128,
    host: &'a FakeRoot,
}

impl Clock for Steps<'_> {
    fn monotonic(&self) -> Duration {
        self.now.get()
    }

    fn wall(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH + self.now.get()
    }

    fn wait(&self, deadline: Option<Duration>, _input: Option<BorrowedFd<'_>>) -> WaitOutcome {
        let Some(deadline) = deadline else {
            return WaitOutcome::Input;
        };
        if deadline > self.signal_at {
            return WaitOutcome::Signal(2);
        }
        self.deadlines.borrow_mut().push(deadline.as_millis());
        self.now.set(deadline);
        write_host(self.host, self.now.get().as_millis(), self.hung_from);
        WaitOutcome::Due
    }
}

/// Runs blkstat on a host whose disk hangs from a time on in milliseconds, until a signal at a time in seconds. Returns
/// its output, and the deadlines in milliseconds for which it waited.
fn live(words: &str, hung_from: u128, signal_at: u64) -> (String, Vec<u128>, Exit) {
    let host = FakeRoot::new();
    write_host(&host, 0, hung_from);
    let clock = Steps {
        now: Cell::default(),
        deadlines: RefCell::default(),
        signal_at: Duration::from_secs(signal_at),
        hung_from,
        host: &host,
    };
    let (out, err, exit) = in_process(words).root(host.path()).run(&clock);
    assert_eq!(err, "");
    (out, clock.deadlines.into_inner(), exit)
}

fn numbers(lines: &[Value], field: &str) -> Vec<f64> {
    lines
        .iter()
        .map(|line| line[field].as_f64().unwrap())
        .collect()
}

#[test]
fn a_live_interval_is_sampled_every_second_and_printed_once() {
    let (text, deadlines, exit) = live("--json sda 10 2", 13_000, 100);
    let intervals = json_lines(&text);
    assert_eq!(exit, Exit::Success);
    assert_eq!(
        deadlines,
        (1..=20).map(|second| 1000 * second).collect::<Vec<_>>()
    );
    assert_eq!(numbers(&intervals, "elapsed_s"), [10.0, 10.0]);
    assert_eq!(numbers(&intervals, "reads_per_s"), [1000.0, 300.0]);
    // In the first second of the hang requests may have been in flight only at its end.
    assert_eq!(
        (
            intervals[1]["verdict"].as_str(),
            intervals[1]["verdict_s"].as_f64()
        ),
        (Some("stalled"), Some(7.0))
    );
    assert_eq!(
        intervals[1]["evidence"][0],
        "7 in flight, none completed for 7.0 s"
    );
    assert_eq!(intervals[1]["stalled_s"], 0.0);
    let (table, ..) = live("sda 10 2", 13_000, 100);
    assert!(table.contains(" stalled 7s\n"), "{table}");
}

#[test]
fn a_signal_within_an_interval_ends_the_run_after_the_last_whole_one() {
    let (text, deadlines, exit) = live("--json sda 10", 100_000, 14);
    assert_eq!(
        (json_lines(&text).len(), deadlines.len(), exit),
        (1, 14, Exit::Signal(2))
    );
}
