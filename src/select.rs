//! Which devices a report shows, and in which order.

use std::collections::{HashMap, HashSet};

use crate::counters::{Counters, Device};
use crate::topology::{Key, Named, Topology};

/// Which devices are shown beside those that are named.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DefaultDevices {
    /// None.
    None,
    /// Every whole device that has worked since boot.
    #[default]
    Worked,
    /// Every whole device.
    Whole,
    /// Every device and partition that has worked, in the order of /proc/diskstats.
    WorkedAndPartitions,
    /// Every device and every partition, in the order of /proc/diskstats.
    All,
}

/// What was asked for by name, in the order in which it was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// A device, used or not.
    Device(Named),
    /// A group of this name begins: it holds the devices up to the next one.
    Group(String),
}

/// The devices asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// These.
    pub items: Vec<Item>,
    /// And these.
    pub others: DefaultDevices,
    /// From this item on everything stands in the order in which it was asked for, not by name.
    pub unsorted_from: Option<usize>,
    /// Partitions that were found once and for all; see [`Selection::fix_partitions`].
    pub partitions: Vec<Named>,
}

/// A place in a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReportEntry {
    /// A device.
    Device(DevicePlace),
    /// The sum of the group of this index among the items.
    Group(usize),
}

/// A device that is to be shown, or counted for its group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DevicePlace {
    /// Where it is among the devices that were read.
    pub index: usize,
    /// What it was called when it was asked for by another name.
    pub alias: Option<String>,
    /// The group that it is in: an index among the items.
    pub group: Option<usize>,
    /// It is shown only if it has worked since boot.
    pub only_worked: bool,
}

impl DevicePlace {
    /// Whether the device, whose counters are `now`, has yet to work before it counts.
    pub fn is_unused(&self, now: &Counters) -> bool {
        self.only_worked && now.completed() == [0; 4]
    }

    fn sort_key<'a>(&'a self, devices: &'a [Device]) -> &'a str {
        self.alias.as_deref().unwrap_or(&devices[self.index].name)
    }
}

/// The places while they are found.
struct Listing<'a> {
    devices: &'a [Device],
    places: Vec<ReportEntry>,
    seen: HashSet<String>,
}

impl Listing<'_> {
    /// Adds a device unless it is there: before the first whose name comes after it, or at the end.
    fn add(&mut self, place: DevicePlace, sorts_as: Option<&str>, sorted: bool) {
        let key = place.sort_key(self.devices);
        if !self.seen.insert(key.to_owned()) {
            return;
        }
        let key = sorts_as.unwrap_or(key);
        let comes_after = |other: &ReportEntry| match other {
            ReportEntry::Device(other) => other.sort_key(self.devices) > key,
            ReportEntry::Group(_) => false,
        };
        let at = if sorted { self.places.iter().position(comes_after) } else { None };
        self.places.insert(at.unwrap_or(self.places.len()), ReportEntry::Device(place));
    }
}

impl Selection {
    /// The places of a report, in their order: devices by what they are called; from the first group, or the
    /// first `-p` without devices, in the order in which they were asked for, then as they are listed.
    ///
    /// It holds as long as the names do.
    ///
    /// `came` ranks the names in the order in which they came; where partitions are listed with their disks, a
    /// device keeps its place while it is away.
    pub fn places(
        &self,
        devices: &[Device],
        topology: &Topology,
        came: &HashMap<String, usize>,
    ) -> Vec<ReportEntry> {
        let mut listing = Listing { devices, places: Vec::new(), seen: HashSet::new() };
        let last_group = self.items.iter().rposition(|item| matches!(item, Item::Group(_)));
        let names_devices = self.items.iter().any(|item| matches!(item, Item::Device(_)));
        let mut group = None;
        let is_sorted = |at: usize| self.unsorted_from.is_none_or(|from| at < from);
        for (at, item) in self.items.iter().enumerate() {
            match item {
                // As long as no device is named, only the last group has devices.
                Item::Group(_) if !names_devices && Some(at) != last_group => {}
                Item::Group(_) => listing.places.extend(group.replace(at).map(ReportEntry::Group)),
                Item::Device(named) => {
                    if let Some(index) = devices.iter().position(|device| named.is(device)) {
                        let place = DevicePlace { index, alias: named.alias(), group, only_worked: false };
                        listing.add(place, named.sorts_as.as_deref(), is_sorted(at));
                    }
                }
            }
        }
        let sorted = self.unsorted_from.is_none();
        let found = self.partitions_of_items(devices, topology);
        for named in self.partitions.iter().chain(&found) {
            if let Some(index) = devices.iter().position(|device| named.is(device)) {
                let place =
                    DevicePlace { index, alias: named.alias(), group: last_group, only_worked: false };
                listing.add(place, None, sorted);
            }
        }
        let only_worked = matches!(self.others, DefaultDevices::Worked | DefaultDevices::WorkedAndPartitions);
        let others: Vec<usize> = self.others(devices, topology, came, sorted);
        if sorted && listing.places.is_empty() {
            // Nearly always; inserting them one by one would take long.
            let place =
                |index| ReportEntry::Device(DevicePlace { index, alias: None, group: None, only_worked });
            return others.into_iter().map(place).collect();
        }
        for index in others {
            listing.add(DevicePlace { index, alias: None, group: last_group, only_worked }, None, sorted);
        }
        listing.places.extend(group.map(ReportEntry::Group));
        listing.places
    }

