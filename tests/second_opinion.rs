//! The parser against the procfs crate, on every well-formed line.

#![allow(clippy::unwrap_used, clippy::panic, clippy::disallowed_methods)]

use blkstat::capture::parse_line;
use blkstat::counters::Device;
use procfs::DiskStat;
use proptest::prelude::*;

/// A line as the kernel prints it: 14, 18 or 20 columns.
fn line() -> impl Strategy<Value = String> {
    let columns = prop_oneof![Just(11usize), Just(15), Just(17)];
    // procfs reads in-flight requests and times as 64-bit numbers too.
    let numbers = columns.prop_flat_map(|count| prop::collection::vec(0u64..=u64::MAX >> 1, count));
    (0u32..1 << 12, 0u32..1 << 20, "[a-z]{1,3}[a-z0-9/!-]{0,20}", numbers).prop_map(
        |(major, minor, name, numbers)| {
            let numbers: Vec<String> = numbers.iter().map(u64::to_string).collect();
            format!("{major:4} {minor:7} {name} {}", numbers.join(" "))
        },
    )
}

proptest! {
    #[test]
    fn both_read_the_same(line in line()) {
        let mut ours = Device::default();
        parse_line(line.as_bytes(), &mut ours).unwrap();
        let theirs = DiskStat::from_line(&line).unwrap();
        let counters = &ours.counters;
        prop_assert_eq!((ours.major, ours.minor, &ours.name), (theirs.major as u32, theirs.minor as u32, &theirs.name));
        let reads = [counters.reads.ios, counters.reads.merges, counters.reads.sectors, counters.reads.ms];
        prop_assert_eq!(reads, [theirs.reads, theirs.merged, theirs.sectors_read, theirs.time_reading]);
        let writes = [counters.writes.ios, counters.writes.merges, counters.writes.sectors, counters.writes.ms];
        prop_assert_eq!(writes, [theirs.writes, theirs.writes_merged, theirs.sectors_written, theirs.time_writing]);
        let times = [counters.in_flight, counters.busy_ms, counters.weighted_ms];
        prop_assert_eq!(times, [theirs.in_progress, theirs.time_in_progress, theirs.weighted_time_in_progress]);
        let discards = [counters.discards.ios, counters.discards.merges, counters.discards.sectors, counters.discards.ms];
        let known = [theirs.discards, theirs.discards_merged, theirs.sectors_discarded, theirs.time_discarding];
        prop_assert_eq!(discards, known.map(|value| value.unwrap_or(0)));
        let flushes = [counters.flushes, counters.flush_ms];
        prop_assert_eq!(flushes, [theirs.flushes, theirs.time_flushing].map(|value| value.unwrap_or(0)));
    }

    #[test]
    fn no_line_makes_it_panic(line in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = parse_line(&line, &mut Device::default());
    }

    #[test]
    fn no_capture_makes_the_reader_panic(pieces in prop::collection::vec(prop_oneof![
        Just("TS 1795198931.5 x\n".to_owned()), Just("TS 1795198932\n".to_owned()), Just("TS x\n".to_owned()),
        Just("8 0 sda 1 2 3 4 5 6 7 8 9 10 11\n".to_owned()), Just("8 1 sda1 1 2 3 4\r\n".to_owned()),
        Just("\n".to_owned()), Just("cpu  1 2 3 4\n".to_owned()), "[ -~\n]{0,30}", ".{0,10}"], 0..30)) {
        let text = pieces.concat();
        let mut reader = blkstat::capture::Reader::new(text.as_bytes());
        let (mut before, mut sample) = Default::default();
        while reader.next(&before, &mut sample).unwrap() {
            std::mem::swap(&mut before, &mut sample);
        }
    }
}
