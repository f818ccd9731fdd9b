//! What explains a bad second is read in it: a backup begins beside a database, in a cgroup of its own.

use std::fmt::Write;

use blkstat::exit::Exit;
use serde_json::Value;

use crate::support::fake_root::FakeRoot;
use crate::support::program;
use crate::support::text::json_lines;
use crate::synthetic::run_on;

/// The second in which the backup begins.
const BEGIN_S: u64 = 12;
/// The reads of the backup in a second, and of the database.
const BACKUP: u64 = 8000;
const DB: u64 = 100;

fn cgroup(host: &FakeRoot, path: &str, reads: u64) {
    let text = format!("8:0 rbytes={} wbytes=0 rios={reads} wios=0", reads * 4096);
    host.file(&format!("sys/fs/cgroup{path}/io.stat"), text);
}

fn process(host: &FakeRoot, pid: u32, comm: &str, cgroup: &str, start_s: u64, reads: u64) {
    let stat = format!(
        "{pid} ({comm}) D {}1 0 {} {}0 0\n",
        "0 ".repeat(16),
        (1000 + start_s) * 100,
        "0 ".repeat(19)
    );
    let io = format!("read_bytes: {}\nwrite_bytes: 0", reads * 4096);
    host.file(&format!("proc/{pid}/io"), io)
        .file(&format!("proc/{pid}/stat"), &stat)
        .file(&format!("proc/{pid}/cgroup"), format!("0::{cgroup}"));
}

/// Writes the state of the host at `second`. It has other cgroups that do nothing.
fn write_host(host: &FakeRoot, second: u64) {
    if second == 0 {
        host.file(
            "proc/1/mountinfo",
            "25 22 0:23 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw",
        )
        .disk("sda", "8:0", 1024);
        (0..20).for_each(|at| cgroup(host, &format!("/idle{at}.service"), 1));
    }
    let backed_up_s = second.saturating_sub(BEGIN_S);
    let (db, backup) = (DB * second, BACKUP * backed_up_s);
    let (all, ms) = (db + backup, db / 10 + 9_000 * backed_up_s);
    let mut lines = String::new();
    writeln!(lines, "8 0 sda {all} 0 {} {ms} 0 0 0 0 0 0 {ms}", all * 8).unwrap();
    host.diskstats(&lines)
        .uptime(format!("{}.00", 1000 + second))
        .cpu("1 0 0 1 0 0 0 0", 0)
        .pressure(20_000 * second + 900_000 * backed_up_s, 0);
    cgroup(host, "", all);
    cgroup(host, "/db.service", db);
    process(host, 2114, "postgres", "/db.service", 0, db);
    let mut count = 21;
    if second > BEGIN_S {
        count += 1;
        cgroup(host, "/backup.service", backup);
        process(host, 3301, "restic", "/backup.service", BEGIN_S, backup);
    }
    let text = format!("nr_descendants {count}\nnr_dying_descendants 0");
    host.file("sys/fs/cgroup/cgroup.stat", text);
    let limit = if second > BEGIN_S { "50" } else { "max" };
    let text = format!("8:0 rbps=max wbps=max riops={limit} wiops=max");
    host.file("sys/fs/cgroup/db.service/io.max", text);
}

#[test]
fn the_first_bad_second_has_the_cgroup_the_process_and_the_limit() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("recording").display().to_string();
    let (_, err, exit) = run_on(write_host, &format!("record {file} 1 20"), 20);
    assert_eq!((err.as_str(), exit), ("", Exit::Success));
    let (out, _, _) = program::output(&format!("who --json --from {file}"), "");
    let lines = json_lines(&out);
    // The clock begins at 0, and a line has the end of its interval.
    let of_second = |second: u64, name: &str, value: &str| -> Vec<&Value> {
        let is_it = |line: &&Value| line["time_s"] == second as f64 && line[name] == value;
        lines.iter().filter(is_it).collect()
    };
    let first = BEGIN_S + 1;
    for second in first..20 {
        let backup = of_second(second, "cgroup", "/backup.service");
        assert_eq!(backup[0]["reads_per_s"], BACKUP as f64, "{second}");
        let restic = of_second(second, "comm", "restic");
        // The reading before the first one was in a calm second.
        let elapsed_s = restic[0]["elapsed_s"].as_f64().unwrap();
        assert!(elapsed_s == 1.0 || second == first, "{restic:?}");
        let read_kib = restic[0]["read_kib_per_s"].as_f64().unwrap() * elapsed_s;
        assert_eq!(read_kib, (BACKUP * 4) as f64);
        assert_eq!(restic[0]["is_blocked"], true);
        let db = of_second(second, "cgroup", "/db.service");
        assert_eq!(db[0]["read_iops_limit"], 50.0, "{db:?}");
    }
}
