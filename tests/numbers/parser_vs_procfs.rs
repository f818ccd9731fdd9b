//! Compares the parser with that of the procfs crate on valid lines.

use blkstat::capture::Reader;
use blkstat::counters::{Device, Sample};
use procfs::DiskStat;
use proptest::prelude::*;

/// A line as the kernel prints it, with 14, 18 or 20 columns.
fn line() -> impl Strategy<Value = String> {
    let columns = prop_oneof![Just(11usize), Just(15), Just(17)];
    // procfs also reads in-flight requests and times as 64-bit numbers.
    let numbers = columns.prop_flat_map(|count| prop::collection::vec(0u64..=u64::MAX >> 1, count));
    (
        0u32..1 << 12,
        0u32..1 << 20,
        "[a-z]{1,3}[a-z0-9/!-]{0,20}",
        numbers,
    )
        .prop_map(|(major, minor, name, numbers)| {
            let numbers: Vec<String> = numbers.iter().map(u64::to_string).collect();
            format!("{major:4} {minor:7} {name} {}", numbers.join(" "))
        })
}

/// Reads a capture to its end, or to the error that none of its lines is of /proc/diskstats. Returns the devices of its
/// last sample.
fn read(text: &[u8]) -> Vec<Device> {
    let mut reader = Reader::new(text);
    let (mut previous, mut sample) = (Sample::default(), Sample::default());
    while reader.next(&previous, &mut sample).unwrap_or(false) {
        std::mem::swap(&mut previous, &mut sample);
    }
    previous.devices
}

proptest! {
    #[test]
    fn both_parsers_agree(line in line()) {
        let devices = read(format!("TS 1\n{line}\n").as_bytes());
        let [device] = &devices[..] else { panic!("{devices:?}") };
        let reference = DiskStat::from_line(&line).unwrap();
        let counters = &device.counters;
        prop_assert_eq!((device.major, device.minor, &device.name), (reference.major as u32, reference.minor as u32, &reference.name));
        let reads = [counters.reads.ios, counters.reads.merges, counters.reads.sectors, counters.reads.ms];
        prop_assert_eq!(reads, [reference.reads, reference.merged, reference.sectors_read, reference.time_reading]);
        let writes = [counters.writes.ios, counters.writes.merges, counters.writes.sectors, counters.writes.ms];
        prop_assert_eq!(writes, [reference.writes, reference.writes_merged, reference.sectors_written, reference.time_writing]);
        let times = [counters.in_flight, counters.busy_ms, counters.weighted_ms];
        prop_assert_eq!(times, [reference.in_progress, reference.time_in_progress, reference.weighted_time_in_progress]);
        let discards = [counters.discards.ios, counters.discards.merges, counters.discards.sectors, counters.discards.ms];
        let known = [reference.discards, reference.discards_merged, reference.sectors_discarded, reference.time_discarding];
        prop_assert_eq!(discards, known.map(|value| value.unwrap_or(0)));
        let flushes = [counters.flushes, counters.flush_ms];
        prop_assert_eq!(flushes, [reference.flushes, reference.time_flushing].map(|value| value.unwrap_or(0)));
    }
}
