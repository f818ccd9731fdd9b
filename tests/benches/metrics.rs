//! Two readings into numbers, by the device.

use std::hint::black_box;

use blkstat::counters::Counters;
use blkstat::iostat::IostatRates;
use blkstat::metrics::IntervalStats;
use blkstat::pt_diskstats::PtDelta;
use blkstat::units::Interval;
use criterion::{Criterion, Throughput};

use crate::invented::Machine;

const DEVICES: usize = 500;

pub(crate) fn bench(criterion: &mut Criterion) {
    let mut machine = Machine::new(DEVICES, 1);
    let older = machine.counters();
    machine.step();
    let newer = machine.counters();
    let second = Interval::from_nanos(1_000_000_000).unwrap();
    let mut group = criterion.benchmark_group("metrics by the device");
    group.throughput(Throughput::Elements(DEVICES as u64));
    let mut each = |name: &str, of: &dyn Fn(&Counters, &Counters)| {
        group.bench_function(name, |bencher| {
            bencher.iter(|| older.iter().zip(&newer).for_each(|(older, newer)| of(older, newer)));
        });
    };
    each("blkstat's figures", &|older, newer| {
        black_box(IntervalStats::between(black_box(older), black_box(newer), second));
    });
    each("iostat -d", &|older, newer| {
        let rates = IostatRates::between(black_box(older), black_box(newer), second);
        black_box((rates.all(), rates.reads(), rates.writes(), rates.discards()));
    });
    each("iostat -dx", &|older, newer| {
        let rates = IostatRates::between(black_box(older), black_box(newer), second);
        black_box((rates.reads(), rates.writes(), rates.discards()));
        black_box((rates.flushes_per_s(), rates.flush_await_ms(), rates.queue(), rates.util_pct()));
    });
    each("pt-diskstats", &|older, newer| {
        let delta = PtDelta::between(black_box(older), black_box(newer));
        black_box(delta.map(|delta| delta.rates(1.0, 1, newer.in_flight as f64)));
    });
    group.finish();
}
