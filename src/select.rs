//! Which devices a report shows, and in which order.

use std::collections::HashSet;

use crate::counters::Device;
use crate::topology::{Key, Named, Topology};

/// Which devices are shown beside those that are named.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Others {
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

/// The devices asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// These, used or not.
    pub named: Vec<Named>,
    /// And these.
    pub others: Others,
}

/// A place in a report: a device to show, at the place where it is to be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Where the device is among those read.
    pub index: usize,
    /// What to call it, where that is not its name.
    pub alias: Option<String>,
    /// It is shown only if it has worked since boot.
    only_worked: bool,
}

impl Place {
    /// What the device at this place is called.
    pub fn shown<'a>(&'a self, devices: &'a [Device]) -> &'a str {
        self.alias.as_deref().unwrap_or(&devices[self.index].name)
    }

    /// Whether the device is to be shown now.
    pub fn is_shown(&self, devices: &[Device]) -> bool {
        !self.only_worked || devices[self.index].counters.completed() != [0; 4]
    }
}

impl Wanted {
    /// The devices that may be shown, in the order to show them: by the text of what they are called; in the
    /// order of /proc/diskstats, after those named, where partitions are listed with their disks.
    ///
    /// It holds as long as the names do.
    pub fn places(&self, devices: &[Device], topology: &Topology) -> Vec<Place> {
        let mut places: Vec<Place> = Vec::new();
        for named in &self.named {
            let alias = matches!(named.key, Key::Number(..)).then(|| named.shown.clone());
            let device = devices.iter().position(|device| named.is(device));
            places.extend(device.map(|index| Place { index, alias, only_worked: false }));
            if let (true, Key::Name(disk)) = (named.partitions, &named.key) {
                let is_part = |index: &usize| topology.disk_of(&devices[*index].name) == Some(disk);
                places.extend((0..devices.len()).filter(is_part).map(Place::always));
            }
        }
        sort(&mut places, devices);
        places.dedup_by(|a, b| a.shown(devices) == b.shown(devices));
        let already: HashSet<String> = places.iter().map(|place| place.shown(devices).to_owned()).collect();
        let others = (0..devices.len()).filter(|&index| {
            let name = &devices[index].name;
            self.others.has_standing(name, topology) && !already.contains(name)
        });
        let only_worked = matches!(self.others, Others::Worked | Others::WorkedAndPartitions);
        places.extend(others.map(|index| Place { only_worked, ..Place::always(index) }));
        if !self.others.are_as_listed() {
            sort(&mut places, devices);
        }
        places
    }
}

impl Place {
    fn always(index: usize) -> Self {
        Self { index, alias: None, only_worked: false }
    }
}

impl Others {
    /// Whether they come in the order of /proc/diskstats, which then is where they are read from in iostat.
    pub fn are_as_listed(self) -> bool {
        matches!(self, Others::All | Others::WorkedAndPartitions)
    }

    fn has_standing(self, name: &str, topology: &Topology) -> bool {
        match self {
            Others::None => false,
            Others::All | Others::WorkedAndPartitions => true,
            Others::Whole | Others::Worked => topology.is_whole(name),
        }
    }
}

fn sort(places: &mut [Place], devices: &[Device]) {
    places.sort_by(|a, b| a.shown(devices).cmp(b.shown(devices)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::{Counters, Requests};

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
        let of_sda = |name: &str| (name.to_owned(), "sda".to_owned());
        (devices, Topology::new([of_sda("sda1"), of_sda("sda10")]))
    }

    fn chosen(wanted: &Wanted) -> Vec<String> {
        let (devices, topology) = machine();
        let places = wanted.places(&devices, &topology);
        let shown = places.iter().filter(|place| place.is_shown(&devices));
        shown.map(|place| place.shown(&devices).to_owned()).collect()
    }

    fn named(names: &[&str], others: Others) -> Wanted {
        Wanted { named: names.iter().map(|name| Named::plain(name)).collect(), others }
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn by_default_whole_devices_that_have_worked_by_name() {
        assert_eq!(chosen(&Wanted::default()), names(&["dm-10", "dm-2", "sda", "sdb"]));
    }

    #[test]
    fn all_shows_those_that_never_worked_too() {
        assert_eq!(chosen(&named(&[], Others::Whole)), names(&["dm-10", "dm-2", "loop0", "sda", "sdb"]));
        assert_eq!(
            chosen(&named(&["sda1"], Others::Whole)),
            names(&["dm-10", "dm-2", "loop0", "sda", "sda1", "sdb"])
        );
    }

    #[test]
    fn named_devices_come_once_and_by_name() {
        assert_eq!(
            chosen(&named(&["sda10", "loop0", "nope", "loop0"], Others::None)),
            names(&["loop0", "sda10"])
        );
    }

    #[test]
    fn a_disk_with_its_partitions() {
        let sda = Named { partitions: true, ..Named::plain("sda") };
        assert_eq!(
            chosen(&Wanted { named: vec![sda], others: Others::None }),
            names(&["sda", "sda1", "sda10"])
        );
    }

    #[test]
    fn a_device_named_by_another_node_is_called_as_it_was_named() {
        let (mut devices, topology) = machine();
        devices[1].minor = 7;
        let link = Named { shown: "mylink".into(), key: Key::Number(0, 7), partitions: false };
        let wanted = Wanted { named: vec![link], others: Others::None };
        let places = wanted.places(&devices, &topology);
        assert_eq!((places.len(), places[0].index, places[0].shown(&devices)), (1, 1, "mylink"));
    }

    #[test]
    fn all_partitions_come_in_the_order_of_diskstats_after_those_named() {
        let all = ["sdb", "sda", "sda1", "sda10", "dm-2", "dm-10", "loop0"];
        assert_eq!(chosen(&named(&[], Others::All)), names(&all));
        assert_eq!(chosen(&named(&[], Others::WorkedAndPartitions)), names(&all[..6]));
        let expected = ["dm-2", "sdb", "sda", "sda1", "sda10", "dm-10", "loop0"];
        assert_eq!(chosen(&named(&["dm-2"], Others::All)), names(&expected));
    }
}
