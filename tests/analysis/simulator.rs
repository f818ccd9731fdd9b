//! A simulated device of known truth: its counters as a capture, and what the program says of it.

use std::fmt::Write;

use serde_json::Value;

use crate::program::{lines, report};
pub(crate) use crate::random::Random;

/// The load of one second: reads and writes as `(per second, latency in ms, size in KiB)`.
#[derive(Clone, Copy, Default)]
pub(crate) struct Second {
    pub(crate) reads: (f64, f64, f64),
    pub(crate) writes: (f64, f64, f64),
    pub(crate) in_flight: u64,
    /// The part of the second with a request in flight.
    pub(crate) busy_s: f64,
}

/// Reads of 4 KiB at a rate and a queue.
pub(crate) fn reads(rate: f64, queue: f64) -> Second {
    let in_flight = queue.round() as u64;
    Second {
        reads: (rate, queue / rate * 1000.0, 4.0),
        in_flight,
        ..Second::default()
    }
}

/// The rate of a device whose service times vary: requests complete with about `variation` of the irregularity of
/// chance.
pub(crate) fn varied(random: &mut Random, rate: f64, variation: f64) -> f64 {
    rate + variation * rate.sqrt() * random.normal()
}

/// The requests of a direction that a device counted.
#[derive(Default)]
struct Counted {
    ios: u64,
    sectors: u64,
    ms: f64,
}

impl Counted {
    fn add(&mut self, (rate, ms, kib): (f64, f64, f64)) {
        if rate > 0.0 {
            let ios = rate.round();
            self.ios += ios as u64;
            self.sectors += (ios * kib * 2.0).round() as u64;
            self.ms += ios * ms;
        }
    }

    /// The columns of the kernel, which counts whole milliseconds.
    fn columns(&self) -> String {
        format!("{} 0 {} {}", self.ios, self.sectors, self.ms as u64)
    }
}

/// The capture of a device that had done nothing before.
pub(crate) fn capture(seconds: impl IntoIterator<Item = Second>) -> String {
    let (mut reads, mut writes, mut busy_ms) = (Counted::default(), Counted::default(), 0);
    let mut text = String::new();
    for (at, second) in (1_795_197_600..).zip([Second::default()].into_iter().chain(seconds)) {
        reads.add(second.reads);
        writes.add(second.writes);
        busy_ms += (1000.0 * second.busy_s).round() as u64;
        let (read, written, in_flight) = (reads.columns(), writes.columns(), second.in_flight);
        let weighted_ms = reads.ms as u64 + writes.ms as u64;
        writeln!(
            text,
            "TS {at}.0 x\n8 0 sda {read} {written} {in_flight} {busy_ms} {weighted_ms} 0 0 0 0 0 0"
        )
        .unwrap();
    }
    text
}

/// What `analyze` with options says of the device.
#[track_caller]
pub(crate) fn analyze_with(seconds: impl IntoIterator<Item = Second>, options: &str) -> Value {
    report(
        &format!("analyze --json {options}"),
        &capture(seconds),
        "sda",
    )
}

#[track_caller]
pub(crate) fn analyze(seconds: impl IntoIterator<Item = Second>) -> Value {
    analyze_with(seconds, "")
}

/// The live assessment of every second.
#[track_caller]
pub(crate) fn assess(seconds: impl IntoIterator<Item = Second>) -> Vec<Value> {
    lines(&capture(seconds), "sda")
}

/// The caps that were found, rounded to a multiple of `step`, in the order of time.
pub(crate) fn caps(report: &Value, step: f64) -> Vec<f64> {
    let plateaus = report["plateaus"].as_array().unwrap().iter();
    plateaus
        .map(|plateau| (number(&plateau["iops"]) / step).round() * step)
        .collect()
}

#[track_caller]
pub(crate) fn number(value: &Value) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("{value} is no number"))
}

/// Returns whether a number is another one, but for a relative error.
#[track_caller]
pub(crate) fn is_near(value: &Value, expected: f64, error: f64) -> bool {
    (number(value) / expected - 1.0).abs() < error
}
