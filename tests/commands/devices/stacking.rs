//! What is read from /sys: kinds, sizes, queues, and which device is on which.

use blkstat::source::read_topology;
use blkstat::topology::{Kind, Node, Topology};

use super::hosts::{empty, laptop, malformed, server};

fn node<'a>(topology: &'a Topology, name: &str) -> &'a Node {
    topology
        .node(name)
        .unwrap_or_else(|| panic!("no {name} in {topology:#?}"))
}

fn on<'a>(topology: &'a Topology, name: &str) -> Vec<&'a str> {
    node(topology, name)
        .backing_devices
        .iter()
        .map(String::as_str)
        .collect()
}

#[test]
fn lvm_is_on_luks_on_a_partition() {
    let host = laptop();
    let topology = read_topology(host.path());
    let kinds = ["nvme0n1", "nvme0n1p3", "dm-0", "dm-1"].map(|name| node(&topology, name).kind);
    assert_eq!(kinds, [Kind::Disk, Kind::Partition, Kind::Crypt, Kind::Lvm]);
    assert_eq!(topology.depth("dm-1"), 3);
    let root = node(&topology, "dm-1");
    assert_eq!(
        (root.major, root.minor, root.alias.as_deref()),
        (252, 1, Some("vg0-root"))
    );
    assert_eq!(
        (&root.mountpoints, root.size_bytes),
        (&vec!["/".to_owned()], Some(100 << 30))
    );
    let disk = node(&topology, "nvme0n1");
    assert_eq!(
        (disk.rotational, disk.nr_requests, disk.iostats_enabled),
        (Some(false), Some(1023), Some(true))
    );
    assert_eq!(disk.scheduler.as_deref(), Some("none"));
    assert_eq!(node(&topology, "dm-2").mountpoints, ["[SWAP]"]);
    assert_eq!(node(&topology, "zram0").iostats_enabled, Some(false));
    assert_eq!(node(&topology, "sr0").kind, Kind::Optical);
}

#[test]
fn a_partition_has_the_queue_of_its_disk() {
    let host = laptop();
    host.iostats("nvme0n1", false);
    let topology = read_topology(host.path());
    let part = node(&topology, "nvme0n1p2");
    assert_eq!(
        (part.iostats_enabled, part.nr_requests),
        (Some(false), Some(1023))
    );
}

#[test]
fn mount_points_are_unescaped_and_listed_once() {
    let host = laptop();
    let topology = read_topology(host.path());
    assert_eq!(
        node(&topology, "dm-10").mountpoints,
        ["/home", "/var/lib/containers", "/srv/my data"]
    );
}

#[test]
fn a_loop_device_is_on_the_device_that_holds_its_file() {
    let host = laptop();
    let topology = read_topology(host.path());
    assert_eq!(on(&topology, "loop0"), ["dm-1"]);
    assert_eq!(on(&topology, "loop1"), ["dm-10"]);
    assert!(on(&topology, "loop2").is_empty());
    let file = node(&topology, "loop1").backing_file.as_deref();
    assert_eq!(file, Some("/srv/my data/images/vm.img (deleted)"));
}

#[test]
fn arrays_and_multipath_devices_are_on_their_members() {
    let host = server();
    let topology = read_topology(host.path());
    assert_eq!(on(&topology, "md127"), ["sda1", "sdb1"]);
    assert_eq!(node(&topology, "md127").alias.as_deref(), Some("md/home"));
    assert_eq!(on(&topology, "dm-0"), ["sdc", "sdd"]);
    assert_eq!(on(&topology, "bcache0"), ["nvme1n1", "sdaa"]);
    let kinds =
        ["md127", "dm-0", "dm-1", "bcache0", "nullb0"].map(|name| node(&topology, name).kind);
    assert_eq!(
        kinds,
        [
            Kind::Md,
            Kind::Multipath,
            Kind::Dm,
            Kind::Virtual,
            Kind::Virtual
        ]
    );
}

#[test]
fn an_nvme_multipath_disk_is_on_its_paths() {
    let host = server();
    let topology = read_topology(host.path());
    assert_eq!(on(&topology, "nvme0n1"), ["nvme0c0n1", "nvme0c1n1"]);
    assert_eq!(node(&topology, "nvme0n1").kind, Kind::Disk);
    let path = node(&topology, "nvme0c0n1");
    assert_eq!((path.kind, path.major, path.minor), (Kind::NvmePath, 0, 0));
    assert_eq!(topology.depth("nvme0n1p1"), 2);
}

#[test]
fn an_exclamation_mark_in_sysfs_is_a_slash() {
    let host = server();
    let topology = read_topology(host.path());
    assert_eq!(on(&topology, "cciss/c0d0p1"), ["cciss/c0d0"]);
    assert_eq!(node(&topology, "cciss/c0d0p1").mountpoints, ["/"]);
}

#[test]
fn malformed_values_are_unknown() {
    let host = malformed();
    let topology = read_topology(host.path());
    for name in ["sdx", "sdy", "sdz"] {
        assert_eq!(
            *node(&topology, name),
            Node {
                name: name.into(),
                ..Node::default()
            }
        );
    }
    assert_eq!(node(&topology, "dm-0").backing_devices, ["dm-1", "gone"]);
}

#[test]
fn absolute_links_in_a_copied_tree_stay_in_it() {
    let host = empty();
    host.file("sys/devices/x/block/sda/dev", "8:0")
        .file("sys/devices/x/block/sda/size", 2048)
        .link("sys/block/sda", "/sys/devices/x/block/sda")
        .file("sys/devices/x/block/sdb/size", 4096)
        .link("sys/block/sdb", host.path().join("sys/devices/x/block/sdb"))
        .file("proc/4/mounts", "/dev/sda /mnt\\040x ext4 rw 0 0")
        .link("proc/mounts", "/proc/4/mounts");
    let topology = read_topology(host.path());
    assert_eq!(node(&topology, "sda").size_bytes, Some(1 << 20));
    assert_eq!(node(&topology, "sdb").size_bytes, Some(2 << 20));
    assert_eq!(node(&topology, "sda").mountpoints, ["/mnt x"]);
}

#[test]
fn directories_in_place_of_links_work_too() {
    let host = empty();
    host.file("sys/block/sda/size", 2048)
        .file("sys/block/sda/sda1/size", 1024)
        .file("sys/block/sdb/size", 2048)
        .file("sys/block/sdb1/partition", 1);
    let topology = read_topology(host.path());
    assert_eq!(
        topology
            .nodes()
            .iter()
            .map(|node| node.name.as_str())
            .collect::<Vec<_>>(),
        ["sda", "sda1", "sdb", "sdb1"]
    );
    assert_eq!(
        (on(&topology, "sda1"), on(&topology, "sdb1")),
        (vec!["sda"], vec!["sdb"])
    );
}
