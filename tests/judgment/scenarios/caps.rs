//! Limits inside the device, as those of cloud volumes.

use super::Scenario;
use super::building::{any_gate, any_mix, capture, clients, light_then, servers};
use crate::random::Random;
use crate::simulator::{
    Arrivals, Device, Gate, Limited, Load, Mix, Pacing, Setup, Spread, Station, Unit,
};

pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "request cap met at once",
        build: met_at_once,
    },
    Scenario {
        name: "request cap from the start",
        build: from_the_start,
    },
    Scenario {
        name: "request cap, stepped clients",
        build: stepped,
    },
    Scenario {
        name: "request cap and one client",
        build: one_client,
    },
    Scenario {
        name: "byte cap from the start",
        build: bytes_from_the_start,
    },
    Scenario {
        name: "byte cap with mixed sizes",
        build: bytes_mixed_sizes,
    },
    Scenario {
        name: "read cap beside free writes",
        build: reads_only,
    },
    Scenario {
        name: "request cap with 1 to 2% jitter",
        build: jittery,
    },
    Scenario {
        name: "burst credits run out",
        build: credits_run_out,
    },
    Scenario {
        name: "one client on spent credits",
        build: one_client_credits,
    },
    Scenario {
        name: "limit shared by three volumes",
        build: shared,
    },
];

/// A device that could do several times a rate in requests per second.
pub(super) fn device_for(random: &mut Random, rate: f64) -> Station {
    let count = random.count(8, 64);
    let mut station = servers(random, count, Spread::Lognormal(0.4));
    let fastest_s = f64::from(count) / rate / random.between(3.0, 10.0);
    station.service_s = [fastest_s.clamp(20e-6, 0.01); 4];
    station
}

/// A capture of a device, and a rate for its cap.
pub(super) fn capped(random: &mut Random) -> (Setup, f64) {
    let rate = random.log_between(60.0, 6000.0);
    let station = device_for(random, rate);
    (capture(random, station, rate * 1.2), rate)
}

/// More clients than a cap lets work, so that most wait.
pub(super) fn enough_clients(random: &mut Random, setup: &Setup, rate: f64) -> u32 {
    let working = (rate * setup.station.service_s[0]).ceil() as u32;
    (working + 1) * random.count(4, 12)
}

fn met_at_once(random: &mut Random) -> Setup {
    let (mut setup, rate) = capped(random);
    let load = clients(enough_clients(random, &setup, rate), any_mix(random));
    setup.limit_inside(any_gate(random, Limited::Both, Unit::Requests, rate));
    light_then(random, &mut setup, (0.2, 0.5), load);
    setup
}

/// The limit of an instance for all of its volumes, whose loads vary.
fn shared(random: &mut Random) -> Setup {
    let (mut setup, rate) = capped(random);
    (setup.devices, setup.has_volumes) = (Device::VOLUMES.to_vec(), true);
    let mix = any_mix(random);
    let working_s = setup.station.service_s[0];
    // Alone, each would do most of what the limit lets pass, or more; at times there are more clients.
    let mut load = || {
        let count = ((rate * working_s).ceil() as u32 + 2) * random.count(4, 12);
        let think_s = f64::from(count) / rate * random.between(0.3, 1.2);
        Load::always(
            Arrivals::Closed {
                clients: count,
                think_s,
            },
            mix,
        )
    };
    setup.loads = (0..9).map(|_| load()).collect();
    let (seconds, interval_s) = (setup.seconds(), setup.interval_s);
    for more in &mut setup.loads[3..] {
        let from_s = seconds * random.between(0.0, 0.8);
        *more = more.within(from_s, from_s + interval_s * random.between(5.0, 20.0));
    }
    setup.limit_inside(any_gate(random, Limited::Both, Unit::Requests, rate));
    setup.begins_loaded = true;
    setup
}

fn from_the_start(random: &mut Random) -> Setup {
    let (mut setup, rate) = capped(random);
    setup.loads = vec![clients(
        enough_clients(random, &setup, rate),
        any_mix(random),
    )];
    setup.limit_inside(any_gate(random, Limited::Both, Unit::Requests, rate));
    setup.begins_loaded = true;
    setup
}

