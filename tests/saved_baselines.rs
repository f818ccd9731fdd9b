//! Identities of devices, and baselines that are saved for them.

#![allow(clippy::unwrap_used, clippy::panic, clippy::disallowed_methods)]

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use blkstat::report::devices::json;
use blkstat::source::{read_topology, reread_topology};
use blkstat::topology::Topology;

/// Writes files below a directory.
fn write(root: &Path, files: &[(&str, &str)]) {
    for (path, text) in files {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

/// Replaces a file by a pipe that nothing is ever written to: reading it hangs.
fn make_hang(path: &Path) {
    let _ = fs::remove_file(path);
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[test]
fn every_kind_of_device_has_its_identity() {
    let root = tempfile::tempdir().unwrap();
    write(
        root.path(),
        &[
            ("sys/block/nvme0n1/wwid", "eui.0025385b71b00001\n"),
            ("sys/block/nvme0n1/device/serial", "S4EWNX0N\n"),
            ("sys/block/nvme0n1/nvme0n1p2/partition", "2\n"),
            ("sys/block/sda/device/wwid", "t10.ATA     Samsung SSD 860\n"),
            ("sys/block/sdb/device/wwid", "naa.0000000000000000\n"),
            ("sys/block/sdb/device/vpd_pg80", "\0\u{0}\0\0"),
            ("sys/block/mmcblk0/device/serial", "0x1b2c3d4e\n"),
            ("sys/block/vda/serial", "disk \u{1b}[2J1"),
            ("sys/block/vdb/serial", "                    "),
            ("sys/block/vdc/serial", "never read"),
            ("sys/block/dm-0/dm/uuid", "LVM-abc\n"),
            ("sys/block/dm-1/dm/uuid", "\n"),
            ("sys/block/md0/md/uuid", "8a5e2c1f:00000000\n"),
            ("sys/block/sdc/device/wwid", "naa.600140\n"),
            ("sys/block/sdd/device/wwid", "naa.600140\n"),
            ("sys/block/loop0/size", "8\n"),
        ],
    );
    fs::write(root.path().join("sys/block/sdb/device/vpd_pg80"), b"\0\x80\0\x06 QM001").unwrap();
    make_hang(&root.path().join("sys/block/vdc/serial"));
    fs::create_dir_all(root.path().join("dev/disk/by-id")).unwrap();
    std::os::unix::fs::symlink("../../vdc", root.path().join("dev/disk/by-id/virtio-V3")).unwrap();
    let topology = read_topology(root.path());
    let identity = |name: &str| topology.node(name).unwrap().identity.as_deref();
    for (name, expected) in [
        ("nvme0n1", Some("wwid:eui.0025385b71b00001")),
        ("nvme0n1p2", Some("wwid:eui.0025385b71b00001-part2")),
        ("sda", Some("wwid:t10.ATA_Samsung_SSD_860")),
        ("sdb", Some("serial:QM001")),
        ("mmcblk0", Some("serial:0x1b2c3d4e")),
        ("vda", Some("serial:disk_\\u{1b}[2J1")),
        ("vdb", None),
        ("vdc", Some("serial:V3")),
        ("dm-0", Some("dm:LVM-abc")),
        ("dm-1", None),
        ("md0", Some("md:8a5e2c1f:00000000")),
        ("sdd", Some("wwid:naa.600140")),
        ("loop0", None),
    ] {
        assert_eq!(identity(name), expected, "{name}");
    }
    assert_eq!((topology.identity("sda"), topology.identity("sdd")), (identity("sda"), None));
    let mut out = Vec::new();
    json(&topology, &mut out);
    let document: serde_json::Value = serde_json::from_slice(&out).unwrap();
    let md0 = document["devices"].as_array().unwrap().iter().find(|device| device["name"] == "md0").unwrap();
    assert_eq!(md0["identity"], "md:8a5e2c1f:00000000");
}

#[test]
fn a_disk_that_does_not_answer_is_asked_for_its_serial_number_once() {
    let root = tempfile::tempdir().unwrap();
    let file = |disk: &str, name: &str| format!("sys/block/{disk}/{name}");
    let (vda, vdb) = (|name: &str| file("vda", name), |name: &str| file("vdb", name));
    write(
        root.path(),
        &[
            (&vda("serial"), "A"),
            (&vda("diskseq"), "7\n"),
            (&vdb("serial"), "B"),
            (&vdb("queue/nr_requests"), "64\n"),
            (&vdb("inflight"), "      20       13\n"),
        ],
    );
    let read = |previous: &Topology| reread_topology(root.path(), previous);
    let first = read(&Topology::default());
    // The queue of vdb is more than half full.
    assert_eq!(["vda", "vdb"].map(|name| first.identity(name)), [Some("serial:A"), None]);
    make_hang(&root.path().join(vda("serial")));
    write(root.path(), &[(&vdb("inflight"), "0 0\n")]);
    // Both are known, so neither is asked.
    let start = Instant::now();
    assert_eq!(
        ["vda", "vdb"].map(|name| read(&first).identity(name).map(str::to_owned)),
        [Some("serial:A".to_owned()), None]
    );
    // Another disk took the name, and hangs.
    write(root.path(), &[(&vda("diskseq"), "8\n")]);
    assert_eq!(read(&first).identity("vda"), None);
    assert!(start.elapsed().as_secs() < 30);
}
