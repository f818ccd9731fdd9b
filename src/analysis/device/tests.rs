//! Tests that the report is the same if loads are taken into account later than their intervals.

use super::*;
use crate::counters::{Columns, Counters, Requests};
use crate::units::Span;

/// Random numbers below `range`.
fn random() -> impl FnMut(u64) -> u64 {
    let mut state = 1_u64;
    move |range| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % range
    }
}

/// Intervals of all kinds: busy, idle, in which only one direction works, without times, and of any length.
fn intervals(count: usize) -> Vec<IntervalStats> {
    let mut random = random();
    let mut of = move |_| {
        let kind = random(20);
        let mut requests = |is_active: bool| {
            let ios = if is_active { random(1 << (1 + kind % 14)) } else { 0 };
            Requests {
                ios,
                merges: random(9) * ios,
                sectors: ios * 8 + random(1 + ios * 40),
                ms: ios * random(300) / 100,
            }
        };
        let (reads, writes) = (requests(kind > 2), requests(kind > 4));
        let columns = if kind == 19 { Columns::Partition } else { Columns::Flushes };
        let newer = Counters { columns, reads, writes, busy_ms: random(1200), ..Counters::ZERO };
        let interval = Span::from_nanos(999_900_000 + random(200_000) * (1 + kind % 5)).unwrap();
        IntervalStats::between(&Counters { columns, ..Counters::ZERO }, &newer, interval).unwrap()
    };
    (0..count).map(&mut of).collect()
}

/// The report, with loads taken into account as late as possible, or at once.
fn report(intervals: &[IntervalStats], is_at_once: bool) -> DeviceReport {
    let mut analysis = DeviceAnalysis::new("sda");
    let (host, mut run_s) = (HostStats::default(), 0.0);
    for (index, stats) in intervals.iter().enumerate() {
        let flag = None;
        let is_accounting_off = false;
        analysis.observe(&Observation { stats, flag, run_s, stalled_s: 0.0, is_accounting_off, host: &host });
        run_s += stats.seconds;
        match index % 700 {
            100 => analysis.note_gap(),
            300 if index < 3000 => analysis.note_reset(),
            _ => {}
        }
        if is_at_once {
            analysis.settle();
        }
    }
    analysis.finish(&Settings::default(), &HostReport::default())
}

#[test]
fn loads_that_are_taken_into_account_later_count_as_the_others() {
    for count in [0, 1, 40, 500, 9000, 60_000] {
        let intervals = intervals(count);
        let (later, at_once) = (report(&intervals, false), report(&intervals, true));
        assert_eq!(later, at_once);
        assert!(count < 500 || later.read.iops.p50.is_some() && later.write.baseline_await_ms.is_some());
    }
}

#[test]
fn statistics_are_computed_from_the_load_of_their_interval() {
    let host = HostStats::default();
    let load = |stats: &IntervalStats| LoadSample::from_stats(stats, &host, 0.0);
    let with_load = intervals(20_000).into_iter().filter_map(|stats| Some((load(&stats)?, stats)));
    let (same, other): (Vec<_>, Vec<_>) = with_load.partition(|(load, stats)| is_computable(load, stats));
    assert_eq!((same.len() > 10_000, other.len()), (true, 0));
    // Statistics from a clock with another unit may differ in the last bit.
    let (_, mut stats) = same[0];
    stats.reads.per_s = stats.reads.per_s.map(f64::next_up);
    assert!(!is_computable(&load(&stats).unwrap(), &stats));
}
