//! Incidents at the same time, told by every view: cgroups at limits on the disks below volumes, with the truth written by
//! the test.
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
#[cfg(feature = "top")]
use crate::support::session::Session;

/// A limit on a disk, and what the processes in its cgroup do with the volume on that disk, one block at a time, with
/// breaks: without limits, they leave time for other programs.
struct Case {
    name: &'static str,
    rate: &'static str,
    limit: u64,
    /// The limit in words.
    words: &'static str,
    /// The number of processes, and their command with `{}` for the volume.
    clients: usize,
    command: &'static str,
    /// The verdict on the volume, and that of the intervals in which the first requests wait.
    verdicts: [&'static str; 2],
}

const CASES: [Case; 3] = [
    Case {
        name: "reads",
        rate: "read_iops",
        limit: 300,
        words: "300 reads/s",
        clients: 8,
        command: "dd if={} of=/dev/null bs=4k iflag=direct count=50",
        verdicts: ["throttled", "throttled"],
    },
    Case {
        name: "fsync",
        rate: "write_iops",
        limit: 20,
        words: "20 writes/s",
        clients: 6,
        command: "dd if=/dev/zero of={} bs=4k oflag=sync conv=notrunc count=20",
        verdicts: ["throttled", "throttled"],
    },
    Case {
        name: "nothing",
        rate: "read_bps",
        limit: 1,
        words: "1 byte/s of reads",
        clients: 2,
        command: "dd if={} of=/dev/null bs=4k iflag=direct count=20",
        verdicts: ["stalled", "throttled"],
    },
];
/// The time for which the limit is in force, and that before and after it.
const LIMITED: Duration = Duration::from_secs(14);
const MARGIN: Duration = Duration::from_secs(6);
/// The index of the interval of a limit from which its cause must be known: three seconds after the third.
const KNOWN_FROM: usize = 5;
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
    #[cfg(feature = "top")]
    top: Session,
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
        Self {
            running,
            files,
            #[cfg(feature = "top")]
            top: Session::start("1", (80, 24), &[]),
        }
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
    verdicts: [&'static str; 2],
    /// The rate of reads per second; `None` if they do not come one by one.
    reads_per_s: Option<f64>,
    owner: String,
    cause: String,
    begin_s: f64,
    end_s: f64,
}

impl Truth {
    fn check_incident(&self, incident: &Value, prefix: &str, begin_known: bool, has_cause: bool) {
        let field = |name: &str| &incident[format!("{prefix}{name}")];
        assert_eq!(field("victim"), &self.victim, "{incident}");
        // A scan of cgroups may come late on a busy machine.
        let is_known = has_cause || !field("owner").is_null();
        assert!(!is_known || field("owner") == &self.owner, "{incident}");
        assert_eq!(field("begin_known"), begin_known, "{incident}");
        let late_s = seconds(field("begin")) - self.begin_s;
        assert!(!begin_known || late_s.abs() < INTERVAL_S + LATE_S, "{late_s} s late: {incident}");
    }

    /// Checks the lines of the running system, in which the cause must be known soon and change no more.
    fn check_json(&self, lines: &[Value], begin_known: bool) {
        let own = lines.iter().filter(|line| line["device"] == self.victim);
        let is_limited = |line: &&Value| {
            let end_s = seconds(&line["time"]);
            end_s - INTERVAL_S > self.begin_s && end_s < self.end_s
        };
        let limited: Vec<&Value> = own.filter(is_limited).collect();
        assert!(limited.len() > KNOWN_FROM, "{} intervals", limited.len());
        for (index, line) in limited.iter().enumerate() {
            // Until others confirm an interval, there may be no incident.
            if index < 3 && line["incident"].is_null() {
                continue;
            }
            self.check_incident(line, "incident_", begin_known, index >= KNOWN_FROM);
            assert_eq!(line["incident"], limited[3]["incident"], "{line}");
            if index >= KNOWN_FROM {
                assert_eq!(line["incident_cause"], "cgroup_limit", "{index}: {line}");
                let verdict = line["verdict"].as_str().unwrap();
                assert!(self.verdicts.contains(&verdict), "{index}: {line}");
            }
        }
    }

