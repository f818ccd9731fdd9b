//! The counters of simulated devices against what the kernel would show.

use crate::capture::simulate;
use crate::random::Random;
use crate::scenarios::all;
use crate::simulator::{
    Device, Gate, History, Host, Limited, Load, Mix, Operation, Pacing, Setup, Spread, Station,
    Unit, closed, nanos,
};

/// The columns of a device after its name.
fn columns(host: &mut Host, device: usize) -> Vec<u64> {
    host.columns()[device]
        .split(' ')
        .map(|column| column.parse().unwrap())
        .collect()
}

fn disk(clients: u32, mix: Mix) -> Setup {
    let mut setup = Setup::new(30);
    setup.station = Station::new(2, 0.002, Spread::Exponential);
    setup.loads = vec![Load::always(closed(clients), mix)];
    setup
}

#[test]
fn the_weighted_time_is_the_sum_of_the_request_times() {
    let mix = Mix {
        reads: 0.5,
        discards: 0.2,
        flushes: true,
        merges: 3,
        ..Mix::READS
    };
    let mut host = Host::new(&disk(6, mix), Random::new("counters", 1));
    host.run_until(nanos(20.0));
    let columns = columns(&mut host, 0);
    assert_eq!(columns.len(), 17);
    let [reads, writes, discards, flushes] = [columns[0], columns[4], columns[11], columns[15]];
    assert_eq!(columns[1], 3 * reads);
    assert_eq!((columns[2], columns[13]), (8 * reads, 8 * discards));
    assert!(flushes.abs_diff(reads + writes + discards) <= 6);
    let sum = columns[3] + columns[7] + columns[14] + columns[16];
    assert!(columns[10].abs_diff(sum) <= 4, "{columns:?}");
    // Six clients always have a request in flight, or a flush, which is not counted as one.
    assert!(
        columns[8] <= 6 && columns[10].abs_diff(120_000) < 200,
        "{columns:?}"
    );
}

#[test]
fn busy_time_counts_ticks() {
    // Always busy: all the time, with either way of counting.
    let mut host = Host::new(&disk(8, Mix::READS), Random::new("counters", 2));
    host.run_until(nanos(10.0));
    assert!(columns(&mut host, 0)[9].abs_diff(10_000) <= 20);
}

#[test]
fn milliseconds_wrap_in_32_bits() {
    let mut setup = disk(1, Mix::READS);
    setup.history = vec![History {
        operation: Operation::Read,
        ios: 5_000_000_000,
        sectors: 8,
        mean_s: 0.001,
    }];
    let mut host = Host::new(&setup, Random::new("counters", 3));
    host.run_until(1);
    let columns = columns(&mut host, 0);
    assert_eq!((columns[0], columns[2]), (5_000_000_000, 40_000_000_000));
    assert_eq!(columns[3], 5_000_000_000 % (1 << 32));
}

#[test]
fn nothing_completes_while_the_device_stalls() {
    let mut setup = disk(4, Mix::READS);
    setup.station.pauses_s = vec![(3.0, 8.0)];
    let mut host = Host::new(&setup, Random::new("counters", 4));
    let start = setup.warm_up_s;
    host.run_until(nanos(start + 3.001));
    let before = columns(&mut host, 0);
    host.run_until(nanos(start + 7.9));
    let during = columns(&mut host, 0);
    assert_eq!((before[0], before[3], during[8]), (during[0], during[3], 4));
    host.run_until(nanos(start + 9.0));
    assert!(columns(&mut host, 0)[0] > during[0]);
}

#[test]
fn a_limit_between_devices_shows_at_the_upper_one() {
    let mut setup = disk(16, Mix::READS);
    let gate = Gate::new(Limited::Both, Unit::Requests, 200.0, Pacing::Spaced);
    setup.stack(Device::LOOP, Some(gate));
    let mut host = Host::new(&setup, Random::new("counters", 5));
    host.run_until(nanos(20.0));
    let (upper, lower) = (
        host.totals(0, Operation::Read),
        host.totals(1, Operation::Read),
    );
    assert_eq!(upper.0, lower.0);
    // Sixteen clients at 200 per second: 80 ms; the disk needs 2 of them.
    assert!((upper.1 / upper.0 / 0.08 - 1.0).abs() < 0.02, "{upper:?}");
    assert!((lower.1 / lower.0 / 0.002 - 1.0).abs() < 0.05, "{lower:?}");
}

#[test]
fn every_seed_gives_another_capture() {
    let text = |seed| {
        let (setup, mut random) = all()[0].build(seed);
        simulate(&setup, &mut random).text
    };
    assert_ne!(text(0), text(1));
}

#[test]
fn there_are_at_least_60_kinds_with_names_of_their_own() {
    let mut names: Vec<&str> = all().iter().map(|scenario| scenario.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all().len());
    assert!(names.len() >= 60);
}