    /// The partitions of the disks that were named with theirs.
    fn partitions_of_items(&self, devices: &[Device], topology: &Topology) -> Vec<Named> {
        let disks = self.items.iter().filter_map(|item| match item {
            Item::Device(Named { partitions: true, key: Key::Name(disk), .. }) => Some(disk.as_str()),
            _ => None,
        });
        let parts = |disk| devices.iter().filter(move |part| topology.disk_of(&part.name) == Some(disk));
        let named =
            |part: &Device| Named { key: Key::Number(part.major, part.minor), ..Named::plain(&part.name) };
        disks.flat_map(|disk| parts(disk).map(named)).collect()
    }

    /// Finds the partitions of the named disks now, and never again: iostat looks for them once, and knows them by
    /// their numbers. `listed` gives the names in the folder of a disk, in their order.
    pub fn fix_partitions(
        &mut self,
        devices: &[Device],
        topology: &Topology,
        listed: impl Fn(&str) -> Vec<String>,
    ) {
        let mut parts = self.partitions_of_items(devices, topology);
        parts.sort_by_cached_key(|part| {
            let disk = topology.disk_of(&part.shown).unwrap_or_default();
            let disks =
                self.items.iter().position(|item| matches!(item, Item::Device(named) if named.shown == disk));
            (disks, listed(disk).iter().position(|name| *name == part.shown))
        });
        // Where all are listed, they come with the others.
        self.partitions = if self.others.are_as_listed() { Vec::new() } else { parts };
        for item in &mut self.items {
            if let Item::Device(named) = item {
                named.partitions = false;
            }
        }
    }

    /// The devices that were not asked for by name, by name or as they are listed.
    fn others(
        &self,
        devices: &[Device],
        topology: &Topology,
        came: &HashMap<String, usize>,
        sorted: bool,
    ) -> Vec<usize> {
        let is_one = |index: &usize| match self.others {
            DefaultDevices::None => false,
            DefaultDevices::All | DefaultDevices::WorkedAndPartitions => true,
            DefaultDevices::Whole | DefaultDevices::Worked => topology.is_whole(&devices[*index].name),
        };
        let mut others: Vec<usize> = (0..devices.len()).filter(is_one).collect();
        if sorted {
            others.sort_by(|&a, &b| devices[a].name.cmp(&devices[b].name));
        } else if self.others.are_as_listed() {
            others.sort_by_key(|&index| came.get(&devices[index].name).copied().unwrap_or(usize::MAX));
        } else {
            others.sort_by_key(|&index| topology.index_of(&devices[index].name));
        }
        others
    }
}

