//! Real limits of version 1 on loop and zram devices, against the rates that fio measured.
//!
//! Needs root, fio, losetup or zram, and the blkio controller of version 1, and is skipped without them. Others may use the machine
//! meanwhile: what is compared is the cgroup's own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::support::program::{BLKSTAT, Program};
use crate::support::text::json_lines;

/// The hierarchy of version 1.
const BLKIO: &str = "/sys/fs/cgroup/blkio";
/// The largest relative difference of a rate from that of fio.
const RATE_TOLERANCE: f64 = 0.01;
/// The attempts on a machine that is busy.
const ATTEMPTS: usize = 4;
/// The seconds for which fio runs.
const SECONDS: u64 = 12;

/// The size of each device.
const DEVICE_BYTES: usize = 64 << 20;

/// A device that is removed when this is dropped.
enum Disk {
    Loop {
        name: String,
        _folder: tempfile::TempDir,
    },
    Zram {
        name: String,
    },
}

impl Disk {
    /// Creates a loop device; `None` where this machine does not permit it.
    fn new_loop() -> Option<Self> {
        // Not in memory: a loop device on it has no direct I/O.
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let file = folder.path().join("volume");
        fs::write(&file, vec![1u8; DEVICE_BYTES]).unwrap();
        let attached = Command::new("losetup")
            .args(["--find", "--show"])
            .arg(&file)
            .output()
            .ok()?;
        let path = String::from_utf8(attached.stdout).unwrap();
        let name = path.trim().strip_prefix("/dev/")?.to_owned();
        Some(Self::Loop {
            name,
            _folder: folder,
        })
    }

    /// Creates a zram device; `None` where this machine does not permit it.
    fn new_zram() -> Option<Self> {
        let id = fs::read_to_string("/sys/class/zram-control/hot_add").ok()?;
        let name = format!("zram{}", id.trim());
        fs::write(
            format!("/sys/block/{name}/disksize"),
            DEVICE_BYTES.to_string(),
        )
        .unwrap();
        Some(Self::Zram { name })
    }

    fn name(&self) -> &str {
        let (Self::Loop { name, .. } | Self::Zram { name }) = self;
        name
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        match self {
            Self::Loop { name, .. } => {
                let _ = Command::new("losetup")
                    .args(["-d", &format!("/dev/{name}")])
                    .status();
            }
            Self::Zram { name } => {
                let _ = fs::write(format!("/sys/block/{name}/reset"), "1");
                let _ = fs::write(
                    "/sys/class/zram-control/hot_remove",
                    name.trim_start_matches("zram"),
                );
            }
        }
    }
}

/// A device and a cgroup, which is removed when this is dropped.
struct Lab {
    disk: Disk,
    number: String,
    /// The cgroup with the load, and the one above it if it has one.
    cgroups: Vec<PathBuf>,
}

impl Lab {
    /// Creates a cgroup for a device, below another one if `is_child`; `None` where this machine does not permit it.
    fn new(name: &str, disk: Option<Disk>, is_child: bool) -> Option<Self> {
        let disk = disk?;
        let has_fio = Command::new("fio")
            .arg("--version")
            .stdout(Stdio::null())
            .status()
            .is_ok();
        let number = fs::read_to_string(format!("/sys/block/{}/dev", disk.name()))
            .unwrap()
            .trim()
            .to_owned();
        let mut lab = Self {
            disk,
            number,
            cgroups: Vec::new(),
        };
        let top = Path::new(BLKIO).join(format!("blkstat-{name}-{}.service", std::process::id()));
        for cgroup in [Some(top.clone()), is_child.then(|| top.join("worker"))]
            .into_iter()
            .flatten()
        {
            if !has_fio || fs::create_dir(&cgroup).is_err() {
                return None;
            }
            lab.cgroups.insert(0, cgroup);
        }
        Some(lab)
    }

    fn limit(&self, file: &str, value: u64) {
        fs::write(
            self.cgroups[0].join(file),
            format!("{} {value}\n", self.number),
        )
        .unwrap();
        // In version 1 it does not apply to descendants.
        for parent in &self.cgroups[1..] {
            fs::write(
                parent.join(file),
                format!("{} {}\n", self.number, value / 2),
            )
            .unwrap();
        }
    }

