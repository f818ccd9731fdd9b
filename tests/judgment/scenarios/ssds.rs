//! Solid-state disks with caches, garbage collection and power saving, and loads in bursts.

use super::Scenario;
use super::building::{any_mix, any_servers, any_spread, busy_capture, clients, light, servers};
use crate::random::Random;
use crate::simulator::{Arrivals, Cache, Load, Mix, PowerSave, Setup, Spread};

pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "parallel SSD, growing number of clients",
        build: parallel_growing,
    },
    Scenario {
        name: "SSD that pauses to collect garbage",
        build: garbage_collection,
    },
    Scenario {
        name: "uncached reads after cached ones",
        build: cold_cache,
    },
    Scenario {
        name: "cached and uncached reads mixed",
        build: mixed_cache,
    },
    Scenario {
        name: "device sleeps between requests, then many clients",
        build: power_save,
    },
    Scenario {
        name: "discards beside reads",
        build: discards,
    },
    Scenario {
        name: "bursts at even distances",
        build: bursts,
    },
    Scenario {
        name: "load on and off in turns",
        build: on_and_off,
    },
    Scenario {
        name: "clients that think, never many at once",
        build: thinking,
    },
    Scenario {
        name: "short line from start to end",
        build: short_line,
    },
    Scenario {
        name: "many writers beside one reader",
        build: writers_beside_reader,
    },
    Scenario {
        name: "mixed sizes at light load",
        build: mixed_sizes,
    },
];

fn parallel_growing(random: &mut Random) -> Setup {
    let count = random.count(16, 128);
    let mut station = servers(random, count, Spread::Lognormal(0.4));
    station.interference = random.between(0.005, 0.04);
    let mix = any_mix(random);
    let mut setup = busy_capture(random, station);
    let step_s = setup.seconds() / 6.0;
    let mut running = 0;
    for step in 0..6 {
        let wanted = (count * 4) >> (2 * (5 - step)).min(31);
        let added = wanted.saturating_sub(running).max(1);
        running += added;
        let from_s = if step == 0 {
            f64::NEG_INFINITY
        } else {
            f64::from(step) * step_s
        };
        setup
            .loads
            .push(clients(added, mix).within(from_s, f64::INFINITY));
    }
    setup
}

fn garbage_collection(random: &mut Random) -> Setup {
    let (count, spread) = (random.count(8, 64), any_spread(random));
    let station = servers(random, count, spread);
    let load = clients((count / 4).max(1), any_mix(random));
    let mut setup = busy_capture(random, station);
    setup.loads = vec![load];
    let mut at_s = setup.seconds() * random.between(0.2, 0.4);
    let (distance_s, length_s) = (random.between(0.05, 2.0), random.log_between(0.005, 0.2));
    while at_s < setup.seconds() {
        setup
            .station
            .pauses_s
            .push((at_s, at_s + length_s * random.between(0.7, 1.3)));
        at_s += length_s * 1.3 + distance_s * random.between(0.5, 1.5);
    }
    setup
}

fn cold_cache(random: &mut Random) -> Setup {
    let (count, spread) = (random.count(16, 64), any_spread(random));
    let station = servers(random, count, spread);
    let load = clients(count / 4, Mix::READS);
    let mut setup = busy_capture(random, station);
    let change_s = setup.seconds() * random.between(0.3, 0.6);
    let hit_s = setup.station.service_s[0] / random.between(4.0, 20.0);
    // More requests come from the cache than the servers could give.
    let think_s = hit_s * f64::from(count) / 4.0;
    let hot = Load::always(
        Arrivals::Closed {
            clients: 1,
            think_s,
        },
        Mix::READS,
    );
    setup.station.cache = Some(Cache {
        hit_s,
        hits: (1.0, 0.0),
        cold_from_s: change_s,
    });
    setup.loads = vec![
        hot.within(f64::NEG_INFINITY, change_s),
        load.within(change_s, f64::INFINITY),
    ];
    setup
}

fn mixed_cache(random: &mut Random) -> Setup {
    let (count, spread) = (random.count(8, 64), any_spread(random));
    let station = servers(random, count, spread);
    let load = clients((count / 4).max(1), Mix::READS);
    let mut setup = busy_capture(random, station);
    let hit_s = setup.station.service_s[0] / random.between(4.0, 20.0);
    let share = random.between(0.2, 0.8);
    setup.station.cache = Some(Cache {
        hit_s,
        hits: (share, share),
        cold_from_s: f64::INFINITY,
    });
    setup.loads = vec![load];
    setup
}

