//! Compares what the real `iostat`, `sar`, `sadf` and `collectl` log of a load with what `blkstat record` records of it.
//!
//! Needs them, root, `losetup` and a loop device, and is skipped without them; with BLKSTAT_PEERS=required it fails, unless the
//! system has no loop devices.

use std::collections::BTreeMap;
use std::env::var;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::Duration;

use crate::support::program::{Program, blkstat};
use crate::support::text::json_lines;
use crate::wait_for_turn;

/// The seconds that are recorded; the load is in the middle.
const SECONDS: &str = "12";
/// The largest relative difference: logs round their times to seconds, which a busy computer does not keep.
const TOLERANCE: f64 = 0.03;
/// On a busy computer the seconds of a program may be long; a real difference is the same each time.
const MAX_ATTEMPTS: usize = 4;

/// The program that samples for sar.
const SADC: &str = "/usr/lib/sysstat/sadc";

fn shell(script: &str) -> Program {
    Program::new(&["sh", "-c", script])
}

/// A loop device with a file of its own.
struct LoopDevice {
    path: String,
}

impl LoopDevice {
    fn attach(folder: &Path) -> Option<Self> {
        let file = folder.join("disk");
        fs::write(&file, vec![7; 32 << 20]).unwrap();
        let run = Program::new(&["losetup", "--find", "--show"])
            .args([&file])
            .run();
        let device = Self {
            path: run.out.trim().to_owned(),
        };
        (run.code == 0 && device.load(1).code == 0).then_some(device)
    }

    fn name(&self) -> &str {
        self.path.trim_start_matches("/dev/")
    }

    /// Reads and writes for about this many seconds.
    fn load(&self, seconds: u32) -> crate::support::program::Outcome {
        let script = format!(
            "for n in $(seq {seconds}); do \
             dd if={0} of=/dev/null bs=64k count=$((n * 20 + 40)) iflag=direct && \
             dd if=/dev/zero of={0} bs=16k count=$((n * 30 + 50)) oflag=direct && sleep 0.9 || exit 1; done",
            self.path
        );
        shell(&script).run()
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        Program::new(&["losetup", "--detach", &self.path]).run();
    }
}

/// What a device did over all intervals of a capture.
fn totals(path: &Path, device: &str) -> BTreeMap<&'static str, f64> {
    let run = blkstat("--json --all --from")
        .args([path])
        .args([device])
        .run();
    assert_eq!(run.code, 0, "{}: {}", path.display(), run.err);
    let mut totals = BTreeMap::new();
    let lines = json_lines(&run.out);
    // What a log does not split is known of the intervals with only one kind.
    let is_known = |key: &&str| lines.iter().all(|line| line[*key].is_number());
    for line in &lines {
        for key in [
            "iops",
            "reads_per_s",
            "writes_per_s",
            "read_kib_per_s",
            "write_kib_per_s",
        ]
        .into_iter()
        .filter(is_known)
        {
            if let Some(rate) = line[key].as_f64() {
                *totals.entry(key).or_default() += rate * line["elapsed_s"].as_f64().unwrap();
            }
        }
    }
    totals
}