    /// Loads the device from the cgroup while blkstat watches. Returns the lines of the cgroup on the device, and the KiB
    /// per second that fio measured.
    fn watch(&self, fio_options: &str) -> (Vec<Value>, f64) {
        let folder = tempfile::tempdir().unwrap();
        let result = folder.path().join("fio");
        let script = format!(
            "echo $$ > {}/cgroup.procs && exec fio --name=load --filename=/dev/{} --direct=1 --ioengine=libaio \
             --iodepth=16 --time_based --runtime={SECONDS} {fio_options} --output-format=terse --output={}",
            self.cgroups[0].display(),
            self.disk.name(),
            result.display()
        );
        let mut fio = Command::new("sh")
            .args(["-c", &script])
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let who = format!("who --json {} 1 {}", self.disk.name(), SECONDS - 2);
        let printed = Program::new(&[BLKSTAT]).args(who.split(' ')).run().out;
        assert!(fio.wait().unwrap().success());
        let name = self.cgroups[0].to_str().unwrap().trim_start_matches(BLKIO);
        let mut lines = json_lines(&printed);
        lines.retain(|line| line["kind"] == "cgroup" && line["cgroup"] == name);
        let fields: Vec<String> = fs::read_to_string(&result)
            .unwrap()
            .split(';')
            .map(str::to_owned)
            .collect();
        // Bandwidth of reads and of writes; one of them is 0.
        let kib_per_s = fields[6].parse::<f64>().unwrap() + fields[47].parse::<f64>().unwrap();
        (lines, kib_per_s)
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        for cgroup in &self.cgroups {
            let _ = fs::remove_dir(cgroup);
        }
    }
}

/// Returns the KiB per second that blkstat saw, and whether the last interval was at this limit. The first intervals are left
/// out: fio starts in them, and requests that begin to wait count as done.
fn seen(lines: &[Value], limit: &str) -> (f64, bool) {
    let settled = &lines[3..];
    let of = |line: &Value, field: &str| line[field].as_f64().unwrap();
    let kib = |line: &Value| {
        (of(line, "read_kib_per_s") + of(line, "write_kib_per_s")) * of(line, "elapsed_s")
    };
    let seconds: f64 = settled.iter().map(|line| of(line, "elapsed_s")).sum();
    let is_at_limit = settled.last().unwrap()["at_limit"]
        .as_array()
        .unwrap()
        .contains(&limit.into());
    (settled.iter().map(kib).sum::<f64>() / seconds, is_at_limit)
}

/// A limit, the load that reaches it, and its name in JSON.
struct Case<'a> {
    file: &'a str,
    value: u64,
    fio_options: &'a str,
    kind: &'a str,
}

#[track_caller]
fn assert_limit_is_seen(lab: Option<Lab>, case: &Case<'_>) {
    let Some(lab) = lab else {
        eprintln!(
            "skipped: needs root, fio, losetup or zram, and the blkio controller of version 1"
        );
        return;
    };
    lab.limit(case.file, case.value);
    let is_seen = || {
        let (lines, fio) = lab.watch(case.fio_options);
        let (kib_per_s, is_at_limit) = seen(&lines, case.kind);
        eprintln!("{kib_per_s} KiB/s, fio has {fio}; at the limit: {is_at_limit}");
        (kib_per_s / fio - 1.0).abs() < RATE_TOLERANCE && is_at_limit
    };
    // A thread that has to wait for a CPU between reading the clock and the counters measures less well.
    assert!((0..ATTEMPTS).any(|_| is_seen()));
}

const READ_IOPS: Case<'_> = Case {
    file: "blkio.throttle.read_iops_device",
    value: 777,
    fio_options: "--rw=randread --bs=4k",
    kind: "read_iops",
};

const WRITE_BYTES: Case<'_> = Case {
    file: "blkio.throttle.write_bps_device",
    value: 8 << 20,
    fio_options: "--rw=randwrite --bs=16k",
    kind: "write_kib_per_s",
};

#[test]
fn a_limit_on_reads_per_second_is_reached() {
    assert_limit_is_seen(Lab::new("riops", Disk::new_loop(), false), &READ_IOPS);
}

#[test]
fn a_limit_on_bytes_written_per_second_is_reached() {
    assert_limit_is_seen(Lab::new("wbps", Disk::new_loop(), false), &WRITE_BYTES);
}

#[test]
fn a_limit_on_writes_per_second_to_a_zram_device_is_reached() {
    let case = Case {
        file: "blkio.throttle.write_iops_device",
        value: 500,
        fio_options: "--rw=randwrite --bs=4k",
        kind: "write_iops",
    };
    assert_limit_is_seen(Lab::new("wiops", Disk::new_zram(), false), &case);
}

#[test]
fn a_child_cgroup_reaches_its_own_limit_on_bytes_read_per_second() {
    let case = Case {
        file: "blkio.throttle.read_bps_device",
        value: 4 << 20,
        fio_options: "--rw=randread --bs=8k",
        kind: "read_kib_per_s",
    };
    assert_limit_is_seen(Lab::new("child", Disk::new_zram(), true), &case);
}