fn stepped(random: &mut Random) -> Setup {
    let (mut setup, rate) = capped(random);
    let mix = any_mix(random);
    let many = enough_clients(random, &setup, rate);
    let third = setup.seconds() / 3.0;
    setup.loads = vec![
        clients(1, mix),
        clients(many, mix).within(third, f64::INFINITY),
        clients(many * 3, mix).within(2.0 * third, f64::INFINITY),
    ];
    setup.limit_inside(any_gate(random, Limited::Both, Unit::Requests, rate));
    setup
}

fn one_client(random: &mut Random) -> Setup {
    let (mut setup, rate) = capped(random);
    // Alone, the client would do several times what the cap lets pass.
    setup.station.service_s = [(1.0 / rate / random.between(3.0, 8.0)).max(20e-6); 4];
    setup.loads = vec![clients(1, any_mix(random))];
    setup.limit_inside(any_gate(random, Limited::Both, Unit::Requests, rate));
    setup.begins_loaded = true;
    setup
}

fn bytes_from_the_start(random: &mut Random) -> Setup {
    let (mut setup, rate) = capped(random);
    let size = random.pick::<&'static [u32]>(&[&[64], &[128], &[256]]);
    let mix = Mix {
        sectors: size,
        ..any_mix(random)
    };
    setup.loads = vec![clients(enough_clients(random, &setup, rate), mix)];
    setup.limit_inside(any_gate(
        random,
        Limited::Both,
        Unit::Sectors,
        rate * f64::from(size[0]),
    ));
    setup.begins_loaded = true;
    setup
}

fn bytes_mixed_sizes(random: &mut Random) -> Setup {
    let (mut setup, rate) = capped(random);
    let mix = Mix {
        sectors: &[16, 64, 256],
        ..any_mix(random)
    };
    let load = clients(enough_clients(random, &setup, rate), mix);
    setup.limit_inside(any_gate(random, Limited::Both, Unit::Sectors, rate * 112.0));
    light_then(random, &mut setup, (0.2, 0.5), load);
    setup
}

fn reads_only(random: &mut Random) -> Setup {
    let (mut setup, rate) = capped(random);
    let readers = clients(enough_clients(random, &setup, rate), Mix::READS);
    setup.limit_inside(any_gate(random, Limited::Reads, Unit::Requests, rate));
    light_then(random, &mut setup, (0.2, 0.5), readers);
    let writes = crate::simulator::Arrivals::Poisson {
        rate: rate * random.between(0.05, 0.3),
    };
    setup.loads.push(Load::always(writes, Mix::WRITES));
    setup
}

fn jittery(random: &mut Random) -> Setup {
    let (mut setup, rate) = capped(random);
    let load = clients(enough_clients(random, &setup, rate), any_mix(random));
    let mut gate = any_gate(random, Limited::Both, Unit::Requests, rate);
    gate.jitter = random.between(0.01, 0.02);
    setup.limit_inside(gate);
    light_then(random, &mut setup, (0.2, 0.5), load);
    setup
}

/// Burst credits for a part of the capture, at a multiple of the rate that they refill with.
fn credits(random: &mut Random, setup: &Setup, rate: f64) -> Gate {
    let burst_rate = rate * random.between(3.0, 8.0);
    let capacity = (burst_rate - rate) * setup.seconds() * random.between(0.2, 0.5);
    Gate::full_of_credits(rate, burst_rate, capacity)
}

fn credits_run_out(random: &mut Random) -> Setup {
    let rate = random.log_between(60.0, 1500.0);
    let station = device_for(random, rate * 8.0);
    let mut setup = capture(random, station, rate * 6.0);
    setup.limit_inside(credits(random, &setup, rate));
    setup.loads = vec![clients(random.count(32, 128), any_mix(random))];
    setup.begins_loaded = true;
    setup
}

fn one_client_credits(random: &mut Random) -> Setup {
    let rate = random.log_between(60.0, 1500.0);
    let mut station = device_for(random, rate);
    station.service_s = [1.0 / rate / random.between(4.0, 9.0); 4];
    let mut setup = capture(random, station, rate * 6.0);
    let mut gate = credits(random, &setup, rate);
    if let Pacing::Credits { burst_rate, .. } = &mut gate.pacing {
        *burst_rate = rate * 20.0;
    }
    setup.limit_inside(gate);
    setup.loads = vec![clients(1, any_mix(random))];
    setup
}
