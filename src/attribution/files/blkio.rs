//! The files of version 1: `blkio.throttle.*` (the kernel's blkio-controller.rst).

use super::{device_number, lines};
use crate::counters::{CgroupDevice, IoCounters, IoLimits};

/// Adds the counters of a file to the devices of a cgroup. Each line has one of them: `8:0 Read 5`, `8:0 Write 7`.
/// Other kinds, such as `Sync` and `Total`, count the same requests again. `counted` selects the counters of reads and
/// of writes that the file has.
pub fn parse_blkio_counter(
    text: &[u8],
    counted: fn(&mut IoCounters) -> [&mut u64; 2],
    devices: &mut Vec<CgroupDevice>,
) {
    for mut words in lines(text) {
        let Some(number) = words.next().and_then(device_number) else { continue };
        let (Some(kind), Some(Ok(value)), None) =
            (words.next(), words.next().map(str::parse::<u64>), words.next())
        else {
            continue;
        };
        let [reads, writes] = counted(&mut CgroupDevice::entry(devices, number).io);
        match kind {
            "Read" => *reads = value,
            "Write" => *writes = value,
            _ => {}
        }
    }
}

/// Adds the limits of a file to the devices of a cgroup: `8:0 1000`. `limit` selects the one that the file has.
pub fn parse_blkio_limit(
    text: &[u8],
    limit: fn(&mut IoLimits) -> &mut Option<u64>,
    devices: &mut Vec<CgroupDevice>,
) {
    for mut words in lines(text) {
        let Some(number) = words.next().and_then(device_number) else { continue };
        let (Some(Ok(value)), None) = (words.next().map(str::parse), words.next()) else { continue };
        *limit(&mut CgroupDevice::entry(devices, number).limits) = Some(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_writes_are_counted_once() {
        // Linux 6.18.
        let requests = b"254:0 Read 61344\n254:0 Write 3\n254:0 Sync 61344\n254:0 Async 0\n254:0 Discard 0\n\
                         254:0 Total 61347\n7:0 Read 61172\n7:0 Write 0\n7:0 Total 61172\nTotal 122516\n";
        let bytes = b"254:0 Read 311492608\n254:0 Write 12288\n7:0 Read 250560512";
        let mut devices = Vec::new();
        parse_blkio_counter(requests, |io| [&mut io.reads, &mut io.writes], &mut devices);
        parse_blkio_counter(bytes, |io| [&mut io.read_bytes, &mut io.write_bytes], &mut devices);
        let found: Vec<_> = devices.iter().map(|device| (device.number, device.io)).collect();
        let loop0 = IoCounters { read_bytes: 250_560_512, reads: 61_172, ..IoCounters::default() };
        let vda = IoCounters { read_bytes: 311_492_608, write_bytes: 12_288, reads: 61_344, writes: 3 };
        assert_eq!(found, [((7, 0), loop0), ((254, 0), vda)]);
    }

    #[test]
    fn each_file_of_limits_has_one_limit() {
        let mut devices = Vec::new();
        parse_blkio_limit(b"7:0 777\n", |limits| &mut limits.read_iops, &mut devices);
        parse_blkio_limit(b"7:0 1048576", |limits| &mut limits.write_bytes_per_s, &mut devices);
        parse_blkio_limit(b"7:0 max\n7:0\n7:0 5 6\nTotal 5\n", |limits| &mut limits.write_iops, &mut devices);
        let limits =
            IoLimits { read_iops: Some(777), write_bytes_per_s: Some(1_048_576), ..IoLimits::default() };
        assert_eq!(devices, [CgroupDevice { number: (7, 0), limits, ..CgroupDevice::default() }]);
    }

    #[test]
    fn lines_of_other_forms_give_nothing() {
        let mut devices = Vec::new();
        for text in ["", "Total 5\n", "8:0 Read\n", "8:0 Read x\n", "8:0 Read 5 6\n", "a:b Read 5\n", "8:0"] {
            parse_blkio_counter(
                text.as_bytes(),
                |io| [&mut io.read_bytes, &mut io.write_bytes],
                &mut devices,
            );
        }
        assert_eq!(devices, []);
    }
}
