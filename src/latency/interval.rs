//! Single requests of an interval, with the names of devices.

use std::collections::{BTreeMap, HashMap};

use super::traced_io::{LatencyHistogram, RequestKind, TraceProblem, TracedIo};
use crate::counters::{Device, DeviceNumber};
use crate::topology::{Topology, nvme_head, whole_devices};

/// The single requests of an interval.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TracedInterval {
    /// The time in seconds in which they were completed.
    pub elapsed_s: f64,
    /// The whole devices that completed requests, in the order of /proc/diskstats.
    pub devices: Vec<TracedDevice>,
    /// Requests that a full map in the kernel did not count.
    pub dropped: u64,
    /// The reason why requests are missing; `None` if none are.
    pub problem: Option<TraceProblem>,
}

/// The single requests of a device.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TracedDevice {
    /// The kernel's name.
    pub name: String,
    /// The alias or, without one, the kernel's name.
    pub label: String,
    pub number: DeviceNumber,
    /// The requests that it completed, by its counters: reads, writes and discards, without bios that only flush.
    pub completed: [u64; 3],
    /// Those of the kinds that were traced.
    pub latencies: BTreeMap<RequestKind, LatencyHistogram>,
    /// The requests that failed, by the number of the error, such as -5.
    pub errors: BTreeMap<i32, u64>,
    /// True for a path to an NVMe disk, whose requests are also those of the disk. Programs cannot open it.
    pub is_path: bool,
}

impl TracedInterval {
    /// Finds the names of the devices, among those of the last sample, and their aliases.
    pub fn new(traced: TracedIo, devices: &[Device], topology: &Topology) -> Self {
        let mut found = Vec::new();
        for device in whole_devices(devices) {
            let number = (device.major, device.minor);
            let node = topology.node(&device.name);
            let alias = node.and_then(|node| node.alias.as_ref());
            found.push(TracedDevice {
                name: device.name.clone(),
                label: alias.unwrap_or(&device.name).clone(),
                number,
                completed: traced.completed.get(&number).copied().unwrap_or_default(),
                is_path: nvme_head(&device.name).is_some(),
                ..TracedDevice::default()
            });
        }
        for (key, histogram) in traced.latencies {
            // The counters of a device with several paths do not show which path its requests took.
            if let Some(device) = found.iter_mut().find(|device| device.number == key.number) {
                device.latencies.insert(key.kind, histogram);
            }
        }
        for ((number, error), count) in traced.errors {
            if let Some(device) = found.iter_mut().find(|device| device.number == number) {
                device.errors.insert(error, count);
            }
        }
        add_requests_of_paths(&mut found);
        found.retain(TracedDevice::has_any);
        Self {
            elapsed_s: traced.elapsed.as_secs_f64(),
            devices: found,
            dropped: traced.dropped,
            problem: traced.problem,
        }
    }
}

/// Gives NVMe disks with several paths the requests of their paths. A disk has no traced requests itself: the kernel
/// traces requests only on the path. Linux 6.1 also counts them only there; 6.12 counts them on both.
fn add_requests_of_paths(devices: &mut [TracedDevice]) {
    let mut heads: HashMap<String, Vec<usize>> = HashMap::new();
    for (index, device) in devices.iter().enumerate() {
        if let Some(head) = nvme_head(&device.name) {
            heads.entry(head).or_default().push(index);
        }
    }
    for index in 0..devices.len() {
        let Some(paths) = heads.get(&devices[index].name) else {
            continue;
        };
        let mut sum = TracedDevice::default();
        for path in paths {
            let path = &devices[*path];
            sum.completed = std::array::from_fn(|kind| {
                sum.completed[kind].saturating_add(path.completed[kind])
            });
            for (key, histogram) in &path.latencies {
                sum.latencies.entry(*key).or_default().merge(histogram);
            }
            for (error, count) in &path.errors {
                *sum.errors.entry(*error).or_default() += count;
            }
        }
        let head = &mut devices[index];
        head.completed = sum.completed;
        head.latencies = sum.latencies;
        head.errors = sum.errors;
    }
}

