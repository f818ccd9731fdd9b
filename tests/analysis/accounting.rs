//! Devices whose requests the kernel does not count.

use blkstat::analysis::{DeviceAnalysis, DeviceReport, HostReport, Observation, Settings, Verdict};
use blkstat::metrics::{DirectionStats, HostStats, IntervalStats};

fn idle() -> IntervalStats {
    IntervalStats { seconds: 1.0, ..IntervalStats::default() }
}

fn busy() -> IntervalStats {
    let reads = DirectionStats {
        ios: Some(100),
        per_s: Some(100.0),
        kib_per_s: Some(400.0),
        await_ms: Some(1.0),
        size_kib: Some(4.0),
        queue: Some(0.1),
        ..DirectionStats::default()
    };
    IntervalStats { seconds: 1.0, completed: 100, reads, queue: Some(0.1), ..IntervalStats::default() }
}

fn analyze(intervals: &[(IntervalStats, bool)]) -> DeviceReport {
    let mut analysis = DeviceAnalysis::new("dm-0");
    for (stats, is_accounting_off) in intervals {
        let is_accounting_off = *is_accounting_off;
        analysis.observe(&Observation {
            run_s: 0.0,
            stats,
            flag: None,
            at_s: None,
            stalled_s: 0.0,
            is_accounting_off,
            host: &HostStats::default(),
        });
    }
    analysis.finish(&Settings::default(), &HostReport::default())
}

#[test]
fn accounting_is_off_only_if_no_request_was_ever_counted() {
    let never = analyze(&[(idle(), true), (idle(), true)]);
    assert_eq!(never.verdict, Some(Verdict::AccountingOff));
    let at_times = analyze(&[(idle(), true), (busy(), false), (idle(), true)]);
    assert_ne!(at_times.verdict, Some(Verdict::AccountingOff));
}
