//! The text of a recording: samples are read as they were written, and truncation never changes a number.

use std::time::Duration;

use blkstat::capture::{RecordFilter, RecordingHeader, write_header, write_line};
use blkstat::counters::{
    Columns, Counters, CpuTimes, Device, HostState, MissedScan, Pressure, Requests, Sample,
};
use blkstat::topology::{Node, Topology};
use blkstat::units::SampleTime;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use proptest::prelude::*;

use super::lab::read;

fn requests() -> impl Strategy<Value = Requests> {
    any::<[u64; 4]>().prop_map(|[ios, merges, sectors, ms]| Requests {
        ios,
        merges,
        sectors,
        ms,
    })
}

fn counters() -> impl Strategy<Value = Counters> {
    let columns = prop_oneof![
        Just(Columns::Partition),
        Just(Columns::Basic),
        Just(Columns::Discards),
        Just(Columns::Flushes)
    ];
    (
        columns,
        requests(),
        requests(),
        requests(),
        any::<[u64; 5]>(),
    )
        .prop_map(
            |(
                columns,
                reads,
                writes,
                discards,
                [flushes, flush_ms, in_flight, busy_ms, weighted_ms],
            )| {
                let issued = |r: Requests| Requests {
                    ios: r.ios,
                    sectors: r.sectors,
                    ..Requests::default()
                };
                if columns == Columns::Partition {
                    return Counters {
                        columns,
                        reads: issued(reads),
                        writes: issued(writes),
                        ..Counters::default()
                    };
                }
                let has = |required: Columns| columns >= required;
                Counters {
                    columns,
                    reads,
                    writes,
                    discards: if has(Columns::Discards) {
                        discards
                    } else {
                        Requests::default()
                    },
                    flushes: if has(Columns::Flushes) { flushes } else { 0 },
                    flush_ms: if has(Columns::Flushes) { flush_ms } else { 0 },
                    in_flight,
                    busy_ms,
                    weighted_ms,
                }
            },
        )
}

fn device() -> impl Strategy<Value = Device> {
    (
        any::<u32>(),
        any::<u32>(),
        "[a-zа-я!/#.-][a-z0-9!/#\u{1b}]{0,9}",
        counters(),
    )
        .prop_map(|(major, minor, name, counters)| Device {
            major,
            minor,
            name,
            counters,
            logged: None,
        })
}

fn cpu() -> impl Strategy<Value = CpuTimes> {
    any::<[u64; 10]>().prop_map(
        |[
            user,
            nice,
            system,
            idle,
            iowait,
            irq,
            softirq,
            steal,
            guest,
            guest_nice,
        ]| CpuTimes {
            user,
            nice,
            system,
            idle,
            iowait,
            irq,
            softirq,
            steal,
            guest,
            guest_nice,
        },
    )
}

fn host_state() -> impl Strategy<Value = HostState> {
    let some = || proptest::option::of(any::<u64>());
    let two = || proptest::option::of(any::<(u64, u64)>());
    let pressure = |(some_us, full_us)| Pressure { some_us, full_us };
    (some(), two(), two(), two(), some(), some()).prop_map(
        move |(blocked, io, memory, swapped, dirty_kib, writeback_kib)| HostState {
            blocked,
            pressure: io.map(pressure),
            memory_pressure: memory.map(pressure),
            swapped: swapped.map(|(read, written)| [read, written]),
            dirty_kib,
            writeback_kib,
        },
    )
}

/// Samples in order of time, fewer than `limit`.
fn samples(limit: usize) -> impl Strategy<Value = Vec<Sample>> {
    let devices = proptest::collection::vec(device(), 0..4);
    let sample = (
        devices,
        proptest::option::of(cpu()),
        host_state(),
        proptest::option::of(any::<u64>()),
        1..1u64 << 40,
    );
    proptest::collection::vec(sample, 1..limit).prop_map(|samples| {
        let mut nanos = 0;
        let mut next_time = |uptime, step| {
            nanos += step;
            let wall =
                Timestamp::from_nanosecond(i128::from(nanos) + 1_795_198_931_000_000_000).ok();
            SampleTime {
                monotonic: Some(Duration::from_nanos(nanos)),
                wall,
                uptime,
            }
        };
        samples
            .into_iter()
            .map(|(mut devices, cpu, host, uptime, step)| {
                // A kernel has one device of a name.
                devices.sort_by(|one, other| one.name.cmp(&other.name));
                devices.dedup_by(|one, other| one.name == other.name);
                let at = next_time(uptime, step);
                let time = at
                    .wall
                    .unwrap()
                    .to_zoned(TimeZone::UTC)
                    .strftime("%H:%M:%S")
                    .to_string();
                Sample {
                    at,
                    segment: 0,
                    devices,
                    written_time: Some(time),
                    cpu,
                    host,
                    missed_samples: step % 3,
                    io_scan: None,
                    missed_scan: [None, Some(MissedScan::Late), Some(MissedScan::Budget)]
                        [(step % 3) as usize],
                    health: None,
                }
            })
            .collect()
    })
}

pub(crate) fn header(boot: &str, host: &str) -> RecordingHeader {
    let node = Node {
        name: "sda".into(),
        mountpoints: vec!["/ \n\u{1b}".into()],
        ..Node::default()
    };
    RecordingHeader {
        version: "1".into(),
        host: Some(host.into()),
        boot_id: Some(boot.into()),
        interval_ns: Some(95_000_000),
        topology: Topology::new(vec![node]),
        ..RecordingHeader::default()
    }
}

pub(crate) fn write(header: &RecordingHeader, samples: &[Sample]) -> Vec<u8> {
    let mut text = Vec::new();
    write_header(header, &mut text);
    for sample in samples {
        let mut diskstats = Vec::new();
        sample
            .devices
            .iter()
            .for_each(|device| write_line(device, &mut diskstats));
        RecordFilter::default().write_sample(sample, &diskstats, &TimeZone::UTC, &mut text);
    }
    text
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn samples_are_read_as_they_were_written(samples in samples(5)) {
        prop_assert_eq!(read(write(&header("b", "h"), &samples).as_slice()), (samples, vec![]));
    }

    #[test]
    fn a_recording_truncated_anywhere_gives_its_complete_samples_and_nothing_else(
        samples in samples(4),
        cut in any::<prop::sample::Index>(),
    ) {
        let text = write(&header("b", "h"), &samples);
        let ends: Vec<usize> =
            (1..=samples.len()).map(|n| write(&header("b", "h"), &samples[..n]).len()).collect();
        let cut = cut.index(text.len() + 1);
        // A last line without its newline is complete too.
        let complete = ends.iter().filter(|end| **end <= cut + 1).count();
        prop_assert_eq!(&read(&text[..cut]).0, &samples[..complete]);
    }

    #[test]
    fn appending_to_a_truncated_recording_loses_only_the_truncated_sample(
        samples in samples(6),
        cut in any::<prop::sample::Index>(),
        split in any::<prop::sample::Index>(),
        newline in any::<bool>(),
    ) {
        let (first, second) = samples.split_at(split.index(samples.len()));
        let header = header("b", "h");
        let mut text = write(&header, first);
        let ends: Vec<usize> = (1..=first.len()).map(|n| write(&header, &first[..n]).len()).collect();
        text.truncate(cut.index(text.len() + 1));
        let complete = ends.iter().filter(|end| **end <= text.len() + 1).count();
        if newline && text.last().is_some_and(|byte| *byte != b'\n') {
            text.push(b'\n');
        }
        text.extend(write(&header, second));
        let expected = [&first[..complete], second].concat();
        prop_assert_eq!(read(text.as_slice()).0, expected);
    }
}
