use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use super::{ScanGrowth, ScanReader, ScanWriter};
use crate::capture::annotation::Annotation;
use crate::counters::{
    BlockedTask, BusyProcess, Cgroup, CgroupDevice, CgroupHierarchy, DeviceNumber, IoCounters,
    IoLimits, IoScan, Pressure, ProcessIo, ScannedDevice,
};

fn io(read_bytes: u64) -> IoCounters {
    IoCounters {
        read_bytes,
        reads: read_bytes / 4096,
        ..IoCounters::default()
    }
}

fn cgroup(path: &str, read_bytes: u64, limits: IoLimits) -> Cgroup {
    let device = CgroupDevice {
        number: (8, 0),
        io: io(read_bytes),
        limits,
    };
    let pressure = Some(Pressure {
        some_us: read_bytes,
        full_us: 5,
    });
    Cgroup {
        path: path.into(),
        is_new: false,
        devices: vec![device],
        pressure,
    }
}

fn scan(at_s: u64, device_bytes: u64, cgroups: Vec<Cgroup>) -> Arc<IoScan> {
    Arc::new(IoScan {
        at: Duration::from_secs(at_s),
        devices: vec![ScannedDevice {
            number: (8, 0),
            name: "sda".into(),
            io: io(device_bytes),
        }],
        hierarchy: Some(CgroupHierarchy::V2),
        cgroups,
        ..IoScan::default()
    })
}

/// Writes scans and reads them again. Returns them with the length of the longest line.
fn read_again(scans: &[Arc<IoScan>]) -> (Vec<Arc<IoScan>>, usize) {
    let mut writer = ScanWriter::default();
    let mut reader = ScanReader::default();
    let mut longest = 0;
    let mut read = Vec::new();
    for scan in scans {
        let mut text = Vec::new();
        writer.write(scan, &HashSet::new(), &mut text);
        for line in text
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
        {
            longest = longest.max(line.len());
            let Some(Ok(Annotation::IoScan(part))) = Annotation::parse_line(line) else {
                panic!("{line:?}")
            };
            reader.add(part);
        }
        read.extend(reader.take());
    }
    (read, longest)
}

#[test]
fn what_grew_between_scans_is_the_same_after_reading() {
    let limit = [Some(50), None, None, None];
    let scans = [
        scan(
            1,
            1_000_000,
            vec![
                cgroup("/a", 700_000, limit),
                cgroup("/idle", 900, IoLimits::default()),
            ],
        ),
        scan(
            2,
            1_008_192,
            vec![
                cgroup("/a", 704_096, limit),
                cgroup("/idle", 900, IoLimits::default()),
            ],
        ),
        scan(
            3,
            1_016_384,
            vec![cgroup("/a", 708_192, IoLimits::default())],
        ),
    ];
    let (read, _) = read_again(&scans);
    assert_eq!(read.len(), 3);
    assert_eq!(
        (read[1].devices[0].io, read[2].devices[0].io),
        (io(8192), io(16_384))
    );
    let of_a = |scan: &IoScan| {
        (
            scan.cgroups[0].devices[0].io,
            scan.cgroups[0].devices[0].limits,
        )
    };
    assert_eq!(of_a(&read[0]), (io(0), limit));
    assert_eq!(of_a(&read[1]), (io(4096), limit));
    assert_eq!(of_a(&read[2]), (io(8192), IoLimits::default()));
    assert!(
        read.iter().all(|scan| scan.cgroups.len() == 1),
        "the idle one takes no space"
    );
    let pressure = read[1].cgroups[0].pressure.unwrap();
    assert_eq!(
        pressure.some_us - read[0].cgroups[0].pressure.unwrap().some_us,
        4096
    );
}

#[test]
fn a_cgroup_that_is_new_or_back_from_rest_has_not_grown() {
    let new = |bytes| Cgroup {
        is_new: true,
        ..cgroup("/a", bytes, IoLimits::default())
    };
    let (read, _) = read_again(&[
        scan(1, 0, vec![]),
        scan(2, 0, vec![new(1 << 40)]),
        scan(
            3,
            0,
            vec![cgroup("/a", (1 << 40) + 4096, IoLimits::default())],
        ),
    ]);
    assert!(read[1].cgroups.is_empty());
    assert_eq!(read[2].cgroups[0].devices[0].io, io(4096));
}

