//! Excerpts of captures, as they are shared: they show the same, and if requested without any name.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use blkstat::baselines::{DeviceBaseline, RecordedBaseline, RecordedBaselines};
use blkstat::capture::{
    RecordFilter, RecordingHeader, ScanWriter, WriteStall, write_annotation, write_header,
    write_health, write_line,
};
use blkstat::counters::{
    BlockedTask, BusyProcess, Cgroup, CgroupDevice, CgroupHierarchy, Columns, Counters, Device,
    Health, HealthFacts, IoCounters, IoScan, ProcessIo, Requests, Sample, ScannedDevice,
};
use blkstat::sink::gzip_bytes;
use blkstat::topology::{Kind, Machine, Node, Topology};
use blkstat::units::SampleTime;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::Value;
use tempfile::TempDir;

use crate::support::program::{Outcome, blkstat};
use crate::support::text::json_lines;

const START: i64 = 1_795_198_931;
/// The seconds of the recording in which the disk is slow, because of one cgroup.
const TROUBLE: std::ops::Range<u64> = 50..80;
const SECONDS: u64 = 120;

/// The devices: a disk, an array named by its owner, its partition, and a volume on that.
const DEVICES: [(u32, u32, &str); 4] = [
    (8, 0, "sda"),
    (9, 127, "md_zqhome"),
    (259, 0, "md_zqhome1"),
    (253, 0, "dm-0"),
];

fn text(text: &str) -> Option<String> {
    Some(text.to_owned())
}

/// A device with a name in each place where there can be one. A new field must be given a name here.
fn node(major: u32, minor: u32, name: &str, kind: Kind, below: &[&str]) -> Node {
    Node {
        name: name.to_owned(),
        major,
        minor,
        kind,
        alias: text("zqvg-zqalias"),
        backing_devices: below.iter().map(|name| (*name).to_owned()).collect(),
        size_bytes: Some(1 << 40),
        model: text("ST4000NM0035"),
        stated_class: None,
        rotational: Some(true),
        scheduler: text("mq-deadline"),
        nr_requests: Some(256),
        iostats_enabled: Some(true),
        ignores_iostats: Some(false),
        backing_file: text("/srv/zqfile.img"),
        mountpoints: vec!["/".into(), "/srv/zqmount/zqdb".into(), Node::SWAP.into()],
        identity: text("wwid:naa.zqidentity"),
        diskseq: Some(9),
        serial: text("ZQSERIAL"),
    }
}

fn header() -> RecordingHeader {
    let mut baselines = RecordedBaselines::default();
    baselines.insert(RecordedBaseline {
        device: text("md_zqhome"),
        source: "zqsource".to_owned(),
        baseline: DeviceBaseline::stated(Some(1.0), None),
    });
    RecordingHeader {
        version: "0.2.0-zqversion".to_owned(),
        host: text("zqhost.zqdomain.example"),
        kernel: text("6.12.1-zqkernel"),
        boot_id: text("zqboot-1"),
        cpus: Some(4),
        machine: Machine {
            sys_vendor: text("Dell Inc."),
            product_name: text("PowerEdge R740"),
            chassis_asset_tag: text("zqtag"),
        },
        interval_ns: Some(1_000_000_000),
        topology: Topology::new(vec![
            node(8, 0, "sda", Kind::Disk, &[]),
            node(9, 127, "md_zqhome", Kind::Md, &["sda"]),
            node(259, 0, "md_zqhome1", Kind::Partition, &["md_zqhome"]),
            node(253, 0, "dm-0", Kind::Lvm, &["md_zqhome1"]),
        ]),
        lacking: None,
        baselines,
    }
}

fn health() -> HealthFacts {
    let health: Health = serde_json::from_str("{\"errors\":3,\"state\":\"running\"}").unwrap();
    let nfs: Health = serde_json::from_str("{\"nfs_unanswered\":1}").unwrap();
    let mut facts = BTreeMap::new();
    facts.insert("sda".to_owned(), Arc::new(health.clone()));
    facts.insert("md_zqhome".to_owned(), Arc::new(health));
    facts.insert("/srv/zqnfs".to_owned(), Arc::new(nfs));
    facts
}

