//! Recordings and live views while a disk does not answer: the one with the recording, or the one with the program.
//!
//! These tests need root, loop devices, ext4, and for two of them the cgroup v1 controllers `blkio` and `memory`. Without
//! them they are skipped; with BLKSTAT_HUNG_DISK=required they fail.

use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::thread::sleep;
use std::time::{Duration, Instant};

use blkstat::counters::Sample;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use super::lab::replay;
use crate::support::program::{BLKSTAT, blkstat};

const INTERVAL: Duration = Duration::from_millis(250);
/// The time for which the disk does not answer.
const HUNG: Duration = Duration::from_secs(5);
/// The time before and after that.
const MARGIN: Duration = Duration::from_millis(1500);
/// More than a busy machine needs for anything.
const PATIENCE: Duration = Duration::from_secs(60);

/// One test at a time: they drop caches and measure times.
static ALONE: Mutex<()> = Mutex::new(());

/// Runs a program and returns what it printed; the reason for a failure otherwise.
fn try_run(program: &str, arguments: &[&str]) -> Result<String, String> {
    let output =
        Command::new(program).args(arguments).output().map_err(|error| format!("{program}: {error}"))?;
    let text = |bytes| String::from_utf8_lossy(bytes).trim().to_owned();
    output
        .status
        .success()
        .then(|| text(&output.stdout))
        .ok_or_else(|| format!("{program}: {}", text(&output.stderr)))
}

/// An ext4 file system in memory, behind a loop device.
struct Volume {
    folder: TempDir,
    device: String,
}

impl Volume {
    fn new() -> Result<Self, String> {
        let folder = tempfile::tempdir_in("/dev/shm").map_err(|error| error.to_string())?;
        let image = folder.path().join("image");
        File::create(&image).unwrap().set_len(512 << 20).unwrap();
        try_run("mkfs.ext4", &["-q", "-F", "-E", "lazy_itable_init=0", image.to_str().unwrap()])?;
        let device = try_run("losetup", &["--find", "--show", image.to_str().unwrap()])?;
        let volume = Self { folder, device };
        fs::create_dir(volume.mount()).unwrap();
        try_run("mount", &[&volume.device, volume.mount().to_str().unwrap()])?;
        Ok(volume)
    }

    fn mount(&self) -> PathBuf {
        self.folder.path().join("mount")
    }

    /// A path in memory, which never hangs.
    fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn freeze(&self, option: &str) {
        try_run("fsfreeze", &[option, self.mount().to_str().unwrap()]).unwrap();
    }

    /// The device number.
    fn number(&self) -> String {
        let name = self.device.strip_prefix("/dev/").unwrap();
        fs::read_to_string(format!("/sys/block/{name}/dev")).unwrap().trim().to_owned()
    }
}

impl Drop for Volume {
    fn drop(&mut self) {
        let mount = self.mount();
        // Only if a test failed is it still frozen.
        let _ = try_run("fsfreeze", &["--unfreeze", mount.to_str().unwrap()]);
        let _ = try_run("umount", &["--lazy", mount.to_str().unwrap()]);
        let _ = try_run("losetup", &["--detach", &self.device]);
    }
}

/// A group of processes whose I/O on a device can be limited.
struct Group {
    folders: Vec<PathBuf>,
    number: String,
}

impl Group {
    fn new(volume: &Volume, controllers: &[&str]) -> Result<Self, String> {
        let name = format!("blkstat-test-{}", std::process::id());
        let folder = |controller: &&str| Path::new("/sys/fs/cgroup").join(controller).join(&name);
        let group = Self { folders: controllers.iter().map(folder).collect(), number: volume.number() };
        for folder in &group.folders {
            let parent = folder.parent().unwrap();
            if !parent.join("cgroup.procs").exists() {
                return Err(format!("no cgroup v1 controller {}", parent.display()));
            }
            fs::create_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        }
        Ok(group)
    }

