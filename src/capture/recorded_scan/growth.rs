//! The growth of counters between two scans, as written to a recording.

use std::sync::Arc;

use super::RecordedScan;
use super::writer::{keep_largest, parts};
use crate::capture::annotation::{IoScanLine, write_annotation};
use crate::counters::{Cgroup, IoLimits};

/// A scan that is ready to be written, with the growth of its counters since the scan before.
#[derive(Clone, Debug)]
pub struct ScanGrowth(Box<RecordedScan>);

impl ScanGrowth {
    pub(super) fn new(scan: RecordedScan) -> Self {
        Self(Box::new(scan))
    }

    /// Returns the size in memory, in bytes.
    pub fn bytes(&self) -> usize {
        let Self(scan) = self;
        let path = |path: &Option<Arc<str>>| path.as_ref().map_or(0, |path| path.len());
        let cgroup =
            |cgroup: &Cgroup| size_of::<Cgroup>() + cgroup.path.len() + size_of_val(&cgroup.devices[..]);
        size_of::<RecordedScan>()
            + scan.devices.iter().map(|device| size_of_val(device) + device.name.len()).sum::<usize>()
            + scan.cgroups.iter().map(cgroup).sum::<usize>()
            + scan
                .busiest
                .iter()
                .map(|one| size_of_val(one) + one.comm.len() + path(&one.cgroup))
                .sum::<usize>()
            + scan
                .blocked
                .iter()
                .map(|one| size_of_val(one) + one.comm.len() + path(&one.cgroup))
                .sum::<usize>()
    }

    /// Adds the growth of an earlier scan that is not written by itself. Limits and processes are those of the later
    /// scan.
    pub fn add_before(&mut self, earlier: Self) {
        let (scan, earlier) = (&mut *self.0, *earlier.0);
        scan.skipped = scan.skipped.saturating_add(earlier.skipped);
        for device in earlier.devices {
            match scan.devices.iter_mut().find(|known| known.name == device.name) {
                Some(known) => known.io = known.io.plus(&device.io),
                None => scan.devices.push(device),
            }
        }
        for cgroup in earlier.cgroups {
            add_cgroup(&mut scan.cgroups, cgroup);
        }
        keep_largest(&mut scan.cgroups);
        if scan.processes.is_none() && scan.hung_read.is_none() {
            (scan.processes, scan.busiest) = (earlier.processes, earlier.busiest);
        }
        scan.has_blocked |= earlier.has_blocked;
        for task in earlier.blocked {
            if scan.blocked.iter().all(|known| known.tid != task.tid) {
                scan.blocked.push(task);
            }
        }
    }

    /// Appends the lines of the scan.
    pub fn write(&self, out: &mut Vec<u8>) {
        for io_scan in parts((*self.0).clone()) {
            write_annotation(&IoScanLine { io_scan }, out);
        }
    }
}

