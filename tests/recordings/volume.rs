//! A disk in memory that can be made to hang or be limited, and programs that use it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use tempfile::TempDir;

use crate::support::process::send;

/// One test at a time: they drop caches and measure times.
static ALONE: Mutex<()> = Mutex::new(());

/// Runs a program and returns what it printed; the reason for a failure otherwise.
pub(super) fn try_run(program: &str, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(program)
        .args(arguments)
        .output()
        .map_err(|error| format!("{program}: {error}"))?;
    let text = |bytes| String::from_utf8_lossy(bytes).trim().to_owned();
    output
        .status
        .success()
        .then(|| text(&output.stdout))
        .ok_or_else(|| format!("{program}: {}", text(&output.stderr)))
}

/// An ext4 file system in memory, behind a loop device.
pub(super) struct Volume {
    folder: TempDir,
    pub(super) device: String,
}

impl Volume {
    pub(super) fn new() -> Result<Self, String> {
        let folder = tempfile::tempdir_in("/dev/shm").map_err(|error| error.to_string())?;
        let image = folder.path().join("image");
        File::create(&image).unwrap().set_len(512 << 20).unwrap();
        try_run(
            "mkfs.ext4",
            &[
                "-q",
                "-F",
                "-E",
                "lazy_itable_init=0",
                image.to_str().unwrap(),
            ],
        )?;
        let device = try_run("losetup", &["--find", "--show", image.to_str().unwrap()])?;
        let volume = Self { folder, device };
        fs::create_dir(volume.mount()).unwrap();
        try_run("mount", &[&volume.device, volume.mount().to_str().unwrap()])?;
        Ok(volume)
    }

    pub(super) fn mount(&self) -> PathBuf {
        self.folder.path().join("mount")
    }

    /// A path in memory, which never hangs.
    pub(super) fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(super) fn freeze(&self, option: &str) {
        try_run("fsfreeze", &[option, self.mount().to_str().unwrap()]).unwrap();
    }

    /// The device number.
    fn number(&self) -> String {
        let name = self.device.strip_prefix("/dev/").unwrap();
        fs::read_to_string(format!("/sys/block/{name}/dev"))
            .unwrap()
            .trim()
            .to_owned()
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
pub(super) struct Group {
    folders: Vec<PathBuf>,
    number: String,
}

impl Group {
    pub(super) fn new(volume: &Volume, controllers: &[&str]) -> Result<Self, String> {
        Self::named(volume, &group_name(), controllers)
    }

    pub(super) fn named(volume: &Volume, name: &str, controllers: &[&str]) -> Result<Self, String> {
        let folder = |controller: &&str| Path::new("/sys/fs/cgroup").join(controller).join(name);
        let group = Self {
            folders: controllers.iter().map(folder).collect(),
            number: volume.number(),
        };
        for folder in &group.folders {
            let parent = folder.parent().unwrap();
            if !parent.join("cgroup.procs").exists() {
                return Err(format!("no cgroup v1 controller {}", parent.display()));
            }
            fs::create_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        }
        Ok(group)
    }

    /// Limits a rate, such as `read_bps` or `write_iops`; 0 is no limit.
    pub(super) fn limit(&self, rate: &str, per_s: u64) {
        let file = self.folders[0].join(format!("blkio.throttle.{rate}_device"));
        fs::write(file, format!("{} {per_s}", self.number)).unwrap();
    }

    /// Evicts the memory of its processes that can be read again from their files.
    pub(super) fn evict(&self) {
        fs::write("/proc/sys/vm/drop_caches", "1").unwrap();
        // Fails where some of it cannot be evicted.
        let _ = fs::write(self.folders[1].join("memory.force_empty"), "0");
    }

    /// Starts a program in the group.
    pub(super) fn spawn(&self, words: &str, output: &Path) -> Running {
        let procs: Vec<String> = self
            .folders
            .iter()
            .map(|folder| format!("echo $$ > {}/cgroup.procs;", folder.display()))
            .collect();
        let script = format!("{} exec {words}", procs.concat());
        let output = File::create(output).unwrap();
        Running(
            Command::new("sh")
                .args(["-c", &script])
                .stdout(output)
                .stderr(Stdio::inherit())
                .spawn()
                .unwrap(),
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
pub(super) struct Running(pub(super) Child);

impl Running {
    /// Ends it as Ctrl-C does, and waits for it.
    pub(super) fn interrupt(mut self) {
        send(&self.0, Signal::INT);
        assert_eq!(self.0.wait().unwrap().code(), Some(130));
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
    }
}

/// Runs a test alone; where that is not possible it is skipped or, if that is required, fails.
pub(super) fn run_if_possible(test: impl FnOnce() -> Result<(), String>) {
    let _alone = ALONE
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
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

/// The name of the cgroup of a test.
pub(super) fn group_name() -> String {
    format!("blkstat-test-{}", std::process::id())
}
