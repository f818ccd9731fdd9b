//! Properties of all numbers, for arbitrary counters.

use std::fmt::Write as _;

use blkstat::exit::Exit;
use proptest::prelude::*;
use serde_json::Value;

use crate::invariants;
use crate::program::{lines, output, run};

/// The numbers of a line of /proc/diskstats.
type Counters = Vec<u64>;

/// The places of some of them.
const BUSY: usize = 9;
const WEIGHTED: usize = 10;
const FLUSHES: usize = 15;

/// A number of any size; those near the limits of 32 and 64 bits are frequent.
fn number() -> impl Strategy<Value = u64> + Clone {
    prop_oneof![
        any::<u64>(),
        (any::<u64>(), 0u32..64).prop_map(|(number, shift)| number >> shift),
        (0u64..200).prop_map(|near| u64::from(u32::MAX) - 100 + near),
        (0u64..100).prop_map(|near| u64::MAX - near),
        0u64..3,
    ]
}

fn counters(number: impl Strategy<Value = u64>) -> impl Strategy<Value = Counters> {
    prop::collection::vec(number, 17)
}

/// The numbers of a device at three samples: of any size, or grown from the first ones.
fn readings() -> impl Strategy<Value = Vec<Counters>> {
    let columns = prop_oneof![Just(4usize), Just(11), Just(15), Just(17)];
    // A device may show other columns after the first sample.
    let columns = (columns.clone(), columns).prop_flat_map(
        |(first, other)| prop_oneof![4 => Just([first; 3]), 1 => Just([first, other, other])],
    );
    let numbers = (prop::collection::vec(counters(number()), 3), any::<bool>());
    (columns, numbers).prop_map(|(columns, (mut samples, grows))| {
        for at in 1..3 {
            let grown = plus(&samples[at - 1], &samples[at]);
            if grows {
                samples[at] = grown;
            }
        }
        samples
            .iter()
            .zip(columns)
            .map(|(sample, columns)| sample[..columns].to_vec())
            .collect()
    })
}

fn plus(counters: &[u64], step: &[u64]) -> Counters {
    counters
        .iter()
        .zip(step)
        .map(|(counter, step)| counter.wrapping_add(*step))
        .collect()
}

fn words(numbers: &[u64]) -> String {
    numbers
        .iter()
        .map(u64::to_string)
        .collect::<Vec<_>>()
        .join(" ")
}

/// What a recorder adds to a sample: the times of the CPU, the nanoseconds after the sample before, and pressure.
fn host() -> impl Strategy<Value = (Vec<u64>, u64, Vec<u64>)> {
    let nanos = prop_oneof![
        Just(1u64),
        1u64..=u64::MAX / 4,
        10_000_000u64..10_000_000_000
    ];
    (
        prop::collection::vec(number(), 10),
        nanos,
        prop::collection::vec(number(), 2),
    )
}

/// A capture or a recording with three samples of devices with arbitrary names and counters.
fn capture() -> impl Strategy<Value = String> {
    let name = prop_oneof![
        "[a-z]{1,4}[0-9]{0,2}",
        "[^ \t\r\n]{1,12}",
        "[\"\\\\{}\u{1b}\u{202e},=é]{1,6}"
    ];
    let devices = prop::collection::vec((name, readings()), 1..9);
    let hosts = prop::option::of(prop::collection::vec(host(), 3));
    (devices, 1u32..1000, hosts).prop_map(|(devices, after, hosts)| {
        let mut text = String::new();
        let mut monotonic = 0;
        for at in 0..3 {
            writeln!(text, "TS {}.5", 1000 + at * after).unwrap();
            for (name, samples) in &devices {
                writeln!(text, "8 0 {name} {}", words(&samples[at as usize])).unwrap();
            }
            if let Some(hosts) = &hosts {
                let (cpu, nanos, pressure) = &hosts[at as usize];
                monotonic += nanos;
                writeln!(text, "cpu  {}", words(cpu)).unwrap();
                writeln!(
                    text,
                    "#blkstat {{\"monotonic_ns\":{monotonic},\"pressure_us\":{pressure:?},\"complete\":true}}"
                )
                .unwrap();
            }
        }
        text
    })
}

