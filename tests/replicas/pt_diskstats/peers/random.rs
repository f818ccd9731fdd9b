//! Random captures and command lines; the same for the same seed.

use std::fmt::Write;

use crate::support::random::Random;

/// The seed of the captures that are always compared, and their number.
pub(crate) const SEED: u64 = 7;
pub(crate) const CAPTURES: u64 = 25;

/// Command lines per capture.
const LINES: usize = 4;

const NAMES: [&str; 9] = [
    "sda",
    "sda1",
    "sdb",
    "vda",
    "dm-0",
    "nvme0n1",
    "nvme0n1p2",
    "cciss/c0d0",
    "a_rather_long_name",
];
const OPTIONS: [&str; 12] = [
    "--headers group",
    "--headers scroll",
    "--headers ''",
    "--show-inactive",
    "--show-timestamps",
    "--sample-time 2",
    "--sample-time 5",
    "--columns-regex 'cnc|rt'",
    "--columns-regex '_s$'",
    "--devices-regex 'sd'",
    "--devices-regex '[0-9]$'",
    "--interval 3",
];

/// Returns a capture and command lines for it. Time goes on and counters do not fall, because the differences that are
/// wanted begin there.
pub(crate) fn capture(seed: u64) -> (String, Vec<String>) {
    let mut rng = Random(seed);
    let mut text = String::new();
    let columns = if rng.one_in(4) { 15 } else { 11 };
    let mut devices: Vec<(&str, Vec<u64>)> = Vec::new();
    for name in NAMES {
        if rng.one_in(2) {
            devices.push((name, (0..columns).map(|_| rng.number(40)).collect()));
        }
    }
    let samples = 2 + rng.below(8);
    let mut time_ns = 1_500_000_000_000_000_000 + rng.below(1_000_000_000);
    for _ in 0..samples {
        let _ = writeln!(
            text,
            "TS {}.{:09} 2017-07-14 02:40:00",
            time_ns / 1_000_000_000,
            time_ns % 1_000_000_000
        );
        for (index, (name, counters)) in devices.iter().enumerate() {
            // A device may be missing for a while.
            if !rng.one_in(12) {
                let numbers: Vec<String> = counters.iter().map(u64::to_string).collect();
                let _ = writeln!(text, "{:4} {:7} {name} {}", 8, index, numbers.join(" "));
            }
        }
        for (_, counters) in &mut devices {
            let is_busy = !rng.one_in(3);
            for (field, counter) in counters.iter_mut().enumerate() {
                match field {
                    8 => *counter = rng.below(40),
                    _ if is_busy && !rng.one_in(5) => *counter += rng.number(22),
                    _ => {}
                }
            }
        }
        let is_whole = rng.one_in(2);
        time_ns += if is_whole {
            1_000_000_000 * (1 + rng.below(3))
        } else {
            1_000_000 + rng.below(3_000_000_000)
        };
    }
    let lines = (0..LINES).map(|_| {
        let mut line = format!("--group-by {}", rng.pick(&["disk", "sample", "all"]));
        for option in OPTIONS {
            let name = option.split(' ').next().unwrap();
            if rng.one_in(6) && !line.contains(name) {
                let _ = write!(line, " {option}");
            }
        }
        format!("{line} @")
    });
    let lines = lines.collect();
    (text, lines)
}
