//! What the numbers promise for any two readings, however wild. Checked by the property tests and by the fuzz targets.

use blkstat::counters::{Counters, Sample};
use blkstat::iostat::{IostatRates, RequestRates};
use blkstat::metrics::{DirectionStats, HostStats, IntervalStats, StallTimer, UtilCheck};
use blkstat::pt_diskstats::{DirectionRates, PtDelta};
use blkstat::units::Interval;

/// A number, where there is one, is finite and not below zero.
#[track_caller]
fn sane(what: &str, numbers: &[Option<f64>]) {
    for (at, number) in numbers.iter().enumerate() {
        assert!(number.is_none_or(|n| n.is_finite() && n >= 0.0), "{what}, number {at}: {numbers:?}");
    }
}

/// A share of a whole.
#[track_caller]
fn share(what: &str, percent: Option<f64>) {
    assert!(percent.is_none_or(|percent| (0.0..=100.0).contains(&percent)), "{what}: {percent:?}");
}

fn direction(d: &DirectionStats) {
    sane("direction", &[d.per_s, d.kib_per_s, d.merges_per_s, d.merge_pct, d.await_ms, d.size_kib, d.queue]);
    share("merged", d.merge_pct);
    if d.ios == Some(0) {
        assert_eq!((d.await_ms, d.size_kib), (None, None), "nothing completed has no mean");
    }
}

fn requests(a: &RequestRates) {
    sane("requests", &[a.per_s, a.kib_per_s, a.merges_per_s, a.merge_pct, a.await_ms, a.size_kib]);
    share("merged", a.merge_pct);
}

fn pt_direction(d: &DirectionRates) {
    let numbers = [d.per_s, d.size_kib, d.mib_per_s, d.merge_pct, d.concurrency, d.response_ms];
    sane("pt-diskstats", &numbers.map(Some));
    share("merged", Some(d.merge_pct));
}

/// Checks all numbers of a machine between two readings.
pub(crate) fn machine(older: &Sample, newer: &Sample, interval: Interval) {
    let figures = HostStats::between(older, newer, interval);
    share("pressure", figures.pressure_some_pct);
    share("pressure", figures.pressure_full_pct);
    if let Some(cpu) = figures.cpu {
        sane("CPU", &[cpu.user, cpu.nice, cpu.system, cpu.iowait, cpu.steal, cpu.idle].map(Some));
    }
}

/// Checks all numbers of the interval between two readings of a device.
pub(crate) fn numbers(older: &Counters, newer: &Counters, interval: Interval) {
    if let Some(figures) = IntervalStats::between(older, newer, interval) {
        [figures.reads, figures.writes, figures.discards].iter().for_each(direction);
        let more = [figures.flushes_per_s, figures.flush_await_ms, figures.queue, figures.util_pct];
        sane("figures", &more);
        share("bound of util", figures.util_upper_bound_pct);
        let mut util_check = UtilCheck::default();
        let mut stall_timer = StallTimer::default();
        for _ in 0..2 {
            let _ = util_check.observe(&figures, 0);
            sane("stall", &[Some(stall_timer.observe(&figures))]);
        }
    }
    for devices in [1, 3] {
        let rates = IostatRates::between(older, newer, interval).with_devices(devices);
        [rates.reads(), rates.writes(), rates.discards(), rates.all()].iter().for_each(requests);
        sane("rates", &[rates.flushes_per_s(), rates.flush_await_ms(), rates.queue(), rates.util_pct()]);
    }
    if let Some(mut delta) = PtDelta::between(older, newer) {
        delta.add(&delta.clone());
        let rates = delta.rates(interval.seconds(), 2, newer.in_flight as f64);
        [rates.reads, rates.writes].iter().for_each(pt_direction);
        sane("pt-diskstats", &[rates.busy_pct, rates.in_progress, rates.per_s, rates.service_ms].map(Some));
        // Of all the numbers only this may be below zero: pt-diskstats subtracts the service time.
        assert!(rates.queue_ms.is_finite(), "{rates:?}");
    }
}
