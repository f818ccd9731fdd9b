//! Processes that cannot be read, and what comes and goes.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use super::host::write_host;
use crate::support::fake_root::FakeRoot;
use crate::support::program::copy_blkstat;

/// A user without privileges.
const NOBODY: u32 = 65534;

/// Runs `blkstat who` on a host, in real time and as a user without privileges. Returns both streams.
fn run_unprivileged(root: &Path, options: &str) -> (String, String) {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("blkstat");
    // Others may not enter the directory with the program under test.
    copy_blkstat(&program);
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    let mut command = Command::new(&program);
    command
        .arg("who")
        .args(options.split(' '))
        .arg("--root")
        .arg(root)
        .env_clear()
        .stdin(Stdio::null());
    if rustix::process::geteuid().is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (text(output.stdout), text(output.stderr))
}

#[test]
fn without_permission_cgroups_and_blocked_tasks_are_shown_and_one_line_says_what_is_missing() {
    let host = FakeRoot::new();
    write_host(&host, 0);
    write_host(&host, 1);
    fs::set_permissions(host.path(), Permissions::from_mode(0o755)).unwrap();
    for pid in [2114, 3301, 3302] {
        let io = host.path().join(format!("proc/{pid}/io"));
        fs::set_permissions(io, Permissions::from_mode(0o000)).unwrap();
    }
    let (out, err) = run_unprivileged(host.path(), "0.3 4");
    let expected = "blkstat: the I/O of 3 processes cannot be read: permission denied (needs root, \
         or CAP_DAC_READ_SEARCH and CAP_SYS_PTRACE)\n";
    assert_eq!(err, expected);
    let last = out.rsplit("device, cgroup").next().unwrap();
    assert!(
        last.contains("db.service") && last.contains("mysqld") && !last.contains("restic"),
        "{out}"
    );

    fs::remove_dir_all(host.path().join("sys/fs/cgroup")).unwrap();
    let (_, err) = run_unprivileged(host.path(), "0.3 1");
    let (root, lacks) = (err.find("needs root"), err.find("no cgroups:"));
    assert!(root.is_some() && root < lacks, "{err}");
}

#[test]
fn the_first_interval_has_cgroups_and_blocked_tasks() {
    let host = FakeRoot::new();
    write_host(&host, 0);
    fs::set_permissions(host.path(), Permissions::from_mode(0o755)).unwrap();
    let (out, _) = run_unprivileged(host.path(), "0.3 1");
    assert!(out.contains("mysqld") && !out.contains("not read"), "{out}");
}

#[test]
fn on_this_host_other_users_processes_are_hidden_or_known() {
    let (_, err) = run_unprivileged(Path::new("/"), "0.3 3");
    let is_about_permission =
        |line: &str| line.contains("permission denied (needs root") || line.contains("cgroups");
    assert!(err.lines().all(is_about_permission), "{err}");
}

#[test]
fn a_process_whose_io_does_not_answer_hides_no_cgroups_and_no_blocked_tasks() {
    let host = FakeRoot::new();
    write_host(&host, 0);
    write_host(&host, 1);
    let _rest = host.unfinished_pipe("proc/3301/io");
    fs::set_permissions(host.path(), Permissions::from_mode(0o755)).unwrap();
    let (out, err) = run_unprivileged(host.path(), "0.25 11");
    assert_eq!(
        err,
        "blkstat: processes not read for 2 s: /proc/3301/io does not answer\n"
    );
    let intervals: Vec<&str> = out.split("device, cgroup").collect();
    // On a busy machine a scan may come too late.
    assert!(intervals.len() >= 10, "{out}");
    let last = intervals.last().unwrap();
    assert!(
        last.contains("db.service") && last.contains("mysqld") && last.contains("not read for 2 s"),
        "{out}"
    );
}

#[test]
fn processes_that_end_while_they_are_read_are_left_out() {
    let (out, err, _) = super::host::output_of(
        |host| {
            host.folder("proc/77").folder("proc/78/task");
            host.file("proc/79/io", "read_bytes: 5\nwrite_bytes: 0")
                .file("proc/80/stat", "80 (x");
        },
        "--json 1 2",
        2,
    );
    assert!(err.is_empty() && out.contains("mysqld"), "{err}{out}");
    assert!(
        (77..=80).all(|pid| !out.contains(&format!("\"pid\":{pid}"))),
        "{out}"
    );
}
