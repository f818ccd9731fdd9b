//! A host with a database at its limit, a backup in a container, and a cgroup with a hostile name.

use std::fmt::Write;

use blkstat::exit::Exit;
use serde_json::Value;

use crate::support::fake_root::FakeRoot;
use crate::support::text::json_lines;
use crate::synthetic::run_on;

const DOCKER: &str =
    "docker-3f2a9c1b7d5e4f60a1b2c3d4e5f60718293a4b5c6d7e8f901a2b3c4d5e6f7081.scope";
const HOSTILE: &str = "evil\u{1b}[2J, \"quoted\"";

/// Writes the files of a cgroup of version 2 that has read this number of requests of 4 KiB from sda.
fn cgroup(host: &FakeRoot, path: &str, reads: u64) {
    let text = format!(
        "7:7 \n8:0 rbytes={} wbytes=0 rios={reads} wios=0 dbytes=0 dios=0",
        reads * 4096
    );
    host.file(&format!("sys/fs/cgroup{path}/io.stat"), text);
}

/// Writes a process that has read this number of requests of 4 KiB.
fn process(host: &FakeRoot, pid: u32, comm: &str, state: char, cgroup: &str, reads: u64) {
    let dir = format!("proc/{pid}");
    let stat = format!(
        "{pid} ({comm}) {state} {}1 0 100 {}0 0\n",
        "0 ".repeat(16),
        "0 ".repeat(19)
    );
    host.file(
        &format!("{dir}/io"),
        format!("read_bytes: {}\nwrite_bytes: 0", reads * 4096),
    )
    .file(&format!("{dir}/stat"), &stat)
    .file(&format!("{dir}/task/{pid}/stat"), &stat)
    .file(&format!("{dir}/cgroup"), format!("0::{cgroup}"));
}

/// Writes the state of the host at `second`: sda does 150 reads per second, 100 of db.service, whose limit they are, 40 of a
/// container and 5 of a cgroup with a hostile name; the rest is unattributed.
pub(super) fn write_host(host: &FakeRoot, second: u64) {
    if second == 0 {
        host.file(
            "proc/1/mountinfo",
            "25 22 0:23 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n30 1 8:1 / / rw - ext4 /dev/sda1 rw",
        )
        .disk("sda", "8:0", 1024)
        .part("sda", "sda1", "8:1", 512)
        .file("sys/fs/cgroup/system.slice/db.service/io.max", "8:0 rbps=max wbps=max riops=100 wiops=max");
    }
    let reads = 150 * second;
    let mut lines = String::new();
    for (number, name) in [("8 0", "sda"), ("8 1", "sda1")] {
        let rest = "0 0 0 0 0 0 0";
        writeln!(
            lines,
            "{number} {name} {reads} 0 {} {reads} {rest}",
            reads * 8
        )
        .unwrap();
    }
    host.diskstats(&lines)
        .uptime(format!("{}.00", 1000 + second))
        .cpu("1 0 0 1 0 0 0 0", 2);
    cgroup(host, "", 150 * second);
    cgroup(host, "/system.slice", 140 * second);
    cgroup(host, "/system.slice/db.service", 100 * second);
    cgroup(host, &format!("/system.slice/{DOCKER}"), 40 * second);
    cgroup(host, &format!("/{HOSTILE}"), 5 * second);
    process(
        host,
        2114,
        "mysqld",
        'D',
        "/system.slice/db.service",
        100 * second,
    );
    process(
        host,
        3301,
        "restic",
        'S',
        &format!("/system.slice/{DOCKER}"),
        40 * second,
    );
    host.file(
        "proc/3301/cmdline",
        "/usr/bin/restic\0backup\0/srv/my data\0",
    );
    process(host, 3302, "x\u{1b}[2J", 'D', &format!("/{HOSTILE}"), 0);
    // It waits all the time to read a file.
    host.file("proc/3302/schedstat", "5 0 1")
        .file("proc/3302/syscall", "0 0x3 0x7ffe6c780ac7 0x1000")
        .file("proc/3302/fdinfo/3", "pos:\t0\nmnt_id:\t30\n")
        .file("proc/3302/mountinfo", "30 1 8:1 / / rw - ext4 /dev/sda1 rw");
}

/// Runs a command of blkstat for `seconds` intervals of one second on this host, after `change`.
pub(super) fn run_on_host(
    command: &str,
    change: impl Fn(&FakeRoot),
    options: &str,
    seconds: u64,
) -> (String, String, Exit) {
    let write = |host: &FakeRoot, second| {
        write_host(host, second);
        change(host);
    };
    run_on(write, &format!("{command} {options}"), seconds)
}

/// Runs `blkstat who` for `seconds` intervals of one second on this host, after `change`.
pub(super) fn output_of(
    change: impl Fn(&FakeRoot),
    options: &str,
    seconds: u64,
) -> (String, String, Exit) {
    run_on_host("who", change, options, seconds)
}

/// Runs `blkstat who` to its end. It must print no warning.
pub(super) fn output(options: &str, seconds: u64) -> String {
    let (out, err, exit) = output_of(|_| {}, &format!("{options} 1 {seconds}"), seconds);
    assert_eq!((err.as_str(), exit), ("", Exit::Success));
    out
}

pub(super) fn json(options: &str, seconds: u64) -> Vec<Value> {
    json_lines(&output(&format!("--json {options}"), seconds))
}
