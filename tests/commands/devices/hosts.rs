//! Synthetic hosts with many kinds of block devices.

use crate::support::fake_root::FakeRoot;

/// An empty host: without block devices.
pub(crate) fn empty() -> FakeRoot {
    let host = FakeRoot::new();
    host.folder("sys/block");
    host
}

/// A laptop: LVM on an encrypted partition, loop devices, several mounts of one volume.
pub(crate) fn laptop() -> FakeRoot {
    let host = empty();
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
    host.iostats("sr0", false).iostats("zram0", false);
    host
}

/// A server: md, multipath by device-mapper and by NVMe, bcache, an old RAID controller.
pub(crate) fn server() -> FakeRoot {
    let host = empty();
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
        .mapped(
            "dm-1",
            "252:1",
            1_907_000,
            "mpatha-part1",
            "part1-mpath-360014",
        )
        .on("dm-0", &["sdc", "sdd"])
        .on("dm-1", &["dm-0"])
        .virtual_device("bcache0", "250:0", 1_907_728)
        .on("bcache0", &["nvme1n1", "sdaa"])
        .device("pci0000:00/nvme/nvme1", "nvme1n1", "259:9", 190_782)
        .queue("nvme1n1", 0, "[none]", 1023)
        .device(
            "virtual/nvme-subsystem/nvme-subsys0",
            "nvme0n1",
            "259:1",
            3_662_830,
        )
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
            (
                "252:1",
                "/var/lib/postgresql/16/main/pg_wal",
                "/dev/mapper/mpatha-part1",
            ),
            ("250:0", "/srv", "/dev/bcache0"),
            ("259:2", "/var/lib/mysql", "/dev/nvme0n1p1"),
        ]);
    host
}

/// A tree that no kernel would create: circles, names with control characters, missing and malformed files.
pub(crate) fn malformed() -> FakeRoot {
    let host = empty();
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
        .file(
            "proc/self/mountinfo",
            "1 2 252:2 / /mnt/\\033[2J rw - ext4 /dev/x rw",
        );
    host
}
