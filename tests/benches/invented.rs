//! Invented machines: their counters, and the text that a kernel would print of them.

use std::io::Write;

use blkstat::counters::{Columns, Counters, Requests};

/// When the captures begin, in seconds since 1970.
const START: u64 = 1_795_000_000;

/// Devices whose counters grow in uneven steps.
pub(crate) struct Machine {
    devices: Vec<Counters>,
    /// Of so many devices one works, the others stand still.
    one_in: usize,
    random: u64,
}

impl Machine {
    /// A machine that has been up for a while.
    pub(crate) fn new(devices: usize, one_in: usize) -> Self {
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
        Self { devices: (0..devices as u64).map(device).collect(), one_in, random: 7 }
    }

    /// Lets a second go by.
    pub(crate) fn step(&mut self) {
        let mut random = self.random;
        let mut below = |limit: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % limit
        };
        for device in self.devices.iter_mut().step_by(self.one_in) {
            let mut grow = |requests: &mut Requests, most: u64| {
                let ios = 1 + below(most);
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

    /// The counters of all devices.
    pub(crate) fn counters(&self) -> Vec<Counters> {
        self.devices.clone()
    }

    /// /proc/diskstats with so many columns.
    pub(crate) fn print(&self, columns: usize, out: &mut Vec<u8>) {
        for (minor, device) in self.devices.iter().enumerate() {
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

/// A capture of so many devices and samples.
pub(crate) fn capture(devices: usize, samples: u64, columns: usize, one_in: usize) -> Vec<u8> {
    let mut machine = Machine::new(devices, one_in);
    let mut text = Vec::new();
    for sample in 0..samples {
        writeln!(text, "TS {}.{:09} 2026-11-20 12:00:00", START + sample, 1_000 + sample * 37).unwrap();
        machine.print(columns, &mut text);
        machine.step();
    }
    text
}
