//! From text to samples: one /proc/diskstats, and a capture of many samples. Measured per line and per byte.

use std::hint::black_box;

use blkstat::capture::{Reader, parse_diskstats};
use blkstat::counters::Sample;
use criterion::{Criterion, Throughput};

use crate::synthetic::{Devices, capture};

pub(crate) fn bench(criterion: &mut Criterion) {
    const DEVICES: usize = 500;
    const SAMPLES: u64 = 100;
    for columns in [14, 18, 20] {
        let mut text = Vec::new();
        Devices::new(DEVICES, 1).print(columns, &mut text);
        let mut sample = Sample::default();
        let mut parse = |text: &[u8]| {
            parse_diskstats(black_box(text), &mut sample, |_, error| panic!("{error}"));
            sample.devices.len()
        };
        assert_eq!(parse(&text), DEVICES);
        for (unit, throughput) in throughputs(DEVICES, text.len()) {
            let mut group = criterion.benchmark_group(format!("parse diskstats, per {unit}"));
            group.throughput(throughput);
            group.bench_function(format!("{columns} columns"), |bencher| bencher.iter(|| parse(&text)));
            group.finish();
        }
    }
    for (name, columns, busy_one_in) in
        [("14 columns", 14, 1), ("18 columns", 18, 1), ("20 columns", 20, 1), ("20 columns, 80% idle", 20, 5)]
    {
        let text = capture(50, SAMPLES, columns, busy_one_in);
        assert_eq!(read_all(&text), SAMPLES);
        for (unit, throughput) in throughputs(50 * SAMPLES as usize, text.len()) {
            let mut group = criterion.benchmark_group(format!("parse a capture, per {unit}"));
            group.throughput(throughput);
            group.bench_function(name, |bencher| bencher.iter(|| read_all(black_box(&text))));
            group.finish();
        }
    }
}

fn throughputs(lines: usize, bytes: usize) -> [(&'static str, Throughput); 2] {
    [("line", Throughput::Elements(lines as u64)), ("byte", Throughput::Bytes(bytes as u64))]
}

fn read_all(text: &[u8]) -> u64 {
    let mut reader = Reader::new(text);
    let (mut previous, mut sample) = (Sample::default(), Sample::default());
    let mut count = 0;
    while reader.next(&previous, &mut sample).unwrap() {
        std::mem::swap(&mut previous, &mut sample);
        count += 1;
    }
    count
}
