//! Kernels that are booted at most once for each script, and what their guests left behind.

use std::env::{current_exe, var};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;

use serde_json::Value;

/// The programs that this computer and its guests need.
pub(crate) const PROGRAMS: [&str; 16] = [
    "qemu-system-x86_64",
    "busybox",
    "cpio",
    "gzip",
    "modprobe",
    "depmod",
    "apt-get",
    "apt-cache",
    "dpkg",
    "iostat",
    "dmsetup",
    "mdadm",
    "sfdisk",
    "exportfs",
    "rpc.nfsd",
    "mount.nfs",
];

/// The programs that only the guests that limit cgroups and trace requests need.
const LOAD_PROGRAMS: [&str; 3] = ["fio", "mkfs.ext4", "setsid"];

/// The exit status of `boot` if no package of the kernel is to be had.
const NO_KERNEL: i32 = 2;
/// The exit status of `boot` if the guest did not finish. Seen a few times in some tens of runs, on a busy host: a CPU of the
/// emulated computer got no timer interrupts any more, and the other one waited for it; or the kernel crashed (int3) because
/// the emulated CPUs did not agree on an instruction that it replaced.
const HUNG: i32 = 125;

/// The kernels: of Debian 12, and of Debian 13 and the backports for Debian 12.
const VERSIONS: [&str; 2] = ["6.1", "6.12"];

/// The guest with each kernel and script, once it ran.
static GUESTS: [[OnceLock<Outcome>; 2]; 3] = [const { [const { OnceLock::new() }; 2] }; 3];

/// Held while the guests of a script run, since they use the whole computer: mostly they wait, so that there may be two.
static RUNNING: Mutex<()> = Mutex::new(());

/// What a guest does.
#[derive(Clone, Copy)]
pub(crate) enum Script {
    /// It stacks devices and loads them: `guest`.
    Devices,
    /// It limits cgroups of version 2 and loads disks in them: `guest_who`.
    Limits,
    /// It traces single requests: `guest_latency`.
    Latency,
}

impl Script {
    fn name(self) -> &'static str {
        match self {
            Self::Devices => "guest",
            Self::Limits => "guest_who",
            Self::Latency => "guest_latency",
        }
    }

    /// The disks of the guest, as `boot` names them.
    fn disks(self) -> &'static [&'static str] {
        match self {
            Self::Devices => &["nvme", "nvme-multipath", "scsi", "scsi", "scsi-multipath"],
            Self::Limits => &["nvme", "nvme"],
            Self::Latency => &["nvme", "nvme-multipath"],
        }
    }

    /// The CPUs of the guest. Emulating two takes half as much time again, which only requests that begin on one CPU and end on
    /// another are worth.
    fn cpus(self) -> &'static str {
        match self {
            Self::Devices | Self::Limits => "1",
            Self::Latency => "2",
        }
    }

    fn programs(self) -> impl Iterator<Item = &'static str> {
        let more: &[&str] = match self {
            Self::Devices => &[],
            Self::Limits | Self::Latency => &LOAD_PROGRAMS,
        };
        PROGRAMS.iter().chain(more).copied()
    }
}

/// The result of booting a kernel.
enum Outcome {
    Ran(Guest),
    /// Something is missing here.
    Impossible(String),
    /// The guest was started but did not succeed.
    Failed(String),
}

/// The folder in which a guest has left its files.
pub(crate) struct Guest {
    /// The first two numbers of the kernel's version.
    pub(crate) version: &'static str,
    folder: PathBuf,
}

/// Runs a check on the guest of every kernel, which ran to its end; on none if they cannot or should not be run here.
///
/// # Panics
///
/// If a guest failed, or cannot be run although BLKSTAT_KERNELS=required.
pub(crate) fn on_each_kernel(script: Script, check: impl Fn(&Guest)) {
    let Ok(wish) = var("BLKSTAT_KERNELS") else {
        println!("skipped: BLKSTAT_KERNELS is not set");
        return;
    };
    let guests = &GUESTS[script as usize];
    {
        let _running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        thread::scope(|scope| {
            for (version, guest) in VERSIONS.into_iter().zip(guests) {
                scope.spawn(move || guest.get_or_init(|| run(version, script)));
            }
        });
    }
    for (version, guest) in VERSIONS.into_iter().zip(guests) {
        match guest.get().unwrap() {
            Outcome::Ran(guest) => check(guest),
            Outcome::Failed(text) => panic!("the guest with Linux {version} failed: {text}"),
            Outcome::Impossible(reason) => {
                println!("skipped: {reason}");
                assert_ne!(wish, "required", "Linux {version} cannot be run: {reason}");
            }
        }
    }
}

