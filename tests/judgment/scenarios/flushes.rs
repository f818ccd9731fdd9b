//! Databases that commit: a write and a flush, one after the other.

use super::Scenario;
use super::building::{any_spread, busy_capture, clients, servers};
use crate::random::Random;
use crate::simulator::{Arrivals, History, Load, Mix, Operation, Setup, Slowdown};

pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "commits, all well",
        build: calm,
    },
    Scenario {
        name: "commits, flushes become slow",
        build: become_slow,
    },
    Scenario {
        name: "commits, flushes slow from the start",
        build: slow_from_the_start,
    },
    Scenario {
        name: "commits of many clients in line",
        build: in_line,
    },
    Scenario {
        name: "commits beside many readers",
        build: beside_readers,
    },
];

/// A device whose flushes take some times as long as its writes, with clients that commit.
fn commits(random: &mut Random, count: u32) -> Setup {
    let (servers_count, spread) = (random.count(8, 64), any_spread(random));
    let mut station = servers(random, servers_count, spread);
    station.service_s[Operation::Flush as usize] *= random.log_between(0.3, 10.0);
    let mut setup = busy_capture(random, station);
    let think_s = random.pick(&[0.0, 0.001, 0.01]);
    setup.loads = vec![Load::always(
        Arrivals::Closed {
            clients: count,
            think_s,
        },
        Mix::COMMITS,
    )];
    setup
}

fn slow_flushes(random: &mut Random, from_s: f64) -> Slowdown {
    let factor = random.between(6.0, 15.0);
    Slowdown {
        from_s,
        until_s: f64::INFINITY,
        factors: (factor, factor),
        operation: Some(Operation::Flush),
        is_usual: false,
    }
}

fn calm(random: &mut Random) -> Setup {
    let count = random.count(1, 4);
    commits(random, count)
}

fn become_slow(random: &mut Random) -> Setup {
    let count = random.count(1, 8);
    let mut setup = commits(random, count);
    let from_s = setup.seconds() * random.between(0.3, 0.6);
    setup.station.slowdowns.push(slow_flushes(random, from_s));
    setup
}

fn slow_from_the_start(random: &mut Random) -> Setup {
    let count = random.count(1, 8);
    let mut setup = commits(random, count);
    setup
        .station
        .slowdowns
        .push(slow_flushes(random, f64::NEG_INFINITY));
    for operation in [Operation::Write, Operation::Flush] {
        let mean_s = setup.station.service_s[operation as usize] * random.between(1.0, 1.2);
        let sectors = if operation == Operation::Write { 8 } else { 0 };
        setup.history.push(History {
            operation,
            ios: 3_000_000,
            sectors,
            mean_s,
        });
    }
    setup.begins_loaded = true;
    setup
}

fn in_line(random: &mut Random) -> Setup {
    let mut setup = commits(random, 1);
    let change_s = setup.seconds() * random.between(0.3, 0.6);
    let many = clients(setup.station.servers * random.count(4, 8), Mix::COMMITS);
    setup.loads.push(many.within(change_s, f64::INFINITY));
    setup
}

fn beside_readers(random: &mut Random) -> Setup {
    let mut setup = commits(random, 1);
    let change_s = setup.seconds() * random.between(0.3, 0.6);
    let many = clients(setup.station.servers * random.count(4, 8), Mix::READS);
    setup.loads.push(many.within(change_s, f64::INFINITY));
    setup
}
