//! Tests of the text of metrics.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::Family;
use super::*;
use crate::attribution::{Limit, LimitSource};
use crate::counters::{
    CgroupHierarchy, Columns, Counters, FACTS, FactKind, HostState, Pressure, Requests,
};
use crate::intervals::{Cause, DeviceNames, Incident, Moment};
use crate::judge::{BaselineSource, Compared, IoDirection, RateUnit};
use crate::topology::Node;
use crate::totals::{DeviceInfo, DeviceSnapshot, DeviceTotals, LimitedCgroup};

const INTERVAL: Duration = Duration::from_secs(1);

const HEALTH: &str = r#"{"suspended":1,"state":"offline","errors":31,"sync_action":"recover","sync_completed_pct":43,
    "sync_kib_per_s":100}"#;

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
        health: serde_json::from_str(HEALTH).ok(),
        over_peers: [Some(1.25), Some(2.0)],
        incident: Some(Arc::new(Incident {
            begin: Moment {
                at: "2026-11-22T07:59:00.5Z".parse().ok(),
                ..Moment::default()
            },
            begin_is_known: false,
            cause: Some(Cause::DeviceBelow(DeviceNames::without_alias("sdb"))),
            owner: Some("/tenant".into()),
            ..Incident::example()
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
    let pressure = Some(Pressure {
        some_us: 1_500_000,
        full_us: 500,
    });
    MetricsSnapshot {
        at: "2026-11-22T08:00:00.25Z".parse().ok(),
        intervals: 60,
        host: HostState {
            pressure,
            memory_pressure: pressure,
            blocked: Some(2),
            ..HostState::default()
        },
        devices,
        cgroups: vec![LimitedCgroup {
            device: "sda".into(),
            cgroup: Some("/db".into()),
            at_limit_s: 2.5,
            limits: [RateUnit::Requests, RateUnit::Kib]
                .map(|unit| {
                    let source = LimitSource::Cgroup(CgroupHierarchy::V2);
                    limit(IoDirection::Writes, unit, source)
                })
                .into(),
        }],
        ..MetricsSnapshot::default()
    }
}

fn text(snapshot: &MetricsSnapshot) -> String {
    String::from_utf8(metrics_text(snapshot, INTERVAL)).unwrap()
}

/// The lines that are not metadata.
fn metrics(text: &str) -> Vec<&str> {
    text.lines().filter(|line| !line.starts_with('#')).collect()
}

#[test]
fn a_device_with_three_directions_has_at_most_93_series() {
    // A SCSI disk with a file system that is a member of an array.
    let health = r#"{"state":"running","timeouts":0,"errors":0,"commands":9,"member_state":"in_sync","member_errors":0,
        "file_system_errors":0,"read_only":0,"queue_depth":32,"request_timeout_ms":30000,"counts_passthrough":0}"#;
    let disk = DeviceSnapshot {
        health: serde_json::from_str(health).ok(),
        ..device("sda")
    };
    let text = text(&snapshot(vec![disk]));
    let of_device = metrics(&text)
        .into_iter()
        .filter(|line| line.starts_with("blkstat_disk_"));
    let count = of_device.clone().count();
    let distinct: BTreeSet<&str> = of_device
        .map(|line| line.rsplit_once(' ').unwrap().0)
        .collect();
    assert_eq!((count, distinct.len()), (93, 93), "{text}");
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
        "blkstat_disk_incident_begin_timestamp_seconds{device=\"dm-0\",incident=\"1\",victim=\"sda\",cause=\"device_below\",owner=\"/tenant\",begin_known=\"false\"} 1795334340.5",
        "blkstat_disk_info{device=\"sda\",name=\"vg0-root\",kind=\"disk\",role=\"physical\",model=\"\",serial=\"\",identity=\"\"} 1",
        "blkstat_disk_read_bytes_total{device=\"sda\"} 40960",
        "blkstat_disk_read_time_seconds_total{device=\"sda\"} 0.03",
        "blkstat_disk_io_now{device=\"dm-0\"} 5",
        "blkstat_disk_io_time_weighted_seconds_total{device=\"sda\"} 5.678",
        "blkstat_disk_discarded_sectors_total{device=\"sda\"} 240",
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
        "blkstat_cgroup_limit_iops{device=\"sda\",cgroup=\"/db\",direction=\"write\"} 3000",
        "blkstat_cgroup_limit_bytes_per_second{device=\"sda\",cgroup=\"/db\",direction=\"write\"} 3072000",
        "blkstat_last_sample_timestamp_seconds 1795334400.25",
        "blkstat_sample_interval_seconds 1",
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
        text.contains(&format!("blkstat_disk_io_now{{device=\"{escaped}\"}} 5\n")),
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
    old.counters.in_flight = u64::from(u32::MAX);
    old.totals = DeviceTotals::default();
    old.limits.clear();
    let mut snapshot = snapshot(vec![old]);
    (snapshot.host.pressure, snapshot.host.blocked, snapshot.at) = (None, None, None);
    let text = text(&snapshot);
    let lines = metrics(&text).join("\n");
    for missing in [
        "merged",
        "read_time",
        "io_now",
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
            "blkstat_disk_io_now{instance=\"db\\\"1\",device=\"sda\"} 5 1795334400.250\n"
        )
    );
    assert!(
        text.contains(
            "blkstat_disk_io_now{instance=\"db\\\"1\",device=\"sda\"} 5 1795334415.000\n"
        )
    );
    assert!(text.contains("blkstat_intervals_total{instance=\"db\\\"1\"} 60 "));
    assert!(!text.contains("sample_interval_seconds{"));
    assert_eq!(
        (text.matches("# EOF").count(), text.ends_with("# EOF\n")),
        (1, true)
    );
    assert_eq!(text.matches("# TYPE ").count(), FAMILIES.len());
}

#[test]
fn every_metric_has_a_name_and_a_description_as_prometheus_wants_them() {
    for Family { name, help, .. } in FAMILIES.iter() {
        assert!(
            name.starts_with("blkstat_")
                && name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_')
        );
        assert!(
            help.ends_with('.') && !help.contains(['\n', '\\', '"']),
            "{name}: {help}"
        );
    }
    for fact in FACTS.iter().filter(|fact| !fact.metric.is_empty()) {
        let is_counter = fact.kind == FactKind::Count || fact.kind.errors().is_some();
        assert_eq!(
            fact.metric.ends_with("_total"),
            is_counter,
            "{}",
            fact.metric
        );
    }
}

#[test]
fn what_the_kernel_says_has_metrics_in_base_units() {
    let text = text(&snapshot(vec![device("sda")]));
    for line in [
        "blkstat_disk_suspended{device=\"sda\"} 1",
        "blkstat_disk_state_info{device=\"sda\",state=\"offline\"} 1",
        "blkstat_disk_errors_total{device=\"sda\"} 31",
        "blkstat_disk_sync_completed_ratio{device=\"sda\"} 0.43",
        "blkstat_disk_sync_bytes_per_second{device=\"sda\"} 102400",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
    assert!(!text.contains("blkstat_disk_timeouts_total{"));
}
