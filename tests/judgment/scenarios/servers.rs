//! Devices that limit themselves, and loads that suit them or do not.

use super::Scenario;
use super::building::{
    any_mix, any_servers, any_spread, busy_capture, clients, light, light_then, servers,
};
use crate::random::Random;
use crate::simulator::{Arrivals, Load, Setup, Spread};

pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "light load, then many clients",
        build: light_then_many,
    },
    Scenario {
        name: "many clients from the start",
        build: many_from_the_start,
    },
    Scenario {
        name: "two levels of overload from the start",
        build: two_levels_of_overload,
    },
    Scenario {
        name: "light load only",
        build: light_only,
    },
    Scenario {
        name: "half the servers busy",
        build: half_busy,
    },
    Scenario {
        name: "growing number of clients",
        build: growing,
    },
    Scenario {
        name: "random arrivals at moderate load",
        build: moderate_arrivals,
    },
    Scenario {
        name: "random arrivals close to capacity",
        build: arrivals_near_capacity,
    },
    Scenario {
        name: "even servers, many clients",
        build: even_servers,
    },
    Scenario {
        name: "paced client on a fast device",
        build: paced,
    },
    Scenario {
        name: "paced client beside a closed loop",
        build: paced_beside_loop,
    },
    Scenario {
        name: "heavy tail without a queue",
        build: heavy_tail,
    },
];

fn light_then_many(random: &mut Random) -> Setup {
    let station = any_servers(random);
    let load = clients(station.servers * random.count(4, 12), any_mix(random));
    let mut setup = busy_capture(random, station);
    light_then(random, &mut setup, (0.25, 0.6), load);
    setup
}

fn many_from_the_start(random: &mut Random) -> Setup {
    let station = any_servers(random);
    let load = clients(station.servers * random.count(4, 16), any_mix(random));
    let mut setup = busy_capture(random, station);
    setup.loads = vec![load];
    setup.begins_loaded = true;
    setup
}

fn two_levels_of_overload(random: &mut Random) -> Setup {
    let station = any_servers(random);
    let mix = any_mix(random);
    let few = clients(station.servers * random.count(1, 2), mix);
    let many = clients(station.servers * random.count(8, 16), mix);
    let mut setup = busy_capture(random, station);
    let change_s = setup.seconds() * random.between(0.3, 0.6);
    setup.loads = vec![
        few.within(f64::NEG_INFINITY, change_s),
        many.within(change_s, f64::INFINITY),
    ];
    setup.begins_loaded = true;
    setup
}

fn light_only(random: &mut Random) -> Setup {
    let station = any_servers(random);
    let mix = any_mix(random);
    let mut setup = busy_capture(random, station);
    setup.loads = vec![light(random, &setup.station, mix)];
    setup
}

fn half_busy(random: &mut Random) -> Setup {
    let (count, spread) = (random.count(4, 64), any_spread(random));
    let station = servers(random, count, spread);
    let load = clients(count / 2, any_mix(random));
    let mut setup = busy_capture(random, station);
    setup.loads = vec![load];
    setup
}

fn growing(random: &mut Random) -> Setup {
    let station = any_servers(random);
    let mix = any_mix(random);
    let mut setup = busy_capture(random, station);
    let step_s = setup.seconds() / 6.0;
    setup.loads = [1, 1, 2, 4, 8, 16]
        .iter()
        .enumerate()
        .map(|(step, more)| {
            let added = (setup.station.servers * more / 4).max(1);
            let from_s = if step == 0 {
                f64::NEG_INFINITY
            } else {
                step as f64 * step_s
            };
            clients(added, mix).within(from_s, f64::INFINITY)
        })
        .collect();
    setup
}

fn moderate_arrivals(random: &mut Random) -> Setup {
    let (count, spread) = (random.count(2, 64), any_spread(random));
    let station = servers(random, count, spread);
    let rate = station.capacity(8) * random.between(0.1, 0.4);
    let mix = any_mix(random);
    let mut setup = busy_capture(random, station);
    setup.loads = vec![Load::always(Arrivals::Poisson { rate }, mix)];
    setup
}

fn arrivals_near_capacity(random: &mut Random) -> Setup {
    let station = any_servers(random);
    let capacity = station.capacity(8);
    let mix = any_mix(random);
    let mut setup = busy_capture(random, station);
    let change_s = setup.seconds() * random.between(0.3, 0.5);
    let low = Arrivals::Poisson {
        rate: capacity * random.between(0.05, 0.2),
    };
    let high = Arrivals::Poisson {
        rate: capacity * random.between(0.9, 0.98),
    };
    setup.loads = vec![
        Load::always(low, mix).within(f64::NEG_INFINITY, change_s),
        Load::always(high, mix).within(change_s, f64::INFINITY),
    ];
    setup
}

fn even_servers(random: &mut Random) -> Setup {
    let (count, deviation) = (random.count(1, 16), random.between(0.01, 0.08));
    let station = servers(random, count, Spread::Even(deviation));
    let load = clients(count * random.count(4, 12), any_mix(random));
    let mut setup = busy_capture(random, station);
    if random.chance(0.5) {
        light_then(random, &mut setup, (0.2, 0.5), load);
    } else {
        setup.loads = vec![load];
        setup.begins_loaded = true;
    }
    setup
}

fn paced(random: &mut Random) -> Setup {
    let (count, spread) = (random.count(4, 64), any_spread(random));
    let station = servers(random, count, spread);
    let rate = station.capacity(8) * random.between(0.02, 0.5);
    let (mix, jitter) = (any_mix(random), random.pick(&[0.0, 0.1, 0.5]));
    let mut setup = busy_capture(random, station);
    let arrivals = Arrivals::Paced {
        rate,
        jitter,
        depth: 256,
    };
    setup.loads = vec![Load::always(arrivals, mix).asynchronous()];
    setup
}

fn paced_beside_loop(random: &mut Random) -> Setup {
    let (count, spread) = (random.count(8, 64), any_spread(random));
    let station = servers(random, count, spread);
    let rate = station.capacity(8) * random.between(0.05, 0.3);
    let mix = any_mix(random);
    let mut setup = busy_capture(random, station);
    let arrivals = Arrivals::Paced {
        rate,
        jitter: 0.1,
        depth: 256,
    };
    let neighbor = clients(count / 4, mix);
    let (from_s, until_s) = (
        setup.seconds() * 0.3,
        setup.seconds() * random.between(0.5, 0.9),
    );
    setup.loads = vec![
        Load::always(arrivals, mix).asynchronous(),
        neighbor.within(from_s, until_s),
    ];
    setup
}

fn heavy_tail(random: &mut Random) -> Setup {
    let count = random.count(16, 64);
    let spread = Spread::HeavyTail {
        share: random.between(0.01, 0.03),
        times: random.between(20.0, 40.0),
    };
    let station = servers(random, count, spread);
    let mix = any_mix(random);
    let mut setup = busy_capture(random, station);
    let step_s = setup.seconds() / 3.0;
    setup.loads = vec![
        clients(1, mix),
        clients(count / 8, mix).within(step_s, f64::INFINITY),
        clients(count / 4, mix).within(2.0 * step_s, f64::INFINITY),
    ];
    setup
}