impl DefaultDevices {
    /// Whether they come in the order of /proc/diskstats.
    pub fn are_as_listed(self) -> bool {
        matches!(self, DefaultDevices::All | DefaultDevices::WorkedAndPartitions)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::Requests;
    use crate::topology::{Kind, Node};

    fn machine() -> (Vec<Device>, Topology) {
        let device = |name: &str, ios| Device {
            name: name.into(),
            counters: Counters { reads: Requests { ios, ..Requests::default() }, ..Counters::default() },
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
        (devices, Topology::new(vec![of_sda("sda1"), of_sda("sda10")]))
    }

    fn chosen(wanted: &Selection) -> Vec<String> {
        let (devices, topology) = machine();
        let shown = |place: &ReportEntry| match place {
            ReportEntry::Group(at) => Some(format!("({at})")),
            ReportEntry::Device(place) if place.is_unused(&devices[place.index].counters) => None,
            ReportEntry::Device(place) => Some(place.sort_key(&devices).to_owned()),
        };
        wanted.places(&devices, &topology, &HashMap::new()).iter().filter_map(shown).collect()
    }

    fn device(name: &str) -> Item {
        Item::Device(Named::plain(name))
    }

    fn group(name: &str) -> Item {
        Item::Group(name.to_owned())
    }

    fn named(names: &[&str], others: DefaultDevices) -> Selection {
        let unsorted_from = others.are_as_listed().then_some(0);
        Selection {
            items: names.iter().map(|name| device(name)).collect(),
            others,
            unsorted_from,
            partitions: vec![],
        }
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn by_default_whole_devices_that_have_worked_by_name() {
        assert_eq!(chosen(&Selection::default()), names(&["dm-10", "dm-2", "sda", "sdb"]));
    }

    #[test]
    fn all_shows_those_that_never_worked_too() {
        assert_eq!(
            chosen(&named(&[], DefaultDevices::Whole)),
            names(&["dm-10", "dm-2", "loop0", "sda", "sdb"])
        );
        assert_eq!(
            chosen(&named(&["sda1"], DefaultDevices::Whole)),
            names(&["dm-10", "dm-2", "loop0", "sda", "sda1", "sdb"])
        );
    }

    #[test]
    fn named_devices_come_once_and_by_name() {
        assert_eq!(
            chosen(&named(&["sda10", "loop0", "nope", "loop0"], DefaultDevices::None)),
            names(&["loop0", "sda10"])
        );
    }

    #[test]
    fn a_disk_with_its_partitions() {
        let sda = Named { partitions: true, ..Named::plain("sda") };
        assert_eq!(
            chosen(&Selection {
                items: vec![Item::Device(sda)],
                others: DefaultDevices::None,
                unsorted_from: None,
                partitions: vec![]
            }),
            names(&["sda", "sda1", "sda10"])
        );
    }

    #[test]
    fn a_device_named_by_another_node_is_called_as_it_was_named() {
        let (mut devices, topology) = machine();
        devices[1].minor = 7;
        let link =
            Named { shown: "mylink".into(), key: Key::Number(0, 7), sorts_as: None, partitions: false };
        let wanted = Selection {
            items: vec![Item::Device(link)],
            others: DefaultDevices::None,
            unsorted_from: None,
            partitions: vec![],
        };
        let places = wanted.places(&devices, &topology, &HashMap::new());
        let alias = Some("mylink".to_owned());
        assert_eq!(
            places,
            [ReportEntry::Device(DevicePlace { index: 1, alias, group: None, only_worked: false })]
        );
    }

    #[test]
    fn groups_follow_their_members_in_the_order_that_was_asked_for() {
        let items = vec![
            device("sdb"),
            device("dm-2"),
            group("g"),
            device("sdb"),
            device("sda"),
            group("h"),
            device("loop0"),
        ];
        let wanted =
            Selection { items, others: DefaultDevices::None, unsorted_from: Some(2), partitions: vec![] };
        assert_eq!(chosen(&wanted), names(&["dm-2", "sdb", "sda", "(2)", "loop0", "(5)"]));
    }

    #[test]
    fn without_named_devices_the_last_group_has_them_all() {
        let wanted = Selection {
            items: vec![group("g"), group("h")],
            others: DefaultDevices::Worked,
            unsorted_from: Some(0),
            partitions: vec![],
        };
        assert_eq!(chosen(&wanted), names(&["sdb", "sda", "dm-2", "dm-10", "(1)"]));
    }

    #[test]
    fn all_partitions_come_in_the_order_of_diskstats_after_those_named() {
        let all = ["sdb", "sda", "sda1", "sda10", "dm-2", "dm-10", "loop0"];
        assert_eq!(chosen(&named(&[], DefaultDevices::All)), names(&all));
        assert_eq!(chosen(&named(&[], DefaultDevices::WorkedAndPartitions)), names(&all[..6]));
        let expected = ["dm-2", "sdb", "sda", "sda1", "sda10", "dm-10", "loop0"];
        assert_eq!(chosen(&named(&["dm-2"], DefaultDevices::All)), names(&expected));
    }
}
