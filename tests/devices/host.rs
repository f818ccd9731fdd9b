//! Invented hosts: the parts of /sys, /proc and /dev that describe their block devices.

use std::fmt::Display;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// A directory tree that is removed when this is dropped.
pub(crate) struct InventedHost {
    dir: tempfile::TempDir,
}

impl InventedHost {
    pub(crate) fn new() -> Self {
        let host = Self { dir: tempfile::tempdir().unwrap() };
        fs::create_dir_all(host.root().join("sys/block")).unwrap();
        host
    }

    pub(crate) fn root(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn file(&self, path: &str, text: impl Display) -> &Self {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{text}\n")).unwrap();
        self
    }

    pub(crate) fn link(&self, path: &str, target: impl AsRef<Path>) -> &Self {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(target, path).unwrap();
        self
    }

    /// Adds a directory below /sys/devices with a link to it, as the kernel does.
    pub(crate) fn device(&self, bus: &str, name: &str, number: &str, mib: u64) -> &Self {
        let folder = format!("sys/devices/{bus}/{name}");
        self.file(&format!("{folder}/dev"), number).file(&format!("{folder}/size"), mib * 2048);
        self.link(&format!("sys/block/{name}"), PathBuf::from("..").join(folder.trim_start_matches("sys/")))
    }

    pub(crate) fn disk(&self, name: &str, number: &str, mib: u64) -> &Self {
        self.device("pci0000:00/block", name, number, mib).queue(name, 1, "[mq-deadline] none", 256)
    }

    /// Adds a device below /sys/devices/virtual.
    pub(crate) fn virtual_device(&self, name: &str, number: &str, mib: u64) -> &Self {
        self.device("virtual/block", name, number, mib).queue(name, 0, "none", 128)
    }

    pub(crate) fn queue(&self, name: &str, rotational: u8, scheduler: &str, requests: u64) -> &Self {
        let queue = format!("sys/block/{name}/queue");
        self.file(&format!("{queue}/rotational"), rotational)
            .file(&format!("{queue}/scheduler"), scheduler)
            .file(&format!("{queue}/nr_requests"), requests)
            .file(&format!("{queue}/iostats"), 1)
    }

    pub(crate) fn part(&self, disk: &str, name: &str, number: &str, mib: u64) -> &Self {
        let folder = format!("sys/block/{disk}/{name}");
        self.file(&format!("{folder}/dev"), number)
            .file(&format!("{folder}/size"), mib * 2048)
            .file(&format!("{folder}/partition"), 1)
    }

    pub(crate) fn mapped(&self, name: &str, number: &str, mib: u64, alias: &str, uuid: &str) -> &Self {
        self.virtual_device(name, number, mib)
            .file(&format!("sys/block/{name}/dm/name"), alias)
            .file(&format!("sys/block/{name}/dm/uuid"), uuid)
    }

    pub(crate) fn on(&self, name: &str, members: &[&str]) -> &Self {
        for member in members {
            self.link(&format!("sys/block/{name}/slaves/{member}"), format!("../../../{member}"));
        }
        self
    }

    pub(crate) fn backed(&self, name: &str, file: &str) -> &Self {
        self.file(&format!("sys/block/{name}/loop/backing_file"), file)
    }

    /// Writes the mounts of process 1: device number, mount point, source.
    pub(crate) fn mounts(&self, mounts: &[(&str, &str, &str)]) -> &Self {
        let line = |(number, point, source): &(&str, &str, &str)| {
            format!("22 1 {number} / {point} rw shared:1 - ext4 {source} rw\n")
        };
        self.file("proc/1/mountinfo", mounts.iter().map(line).collect::<String>())
    }
}

/// A laptop: LVM on an encrypted partition, loop devices, several mounts of one volume.
pub(crate) fn laptop() -> InventedHost {
    let host = InventedHost::new();
    host.device("pci0000:00/nvme/nvme0", "nvme0n1", "259:0", 488_386)
        .queue("nvme0n1", 0, "[none] mq-deadline kyber", 1023)
        .part("nvme0n1", "nvme0n1p1", "259:1", 512)
        .part("nvme0n1", "nvme0n1p2", "259:2", 1024)
        .part("nvme0n1", "nvme0n1p3", "259:3", 486_850)
        .mapped("dm-0", "252:0", 486_834, "luks-8f1c", "CRYPT-LUKS2-8f1c-luks-8f1c")
        .mapped("dm-1", "252:1", 102_400, "vg0-root", "LVM-aaa")
        .mapped("dm-2", "252:2", 16_384, "vg0-swap", "LVM-bbb")
        .mapped("dm-10", "252:10", 368_050, "vg0-my--data", "LVM-ccc")
        .on("dm-0", &["nvme0n1p3"])
        .on("dm-1", &["dm-0"])
        .on("dm-2", &["dm-0"])
        .on("dm-10", &["dm-0"])
        .virtual_device("loop0", "7:0", 64)
        .backed("loop0", "/var/lib/snapd/snaps/core20_2318.snap")
        .virtual_device("loop1", "7:1", 20_480)
        .backed("loop1", "/srv/my data/images/vm.img (deleted)")
        .virtual_device("loop2", "7:2", 0)
        .virtual_device("ram0", "1:0", 64)
        .virtual_device("zram0", "251:0", 8192)
        .disk("sr0", "11:0", 1024)
        .mounts(&[
            ("0:21", "/proc", "proc"),
            ("252:1", "/", "/dev/mapper/vg0-root"),
            ("259:2", "/boot", "/dev/nvme0n1p2"),
            ("259:1", "/boot/efi", "/dev/nvme0n1p1"),
            ("252:10", "/home", "/dev/mapper/vg0-my--data"),
            ("252:10", "/var/lib/containers", "/dev/mapper/vg0-my--data"),
            // A btrfs subvolume, whose device number is not that of a block device.
            ("0:45", r"/srv/my\040data", "/dev/vg0/my-data"),
            ("252:10", "/home", "/dev/mapper/vg0-my--data"),
            ("7:0", "/snap/core20/2318", "/dev/loop0"),
        ])
        .file(
            "proc/swaps",
            "Filename Type Size Used Priority\n/dev/dm-2 partition 1 0 -2\n/dev/zram0 partition 1 0 100",
        );
    host.file("sys/block/sr0/queue/iostats", 0).file("sys/block/zram0/queue/iostats", 0);
    host
}

/// A server: md, multipath by device-mapper and by NVMe, bcache, an old RAID controller.
pub(crate) fn server() -> InventedHost {
    let host = InventedHost::new();
    for (letter, minor) in [("a", 0), ("b", 16), ("c", 32), ("d", 48), ("aa", 160)] {
        host.disk(&format!("sd{letter}"), &format!("8:{minor}"), 1_907_729);
    }
    host.part("sda", "sda1", "8:1", 1_907_728)
        .part("sdb", "sdb1", "8:17", 1_907_728)
        .virtual_device("md127", "9:127", 1_907_600)
        .file("sys/block/md127/md/level", "raid1")
        .on("md127", &["sda1", "sdb1"])
        .link("dev/md/home", "../md127")
        .link("dev/md/127", "../md127")
        .mapped("dm-0", "252:0", 1_907_729, "mpatha", "mpath-360014")
        .mapped("dm-1", "252:1", 1_907_000, "mpatha-part1", "part1-mpath-360014")
        .on("dm-0", &["sdc", "sdd"])
        .on("dm-1", &["dm-0"])
        .virtual_device("bcache0", "250:0", 1_907_728)
        .on("bcache0", &["nvme1n1", "sdaa"])
        .device("pci0000:00/nvme/nvme1", "nvme1n1", "259:9", 190_782)
        .queue("nvme1n1", 0, "[none]", 1023)
        .device("virtual/nvme-subsystem/nvme-subsys0", "nvme0n1", "259:1", 3_662_830)
        .part("nvme0n1", "nvme0n1p1", "259:2", 3_662_829)
        .device("pci0000:00/nvme/nvme0", "nvme0c0n1", "", 3_662_830)
        .device("pci0000:00/nvme/nvme2", "nvme0c1n1", "", 3_662_830)
        .file("sys/block/nvme0c0n1/hidden", 1)
        .disk("cciss!c0d0", "104:0", 69_973)
        .part("cciss!c0d0", "cciss!c0d0p1", "104:1", 69_972)
        .virtual_device("nbd0", "43:0", 0)
        .virtual_device("nullb0", "249:0", 256_000)
        .mounts(&[
            ("104:1", "/", "/dev/cciss/c0d0p1"),
            ("9:127", "/home", "/dev/md127"),
            ("252:1", "/var/lib/postgresql/16/main/pg_wal", "/dev/mapper/mpatha-part1"),
            ("250:0", "/srv", "/dev/bcache0"),
            ("259:2", "/var/lib/mysql", "/dev/nvme0n1p1"),
        ]);
    host
}

/// A tree that no kernel would create: circles, names with control characters, missing and malformed files.
pub(crate) fn malformed() -> InventedHost {
    let host = InventedHost::new();
    host.virtual_device("dm-0", "252:0", 1)
        .virtual_device("dm-1", "252:1", 1)
        .on("dm-0", &["dm-1", "gone"])
        .on("dm-1", &["dm-0"])
        .disk("sd\u{1b}[31m", "8:0", 1)
        .mapped("dm-2", "x:y", 1, "a\u{9b}2J\u{202e}b", "")
        .file("sys/block/sdx/dev", "")
        .file("sys/block/sdx/size", "many")
        .file("sys/block/sdx/queue/scheduler", "")
        .file("sys/block/sdx/queue/iostats", "perhaps")
        .file("sys/block/sdy", "no folder")
        .link("sys/block/sdz", "../nowhere")
        .virtual_device("loop0", "7:0", 1)
        .backed("loop0", "/a/\u{1b}]0;title\u{7}")
        .file("proc/1/mountinfo", "nonsense\n1 2 3")
        .file("proc/self/mountinfo", "1 2 252:2 / /mnt/\\033[2J rw - ext4 /dev/x rw");
    host
}
