//! What blkstat said of each second of a recording, as `reference/store_seconds` kept it, as seconds for `src/incidents`.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::Arc;

use blkstat::attribution::{IoDirection, Limit, LimitSource, RateUnit};
use blkstat::counters::CgroupHierarchy;
use blkstat::incidents::{
    DeviceSecond, HostSecond, Moment, Process, Requests, Scan, Second, Task, Use, program_name,
    serves_disks,
};
use blkstat::judge::Verdict;
use blkstat::topology::{DeviceNames, Node, Topology};
use flate2::read::GzDecoder;
use serde_json::Value;

/// The seconds of a recording.
pub(crate) struct Stored {
    pub(crate) seconds: Vec<Second>,
    pub(crate) topology: Topology,
}

impl Stored {
    /// Reads a file, up to a time in seconds since 1970.
    pub(crate) fn read(path: &Path, until_s: Option<f64>) -> Self {
        let mut nodes = Vec::new();
        let mut rows: Vec<Value> = Vec::new();
        let mut scans: BTreeMap<u64, Scan> = BTreeMap::new();
        let mut readings = HashMap::new();
        for line in BufReader::new(GzDecoder::new(File::open(path).unwrap())).lines() {
            let line: Value = serde_json::from_str(&line.unwrap()).unwrap();
            for device in line["devices"].as_array().into_iter().flatten() {
                nodes.push(node(device));
            }
            if number(&line, "time_s") > until_s.unwrap_or(f64::MAX) {
                continue;
            }
            if line.get("kind").is_some() {
                let scan = scans.entry(number(&line, "time_s").to_bits()).or_default();
                add_to_scan(scan, &line, &mut readings);
            } else if line["verdict"].is_string() && line["device"] != "total" {
                rows.push(line);
            }
        }
        let mut stored = Self {
            seconds: Vec::new(),
            topology: Topology::new(nodes),
        };
        let mut places: Vec<String> = Vec::new();
        for row in &rows {
            let time_s = number(row, "time_s");
            if stored
                .seconds
                .last()
                .is_none_or(|last| last.end.run_s != time_s)
            {
                stored.seconds.push(Second {
                    end: Moment {
                        at: None,
                        run_s: time_s,
                    },
                    seconds: number(row, "elapsed_s"),
                    missed: row["missed_samples"].as_u64().unwrap_or(0),
                    host: HostSecond {
                        cpu_available_pct: row["cpu_available_pct"].as_f64(),
                        io_pressure_pct: row["io_pressure_some_pct"].as_f64(),
                        swapped_pages_per_s: None,
                    },
                    devices: Vec::new(),
                    scan: scans.remove(&time_s.to_bits()),
                });
            }
            let device = text(row, "device");
            let place = places
                .iter()
                .position(|one| *one == device)
                .unwrap_or_else(|| {
                    places.push(device);
                    places.len() - 1
                });
            let second = stored.seconds.last_mut().unwrap();
            second.devices.push(device_second(row, place));
        }
        stored
    }
}

fn node(device: &Value) -> Node {
    let names = |field: &str| -> Vec<String> {
        let values = device[field].as_array().into_iter().flatten();
        values
            .map(|value| value.as_str().unwrap().to_owned())
            .collect()
    };
    Node {
        name: text(device, "name"),
        backing_devices: names("backing_devices"),
        mountpoints: names("mountpoints"),
        ..Node::default()
    }
}

