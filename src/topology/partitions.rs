//! Which names are partitions, where only the names are known.

use std::collections::HashMap;

use crate::counters::Device;

/// The major number of partitions beyond those that their disk's own major has room for.
const EXTENDED_MAJOR: u32 = 259;

/// For each device the index of the disk that it is a partition of, judged by the names alone: the longest
/// earlier name on the same major (or on any, for the kernel's extended partitions), followed by digits, or by
/// `p` and digits where the disk's name itself ends in a digit, as the kernel names partitions.
pub fn partition_parents(devices: &[Device]) -> Vec<Option<usize>> {
    let mut seen: HashMap<&str, usize> = HashMap::with_capacity(devices.len());
    let mut parents = Vec::with_capacity(devices.len());
    for (index, device) in devices.iter().enumerate() {
        let owns = |disk: &usize| devices[*disk].major == device.major || device.major == EXTENDED_MAJOR;
        let mut disks = possible_disks(&device.name).into_iter().flatten();
        parents.push(disks.find_map(|name| seen.get(name).copied().filter(owns)));
        seen.entry(&device.name).or_insert(index);
    }
    parents
}

/// The names that a disk could have whose partition is called `name`, the longest first, as the kernel names
/// partitions: `sda` of `sda1`, `md0` of `md0p1`.
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
    fn partitions_follow_their_disk() {
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
    fn a_higher_number_is_no_partition_of_a_lower_one() {
        assert_eq!(parents(&[(253, "dm-1"), (253, "dm-10"), (7, "loop1"), (7, "loop10")]), [None; 4]);
        assert_eq!(parents(&[(8, "sda"), (8, "sdaa"), (8, "sdaa1")]), [None, None, Some(1)]);
    }

    #[test]
    fn other_majors_do_not_own_it_but_for_extended_partitions() {
        assert_eq!(parents(&[(8, "sda"), (9, "sda1")]), [None, None]);
        assert_eq!(
            parents(&[(8, "sda"), (259, "sda16"), (7, "loop0"), (259, "loop0p1")]),
            [None, Some(0), None, Some(2)]
        );
    }

    #[test]
    fn a_disk_is_known_only_when_it_came_first() {
        assert_eq!(parents(&[(8, "sda1"), (8, "sda")]), [None, None]);
    }
}
