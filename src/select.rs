//! Which devices a report shows, and in which order.

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

/// A device to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chosen<'a> {
    /// Where it is among the devices.
    pub index: usize,
    /// What to call it.
    pub shown: &'a str,
}

impl Wanted {
    /// The devices to show, in the order to show them: by the text of what they are called; the order of
    /// /proc/diskstats after those named where partitions are listed with their disks.
    pub fn choose<'a>(&'a self, devices: &'a [Device], topology: &Topology) -> Vec<Chosen<'a>> {
        let as_listed = matches!(self.others, Others::All | Others::WorkedAndPartitions);
        let mut chosen: Vec<Chosen<'a>> = Vec::new();
        for named in &self.named {
            chosen.extend(
                position(devices, |device| named.is(device))
                    .map(|index| Chosen { index, shown: &named.shown }),
            );
            if let (true, Key::Name(disk)) = (named.partitions, &named.key) {
                let parts = indexes(devices, |device| topology.disk_of(&device.name) == Some(disk));
                chosen.extend(parts.map(|index| Chosen { index, shown: &devices[index].name }));
            }
        }
        chosen.sort_by(|a, b| a.shown.cmp(b.shown));
        chosen.dedup_by(|a, b| a.shown == b.shown);
        let named = chosen.len();
        let others = indexes(devices, |device| self.is_other(device, topology));
        for index in others {
            let shown = devices[index].name.as_str();
            if !chosen[..named].iter().any(|chosen| chosen.shown == shown) {
                chosen.push(Chosen { index, shown });
            }
        }
        if !as_listed {
            chosen.sort_by(|a, b| a.shown.cmp(b.shown));
        }
        chosen
    }

    fn is_other(&self, device: &Device, topology: &Topology) -> bool {
        match self.others {
            Others::None => false,
            Others::All => true,
            Others::WorkedAndPartitions => has_worked(device),
            Others::Whole => topology.is_whole(&device.name),
            Others::Worked => has_worked(device) && topology.is_whole(&device.name),
        }
    }
}

fn position(devices: &[Device], is_it: impl Fn(&Device) -> bool) -> Option<usize> {
    devices.iter().position(is_it)
}

fn indexes<'a>(
    devices: &'a [Device],
    is_it: impl Fn(&Device) -> bool + 'a,
) -> impl Iterator<Item = usize> + 'a {
    devices.iter().enumerate().filter(move |(_, device)| is_it(device)).map(|(index, _)| index)
}

/// Whether the device has completed a request since boot.
fn has_worked(device: &Device) -> bool {
    device.counters.completed() != [0; 4]
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
        wanted.choose(&devices, &topology).into_iter().map(|chosen| chosen.shown.to_owned()).collect()
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
        assert_eq!(wanted.choose(&devices, &topology), [Chosen { index: 1, shown: "mylink" }]);
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
