//! One incident, told by every view: a cgroup at a limit on the disk below a volume, with the truth written by the test.
//!
//! This test needs what those in `hung_disk` need, and is skipped or fails like them.

use std::fs::{self, File};
use std::path::Path;
use std::process::Stdio;
use std::thread::sleep;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use super::volume::{Group, Running, Volume, group_name, run_if_possible, try_run};
use crate::support::program::{blkstat, output};

const LIMIT: u64 = 300;
/// The number of processes that read, each one block at a time.
const READERS: usize = 8;
/// The time for which the limit is in force, and that before and after it.
const LIMITED: Duration = Duration::from_secs(12);
const MARGIN: Duration = Duration::from_secs(6);
/// The length of an interval, and by how much samples may be late on a busy machine.
const INTERVAL_S: f64 = 1.0;
const LATE_S: f64 = 0.3;

/// A loop device on a file of the volume: a volume on a disk.
struct Upper(String);

impl Upper {
    fn new(volume: &Volume) -> Result<Self, String> {
        let image = volume.mount().join("image");
        // Without data, reads would not reach the disk.
        fs::write(&image, vec![1; 128 << 20]).unwrap();
        let image = image.to_str().unwrap();
        try_run("sync", &[])?;
        Ok(Self(try_run("losetup", &["--find", "--show", "--direct-io=on", image])?))
    }
}

impl Drop for Upper {
    fn drop(&mut self) {
        let _ = try_run("losetup", &["--detach", &self.0]);
    }
}

/// The views of the running system, begun together.
struct Views {
    running: [Running; 3],
    files: [std::path::PathBuf; 3],
}

impl Views {
    fn start(volume: &Volume, name: &str) -> Self {
        let files = ["recording", "json", "table"].map(|kind| volume.beside(&format!("{name}.{kind}")));
        let start = |words: &str, out: &Path| {
            let out = File::create(out).unwrap();
            Running(blkstat(words).spawn(out, Stdio::inherit()))
        };
        let record = format!("record {} 1", files[0].display());
        let running =
            [start(&record, &volume.beside("out")), start("--json 1", &files[1]), start("1", &files[2])];
        Self { running, files }
    }

    /// Ends them, and returns the paths of the recording, and the lines of JSON and the table.
    fn end(self) -> (String, Vec<Value>, String) {
        self.running.into_iter().for_each(Running::interrupt);
        let [recording, json, table] = self.files;
        let read = |file: &Path| fs::read_to_string(file).unwrap();
        let lines = read(&json).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        (recording.display().to_string(), lines, read(&table))
    }
}

fn seconds(time: &Value) -> f64 {
    let time: Timestamp = time.as_str().unwrap().parse().unwrap();
    time.as_duration().as_secs_f64()
}

/// The victim, the cause and the owner that each view must name.
struct Truth {
    victim: String,
    owner: String,
    cause: String,
    begin_s: f64,
    end_s: f64,
}

impl Truth {
    fn check_incident(&self, incident: &Value, prefix: &str, begin_known: bool) {
        let field = |name: &str| &incident[format!("{prefix}{name}")];
        assert_eq!(field("victim"), &self.victim, "{incident}");
        assert_eq!(field("owner"), &self.owner, "{incident}");
        assert_eq!(field("begin_known"), begin_known, "{incident}");
        let late_s = seconds(field("begin")) - self.begin_s;
        assert!(!begin_known || late_s.abs() < INTERVAL_S + LATE_S, "{late_s} s late: {incident}");
    }

    /// Checks the lines of the running system, in which the cause must be known by the third interval of the limit and
    /// change no more.
    fn check_json(&self, lines: &[Value], begin_known: bool) {
        let own = lines.iter().filter(|line| line["device"] == self.victim);
        let is_limited = |line: &&Value| {
            let end_s = seconds(&line["time"]);
            end_s - INTERVAL_S > self.begin_s && end_s < self.end_s
        };
        let limited: Vec<&Value> = own.filter(is_limited).collect();
        assert!(limited.len() >= 5, "{} intervals", limited.len());
        for (index, line) in limited.iter().enumerate() {
            self.check_incident(line, "incident_", begin_known);
            assert_eq!(line["incident"], limited[0]["incident"], "{line}");
            if index >= 3 {
                assert_eq!(line["incident_cause"], "cgroup_limit", "{index}: {line}");
                assert_eq!(line["verdict"], "throttled", "{index}: {line}");
            }
        }
    }

