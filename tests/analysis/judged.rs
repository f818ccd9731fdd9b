//! What a report says where reads and writes differ, and what it never says.

use blkstat::analysis::{Settings, StatedCap, Verdict};

use super::machine::{Random, Second, analyze, analyze_with, reads};

#[test]
fn a_cap_on_reads_alone_is_the_capacity() {
    for seed in 0..20 {
        let mut random = Random(8000 + seed);
        let load: Vec<Second> = [(500.0, 0.5), (3000.0, 2.0), (3000.0, 8.0), (3000.0, 32.0), (3000.0, 64.0)]
            .iter()
            .flat_map(|level| [*level; 8])
            .map(|(rate, queue): (f64, f64)| {
                let writes = 100.0 + 800.0 * random.unit();
                let rate = rate * (1.0 + 0.0008 * random.normal());
                Second { writes: (writes, 0.6, 4.0), ..reads(rate, queue) }
            })
            .collect();
        let report = analyze(load);
        assert_eq!(report.verdict, Some(Verdict::Capped), "seed {seed}: {}", report.explanation);
        let capacity = report.capacity;
        assert_eq!((capacity.capped, capacity.is_proven), (Some("reads"), true));
        for found in [capacity.max_iops, capacity.cap.unwrap().iops] {
            assert!((found.unwrap() / 3000.0 - 1.0).abs() < 0.005, "seed {seed}: {found:?}");
        }
    }
}

#[test]
fn what_went_beyond_a_stated_cap_is_told() {
    let settings = Settings {
        cap: Some(StatedCap { iops: Some(3000.0), mib_per_s: Some(125.0) }),
        ..Settings::default()
    };
    let beyond = analyze_with(vec![reads(131_000.0, 9.0); 20], &settings).explanation;
    assert!(beyond.contains("beyond the stated cap of 3,000 requests/s (131,000 seen)"), "{beyond}");
    let within = analyze_with(vec![reads(2000.0, 0.5); 20], &settings).explanation;
    assert!(!within.contains("stated"), "{within}");
}

#[test]
fn the_worst_is_the_worst() {
    let load = (0..100).map(|second| reads(1000.0, if second == 50 { 6.5 } else { 0.1 }));
    let said = analyze(load).explanation;
    assert!(said.contains("within 0.1 ms (1.0x), at the worst in 6.5 ms (65.0x)"), "{said}");
}

#[test]
fn requests_without_counted_time_leave_no_broken_sentence() {
    let report = analyze(vec![Second { reads: (1.0, 0.0, 4.0), ..Second::default() }; 5]);
    assert!(report.verdict.is_none() && report.read.await_ms.mean.is_none(), "{report:?}");
    assert!(report.read.await_ms.max.is_none() && !report.explanation.contains("in ."));
    // Of a few requests of 0.25 ms most intervals count none.
    let report = analyze(vec![Second { reads: (1.0, 0.25, 4.0), ..Second::default() }; 80]);
    assert!((report.read.await_ms.p50.unwrap() - 0.25).abs() < 0.05, "{:?}", report.read.await_ms);
}

#[test]
fn one_interval_is_no_plural() {
    let said = analyze([reads(3000.0, 0.9)]).explanation;
    assert!(said.contains("in 1 interval, "), "{said}");
}
