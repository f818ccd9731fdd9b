//! Synthetic devices: their counters, and the text that a kernel would print for them.

use std::io::Write;

/// The time of the first sample of a capture, in seconds since 1970.
const START: u64 = 1_795_000_000;

/// The first of the four numbers of reads, writes and discards, and the most that complete in a second.
const REQUESTS: [(usize, u64); 3] = [(0, 9_000), (4, 3_000), (11, 20)];
/// The places of the other numbers.
const IN_FLIGHT: usize = 8;
const BUSY_MS: usize = 9;
const WEIGHTED_MS: usize = 10;
const FLUSHES: usize = 15;
const FLUSH_MS: usize = 16;

/// Devices whose counters grow in uneven steps.
struct Devices {
    /// The numbers of the kernel's lines.
    counters: Vec<[u64; 17]>,
    /// One of this many devices is busy; the others are idle.
    busy_one_in: usize,
    random: u64,
}

impl Devices {
    /// Creates devices that have been in use for a while.
    fn new(devices: usize, busy_one_in: usize) -> Self {
        let device = |n: u64| {
            let mut counters = [0; 17];
            for ((first, _), n) in REQUESTS.into_iter().zip([9_000 + n, 4_000 + n, 50 + n]) {
                counters[first..first + 4].copy_from_slice(&[n * 977, n * 83, n * 31_337, n * 1201]);
            }
            counters[BUSY_MS..=WEIGHTED_MS].copy_from_slice(&[3_000_000 + n, 16_000_000 + n]);
            counters[FLUSHES..=FLUSH_MS].copy_from_slice(&[7_000 + n, 11_000 + n]);
            counters
        };
        Self { counters: (0..devices as u64).map(device).collect(), busy_one_in, random: 7 }
    }

    /// Advances the counters by one second.
    fn advance(&mut self) {
        let mut random = self.random;
        let mut below = |limit: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % limit
        };
        for device in self.counters.iter_mut().step_by(self.busy_one_in) {
            for (first, max) in REQUESTS {
                let ios = 1 + below(max);
                let steps = [ios, below(ios), ios * (8 + below(120)), ios / 4 + below(ios)];
                device[first..].iter_mut().zip(steps).for_each(|(number, step)| *number += step);
            }
            device[FLUSHES] += below(30);
            device[FLUSH_MS] += below(90);
            device[IN_FLIGHT] = below(32);
            device[BUSY_MS] += 200 + below(800);
            device[WEIGHTED_MS] += below(9_000);
        }
        self.random = random;
    }

    /// Appends the text of /proc/diskstats with this number of columns.
    fn print(&self, columns: usize, out: &mut Vec<u8>) {
        for (minor, numbers) in self.counters.iter().enumerate() {
            write!(out, " 259 {minor:>7} nvme{minor}n1").unwrap();
            for number in &numbers[..columns - 3] {
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
