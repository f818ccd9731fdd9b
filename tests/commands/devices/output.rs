//! The tree as text and JSON, and the command.

use std::path::Path;
use std::time::Instant;

use blkstat::clock::{RealClock, WaitOutcome};
use blkstat::exit::Exit;
use blkstat::source::read_topology;
use blkstat::topology::{Node, Topology};
use jiff::Timestamp;

use super::draw;
use super::hosts::{empty, laptop, malformed, server};
use crate::support::clock::ManualClock;
use crate::support::fake_root::FakeRoot;
use crate::support::in_process::in_process;
use crate::support::snapshot::assert_snapshot;

/// Runs `blkstat devices`. Returns standard output, standard error and the exit code.
pub(super) fn run_devices(options: &str, root: &Path) -> (String, String, Exit) {
    in_process(&format!("devices {options}"))
        .root(root)
        .run(&RealClock::new(None))
}

#[test]
fn trees_match_the_expected_output() {
    for (name, host) in [
        ("laptop", laptop()),
        ("server", server()),
        ("malformed", malformed()),
    ] {
        let topology = read_topology(host.path());
        for width in [80, 100, 200] {
            let got = draw(&topology, false, width);
            assert_snapshot(&format!("devices/{name}.{width}.txt"), &got);
            assert!(
                got.lines().all(|line| line.chars().count() <= width),
                "wider than {width}:\n{got}"
            );
        }
    }
}

#[test]
fn unused_devices_are_shown_with_all() {
    let host = laptop();
    let topology = read_topology(host.path());
    let has = |text: &str, name: &str| {
        text.split_whitespace()
            .any(|word| word.trim_start_matches("└─") == name)
    };
    let (few, all) = (draw(&topology, false, 100), draw(&topology, true, 100));
    for name in ["loop2", "ram0"] {
        assert!(!has(&few, name) && has(&all, name), "{name}:\n{all}");
    }
    assert!(has(&few, "zram0") && has(&few, "loop1"));
}

#[test]
fn a_host_without_devices_gives_a_message() {
    let host = empty();
    let root = host.path();
    let block = root.join("sys/block");
    let hint = "use --root DIR to read DIR/proc and DIR/sys instead";
    let none = format!("blkstat: no block devices in {}; {hint}\n", block.display());
    assert_eq!(
        run_devices("", root),
        (String::new(), none.clone(), Exit::NoData)
    );
    assert_eq!(
        run_devices("--json", root),
        (String::new(), none, Exit::NoData)
    );

    host.virtual_device("loop0", "7:0", 0);
    let (out, err, exit) = run_devices("", root);
    assert!(
        out.is_empty() && err.ends_with("is in use; --all lists unused ones\n"),
        "{err}"
    );
    assert_eq!(exit, Exit::NoData);

    std::fs::remove_dir_all(root.join("sys")).unwrap();
    let missing = format!(
        "blkstat: cannot read {}: No such file or directory; {hint}\n",
        block.display()
    );
    assert_eq!(
        run_devices("", root),
        (String::new(), missing, Exit::NoData)
    );
}

#[test]
fn json_has_every_device_in_full() {
    let host = server();
    let (out, _, _) = run_devices("--json", host.path());
    let value: serde_json::Value = serde_json::from_str(&out).unwrap();
    let devices = value["devices"].as_array().unwrap();
    let of = |name: &str| {
        devices
            .iter()
            .find(|device| device["name"] == name)
            .unwrap()
    };
    assert_eq!(of("dm-0")["kind"], "multipath");
    assert_eq!(of("sdc")["holders"], serde_json::json!(["dm-0"]));
    assert_eq!(of("dm-1")["depth"], 2);
    assert_eq!(of("nvme0c0n1")["scheduler"], serde_json::Value::Null);
    assert_eq!(of("nbd0")["size_bytes"], 0);
}

