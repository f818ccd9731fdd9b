//! Tests of the text of metrics.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::Family;
use super::*;
use crate::attribution::{Limit, LimitSource};
use crate::counters::{Columns, Counters, Pressure, Requests};
use crate::incidents::{Because, Cause, Moment, Owner, Told};
use crate::judge::{BaselineSource, Compared, IoDirection, RateUnit};
use crate::topology::Node;
use crate::totals::{DeviceInfo, DeviceSnapshot, DeviceTotals, LimitedCgroup};

/// A device with every metric.
fn device(name: &str) -> DeviceSnapshot {
    let requests = |n| Requests {
        ios: n,
        merges: n + 1,
        sectors: 8 * n,
        ms: 3 * n,
    };
    let compared = Compared {
        taken_ms: 800.0,
        unloaded_ms: 100.0,
    };
    let mut totals = DeviceTotals::default();
    totals.sum.compared = [compared; 3];
    totals.unloaded = [Some((0.125, BaselineSource::Learned)); 2];
    totals.reads.within[1] = 5;
    totals.reads.count = 7;
    totals.reads.sum = 4001.0;
    DeviceSnapshot {
        info: Arc::new(DeviceInfo {
            node: Node {
                name: name.into(),
                alias: Some("vg0-root".into()),
                ..Node::default()
            },
            role: "physical",
        }),
        counters: Counters {
            columns: Columns::Flushes,
            reads: requests(10),
            writes: requests(20),
            discards: requests(30),
            flushes: 40,
            flush_ms: 41,
            in_flight: 5,
            busy_ms: 1234,
            weighted_ms: 5678,
        },
        totals,
        limits: vec![
            limit(IoDirection::Both, RateUnit::Requests, LimitSource::Given),
            limit(IoDirection::Both, RateUnit::Kib, LimitSource::Given),
            limit(IoDirection::Both, RateUnit::Requests, LimitSource::Inferred),
            limit(IoDirection::Both, RateUnit::Kib, LimitSource::Inferred),
        ],
        over_peers: [Some(1.25), Some(2.0)],
        incident: Some(Arc::new(Told {
            begin: Moment {
                at: "2026-11-22T07:59:00.5Z".parse().ok(),
                ..Moment::default()
            },
            begin_is_known: false,
            cause: Cause::Load,
            owner: Some(Owner {
                cgroups: vec!["/tenant".into()],
                program: None,
                rise_kib_per_s: 100.0,
                because: Because::DeviceBytes,
                is_by_share: false,
            }),
            ..Told::example()
        })),
    }
}

fn limit(direction: IoDirection, unit: RateUnit, source: LimitSource) -> Limit {
    Limit {
        owner: None,
        device: "sda".into(),
        direction,
        unit,
        value: 3000.0,
        source,
    }
}

fn snapshot(devices: Vec<DeviceSnapshot>) -> MetricsSnapshot {
    MetricsSnapshot {
        at: "2026-11-22T08:00:00.25Z".parse().ok(),
        intervals: 60,
        io_pressure: Some(Pressure {
            some_us: 1_500_000,
            full_us: 500,
        }),
        devices,
        cgroups: vec![LimitedCgroup {
            device: "sda".into(),
            cgroup: Some("/db".into()),
            at_limit_s: 2.5,
        }],
        ..MetricsSnapshot::default()
    }
}

fn text(snapshot: &MetricsSnapshot) -> String {
    String::from_utf8(metrics_text(snapshot)).unwrap()
}

/// The lines that are not metadata.
fn metrics(text: &str) -> Vec<&str> {
    text.lines().filter(|line| !line.starts_with('#')).collect()
}

#[test]
fn a_device_with_three_directions_has_at_most_80_series() {
    let text = text(&snapshot(vec![device("sda")]));
    let of_device = metrics(&text)
        .into_iter()
        .filter(|line| line.starts_with("blkstat_disk_"));
    let count = of_device.clone().count();
    let distinct: BTreeSet<&str> = of_device
        .map(|line| line.rsplit_once(' ').unwrap().0)
        .collect();
    assert_eq!((count, distinct.len()), (80, 80), "{text}");
}