    /// Limits reads or writes to this number of bytes per second; 0 is no limit.
    fn limit(&self, direction: &str, bytes: u64) {
        let file = self.folders[0].join(format!("blkio.throttle.{direction}_bps_device"));
        fs::write(file, format!("{} {bytes}", self.number)).unwrap();
    }

    /// Evicts the memory of its processes that can be read again from their files.
    fn evict(&self) {
        fs::write("/proc/sys/vm/drop_caches", "1").unwrap();
        // Fails where some of it cannot be evicted.
        let _ = fs::write(self.folders[1].join("memory.force_empty"), "0");
    }

    /// Starts a program in the group.
    fn spawn(&self, words: &str, output: &Path) -> Running {
        let procs: Vec<String> = self
            .folders
            .iter()
            .map(|folder| format!("echo $$ > {}/cgroup.procs;", folder.display()))
            .collect();
        let script = format!("{} exec {words}", procs.concat());
        let output = File::create(output).unwrap();
        Running(
            Command::new("sh").args(["-c", &script]).stdout(output).stderr(Stdio::inherit()).spawn().unwrap(),
        )
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        for folder in &self.folders {
            // It is busy until its processes have ended.
            let start = Instant::now();
            while fs::remove_dir(folder).is_err() && start.elapsed() < Duration::from_secs(5) {
                sleep(Duration::from_millis(50));
            }
        }
    }
}

/// A program that is killed if the test fails.
struct Running(Child);

impl Running {
    /// Ends it as Ctrl-C does, and waits for it.
    fn interrupt(mut self) {
        kill_process(Pid::from_child(&self.0), Signal::INT).unwrap();
        assert_eq!(self.0.wait().unwrap().code(), Some(130));
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
    }
}

/// Runs a test alone; where that is not possible it is skipped or, if that is required, fails.
fn run_if_possible(test: impl FnOnce() -> Result<(), String>) {
    let _alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if !rustix::process::geteuid().is_root() {
        return skip("needs root");
    }
    if let Err(reason) = test() {
        skip(&reason);
    }
}

fn skip(reason: &str) {
    eprintln!("skipped: {reason}");
    let is_required = std::env::var("BLKSTAT_HUNG_DISK").is_ok_and(|value| value == "required");
    assert!(!is_required, "BLKSTAT_HUNG_DISK=required, but: {reason}");
}

/// Starts a recording. Its options are separated by blanks.
fn record(file: &Path) -> Running {
    let options = format!("record {} {}", file.display(), INTERVAL.as_secs_f64());
    Running(blkstat(&options).spawn(Stdio::null(), Stdio::inherit()))
}

/// The number of missed samples of a recording, and the seconds by which its latest sample came after its deadline.
fn lateness(samples: &[Sample]) -> (u64, f64) {
    let seconds = |sample: &Sample| sample.at.monotonic.unwrap().as_secs_f64();
    let phase = |sample: &Sample| (seconds(sample) - seconds(&samples[0])) % INTERVAL.as_secs_f64();
    let latest = samples.iter().map(phase).filter(|s| *s < INTERVAL.as_secs_f64() * 0.9).fold(0.0, f64::max);
    (samples.iter().map(|sample| sample.missed_samples).sum(), latest)
}

/// Checks that a recording has every sample although its disk did not answer for a while, and that none came later than
/// in another recording of the same time.
fn check_complete(hung: &Path, other: &Path) {
    let (samples, warnings) = replay(hung);
    assert_eq!(warnings, Vec::<String>::new());
    let [(missed, latest), (other_missed, other_latest)] =
        [&samples, &replay(other).0].map(|samples| lateness(samples));
    eprintln!("{} samples; latest {latest:.4} s, without the disk {other_latest:.4} s", samples.len());
    let expected = (HUNG + MARGIN).as_secs_f64() / INTERVAL.as_secs_f64();
    assert!(samples.len() as f64 + missed as f64 >= expected, "only {} samples", samples.len());
    // Both may miss one on a busy machine, where waiting for the disk would miss twenty.
    assert!(missed <= other_missed + 1, "{missed} samples missed, and {other_missed} without the disk");
    assert!(latest <= other_latest + INTERVAL.as_secs_f64() / 2.0, "{latest} s late, and {other_latest} s");
    let stall = stall_seconds(hung).unwrap();
    assert!(stall > (HUNG / 2).as_secs_f64(), "a stall of only {stall} s");
}

