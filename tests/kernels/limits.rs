//! Limits of cgroups of version 2, against the rates that fio measured.

use serde_json::Value;

use crate::guest::{Guest, Script, on_each_kernel};
use crate::support::program::output;

/// The largest relative difference of a rate from that of fio, over the seconds in which blkstat watched. On the emulated
/// computer each second is a little different.
const RATE_TOLERANCE: f64 = 0.05;

/// Returns the lines of JSON in a file of the guest.
fn lines(guest: &Guest, file: &str) -> Vec<Value> {
    guest
        .read(file)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Returns the lines of a cgroup on a device.
fn of_cgroup(guest: &Guest, file: &str, device: &str, cgroup: &str) -> Vec<Value> {
    let mut lines = lines(guest, file);
    lines.retain(|line| {
        line["kind"] == "cgroup" && line["device"] == device && line["cgroup"] == cgroup
    });
    assert!(
        !lines.is_empty(),
        "{}: no {cgroup} on {device}",
        guest.version
    );
    lines
}

/// Returns the mean of a rate over all lines.
fn mean(lines: &[Value], field: &str) -> f64 {
    let weighted =
        |line: &Value| line[field].as_f64().unwrap() * line["elapsed_s"].as_f64().unwrap();
    let seconds: f64 = lines
        .iter()
        .map(|line| line["elapsed_s"].as_f64().unwrap())
        .sum();
    lines.iter().map(weighted).sum::<f64>() / seconds
}

/// Returns the reads per second that fio measured, from its bandwidth: it rounds the rate itself down.
fn fio_reads_per_s(guest: &Guest, file: &str) -> f64 {
    let text = guest.read(file);
    let kib_per_s: f64 = text.split(';').nth(6).unwrap().parse().unwrap();
    kib_per_s / 4.0
}

#[track_caller]
fn assert_near(guest: &Guest, rate: f64, expected: f64) {
    assert!(
        (rate / expected - 1.0).abs() < RATE_TOLERANCE,
        "{}: {rate} is not {expected}",
        guest.version
    );
}

#[test]
fn a_limit_includes_the_cgroups_below_it() {
    on_each_kernel(Script::Limits, |guest| {
        let disk = &guest.disks("nvme")[0];
        let limited = of_cgroup(guest, "nested.json", disk, "/db.slice");
        // Emulated seconds differ by more than the tolerance of a limit, now and then.
        let is_at_limit = |line: &Value| line["at_limit"] == serde_json::json!(["read_iops"]);
        assert!(
            limited.iter().any(is_at_limit),
            "{}: {limited:?}",
            guest.version
        );
        assert!(
            limited.iter().all(|line| line["read_iops_limit"] == 100.0),
            "{limited:?}"
        );
        // The reads are those of the cgroup below. Its counters are read later, so that at the first scan they may be some
        // reads ahead, which are the only ones that may seem to be of the cgroup above.
        assert!(
            mean(&limited, "reads_per_s") < 2.0,
            "{}: {limited:?}",
            guest.version
        );
        for (cgroup, fio) in [
            ("/db.slice/db.service", "nested.fio"),
            ("/backup.service", "nested-other.fio"),
        ] {
            let lines = of_cgroup(guest, "nested.json", disk, cgroup);
            assert_near(
                guest,
                mean(&lines, "reads_per_s"),
                fio_reads_per_s(guest, fio),
            );
            assert!(
                lines
                    .iter()
                    .all(|line| line["at_limit"] == serde_json::json!([])),
                "{lines:?}"
            );
        }
    });
}

#[test]
fn a_limit_on_the_disk_holds_the_volume_on_it_back() {
    on_each_kernel(Script::Limits, |guest| {
        let disk = &guest.disks("nvme")[0];
        for device in [disk.as_str(), "dm-0"] {
            let lines = of_cgroup(guest, "volume.json", device, "/volume.service");
            assert_near(
                guest,
                mean(&lines, "reads_per_s"),
                fio_reads_per_s(guest, "volume.fio"),
            );
        }
        let view = lines(guest, "volume.view.json");
        let throttled = view.iter().find(|line| line["verdict"] == "throttled");
        let throttled = throttled.unwrap_or_else(|| panic!("{}: {view:?}", guest.version));
        let evidence =
            format!("cgroup volume.service is at its limit of 50 reads/s on {disk} (io.max)");
        assert_eq!(
            (&throttled["device"], &throttled["evidence"][0]),
            (&"dm-0".into(), &evidence.into())
        );
    });
}

/// Seconds by which an incident may be found earlier or later than it began: the length of an interval, and what passes until
/// the slow guest has changed the limit and the delay.
const BEGIN_TOLERANCE_S: f64 = 2.0;
/// Seconds after which the cause must be known: three after the third interval in trouble.
const KNOWN_AFTER_S: f64 = 6.0;

fn seconds(time: &Value) -> f64 {
    let time: jiff::Timestamp = time.as_str().unwrap().parse().unwrap();
    time.as_duration().as_secs_f64()
}

/// Checks what is said of an incident: in fields with this prefix, and from the beginning if that was seen.
#[track_caller]
fn check_story(
    incident: &Value,
    prefix: &str,
    (victim, cause, owner): (&str, &str, &str),
    begin_s: Option<f64>,
) {
    let field = |name: &str| &incident[format!("{prefix}{name}")];
    let found = ["victim", "cause", "owner"].map(field);
    assert_eq!(
        found,
        [victim, cause, owner].map(Value::from).each_ref(),
        "{incident}"
    );
    assert_eq!(field("begin_known"), begin_s.is_some(), "{incident}");
    let late_s = begin_s.map_or(0.0, |begin_s| seconds(field("begin")) - begin_s);
    assert!(
        late_s.abs() < BEGIN_TOLERANCE_S,
        "{late_s} s late: {incident}"
    );
}

/// Returns a recording without the samples before this second.
fn without_head(recording: &str, begin_s: f64) -> String {
    let is_late =
        |sample: &str| sample.split(' ').next().unwrap().parse::<f64>().unwrap() >= begin_s;
    let mut samples = recording.split("\nTS ");
    let header = samples.next().unwrap().lines().next().unwrap().to_owned();
    samples
        .filter(|sample| is_late(sample))
        .fold(header, |text, sample| text + "\nTS " + sample)
        + "\n"
}

#[test]
#[ignore = "begun in the middle on Linux 6.1, the limit on dm-0 is not found; queued_between is no cause any more"]
fn a_limit_and_a_slow_disk_below_at_once_are_two_incidents_however_they_are_looked_at() {
    on_each_kernel(Script::Limits, |guest| {
        let times = guest.read("story-times");
        let [begin_s, end_s] =
            [0, 1].map(|at| times.lines().nth(at).unwrap().parse::<f64>().unwrap());
        let truths = [
            ("dm-0", "cgroup_limit", "/volume.service"),
            ("dm-1", "queued_between", "/backup.service"),
        ];
        for (name, known_s) in [("before", Some(begin_s)), ("after", None)] {
            let live = lines(guest, &format!("story-{name}.json"));
            let first_s = seconds(&live[0]["time"]).max(begin_s);
            for truth in truths {
                let is_told = |line: &&Value| {
                    let end = seconds(&line["time"]);
                    line["device"] == truth.0 && end > first_s + KNOWN_AFTER_S && end < end_s
                };
                let told: Vec<&Value> = live.iter().filter(is_told).collect();
                assert!(!told.is_empty(), "{}: {name}: {truth:?}", guest.version);
                told.iter()
                    .for_each(|line| check_story(line, "incident_", truth, known_s));
            }
            let recording = guest.read(&format!("story-{name}.txt"));
            let head = known_s.map(|begin_s| without_head(&recording, begin_s - 4.0));
            for recording in [Some(recording), head].into_iter().flatten() {
                let (json, err, _) = output("analyze --json -", recording);
                let document: Value = serde_json::from_str(&json).unwrap();
                let incidents = document["incidents"].as_array().unwrap();
                assert_eq!(
                    incidents.len(),
                    truths.len(),
                    "{}: {name}: {err}{incidents:#?}",
                    guest.version
                );
                for truth in truths {
                    let own = incidents
                        .iter()
                        .find(|incident| incident["victim"] == truth.0);
                    check_story(own.unwrap(), "", truth, known_s);
                }
            }
        }
    });
}

#[test]
fn asynchronous_reads_that_wait_for_a_limit_raise_no_pressure() {
    on_each_kernel(Script::Limits, |guest| {
        let pressure = guest.read("volume.io.pressure");
        assert!(
            pressure.lines().all(|line| line.ends_with("total=0")),
            "{}: {pressure}",
            guest.version
        );
    });
}

#[test]
fn memory_that_is_written_back_is_charged_to_the_cgroup_that_modified_it() {
    on_each_kernel(Script::Limits, |guest| {
        let disk = &guest.disks("nvme")[0];
        let lines = of_cgroup(guest, "writeback.json", disk, "/writer.service");
        let busy: Vec<&Value> = lines
            .iter()
            .filter(|line| line["write_kib_per_s"].as_f64() > Some(0.0))
            .collect();
        assert!(!busy.is_empty(), "{}: {lines:?}", guest.version);
        let shares: Vec<f64> = busy
            .iter()
            .map(|line| line["share_pct"].as_f64().unwrap())
            .collect();
        assert!(
            shares.iter().any(|share| *share > 90.0),
            "{}: {shares:?}",
            guest.version
        );
    });
}