/// The counters after this many seconds: 200 reads a second, of 1 ms or in the trouble of 60 ms.
fn counters(second: u64) -> Counters {
    let slow_s = second.clamp(TROUBLE.start, TROUBLE.end) - TROUBLE.start;
    let ms = (second - slow_s) * 200 + slow_s * 200 * 60;
    Counters {
        columns: Columns::Flushes,
        reads: Requests {
            ios: second * 200,
            merges: 0,
            sectors: second * 200 * 8,
            ms,
        },
        in_flight: if TROUBLE.contains(&second) { 12 } else { 0 },
        busy_ms: (second - slow_s) * 190 + slow_s * 1000,
        weighted_ms: ms,
        ..Counters::default()
    }
}

fn io(second: u64) -> IoCounters {
    IoCounters {
        read_bytes: second * 200 * 4096,
        write_bytes: 0,
        reads: second * 200,
        writes: 0,
    }
}

fn cgroup(path: &str, second: u64) -> Cgroup {
    let mut devices = Vec::new();
    for (major, minor, _) in DEVICES {
        devices.push(CgroupDevice {
            number: (major, minor),
            io: io(second),
            limits: [Some(9000), None, None, None],
        });
    }
    Cgroup {
        path: path.into(),
        is_new: false,
        devices,
        pressure: None,
    }
}

fn process(pid: u32, comm: &str, is_kernel: bool) -> BusyProcess {
    BusyProcess {
        pid,
        comm: comm.to_owned(),
        command: Some("zqprogram --password=zqsecret /srv/zqmount/zqdb".into()),
        cgroup: Some("/system.slice/zqdb.service".into()),
        is_kernel,
        is_of_ended_children: false,
        read_bytes: 200 * 4096,
        write_bytes: 0,
    }
}

fn scan(second: u64) -> Arc<IoScan> {
    let mut devices = Vec::new();
    for (major, minor, name) in DEVICES {
        devices.push(ScannedDevice {
            number: (major, minor),
            name: name.to_owned(),
            io: io(second),
        });
    }
    Arc::new(IoScan {
        at: Duration::from_secs(second),
        devices,
        hierarchy: Some(CgroupHierarchy::V2),
        cgroups: vec![
            cgroup("/system.slice", second),
            cgroup("/system.slice/zqdb.service", second),
        ],
        processes: Some(Arc::new(ProcessIo {
            elapsed: Duration::from_secs(1),
            busiest: vec![
                process(70, "zqcomm", false),
                process(71, "kworker/u8:2+zqqueue-9:127", true),
                process(72, "zqserver-manager", true),
            ],
            hidden: 0,
            is_partial: false,
        })),
        are_processes_late: true,
        hung_read: None,
        blocked: Some(vec![BlockedTask {
            pid: 70,
            tid: 73,
            comm: "zqthread".to_owned(),
            command: Some("zqprogram zqblocked".into()),
            is_kernel: false,
            waited_ms: 0,
            device: text("md_zqhome"),
            cgroup: Some("/system.slice/zqdb.service".into()),
            delay_permille: Some(10),
        }]),
        skipped: 0,
        problem: None,
    })
}

fn sample(second: u64) -> Sample {
    let mut devices = Vec::new();
    for (major, minor, name) in DEVICES {
        devices.push(Device {
            major,
            minor,
            name: name.to_owned(),
            counters: counters(second),
            logged: None,
        });
    }
    Sample {
        at: SampleTime {
            monotonic: Some(Duration::from_secs(1000 + second)),
            wall: Timestamp::from_second(START + second as i64).ok(),
            uptime: Some(100_000 + 100 * second),
        },
        devices,
        ..Sample::default()
    }
}

/// A recording of an array that is slow for a while, with a name wherever the recorder writes one: all names that a
/// person may have chosen contain `zq`.
fn recording() -> String {
    let mut out = Vec::new();
    let mut scans = ScanWriter::default();
    write_header(&header(), &mut out);
    write_health(&health(), &mut out);
    for second in 0..SECONDS {
        if second == TROUBLE.start {
            let stall = WriteStall {
                duration: Duration::from_secs(2),
                error: text("no space on /srv/zqmount"),
            };
            write_annotation(&stall, &mut out);
        }
        scans.write(&scan(second), &Default::default(), &mut out);
        let sample = sample(second);
        let mut diskstats = Vec::new();
        for device in &sample.devices {
            write_line(device, &mut diskstats);
        }
        RecordFilter::default().write_sample(&sample, &diskstats, &TimeZone::UTC, &mut out);
    }
    String::from_utf8(out).unwrap()
}

/// A folder with captures.
struct Lab(TempDir);