#[test]
fn a_device_is_shown_by_any_name_with_what_is_below_and_above_it() {
    let laptop = laptop();
    let names = |words: &str| {
        let (out, err, exit) = run_devices(&format!("--csv {words}"), laptop.path());
        assert_eq!((err.as_str(), exit), ("", Exit::Success), "{words}");
        let lines = out.lines().skip(1);
        let names = lines.map(|line| line.split(',').next().unwrap().to_owned());
        names.collect::<Vec<_>>().join(" ")
    };
    let home = "dm-0 dm-10 loop1 nvme0n1 nvme0n1p3";
    for word in [
        "dm-10",
        "vg0-my--data",
        "/dev/dm-10",
        "/home",
        "/home/me/file",
    ] {
        assert_eq!(names(word), home, "{word}");
    }
    assert_eq!(names("ram0"), "ram0");
    assert_eq!(names("ram0 nvme0n1p2"), "nvme0n1 nvme0n1p2 ram0");
    let (out, _, _) = run_devices("vg0-root", laptop.path());
    assert_snapshot("devices/laptop.vg0-root.txt", &out);
    let (out, err, exit) = run_devices("dm-11", laptop.path());
    assert_eq!((out.as_str(), exit), ("", Exit::NoData));
    assert_eq!(
        err,
        "blkstat: no such device 'dm-11'; did you mean 'dm-1'?\n"
    );
}

#[test]
fn every_width_shows_every_device() {
    for host in [laptop(), server(), malformed()] {
        let topology = read_topology(host.path());
        for width in (0..60).chain([1_000, 100_000]) {
            assert!(draw(&topology, true, width).lines().count() >= topology.nodes().len());
        }
    }
}

#[test]
fn drawing_time_is_not_quadratic() {
    let node = |name: String, on: Vec<String>| Node {
        name,
        backing_devices: on,
        size_bytes: Some(1 << 30),
        ..Node::default()
    };
    let mut nodes: Vec<Node> = (0..2500)
        .map(|i| node(format!("disk-{i}"), Vec::new()))
        .collect();
    nodes.extend((0..2500).map(|i| {
        node(
            format!("dm-{i}"),
            vec![format!("disk-{i}"), "disk-0".into()],
        )
    }));
    #[allow(clippy::disallowed_methods)]
    let start = Instant::now();
    let text = draw(&Topology::new(nodes), false, 100);
    assert!(text.lines().count() > 7000);
    // A debug build on a busy host; quadratic time would be minutes.
    assert!(start.elapsed().as_secs() < 10, "{:?}", start.elapsed());
}

#[test]
fn a_recording_holds_the_devices_of_its_host() {
    let host = laptop();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("laptop.txt");
    host.diskstats("8 0 sda 1 2 3 4 5 6 7 8 9 10 11");
    let clock = ManualClock::new(Timestamp::UNIX_EPOCH, |_| WaitOutcome::Due);
    let recorder = in_process(&format!("record {} 1 1", file.display())).root(host.path());
    assert_eq!(
        recorder.run(&clock),
        (String::new(), String::new(), Exit::Success)
    );
    let here = run_devices("", host.path());
    assert_eq!(
        run_devices(&format!("--from {}", file.display()), Path::new("/nowhere")),
        here
    );
}

#[test]
fn a_directory_that_is_mounted_again_is_no_mount_point_of_a_disk_unless_it_is_a_subvolume() {
    let host = FakeRoot::new();
    host.disk("sda", "8:0", 1)
        .disk("sdb", "8:16", 1)
        .disk("sdc", "8:32", 1)
        .file(
            "proc/1/mountinfo",
            "1 1 8:0 / / rw - ext4 /dev/sda rw\n\
         2 1 8:0 /var/lib/blkstat /var/lib/blkstat rw - ext4 /dev/sda rw\n\
         3 1 8:16 /a/b /srv rw - ext4 /dev/sdb rw\n\
         4 1 8:32 /@ /mnt rw - btrfs /dev/sdc rw\n\
         5 1 8:32 /@home /home rw - btrfs /dev/sdc rw",
        );
    let (out, _, _) = in_process("devices --json")
        .root(host.path())
        .run(&RealClock::new(None));
    let devices: serde_json::Value = serde_json::from_str(&out).unwrap();
    let points = devices["devices"]
        .as_array()
        .unwrap()
        .iter()
        .map(|device| device["mountpoints"].to_string());
    assert_eq!(
        points.collect::<Vec<_>>(),
        [r#"["/"]"#, r#"["/srv"]"#, r#"["/mnt","/home"]"#],
        "{out}"
    );
}
