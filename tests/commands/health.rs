//! What the kernel says of the health of devices, of hosts below a directory.

use std::time::{Duration, Instant};

use blkstat::clock::{RealClock, WaitOutcome};
use blkstat::exit::Exit;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::support::clock::ManualClock;
use crate::support::fake_root::{FakeRoot, busy_line};
use crate::support::in_process::in_process;
use crate::support::program::{blkstat, output};
use crate::support::text::json_lines;
use crate::synthetic::{end_of_sample, header, reads_line, ts_line};

/// Two disks in an array, which rebuilds onto the second one, with a suspended volume on it; and an NVMe disk with two
/// paths.
fn host() -> FakeRoot {
    let host = FakeRoot::new();
    host.disk("sda", "8:0", 1024)
        .disk("sdb", "8:16", 1024)
        .virtual_device("md0", "9:0", 1024);
    host.mapped("dm-0", "253:0", 512, "vg-data", "LVM-x")
        .on("md0", &["sda", "sdb"])
        .on("dm-0", &["md0"]);
    for (disk, errors, timeouts) in [("sda", "0x0", "0x0"), ("sdb", "0x1f", "0x2")] {
        let device = format!("sys/block/{disk}/device");
        host.file(&format!("{device}/state"), "running")
            .file(&format!("{device}/ioerr_cnt"), errors);
        host.file(&format!("{device}/iotmo_cnt"), timeouts)
            .file(&format!("{device}/iodone_cnt"), "0x400");
        host.file(&format!("{device}/queue_depth"), 32)
            .file(&format!("sys/block/{disk}/ro"), 0);
        host.file(&format!("sys/block/{disk}/queue/io_timeout"), 30_000);
    }
    for (file, text) in [
        ("array_state", "clean"),
        ("sync_action", "recover"),
        ("sync_completed", "903 / 2100"),
        ("sync_speed", "184320"),
        ("degraded", "1"),
        ("dev-sda/state", "in_sync"),
        ("dev-sda/errors", "0"),
        ("dev-sdb/state", "spare"),
        ("dev-sdb/errors", "3"),
    ] {
        host.file(&format!("sys/block/md0/md/{file}"), text);
    }
    host.file("sys/block/dm-0/dm/suspended", 1)
        .file("sys/fs/ext4/dm-0/errors_count", 4);
    host.file("sys/fs/ext4/features/lazy_itable_init", "supported");
    host.disk("nvme0n1", "259:0", 1024);
    for (path, state, ana) in [
        ("nvme0c0n1", "live", "optimized"),
        ("nvme0c1n1", "connecting", "inaccessible"),
    ] {
        host.device("pci0000:00/nvme", path, "0:0", 1024)
            .file(&format!("sys/block/{path}/hidden"), 1);
        host.file(&format!("sys/block/{path}/device/state"), state);
        host.file(&format!("sys/block/{path}/ana_state"), ana);
        host.file(
            &format!("sys/block/{path}/diag/multipath_failover_count"),
            7,
        );
    }
    let lines: String = [
        ("   8 0", "sda"),
        ("   8 16", "sdb"),
        (" 253 0", "dm-0"),
        ("   9 0", "md0"),
    ]
    .map(|(number, name)| busy_line(number, name, 1000, 0))
    .concat();
    host.diskstats(&lines).uptime(100).cpu("1 2 3 4", 0);
    host
}

fn run(command: &str, host: &FakeRoot) -> (String, String, Exit) {
    in_process(command)
        .root(host.path())
        .run(&RealClock::new(None))
}

#[test]
fn the_device_tree_says_what_is_wrong() {
    let (out, _, _) = run("devices", &host());
    let troubles: Vec<&str> = out.lines().filter(|line| line.contains(": ")).collect();
    let expected = [
        "dm-0: suspended; 4 file system errors",
        "md0: rebuilding, 43% done, 180 MiB/s; 1 missing member",
        "nvme0c0n1: 7 failovers",
        "nvme0c1n1: state is connecting; path is inaccessible; 7 failovers",
        "sdb: member is spare; 2 timeouts, 3 corrected read errors",
    ];
    assert_eq!(troubles, expected, "{out}");
}

