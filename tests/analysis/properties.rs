//! Properties of all numbers, for arbitrary counters.

use std::fmt::Write as _;

use blkstat::clock::{ManualClock, WaitOutcome};
use blkstat::counters::{Columns, Counters, CpuTimes, HostState, Pressure, Requests, Sample};
use blkstat::exit::Exit;
use blkstat::metrics::{DirectionStats, IntervalStats};
use blkstat::pt_diskstats::PtDelta;
use blkstat::units::Span;
use jiff::Timestamp;
use proptest::prelude::*;
use serde_json::Value;

use crate::invariants;
use crate::support::in_process::in_process;

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

fn requests(number: impl Strategy<Value = u64> + Clone) -> impl Strategy<Value = Requests> {
    (number.clone(), number.clone(), number.clone(), number).prop_map(|(ios, merges, sectors, ms)| Requests {
        ios,
        merges,
        sectors,
        ms,
    })
}

fn counters(number: impl Strategy<Value = u64> + Clone) -> impl Strategy<Value = Counters> {
    let columns = prop_oneof![
        Just(Columns::Partition),
        Just(Columns::Basic),
        Just(Columns::Discards),
        Just(Columns::Flushes)
    ];
    let requests = [requests(number.clone()), requests(number.clone()), requests(number.clone())];
    let others = prop::array::uniform5(number);
    (columns, requests, others).prop_map(|(columns, [reads, writes, discards], others)| {
        let [flushes, flush_ms, in_flight, busy_ms, weighted_ms] = others;
        Counters { columns, reads, writes, discards, flushes, flush_ms, in_flight, busy_ms, weighted_ms }
    })
}

fn host() -> impl Strategy<Value = Sample> {
    (prop::array::uniform10(number()), number(), number()).prop_map(|(cpu, some_us, full_us)| {
        let [user, nice, system, idle, iowait, irq, softirq, steal, guest, guest_nice] = cpu;
        let cpu = CpuTimes { user, nice, system, idle, iowait, irq, softirq, steal, guest, guest_nice };
        let state = HostState { pressure: Some(Pressure { some_us, full_us }), ..HostState::default() };
        Sample { cpu: Some(cpu), host: state, ..Sample::default() }
    })
}

fn interval() -> impl Strategy<Value = Span> {
    let nanos = prop_oneof![Just(1u64), 1u64..=u64::MAX, 10_000_000u64..10_000_000_000];
    nanos.prop_map(|nanos| Span::from_nanos(nanos).unwrap())
}

/// Three readings of counters that grow as on a real device.
fn growing() -> impl Strategy<Value = [Counters; 3]> {
    let step = || counters(0u64..10_000);
    (counters(0u64..1 << 40), step(), step()).prop_map(|(start, first, second)| {
        let flushes = |counters: Counters| Counters { columns: Columns::Flushes, ..counters };
        let [a, first, second] = [start, first, second].map(flushes);
        let b = a.plus(&first);
        [a, b, b.plus(&second)]
    })
}

/// Returns whether two numbers are equal except for rounding errors.
fn near(parts: f64, whole: f64) -> bool {
    (parts - whole).abs() <= 1e-9 * whole.abs().max(1.0)
}

/// The requests, KiB, merges and milliseconds in the queue of a direction, from its rates and means.
fn totals(stats: &IntervalStats, of: fn(&IntervalStats) -> &DirectionStats) -> [f64; 4] {
    let direction = of(stats);
    let ios = direction.ios.unwrap() as f64;
    let sum = |rate: Option<f64>| rate.unwrap() * stats.seconds;
    let waited = direction.await_ms.unwrap_or(0.0) * ios;
    // Without completed requests there is no mean latency, but requests may have spent time in the queue.
    let queued = sum(direction.queue) * 1000.0;
    assert!(ios == 0.0 || near(waited, queued), "{direction:?}");
    [ios, sum(direction.kib_per_s), sum(direction.merges_per_s), queued]
}

