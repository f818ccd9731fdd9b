//! A simulated device of known truth, as counters that the analysis reads.

use blkstat::analysis::{
    Assessment, DeviceAnalysis, DeviceReport, HostReport, LiveVerdict, Observation, Settings, SinceBoot,
};
use blkstat::counters::{Columns, Counters};
use blkstat::intervals::{Events, RunClock};
use blkstat::metrics::{HostStats, IntervalStats, StallTimer};
use blkstat::report::analysis::{AnalysisReport, json};
use blkstat::topology::Topology;
use blkstat::units::Span;
use jiff::tz::TimeZone;
use std::collections::HashMap;

/// Pseudo-random numbers (splitmix64, Steele, Lea and Flood 2014).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform between 0 and 1.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Normal with mean 0 and standard deviation 1 (Box and Muller 1958).
    pub(crate) fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }

    /// Exponential with mean 1.
    pub(crate) fn exponential(&mut self) -> f64 {
        -(1.0 - self.unit()).ln()
    }
}

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
    Second { reads: (rate, queue / rate * 1000.0, 4.0), in_flight, ..Second::default() }
}

/// The rate of a device whose service times vary: requests complete with about `variation` of the irregularity of
/// chance.
pub(crate) fn varied(random: &mut Random, rate: f64, variation: f64) -> f64 {
    rate + variation * rate.sqrt() * random.normal()
}

/// The counters of a device, advanced second by second.
struct Device {
    counters: Counters,
    exact_ms: [f64; 2],
    stall_timer: StallTimer,
    at_s: f64,
}

impl Device {
    fn new() -> Self {
        let counters = Counters { columns: Columns::Flushes, ..Counters::ZERO };
        Self { counters, exact_ms: [0.0; 2], stall_timer: StallTimer::default(), at_s: 0.0 }
    }

    /// The statistics of a second, with the rounding of the kernel's columns, and the seconds of the stall so far.
    fn advance(&mut self, second: Second) -> (IntervalStats, f64) {
        let older = self.counters;
        let requests = [&mut self.counters.reads, &mut self.counters.writes];
        for ((requests, (rate, ms, kib)), exact) in
            requests.into_iter().zip([second.reads, second.writes]).zip(&mut self.exact_ms)
        {
            if rate > 0.0 {
                let ios = rate.round();
                requests.ios += ios as u64;
                requests.sectors += (ios * kib * 2.0).round() as u64;
                *exact += ios * ms;
                requests.ms = *exact as u64;
            }
        }
        self.counters.busy_ms += (1000.0 * second.busy_s).round() as u64;
        self.counters.weighted_ms = self.counters.reads.ms + self.counters.writes.ms;
        self.counters.in_flight = second.in_flight;
        let interval = Span::from_nanos(1_000_000_000).unwrap();
        let stats = IntervalStats::between(&older, &self.counters, interval).unwrap();
        self.at_s += 1.0;
        (stats, self.stall_timer.observe(&stats))
    }
}

pub(crate) fn analyze_with(seconds: impl IntoIterator<Item = Second>, settings: &Settings) -> DeviceReport {
    let (mut device, mut analysis) = (Device::new(), DeviceAnalysis::new("sda").with_blocks());
    for second in seconds {
        let (stats, stalled_s) = device.advance(second);
        analysis.observe(&Observation {
            run_s: 0.0,
            stats: &stats,
            flag: None,
            at_s: Some(device.at_s),
            stalled_s,
            is_accounting_off: false,
            host: &HostStats::default(),
        });
    }
    analysis.finish(settings, &HostReport::default())
}

pub(crate) fn analyze(seconds: impl IntoIterator<Item = Second>) -> DeviceReport {
    analyze_with(seconds, &Settings::default())
}

/// The live assessment of every second.
pub(crate) fn assess(seconds: impl IntoIterator<Item = Second>) -> Vec<Assessment> {
    let (mut device, mut live) =
        (Device::new(), LiveVerdict::new(&Settings::default(), SinceBoot::default()));
    let mut observe = |second| {
        let (stats, stalled_s) = device.advance(second);
        live.observe(&stats, stalled_s, &HostStats::default())
    };
    seconds.into_iter().map(&mut observe).collect()
}

/// The caps that were found, rounded to tens, in the order of time.
pub(crate) fn caps(report: &DeviceReport) -> Vec<f64> {
    report.plateaus.iter().map(|plateau| (plateau.iops / 10.0).round() * 10.0).collect()
}

/// The report as JSON.
pub(crate) fn to_json(report: &DeviceReport) -> serde_json::Value {
    let mut out = Vec::new();
    let devices = std::slice::from_ref(report);
    json(
        &AnalysisReport {
            devices,
            queue_by_layer: None,
            topology: &Topology::default(),
            is_selection: false,
            host: &HostReport::default(),
            events: &Events::default(),
            incidents: &[],
            latencies: &HashMap::new(),
            clock: &RunClock::default(),
            time_zone: &TimeZone::UTC,
            has_details: true,
            is_unicode: false,
        },
        &mut out,
    );
    serde_json::from_slice::<serde_json::Value>(&out).unwrap()["devices"][0].take()
}

/// The explanation as a sentence.
pub(crate) fn explanation(report: &DeviceReport) -> String {
    to_json(report)["explanation"].as_str().unwrap().to_owned()
}
