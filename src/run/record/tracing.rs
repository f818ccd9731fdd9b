//! The single requests of some devices, in a recording or in `who`: the kernel traces only these devices.

use std::collections::{BTreeMap, HashMap};

use crate::counters::{Device, DeviceNumber, LatencyHistogram, LatencyKey, TracedIo, TracedUser};
use crate::source::TraceOptions;
use crate::topology::{nvme_head, partition_parents};

/// The devices whose requests are traced, by number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::run) struct TracedDevices {
    /// The named whole devices, with the paths of NVMe disks; all if both lists are empty.
    pub(super) whole: Vec<DeviceNumber>,
    /// The named devices, and the partitions of the whole ones: since Linux 5.12, the kernel counts I/O that threads
    /// submit to a partition on the partition.
    pub(super) with_partitions: Vec<DeviceNumber>,
}

impl TracedDevices {
    /// Finds the named devices among all; both lists are empty if none is found.
    pub(in crate::run) fn find(names: &[String], devices: &[Device]) -> Self {
        let mut found = Self::default();
        for (device, parent) in devices.iter().zip(partition_parents(devices)) {
            let is_named = |device: &Device| names.contains(&device.name);
            let number = (device.major, device.minor);
            let is_path = nvme_head(&device.name).is_some_and(|head| names.contains(&head));
            if (is_named(device) || is_path) && parent.is_none() {
                found.whole.push(number);
            }
            if is_named(device) || parent.is_some_and(|parent| is_named(&devices[parent])) {
                found.with_partitions.push(number);
            }
        }
        found
    }

    /// Returns the devices and partitions on which threads are traced if latencies are not. The I/O of threads on a
    /// path of an NVMe disk is counted on the disk, but the path is included, because the cost depends on the requests,
    /// which Linux 6.1 counts only on the path.
    pub(in crate::run) fn users(&self) -> Vec<DeviceNumber> {
        let others = self.whole.iter().filter(|number| !self.with_partitions.contains(number));
        self.with_partitions.iter().chain(others).copied().collect()
    }

    /// Returns the options of the tracer. Latencies are traced for whole devices.
    pub(super) fn options(&self, max_overhead: f64) -> TraceOptions {
        TraceOptions {
            latencies: !self.whole.is_empty() || self.with_partitions.is_empty(),
            queued: false,
            users: true,
            devices: self.whole.clone(),
            user_devices: self.with_partitions.clone(),
            max_overhead,
        }
    }
}

/// Attributes the requests of a path that is not recorded to its NVMe disk if the disk is, so that a replay finds the
/// device. The disk has no requests itself; its counters repeat those of its paths.
pub(super) fn move_from_paths(traced: &mut TracedIo, names: &[String], devices: &[Device]) {
    let number = |device: &Device| (device.major, device.minor);
    let mut heads: BTreeMap<DeviceNumber, DeviceNumber> = BTreeMap::new();
    for path in devices.iter().filter(|device| !names.contains(&device.name)) {
        let head = nvme_head(&path.name).filter(|head| names.contains(head));
        let head = head.and_then(|head| devices.iter().find(|device| device.name == head));
        heads.extend(head.map(|head| (number(path), number(head))));
    }
    for head in heads.values() {
        traced.completed.remove(head);
    }
    for (path, head) in &heads {
        if let Some(counts) = traced.completed.remove(path) {
            let sum = traced.completed.entry(*head).or_default();
            sum.iter_mut().zip(counts).for_each(|(sum, count)| *sum = sum.saturating_add(count));
        }
    }
    let (of_paths, others) = std::mem::take(&mut traced.latencies)
        .into_iter()
        .partition(|(key, _)| heads.contains_key(&key.number));
    traced.latencies = others;
    let of_paths: BTreeMap<LatencyKey, LatencyHistogram> = of_paths;
    for (key, histogram) in &of_paths {
        let key = LatencyKey { number: heads[&key.number], ..*key };
        traced.latencies.entry(key).or_default().merge(histogram);
    }
}

