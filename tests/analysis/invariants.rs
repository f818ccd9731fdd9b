//! Invariants of the numbers between any two samples, which the property tests and the fuzz targets check.

use blkstat::counters::{Counters, Sample};
use blkstat::iostat::{IostatRates, RequestRates};
use blkstat::metrics::{DirectionStats, HostStats, IntervalStats, StallTimer, UtilCheck};
use blkstat::pt_diskstats::{DirectionRates, PtDelta};
use blkstat::units::Span;

/// Checks that every number that is known is finite and not negative.
#[track_caller]
fn check_range(what: &str, numbers: &[Option<f64>]) {
    for (at, number) in numbers.iter().enumerate() {
        assert!(number.is_none_or(|n| n.is_finite() && n >= 0.0), "{what}, number {at}: {numbers:?}");
    }
}

/// Checks that a percentage, if known, is between 0 and 100.
#[track_caller]
fn check_percentage(what: &str, percent: Option<f64>) {
    assert!(percent.is_none_or(|percent| (0.0..=100.0).contains(&percent)), "{what}: {percent:?}");
}

fn direction(d: &DirectionStats) {
    check_range(
        "direction",
        &[d.per_s, d.kib_per_s, d.merges_per_s, d.merge_pct, d.await_ms, d.size_kib, d.queue],
    );
    check_percentage("merged", d.merge_pct);
    if d.ios == Some(0) {
        assert_eq!((d.await_ms, d.size_kib), (None, None), "no mean without completed requests");
    }
}

fn requests(r: &RequestRates) {
    let numbers = [r.per_s(), r.kib_per_s(), r.merges_per_s(), r.merge_pct(), r.await_ms(), r.size_kib()];
    check_range("requests", &numbers);
    check_percentage("merged", r.merge_pct());
}

fn pt_direction(d: &DirectionRates) {
    let numbers = [d.per_s, d.size_kib, d.mib_per_s, d.merge_pct, d.concurrency, d.response_ms];
    check_range("pt-diskstats", &numbers.map(Some));
    check_percentage("merged", Some(d.merge_pct));
}

/// Checks all numbers of the host between two samples.
pub(crate) fn host(older: &Sample, newer: &Sample, interval: Span) {
    let stats = HostStats::between(older, newer, interval);
    check_percentage("pressure", stats.pressure_some_pct);
    check_percentage("pressure", stats.pressure_full_pct);
    if let Some(cpu) = stats.cpu {
        check_range("CPU", &[cpu.user, cpu.nice, cpu.system, cpu.iowait, cpu.steal, cpu.idle].map(Some));
    }
}

/// Checks all numbers of a device between two samples.
pub(crate) fn device(older: &Counters, newer: &Counters, interval: Span) {
    if let Some(stats) = IntervalStats::between(older, newer, interval) {
        [stats.reads, stats.writes, stats.discards].iter().for_each(direction);
        let more = [stats.flushes_per_s, stats.flush_await_ms, stats.queue, stats.util_pct];
        check_range("device", &more);
        check_percentage("upper bound of util", stats.util_upper_bound_pct);
        let mut util_check = UtilCheck::default();
        let mut stall_timer = StallTimer::default();
        for _ in 0..2 {
            let _ = util_check.observe(&stats, 0);
            check_range("stall", &[Some(stall_timer.observe(&stats))]);
        }
    }
    for devices in [1, 3] {
        let rates = IostatRates::between(older, newer, interval).with_devices(devices);
        [rates.reads, rates.writes, rates.discards, rates.all].iter().for_each(requests);
        check_range(
            "rates",
            &[rates.flushes_per_s(), rates.flush_await_ms(), rates.queue(), rates.util_pct()],
        );
    }
    if let Some(mut delta) = PtDelta::between(older, newer) {
        delta.add(&delta.clone());
        let rates = delta.rates(interval.seconds(), 2, i128::from(newer.in_flight));
        [rates.reads, rates.writes].iter().for_each(pt_direction);
        check_range("pt-diskstats", &[rates.busy_pct, rates.per_s, rates.service_ms].map(Some));
        // Only these numbers may be negative: pt-diskstats subtracts the service time, and shows a count of requests in
        // flight beyond 63 bits as the negative one that it stands for.
        assert!(rates.queue_ms.is_finite() && rates.in_progress.is_finite(), "{rates:?}");
    }
}
