//! The kernel's naming of partitions: a disk's name followed by a number, with `p` between them if the disk's name ends
//! in a digit (`sda1`, `nvme0n1p1`, `md0p1`).

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
        let has_its_major =
            |disk: &usize| devices[*disk].major == device.major || device.major == EXTENDED_MAJOR;
        let parent = possible_disks(&device.name)
            .into_iter()
            .flatten()
            .find_map(|disk| index_by_name.get(disk).copied().filter(has_its_major));
        parents.push(parent);
        index_by_name.entry(&device.name).or_insert(index);
    }
    parents
}

/// Returns the names of the disks that a partition called `name` could be on, the longest first.
pub fn possible_disks(name: &str) -> [Option<&str>; 2] {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    if stem.len() == name.len() || stem.is_empty() {
        return [None, None];
    }
    let before_p = stem.strip_suffix('p').filter(|disk| disk.ends_with(|c: char| c.is_ascii_digit()));
    [Some(stem), before_p]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parents(names: &[(u32, &str)]) -> Vec<Option<usize>> {
        let device = |&(major, name): &(u32, &str)| Device { major, name: name.into(), ..Device::default() };
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
        assert_eq!(parents(&names), [None, Some(0), Some(0), None, Some(3), None, Some(5)]);
    }

    #[test]
    fn a_higher_number_does_not_make_a_partition_of_a_lower_one() {
        assert_eq!(parents(&[(253, "dm-1"), (253, "dm-10"), (7, "loop1"), (7, "loop10")]), [None; 4]);
        assert_eq!(parents(&[(8, "sda"), (8, "sdaa"), (8, "sdaa1")]), [None, None, Some(1)]);
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
}