    /// Checks that the table has the cause below the victim.
    fn check_table(&self, table: &str, sign: &str) {
        let lines: Vec<&str> = table.lines().collect();
        let row = lines.iter().rposition(|line| {
            line.starts_with(&format!("{} ", self.victim)) && line.contains(&format!("  throttled {sign}"))
        });
        let row = row.unwrap_or_else(|| panic!("no row of {}: {table}", self.victim));
        assert!(lines[row + 1].starts_with(&format!("  {}", self.cause)), "{table}");
    }

    /// Checks what is made of a recording.
    fn check_recording(&self, recording: &str, begin_known: bool) {
        let (json, err, _) = output(&format!("analyze --json {recording}"), "");
        let document: Value = serde_json::from_str(&json).unwrap();
        let is_own = |incident: &&Value| incident["devices"].as_str().unwrap().contains(&self.victim);
        let incidents: Vec<&Value> =
            document["incidents"].as_array().unwrap().iter().filter(is_own).collect();
        assert_eq!(incidents.len(), 1, "{err}: {incidents:?}");
        self.check_incident(incidents[0], "", begin_known);
        assert_eq!(incidents[0]["cause"], "cgroup_limit", "{}", incidents[0]);
        let late_s = seconds(&incidents[0]["end"]) - self.end_s;
        assert!(late_s.abs() < 2.0 * INTERVAL_S + LATE_S, "ended {late_s} s late");
        let rate = incidents[0]["requests_per_s"].as_f64().unwrap();
        assert!((rate / LIMIT as f64 - 1.0).abs() < 0.2, "{rate} reads/s");
        let waiting = incidents[0]["waiting_tasks"].as_str().unwrap();
        assert!(waiting.contains("dd("), "{waiting}");
        let before = if begin_known { "" } else { "since before " };
        let heading = format!("{} throttled {before}", self.victim);
        let text = output(&format!("analyze {recording}"), "").0.replace('\n', " ");
        assert!(text.starts_with(&heading) && text.contains(&format!(": {}", self.cause)), "{text}");
        let page = output(&format!("report {recording} -o -"), "").0;
        let heading = heading.replacen(&self.victim, &format!("<bdi>{}</bdi>", self.victim), 1);
        assert!(page.contains(&format!("<h1>{heading}")), "{}", &page[..9000]);
        assert!(page.contains(&format!("<p class=\"main\">{}; ", self.cause)), "{}", &page[..9000]);
        let metrics = output(&format!("export --from {recording} 1"), "").0;
        let series = format!(
            "victim=\"{}\",cause=\"cgroup_limit\",owner=\"{}\",begin_known=\"{begin_known}\"",
            self.victim, self.owner
        );
        assert!(metrics.contains(&series), "{series}");
    }
}

#[test]
fn a_limit_is_one_incident_in_every_view() {
    run_if_possible(|| {
        let disk = Volume::new()?;
        let group = Group::new(&disk, &["blkio"])?;
        // Begun before the volume and the limit, and in the middle.
        let before = Views::start(&disk, "before");
        sleep(Duration::from_secs(1));
        let upper = Upper::new(&disk)?;
        let read = format!("while :; do dd if={} of=/dev/null bs=4k iflag=direct 2>/dev/null; done", upper.0);
        let readers: Vec<Running> =
            (0..READERS).map(|_| group.spawn(&format!("sh -c '{read}'"), Path::new("/dev/null"))).collect();
        sleep(MARGIN);
        group.limit("read_iops", LIMIT);
        let begin = Timestamp::now();
        sleep(LIMITED / 2);
        let after = Views::start(&disk, "after");
        sleep(LIMITED / 2);
        group.limit("read_iops", 0);
        let end = Timestamp::now();
        sleep(MARGIN);
        let (before, after) = (before.end(), after.end());
        group.kill();
        drop(readers);
        let name = |device: &str| device.strip_prefix("/dev/").unwrap().to_owned();
        let owner = format!("/{}", group_name());
        let truth = Truth {
            victim: name(&upper.0),
            cause: format!(
                "{owner} is at its limit of {LIMIT} reads/s on {} (blkio.throttle)",
                name(&disk.device)
            ),
            owner,
            begin_s: begin.as_duration().as_secs_f64(),
            end_s: end.as_duration().as_secs_f64(),
        };
        for ((recording, lines, table), begin_known) in [(before, true), (after, false)] {
            truth.check_json(&lines, begin_known);
            truth.check_table(&table, if begin_known { "" } else { ">" });
            truth.check_recording(&recording, begin_known);
        }
        Ok(())
    });
}
