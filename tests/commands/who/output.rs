//! Tables, JSON and CSV.

use std::collections::BTreeSet;

use blkstat::exit::Exit;
use serde_json::Value;

use super::host::{json, output, write_host};
use crate::support::fake_root::FakeRoot;
use crate::support::snapshot::assert_snapshot;
use crate::support::text::json_lines;
use crate::synthetic::run_on;

#[test]
fn tables_match_their_snapshots_and_fit_their_width() {
    for width in [70, 80, 120] {
        let out = output(&format!("--width {width}"), 3);
        assert_snapshot(&format!("who/host.{width}.txt"), &out);
        let longest = out.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(longest <= width, "{longest}: {out}");
        assert!(!out.contains('\u{1b}'), "{out:?}");
    }
}

#[test]
fn machine_formats_match_their_snapshots() {
    assert_snapshot("who/host.json.txt", &output("--json", 3));
    assert_snapshot("who/host.csv.txt", &output("--csv", 2));
}

/// Returns the lines of a kind in the last of some intervals.
fn last_interval(options: &str, seconds: u64, kind: &str) -> Vec<Value> {
    let mut lines = json(options, seconds);
    let last = lines.last().unwrap()["time"].clone();
    lines.retain(|line| line["time"] == last && line["kind"] == kind);
    lines
}

#[test]
fn cgroups_have_their_own_bytes_and_the_rest_is_unattributed() {
    let lines = last_interval("", 2, "cgroup");
    let found: Vec<(&str, f64)> = lines
        .iter()
        .map(|line| {
            (
                line["name"].as_str().unwrap(),
                line["share_pct"].as_f64().unwrap().round(),
            )
        })
        .collect();
    let expected = [
        ("db.service", 67.0),
        ("docker 3f2a9c1b7d5e", 27.0),
        ("/evil\u{1b}[2J, \"quoted\"", 3.0),
        ("unattributed", 3.0),
    ];
    assert_eq!(found, expected);
    assert_eq!(lines[0]["cgroup"], "/system.slice/db.service");
    assert_eq!(
        (&lines[0]["reads_per_s"], &lines[0]["read_kib_per_s"]),
        (&100.0.into(), &400.0.into())
    );
    assert!(
        lines[3]["reads_per_s"].is_null() && lines[3]["read_kib_per_s"] == 20.0,
        "{}",
        lines[3]
    );
}

#[test]
fn blocked_tasks_are_always_listed() {
    for options in ["", "--top 1", "--sort w/s"] {
        let lines = last_interval(options, 2, "process");
        let blocked: Vec<&str> = lines
            .iter()
            .filter(|line| line["is_blocked"] == true)
            .map(|line| line["comm"].as_str().unwrap())
            .collect();
        assert_eq!(blocked, ["x\u{1b}[2J", "mysqld"], "{options}");
    }
}

#[test]
fn top_limits_cgroups_and_processes_but_not_those_at_a_limit() {
    let names = |options: &str, kind: &str| -> Vec<String> {
        last_interval(options, 3, kind)
            .iter()
            .map(|line| line["name"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(names("--top 1", "cgroup"), ["db.service", "unattributed"]);
    assert_eq!(names("--top 1 --sort w/s", "cgroup")[..1], ["db.service"]);
    let processes = last_interval("--top 1", 3, "process");
    assert_eq!(processes[1]["comm"], "mysqld");
    assert!(processes.iter().all(|line| line["comm"] != "restic"));
}

#[test]
fn an_idle_cgroup_is_shown_only_to_programs_unless_it_is_at_its_limit() {
    let change = |host: &FakeRoot| {
        let idle = "sys/fs/cgroup/system.slice/idle.service";
        host.file(
            &format!("{idle}/io.stat"),
            "8:0 rbytes=4096 wbytes=0 rios=1 wios=0 dbytes=0 dios=0",
        )
        .file(
            &format!("{idle}/io.max"),
            "8:0 rbps=max wbps=max riops=7 wiops=max",
        );
    };
    let shown = |options: &str| super::host::output_of(change, options, 3).0;
    let text = shown("1 3");
    assert!(
        !text.contains("idle.service") && text.contains("at limit 100 reads/s"),
        "{text}"
    );
    let lines = json_lines(&shown("--json 1 3"));
    let idle = lines
        .iter()
        .find(|line| line["name"] == "idle.service")
        .unwrap();
    assert_eq!(
        (&idle["reads_per_s"], &idle["read_iops_limit"]),
        (&0.0.into(), &7.0.into())
    );
}

#[test]
fn a_partition_shows_its_whole_disk_and_says_so() {
    let out = output("sda1", 2);
    assert!(out.contains("sda (whole disk of sda1)"), "{out}");
    let lines = last_interval("/dev/sda1", 2, "cgroup");
    assert!(lines.iter().all(|line| line["device"] == "sda"));
}

#[test]
fn a_path_to_an_nvme_disk_is_listed_only_if_it_is_named() {
    let write = |host: &FakeRoot, second: u64| {
        write_host(host, second);
        if second == 0 {
            host.disk("nvme0c0n1", "0:0", 1024)
                .disk("nvme0n1", "259:1", 1024);
        }
        let ios = 50 * second;
        let lines = [("0 0", "nvme0c0n1"), ("259 1", "nvme0n1")].map(|(number, name)| {
            format!("{number} {name} {ios} 0 {} {ios} 0 0 0 0 0 0 0\n", ios * 8)
        });
        host.diskstats(&lines.concat());
    };
    let devices = |options: &str| {
        let (out, err, exit) = run_on(write, &format!("who --json {options} 1 2"), 2);
        assert_eq!((err.as_str(), exit), ("", Exit::Success));
        let lines = json_lines(&out).into_iter();
        let devices = lines
            .filter(|line| line["kind"] == "cgroup")
            .map(|line| line["device"].to_string());
        devices
            .collect::<BTreeSet<String>>()
            .into_iter()
            .collect::<Vec<String>>()
            .join(" ")
    };
    assert_eq!(devices(""), "\"nvme0n1\"");
    assert_eq!(devices("nvme0c0n1"), "\"nvme0c0n1\"");
    assert_eq!(devices("nvme0n1 nvme0c0n1"), "\"nvme0c0n1\" \"nvme0n1\"");
}

#[test]
fn names_are_whole_where_there_is_no_terminal() {
    let name = format!("{}.service", "long-name-".repeat(14));
    let shown = |options: &str| {
        let change = |host: &crate::support::fake_root::FakeRoot| {
            host.file("proc/2114/cgroup", format!("0::/system.slice/{name}"));
        };
        super::host::output_of(change, options, 2).0
    };
    let text = shown("1 2");
    assert!(text.contains(&name), "{text}");
    assert!(
        text.lines()
            .filter(|line| line.contains('('))
            .all(|line| line.chars().count() <= 100),
        "{text}"
    );
    let text = shown("--width 80 1 2");
    assert!(
        !text.contains(&name) && text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
}
