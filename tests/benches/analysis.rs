//! VerdictOptions one device: what an interval costs, and the report in the end.

use std::hint::black_box;

use blkstat::analysis::{DeviceAnalysis, LiveVerdict, Observation, Settings};
use blkstat::metrics::IntervalStats;
use blkstat::units::Interval;
use criterion::{BatchSize, Criterion, Throughput};

use crate::invented::Machine;

const INTERVALS: usize = 2_000;

pub(crate) fn bench(criterion: &mut Criterion) {
    let figures = figures();
    let mut group = criterion.benchmark_group("analysis by the interval");
    group.throughput(Throughput::Elements(INTERVALS as u64));
    group.bench_function("DeviceAnalysis::see", |bencher| bencher.iter(|| seen(&figures)));
    group.bench_function("LiveVerdict::see", |bencher| {
        bencher.iter(|| {
            let mut judge = LiveVerdict::new(&Settings::default());
            figures.iter().for_each(|figures| {
                black_box(judge.see(black_box(figures), 0.0, None));
            });
        });
    });
    group.finish();
    let settings = Settings::default();
    let analysis = seen(&figures);
    criterion.bench_function("DeviceAnalysis::finish after 2,000 intervals", |bencher| {
        bencher.iter_batched(
            || analysis.clone(),
            |analysis| analysis.finish(&settings),
            BatchSize::SmallInput,
        );
    });
}

fn figures() -> Vec<IntervalStats> {
    let mut machine = Machine::new(1, 1);
    let second = Interval::from_nanos(1_000_000_000).unwrap();
    let mut interval = || {
        let older = machine.counters()[0];
        machine.step();
        IntervalStats::between(&older, &machine.counters()[0], second).unwrap()
    };
    (0..INTERVALS).map(|_| interval()).collect()
}

fn seen(figures: &[IntervalStats]) -> DeviceAnalysis {
    let mut analysis = DeviceAnalysis::new("nvme0n1");
    for (at, figures) in figures.iter().enumerate() {
        let observation = Observation {
            figures: black_box(figures),
            flag: None,
            at_s: Some(at as f64),
            stalled_s: 0.0,
            accounting: None,
        };
        analysis.see(&observation);
    }
    analysis
}
