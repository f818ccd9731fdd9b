//! Tests of the order of entries.

use super::*;
use crate::counters::{Counters, Requests};
use crate::topology::{Kind, Node};
use DefaultDevices::{Whole, WithPartitions};

fn host() -> (Vec<Device>, Topology) {
    let device = |name: &str, ios| Device {
        name: name.into(),
        counters: Counters {
            reads: Requests {
                ios,
                ..Requests::default()
            },
            ..Counters::default()
        },
        ..Device::default()
    };
    let devices = vec![
        device("sdb", 1),
        device("sda", 1),
        device("sda1", 1),
        device("sda10", 1),
        device("dm-2", 1),
        device("dm-10", 1),
        device("loop0", 0),
    ];
    let of_sda = |name: &str| Node {
        name: name.to_owned(),
        kind: Kind::Partition,
        backing_devices: vec!["sda".to_owned()],
        ..Node::default()
    };
    (
        devices,
        Topology::new(vec![of_sda("sda1"), of_sda("sda10")]),
    )
}

fn shown((selection, options): &(Selection, Options)) -> Vec<String> {
    let (devices, topology) = host();
    let name = |entry: &ReportEntry| match entry {
        ReportEntry::Group(at) => Some(format!("({at})")),
        ReportEntry::Device(entry) if entry.is_hidden_unused(&devices[entry.index].counters) => {
            None
        }
        ReportEntry::Device(entry) => Some(entry.sort_key(&devices).to_owned()),
    };
    selection
        .entries(options, &devices, &topology, &HashMap::new())
        .iter()
        .filter_map(name)
        .collect()
}

fn device(name: &str) -> SelectedItem {
    SelectedItem::Device(NamedDevice::plain(name))
}

fn group(name: &str) -> SelectedItem {
    SelectedItem::Group(name.to_owned())
}

/// A selection of these items and default devices, the latter only if `used_only` once they were used.
fn selected(
    items: Vec<SelectedItem>,
    default_devices: DefaultDevices,
    used_only: bool,
    unsorted_from: Option<usize>,
) -> (Selection, Options) {
    let mut options = Options {
        default_devices,
        unsorted_from,
        ..Options::default()
    };
    options.style.used_only = used_only;
    (
        Selection {
            items,
            partitions: vec![],
        },
        options,
    )
}

fn named(names: &[&str], default_devices: DefaultDevices, used_only: bool) -> (Selection, Options) {
    let unsorted_from = (default_devices == WithPartitions).then_some(0);
    selected(
        names.iter().map(|name| device(name)).collect(),
        default_devices,
        used_only,
        unsorted_from,
    )
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn by_default_used_whole_devices_are_sorted_by_name() {
    assert_eq!(
        shown(&named(&[], Whole, true)),
        names(&["dm-10", "dm-2", "sda", "sdb"])
    );
}

#[test]
fn all_includes_unused_devices() {
    assert_eq!(
        shown(&named(&[], Whole, false)),
        names(&["dm-10", "dm-2", "loop0", "sda", "sdb"])
    );
    assert_eq!(
        shown(&named(&["sda1"], Whole, false)),
        names(&["dm-10", "dm-2", "loop0", "sda", "sda1", "sdb"])
    );
}

#[test]
fn named_devices_appear_once_sorted_by_name() {
    assert_eq!(
        shown(&named(
            &["sda10", "loop0", "nope", "loop0"],
            DefaultDevices::None,
            false
        )),
        names(&["loop0", "sda10"])
    );
}

#[test]
fn a_disk_is_followed_by_its_partitions() {
    let sda = NamedDevice {
        partitions: true,
        ..NamedDevice::plain("sda")
    };
    assert_eq!(
        shown(&selected(
            vec![SelectedItem::Device(sda)],
            DefaultDevices::None,
            false,
            None
        )),
        names(&["sda", "sda1", "sda10"])
    );
}

#[test]
fn a_device_named_by_another_node_keeps_that_name() {
    let (mut devices, topology) = host();
    devices[1].minor = 7;
    let link = NamedDevice {
        shown: "mylink".into(),
        key: DeviceKey::Number(0, 7),
        sorts_as: None,
        partitions: false,
    };
    let (selection, options) = selected(
        vec![SelectedItem::Device(link)],
        DefaultDevices::None,
        false,
        None,
    );
    let entries = selection.entries(&options, &devices, &topology, &HashMap::new());
    let alias = Some("mylink".to_owned());
    assert_eq!(
        entries,
        [ReportEntry::Device(DeviceEntry {
            index: 1,
            alias,
            group: None,
            only_if_used: false
        })]
    );
}

#[test]
fn groups_follow_their_members_in_the_order_of_the_command_line() {
    let items = vec![
        device("sdb"),
        device("dm-2"),
        group("g"),
        device("sdb"),
        device("sda"),
        group("h"),
        device("loop0"),
    ];
    let selection = selected(items, DefaultDevices::None, false, Some(2));
    assert_eq!(
        shown(&selection),
        names(&["dm-2", "sdb", "sda", "(2)", "loop0", "(5)"])
    );
}

#[test]
fn without_named_devices_the_last_group_has_all() {
    let selection = selected(vec![group("g"), group("h")], Whole, true, Some(0));
    assert_eq!(
        shown(&selection),
        names(&["(0)", "sdb", "sda", "dm-2", "dm-10", "(1)"])
    );
}

#[test]
fn all_partitions_follow_named_devices_in_the_order_of_diskstats() {
    let all = ["sdb", "sda", "sda1", "sda10", "dm-2", "dm-10", "loop0"];
    assert_eq!(shown(&named(&[], WithPartitions, false)), names(&all));
    assert_eq!(shown(&named(&[], WithPartitions, true)), names(&all[..6]));
    let expected = ["dm-2", "sdb", "sda", "sda1", "sda10", "dm-10", "loop0"];
    assert_eq!(
        shown(&named(&["dm-2"], WithPartitions, false)),
        names(&expected)
    );
}
