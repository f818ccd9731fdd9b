//! Counters are 64 bits on every machine.

use std::fs;
use std::path::Path;

use blkstat::counters::{Counters, CpuTimes, Device, Requests};
use blkstat::iostat::{IostatRates, MillisDelta};
use blkstat::metrics::{IntervalStats, RequestChange, wrapping_sub_u32};

/// Fails to compile where a counter, or what is computed from one, is of the machine's own width.
#[test]
fn counters_and_their_differences_have_64_bits_whatever_the_machine() {
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
    let _: (u64, Option<u64>) = (IostatRates::NONE.all().sectors, IostatRates::NONE.all().ios);
}

#[test]
fn no_counter_is_made_as_wide_as_the_machine() {
    // Where numbers are parsed and computed, `as usize` occurs for places in a list only.
    for file in [
        "counters",
        "units",
        "metrics/wraparound",
        "metrics/interval_stats",
        "iostat/rates",
        "iostat/wraparound",
        "metrics/cpu",
        "metrics/host_stats",
    ] {
        let source = fs::read_to_string(Path::new("src").join(file).with_extension("rs")).unwrap();
        assert!(!source.contains("usize"), "{file} computes with the machine's word");
    }
    let line = fs::read_to_string("src/capture/line.rs").unwrap();
    let code = line.split("#[cfg(test)]").next().unwrap();
    assert_eq!(code.matches("as usize").count(), 1, "only the number of digits becomes a place in the text");
}
