//! Parsers of the files of cgroups and processes. Each takes the bytes of a file. A line that it does not understand is
//! ignored without affecting other lines: the kernel's formats grow, and a file may end in the middle of a line.

mod process;

use crate::counters::{CgroupDevice, DeviceNumber, IoCounters, IoLimits, parse_device_number};

pub use self::process::{ProcessStat, parse_process_cgroup, parse_process_io, parse_process_stat};

/// Splits a text into lines of words. Lines that are not UTF-8 are left out.
fn lines(text: &[u8]) -> impl Iterator<Item = std::str::SplitAsciiWhitespace<'_>> {
    let lines = text.split(|byte| *byte == b'\n');
    lines.filter_map(|line| Some(std::str::from_utf8(line).ok()?.split_ascii_whitespace()))
}

/// Adds the counters of a file to the devices of a cgroup. Each line has one of them: `8:0 Read 5`, `8:0 Write 7`.
/// Other kinds, such as `Sync` and `Total`, count the same requests again. `counted` selects the counters of reads and
/// of writes that the file has.
pub fn parse_blkio_counter(
    text: &[u8],
    counted: fn(&mut IoCounters) -> [&mut u64; 2],
    devices: &mut Vec<CgroupDevice>,
) {
    for mut words in lines(text) {
        let Some(number) = words.next().and_then(parse_device_number) else { continue };
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
        let Some(number) = words.next().and_then(parse_device_number) else { continue };
        let (Some(Ok(value)), None) = (words.next().map(str::parse), words.next()) else { continue };
        *limit(&mut CgroupDevice::entry(devices, number).limits) = Some(value);
    }
}

/// Adds the counters of `io.stat` to the devices of a cgroup: `8:16 rbytes=1459200 wbytes=314773504 rios=192 wios=353`.
///
/// A device without counters on its line is left out. Linux 5.15 may not end such a line, so that the next device
/// follows on the same line.
pub fn parse_io_stat(text: &[u8], devices: &mut Vec<CgroupDevice>) {
    each_value(text, |number, key, value| {
        let io = &mut CgroupDevice::entry(devices, number).io;
        // The counters of io.cost and io.latency may not be whole numbers.
        let Ok(value) = value.parse() else { return };
        match key {
            "rbytes" => io.read_bytes = value,
            "wbytes" => io.write_bytes = value,
            "rios" => io.reads = value,
            "wios" => io.writes = value,
            _ => {}
        }
    });
}

/// Adds the limits of `io.max` to the devices of a cgroup: `8:16 rbps=2097152 wbps=max riops=max wiops=120`.
pub fn parse_io_max(text: &[u8], devices: &mut Vec<CgroupDevice>) {
    each_value(text, |number, key, value| {
        // `max` means no limit.
        let Ok(value) = value.parse() else { return };
        let limits = &mut CgroupDevice::entry(devices, number).limits;
        match key {
            "rbps" => limits.read_bytes_per_s = Some(value),
            "wbps" => limits.write_bytes_per_s = Some(value),
            "riops" => limits.read_iops = Some(value),
            "wiops" => limits.write_iops = Some(value),
            _ => {}
        }
    });
}

/// Calls `found` with the key and the value of each pair, and the device it belongs to.
fn each_value(text: &[u8], mut found: impl FnMut(DeviceNumber, &str, &str)) {
    let mut number = None;
    for line in lines(text) {
        for (at, word) in line.enumerate() {
            match word.split_once('=') {
                Some((key, value)) => {
                    if let Some(number) = number {
                        found(number, key, value);
                    }
                }
                // A line that does not begin with a device belongs to none.
                None if at == 0 || parse_device_number(word).is_some() => number = parse_device_number(word),
                None => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::{IoCounters, IoLimits};

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

    fn io_stat(text: &str) -> Vec<(DeviceNumber, [u64; 4])> {
        let mut devices = Vec::new();
        parse_io_stat(text.as_bytes(), &mut devices);
        let values = |io: &IoCounters| [io.read_bytes, io.write_bytes, io.reads, io.writes];
        devices.iter().map(|device| (device.number, values(&device.io))).collect()
    }

    #[test]
    fn counters_are_found_by_their_keys() {
        let text = "8:16 rbytes=1459200 wbytes=314773504 rios=192 wios=353 dbytes=0 dios=0\n\
                    8:0 rbytes=90430464 wbytes=299008000 rios=8950 wios=1252 dbytes=50331648 dios=3021 \
                    cost.usage=37.5 cost.wait=1\n";
        let expected =
            [((8, 0), [90_430_464, 299_008_000, 8950, 1252]), ((8, 16), [1_459_200, 314_773_504, 192, 353])];
        assert_eq!(io_stat(text), expected);
    }

    #[test]
    fn a_device_without_counters_may_end_its_line_or_not() {
        let rest = "254:0 rbytes=4096 wbytes=0 rios=1 wios=0 dbytes=0 dios=0";
        for before in ["7:7 \n7:6 \n", "7:7 7:6 "] {
            let devices = io_stat(&format!("{before}{rest}"));
            assert_eq!(devices, [((254, 0), [4096, 0, 1, 0])], "{before:?}");
        }
    }

    #[test]
    fn other_lines_of_version_2_give_nothing() {
        for text in ["", "\n\n", "(unknown) rbytes=5\n", "rbytes=5\n", "8:x rbytes=1\n", "8 rbytes=1\n"] {
            assert_eq!(io_stat(text), [], "{text:?}");
        }
        assert_eq!(io_stat("8:0 rbytes=5\n(unknown) rbytes=7\n"), [((8, 0), [5, 0, 0, 0])]);
        assert_eq!(io_stat("8:0 rbytes=5 wbytes=x rios=-1 wio"), [((8, 0), [5, 0, 0, 0])]);
        let mut devices = Vec::new();
        parse_io_stat(b"8:0 rbytes=\xff\n8:1 rbytes=3\n", &mut devices);
        assert_eq!(devices.len(), 1);
    }

    #[test]
    fn max_is_no_limit() {
        let mut devices = Vec::new();
        parse_io_max(
            b"8:16 rbps=2097152 wbps=max riops=max wiops=120\n8:0 rbps=max wbps=max riops=max wiops=max\n",
            &mut devices,
        );
        let limits =
            IoLimits { read_bytes_per_s: Some(2_097_152), write_iops: Some(120), ..IoLimits::default() };
        let expected = CgroupDevice { number: (8, 16), limits, ..CgroupDevice::default() };
        assert_eq!(devices, [expected]);
    }
}