proptest! {
    #[test]
    fn no_number_is_negative_or_infinite(
        older in counters(number()), newer in counters(number()), interval in interval()
    ) {
        invariants::device(&older, &newer, interval);
        invariants::device(&older, &older.plus(&newer), interval);
    }

    #[test]
    fn no_number_of_the_host_is_negative_or_infinite(
        older in host(), newer in host(), interval in interval()
    ) {
        invariants::host(&older, &newer, interval);
    }

    #[test]
    fn an_interval_that_is_split_keeps_its_totals(
        [a, b, c] in growing(), first in 100_000_000u64..5_000_000_000, second in 100_000_000u64..5_000_000_000
    ) {
        let stats = |older, newer, nanos| IntervalStats::between(older, newer, Span::from_nanos(nanos).unwrap()).unwrap();
        let (ab, bc, ac) = (stats(&a, &b, first), stats(&b, &c, second), stats(&a, &c, first + second));
        let directions: [fn(&IntervalStats) -> &DirectionStats; 3] = [|s| &s.reads, |s| &s.writes, |s| &s.discards];
        for of in directions {
            for ((x, y), whole) in totals(&ab, of).into_iter().zip(totals(&bc, of)).zip(totals(&ac, of)) {
                prop_assert!(near(x + y, whole), "{} + {} is not {}", x, y, whole);
            }
        }
        prop_assert_eq!(ab.completed + bc.completed, ac.completed);
        let others: [fn(&IntervalStats) -> Option<f64>; 3] = [|s| s.flushes_per_s, |s| s.queue, |s| s.util_pct];
        for of in others {
            let total = |stats: &IntervalStats| of(stats).unwrap() * stats.seconds;
            prop_assert!(near(total(&ab) + total(&bc), total(&ac)));
        }
        let delta = |older, newer| PtDelta::between(older, newer).unwrap();
        let mut sum = delta(&a, &b);
        sum.add(&delta(&b, &c));
        prop_assert_eq!(sum, delta(&a, &c));
    }
}

/// A capture with two samples of devices with arbitrary names and counters.
fn capture() -> impl Strategy<Value = String> {
    let name = prop_oneof!["[a-z]{1,4}[0-9]{0,2}", "[^ \t\r\n]{1,12}", "[\"\\\\{}\u{1b}\u{202e},=é]{1,6}"];
    let columns = prop_oneof![Just(4usize), Just(11), Just(15), Just(17)];
    let numbers = columns.prop_flat_map(|count| prop::collection::vec(number(), count));
    let device = (name, numbers.clone(), numbers);
    (prop::collection::vec(device, 1..5), 1u32..1000).prop_map(|(devices, after)| {
        let mut text = String::new();
        let words = |numbers: &[u64]| numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(" ");
        for second in [1000, 1000 + after] {
            writeln!(text, "TS {second}.5").unwrap();
            for (name, first, later) in &devices {
                let numbers = if second == 1000 { first } else { later };
                writeln!(text, "8 0 {name} {}", words(numbers)).unwrap();
            }
        }
        text
    })
}

/// Runs a command on a capture. Returns its standard output and how it ended.
fn output(words: &str, capture: &std::path::Path) -> (String, Exit) {
    let clock = ManualClock::new(Timestamp::UNIX_EPOCH, |_| WaitOutcome::Due);
    let (out, _, exit) = in_process(words).args(["--from".as_ref(), capture.as_os_str()]).run(&clock);
    (out, exit)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]
    #[test]
    fn json_is_always_valid(text in capture()) {
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let path = folder.path().join("capture");
        std::fs::write(&path, &text).unwrap();
        let (lines, exit) = output("--json --all", &path);
        prop_assert_eq!(exit, Exit::Success);
        for line in lines.lines() {
            let value: Value = serde_json::from_str(line).unwrap();
            let is_valid = |value: &Value| value.as_f64().is_none_or(|number| number >= 0.0);
            prop_assert!(value.as_object().unwrap().values().all(is_valid), "{}", line);
            prop_assert!(!line.contains(char::is_control));
        }
        for words in ["iostat -x -o JSON", "iostat -o JSON", "iostat -xN -t -o JSON"] {
            let (document, exit) = output(words, &path);
            prop_assert_eq!(exit, Exit::Success);
            let value: Value = serde_json::from_str(&document).unwrap();
            prop_assert_eq!(value["sysstat"]["hosts"][0]["statistics"].as_array().unwrap().len(), 1);
        }
    }
}
