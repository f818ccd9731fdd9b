//! Synthetic devices: their counters, and the text that a kernel would print for them.

use std::io::Write;

use blkstat::counters::{Columns, Counters, Requests};

/// The time of the first sample of a capture, in seconds since 1970.
const START: u64 = 1_795_000_000;

/// Devices whose counters grow in uneven steps.
pub(crate) struct Devices {
    counters: Vec<Counters>,
    /// One of this many devices is busy; the others are idle.
    busy_one_in: usize,
    random: u64,
}

impl Devices {
    /// Creates devices that have been in use for a while.
    pub(crate) fn new(devices: usize, busy_one_in: usize) -> Self {
        let requests = |n: u64| Requests { ios: n * 977, merges: n * 83, sectors: n * 31_337, ms: n * 1201 };
        let device = |n: u64| Counters {
            columns: Columns::Flushes,
            reads: requests(9_000 + n),
            writes: requests(4_000 + n),
            discards: requests(50 + n),
            flushes: 7_000 + n,
            flush_ms: 11_000 + n,
            in_flight: 0,
            busy_ms: 3_000_000 + n,
            weighted_ms: 16_000_000 + n,
        };
        Self { counters: (0..devices as u64).map(device).collect(), busy_one_in, random: 7 }
    }

    /// Advances the counters by one second.
    pub(crate) fn advance(&mut self) {
        let mut random = self.random;
        let mut below = |limit: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % limit
        };
        for device in self.counters.iter_mut().step_by(self.busy_one_in) {
            let mut grow = |requests: &mut Requests, max: u64| {
                let ios = 1 + below(max);
                requests.ios += ios;
                requests.merges += below(ios);
                requests.sectors += ios * (8 + below(120));
                requests.ms += ios / 4 + below(ios);
            };
            grow(&mut device.reads, 9_000);
            grow(&mut device.writes, 3_000);
            grow(&mut device.discards, 20);
            device.flushes += below(30);
            device.flush_ms += below(90);
            device.in_flight = below(32);
            device.busy_ms += 200 + below(800);
            device.weighted_ms += below(9_000);
        }
        self.random = random;
    }

    /// Returns the counters of all devices.
    pub(crate) fn counters(&self) -> Vec<Counters> {
        self.counters.clone()
    }

    /// Appends the text of /proc/diskstats with this number of columns.
    pub(crate) fn print(&self, columns: usize, out: &mut Vec<u8>) {
        for (minor, device) in self.counters.iter().enumerate() {
            let of = |r: &Requests| [r.ios, r.merges, r.sectors, r.ms];
            let basic = [device.in_flight, device.busy_ms, device.weighted_ms];
            let flushes = [device.flushes, device.flush_ms];
            let numbers =
                [&of(&device.reads)[..], &of(&device.writes), &basic, &of(&device.discards), &flushes];
            write!(out, " 259 {minor:>7} nvme{minor}n1").unwrap();
            for number in numbers.concat().iter().take(columns - 3) {
                write!(out, " {number}").unwrap();
            }
            out.push(b'\n');
        }
    }
}

/// Returns a capture with this number of devices, samples and columns.
pub(crate) fn capture(devices: usize, samples: u64, columns: usize, busy_one_in: usize) -> Vec<u8> {
    let mut devices = Devices::new(devices, busy_one_in);
    let mut text = Vec::new();
    for sample in 0..samples {
        writeln!(text, "TS {}.{:09} 2026-11-20 12:00:00", START + sample, 1_000 + sample * 37).unwrap();
        devices.print(columns, &mut text);
        devices.advance();
    }
    text
}
