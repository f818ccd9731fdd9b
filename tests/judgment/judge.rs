//! The verdicts of the program on a capture, as its users get them.

use std::ffi::OsStr;
use std::fmt::Debug;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::simulator::{Limited, Unit};
use crate::words::Word;

/// A cap that was named.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NamedCap {
    pub(crate) limited: Limited,
    pub(crate) unit: Unit,
    /// Units per second; bytes as sectors.
    pub(crate) rate: f64,
}

/// A verdict on an interval or on a capture.
#[derive(Clone, Debug, Default)]
pub(crate) struct Judgment {
    /// `None` where nothing is claimed.
    pub(crate) word: Option<Word>,
    /// It says that the device is not the cause.
    pub(crate) is_not_the_disk: bool,
    /// The caps that it names.
    pub(crate) caps: Vec<NamedCap>,
    /// Its evidence or explanation.
    pub(crate) text: String,
    /// The events of the device.
    pub(crate) events: Vec<NamedEvent>,
}

/// An event, in seconds of the capture.
#[derive(Clone, Debug)]
pub(crate) struct NamedEvent {
    pub(crate) word: Word,
    pub(crate) begin: f64,
    pub(crate) end: f64,
}

/// The verdicts of the live view on a device.
pub(crate) type LiveJudgments = Vec<Judgment>;

/// Returns what the program prints that ends with the name of a capture.
pub(crate) fn run(arguments: &[impl AsRef<OsStr> + Debug], capture: &Path) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_blkstat"))
        .args(arguments)
        .arg(capture)
        .env("TZ", "UTC")
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

/// Returns what the program prints of the text of a capture.
fn run_on(text: &str, arguments: &[&str]) -> String {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("capture.txt");
    fs::write(&path, text).unwrap();
    run(arguments, &path)
}

/// Returns the lines of all devices that the live view prints of the text of a capture.
pub(crate) fn rows(text: &str, options: &[&str]) -> Vec<Value> {
    let arguments = [&["--json", "--all", "--as-live"], options, &["--from"]].concat();
    run_on(text, &arguments)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Returns the report of `analyze` on a device in the text of a capture.
pub(crate) fn report(text: &str, device: &str, options: &[&str]) -> Value {
    let arguments = [&["analyze", "--json"], options].concat();
    let mut document: Value = serde_json::from_str(&run_on(text, &arguments)).unwrap();
    let mut reports = document["devices"].as_array_mut().unwrap().iter_mut();
    let report = reports.find(|report| report["device"] == device).unwrap();
    report.take()
}

/// Returns the verdict of the live view on each interval of each device.
pub(crate) fn judge_live(capture: &Path, devices: &[&str]) -> Vec<LiveJudgments> {
    let text = run(
        &["--json", "--all", "--partitions", "--as-live", "--from"],
        capture,
    );
    let rows: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let of_device = |device: &&str| {
        rows.iter()
            .filter(|row| row["device"] == **device)
            .map(live)
            .collect()
    };
    devices.iter().map(of_device).collect()
}

fn live(row: &Value) -> Judgment {
    let evidence: Vec<&str> = row["evidence"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_str)
        .collect();
    let text = evidence.join("; ");
    Judgment {
        word: word(row),
        is_not_the_disk: text.to_lowercase().contains("not the disk"),
        caps: named_limit(row).into_iter().collect(),
        text,
        events: Vec::new(),
    }
}

fn word(row: &Value) -> Option<Word> {
    let name = row["verdict"].as_str()?;
    Some(Word::from_name(name).unwrap_or_else(|| panic!("unknown verdict '{name}'")))
}

/// The cap of an interval, where it is given as a number.
fn named_limit(row: &Value) -> Option<NamedCap> {
    let (kind, value) = (
        row.get("limit_kind")?.as_str()?,
        row.get("limit_value")?.as_f64()?,
    );
    let limited = match kind {
        _ if kind.starts_with("read") => Limited::Reads,
        _ if kind.starts_with("write") => Limited::Writes,
        _ => Limited::Both,
    };
    let (unit, rate) = if kind.contains("mib") {
        (Unit::Sectors, value * 2048.0)
    } else if kind.contains("kib") {
        (Unit::Sectors, value * 2.0)
    } else {
        (Unit::Requests, value)
    };
    Some(NamedCap {
        limited,
        unit,
        rate,
    })
}

/// Returns the verdict of `analyze` on each device.
pub(crate) fn analyze(capture: &Path, devices: &[&str]) -> Vec<Judgment> {
    let document: Value = serde_json::from_str(&run(&["analyze", "--json"], capture)).unwrap();
    let mut judgments: Vec<Judgment> = devices
        .iter()
        .map(|device| {
            let mut reports = document["devices"].as_array().unwrap().iter();
            reports
                .find(|one| one["device"] == *device)
                .map(overall)
                .unwrap_or_default()
        })
        .collect();
    // The claim is one about all devices.
    let is_not_the_disk = !document["not_the_disk"].is_null();
    judgments
        .iter_mut()
        .for_each(|judgment| judgment.is_not_the_disk = is_not_the_disk);
    let events: Vec<&Value> = document["events"].as_array().unwrap().iter().collect();
    for (device, judgment) in devices.iter().zip(&mut judgments) {
        let own = events.iter().filter(|event| event["device"] == **device);
        judgment.events = own.filter_map(|event| named_event(event)).collect();
    }
    judgments
}

/// Returns an event of trouble.
fn named_event(event: &Value) -> Option<NamedEvent> {
    let word = Word::from_name(event["verdict"].as_str()?).filter(|word| word.is_trouble())?;
    Some(NamedEvent {
        word,
        begin: event["begin_s"].as_f64()?,
        end: event["end_s"].as_f64()?,
    })
}

fn overall(report: &Value) -> Judgment {
    let word = word(report);
    let plateaus = report["plateaus"].as_array().into_iter().flatten();
    Judgment {
        word,
        is_not_the_disk: false,
        caps: plateaus
            .filter(|_| word == Some(Word::Capped))
            .filter_map(plateau)
            .collect(),
        text: report["explanation"]
            .as_str()
            .unwrap_or_default()
            .to_owned(),
        events: Vec::new(),
    }
}

fn plateau(one: &Value) -> Option<NamedCap> {
    let limited = match one["direction"].as_str()? {
        direction if direction.starts_with("read") => Limited::Reads,
        direction if direction.starts_with("write") => Limited::Writes,
        _ => Limited::Both,
    };
    let (unit, rate) = if one["unit"].as_str()? == "requests" {
        (Unit::Requests, one["iops"].as_f64()?)
    } else {
        (Unit::Sectors, one["mib_per_s"].as_f64()? * 2048.0)
    };
    Some(NamedCap {
        limited,
        unit,
        rate,
    })
}