/// The longest stall that a recording mentions.
fn stall_seconds(file: &Path) -> Option<f64> {
    let text = fs::read_to_string(file).unwrap();
    let notes = text.lines().filter_map(|line| line.strip_prefix("#blkstat "));
    let notes = notes.map(|note| serde_json::from_str::<serde_json::Value>(note).unwrap());
    notes.filter_map(|note| note["write_stalled_s"].as_f64()).reduce(f64::max)
}

#[test]
fn a_recording_on_a_frozen_file_system_has_every_sample() {
    run_if_possible(|| {
        let volume = Volume::new()?;
        let (file, other) = (volume.mount().join("a.txt"), volume.beside("b.txt"));
        let recordings = [record(&file), record(&other)];
        sleep(MARGIN);
        volume.freeze("--freeze");
        sleep(HUNG);
        volume.freeze("--unfreeze");
        sleep(MARGIN);
        recordings.into_iter().for_each(Running::interrupt);
        check_complete(&file, &other);
        Ok(())
    });
}

#[test]
fn a_recording_on_a_disk_of_one_byte_per_second_has_every_sample() {
    run_if_possible(|| {
        let volume = Volume::new()?;
        let group = Group::new(&volume, &["blkio"])?;
        let (file, other) = (volume.mount().join("a.txt"), volume.beside("b.txt"));
        let options = format!("{BLKSTAT} record {} {}", file.display(), INTERVAL.as_secs_f64());
        let recordings = [group.spawn(&options, &volume.beside("out")), record(&other)];
        sleep(MARGIN);
        group.limit("write", 1);
        // The next sync comes within 5 s.
        sleep(Duration::from_secs(5) + HUNG);
        group.limit("write", 0);
        sleep(MARGIN);
        recordings.into_iter().for_each(Running::interrupt);
        check_complete(&file, &other);
        Ok(())
    });
}

#[test]
fn a_recording_that_starts_while_the_disk_does_not_answer_has_every_sample() {
    run_if_possible(|| {
        let volume = Volume::new()?;
        let (file, messages) = (volume.mount().join("a.txt"), volume.beside("messages"));
        volume.freeze("--freeze");
        let options = format!("record {} {}", file.display(), INTERVAL.as_secs_f64());
        let recording = Running(blkstat(&options).spawn(Stdio::null(), File::create(&messages).unwrap()));
        sleep(HUNG);
        volume.freeze("--unfreeze");
        sleep(MARGIN);
        recording.interrupt();
        let message = format!("blkstat: waiting to open {}; samples are kept in memory", file.display());
        let messages = fs::read_to_string(messages).unwrap();
        assert!(messages.starts_with(&message) && messages.lines().count() == 1, "{messages}");
        let (samples, warnings) = replay(&file);
        assert_eq!(warnings, Vec::<String>::new());
        let (missed, _) = lateness(&samples[1..]);
        // The first half second was spent on the attempt to open the file.
        let expected = (HUNG - MARGIN).as_secs_f64() / INTERVAL.as_secs_f64();
        assert!(
            samples.len() as f64 >= expected && missed <= 5,
            "{} samples, {missed} missed",
            samples.len()
        );
        Ok(())
    });
}