impl Lab {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) -> &Self {
        fs::write(self.path(name), text).unwrap();
        self
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    fn run(&self, words: &str) -> Outcome {
        blkstat(words).current_dir(self.0.path()).run()
    }

    /// Runs a command that succeeds, and returns what it prints.
    fn out(&self, words: &str) -> String {
        let Outcome { out, err, code } = self.run(words);
        assert_eq!(code, 0, "{words}: {err}");
        out
    }
}

/// The samples of a recording as a capture made with a shell loop.
fn capture(recording: &str) -> String {
    let mut lines = String::new();
    for line in recording.lines() {
        if !line.starts_with('#') {
            lines += line;
            lines.push('\n');
        }
    }
    lines
}

#[test]
fn an_excerpt_has_the_rows_of_its_source() {
    let lab = Lab::new();
    let text = recording();
    let (first, second) = text.split_at(text.find("TS 1795198991").unwrap());
    let header = &text[..text.find("#blkstat {\"io_scan").unwrap()];
    let zstd = ruzstd::encoding::compress_to_vec(
        text.as_bytes(),
        ruzstd::encoding::CompressionLevel::Fastest,
    );
    lab.write("plain", &text)
        .write("packed.gz", gzip_bytes(text.as_bytes()))
        .write("packed.zst", zstd)
        .write("capture", capture(&text))
        .write("rotated", format!("{header}{second}"))
        .write("rotated.1", first);
    let range = "--begin 18:22:31 --end 18:23:51";
    for (source, files) in [
        ("plain", "plain"),
        ("packed.gz", "packed.gz"),
        ("packed.zst", "packed.zst"),
        ("capture", "capture"),
        ("rotated --from rotated.1", "rotated rotated.1"),
    ] {
        for to in ["excerpt", "excerpt.gz"] {
            assert_eq!(
                lab.run(&format!("record --force --from {source} {range} {to}")),
                Outcome {
                    out: String::new(),
                    err: String::new(),
                    code: 0
                }
            );
            for view in ["--all", "analyze"] {
                let expected = lab.out(&format!("{view} {range} {files}"));
                assert_eq!(
                    lab.out(&format!("{view} {to}")),
                    expected,
                    "{view} {source}"
                );
            }
            let rows = lab.out(&format!("--json --all {to}"));
            let expected = lab.out(&format!("--json --all {range} {files}"));
            assert_eq!(
                without_evidence(&rows),
                without_evidence(&expected),
                "{source}"
            );
        }
    }
}

/// Rows without their evidence, which may tell of what was before the excerpt.
fn without_evidence(rows: &str) -> Vec<Value> {
    let mut rows = json_lines(rows);
    for row in &mut rows {
        row.as_object_mut().unwrap().remove("evidence");
    }
    rows
}

#[test]
fn an_excerpt_may_come_from_a_pipe_and_go_to_one() {
    let lab = Lab::new();
    let text = recording();
    lab.write("plain", &text)
        .out("record --from plain --begin +20s --end -30s excerpt");
    let run = blkstat("record --from - --begin +20s --end -30s -")
        .input(&text)
        .run();
    assert_eq!((run.out, run.code), (lab.read("excerpt"), 0), "{}", run.err);
}

#[test]
fn nothing_is_overwritten_by_an_excerpt() {
    let lab = Lab::new();
    lab.write("plain", recording()).write("other", "mine\n");
    fs::hard_link(lab.path("plain"), lab.path("link")).unwrap();
    for (words, code, message) in [
        (
            "--begin +20s other",
            2,
            "other already exists; use --append to append to it or --force",
        ),
        (
            "--begin +20s --force link",
            2,
            "link is the capture itself; write to another file",
        ),
        (
            "--begin 12:00 --force other",
            2,
            "--begin 12:00 is outside the capture",
        ),
        (
            "--begin +20.6s --end +20.8s --force other",
            1,
            "no interval lies in this range",
        ),
        (
            "--begin +500s new",
            2,
            "--begin +500s is outside the capture",
        ),
        (
            "--begin +20.6s --end +20.8s new",
            1,
            "no interval lies in this range",
        ),
    ] {
        let run = lab.run(&format!("record --from plain {words}"));
        assert!(
            run.code == code && run.err.contains(message),
            "{words}: {run:?}"
        );
    }
    assert_eq!(
        (lab.read("plain"), lab.read("other")),
        (recording(), "mine\n".to_owned())
    );
    assert!(!lab.path("new").exists());
    for words in ["--begin +5s new", "--anonymous new"] {
        let run = lab.run(&format!("record {words}"));
        assert!(
            run.code == 2 && run.err.contains("--from"),
            "{words}: {run:?}"
        );
    }
}