#[test]
fn machine_readable_output_has_every_fact() {
    let (out, _, _) = run("devices --json", &host());
    let document: Value = serde_json::from_str(&out).unwrap();
    let health = |name: &str| {
        let devices = document["devices"].as_array().unwrap();
        devices
            .iter()
            .find(|device| device["name"] == name)
            .unwrap()["health"]
            .clone()
    };
    let expected = json!({
        "state": "running", "timeouts": 2, "errors": 31, "commands": 1024, "member_state": "spare",
        "member_errors": 3, "read_only": 0, "queue_depth": 32, "request_timeout_ms": 30_000,
    });
    assert_eq!(health("sdb"), expected);
    assert_eq!(
        health("dm-0"),
        json!({"suspended": 1, "file_system_errors": 4})
    );
    assert_eq!(health("nvme0n1"), json!({}));
}

#[test]
fn errors_of_btrfs_are_added_up_for_each_of_its_devices() {
    let host = host();
    for (id, text) in [
        (1, "write_errs 1\nread_errs 2\ncorruption_errs 0"),
        (2, "write_errs 4\n"),
    ] {
        host.file(&format!("sys/fs/btrfs/f1/devinfo/{id}/error_stats"), text);
    }
    host.folder("sys/fs/btrfs/f1/devices/sda")
        .folder("sys/fs/btrfs/f1/devices/sdb");
    let (out, _, _) = run("devices", &host);
    assert!(
        out.contains("sda: 7 file system errors") && out.contains("7 file system errors\n"),
        "{out}"
    );
}

#[test]
fn facts_are_recorded_when_they_change_and_replayed() {
    let host = host();
    let root = host.path().to_owned();
    let clock = ManualClock::new(Timestamp::UNIX_EPOCH, |wait| {
        let host = FakeRoot::at(&root);
        // Commands complete all the time. A change is seen at the next reading.
        host.file("sys/block/sdb/device/iodone_cnt", format!("0x{wait}00"));
        if wait == 12 {
            host.file("sys/block/sdb/device/iotmo_cnt", "0x5");
        }
        host.uptime(100 + wait);
        WaitOutcome::Due
    });
    let file = host.path().join("recording");
    let record = format!("record {} 1 45", file.display());
    let (_, err, exit) = in_process(&record).root(host.path()).run(&clock);
    assert_eq!(exit, Exit::Success, "{err}");
    let text = std::fs::read_to_string(&file).unwrap();
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("#blkstat {\"health\":"))
        .collect();
    assert_eq!(lines.len(), 2, "{lines:#?}");
    assert!(
        lines[0].contains("\"timeouts\":2") && lines[1].contains("\"timeouts\":5"),
        "{lines:#?}"
    );

    let (out, _, _) = in_process(&format!("devices {}", file.display())).run(&clock);
    assert!(
        out.contains("\nsdb: member is spare; 2 timeouts, 3 corrected read errors\n"),
        "{out}"
    );
    // A copy of a part that begins later has what was known then.
    let part = host.path().join("part");
    let cut = format!(
        "record --from {} --begin +40s {}",
        file.display(),
        part.display()
    );
    let (_, err, exit) = in_process(&cut).run(&clock);
    assert_eq!(exit, Exit::Success, "{err}");
    let (out, _, _) = in_process(&format!("devices {}", part.display())).run(&clock);
    assert!(out.contains(" 5 timeouts"), "{out}");
}

/// Prints intervals of a second, while `change` changes the host after each.
fn watch(options: &str, host: &FakeRoot, change: impl Fn(&FakeRoot, u64)) -> String {
    let root = host.path().to_owned();
    let clock = ManualClock::new(Timestamp::UNIX_EPOCH, |wait| {
        change(FakeRoot::at(&root).uptime(100 + wait), wait);
        WaitOutcome::Due
    });
    let (out, err, exit) = in_process(options).root(host.path()).run(&clock);
    assert_eq!(exit, Exit::Success, "{err}");
    out
}

/// The values of a field of a device, interval by interval.
fn field(out: &str, device: &str, field: &str) -> Vec<Value> {
    json_lines(out)
        .into_iter()
        .filter(|line| line["device"] == device)
        .map(|line| line[field].clone())
        .collect()
}