#[test]
fn a_scrape_has_every_metric_in_the_text_format() {
    let text = text(&snapshot(vec![device("sda"), device("dm-0")]));
    assert!(
        !text.contains("# EOF") && !text.contains("# UNIT"),
        "{text}"
    );
    assert!(text.contains("# TYPE blkstat_disk_info gauge\n"));
    assert!(text.contains("# TYPE blkstat_disk_read_bytes_total counter\n"));
    assert!(text.contains("# TYPE blkstat_disk_interval_queue histogram\n"));
    for line in [
        "blkstat_disk_incident_begin_timestamp_seconds{device=\"dm-0\",incident=\"1\",victim=\"sda\",cause=\"load\",owner=\"/tenant\",begin_known=\"false\"} 1795334340.5",
        "blkstat_disk_info{device=\"sda\",name=\"vg0-root\",kind=\"disk\",role=\"physical\",model=\"\",serial=\"\",identity=\"\"} 1",
        "blkstat_disk_read_bytes_total{device=\"sda\"} 40960",
        "blkstat_disk_read_time_seconds_total{device=\"sda\"} 0.03",
        "blkstat_disk_io_time_weighted_seconds_total{device=\"sda\"} 5.678",
        "blkstat_disk_discards_completed_total{device=\"dm-0\"} 30",
        "blkstat_disk_interval_latency_seconds_bucket{device=\"sda\",direction=\"read\",le=\"0.0001\"} 0",
        "blkstat_disk_interval_latency_seconds_bucket{device=\"sda\",direction=\"read\",le=\"1.0\"} 5",
        "blkstat_disk_interval_latency_seconds_bucket{device=\"sda\",direction=\"read\",le=\"+Inf\"} 7",
        "blkstat_disk_interval_latency_seconds_sum{device=\"sda\",direction=\"read\"} 4.001",
        "blkstat_disk_interval_latency_seconds_count{device=\"sda\",direction=\"read\"} 7",
        "blkstat_disk_limit_bytes_per_second{device=\"sda\",direction=\"all\",source=\"inferred\"} 3072000",
        "blkstat_disk_unloaded_latency_seconds{device=\"sda\",direction=\"read\",source=\"learned\"} 0.000125",
        "blkstat_pressure_io_waiting_seconds_total 1.5",
        "blkstat_disk_limit_iops{device=\"sda\",direction=\"all\",source=\"given\"} 3000",
        "blkstat_cgroup_at_limit_seconds_total{device=\"sda\",cgroup=\"/db\"} 2.5",
        "blkstat_last_sample_timestamp_seconds 1795334400.25",
    ] {
        assert!(metrics(&text).contains(&line), "{line}\n{text}");
    }
}

#[test]
fn counts_of_a_histogram_never_fall_from_one_bucket_to_the_next() {
    let mut hostile = device("sda");
    hostile.totals.reads.within[..2].fill(u64::MAX - 1);
    hostile.totals.reads.count = u64::MAX;
    let text = text(&snapshot(vec![hostile]));
    let start = "blkstat_disk_interval_latency_seconds_bucket{device=\"sda\",direction=\"read\"";
    let lines = metrics(&text)
        .into_iter()
        .filter(|line| line.starts_with(start));
    let counts: Vec<u64> = lines
        .map(|line| line.rsplit(' ').next().unwrap().parse().unwrap())
        .collect();
    assert!(
        counts.is_sorted() && counts.last() == Some(&u64::MAX),
        "{counts:?}"
    );
}

