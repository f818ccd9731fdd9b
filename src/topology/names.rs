//! The names of devices: the disk of a partition, the disk of an NVMe path, the order of names.

use std::collections::HashMap;

use crate::counters::Device;

/// The major number of partitions whose minor number does not fit into the range of their disk (`BLOCK_EXT_MAJOR`).
const EXTENDED_MAJOR: u32 = 259;

/// Returns, for each device, the index of the disk that it is a partition of, judged by names and major numbers alone.
///
/// The disk must come earlier in the list and have the same major number, unless the partition has the extended one.
/// `None` for a whole device.
pub fn partition_parents(devices: &[Device]) -> Vec<Option<usize>> {
    let mut index_by_name: HashMap<&str, usize> = HashMap::with_capacity(devices.len());
    let mut parents = Vec::with_capacity(devices.len());
    for (index, device) in devices.iter().enumerate() {
        let mut parent = None;
        for name in possible_disks(&device.name).into_iter().flatten() {
            if let Some(disk) = index_by_name.get(name).copied()
                && (devices[disk].major == device.major || device.major == EXTENDED_MAJOR)
            {
                parent = Some(disk);
                break;
            }
        }
        parents.push(parent);
        index_by_name.entry(&device.name).or_insert(index);
    }
    parents
}

/// Returns the devices that are no partitions.
pub fn whole_devices(devices: &[Device]) -> impl Iterator<Item = &Device> {
    let parents = std::iter::zip(devices, partition_parents(devices));
    parents.filter_map(|(device, parent)| parent.is_none().then_some(device))
}

/// Returns the names of the disks that a partition called `name` could be on, the longest first.
pub fn possible_disks(name: &str) -> [Option<&str>; 2] {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    if stem.len() == name.len() || stem.is_empty() {
        return [None, None];
    }
    let before_p = stem.strip_suffix('p');
    let numbered = before_p.filter(|disk| disk.ends_with(|c: char| c.is_ascii_digit()));
    [Some(stem), numbered]
}

/// Returns the sort key that orders names naturally: `sdb` before `sdaa`, `loop2` before `loop10`.
pub fn natural_key(name: &str) -> Vec<(String, usize, String)> {
    let mut key = Vec::new();
    let mut rest = name;
    while !rest.is_empty() {
        let (letters, after) = split_before(rest, |c| c.is_ascii_digit());
        let (digits, more) = split_before(after, |c| !c.is_ascii_digit());
        // `sdaa` follows `sdz` as 27 follows 26, so longer words sort last; the first two letters name the driver.
        let driver = letters.chars().take(2).collect();
        key.push((driver, letters.len(), letters.to_owned()));
        let number = digits.trim_start_matches('0');
        key.push((String::new(), number.len(), number.to_owned()));
        rest = more;
    }
    key
}

/// Splits a text before the first character of some kind; all of it comes before if there is none.
fn split_before(text: &str, is_wanted: fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(is_wanted).unwrap_or(text.len()))
}

/// Returns the name of the multipath disk that an NVMe path leads to: `nvme0n1` for `nvme0c1n1`, which the kernel
/// composes of subsystem, controller and namespace. `None` for another name.
pub(crate) fn nvme_head(name: &str) -> Option<String> {
    let (subsystem, rest) = name.strip_prefix("nvme")?.split_once('c')?;
    let (controller, namespace) = rest.split_once('n')?;
    for number in [subsystem, controller, namespace] {
        if number.is_empty() || number.contains(|c: char| !c.is_ascii_digit()) {
            return None;
        }
    }
    Some(format!("nvme{subsystem}n{namespace}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::{Kind, Topology};

    fn parents(names: &[(u32, &str)]) -> Vec<Option<usize>> {
        let device = |&(major, name): &(u32, &str)| Device {
            major,
            name: name.into(),
            ..Device::default()
        };
        let devices: Vec<_> = names.iter().map(device).collect();
        partition_parents(&devices)
    }

    #[test]
    fn a_partition_belongs_to_the_disk_whose_name_it_extends() {
        let names = [
            (8, "sda"),
            (8, "sda1"),
            (8, "sda15"),
            (259, "nvme0n1"),
            (259, "nvme0n1p1"),
            (104, "cciss/c0d0"),
            (104, "cciss/c0d0p2"),
        ];
        assert_eq!(
            parents(&names),
            [None, Some(0), Some(0), None, Some(3), None, Some(5)]
        );
    }

    #[test]
    fn a_higher_number_does_not_make_a_partition_of_a_lower_one() {
        assert_eq!(
            parents(&[(253, "dm-1"), (253, "dm-10"), (7, "loop1"), (7, "loop10")]),
            [None; 4]
        );
        assert_eq!(
            parents(&[(8, "sda"), (8, "sdaa"), (8, "sdaa1")]),
            [None, None, Some(1)]
        );
    }

    #[test]
    fn the_major_number_must_match_or_be_the_extended_one() {
        assert_eq!(parents(&[(8, "sda"), (9, "sda1")]), [None, None]);
        assert_eq!(
            parents(&[(8, "sda"), (259, "sda16"), (7, "loop0"), (259, "loop0p1")]),
            [None, Some(0), None, Some(2)]
        );
    }

    #[test]
    fn the_disk_must_be_listed_before_its_partition() {
        assert_eq!(parents(&[(8, "sda1"), (8, "sda")]), [None, None]);
    }

    #[test]
    fn names_give_kinds_partitions_and_nvme_paths() {
        let names = [
            (259, "nvme0c0n1"),
            (259, "nvme0c1n1"),
            (259, "nvme0n1"),
            (259, "nvme0n1p1"),
            (253, "dm-0"),
        ];
        let device = |&(major, name): &(u32, &str)| Device {
            major,
            name: name.into(),
            ..Device::default()
        };
        let topology = Topology::from_names(&names.iter().map(device).collect::<Vec<_>>());
        assert_eq!(
            topology.node("nvme0n1").unwrap().backing_devices,
            ["nvme0c0n1", "nvme0c1n1"]
        );
        assert_eq!(topology.disk_of("nvme0n1p1"), Some("nvme0n1"));
        assert_eq!(topology.node("nvme0c1n1").unwrap().kind, Kind::NvmePath);
        assert_eq!(topology.node("dm-0").unwrap().kind, Kind::Dm);
        assert_eq!(topology.depth("nvme0n1p1"), 2);
    }

    #[test]
    fn names_are_ordered_as_people_count() {
        let mut names = [
            "sdaa", "vda", "sdb", "loop10", "sda10", "loop2", "sda2", "nvme10n1", "nvme2n1", "sda",
        ];
        names.sort_by_cached_key(|name| natural_key(name));
        let expected = [
            "loop2", "loop10", "nvme2n1", "nvme10n1", "sda", "sda2", "sda10", "sdb", "sdaa", "vda",
        ];
        assert_eq!(names, expected);
    }
}
