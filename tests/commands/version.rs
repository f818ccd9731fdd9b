//! `blkstat version` and `-V`.

use crate::support::fake_root::FakeRoot;
use crate::support::program::{blkstat, output};

/// Returns the facts that are printed about the host below a root, without those of the build and of this process.
fn facts(host: &FakeRoot) -> Vec<String> {
    let run = blkstat("version --verbose --root")
        .args([host.path()])
        .run();
    assert_eq!((run.err.as_str(), run.code), ("", 0));
    let about_process = [
        "blkstat ",
        "target: ",
        "features: ",
        "user: ",
        "lockable memory: ",
    ];
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
        .file("proc/1/io", "read_bytes: 0")
        .file("sys/fs/cgroup/cgroup.controllers", "cpu io memory pids")
        .folder("sys/block/sda");
    let missing = "not readable: No such file or directory";
    let expected = [
        "kernel: 6.12.9-test",
        "CPUs: not known",
        "/proc/diskstats: 2 lines, 14 or 20 columns",
        "/sys/block: 1 listed",
        "/proc/pressure/io: readable",
        &format!("/proc/pressure/memory: {missing}"),
        "/proc/PID/io: readable for all processes (1)",
        "kernel.task_delayacct: off: the time that a task waits for devices is not known",
        &format!("trace events of block devices: {missing}"),
        "cgroups: version 2 at /sys/fs/cgroup",
        "cgroup controllers: cpu io memory pids",
        &format!("io.stat: {missing}"),
    ];
    assert_eq!(facts(&host), expected);
}

#[test]
fn version_1_of_cgroups_and_a_hostile_name_are_shown_safely() {
    let host = FakeRoot::new();
    host.file(
        "proc/self/mountinfo",
        "31 30 0:31 / /sys/fs/cgroup/blk\u{1b}[31mio rw - cgroup cgroup rw,blkio",
    )
    .file(
        "proc/cgroups",
        "#subsys_name\thierarchy\tnum_cgroups\tenabled\nblkio\t7\t3\t1\nmisc\t0\t1\t1",
    );
    let facts = facts(&host);
    assert!(
        facts.contains(&"cgroups: version 1 at /sys/fs/cgroup/blk\\u{1b}[31mio".to_owned()),
        "{facts:?}"
    );
    assert!(
        facts.contains(&"cgroup controllers: blkio".to_owned()),
        "{facts:?}"
    );
    assert!(
        facts
            .iter()
            .any(|fact| fact.starts_with("blkio.throttle.io_service_bytes: not readable")),
        "{facts:?}"
    );
}