/// Adds the growth of a cgroup in an earlier scan. The list is not ordered.
fn add_cgroup(cgroups: &mut Vec<Cgroup>, mut earlier: Cgroup) {
    // Only the limits listed in the later scan count.
    earlier.devices.iter_mut().for_each(|device| device.limits = IoLimits::default());
    let Some(known) = cgroups.iter_mut().find(|known| known.path == earlier.path) else {
        cgroups.push(earlier);
        return;
    };
    for device in earlier.devices {
        match known.devices.iter_mut().find(|known| known.number == device.number) {
            Some(known) => known.io = known.io.plus(&device.io),
            None => known.devices.push(device),
        }
    }
    known.pressure = known.pressure.map(|later| later.plus(&earlier.pressure.unwrap_or_default()));
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::time::Duration;

    use super::*;
    use crate::capture::ScanWriter;
    use crate::capture::annotation::Annotation;
    use crate::capture::recorded_scan::ScanReader;
    use crate::counters::{BlockedTask, CgroupDevice, DeviceNumber, IoCounters, IoScan, ScannedDevice};

    fn io(read_bytes: u64) -> IoCounters {
        IoCounters { read_bytes, reads: read_bytes / 4096, ..IoCounters::default() }
    }

    /// A scan of two disks, the second with twice the bytes, and of cgroups that have read these bytes from both.
    fn scan(at_s: u64, cgroups: &[(&str, u64)], blocked: u32) -> Arc<IoScan> {
        let numbers: [DeviceNumber; 2] = [(8, 0), (8, 16)];
        let total: u64 = cgroups.iter().map(|(_, bytes)| bytes).sum();
        let device = |at: usize| ScannedDevice {
            number: numbers[at],
            name: format!("sd{at}"),
            io: io(total * (at as u64 + 1)),
        };
        let limits = IoLimits { read_iops: Some(at_s), ..IoLimits::default() };
        let of = |number, bytes| CgroupDevice { number, io: io(bytes), limits };
        let cgroup = |(path, bytes): &(&str, u64)| Cgroup {
            path: Arc::from(*path),
            is_new: false,
            devices: numbers.map(|number| of(number, *bytes)).to_vec(),
            pressure: None,
        };
        Arc::new(IoScan {
            at: Duration::from_secs(at_s),
            devices: vec![device(0), device(1)],
            cgroups: cgroups.iter().map(cgroup).collect(),
            blocked: Some(vec![BlockedTask { tid: blocked, ..BlockedTask::default() }]),
            skipped: 1,
            ..IoScan::default()
        })
    }

    fn read(growths: &[ScanGrowth]) -> Vec<Arc<IoScan>> {
        let mut reader = ScanReader::default();
        let read = growths.iter().map(|growth| {
            let mut text = Vec::new();
            growth.write(&mut text);
            for line in text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
                let Some(Ok(Annotation::IoScan(part))) = Annotation::parse_line(line) else {
                    panic!("{line:?}")
                };
                reader.add(part);
            }
            reader.take().unwrap()
        });
        read.collect()
    }

    fn growths(scans: &[Arc<IoScan>], devices: &[DeviceNumber]) -> Vec<ScanGrowth> {
        let devices: HashSet<DeviceNumber> = devices.iter().copied().collect();
        let mut writer = ScanWriter::default();
        scans.iter().map(|scan| writer.growth(scan, &devices).unwrap()).collect()
    }

    #[test]
    fn a_scan_that_is_not_written_leaves_its_growth_to_the_next() {
        let scans = [
            scan(1, &[("/a", 0), ("/b", 0), ("/c", 0)], 7),
            scan(2, &[("/a", 4096), ("/b", 40_960), ("/c", 4096)], 8),
            scan(3, &[("/a", 8192), ("/b", 40_960)], 9),
        ];
        let all = read(&growths(&scans, &[]));
        let [first, dropped, mut last] = <[ScanGrowth; 3]>::try_from(growths(&scans, &[])).unwrap();
        last.add_before(dropped);
        assert!(last.bytes() > 3 * size_of::<Cgroup>());
        let merged = read(&[first, last]);
        // When all scans are read, /c is still listed, without a limit.
        assert_eq!(merged[1].cgroups, all[2].cgroups);
        assert_eq!(merged[1].devices, all[2].devices);
        assert_eq!((merged[1].at, merged[1].skipped), (Duration::from_secs(3), 2));
        let blocked: Vec<u32> = merged[1].blocked.iter().flatten().map(|task| task.tid).collect();
        assert_eq!(blocked, [9, 8]);
    }

    #[test]
    fn only_the_requested_devices_are_recorded() {
        let scans = [scan(1, &[("/a", 0)], 7), scan(2, &[("/a", 4096)], 7)];
        let read = read(&growths(&scans, &[(8, 16)]));
        assert_eq!(read[1].devices.iter().map(|device| &device.name).collect::<Vec<_>>(), ["sd1"]);
        let numbers: Vec<_> = read[1].cgroups[0].devices.iter().map(|device| device.number).collect();
        assert_eq!(numbers, [(8, 16)]);
    }
}
