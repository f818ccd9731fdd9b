//! Hard disks.

use super::Scenario;
use super::building::{busy_capture, clients, hard_disk, light_then};
use crate::random::Random;
use crate::simulator::{Arrivals, Load, Mix, Setup};

pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "hard disk, one sequential reader",
        build: sequential,
    },
    Scenario {
        name: "hard disk, sequential, then random reads",
        build: sequential_then_random,
    },
    Scenario {
        name: "hard disk, many random readers from the start",
        build: random_from_the_start,
    },
    Scenario {
        name: "hard disk, one random reader, then many",
        build: light_then_many,
    },
    Scenario {
        name: "hard disk, random reads now and then",
        build: now_and_then,
    },
    Scenario {
        name: "hard disk, two sequential readers",
        build: two_sequential,
    },
    Scenario {
        name: "hard disk, large merged writes",
        build: merged_writes,
    },
];

/// Reads of 4 KiB, one after the other on the disk.
const SEQUENTIAL: Mix = Mix {
    is_sequential: true,
    ..Mix::READS
};

fn disk_capture(random: &mut Random) -> Setup {
    let disk = hard_disk(random);
    busy_capture(random, disk)
}

/// One program that reads on and on, and waits between two reads.
fn sequential_reader(think_s: f64) -> Load {
    Load::always(
        Arrivals::Closed {
            clients: 1,
            think_s,
        },
        SEQUENTIAL,
    )
}

fn sequential(random: &mut Random) -> Setup {
    let mut setup = disk_capture(random);
    setup.loads = vec![sequential_reader(random.log_between(0.001, 0.01))];
    setup
}

fn sequential_then_random(random: &mut Random) -> Setup {
    let mut setup = disk_capture(random);
    let change_s = setup.seconds() * random.between(0.3, 0.6);
    let sequential = sequential_reader(random.log_between(0.001, 0.01));
    setup.loads = vec![
        sequential.within(f64::NEG_INFINITY, change_s),
        clients(1, Mix::READS).within(change_s, f64::INFINITY),
    ];
    setup
}

fn random_from_the_start(random: &mut Random) -> Setup {
    let mut setup = disk_capture(random);
    setup.loads = vec![clients(random.count(8, 32), Mix::READS)];
    setup.begins_loaded = true;
    setup
}

fn light_then_many(random: &mut Random) -> Setup {
    let mut setup = disk_capture(random);
    let load = clients(random.count(8, 32), Mix::READS);
    light_then(random, &mut setup, (0.25, 0.6), load);
    setup
}

fn now_and_then(random: &mut Random) -> Setup {
    let mut setup = disk_capture(random);
    let rate = setup.station.capacity(8) * random.between(0.05, 0.2);
    setup.loads = vec![Load::always(Arrivals::Poisson { rate }, Mix::READS)];
    setup
}

fn two_sequential(random: &mut Random) -> Setup {
    let mut setup = disk_capture(random);
    let change_s = setup.seconds() * random.between(0.3, 0.6);
    let reader = sequential_reader(random.log_between(0.0005, 0.005));
    setup.loads = vec![reader, reader.within(change_s, f64::INFINITY)];
    setup
}

fn merged_writes(random: &mut Random) -> Setup {
    let mut setup = disk_capture(random);
    let mix = Mix {
        sectors: &[1024],
        merges: 3,
        is_sequential: true,
        ..Mix::WRITES
    };
    let think_s = random.log_between(0.005, 0.05);
    setup.loads = vec![Load::always(
        Arrivals::Closed {
            clients: 1,
            think_s,
        },
        mix,
    )];
    setup
}
