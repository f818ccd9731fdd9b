//! Analyses of captures as a person reads them and as JSON. The expected texts in `fixtures/ours/analyze` are our own
//! output, read by a person before it was committed; `BLKSTAT_REFRESH=1` writes them anew.

#![allow(clippy::unwrap_used, clippy::panic, clippy::disallowed_methods)]

use std::path::PathBuf;

use blkstat::analysis::{DeviceReport, HostReport, QueueByLayer, Settings, where_requests_wait};
use blkstat::clock::RealClock;
use blkstat::intervals::{BaselineStore, Detail, DeviceSelection, Input, Intervals, collect};
use blkstat::report::analysis::{AnalysisReport, fio_job, json, text};
use blkstat::topology::Topology;
use unicode_width::UnicodeWidthStr;

struct Analysed {
    devices: Vec<DeviceReport>,
    layers: Option<QueueByLayer>,
    machine: HostReport,
}

impl Analysed {
    fn findings(&self) -> AnalysisReport<'_> {
        AnalysisReport { devices: &self.devices, layers: self.layers.as_ref(), machine: &self.machine }
    }

    fn json(&self) -> serde_json::Value {
        let mut out = Vec::new();
        json(&self.findings(), &mut out);
        serde_json::from_slice(&out).unwrap()
    }
}

fn analysed(path: &str) -> Analysed {
    let clock = RealClock::new(None);
    let input = Input { from: Some(PathBuf::from(path)), ..Input::default() };
    let (selection, baselines) = (DeviceSelection::default(), BaselineStore::default());
    let mut intervals = Intervals::open(&input, &selection, Detail::Analysis, &baselines, &clock).unwrap();
    let collected = collect(&mut intervals, &mut |_| {}, &mut |_| {}).unwrap();
    let finished = collected.devices.into_iter().map(|device| device.finish(&Settings::default()));
    let mut devices: Vec<DeviceReport> = finished.collect();
    devices.sort_by(|a, b| a.device.cmp(&b.device));
    let layers = where_requests_wait(&Topology::default(), &devices);
    Analysed { devices, layers, machine: collected.host }
}

fn capture(name: &str) -> Analysed {
    analysed(&format!("fixtures/captures/{name}.txt"))
}

fn compare(path: &str, got: &str) {
    let path = format!("fixtures/ours/analyze/{path}");
    if std::env::var_os("BLKSTAT_REFRESH").is_some() {
        std::fs::write(&path, got).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(got == expected, "{path} differs; got:\n{got}");
}

const CAPTURES: [&str; 3] = ["capped-3000", "sweep-randread", "mixed"];

#[test]
fn captures_are_told_top_to_bottom() {
    for name in CAPTURES {
        for width in [80, 100] {
            let mut out = Vec::new();
            text(&capture(name).findings(), width, &mut out);
            let got = String::from_utf8(out).unwrap();
            assert!(got.lines().all(|line| line.width() <= width && !line.ends_with(' ')), "{got}");
            compare(&format!("{name}.{width}.txt"), &got);
        }
    }
}

#[test]
fn every_capture_fits_a_narrow_terminal() {
    for name in ["comings-and-goings", "faults", "hostile", "names", "old-kernel", "stalls", "mixed"] {
        for width in [60, 72] {
            let mut out = Vec::new();
            text(&capture(name).findings(), width, &mut out);
            let got = String::from_utf8(out).unwrap();
            assert!(!got.is_empty() && got.lines().all(|line| line.width() <= width), "{name}: {got}");
            assert!(!got.contains(|c: char| c.is_control() && c != '\n'), "{name}: {got:?}");
        }
    }
}

#[test]
fn json_has_the_fields_of_the_contract() {
    let value = capture("capped-3000").json();
    let device = value["devices"].as_array().unwrap().iter().find(|one| one["device"] == "loop0").unwrap();
    assert_eq!(device["verdict"], "capped");
    assert!(device["explanation"].is_string() && device["intervals"].is_u64());
    for direction in ["read", "write"] {
        for quantity in ["iops", "await_ms", "queue", "size_kib", "mib_per_s", "saturation"] {
            for field in ["mean", "p50", "p95", "p99", "max"] {
                assert!(device[direction][quantity].get(field).is_some(), "{direction} {quantity} {field}");
            }
        }
        assert!(device[direction].get("baseline_await_ms").is_some());
    }
    for field in ["concurrency", "intervals", "iops", "mib_per_s", "await_ms", "saturation"] {
        assert!(device["levels"][0].get(field).is_some(), "{field}");
    }
    let capacity = &device["capacity"];
    assert_eq!((&capacity["model"], &capacity["reached"]), (&"cap".into(), &true.into()));
    for field in ["max_iops", "max_mib_per_s", "knee_concurrency", "r_squared", "usl", "cap"] {
        assert!(capacity.get(field).is_some(), "{field}");
    }
    assert_eq!(value["layers"]["steps"][0]["above"], "loop0");
    assert!(value["machine"].get("cpu_available_pct").is_some());
}

#[test]
fn every_capture_is_valid_json() {
    for name in ["comings-and-goings", "faults", "hostile", "names", "old-kernel", "stalls", "mixed"] {
        assert!(capture(name).json()["devices"].is_array(), "{name}");
    }
}

#[test]
fn a_job_repeats_the_load_of_each_direction() {
    let analysed = capture("capped-3000");
    let of = |name: &str| {
        let mut out = Vec::new();
        fio_job(analysed.devices.iter().find(|one| one.device == name).unwrap(), &mut out);
        String::from_utf8(out).unwrap()
    };
    compare("capped-3000.loop0.fio", &of("loop0"));
    assert!(of("zram0").contains("no load"), "{}", of("zram0"));
}