/// Boots a kernel and waits for the end of its guest.
fn run(version: &'static str, script: Script) -> Outcome {
    if !rustix::process::geteuid().is_root() {
        return Outcome::Impossible("needs root".to_owned());
    }
    if let Some(program) = script.programs().find(|program| !is_installed(program)) {
        return Outcome::Impossible(format!("needs {program}"));
    }
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kernels");
    let folder = cache.join(format!("out-{version}-{}", script.name()));
    let mut output = boot(version, script, &cache, &folder);
    if output.status.code() == Some(HUNG) && !folder.join("status").exists() {
        println!(
            "Linux {version} hung and is booted again: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        output = boot(version, script, &cache, &folder);
    }
    let text = [output.stdout, output.stderr].concat();
    let text = format!("{}\n{}", output.status, String::from_utf8_lossy(&text));
    // Without a file `status`, the guest was not started or did not finish, and the exit status is that of `boot`.
    let has_finished = folder.join("status").exists();
    if output.status.success() {
        println!("Linux {version}: {text}");
        Outcome::Ran(Guest { version, folder })
    } else if !has_finished && output.status.code() == Some(NO_KERNEL) {
        Outcome::Impossible(format!("no package of Linux {version}: {text}"))
    } else {
        Outcome::Failed(text)
    }
}

/// Boots a kernel once, into an empty folder.
fn boot(version: &str, script: Script, cache: &Path, folder: &Path) -> Output {
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernels");
    // Files of an earlier run must not pass for those of this one.
    let _ = fs::remove_dir_all(folder);
    Command::new(scripts.join("boot"))
        .arg(version)
        .args([cache, folder])
        .arg(script.cpus())
        .args(script.disks())
        .arg("--")
        .arg(scripts.join(script.name()))
        .arg(env!("CARGO_BIN_EXE_blkstat"))
        .arg(current_exe().unwrap())
        .output()
        .unwrap()
}

/// Returns whether a program is in PATH, or where Debian keeps those of root.
fn is_installed(program: &str) -> bool {
    let path = var("PATH").unwrap_or_default();
    path.split(':')
        .chain(["/usr/sbin", "/sbin"])
        .any(|folder| Path::new(folder).join(program).exists())
}

impl Guest {
    /// Returns the path of a file that the guest wrote.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Returns the text of a file that the guest wrote.
    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name))
            .unwrap_or_else(|error| panic!("{}: {name}: {error}", self.version))
    }

    /// Returns the names of the files with an ending, without it, in order.
    pub(crate) fn names_ending_in(&self, ending: &str) -> Vec<String> {
        let files = fs::read_dir(&self.folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name());
        let mut names: Vec<String> = files
            .filter_map(|name| Some(name.to_str()?.strip_suffix(ending)?.to_owned()))
            .collect();
        names.sort();
        names
    }

    /// Returns the names of the disks or paths that the guest keeps in its file `disks` under a key such as `scsi_paths`.
    pub(crate) fn disks(&self, key: &str) -> Vec<String> {
        let text = self.read("disks");
        let mut lines = text.lines().map(|line| line.split(' '));
        let names = lines.find_map(|mut words| (words.next() == Some(key)).then_some(words));
        let names = names.unwrap_or_else(|| panic!("{}: no {key} in {text}", self.version));
        names.map(str::to_owned).collect()
    }

    /// Returns the objects of `blkstat devices`.
    pub(crate) fn devices(&self) -> Vec<Value> {
        self.devices_in("devices.json")
    }

    /// Returns the objects of `blkstat devices` in a file.
    pub(crate) fn devices_in(&self, name: &str) -> Vec<Value> {
        let text: Value = serde_json::from_str(&self.read(name)).unwrap();
        text["devices"].as_array().unwrap().clone()
    }

    /// Returns the objects of two live intervals, with partitions and the total.
    pub(crate) fn live(&self) -> Vec<Value> {
        self.read("live.json")
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    /// Returns the objects of the recording that was made at the same time.
    pub(crate) fn replay(&self) -> Vec<Value> {
        self.read("replay.json")
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }
}
