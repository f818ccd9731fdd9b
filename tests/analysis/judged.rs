//! What a report says where reads and writes differ, and what it never says.

use blkstat::analysis::Verdict;

use super::machine::{Random, Second, analyze, reads};

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