    /// Checks that the table has the cause below the victim.
    fn check_table(&self, table: &str, sign: &str) {
        let lines: Vec<&str> = table.lines().collect();
        let row = lines.iter().rposition(|line| {
            let is_throttled = line.contains(&format!("  {} {sign}", self.verdicts[0]));
            let is_stalled = line.contains(&format!("STALLED for {sign}"));
            line.starts_with(&format!("{} ", self.victim)) && (is_throttled || is_stalled)
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
        self.check_incident(incidents[0], "", begin_known, true);
        assert_eq!(incidents[0]["cause"], "cgroup_limit", "{}", incidents[0]);
        let late_s = seconds(&incidents[0]["end"]) - self.end_s;
        assert!(late_s.abs() < 2.0 * INTERVAL_S + LATE_S, "ended {late_s} s late");
        if let Some(reads_per_s) = self.reads_per_s {
            let rate = incidents[0]["requests_per_s"].as_f64().unwrap();
            assert!((rate / reads_per_s - 1.0).abs() < 0.2, "{rate} reads/s");
        }
        let waiting = incidents[0]["waiting_tasks"].as_str().unwrap();
        assert!(waiting.contains("dd("), "{waiting}");
        let before = if begin_known { "" } else { "since before " };
        let (victim, verdict) = (&self.victim, self.verdicts[0]);
        let text = output(&format!("analyze {recording}"), "").0;
        let is_own = |line: &&str| line.starts_with(&format!("{victim} {verdict} {before}"));
        let line = text.lines().rfind(is_own).unwrap_or_else(|| panic!("{text}"));
        assert!(line.contains(&format!(": {}", self.cause)), "{line}");
        let page = output(&format!("report {recording} -o -"), "").0;
        let row = page.split("<tr ").find(|row| {
            row.contains(&format!("<bdi>{victim}</bdi>"))
                && row.contains(&format!(">{verdict}</span><td class=\"time\">{before}"))
        });
        assert!(row.is_some_and(|row| row.contains(&self.cause)), "{row:?}");
        let metrics = output(&format!("export --from {recording} 1"), "").0;
        let series = format!(
            "victim=\"{}\",cause=\"cgroup_limit\",owner=\"{}\",begin_known=\"{begin_known}\"",
            self.victim, self.owner
        );
        assert!(metrics.contains(&series), "{series}");
    }
}

/// Returns what a screen shows, with single blanks.
#[cfg(feature = "top")]
fn words_on(screen: &str) -> String {
    screen.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Checks that `top` lists the victims, and tells the story of the worst of them, which is in its first line.
#[cfg(feature = "top")]
fn check_screen(screen: &str, truths: &[Truth], begin_known: bool) {
    let words = words_on(screen);
    let sign = if begin_known { "" } else { ">" };
    for truth in truths {
        let [most, least] = truth.verdicts.map(|verdict| format!("{} {verdict} {sign}", truth.victim));
        assert!(words.contains(&most) || words.contains(&least), "{most}:\n{screen}");
    }
    let is_told = |truth: &&Truth| words.contains(&format!("{}: ", truth.victim));
    let told = truths.iter().find(is_told).unwrap_or_else(|| panic!("{screen}"));
    assert!(words.contains(&told.cause), "{}:\n{screen}", told.cause);
}

/// Checks that `top` opens a recording on its worst incident, which `analyze` begins with.
#[cfg(feature = "top")]
fn check_opened(recording: &str, truths: &[Truth]) {
    let text = output(&format!("analyze {recording}"), "").0;
    let worst = truths.iter().find(|truth| text.starts_with(&format!("{} ", truth.victim))).unwrap();
    let session = Session::start(&format!("--from {recording}"), (100, 40), &[]);
    session.wait_for("REPLAY");
    session.wait_for(&format!("{}: ", worst.victim));
    // On a busy machine, the screen may be drawn in parts.
    session.wait_for(&format!("{} is at its limit", worst.owner));
    session.wait_for("(blkio.throttle)");
    let screen = session.screen();
    assert!(words_on(&screen).contains(&worst.cause), "{screen}");
}

#[test]
fn a_limit_is_one_incident_in_every_view() {
    run_if_possible(|| {
        let disks = CASES.iter().map(|_| Volume::new()).collect::<Result<Vec<_>, _>>()?;
        let group_name = |case: &Case| format!("{}-{}", group_name(), case.name);
        let groups = CASES.iter().zip(&disks);
        let groups = groups.map(|(case, disk)| Group::named(disk, &group_name(case), &["blkio"]));
        let groups = groups.collect::<Result<Vec<_>, _>>()?;
        // Begun before the volumes and the limits, and in the middle.
        let before = Views::start(&disks[0], "before");
        sleep(Duration::from_secs(1));
        let volumes = disks.iter().map(Upper::new).collect::<Result<Vec<_>, _>>()?;
        let mut clients = Vec::new();
        for ((case, group), volume) in CASES.iter().zip(&groups).zip(&volumes) {
            let command = case.command.replace("{}", &volume.0);
            let script = format!("sh -c 'while :; do {command} 2>/dev/null; sleep 0.1; done'");
            clients.extend((0..case.clients).map(|_| group.spawn(&script, Path::new("/dev/null"))));
        }
        sleep(MARGIN);
        let limit = |lifts: bool| {
            for (case, group) in CASES.iter().zip(&groups) {
                group.limit(case.rate, if lifts { 0 } else { case.limit });
            }
            Timestamp::now().as_duration().as_secs_f64()
        };
        let begin_s = limit(false);
        sleep(LIMITED / 2);
        let after = Views::start(&disks[0], "after");
        sleep(LIMITED / 2);
        #[cfg(feature = "top")]
        let screens = [&before, &after].map(|views| views.top.screen());
        let end_s = limit(true);
        sleep(MARGIN);
        let (before, after) = (before.end(), after.end());
        groups.iter().for_each(Group::kill);
        drop(clients);
        let name = |device: &str| device.strip_prefix("/dev/").unwrap().to_owned();
        let truths: Vec<Truth> = (CASES.iter().zip(&disks).zip(&volumes))
            .map(|((case, disk), volume)| {
                let (owner, disk) = (format!("/{}", group_name(case)), name(&disk.device));
                Truth {
                    victim: name(&volume.0),
                    verdicts: case.verdicts,
                    reads_per_s: (case.rate == "read_iops").then_some(case.limit as f64),
                    cause: format!("{owner} is at its limit of {} on {disk} (blkio.throttle)", case.words),
                    owner,
                    begin_s,
                    end_s,
                }
            })
            .collect();
        for ((recording, lines, table), begin_known) in [(before, true), (after, false)] {
            for truth in &truths {
                truth.check_json(&lines, begin_known);
                truth.check_table(&table, if begin_known { "" } else { ">" });
                truth.check_recording(&recording, begin_known);
            }
            #[cfg(feature = "top")]
            {
                check_screen(&screens[usize::from(!begin_known)], &truths, begin_known);
                check_opened(&recording, &truths);
            }
        }
        Ok(())
    });
}
