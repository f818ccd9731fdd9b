//! Identities of devices, and baselines that are saved for them.

#![allow(clippy::unwrap_used, clippy::panic, clippy::disallowed_methods)]

use std::ffi::OsString;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use blkstat::clock::{ManualClock, WaitOutcome};
use blkstat::exit::Exit;
use blkstat::intervals::BaselineOption;
use blkstat::plan::Plan;
use blkstat::report::devices::json;
use blkstat::run::{RunContext, run};
use blkstat::source::{read_topology, reread_topology};
use blkstat::topology::Topology;
use jiff::Timestamp;
use serde_json::Value;

/// Writes files below a directory.
fn write(root: &Path, files: &[(&str, &str)]) {
    for (path, text) in files {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

/// Replaces a file by a pipe that nothing is ever written to: reading it hangs.
fn make_hang(path: &Path) {
    let _ = fs::remove_file(path);
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[test]
fn every_kind_of_device_has_its_identity() {
    let root = tempfile::tempdir().unwrap();
    write(
        root.path(),
        &[
            ("sys/block/nvme0n1/wwid", "eui.0025385b71b00001\n"),
            ("sys/block/nvme0n1/device/serial", "S4EWNX0N\n"),
            ("sys/block/nvme0n1/nvme0n1p2/partition", "2\n"),
            ("sys/block/sda/device/wwid", "t10.ATA     Samsung SSD 860\n"),
            ("sys/block/sdb/device/wwid", "naa.0000000000000000\n"),
            ("sys/block/sdb/device/vpd_pg80", "\0\u{0}\0\0"),
            ("sys/block/mmcblk0/device/serial", "0x1b2c3d4e\n"),
            ("sys/block/vda/serial", "disk \u{1b}[2J1"),
            ("sys/block/vdb/serial", "                    "),
            ("sys/block/vdc/serial", "never read"),
            ("sys/block/dm-0/dm/uuid", "LVM-abc\n"),
            ("sys/block/dm-1/dm/uuid", "\n"),
            ("sys/block/md0/md/uuid", "8a5e2c1f:00000000\n"),
            ("sys/block/sdc/device/wwid", "naa.600140\n"),
            ("sys/block/sdd/device/wwid", "naa.600140\n"),
            ("sys/block/loop0/size", "8\n"),
        ],
    );
    fs::write(root.path().join("sys/block/sdb/device/vpd_pg80"), b"\0\x80\0\x06 QM001").unwrap();
    make_hang(&root.path().join("sys/block/vdc/serial"));
    fs::create_dir_all(root.path().join("dev/disk/by-id")).unwrap();
    std::os::unix::fs::symlink("../../vdc", root.path().join("dev/disk/by-id/virtio-V3")).unwrap();
    let topology = read_topology(root.path());
    let identity = |name: &str| topology.node(name).unwrap().identity.as_deref();
    for (name, expected) in [
        ("nvme0n1", Some("wwid:eui.0025385b71b00001")),
        ("nvme0n1p2", Some("wwid:eui.0025385b71b00001-part2")),
        ("sda", Some("wwid:t10.ATA_Samsung_SSD_860")),
        ("sdb", Some("serial:QM001")),
        ("mmcblk0", Some("serial:0x1b2c3d4e")),
        ("vda", Some("serial:disk_\\u{1b}[2J1")),
        ("vdb", None),
        ("vdc", Some("serial:V3")),
        ("dm-0", Some("dm:LVM-abc")),
        ("dm-1", None),
        ("md0", Some("md:8a5e2c1f:00000000")),
        ("sdd", Some("wwid:naa.600140")),
        ("loop0", None),
    ] {
        assert_eq!(identity(name), expected, "{name}");
    }
    assert_eq!((topology.identity("sda"), topology.identity("sdd")), (identity("sda"), None));
    let mut out = Vec::new();
    json(&topology, &mut out);
    let document: serde_json::Value = serde_json::from_slice(&out).unwrap();
    let md0 = document["devices"].as_array().unwrap().iter().find(|device| device["name"] == "md0").unwrap();
    assert_eq!(md0["identity"], "md:8a5e2c1f:00000000");
}

#[test]
fn a_disk_that_does_not_answer_is_asked_for_its_serial_number_once() {
    let root = tempfile::tempdir().unwrap();
    let file = |disk: &str, name: &str| format!("sys/block/{disk}/{name}");
    let (vda, vdb) = (|name: &str| file("vda", name), |name: &str| file("vdb", name));
    write(
        root.path(),
        &[
            (&vda("serial"), "A"),
            (&vda("diskseq"), "7\n"),
            (&vdb("serial"), "B"),
            (&vdb("queue/nr_requests"), "64\n"),
            (&vdb("inflight"), "      20       13\n"),
        ],
    );
    let read = |previous: &Topology| reread_topology(root.path(), previous);
    let first = read(&Topology::default());
    // The queue of vdb is more than half full.
    assert_eq!(["vda", "vdb"].map(|name| first.identity(name)), [Some("serial:A"), None]);
    make_hang(&root.path().join(vda("serial")));
    write(root.path(), &[(&vdb("inflight"), "0 0\n")]);
    // Both are known, so neither is asked.
    let start = Instant::now();
    assert_eq!(
        ["vda", "vdb"].map(|name| read(&first).identity(name).map(str::to_owned)),
        [Some("serial:A".to_owned()), None]
    );
    // Another disk took the name, and hangs.
    write(root.path(), &[(&vda("diskseq"), "8\n")]);
    assert_eq!(read(&first).identity("vda"), None);
    assert!(start.elapsed().as_secs() < 30);
}

/// The load of a device in an interval of one second: 4 KiB reads per second, and their latency in milliseconds.
type Load = (f64, f64);

/// Loads on an unloaded and on a busy device.
const LIGHT: Load = (1000.0, 0.1);
const HEAVY: Load = (8000.0, 0.8);

/// An invented host with one disk at a time.
struct Host {
    dir: tempfile::TempDir,
}

impl Host {
    /// Creates a host whose disk has a name and a WWID.
    fn new(name: &str, wwid: &str) -> Self {
        let host = Self { dir: tempfile::tempdir().unwrap() };
        host.set_wwid(name, wwid);
        host
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn set_wwid(&self, name: &str, wwid: &str) {
        write(self.dir.path(), &[(&format!("sys/block/{name}/device/wwid"), &format!("{wwid}\n"))]);
    }

    /// Writes the counters of the disk after these intervals.
    fn load(&self, name: &str, loads: &[Load]) {
        let ios = loads.iter().map(|(rate, _)| rate).sum::<f64>() as u64;
        let ms = loads.iter().map(|(rate, await_ms)| rate * await_ms).sum::<f64>().round() as u64;
        let in_flight = loads.last().map_or(0.0, |(rate, await_ms)| (rate * await_ms / 1000.0).round());
        let (sectors, busy) = (8 * ios, 1000 * loads.len());
        let line = format!("8 0 {name} {ios} 0 {sectors} {ms} 0 0 0 0 {in_flight} {busy} {ms} 0 0 0 0 0 0\n");
        write(self.dir.path(), &[("proc/diskstats", &line)]);
    }

    /// Runs blkstat on the host; `on_wait` changes it before each sample after the first. `saved` are the files that
    /// are read by default.
    fn run(&self, words: &str, saved: &[PathBuf], on_wait: impl Fn(usize)) -> (String, String, Exit) {
        let words = format!("blkstat {words} --root {}", self.dir.path().display());
        let plan = blkstat::cli::plan(words.split_whitespace().map(OsString::from), &|_| None);
        let mut plan = plan.unwrap_or_else(|error| panic!("{}", error.message));
        let baseline = match &mut plan {
            Plan::View(view) => &mut view.verdicts.baseline,
            Plan::Analyze(analyze) => &mut analyze.verdicts.baseline,
            Plan::Record(record) => &mut record.baseline,
            other => panic!("{other:?}"),
        };
        if let BaselineOption::Saved(files) = baseline {
            assert!(files.is_empty(), "another root has no files that are read by default");
            *files = saved.to_vec();
        }
        let clock = ManualClock::new(Timestamp::UNIX_EPOCH, |wait| {
            on_wait(wait as usize);
            WaitOutcome::Due
        });
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let exit =
            run(&plan, &mut RunContext { clock: &clock, out: &mut out, err: &mut err, is_terminal: false });
        (String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap(), exit)
    }

    /// Runs blkstat while the disk has a load in each interval.
    fn run_under(&self, loads: &[Load], words: &str, saved: &[PathBuf]) -> (String, String, Exit) {
        self.load("sda", &[]);
        self.run(words, saved, |wait| self.load("sda", &loads[..wait.min(loads.len())]))
    }
}

/// Returns the read saturation in each line of JSON, to one decimal.
fn saturations(out: &str) -> Vec<Option<f64>> {
    let lines = out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.map(|line| line["read_saturation"].as_f64().map(|x| (x * 10.0).round() / 10.0)).collect()
}

/// Writes a file of baselines: entries of key, name beside it, and milliseconds.
fn save(path: &Path, entries: &[(&str, Option<&str>, f64)]) {
    let mut text = String::from("{\"devices\":{");
    for (index, (key, name, ms)) in entries.iter().enumerate() {
        let comma = if index > 0 { "," } else { "" };
        let name = name.map(|name| format!("\"name\":\"{name}\",")).unwrap_or_default();
        let latency = format!(r#"{{"size_kib":4.0,"await_ms":{ms},"queue":0.1,"upper_bound":false}}"#);
        write!(text, r#"{comma}"{key}":{{{name}"read":[{latency}],"write":[]}}"#).unwrap();
    }
    fs::write(path, text + "}}").unwrap();
}

#[test]
fn a_baseline_is_saved_by_identity_and_found_under_another_name() {
    let host = Host::new("sda", "naa.1");
    let file = host.path("saved.json");
    let words = format!("analyze sda 1 10 --save-baseline {}", file.display());
    let (_, err, exit) = host.run_under(&[LIGHT; 10], &words, std::slice::from_ref(&file));
    assert_eq!((err.as_str(), exit), ("", Exit::Success));
    let saved: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    let entry = &saved["devices"]["wwid:naa.1"];
    assert_eq!((entry["name"].as_str(), saved["devices"].as_object().unwrap().len()), (Some("sda"), 1));
    assert!((entry["read"][0]["await_ms"].as_f64().unwrap() - 0.1).abs() < 0.001, "{entry}");

    // Saved again, it is learned again rather than copied.
    let slower = (1000.0, 0.2);
    host.run_under(&[slower; 10], &words, std::slice::from_ref(&file));
    let saved: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    let await_ms = saved["devices"]["wwid:naa.1"]["read"][0]["await_ms"].as_f64().unwrap();
    assert!((await_ms - 0.2).abs() < 0.001, "{saved}");

    let other = Host::new("sdz", "naa.1");
    other.load("sdz", &[]);
    let given = format!("--json 1 5 --baseline {}", file.display());
    let (out, err, _) = other.run(&given, &[], |wait| other.load("sdz", &[HEAVY; 5][..wait]));
    assert_eq!((saturations(&out), err.as_str()), (vec![Some(4.0); 5], ""));
}

#[test]
fn a_file_that_is_read_by_default_matches_identities_only() {
    let host = Host::new("sda", "naa.1");
    let (mine, by_name, none) = (host.path("mine.json"), host.path("name.json"), host.path("none.json"));
    save(&mine, &[("wwid:naa.1", Some("sdx"), 0.1)]);
    save(&by_name, &[("sda", None, 0.1), ("wwid:naa.2", Some("sda"), 0.1)]);
    let loads = [HEAVY; 3];
    for (saved, options, expected) in [
        (vec![mine.clone()], "", Some(8.0)),
        (vec![none.clone(), mine.clone(), by_name.clone()], "", Some(8.0)),
        (vec![by_name.clone(), mine.clone()], "", None),
        (vec![none], "", None),
        (vec![mine.clone()], "--no-baseline", None),
        (vec![mine.clone()], "--baseline-ms 0.4", Some(2.0)),
        (vec![mine], &format!("--baseline {}", by_name.display()), Some(8.0)),
    ] {
        let (out, err, exit) = host.run_under(&loads, &format!("--json 1 3 {options}"), &saved);
        assert_eq!(
            (saturations(&out), err.as_str(), exit),
            (vec![expected; 3], "", Exit::Success),
            "{options}"
        );
    }
}

#[test]
fn a_given_baseline_of_another_device_under_the_same_name_is_not_used() {
    let host = Host::new("sda", "naa.1");
    let file = host.path("saved.json");
    save(&file, &[("wwid:naa.2", Some("sda"), 0.1)]);
    let expected = format!(
        "blkstat: {}: the baseline of sda is of another device (wwid:naa.2; this one is wwid:naa.1); not used\n",
        file.display()
    );
    let recording = host.path("r.txt");
    for words in ["--json 1 3", "analyze --json 1 3", &format!("record {} 1 3", recording.display())] {
        let words = format!("{words} --baseline {}", file.display());
        let (out, err, _) = host.run_under(&[HEAVY; 3], &words, &[]);
        assert!(err.starts_with(&expected) && err.matches("not used").count() == 1, "{words}: {err}");
        if words.starts_with("--json") {
            assert_eq!(saturations(&out), vec![None; 3]);
        }
    }
    // Without an identity, the name is all there is.
    fs::remove_file(host.path("sys/block/sda/device/wwid")).unwrap();
    let (out, err, _) =
        host.run_under(&[HEAVY; 3], &format!("--json 1 3 --baseline {}", file.display()), &[]);
    assert_eq!((saturations(&out), err.as_str()), (vec![Some(8.0); 3], ""));
}

#[test]
fn a_default_file_that_is_broken_or_hangs_is_ignored_with_one_warning() {
    let host = Host::new("sda", "naa.1");
    let (broken, hanging, directory, huge) =
        (host.path("broken"), host.path("hanging"), host.path("directory"), host.path("huge"));
    fs::write(&broken, "{\"devices\": [").unwrap();
    make_hang(&hanging);
    fs::create_dir(&directory).unwrap();
    fs::File::create(&huge).unwrap().set_len(1 << 30).unwrap();
    for (file, expected) in [
        (&broken, "not a saved baseline: "),
        (&hanging, "not read within 200 ms"),
        (&directory, "Is a directory; saved baselines ignored"),
        (&huge, "longer than 8388608 bytes; saved baselines ignored"),
    ] {
        let start = Instant::now();
        let (out, err, exit) = host.run_under(&[HEAVY; 2], "--json 1 2", std::slice::from_ref(file));
        assert_eq!((saturations(&out), exit), (vec![None; 2], Exit::Success));
        assert!(err.contains(expected) && err.lines().count() == 1, "{err}");
        assert!(err.contains(&file.display().to_string()), "{err}");
        assert!(start.elapsed().as_secs() < 30);
    }
}

#[test]
fn the_program_reads_the_file_of_the_user_and_ends_although_it_hangs() {
    if Path::new("/var/lib/blkstat/baseline.json").exists() || !Path::new("/proc/diskstats").exists() {
        eprintln!("skipped: this host has a baseline of its own, or no devices");
        return;
    }
    let state = tempfile::tempdir().unwrap();
    let file = state.path().join("blkstat/baseline.json");
    fs::create_dir(file.parent().unwrap()).unwrap();
    make_hang(&file);
    let run = |options: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_blkstat"));
        command.args(["--json", "0.1", "1"]).args(options).env("XDG_STATE_HOME", state.path());
        let output = command.stdin(Stdio::null()).output().unwrap();
        String::from_utf8(output.stderr).unwrap()
    };
    let err = run(&[]);
    assert!(err.contains(&format!("{} not read within 200 ms", file.display())), "{err}");
    for options in
        [&["--no-baseline"][..], &["--baseline-ms", "1"], &["--from", "fixtures/captures/mixed.txt"]]
    {
        assert!(!run(options).contains("baseline"), "{options:?}");
    }
}

#[test]
fn a_recording_holds_the_baseline_that_was_used() {
    let host = Host::new("sda", "naa.1");
    let (file, recording) = (host.path("saved.json"), host.path("r.txt"));
    save(&file, &[("wwid:naa.1", Some("sda"), 0.1), ("wwid:naa.9", Some("sdb"), 0.1)]);
    let given = format!("--baseline {}", file.display());
    for (options, saved, source, expected) in [
        ("", vec![file.clone()], Some("saved"), Some(8.0)),
        (given.as_str(), vec![], Some("given"), Some(8.0)),
        ("--baseline-ms 0.4", vec![file.clone()], Some("given"), Some(2.0)),
        ("--no-baseline", vec![file], None, None),
    ] {
        let words = format!("record {} 1 3 --force {options}", recording.display());
        let (_, err, exit) = host.run_under(&[HEAVY; 3], &words, &saved);
        assert_eq!(exit, Exit::Success, "{err}");
        let text = fs::read_to_string(&recording).unwrap();
        let stored = text.lines().find_map(|line| line.strip_prefix("#blkstat {\"baselines\":"));
        assert_eq!(stored.is_some(), source.is_some(), "{text}");
        if let Some(source) = source {
            let stored = stored.unwrap();
            assert!(
                stored.contains(&format!("\"source\":\"{source}\"")) && !stored.contains("sdb"),
                "{stored}"
            );
        }
        let replay = |more: &str| {
            // The saved baselines of the host that replays are not read.
            let elsewhere = Host::new("sda", "naa.1");
            let (out, err, _) =
                elsewhere.run(&format!("--json --from {} {more}", recording.display()), &[], |_| {});
            assert_eq!(err, "");
            saturations(&out)
        };
        assert_eq!(replay(""), vec![expected; 3], "{options}");
        assert_eq!(replay("--no-baseline"), vec![None; 3]);
        assert_eq!(replay("--baseline-ms 0.2"), vec![Some(4.0); 3]);
        let (out, _, _) = host.run(&format!("analyze --json --from {}", recording.display()), &[], |_| {});
        let report: Value = serde_json::from_str(&out).unwrap();
        let ms = report["devices"][0]["read"]["baseline_await_ms"].as_f64();
        let given_ms = expected.map(|saturation| 0.8 / saturation);
        assert_eq!(ms.map(|ms| (ms * 10.0).round()), given_ms.or(Some(0.8)).map(|ms| (ms * 10.0).round()));
    }
}

#[test]
fn each_part_of_joined_recordings_has_its_own_baseline() {
    let parts = [("naa.1", "0.1"), ("naa.2", "0.4")].map(|(wwid, ms)| {
        let host = Host::new("sda", wwid);
        let recording = host.path("r.txt");
        let words = format!("record {} 1 3 --baseline-ms {ms}", recording.display());
        host.run_under(&[HEAVY; 3], &words, &[]);
        fs::read_to_string(recording).unwrap()
    });
    let joined = Host::new("sda", "naa.3");
    let recording = joined.path("joined.txt");
    fs::write(&recording, parts.concat()).unwrap();
    let replay = |interval: &str| {
        let words = format!("--json --from {} {interval}", recording.display());
        saturations(&joined.run(&words, &[], |_| {}).0)
    };
    let [first, second] = [Some(8.0), Some(2.0)];
    assert_eq!(replay(""), [first, first, first, second, second, second]);
    // The header of the second part has been read when the interval at the end of the first one is shown.
    assert_eq!(replay("2"), [first, first, second, second]);
}

#[test]
fn hostile_baselines_in_a_recording_are_left_out() {
    let host = Host::new("sda", "naa.1");
    let recording = host.path("r.txt");
    host.run_under(&[HEAVY; 2], &format!("record {} 1 2", recording.display()), &[]);
    let text = fs::read_to_string(&recording).unwrap();
    let (header, rest) = text.split_once('\n').unwrap();
    let latency =
        |ms: &str| format!(r#"{{"size_kib":null,"await_ms":{ms},"queue":null,"upper_bound":false}}"#);
    for (baseline, expected) in [
        (format!(r#"{{"device":"sda","read":[{}]}}"#, latency("0.1")), Some(8.0)),
        (format!(r#"{{"device":"sda","source":"x","read":[{}]}}"#, latency("-1.0")), None),
        (format!(r#"{{"device":"sda","source":7,"read":[{}]}}"#, latency("0.1")), None),
        (format!(r#"{{"device":"sdb","source":"given","read":[{}]}}"#, latency("0.1")), None),
    ] {
        let hostile = format!("{header}\n#blkstat {{\"baselines\":[{baseline}]}}\n{rest}");
        fs::write(&recording, hostile).unwrap();
        let (out, _, _) = host.run(&format!("--json --from {}", recording.display()), &[], |_| {});
        assert_eq!(saturations(&out), vec![expected; 2], "{baseline}");
    }
}

#[test]
fn a_stated_cap_works_in_the_live_view() {
    // A constant rate at one queue: without being told, nothing says that this is a limit.
    let loads: Vec<Load> = (0..30).map(|n| (3000.0, if n < 15 { 4.0 } else { 5.0 })).collect();
    let host = Host::new("sda", "naa.1");
    let verdicts = |options: &str| {
        let (out, _, _) = host.run_under(&loads, &format!("--json 1 30 {options}"), &[]);
        let lines = out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.map(|line| line["verdict"].as_str().unwrap_or("-").to_owned()).collect::<Vec<_>>()
    };
    assert!(!verdicts("").contains(&"capped".to_owned()));
    assert!(verdicts("--cap 3000").contains(&"capped".to_owned()));
    assert!(!verdicts("--cap 5000").contains(&"capped".to_owned()));
}

#[test]
fn a_reset_drops_what_was_learned_but_a_saved_baseline_stays() {
    let host = Host::new("sda", "naa.1");
    let file = host.path("saved.json");
    save(&file, &[("wwid:naa.1", Some("sda"), 0.2)]);
    // The counters start at zero after ten intervals.
    let on_wait = |wait: usize| match wait {
        0..=10 => host.load("sda", &[LIGHT; 10][..wait]),
        _ => host.load("sda", &vec![HEAVY; wait - 10]),
    };
    host.load("sda", &[]);
    let (out, _, _) = host.run("--json 1 16", &[], on_wait);
    let without = saturations(&out);
    assert!(
        without[1..10].iter().all(Option::is_some) && without[10..].iter().all(Option::is_none),
        "{without:?}"
    );
    host.load("sda", &[]);
    let (out, _, _) = host.run("--json 1 16", std::slice::from_ref(&file), on_wait);
    assert_eq!(saturations(&out)[11..], [Some(4.0); 5]);
}

#[test]
fn another_device_under_the_name_has_its_own_baseline() {
    let host = Host::new("sda", "naa.1");
    let file = host.path("saved.json");
    save(&file, &[("wwid:naa.1", Some("sda"), 0.1), ("wwid:naa.2", Some("sdb"), 0.4)]);
    // Its counters are higher, so there is no reset; it is noticed when the devices are read again.
    let run = |words: &str, saved: &[PathBuf]| {
        host.set_wwid("sda", "naa.1");
        host.load("sda", &[]);
        let (out, err, _) = host.run(words, saved, |wait| {
            if wait == 20 {
                host.set_wwid("sda", "naa.2");
            }
            host.load("sda", &[[LIGHT; 20], [HEAVY; 20]].concat()[..wait.min(40)]);
        });
        assert!(!err.contains("warning"), "{err}");
        out
    };
    let learned = saturations(&run("--json 1 40", &[]));
    assert_eq!((learned[25], learned[35]), (Some(8.0), None), "{learned:?}");
    let saved = saturations(&run("--json 1 40", std::slice::from_ref(&file)));
    assert_eq!((saved[25], saved[35]), (Some(8.0), Some(2.0)), "{saved:?}");

    // A recorder that sees the counters start at zero writes the new identity and its baseline.
    let recording = host.path("r.txt");
    host.set_wwid("sda", "naa.1");
    host.load("sda", &[]);
    host.run(
        &format!("record {} 1 10", recording.display()),
        std::slice::from_ref(&file),
        |wait| match wait {
            0..=5 => host.load("sda", &[HEAVY; 5][..wait]),
            _ => {
                host.set_wwid("sda", "naa.2");
                host.load("sda", &vec![HEAVY; wait - 5]);
            }
        },
    );
    let (out, _, _) = host.run(&format!("--json --from {}", recording.display()), &[], |_| {});
    let replayed = saturations(&out);
    assert_eq!((replayed[3], replayed[5], replayed[8]), (Some(8.0), None, Some(2.0)), "{replayed:?}");
}

#[test]
fn analyze_learns_again_after_a_reset_or_with_another_device() {
    let host = Host::new("sda", "naa.1");
    let baseline_ms = |on_wait: &dyn Fn(usize)| {
        host.set_wwid("sda", "naa.1");
        host.load("sda", &[]);
        let (out, _, _) = host.run("analyze --json sda 1 40", &[], on_wait);
        let report: Value = serde_json::from_str(&out).unwrap();
        let ms = report["devices"][0]["read"]["baseline_await_ms"].as_f64().unwrap();
        (ms * 10.0).round() / 10.0
    };
    let slower = (1000.0, 0.4);
    let with_reset = baseline_ms(&|wait| match wait {
        0..=10 => host.load("sda", &[LIGHT; 10][..wait]),
        _ => host.load("sda", &vec![slower; wait - 10]),
    });
    let with_swap = baseline_ms(&|wait| {
        if wait == 25 {
            host.set_wwid("sda", "naa.2");
        }
        host.load("sda", &[vec![LIGHT; 25], vec![slower; 15]].concat()[..wait.min(40)]);
    });
    assert_eq!((with_reset, with_swap), (0.4, 0.4));
}