/// Runs all programs at once. Returns the recording, and each log with its name.
fn record(device: &LoopDevice, folder: &Path) -> (PathBuf, Vec<(&'static str, PathBuf)>) {
    let path = |name: &str| folder.join(name);
    let start = |program: Program, name: &str| -> Child {
        program.spawn(File::create(path(name)).unwrap(), Stdio::null())
    };
    let collectl_files = path("collectl").display().to_string();
    let children = [
        start(
            blkstat("record --no-who --force").args([path("twin").to_str().unwrap(), "1", SECONDS]),
            "out",
        ),
        start(Program::new(&["sar", "-d", "1", SECONDS]), "sar -d"),
        start(
            Program::new(&["sar", "-d", "-p", "1", SECONDS]),
            "sar -d -p",
        ),
        start(
            Program::new(&["iostat", "-dxy", "1", SECONDS]),
            "iostat -dxy",
        ),
        start(Program::new(&["iostat", "-xt", "1", SECONDS]), "iostat -xt"),
        start(
            Program::new(&["iostat", "-dxy", "-o", "JSON", "1", SECONDS]),
            "iostat -o JSON",
        ),
        start(
            Program::new(&[
                SADC,
                "-S",
                "DISK",
                "1",
                SECONDS,
                path("sa").to_str().unwrap(),
            ]),
            "out2",
        ),
        start(
            Program::new(&[
                "collectl",
                "-sD",
                "-i",
                "1",
                "-c",
                SECONDS,
                "--rawdskfilt",
                "loop",
                "-f",
                &collectl_files,
            ]),
            "out3",
        ),
    ];
    sleep(Duration::from_secs(3));
    assert_eq!(device.load(4).code, 0);
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let sadf = |name: &'static str, options: &[&str]| {
        let output = File::create(path(name)).unwrap();
        let program =
            Program::new(&["sadf"])
                .args(options)
                .args([path("sa").to_str().unwrap(), "--", "-d"]);
        assert!(
            program
                .spawn(output, Stdio::null())
                .wait()
                .unwrap()
                .success()
        );
    };
    sadf("sadf -d", &["-d"]);
    sadf("sadf -j", &["-j"]);
    let collectl = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let collectl = collectl
        .filter(|path| path.to_string_lossy().ends_with(".raw.gz"))
        .max()
        .unwrap();
    let names = [
        "sar -d",
        "sar -d -p",
        "iostat -dxy",
        "iostat -xt",
        "iostat -o JSON",
        "sadf -d",
        "sadf -j",
    ];
    let mut logs: Vec<_> = names.map(|name| (name, path(name))).into();
    logs.push(("collectl", collectl));
    (path("twin"), logs)
}

/// Returns what differs between the logs and the recording.
fn differences(device: &LoopDevice, folder: &Path) -> Vec<String> {
    let (twin, logs) = record(device, folder);
    let expected = totals(&twin, device.name());
    assert!(
        expected.len() == 5 && expected.values().all(|total| *total > 100.0),
        "{expected:?}"
    );
    let mut found = Vec::new();
    for (name, path) in logs {
        let totals = totals(&path, device.name());
        // What the log tells, and that it tells something.
        assert!(totals.len() >= 2, "{name}: {totals:?}");
        let tolerance = if name == "collectl" { 0.001 } else { TOLERANCE };
        for (key, total) in &totals {
            if (total - expected[key]).abs() > expected[key] * tolerance {
                found.push(format!(
                    "{name}: {key}: {total:.1}, not {:.1}\n",
                    expected[key]
                ));
            }
        }
    }
    // The data of sar itself names the command.
    let run = blkstat("--from").args([folder.join("sa")]).run();
    assert!(
        run.code == 2 && run.err.contains("read it with: sadf -d "),
        "{}",
        run.err
    );
    found
}

#[test]
fn logs_of_the_peers_agree_with_a_recording() {
    let _turn = wait_for_turn();
    let folder = tempfile::tempdir().unwrap();
    let programs =
        format!("command -v sar sadf iostat collectl losetup {SADC} && test $(id -u) = 0");
    let device = match shell(&programs).run().code {
        0 => LoopDevice::attach(folder.path()),
        _ => None,
    };
    let Some(device) = device else {
        println!("skipped: needs sar, sadf, iostat, collectl, root and a loop device");
        let has_loop_devices = Path::new("/dev/loop-control").exists();
        assert!(
            var("BLKSTAT_PEERS").as_deref() != Ok("required") || !has_loop_devices,
            "the peers cannot be run"
        );
        return;
    };
    for attempt in 1..=MAX_ATTEMPTS {
        let attempt_folder = folder.path().join(attempt.to_string());
        fs::create_dir(&attempt_folder).unwrap();
        let found = differences(&device, &attempt_folder);
        if found.is_empty() {
            return;
        }
        assert!(attempt < MAX_ATTEMPTS, "{}", found.concat());
    }
}