/// Checks what every view prints of a capture.
#[track_caller]
fn check(text: &str) {
    let print = |words: &str| {
        let (out, err, exit) = run(words, &[text]);
        assert!(
            matches!(exit, Exit::Success | Exit::NoData),
            "{words}: {exit:?}: {err}"
        );
        (exit == Exit::Success).then_some(out)
    };
    if let Some(out) = print("--json --all --from") {
        invariants::lines(&out);
    }
    for words in [
        "iostat -x -o JSON",
        "iostat -o JSON",
        "iostat -x -g all -o JSON",
        "iostat -xN -t -o JSON",
    ] {
        let document = print(&format!("{words} --from"));
        document
            .iter()
            .for_each(|document| assert!(invariants::iostat(document) <= 2));
    }
    for words in ["disk", "sample", "all"] {
        let table = print(&format!("pt-diskstats --show-inactive --group-by {words}"));
        table
            .iter()
            .for_each(|table| invariants::pt_diskstats(table));
    }
    if let Some(document) = print("analyze --json") {
        serde_json::from_str::<Value>(&document).unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn every_number_is_in_its_range(text in capture()) {
        check(&text);
    }

    #[test]
    fn numbers_are_those_of_the_counters_and_a_split_interval_keeps_its_totals(
        start in counters(0u64..1 << 40), steps in prop::array::uniform2(counters(0u64..10_000)),
        nanos in prop::array::uniform2(100_000_000u64..5_000_000_000)
    ) {
        let middle = plus(&start, &steps[0]);
        let end = plus(&middle, &steps[1]);
        let sample = |nanos: u64, counters: &Counters| {
            let (seconds, nanos) = (1_795_197_600 + nanos / 1_000_000_000, nanos % 1_000_000_000);
            format!("TS {seconds}.{nanos:09} x\n8 0 sda {}\n", words(counters))
        };
        let [first, second, third] =
            [sample(0, &start), sample(nanos[0], &middle), sample(nanos[0] + nanos[1], &end)];
        let whole = format!("{first}{third}");
        let split = format!("{first}{second}{third}");
        let parts = lines(&split, "sda");
        prop_assert_eq!(parts.len(), 2);
        for ((line, step), nanos) in parts.iter().zip(&steps).zip(nanos) {
            check_line(line, step, nanos);
        }
        check_line(&lines(&whole, "sda")[0], &plus(&steps[0], &steps[1]), nanos[0] + nanos[1]);
        // The sums of pt-diskstats, whose rows begin with the number of samples.
        let sums = [split, whole].map(|text| {
            let table = output("pt-diskstats --group-by disk", &[&text]);
            table.lines().last().unwrap().split_once('}').unwrap().1.to_owned()
        });
        prop_assert_eq!(&sums[0], &sums[1]);
    }
}

/// Checks the numbers of a line against the growth of the counters. Its numbers have six decimals.
#[track_caller]
fn check_line(line: &Value, step: &[u64], nanos: u64) {
    let seconds = nanos as f64 / 1e9;
    let is_near = |name: &str, factor: f64, expected: f64| {
        let found = line[name]
            .as_f64()
            .unwrap_or_else(|| panic!("{name}: {line}"))
            * factor;
        let rounding = 1e-6 * factor + 1e-9 * expected.max(1.0);
        assert!(
            (found - expected).abs() <= rounding,
            "{name}: {found} is not {expected}: {line}"
        );
    };
    for (requests, first) in [("read", 0), ("write", 4), ("discard", 11)] {
        let [ios, merges, sectors, ms] = [0, 1, 2, 3].map(|at| step[first + at] as f64);
        is_near(&format!("{requests}s_per_s"), seconds, ios);
        is_near(&format!("{requests}_merges_per_s"), seconds, merges);
        is_near(&format!("{requests}_kib_per_s"), seconds, sectors / 2.0);
        is_near(&format!("{requests}_queue"), seconds * 1000.0, ms);
        if ios > 0.0 {
            is_near(&format!("{requests}_await_ms"), 1.0, ms / ios);
        }
    }
    is_near("flushes_per_s", seconds, step[FLUSHES] as f64);
    is_near("queue", seconds * 1000.0, step[WEIGHTED] as f64);
    is_near("util_pct", seconds * 10.0, step[BUSY] as f64);
}

/// Captures on which a check failed once: columns of milliseconds that fell, and columns that appeared.
#[test]
fn earlier_failures_stay_corrected() {
    check(
        "TS 1000.5\n8 0 a 0 0 0 0\nTS 1966.5\n8 0 a 3793600948340987068 633815167909 982281908564710472 1 \
         14653143125368564548 18446744073709551574 18446744073709551539 4294967203 1 18446744073709551562 \
         4294967323\n",
    );
    check(
        "TS 1000.5\n8 0 a 0 0 0 0\nTS 17693634085.5\n8 0 a 4294967247 1 30230001127700 49802787355 4294967207 62 \
         4294967236 4294967350 18446744073709551545 4294967302 2 0 18446744073709551579 13558604977171170743 \
         16789518910114822184 209474277752 4294967265\n",
    );
}