#[test]
fn a_long_scan_takes_several_lines_and_is_bounded() {
    let limits = IoLimits::default();
    let names =
        |from: u64| (0..1000).map(move |n| cgroup(&format!("/{n:0>500}"), n * from * 4096, limits));
    let blocked = vec![
        BlockedTask {
            comm: "\u{1b}x".repeat(5),
            ..BlockedTask::default()
        };
        128
    ];
    let last = IoScan {
        blocked: Some(blocked.clone()),
        ..(*scan(2, 1, names(2).collect())).clone()
    };
    let (read, longest) = read_again(&[scan(1, 0, names(1).collect()), Arc::new(last)]);
    assert!(longest < crate::capture::MAX_LINE_BYTES, "{longest}");
    assert_eq!(
        (read[1].cgroups.len(), read[1].blocked.as_ref()),
        (256, Some(&blocked))
    );
    // The cgroups with the most bytes are kept.
    assert!(
        read[1]
            .cgroups
            .iter()
            .any(|cgroup| cgroup.path.ends_with("999"))
    );
    assert!(
        !read[1]
            .cgroups
            .iter()
            .any(|cgroup| cgroup.path.ends_with("0700"))
    );
}

#[test]
fn processes_without_a_time_have_no_rates() {
    for (elapsed, count) in [(Duration::from_secs(5), 1), (Duration::ZERO, 0)] {
        let busiest = vec![BusyProcess {
            pid: 7,
            read_bytes: 4096,
            ..BusyProcess::default()
        }];
        let processes = Some(Arc::new(ProcessIo {
            elapsed,
            busiest,
            hidden: 3,
            ..ProcessIo::default()
        }));
        let (read, _) = read_again(&[Arc::new(IoScan {
            processes,
            ..(*scan(1, 0, vec![])).clone()
        })]);
        let processes = read[0].processes.as_ref().unwrap();
        assert_eq!((processes.busiest.len(), processes.hidden), (count, 3));
    }
}

#[test]
fn a_scan_is_written_once() {
    let one = scan(1, 0, vec![]);
    assert_eq!(read_again(&[Arc::clone(&one), one]).0.len(), 1);
}

/// A scan of two disks, the second with twice the bytes, and of cgroups that have read these bytes from both.
fn two_disks(at_s: u64, cgroups: &[(&str, u64)], blocked: u32) -> Arc<IoScan> {
    let numbers: [DeviceNumber; 2] = [(8, 0), (8, 16)];
    let total: u64 = cgroups.iter().map(|(_, bytes)| bytes).sum();
    let device = |at: usize| ScannedDevice {
        number: numbers[at],
        name: format!("sd{at}"),
        io: io(total * (at as u64 + 1)),
    };
    let limits = [Some(at_s), None, None, None];
    let of = |number, bytes| CgroupDevice {
        number,
        io: io(bytes),
        limits,
    };
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
        blocked: Some(vec![BlockedTask {
            tid: blocked,
            ..BlockedTask::default()
        }]),
        skipped: 1,
        ..IoScan::default()
    })
}

fn read(growths: &[ScanGrowth]) -> Vec<Arc<IoScan>> {
    let mut reader = ScanReader::default();
    let read = growths.iter().map(|growth| {
        let mut text = Vec::new();
        growth.write(&mut text);
        for line in text
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
        {
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
    scans
        .iter()
        .map(|scan| writer.growth(scan, &devices).unwrap())
        .collect()
}

#[test]
fn only_the_requested_devices_are_recorded() {
    let scans = [
        two_disks(1, &[("/a", 0)], 7),
        two_disks(2, &[("/a", 4096)], 7),
    ];
    let read = read(&growths(&scans, &[(8, 16)]));
    assert_eq!(
        read[1]
            .devices
            .iter()
            .map(|device| &device.name)
            .collect::<Vec<_>>(),
        ["sd1"]
    );
    let numbers: Vec<_> = read[1].cgroups[0]
        .devices
        .iter()
        .map(|device| device.number)
        .collect();
    assert_eq!(numbers, [(8, 16)]);
}