#[test]
fn a_suspended_volume_that_tasks_wait_for_is_stalled() {
    let host = host();
    host.file("sys/block/dm-0/dm/suspended", 0);
    let suspend = |host: &FakeRoot, wait: u64| {
        // Tasks wait from the third second, and the volume is suspended from then up to the 24th.
        host.cpu("1 2 3 4", u64::from((3..25).contains(&wait)));
        host.file(
            "sys/block/dm-0/dm/suspended",
            u8::from((3..25).contains(&wait)),
        );
    };
    let out = watch("--json --all 1 40", &host, suspend);
    let verdicts = field(&out, "dm-0", "verdict");
    let stalled: Vec<usize> = (0..verdicts.len())
        .filter(|at| verdicts[*at] == "stalled")
        .collect();
    // The facts are read every ten seconds.
    let (first, last) = (stalled[0], *stalled.last().unwrap());
    assert!(
        (2..=12).contains(&first) && (23..=34).contains(&last),
        "{verdicts:?}"
    );
    assert_eq!(stalled.len(), last - first + 1);
    assert_eq!(field(&out, "dm-0", "evidence")[first][0], "dm-0: suspended");
    assert_eq!(
        field(&out, "dm-0", "health")[first],
        json!(["dm-0: suspended; 4 file system errors"])
    );
    assert!(
        field(&out, "md0", "verdict")
            .iter()
            .all(|verdict| verdict == "idle"),
        "{out}"
    );

    host.file("sys/block/dm-0/dm/suspended", 0);
    let table = watch("1 30", &host, suspend);
    assert!(
        table.contains("STALLED: the device is suspended") && table.contains("dm-0 is suspended"),
        "{table}"
    );
}

/// A recording that begins while dm-0 is suspended; a task has waited for this long at its second sample.
fn recording_of_suspension(waited_ms: u64) -> String {
    let mut text = "#blkstat {\"version\":\"0.2.0\",\"host\":\"a\"}\n".to_owned();
    for second in 1..6u64 {
        let (ns, waited_ms) = (second * 1_000_000_000, (second - 1) * waited_ms);
        let scan = json!({"io_scan": {"at_ns": ns, "has_blocked": true,
            "blocked": [{"pid": 234, "tid": 234, "comm": "python3", "waited_ms": waited_ms}]}});
        let end = json!({"monotonic_ns": ns, "blocked": 0, "complete": true});
        if second == 1 {
            text += "#blkstat {\"health\":{\"dm-0\":{\"suspended\":1}}}\n";
        }
        text += &format!("#blkstat {scan}\nTS {second}.000000000 1970-01-01 00:00:0{second}\n");
        text += "253 0 dm-0 10 0 80 10 10 0 80 10 0 10 20 0 0 0 0\n";
        text += &format!("#blkstat {end}\n");
    }
    text
}

#[test]
fn a_view_that_begins_in_a_suspension_says_so_if_a_task_has_waited_for_long() {
    for (waited_ms, expected) in [(1000, "stalled"), (0, "idle")] {
        let recording = recording_of_suspension(waited_ms);
        let run = blkstat("--json --all --from -")
            .input(recording.as_bytes())
            .run();
        let verdicts = field(&run.out, "dm-0", "verdict");
        assert_eq!(verdicts, [expected; 4], "{}", run.out);
    }
}

#[test]
fn a_device_that_does_nothing_while_a_task_waits_for_it_is_stalled() {
    let verdicts = |waited_ms: u64, device: &str| {
        let recording = recording_of_suspension(waited_ms)
            .replace("{\"suspended\":1}", "{}")
            .replace(
                "\"comm\":\"python3\"",
                &format!("\"comm\":\"python3\",\"device\":\"{device}\""),
            );
        let run = blkstat("--json --all --from -")
            .input(recording.as_bytes())
            .run();
        field(&run.out, "dm-0", "verdict")
    };
    assert_eq!(verdicts(1000, "dm-0"), ["stalled"; 4]);
    // Waits for a lock are short, and a task that waits for another device says nothing of this one.
    assert_eq!(verdicts(100, "dm-0"), ["idle"; 4]);
    assert_eq!(verdicts(1000, "sda"), ["idle"; 4]);
}

#[test]
fn a_suspended_volume_that_nothing_waits_for_is_idle() {
    let out = watch("--json --all 1 15", &host(), |_, _| {});
    assert!(
        field(&out, "dm-0", "verdict")
            .iter()
            .all(|verdict| verdict == "idle"),
        "{out}"
    );
}