#[test]
fn hostile_names_cannot_leave_their_label() {
    let hostile = "a\"} 1\n# EOF\nb\\\u{1b}[2J\u{202e}";
    let mut info = (*device(hostile).info).clone();
    info.node.alias = Some(hostile.into());
    info.node.model = Some("\\".into());
    let mut snapshot = snapshot(vec![DeviceSnapshot {
        info: Arc::new(info),
        ..device(hostile)
    }]);
    snapshot.cgroups[0].cgroup = Some(hostile.into());
    let text = text(&snapshot);
    let escaped = "a\\\"} 1\\\\n# EOF\\\\nb\\\\\\\\u{1b}[2J\\\\u{202e}";
    assert!(
        text.contains(&format!(
            "blkstat_disk_reads_completed_total{{device=\"{escaped}\"}} 10\n"
        )),
        "{text}"
    );
    assert!(
        text.lines()
            .all(|line| line.starts_with("blkstat_") || line.starts_with("# ")),
        "{text}"
    );
    assert!(!text.contains('\u{1b}') && text.contains("model=\"\\\\\""));
}

#[test]
fn what_the_kernel_does_not_count_is_missing() {
    let mut old = device("sda");
    old.counters.columns = Columns::Partition;
    old.totals = DeviceTotals::default();
    old.limits.clear();
    let mut snapshot = snapshot(vec![old]);
    snapshot.io_pressure = None;
    snapshot.at = None;
    let text = text(&snapshot);
    let lines = metrics(&text).join("\n");
    for missing in [
        "merged",
        "read_time",
        "discard",
        "flush",
        "disk_limit_iops",
        "unloaded_latency",
        "io_waiting",
        "last_sample",
    ] {
        assert!(!lines.contains(missing), "{missing}\n{lines}");
    }
    assert!(lines.contains("blkstat_disk_reads_completed_total{device=\"sda\"} 10"));
}

#[test]
fn metadata_precede_each_family_once() {
    let text = text(&snapshot(vec![device("sda"), device("sdb")]));
    let types: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("# TYPE "))
        .collect();
    assert_eq!(types.len(), FAMILIES.len());
    let names: BTreeSet<&str> = types
        .iter()
        .map(|line| line.split(' ').nth(2).unwrap())
        .collect();
    assert_eq!(names.len(), types.len(), "no name twice");
    // The metrics of a family are consecutive.
    let mut family = "";
    for line in text.lines() {
        match line.strip_prefix("# TYPE ") {
            Some(rest) => family = rest.split(' ').next().unwrap(),
            None if line.starts_with('#') => {}
            None => assert!(line.starts_with(family), "{line}"),
        }
    }
}

#[test]
fn a_recording_has_timestamps_labels_and_one_end() {
    let labels = [("instance".to_owned(), "db\"1".to_owned())];
    let labels = common_labels(&labels);
    let mut out = Vec::new();
    push_metadata(&mut out);
    let first = snapshot(vec![device("sda")]);
    let later = MetricsSnapshot {
        at: "2026-11-22T08:00:15Z".parse().ok(),
        ..first.clone()
    };
    for snapshot in [first.clone(), MetricsSnapshot { at: None, ..first }, later] {
        push_metrics(&snapshot, &labels, &mut out);
    }
    out.extend_from_slice(END);
    let text = String::from_utf8(out).unwrap();
    assert!(
        text.contains(
            "blkstat_disk_reads_completed_total{instance=\"db\\\"1\",device=\"sda\"} 10 1795334400.250\n"
        )
    );
    assert!(
        text.contains(
            "blkstat_disk_reads_completed_total{instance=\"db\\\"1\",device=\"sda\"} 10 1795334415.000\n"
        )
    );
    assert!(text.contains("blkstat_intervals_total{instance=\"db\\\"1\"} 60 "));
    assert_eq!(
        (text.matches("# EOF").count(), text.ends_with("# EOF\n")),
        (1, true)
    );
    assert_eq!(text.matches("# TYPE ").count(), FAMILIES.len());
}

#[test]
fn every_metric_has_a_name_and_a_description_as_prometheus_wants_them() {
    for Family { name, help, .. } in FAMILIES {
        assert!(
            name.starts_with("blkstat_")
                && name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_')
        );
        assert!(
            help.ends_with('.') && !help.contains(['\n', '\\', '"']),
            "{name}: {help}"
        );
    }
}
