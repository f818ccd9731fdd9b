//! Identities of devices.

use std::fs;
use std::time::Instant;

use blkstat::source::{read_topology, reread_topology};
use blkstat::topology::Topology;

use super::output::run_devices;
use crate::support::fake_root::FakeRoot;

fn write(root: &FakeRoot, files: &[(&str, &str)]) {
    for (path, text) in files {
        root.file(path, text);
    }
}

#[test]
fn every_kind_of_device_has_its_identity() {
    let root = FakeRoot::new();
    write(
        &root,
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
    fs::write(
        root.path().join("sys/block/sdb/device/vpd_pg80"),
        b"\0\x80\0\x06 QM001",
    )
    .unwrap();
    root.pipe("sys/block/vdc/serial")
        .link("dev/disk/by-id/virtio-V3", "../../vdc");
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
    assert_eq!(
        (topology.identity("sda"), topology.identity("sdd")),
        (identity("sda"), None)
    );
    let (out, _, _) = run_devices("--json md0", root.path());
    let document: serde_json::Value = serde_json::from_str(&out).unwrap();
    let md0 = &document["devices"][0];
    assert_eq!(md0["identity"], "md:8a5e2c1f:00000000");
}

#[test]
fn a_disk_that_does_not_answer_is_asked_for_its_serial_number_once() {
    let root = FakeRoot::new();
    let file = |disk: &str, name: &str| format!("sys/block/{disk}/{name}");
    let (vda, vdb) = (
        |name: &str| file("vda", name),
        |name: &str| file("vdb", name),
    );
    write(
        &root,
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
    assert_eq!(
        ["vda", "vdb"].map(|name| first.identity(name)),
        [Some("serial:A"), None]
    );
    root.pipe(&vda("serial"));
    write(&root, &[(&vdb("inflight"), "0 0\n")]);
    // Both are known, so neither is asked.
    let start = Instant::now();
    assert_eq!(
        ["vda", "vdb"].map(|name| read(&first).identity(name).map(str::to_owned)),
        [Some("serial:A".to_owned()), None]
    );
    // Another disk took the name, and hangs.
    write(&root, &[(&vda("diskseq"), "8\n")]);
    assert_eq!(read(&first).identity("vda"), None);
    assert!(start.elapsed().as_secs() < 30);
}
