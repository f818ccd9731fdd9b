//! LoadHistory of a made-up machine whose truth is known, as counters that the analysis reads.

use blkstat::analysis::{Assessment, DeviceAnalysis, DeviceReport, LiveVerdict, Observation, Settings};
use blkstat::counters::{Columns, Counters};
use blkstat::metrics::{IntervalStats, StallTimer};
use blkstat::units::Interval;

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

    /// Between 0 and 1.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Normal with mean 0 and deviation 1 (Box and Muller 1958).
    pub(crate) fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }

    /// Exponential with mean 1.
    pub(crate) fn exponential(&mut self) -> f64 {
        -(1.0 - self.unit()).ln()
    }
}

/// What a device does in a second, reads and writes: `(a second, response time in ms, KiB)`.
#[derive(Clone, Copy, Default)]
pub(crate) struct Second {
    pub(crate) reads: (f64, f64, f64),
    pub(crate) writes: (f64, f64, f64),
    pub(crate) in_flight: u64,
}

/// Reads of 4 KiB at a rate and a concurrency.
pub(crate) fn reads(rate: f64, concurrency: f64) -> Second {
    let in_flight = concurrency.round() as u64;
    Second { reads: (rate, concurrency / rate * 1000.0, 4.0), in_flight, ..Second::default() }
}

/// The counters of a device, advanced second by second.
pub(crate) struct Device {
    counters: Counters,
    exact_ms: [f64; 2],
    stall_timer: StallTimer,
    at: f64,
}

impl Device {
    pub(crate) fn new() -> Self {
        let counters = Counters { columns: Columns::Flushes, ..Counters::ZERO };
        Self { counters, exact_ms: [0.0; 2], stall_timer: StallTimer::default(), at: 0.0 }
    }

    /// The figures of a second, with the rounding of the kernel's columns.
    pub(crate) fn pass(&mut self, second: Second) -> (IntervalStats, f64, f64) {
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
        self.counters.weighted_ms = self.counters.reads.ms + self.counters.writes.ms;
        self.counters.in_flight = second.in_flight;
        let interval = Interval::from_nanos(1_000_000_000).unwrap();
        let figures = IntervalStats::between(&older, &self.counters, interval).unwrap();
        self.at += 1.0;
        (figures, self.stall_timer.observe(&figures), self.at)
    }
}

pub(crate) fn analyze_with(seconds: impl IntoIterator<Item = Second>, settings: &Settings) -> DeviceReport {
    let (mut device, mut analysis) = (Device::new(), DeviceAnalysis::new("sda"));
    for second in seconds {
        let (figures, stalled_s, at) = device.pass(second);
        analysis.see(&Observation {
            figures: &figures,
            flag: None,
            at_s: Some(at),
            stalled_s,
            accounting: None,
        });
    }
    analysis.finish(settings)
}

pub(crate) fn analyze(seconds: impl IntoIterator<Item = Second>) -> DeviceReport {
    analyze_with(seconds, &Settings::default())
}

pub(crate) fn judge(seconds: impl IntoIterator<Item = Second>) -> Vec<Assessment> {
    let (mut device, mut judge) = (Device::new(), LiveVerdict::new(&Settings::default()));
    let mut see = |second| {
        let (figures, stalled_s, _) = device.pass(second);
        judge.see(&figures, stalled_s, None)
    };
    seconds.into_iter().map(&mut see).collect()
}

/// The caps that were found, to tens, in the order of time.
pub(crate) fn caps(report: &DeviceReport) -> Vec<f64> {
    report.plateaus.iter().map(|plateau| (plateau.iops / 10.0).round() * 10.0).collect()
}