#[test]
fn errors_and_rebuilds_since_trouble_began_are_its_cause() {
    let host = host();
    let hang = |host: &FakeRoot, wait: u64| {
        let in_flight = if wait < 5 { 0 } else { 3 };
        let lines = [
            ("8 0", "sda", 0),
            ("8 16", "sdb", in_flight),
            ("253 0", "dm-0", 0),
            ("9 0", "md0", 0),
        ]
        .map(|(number, name, in_flight)| busy_line(number, name, 1000, in_flight));
        host.diskstats(&lines.concat());
        if wait >= 8 {
            host.file("sys/block/sdb/device/iotmo_cnt", "0x5");
        }
    };
    let out = watch("--json --all 1 30", &host, hang);
    let evidence = field(&out, "sdb", "evidence");
    let sentences = |at: usize| evidence[at].as_array().unwrap().clone();
    assert_eq!(
        sentences(6)[..2],
        [
            json!("sdb: member is spare"),
            json!("md0: rebuilding, 43% done, 180 MiB/s; 1 missing member")
        ]
    );
    let last = sentences(29);
    assert!(
        last[0]
            .as_str()
            .unwrap()
            .starts_with("sdb: member is spare; 3 timeouts in the last 2"),
        "{last:?}"
    );
    assert_eq!(field(&out, "sdb", "timeout_count")[29], 5);
    assert_eq!(field(&out, "sdb", "verdict")[29], "stalled");
    assert!(field(&out, "sda", "evidence")[29].as_array().unwrap().len() <= 1);
}

#[test]
fn a_read_that_hangs_delays_no_sample() {
    let host = host();
    let rest = host.unfinished_pipe("sys/block/md0/md/sync_action");
    let start = Instant::now();
    let (out, _, exit) = run("--json --all 0.1 3", &host);
    assert_eq!((exit, out.lines().count()), (Exit::Success, 12), "{out}");
    drop(rest);
    // Nothing is written to it any more.
    let (out, _, exit) = run("devices", &host);
    assert!(exit == Exit::Success && out.contains("\nsdb"), "{out}");
    assert!(
        start.elapsed() < Duration::from_secs(3),
        "{:?}",
        start.elapsed()
    );
}

/// A recording of a volume that reads until this second, is suspended five seconds later, and reads again from second 40 on.
/// No request is in flight and no task waits: programs may wait for the kernel's answer without that.
fn suspended_recording(reads_until: u64) -> String {
    let devices =
        json!([{"name": "sda", "kind": "disk"}, {"name": "dm-0", "backing_devices": ["sda"]}]);
    let mut text = header(&devices);
    let mut reads = 1000;
    for second in 0..60 {
        if second <= reads_until || second > 40 {
            reads += 100 + second * 37 % 41;
        }
        let facts =
            |suspended: u64| json!({"health": {"sda": {}, "dm-0": {"suspended": suspended}}});
        match second {
            0 | 40 => text += &format!("#blkstat {}\n", facts(0)),
            25 => text += &format!("#blkstat {}\n", facts(1)),
            _ => {}
        }
        text += &ts_line(second);
        text += &["8 0 sda", "253 0 dm-0"]
            .map(|name| reads_line(name, reads, reads / 2, 0, reads / 2))
            .concat();
        text += &end_of_sample(second);
    }
    text
}

#[test]
fn a_volume_that_is_suspended_while_it_is_busy_is_stalled_even_if_nobody_is_seen_to_wait() {
    let stalled = |recording: &str| -> Vec<Value> {
        let (out, ..) = output("--json --from - dm-0", recording);
        json_lines(&out)
            .into_iter()
            .filter(|line| line["verdict"] == "stalled")
            .collect()
    };
    let found = stalled(&suspended_recording(20));
    assert_eq!(found.len(), 15, "{found:#?}");
    for line in &found {
        let begin = (
            &line["incident_begin"],
            &line["incident_begin_known"],
            &line["incident_cause"],
        );
        assert_eq!(
            begin,
            (
                &json!("2026-11-20T18:00:20.000000Z"),
                &json!(true),
                &json!("suspended")
            ),
            "{line}"
        );
    }
    let (text, ..) = output("analyze -", suspended_recording(20));
    assert!(
        text.starts_with("dm-0 stalled 18:00:20-18:00:39 (19 s"),
        "{text}"
    );
    // One that was idle before may just not be used.
    assert_eq!(stalled(&suspended_recording(10)).len(), 0);
}
