//! Real captures, and the table of Zaitsev and Trudeau.

use std::collections::BTreeMap;
use std::path::PathBuf;

use blkstat::analysis::{
    DeviceAnalysis, DeviceReport, IoDirection, Settings, Verdict, WaitLocation, queue_by_layer,
};
use blkstat::clock::RealClock;
use blkstat::intervals::{BaselineStore, Detail, DeviceSelection, Input, Intervals, NextInterval, collect};
use blkstat::topology::Topology;

use super::simulator::{analyze, explanation, reads, to_json};

/// The report of every device of a capture, and its live verdicts.
fn replay(capture: &str) -> BTreeMap<String, (DeviceReport, Vec<Option<Verdict>>)> {
    let clock = RealClock::new(None);
    let path = PathBuf::from(format!("fixtures/captures/{capture}.txt"));
    let input = Input { from: Some(path), ..Input::default() };
    let selection = DeviceSelection { all: true, ..DeviceSelection::default() };
    let baselines = BaselineStore::default();
    let open = |detail| Intervals::open(&input, &selection, detail, &baselines, &clock).unwrap();
    let collected = collect(&mut open(Detail::Analysis), &mut |_| {}, &mut || {}, &mut |_| {}).unwrap();
    let mut verdicts: BTreeMap<String, Vec<Option<Verdict>>> = BTreeMap::new();
    let mut intervals = open(Detail::Report);
    intervals.start(&mut |_| {}).unwrap();
    while let NextInterval::Rows(rows) = intervals.next(&mut |_| {}).unwrap() {
        for device in rows.devices {
            verdicts.entry(device.device.to_owned()).or_default().push(device.verdict());
        }
    }
    let finish = |analysis: DeviceAnalysis| {
        let report = analysis.finish(&Settings::default(), &collected.host);
        (report.device.clone(), (report.clone(), verdicts.remove(&report.device).unwrap_or_default()))
    };
    collected.devices.into_iter().map(finish).collect()
}

#[test]
fn a_loop_device_under_a_cap_is_capped_and_the_disk_below_is_not_saturated() {
    let devices = replay("capped-3000");
    let (upper, live) = &devices["loop0"];
    assert_eq!(upper.verdict, Some(Verdict::Capped), "{}", explanation(upper));
    assert!((upper.capacity.max_iops.unwrap() / 3000.0 - 1.0).abs() < 0.01);
    assert!(upper.capacity.is_max_known && upper.capacity.is_proven);
    assert_eq!(upper.plateaus.len(), 1);
    assert!((upper.plateaus[0].iops / 3000.0 - 1.0).abs() < 0.001);
    // All of the last intervals but those in which the load changed.
    assert!(live.iter().rev().take(20).filter(|verdict| **verdict == Some(Verdict::Capped)).count() >= 17);
    let (lower, live) = &devices["vda"];
    let is_limited =
        |verdict: &Option<Verdict>| matches!(verdict, Some(Verdict::Saturated | Verdict::Capped));
    assert!(!is_limited(&lower.verdict), "{}", explanation(lower));
    assert!(!live.iter().any(is_limited), "{live:?}");
    let reports: Vec<DeviceReport> = devices.into_values().map(|(report, _)| report).collect();
    let layers = queue_by_layer(&Topology::default(), &reports).unwrap();
    let link = &layers.links[0];
    assert!(layers.is_inferred && link.waiting == WaitLocation::Between);
    assert_eq!((link.above.as_str(), link.below.as_slice()), ("loop0", &["vda".into()][..]));
}

#[test]
fn one_client_under_a_cap_on_a_host_without_cpu_time_is_not_ok() {
    // 2,340 reads per second, with other tasks on both CPUs: the rate is irregular because clients wait for the CPU.
    let (report, live) = &replay("capped-one-client")["loop0"];
    assert_ne!(report.verdict, Some(Verdict::Ok), "{}", explanation(report));
    assert!(!live.contains(&Some(Verdict::Ok)), "{live:?}");
}

#[test]
fn a_disk_under_rising_concurrency_has_its_knee_and_its_maximum() {
    let devices = replay("sweep-randread");
    let (report, live) = &devices["vda"];
    assert!(report.capacity.is_max_known, "{:?}", report.capacity);
    let knee = [report.capacity.knee_low, report.capacity.knee_high].map(Option::unwrap);
    assert!((16.0..24.0).contains(&knee[0]) && (32.0..48.0).contains(&knee[1]), "{knee:?}");
    assert!((report.capacity.max_iops.unwrap() / 150_000.0 - 1.0).abs() < 0.1);
    assert!((report.read.baseline_await_ms.unwrap() - 0.035).abs() < 0.003);
    assert_eq!(report.verdict, Some(Verdict::Saturated));
    assert!(!live.contains(&Some(Verdict::Capped)));
}

#[test]
fn caps_of_reads_and_writes_that_the_kernel_keeps_in_slices_of_time_are_named() {
    // Limits of 777 reads and 345 writes per second, sampled on a host without CPU to spare.
    let (report, live) = &replay("capped-770-340")["loop1"];
    assert_eq!(report.verdict, Some(Verdict::Capped), "{}", explanation(report));
    let caps: Vec<_> =
        report.plateaus.iter().map(|one| (one.direction, one.iops.round(), one.is_certain)).collect();
    assert_eq!(caps, [(IoDirection::Reads, 770.0, true), (IoDirection::Writes, 340.0, true)]);
    assert!(live[..15].contains(&Some(Verdict::Capped)), "{live:?}");
}

#[test]
fn the_table_of_zaitsev_and_trudeau_has_the_expected_saturations() {
    let table = [(7113.0, 0.14), (26_248.0, 0.15), (76_846.0, 0.21), (127_841.0, 0.50), (131_559.0, 1.95)];
    let report = analyze(table.into_iter().flat_map(|(rate, ms)| vec![reads(rate, rate * ms / 1000.0); 10]));
    let found: Vec<f64> = report.levels.iter().filter_map(|level| level.saturation).collect();
    for (found, expected) in found.iter().zip([1.0, 1.07, 1.5, 3.6, 13.9]) {
        assert!((found - expected).abs() <= 0.05, "{found} for {expected}");
    }
    assert_eq!(found.len(), 5);
    let knee = [report.capacity.knee_low, report.capacity.knee_high].map(|queue| queue.unwrap().round());
    assert_eq!(knee, [16.0, 64.0]);
    assert!(report.plateaus.is_empty());
    assert_eq!(report.verdict, Some(Verdict::Saturated));
}

#[test]
fn a_mixed_load_is_not_capped_and_has_all_fields() {
    for (report, live) in replay("mixed").into_values() {
        assert!(report.verdict != Some(Verdict::Capped) && !live.contains(&Some(Verdict::Capped)));
        let json = to_json(&report);
        assert!(json["read"]["await_ms"].get("p95").is_some() && json["capacity"]["max_known"].is_boolean());
    }
}