/// A recording as a later version may write it, which has more of everything.
fn later_recording() -> String {
    recording()
        .replace("{\"version\"", "{\"zqfield\":\"zqvalue\",\"version\"")
        .replace("{\"name\":", "{\"zqfield\":[\"zqvalue\"],\"name\":")
        .replace("{\"io_scan\":{", "{\"io_scan\":{\"zqfield\":\"zqvalue\",")
        .replace("{\"pid\"", "{\"zqfield\":\"zqvalue\",\"pid\"")
        .replace("\"errors\":3", "\"errors\":3,\"zqfact\":\"zqvalue\"")
        .replace("\"complete\"", "\"zqfield\":\"zqvalue\",\"complete\"")
        .replace(" 18:23:00\n", " 18:23:00 zqzone\n# zqcomment\nzqline\n#blkstat {\"zqkind\":\"zqvalue\"}\n#blkstat {zqbroken\ncpu0 1 2\n")
}

/// What does not contain names: numbers, verdicts, kinds and causes, in the order of their fields.
fn without_names(rows: &str) -> Vec<Vec<(String, Value)>> {
    let mut all = Vec::new();
    for row in json_lines(rows) {
        let mut fields = Vec::new();
        for (name, value) in row.as_object().unwrap() {
            let is_word = [
                "verdict",
                "incident",
                "incident_cause",
                "limit_kind",
                "time",
            ];
            if !value.is_string() && name != "evidence" || is_word.contains(&name.as_str()) {
                fields.push((name.clone(), value.clone()));
            }
        }
        all.push(fields);
    }
    all
}

#[test]
fn no_name_is_left_in_an_anonymous_recording() {
    let lab = Lab::new();
    lab.write("named", later_recording())
        .write("capture", capture(&recording()));
    let run = lab.run("record --from named --anonymous shared");
    assert_eq!(
        (run.err.as_str(), run.code),
        (
            "blkstat: named: 5 lines left out, because they may hold names\n",
            0
        )
    );
    lab.out("record --from capture --anonymous shared-capture");
    for name in ["shared", "shared-capture"] {
        let shared = lab.read(name).to_lowercase();
        let at = shared.find("zq");
        assert_eq!(
            at.map(|at| &shared[at.saturating_sub(80)..][..100]),
            None,
            "{name}"
        );
    }
    // What is no name stays, and what belongs together still does.
    let shared = lab.read("shared");
    let replacement = |text: &str| {
        let begin = shared
            .find(text)
            .unwrap_or_else(|| panic!("no {text} in {shared:.3000}"))
            + text.len();
        let end = shared[begin..]
            .find(|c: char| !c.is_ascii_alphanumeric())
            .unwrap();
        &shared[begin..begin + end]
    };
    let service = replacement("\"cgroup\":\"/system.slice/");
    let folder = replacement("\"mountpoints\":[\"/\",\"/");
    for kept in [
        "\"kernel\":\"6.12.1\"",
        "\"model\":\"ST4000NM0035\"",
        "\"product_name\":\"PowerEdge R740\"",
        &format!("\"path\":\"/system.slice/{service}.service\""),
        &format!("/{service}\",\"[SWAP]\"]"),
        &format!("\"backing_file\":\"/{folder}/name"),
        "\"name\":\"sda\"",
        "[SWAP]",
        "kworker/u8:2+name",
        "-9:127\"",
        "2026-11-20 18:22:11\n",
    ] {
        assert!(shared.contains(kept), "{kept}: {shared:.3000}");
    }
}

#[test]
fn an_anonymous_recording_has_the_verdicts_of_its_source() {
    let lab = Lab::new();
    lab.write("named", recording());
    lab.out("record --from named --anonymous shared");
    let rows = |file: &str| without_names(&lab.out(&format!("--json --all {file}")));
    let named = rows("named");
    assert_eq!(rows("shared"), named);
    let capped = named
        .iter()
        .flatten()
        .filter(|(name, value)| name == "verdict" && value == "capped")
        .count();
    assert!(capped > 20, "{capped}");
    // Twice is as good as once.
    lab.out("record --from shared --anonymous again");
    assert_eq!(rows("again"), named);
}