impl TracedDevice {
    /// Returns the percentage of the completed requests of these kinds whose latencies are known; `None` if none were
    /// completed. Requests that were completed between the reading of counters and of histograms can make it differ a
    /// little.
    pub fn matched_pct(&self, kinds: &[RequestKind]) -> Option<f64> {
        let (mut completed, mut traced) = (0, 0);
        for kind in kinds {
            completed += self.completed_of(*kind);
            traced += self.latencies.get(kind).map_or(0, LatencyHistogram::count);
        }
        (completed > 0).then(|| (traced as f64 / completed as f64 * 100.0).min(100.0))
    }

    fn has_any(&self) -> bool {
        self.completed != [0; 3] || !self.latencies.is_empty() || !self.errors.is_empty()
    }

    /// Returns the number of completed requests of a kind, by the device's counters.
    pub fn completed_of(&self, kind: RequestKind) -> u64 {
        for (other, completed) in RequestKind::ALL.iter().zip(self.completed) {
            if *other == kind {
                return completed;
            }
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use super::super::traced_io::{LatencyBucket, LatencyKey};
    use super::*;

    fn device(major: u32, minor: u32, name: &str) -> Device {
        Device {
            major,
            minor,
            name: name.to_owned(),
            ..Device::default()
        }
    }

    #[test]
    fn latencies_have_the_names_of_whole_devices() {
        let key = |minor| LatencyKey {
            number: (8, minor),
            kind: RequestKind::Read,
        };
        let mut histogram = LatencyHistogram::default();
        histogram.add(LatencyBucket {
            lower_ns: 0,
            upper_ns: 9,
            count: 3,
            sum_ns: 5,
        });
        let traced = TracedIo {
            completed: BTreeMap::from([((8, 0), [4, 0, 0])]),
            latencies: BTreeMap::from([(key(0), histogram.clone()), (key(9), histogram)]),
            ..TracedIo::default()
        };
        let devices = [
            device(8, 0, "sda"),
            device(8, 1, "sda1"),
            device(8, 16, "sdb"),
        ];
        let interval = TracedInterval::new(traced, &devices, &Topology::default());
        assert_eq!(interval.devices.len(), 1);
        assert_eq!(
            interval.devices[0].matched_pct(&RequestKind::ALL),
            Some(75.0)
        );
        assert_eq!(interval.devices[0].matched_pct(&[RequestKind::Write]), None);
    }

    #[test]
    fn an_nvme_disk_has_the_requests_of_its_paths() {
        let key = |minor| LatencyKey {
            number: (259, minor),
            kind: RequestKind::Read,
        };
        let histogram = |lower_ns, count| {
            let mut histogram = LatencyHistogram::default();
            let bucket = LatencyBucket {
                lower_ns,
                upper_ns: lower_ns + 9,
                count,
                sum_ns: lower_ns * count,
            };
            histogram.add(bucket);
            histogram
        };
        // Linux 6.1 counts nothing on the disk itself, 6.12 all.
        for completed in [None, Some([5, 0, 0])] {
            let paths = [((259, 1), [3, 0, 0]), ((259, 3), [2, 0, 0])];
            let head = completed.map(|completed| ((259, 2), completed));
            let traced = TracedIo {
                completed: paths.into_iter().chain(head).collect(),
                latencies: BTreeMap::from([
                    (key(1), histogram(100, 3)),
                    (key(3), histogram(900, 1)),
                ]),
                ..TracedIo::default()
            };
            let devices = [
                device(259, 1, "nvme0c0n1"),
                device(259, 2, "nvme0n1"),
                device(259, 3, "nvme0c1n1"),
            ];
            let interval = TracedInterval::new(traced, &devices, &Topology::default());
            let summary = |device: &TracedDevice| {
                let count = device.latencies.get(&RequestKind::Read).unwrap().count();
                (
                    device.name.clone(),
                    device.is_path,
                    count,
                    device.matched_pct(&[RequestKind::Read]).unwrap(),
                )
            };
            let expected = [
                ("nvme0c0n1".to_owned(), true, 3, 100.0),
                ("nvme0n1".to_owned(), false, 4, 80.0),
                ("nvme0c1n1".to_owned(), true, 1, 50.0),
            ];
            assert_eq!(
                interval.devices.iter().map(summary).collect::<Vec<_>>(),
                expected
            );
        }
    }
}