/// Attributes the I/O that threads submitted to a partition that is not recorded to its disk, so that a replay finds
/// the device.
pub(super) fn move_to_recorded_devices(traced: &mut TracedIo, names: &[String], devices: &[Device]) {
    let Some(users) = traced.users.as_mut().filter(|_| !names.is_empty()) else { return };
    let parents = partition_parents(devices);
    let number = |device: &Device| (device.major, device.minor);
    let recorded = |(device, parent): (&Device, Option<usize>)| {
        let mut candidates = [Some(device), parent.map(|parent| &devices[parent])].into_iter().flatten();
        let recorded = candidates.find(|device| names.contains(&device.name))?;
        Some((number(device), number(recorded)))
    };
    let recorded_numbers: HashMap<DeviceNumber, DeviceNumber> =
        devices.iter().zip(parents).filter_map(recorded).collect();
    let moved =
        |user: &TracedUser| Some(TracedUser { number: *recorded_numbers.get(&user.number)?, ..user.clone() });
    *users = users.as_slice().iter().filter_map(moved).collect();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::{LatencyBucket, LatencySpan, RequestKind, TracedUser};

    fn devices() -> Vec<Device> {
        let device = |minor, name: &str| Device { major: 8, minor, name: name.into(), ..Device::default() };
        vec![device(0, "sda"), device(1, "sda1"), device(2, "sda2"), device(16, "sdb"), device(17, "sdb1")]
    }

    fn names(words: &str) -> Vec<String> {
        words.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn only_the_named_devices_are_traced_with_their_partitions() {
        let options = |words: &str| {
            let names = names(words);
            let found = match names.is_empty() {
                true => TracedDevices::default(),
                false => TracedDevices::find(&names, &devices()),
            };
            let options = found.options(0.02);
            (options.latencies, options.devices, options.user_devices)
        };
        assert_eq!(options(""), (true, vec![], vec![]));
        assert_eq!(options("sda"), (true, vec![(8, 0)], vec![(8, 0), (8, 1), (8, 2)]));
        assert_eq!(options("sda1 sdb"), (true, vec![(8, 16)], vec![(8, 1), (8, 16), (8, 17)]));
        // Requests do not belong to partitions.
        assert_eq!(options("sda1"), (false, vec![], vec![(8, 1)]));
    }

    #[test]
    fn requests_of_a_path_count_for_the_recorded_nvme_disk() {
        let device = |minor, name: &str| Device { major: 259, minor, name: name.into(), ..Device::default() };
        let devices =
            [device(1, "nvme0c0n1"), device(2, "nvme0n1"), device(3, "nvme0c1n1"), device(4, "nvme1n1")];
        let moved = |words: &str| {
            let key = |minor| LatencyKey {
                number: (259, minor),
                kind: RequestKind::Read,
                span: LatencySpan::Device,
            };
            let histogram = |count| {
                let mut histogram = LatencyHistogram::default();
                histogram.add(LatencyBucket { lower_ns: 0, upper_ns: 9, count, sum_ns: count });
                histogram
            };
            let counts = [(1, 3), (2, 5), (3, 2), (4, 9)];
            let mut traced = TracedIo {
                completed: counts.map(|(minor, reads)| ((259, minor), [reads, 0, 0, 0])).into(),
                latencies: [(1, 3), (3, 1), (4, 9)]
                    .map(|(minor, count)| (key(minor), histogram(count)))
                    .into(),
                ..TracedIo::default()
            };
            move_from_paths(&mut traced, &names(words), &devices);
            let completed: Vec<_> =
                traced.completed.iter().map(|(number, counts)| (number.1, counts[0])).collect();
            let traced: Vec<_> =
                traced.latencies.iter().map(|(key, of)| (key.number.1, of.count())).collect();
            (completed, traced)
        };
        let whole = TracedDevices::find(&names("nvme0n1"), &devices).whole;
        assert_eq!(whole, [(259, 1), (259, 2), (259, 3)]);
        let users = TracedDevices::find(&names("nvme0n1"), &devices).users();
        assert_eq!(users, [(259, 2), (259, 1), (259, 3)]);
        assert_eq!(moved("nvme0n1"), (vec![(2, 5), (4, 9)], vec![(2, 4), (4, 9)]));
        let unchanged = (vec![(1, 3), (2, 5), (3, 2), (4, 9)], vec![(1, 3), (3, 1), (4, 9)]);
        assert_eq!((moved(""), moved("nvme1n1")), (unchanged.clone(), unchanged));
    }

    #[test]
    fn what_is_submitted_to_a_partition_counts_for_the_recorded_disk() {
        let user = |minor, tid, count| TracedUser {
            number: (8, minor),
            tid,
            comm: "db".into(),
            pid: Some(7),
            cgroup: None,
            kind: RequestKind::Write,
            count,
            sectors: 8 * count,
        };
        let moved = |words: &str| {
            let users = [user(0, 7, 1), user(1, 7, 2), user(2, 8, 4), user(17, 7, 8)];
            let users = Some(users.into_iter().collect());
            let mut traced = TracedIo { users, ..TracedIo::default() };
            move_to_recorded_devices(&mut traced, &names(words), &devices());
            let users = traced.users.unwrap();
            users.as_slice().iter().map(|user| (user.number.1, user.tid, user.count)).collect::<Vec<_>>()
        };
        assert_eq!(moved("sda"), [(0, 7, 3), (0, 8, 4)]);
        assert_eq!(moved("sda sda1"), [(0, 7, 1), (1, 7, 2), (0, 8, 4)]);
        assert_eq!(moved("sda2"), [(2, 8, 4)]);
        assert_eq!(moved(""), [(0, 7, 1), (1, 7, 2), (2, 8, 4), (17, 7, 8)]);
    }
}
