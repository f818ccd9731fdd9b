//! The analysis of one device: the cost of an interval, and of the final report.

use std::hint::black_box;

use blkstat::analysis::{DeviceAnalysis, HostReport, LiveVerdict, Observation, Settings, SinceBoot};
use blkstat::metrics::{HostStats, IntervalStats};
use blkstat::units::Span;
use criterion::{BatchSize, Criterion, Throughput};

use crate::synthetic::Devices;

const INTERVALS: usize = 2_000;

pub(crate) fn bench(criterion: &mut Criterion) {
    let intervals = intervals();
    let mut group = criterion.benchmark_group("analysis per interval");
    group.throughput(Throughput::Elements(INTERVALS as u64));
    group.bench_function("DeviceAnalysis::observe", |bencher| bencher.iter(|| observe_all(&intervals)));
    group.bench_function("LiveVerdict::observe", |bencher| {
        bencher.iter(|| {
            let mut live = LiveVerdict::new(&Settings::default(), SinceBoot::default());
            intervals.iter().for_each(|stats| {
                black_box(live.observe(black_box(stats), 0.0, &HostStats::default()));
            });
        });
    });
    group.finish();
    let settings = Settings::default();
    let analysis = observe_all(&intervals);
    criterion.bench_function("DeviceAnalysis::finish after 2,000 intervals", |bencher| {
        bencher.iter_batched(
            || analysis.clone(),
            |analysis| analysis.finish(&settings, &HostReport::default()),
            BatchSize::SmallInput,
        );
    });
}

fn intervals() -> Vec<IntervalStats> {
    let mut device = Devices::new(1, 1);
    let second = Span::from_nanos(1_000_000_000).unwrap();
    let mut interval = || {
        let older = device.counters()[0];
        device.advance();
        IntervalStats::between(&older, &device.counters()[0], second).unwrap()
    };
    (0..INTERVALS).map(|_| interval()).collect()
}

fn observe_all(intervals: &[IntervalStats]) -> DeviceAnalysis {
    let mut analysis = DeviceAnalysis::new("nvme0n1");
    for (at, stats) in intervals.iter().enumerate() {
        analysis.observe(&Observation {
            run_s: 0.0,
            stats: black_box(stats),
            flag: None,
            at_s: Some(at as f64),
            stalled_s: 0.0,
            is_accounting_off: false,
            host: &HostStats::default(),
        });
    }
    analysis
}
