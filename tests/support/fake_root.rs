//! Writes the files of a host that blkstat reads: /proc, /sys and /dev below a temporary directory.

use std::fmt::Display;
use std::fs;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// A directory tree for `--root`.
pub(crate) struct FakeRoot {
    path: PathBuf,
    /// Removes the tree when it is dropped.
    _folder: Option<TempDir>,
}

impl FakeRoot {
    /// Creates an empty tree, which is removed when this is dropped.
    pub(crate) fn new() -> Self {
        Self::of(tempfile::tempdir().unwrap())
    }

    /// Creates an empty tree in memory if /dev/shm exists, otherwise on disk.
    pub(crate) fn in_memory() -> Self {
        Self::of(
            tempfile::tempdir_in("/dev/shm")
                .or_else(|_| tempfile::tempdir())
                .unwrap(),
        )
    }

    /// Returns a writer for a directory that is not removed.
    pub(crate) fn at(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            _folder: None,
        }
    }

    fn of(folder: TempDir) -> Self {
        Self {
            path: folder.path().to_owned(),
            _folder: Some(folder),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a file and the directories above it. The text gets a final newline if it has none.
    pub(crate) fn file(&self, path: &str, text: impl Display) -> &Self {
        let mut text = text.to_string();
        if !text.ends_with('\n') {
            text.push('\n');
        }
        let path = self.path.join(path);
        match fs::write(&path, &text) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            done => done.unwrap(),
        }
        self
    }

    pub(crate) fn folder(&self, path: &str) -> &Self {
        fs::create_dir_all(self.path.join(path)).unwrap();
        self
    }

    /// Replaces a file by a pipe that nothing is ever written to.
    pub(crate) fn pipe(&self, path: &str) -> &Self {
        let path = self.path.join(path);
        let _ = fs::remove_file(&path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
        self
    }

    /// Replaces a file by a pipe to which only a beginning is written: reading it hangs while what is returned lives.
    pub(crate) fn unfinished_pipe(&self, path: &str) -> fs::File {
        let path = self.pipe(path).path.join(path);
        let options = fs::OpenOptions::new().read(true).write(true).to_owned();
        let mut pipe = options.open(path).unwrap();
        pipe.write_all(b"r").unwrap();
        pipe
    }

    pub(crate) fn link(&self, path: &str, target: impl AsRef<Path>) -> &Self {
        let path = self.path.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(target, path).unwrap();
        self
    }

    /// Writes /proc/diskstats.
    pub(crate) fn diskstats(&self, lines: &str) -> &Self {
        self.file("proc/diskstats", lines)
    }

    /// Writes /proc/uptime, in seconds with two decimals.
    pub(crate) fn uptime(&self, seconds: impl Display) -> &Self {
        self.file("proc/uptime", format!("{seconds} 5.00"))
    }

    /// Writes /proc/stat: the ticks of all CPUs, and the number of blocked processes.
    pub(crate) fn cpu(&self, ticks: &str, blocked: u64) -> &Self {
        self.file(
            "proc/stat",
            format!("cpu  {ticks}\ncpu0 1 2 3 4\nprocs_blocked {blocked}"),
        )
    }

    /// Writes /proc/pressure/io: the microseconds in which some tasks, or all, waited for I/O.
    pub(crate) fn pressure(&self, some_us: u64, full_us: u64) -> &Self {
        self.file("proc/pressure/io", pressure_text(some_us, full_us))
    }

    /// Writes /proc/pressure/memory: the microseconds in which some tasks, or all, waited for memory.
    pub(crate) fn memory_pressure(&self, some_us: u64, full_us: u64) -> &Self {
        self.file("proc/pressure/memory", pressure_text(some_us, full_us))
    }

    /// Writes /proc/vmstat: the pages read from and written to swap areas.
    pub(crate) fn swapped(&self, pages_in: u64, pages_out: u64) -> &Self {
        self.file(
            "proc/vmstat",
            format!("nr_free_pages 5\npswpin {pages_in}\npswpout {pages_out}\nhtlb 0"),
        )
    }

    /// Writes the mounts of process 1: device number, mount point, source.
    pub(crate) fn mounts(&self, mounts: &[(&str, &str, &str)]) -> &Self {
        let line = |(number, point, source): &(&str, &str, &str)| {
            format!("22 1 {number} / {point} rw shared:1 - ext4 {source} rw\n")
        };
        self.file(
            "proc/1/mountinfo",
            mounts.iter().map(line).collect::<String>(),
        )
    }

    /// Adds a device below /sys/devices with a link to it, as the kernel does.
    pub(crate) fn device(&self, bus: &str, name: &str, number: &str, mib: u64) -> &Self {
        let folder = format!("sys/devices/{bus}/{name}");
        self.file(&format!("{folder}/dev"), number)
            .file(&format!("{folder}/size"), mib * 2048);
        self.link(
            &format!("sys/block/{name}"),
            Path::new("..").join(folder.trim_start_matches("sys/")),
        )
    }

    pub(crate) fn disk(&self, name: &str, number: &str, mib: u64) -> &Self {
        self.device("pci0000:00/block", name, number, mib)
            .queue(name, 1, "[mq-deadline] none", 256)
    }

    /// Adds a device below /sys/devices/virtual.
    pub(crate) fn virtual_device(&self, name: &str, number: &str, mib: u64) -> &Self {
        self.device("virtual/block", name, number, mib)
            .queue(name, 0, "none", 128)
    }

    pub(crate) fn queue(
        &self,
        name: &str,
        rotational: u8,
        scheduler: &str,
        requests: u64,
    ) -> &Self {
        let queue = format!("sys/block/{name}/queue");
        self.file(&format!("{queue}/rotational"), rotational)
            .file(&format!("{queue}/scheduler"), scheduler)
            .file(&format!("{queue}/nr_requests"), requests)
            .iostats(name, true)
    }

    /// Enables or disables the accounting of a device.
    pub(crate) fn iostats(&self, name: &str, is_enabled: bool) -> &Self {
        self.file(
            &format!("sys/block/{name}/queue/iostats"),
            u8::from(is_enabled),
        )
    }

    pub(crate) fn part(&self, disk: &str, name: &str, number: &str, mib: u64) -> &Self {
        let folder = format!("sys/block/{disk}/{name}");
        self.file(&format!("{folder}/dev"), number)
            .file(&format!("{folder}/size"), mib * 2048)
            .file(&format!("{folder}/partition"), 1)
    }

    /// Adds a device-mapper device with its mapped name.
    pub(crate) fn mapped(
        &self,
        name: &str,
        number: &str,
        mib: u64,
        alias: &str,
        uuid: &str,
    ) -> &Self {
        self.virtual_device(name, number, mib)
            .file(&format!("sys/block/{name}/dm/name"), alias)
            .file(&format!("sys/block/{name}/dm/uuid"), uuid)
    }

    /// Puts a device on others.
    pub(crate) fn on(&self, name: &str, members: &[&str]) -> &Self {
        for member in members {
            self.link(
                &format!("sys/block/{name}/slaves/{member}"),
                format!("../../../{member}"),
            );
        }
        self
    }

    /// Sets the backing file of a loop device.
    pub(crate) fn backed(&self, name: &str, file: &str) -> &Self {
        self.file(&format!("sys/block/{name}/loop/backing_file"), file)
    }
}

fn pressure_text(some_us: u64, full_us: u64) -> String {
    let averages = "avg10=1.14 avg60=0.79 avg300=0.39";
    format!("some {averages} total={some_us}\nfull {averages} total={full_us}")
}

/// Returns a line of /proc/diskstats of a device after `ios` reads and as many writes of 4 KiB and 2 ms.
pub(crate) fn busy_line(number: &str, name: &str, ios: u64, in_flight: u64) -> String {
    let (sectors, ms) = (8 * ios, 2 * ios);
    format!(
        "{number} {name} {ios} 0 {sectors} {ms} {ios} 0 {sectors} {ms} {in_flight} {ms} {} 0 0 0 0 0 0\n",
        2 * ms
    )
}