#[test]
fn a_recording_says_what_it_waits_for_and_a_second_ctrl_c_ends_it() {
    run_if_possible(|| {
        let volume = Volume::new()?;
        let (file, messages) = (volume.mount().join("a.txt"), volume.beside("messages"));
        let options = format!("record {} {}", file.display(), INTERVAL.as_secs_f64());
        let mut recording = Running(blkstat(&options).spawn(Stdio::null(), File::create(&messages).unwrap()));
        sleep(MARGIN);
        volume.freeze("--freeze");
        sleep(MARGIN);
        let wait_for = |text: &str| {
            kill_process(Pid::from_child(&recording.0), Signal::INT).unwrap();
            let start = Instant::now();
            while !fs::read_to_string(&messages).unwrap().contains(text) {
                assert!(start.elapsed() < PATIENCE, "no '{text}' in {:?}", fs::read_to_string(&messages));
                sleep(Duration::from_millis(50));
            }
        };
        wait_for("blkstat: waiting for ");
        wait_for(&format!("not written to {}", file.display()));
        volume.freeze("--unfreeze");
        // Only now the kernel can end it.
        assert_eq!(recording.0.wait().unwrap().signal(), Some(2));
        let (samples, _) = replay(&file);
        assert!(!samples.is_empty());
        Ok(())
    });
}

#[test]
fn a_recording_and_a_view_go_on_while_the_disk_with_the_program_does_not_answer() {
    run_if_possible(|| {
        let volume = Volume::new()?;
        let group = Group::new(&volume, &["blkio", "memory"])?;
        // Two files: pages of one that are locked would be locked for all programs.
        let [program, other] = ["blkstat", "other"].map(|name| volume.mount().join(name));
        fs::copy(BLKSTAT, &program).unwrap();
        fs::copy(BLKSTAT, &other).unwrap();
        try_run("sync", &[])?;
        fs::write("/proc/sys/vm/drop_caches", "1").unwrap();
        let (program, other) = (program.display(), other.display());
        let interval = INTERVAL.as_secs_f64();
        let recording = volume.beside("recording");
        let path = |name: &str| volume.beside(name);
        let recorder =
            group.spawn(&format!("{program} record {} {interval}", recording.display()), &path("out"));
        let view = group.spawn(&format!("{program} --json --all {interval}"), &path("view"));
        // With COUNT the memory is not locked.
        let unlocked = group.spawn(&format!("{other} --json --all {interval} 10000"), &path("unlocked"));
        let size = |file: &Path| fs::metadata(file).map_or(0, |metadata| metadata.len());
        let files = [recording, path("view"), path("unlocked")];
        let start = Instant::now();
        while files.iter().any(|file| size(file) == 0) && start.elapsed() < PATIENCE {
            sleep(INTERVAL);
        }
        sleep(MARGIN);
        group.limit("read", 1);
        group.evict();
        sleep(INTERVAL);
        let before = [&files[0], &files[1], &files[2]].map(|file| fs::read_to_string(file).unwrap());
        sleep(HUNG);
        let after = [&files[0], &files[1], &files[2]].map(|file| fs::read_to_string(file).unwrap());
        group.limit("read", 0);
        recorder.interrupt();
        view.interrupt();
        unlocked.interrupt();
        let expected = HUNG.as_secs_f64() / INTERVAL.as_secs_f64() * 0.8;
        let samples = |text: &String| text.matches("\"complete\":true").count();
        let recorded = samples(&after[0]) - samples(&before[0]);
        let ends = |text: &String| {
            let ends = text.lines().filter_map(|line| line.split("\"time\":\"").nth(1)?.split('"').next());
            ends.collect::<std::collections::BTreeSet<_>>().len()
        };
        let shown = [1, 2].map(|n| ends(&after[n]) - ends(&before[n]));
        eprintln!(
            "while the disk did not answer: {recorded} samples recorded, {} shown, {} unlocked",
            shown[0], shown[1]
        );
        assert!(recorded as f64 >= expected, "only {recorded} samples recorded");
        assert!(shown[0] as f64 >= expected, "only {} intervals shown", shown[0]);
        assert!(
            (shown[1] as f64) < expected / 2.0,
            "even without a lock the program goes on: this proves nothing"
        );
        Ok(())
    });
}
