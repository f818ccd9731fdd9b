//! From the text of a capture to samples. Measured per line and per byte.

use std::hint::black_box;

use blkstat::capture::Reader;
use blkstat::counters::Sample;
use criterion::{Criterion, Throughput};

use crate::synthetic::capture;

pub(crate) fn bench(criterion: &mut Criterion) {
    const SAMPLES: u64 = 100;
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
