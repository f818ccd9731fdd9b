//! Devices on devices, and limits above or between them.

use super::Scenario;
use super::building::{
    any_gate, any_mix, any_spread, busy_capture, clients, light, light_then, servers,
};
use super::caps::{capped, enough_clients};
use crate::random::Random;
use crate::simulator::{Device, Limited, Setup, Unit};

pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "limit between a loop device and its disk",
        build: limit_between,
    },
    Scenario {
        name: "limit between the layers from the start",
        build: limit_between_from_the_start,
    },
    Scenario {
        name: "logical volume on a busy disk",
        build: busy_disk,
    },
    Scenario {
        name: "logical volume on a capped disk",
        build: capped_disk,
    },
    Scenario {
        name: "partition of a busy disk",
        build: partition,
    },
    Scenario {
        name: "loop device on a calm disk",
        build: calm_layers,
    },
    Scenario {
        name: "limit above the device, tasks blocked",
        build: limit_above,
    },
    Scenario {
        name: "limit above the device, asynchronous",
        build: limit_above_asynchronous,
    },
];

fn limit_between(random: &mut Random) -> Setup {
    let (mut setup, rate) = capped(random);
    let load = clients(enough_clients(random, &setup, rate), any_mix(random));
    let gate = any_gate(random, Limited::Both, Unit::Requests, rate);
    setup.stack(Device::LOOP, Some(gate));
    light_then(random, &mut setup, (0.2, 0.5), load);
    setup
}

fn limit_between_from_the_start(random: &mut Random) -> Setup {
    let (mut setup, rate) = capped(random);
    setup.loads = vec![clients(
        enough_clients(random, &setup, rate),
        any_mix(random),
    )];
    let gate = any_gate(random, Limited::Both, Unit::Requests, rate);
    setup.stack(Device::LOOP, Some(gate));
    setup.begins_loaded = true;
    setup
}

/// A device on a disk whose load grows beyond what the disk can do.
fn grows_on(random: &mut Random, upper: Device) -> Setup {
    let (count, spread) = (random.count(1, 32), any_spread(random));
    let station = servers(random, count, spread);
    let load = clients(count * random.count(4, 12), any_mix(random));
    let mut setup = busy_capture(random, station);
    light_then(random, &mut setup, (0.25, 0.6), load);
    setup.stack(upper, None);
    setup
}

fn busy_disk(random: &mut Random) -> Setup {
    grows_on(random, Device::MAPPED)
}

fn partition(random: &mut Random) -> Setup {
    grows_on(random, Device::PARTITION)
}

fn capped_disk(random: &mut Random) -> Setup {
    let (mut setup, rate) = capped(random);
    let load = clients(enough_clients(random, &setup, rate), any_mix(random));
    setup.limit_inside(any_gate(random, Limited::Both, Unit::Requests, rate));
    setup.stack(Device::MAPPED, None);
    light_then(random, &mut setup, (0.2, 0.5), load);
    setup
}

fn calm_layers(random: &mut Random) -> Setup {
    let (count, spread) = (random.count(2, 32), any_spread(random));
    let station = servers(random, count, spread);
    let mix = any_mix(random);
    let mut setup = busy_capture(random, station);
    setup.loads = vec![light(random, &setup.station, mix)];
    setup.stack(Device::LOOP, None);
    setup
}

fn limit_above(random: &mut Random) -> Setup {
    let (mut setup, rate) = capped(random);
    setup.loads = vec![clients(
        enough_clients(random, &setup, rate),
        any_mix(random),
    )];
    setup.limit_above(any_gate(random, Limited::Both, Unit::Requests, rate));
    setup.begins_loaded = true;
    setup
}

fn limit_above_asynchronous(random: &mut Random) -> Setup {
    let mut setup = limit_above(random);
    setup.loads = setup.loads.iter().map(|load| load.asynchronous()).collect();
    setup
}
