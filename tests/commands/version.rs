//! `blkstat version` and `-V`.

use crate::support::fake_root::FakeRoot;
use crate::support::program::{blkstat, output};

/// Returns the facts that are printed about the host below a root, without those of the build and of this process.
fn facts(host: &FakeRoot) -> Vec<String> {
    let run = blkstat("version --verbose --root")
        .args([host.path()])
        .run();
    assert_eq!((run.err.as_str(), run.code), ("", 0));
    let about_process = ["blkstat ", "target: ", "user: "];
    let lines = run
        .out
        .lines()
        .filter(|line| !about_process.iter().any(|start| line.starts_with(start)));
    lines.map(str::to_owned).collect()
}

#[test]
fn the_version_alone_is_one_line() {
    let line = format!("blkstat {}\n", env!("CARGO_PKG_VERSION"));
    for words in ["-V", "--version", "version"] {
        assert_eq!(
            output(words, ""),
            (line.clone(), String::new(), 0),
            "{words}"
        );
    }
}

#[test]
fn asked_twice_it_names_the_build_and_the_sources_of_this_host() {
    for words in [
        "-V -V",
        "-VV",
        "--version --version",
        "version --verbose",
        "version -v",
    ] {
        let (out, err, code) = output(words, "");
        assert_eq!((err.as_str(), code), ("", 0), "{words}");
        assert!(
            out.starts_with(&format!("blkstat {}\ntarget: ", env!("CARGO_PKG_VERSION"))),
            "{out}"
        );
        let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
        for line in [
            format!("kernel: {}", kernel.trim()),
            format!("target: {}-linux-", std::env::consts::ARCH),
        ] {
            assert!(out.contains(&line), "{line}: {out}");
        }
        assert!(out.lines().skip(1).all(|line| line.contains(": ")), "{out}");
        assert!(out.lines().count() < 24, "{out}");
        assert!(out.lines().all(|line| line.len() <= 80), "{out}");
    }
}

#[test]
fn every_source_of_a_host_has_a_line() {
    let host = FakeRoot::new();
    host.file("proc/sys/kernel/osrelease", "6.12.9-test")
        .file("proc/sys/kernel/task_delayacct", "0")
        .diskstats("   8       0 sda 1 2 3 4 5 6 7 8 0 10 11 0 0 0 0 12 13\n   8       1 sda1 1 2 3 4 5 6 7 8 0 10 11\n")
        .pressure(1, 1)
        .file("proc/1/mountinfo", "25 22 0:23 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw")
        .file("sys/fs/cgroup/cgroup.controllers", "cpu io memory pids");
    let missing = "not readable: No such file or directory";
    let expected = [
        "kernel: 6.12.9-test",
        "CPUs: not known",
        "/proc/diskstats: 2 lines, 14 or 20 columns",
        "/proc/pressure/io: readable",
        "kernel.task_delayacct: 0",
        &format!("trace events of block devices: {missing}"),
        &format!("cgroups: version 2 at /sys/fs/cgroup, counters {missing}"),
    ];
    assert_eq!(facts(&host), expected);
}

#[test]
fn version_1_of_cgroups_and_a_hostile_name_are_shown_safely() {
    let host = FakeRoot::new();
    host.file(
        "proc/self/mountinfo",
        "31 30 0:31 / /sys/fs/cgroup/blk\u{1b}[31mio rw - cgroup cgroup rw,blkio",
    );
    let missing = "not readable: No such file or directory";
    let expected =
        format!("cgroups: version 1 at /sys/fs/cgroup/blk\\u{{1b}}[31mio, counters {missing}");
    assert_eq!(facts(&host).last(), Some(&expected));
}