fn device_second(row: &Value, place: usize) -> DeviceSecond {
    let verdict = Verdict::ALL
        .into_iter()
        .find(|one| row["verdict"] == one.name())
        .unwrap();
    let health = row["health"].to_string();
    let requests = ["read", "write", "flush", "discard"].map(|kind| {
        let plural = if kind == "flush" {
            "flushes"
        } else {
            &format!("{kind}s")
        };
        Requests {
            per_s: number(row, &format!("{plural}_per_s")),
            await_ms: row[format!("{kind}_await_ms")].as_f64(),
        }
    });
    DeviceSecond {
        place,
        names: DeviceNames::without_alias(&text(row, "device")),
        verdict,
        limit: (verdict == Verdict::Throttled).then(|| {
            let value = number(row, "limit_value");
            limit(
                &text(row, "limit_cgroup"),
                "",
                &text(row, "limit_kind"),
                value,
            )
        }),
        capped_at: None,
        is_suspended: health.contains("suspended"),
        is_syncing: ["rebuilding", "being ", "resync", "reshap"]
            .iter()
            .any(|word| health.contains(word)),
        is_waited_for: false,
        late_s: 0.0,
        in_flight: row["in_flight"].as_u64().unwrap_or(0),
        queue: number(row, "queue"),
        util_pct: row["util_pct"].as_f64(),
        iops: number(row, "iops"),
        kib_per_s: [
            number(row, "read_kib_per_s"),
            number(row, "write_kib_per_s"),
        ],
        requests,
    }
}

fn limit(cgroup: &str, device: &str, kind: &str, value: f64) -> Limit {
    let (direction, unit) = match kind {
        "read_iops" => (IoDirection::Reads, RateUnit::Requests),
        "write_iops" => (IoDirection::Writes, RateUnit::Requests),
        "read_kib_per_s" => (IoDirection::Reads, RateUnit::Kib),
        "write_kib_per_s" => (IoDirection::Writes, RateUnit::Kib),
        other => panic!("unknown limit {other}"),
    };
    Limit {
        owner: Some(cgroup.into()),
        device: device.into(),
        direction,
        unit,
        value,
        source: LimitSource::Cgroup(CgroupHierarchy::V2),
    }
}

/// Adds a line of `who`. The bytes of a process are said again until they are read the next time; `readings` has the latest.
fn add_to_scan(scan: &mut Scan, line: &Value, readings: &mut HashMap<u64, String>) {
    let rates = |names: [&str; 2]| names.map(|name| number(line, name));
    let kib_per_s = rates(["read_kib_per_s", "write_kib_per_s"]);
    let seconds = number(line, "elapsed_s");
    let cgroup = line["cgroup"].as_str().map(Arc::<str>::from);
    if line["kind"] == "cgroup" {
        let device = text(line, "device");
        let mut limits = Vec::new();
        for kind in [
            "read_iops",
            "write_iops",
            "read_kib_per_s",
            "write_kib_per_s",
        ] {
            if let Some(value) = line[format!("{kind}_limit")].as_f64() {
                limits.push(limit(cgroup.as_deref().unwrap(), &device, kind, value));
            }
        }
        scan.uses.push(Use {
            device: device.into(),
            cgroup: cgroup.filter(|path| &**path != "unattributed"),
            seconds,
            ios_per_s: rates(["reads_per_s", "writes_per_s"]),
            kib_per_s,
            limits,
        });
        return;
    }
    let comm = text(line, "comm");
    if comm.starts_with("blkstat") {
        return;
    }
    let program: Arc<str> = program_name(&comm, line["command"].as_str()).into();
    if line["is_blocked"] == true {
        scan.tasks.push(Task {
            pid: number(line, "pid") as u32,
            cgroup: cgroup.clone(),
            program: Arc::clone(&program),
            device: line["task_device"].as_str().map(Arc::from),
            is_server: serves_disks(&comm),
        });
    }
    let reading = format!("{seconds} {kib_per_s:?} {}", line["is_of_ended_children"]);
    if let Some(cgroup) = cgroup
        && line.get("read_kib_per_s").is_some()
        && readings.insert(number(line, "pid") as u64, reading.clone()) != Some(reading)
    {
        scan.processes.push(Process {
            cgroup,
            program,
            seconds,
            kib_per_s: kib_per_s.iter().sum(),
            is_of_ended_children: line["is_of_ended_children"] == true,
            is_server: serves_disks(&comm),
        });
    }
}

fn number(line: &Value, field: &str) -> f64 {
    line[field].as_f64().unwrap_or(0.0)
}

fn text(line: &Value, field: &str) -> String {
    line[field].as_str().unwrap_or_default().to_owned()
}
