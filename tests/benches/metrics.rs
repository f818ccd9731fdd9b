//! From two readings to the statistics of an interval, per device.

use std::hint::black_box;

use blkstat::counters::Counters;
use blkstat::iostat::IostatRates;
use blkstat::metrics::IntervalStats;
use blkstat::pt_diskstats::PtDelta;
use blkstat::units::Span;
use criterion::{Criterion, Throughput};

use crate::synthetic::Devices;

const DEVICES: usize = 500;

pub(crate) fn bench(criterion: &mut Criterion) {
    let mut devices = Devices::new(DEVICES, 1);
    let older = devices.counters();
    devices.advance();
    let newer = devices.counters();
    let second = Span::from_nanos(1_000_000_000).unwrap();
    let mut group = criterion.benchmark_group("metrics per device");
    group.throughput(Throughput::Elements(DEVICES as u64));
    let mut bench = |name: &str, compute: &dyn Fn(&Counters, &Counters)| {
        group.bench_function(name, |bencher| {
            bencher.iter(|| older.iter().zip(&newer).for_each(|(older, newer)| compute(older, newer)));
        });
    };
    bench("blkstat", &|older, newer| {
        black_box(IntervalStats::between(black_box(older), black_box(newer), second));
    });
    bench("iostat -d", &|older, newer| {
        let rates = IostatRates::between(black_box(older), black_box(newer), second);
        let sectors = [rates.reads, rates.writes, rates.discards].map(|r| (r.kib_per_s(), r.sectors));
        black_box((rates.all.per_s(), sectors));
    });
    bench("iostat -dx", &|older, newer| {
        let rates = IostatRates::between(black_box(older), black_box(newer), second);
        black_box([rates.reads, rates.writes, rates.discards].map(|r| {
            (r.per_s(), r.kib_per_s(), r.merges_per_s(), r.merge_pct(), r.await_ms(), r.size_kib())
        }));
        black_box((rates.flushes_per_s(), rates.flush_await_ms(), rates.queue(), rates.util_pct()));
    });
    bench("pt-diskstats", &|older, newer| {
        let delta = PtDelta::between(black_box(older), black_box(newer));
        black_box(delta.map(|delta| delta.rates(1.0, 1, newer.in_flight.into())));
    });
    group.finish();
}
