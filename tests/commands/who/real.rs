//! A real limit of version 1 on a loop device, against the rates that fio measured.
//!
//! Needs root, fio, losetup and the blkio controller of version 1, and is skipped without them. Others may use the machine
//! meanwhile: what is compared is the cgroup's own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::support::program::{BLKSTAT, Program};

/// The hierarchy of version 1.
const BLKIO: &str = "/sys/fs/cgroup/blkio";
/// The largest relative difference of a rate from that of fio.
const RATE_TOLERANCE: f64 = 0.01;
/// The attempts on a machine that is busy.
const ATTEMPTS: usize = 4;
/// The seconds for which fio runs.
const SECONDS: u64 = 12;

/// A loop device and a cgroup, both removed when this is dropped.
struct Lab {
    folder: tempfile::TempDir,
    device: String,
    number: String,
    cgroup: PathBuf,
}

impl Lab {
    /// Creates both; `None` where this machine does not permit it.
    fn new(name: &str) -> Option<Self> {
        let has_fio = Command::new("fio").arg("--version").stdout(Stdio::null()).status().is_ok();
        let cgroup = Path::new(BLKIO).join(format!("blkstat-{name}-{}.service", std::process::id()));
        if !has_fio || fs::create_dir(&cgroup).is_err() {
            return None;
        }
        // Not in memory: a loop device on it has no direct I/O.
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let file = folder.path().join("volume");
        fs::write(&file, vec![1u8; 64 << 20]).unwrap();
        let attach = Command::new("losetup").args(["--find", "--show"]).arg(&file).output();
        let Some(attached) = attach.ok().filter(|output| output.status.success()) else {
            fs::remove_dir(&cgroup).unwrap();
            return None;
        };
        let path = String::from_utf8(attached.stdout).unwrap();
        let device = path.trim().trim_start_matches("/dev/").to_owned();
        let number = fs::read_to_string(format!("/sys/block/{device}/dev")).unwrap().trim().to_owned();
        Some(Self { folder, device, number, cgroup })
    }

    fn limit(&self, file: &str, value: u64) {
        fs::write(self.cgroup.join(file), format!("{} {value}\n", self.number)).unwrap();
    }

    /// Loads the device from the cgroup while blkstat watches. Returns the lines of the cgroup on the device, and the KiB
    /// per second that fio measured.
    fn watch(&self, fio_options: &str) -> (Vec<Value>, f64) {
        let result = self.folder.path().join("fio");
        let script = format!(
            "echo $$ > {}/cgroup.procs && exec fio --name=load --filename=/dev/{} --direct=1 --ioengine=libaio \
             --iodepth=16 --time_based --runtime={SECONDS} {fio_options} --output-format=terse --output={}",
            self.cgroup.display(),
            self.device,
            result.display()
        );
        let mut fio = Command::new("sh").args(["-c", &script]).stdout(Stdio::null()).spawn().unwrap();
        let who = format!("who --json {} 1 {}", self.device, SECONDS - 2);
        let printed = Program::new(&[BLKSTAT]).args(who.split(' ')).run().out;
        assert!(fio.wait().unwrap().success());
        let name = format!("/{}", self.cgroup.file_name().unwrap().to_str().unwrap());
        let mut lines: Vec<Value> = printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        lines.retain(|line| line["kind"] == "cgroup" && line["cgroup"] == name.as_str());
        let fields: Vec<String> =
            fs::read_to_string(&result).unwrap().split(';').map(str::to_owned).collect();
        // Bandwidth of reads and of writes; one of them is 0.
        let kib_per_s = fields[6].parse::<f64>().unwrap() + fields[47].parse::<f64>().unwrap();
        (lines, kib_per_s)
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["-d", &format!("/dev/{}", self.device)]).status();
        let _ = fs::remove_dir(&self.cgroup);
    }
}

/// Returns the KiB per second that blkstat saw, and whether the last interval was at this limit. The first intervals are left
/// out: fio starts in them, and requests that begin to wait count as done.
fn seen(lines: &[Value], limit: &str) -> (f64, bool) {
    let settled = &lines[3..];
    let of = |line: &Value, field: &str| line[field].as_f64().unwrap();
    let kib =
        |line: &Value| (of(line, "read_kib_per_s") + of(line, "write_kib_per_s")) * of(line, "elapsed_s");
    let seconds: f64 = settled.iter().map(|line| of(line, "elapsed_s")).sum();
    let is_at_limit = settled.last().unwrap()["at_limit"].as_array().unwrap().contains(&limit.into());
    (settled.iter().map(kib).sum::<f64>() / seconds, is_at_limit)
}

#[track_caller]
fn assert_limit_is_seen(name: &str, file: &str, value: u64, fio_options: &str, kind: &str) {
    let Some(lab) = Lab::new(name) else {
        eprintln!("skipped: needs root, fio, losetup and the blkio controller of version 1");
        return;
    };
    lab.limit(file, value);
    let is_seen = || {
        let (lines, fio) = lab.watch(fio_options);
        let (kib_per_s, is_at_limit) = seen(&lines, kind);
        eprintln!("{kib_per_s} KiB/s, fio has {fio}; at the limit: {is_at_limit}");
        (kib_per_s / fio - 1.0).abs() < RATE_TOLERANCE && is_at_limit
    };
    // A thread that has to wait for a CPU between reading the clock and the counters measures less well.
    assert!((0..ATTEMPTS).any(|_| is_seen()));
}

#[test]
fn a_limit_on_reads_per_second_is_reached() {
    assert_limit_is_seen(
        "riops",
        "blkio.throttle.read_iops_device",
        777,
        "--rw=randread --bs=4k",
        "read_iops",
    );
}

#[test]
fn a_limit_on_bytes_written_per_second_is_reached() {
    let file = "blkio.throttle.write_bps_device";
    assert_limit_is_seen("wbps", file, 8 << 20, "--rw=randwrite --bs=16k", "write_kib_per_s");
}
