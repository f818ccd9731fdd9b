//! Counters have 64 bits on every architecture.

use std::fs;
use std::path::Path;

use blkstat::counters::{Counters, CpuTimes, Device, Requests};
use blkstat::iostat::{IostatRates, MillisDelta};
use blkstat::metrics::{IntervalStats, RequestChange, wrapping_sub_u32};

/// Fails to compile if a counter, or a value computed from one, has the width of a machine word.
#[test]
fn counters_and_their_differences_have_64_bits_on_every_architecture() {
    let Requests { ios, merges, sectors, ms } = Requests::default();
    let Counters { flushes, flush_ms, in_flight, busy_ms, weighted_ms, .. } = Counters::ZERO;
    let _: [u64; 9] = [ios, merges, sectors, ms, flushes, flush_ms, in_flight, busy_ms, weighted_ms];
    let CpuTimes { user, idle, .. } = CpuTimes::default();
    let _: [u64; 2] = [user, idle];
    let Device { major, minor, .. } = Device::default();
    let _: [u32; 2] = [major, minor];
    let RequestChange { ios, merges, sectors, ms } =
        RequestChange::between(&Requests::default(), &Requests::default());
    let _: ([Option<u64>; 3], u64) = ([ios, merges, sectors], ms);
    let _: (u64, u64) = (MillisDelta::between(0, 0).ms, wrapping_sub_u32(0, 0));
    let _: (u64, Option<u64>) = (IntervalStats::default().completed, IntervalStats::default().in_flight);
    let _: (u64, Option<u64>) = (IostatRates::none().all.sectors, IostatRates::none().all.ios());
}

#[test]
fn no_counter_is_converted_to_a_machine_word() {
    // `usize` is for indexes only, and does not occur where counters are computed.
    for file in [
        "counters/mod",
        "counters/io_scan",
        "units",
        "metrics/wraparound",
        "metrics/interval_stats",
        "iostat/rates",
        "iostat/wraparound",
        "metrics/cpu",
        "metrics/host_stats",
    ] {
        let source = fs::read_to_string(Path::new("src").join(file).with_extension("rs")).unwrap();
        assert!(!source.contains("usize"), "{file} computes with machine words");
    }
    for (file, count) in [("diskstats_line", 0), ("fields", 1)] {
        let source = fs::read_to_string(Path::new("src/capture").join(file).with_extension("rs")).unwrap();
        let code = source.split("#[cfg(test)]").next().unwrap();
        assert_eq!(
            code.matches("as usize").count(),
            count,
            "only a number of digits becomes an index: {file}"
        );
    }
}