fn power_save(random: &mut Random) -> Setup {
    let (count, spread) = (random.count(2, 16), any_spread(random));
    let mut station = servers(random, count, spread);
    let service_s = station.service_s[0];
    let sleep = PowerSave {
        after_s: service_s * 5.0,
        wake_s: service_s * random.between(5.0, 15.0),
    };
    station.power_save = Some(sleep);
    let mix = any_mix(random);
    let many = clients(count * random.count(4, 8), mix);
    let mut setup = busy_capture(random, station);
    let change_s = setup.seconds() * random.between(0.3, 0.6);
    let rare = Load::always(
        Arrivals::Closed {
            clients: 1,
            think_s: service_s * 60.0,
        },
        mix,
    );
    setup.loads = vec![
        rare.within(f64::NEG_INFINITY, change_s),
        many.within(change_s, f64::INFINITY),
    ];
    setup
}

fn discards(random: &mut Random) -> Setup {
    let (count, spread) = (random.count(4, 64), any_spread(random));
    let mut station = servers(random, count, spread);
    station.service_s[2] *= random.between(1.0, 4.0);
    let mix = Mix {
        reads: 0.8,
        discards: 1.0,
        ..any_mix(random)
    };
    let rate = station.capacity(8) * random.between(0.05, 0.25);
    let mut setup = busy_capture(random, station);
    setup.loads = vec![Load::always(Arrivals::Poisson { rate }, mix)];
    setup
}

fn bursts(random: &mut Random) -> Setup {
    let station = any_servers(random);
    let size = station.servers * random.count(4, 12);
    let busy_share = random.between(0.02, 0.2);
    let every_s = f64::from(size) / station.capacity(8) / busy_share;
    let mix = any_mix(random);
    let mut setup = busy_capture(random, station);
    let every_s = every_s.min(setup.interval_s / 3.0);
    setup.loads = vec![light(random, &setup.station, mix)];
    setup
        .loads
        .push(Load::always(Arrivals::Bursts { every_s, size }, mix).asynchronous());
    setup
}

fn on_and_off(random: &mut Random) -> Setup {
    let station = any_servers(random);
    let many = station.servers * random.count(4, 12);
    let mix = any_mix(random);
    let mut setup = busy_capture(random, station);
    let period_s = setup.interval_s * random.between(10.0, 25.0);
    let mut at_s = period_s;
    setup.loads = vec![light(random, &setup.station, mix)];
    while at_s < setup.seconds() {
        setup
            .loads
            .push(clients(many, mix).within(at_s, at_s + period_s));
        at_s += 2.0 * period_s;
    }
    setup
}

fn thinking(random: &mut Random) -> Setup {
    let (count, spread) = (random.count(8, 64), any_spread(random));
    let station = servers(random, count, spread);
    let think_s = station.service_s[0] * random.between(3.0, 10.0);
    let mix = any_mix(random);
    let mut setup = busy_capture(random, station);
    setup.loads = vec![Load::always(
        Arrivals::Closed {
            clients: count,
            think_s,
        },
        mix,
    )];
    setup
}

fn short_line(random: &mut Random) -> Setup {
    let station = any_servers(random);
    let load = clients(station.servers * 2, any_mix(random));
    let mut setup = busy_capture(random, station);
    setup.loads = vec![load];
    setup.begins_loaded = true;
    setup
}

fn writers_beside_reader(random: &mut Random) -> Setup {
    let station = any_servers(random);
    let many = clients(station.servers * random.count(4, 10), Mix::WRITES);
    let mut setup = busy_capture(random, station);
    let change_s = setup.seconds() * random.between(0.3, 0.6);
    setup.loads = vec![light(random, &setup.station, Mix::READS)];
    setup
        .loads
        .push(light(random, &setup.station, Mix::WRITES).within(f64::NEG_INFINITY, change_s));
    setup.loads.push(many.within(change_s, f64::INFINITY));
    setup
}

fn mixed_sizes(random: &mut Random) -> Setup {
    let (count, spread) = (random.count(4, 32), any_spread(random));
    let mut station = servers(random, count, spread);
    station.sector_s = station.service_s[0] / random.between(50.0, 500.0);
    let mix = Mix {
        sectors: &[8, 32, 256],
        ..any_mix(random)
    };
    let mut setup = busy_capture(random, station);
    setup.loads = vec![light(random, &setup.station, mix)];
    setup
}
