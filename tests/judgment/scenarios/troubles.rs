//! Devices that become slower, answer nothing for a time, lose requests or are replaced.

use super::Scenario;
use super::building::{any_mix, any_servers, any_spread, busy_capture, clients, light, servers};
use crate::random::Random;
use crate::simulator::{Arrivals, History, Hung, Load, Mix, Operation, Setup, Slowdown};

pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "device becomes slow, no queue",
        build: becomes_slow,
    },
    Scenario {
        name: "device becomes slow by and by",
        build: slow_by_and_by,
    },
    Scenario {
        name: "device slow from the start, no queue",
        build: slow_from_the_start,
    },
    Scenario {
        name: "device becomes slow under a steady load",
        build: slow_under_load,
    },
    Scenario {
        name: "writes become slow, reads do not",
        build: slow_writes,
    },
    Scenario {
        name: "device a little slower for a time",
        build: a_little_slower,
    },
    Scenario {
        name: "device stalls for seconds",
        build: stalls,
    },
    Scenario {
        name: "device stalls again and again",
        build: stalls_again,
    },
    Scenario {
        name: "capture begins in a stall",
        build: begins_in_stall,
    },
    Scenario {
        name: "requests hang beside others",
        build: hang_beside_others,
    },
    Scenario {
        name: "requests hang on an idle device",
        build: hang_alone,
    },
    Scenario {
        name: "in-flight count too high for ever",
        build: leaked,
    },
    Scenario {
        name: "disk replaced by a slower one",
        build: replaced,
    },
];

fn slowdown(from_s: f64, until_s: f64, factor: f64) -> Slowdown {
    Slowdown {
        from_s,
        until_s,
        factors: (factor, factor),
        operation: None,
        is_usual: false,
    }
}

/// A device with a quarter of its servers busy.
fn calm(random: &mut Random) -> Setup {
    let (count, spread) = (random.count(4, 64), any_spread(random));
    let station = servers(random, count, spread);
    let mix = any_mix(random);
    let mut setup = busy_capture(random, station);
    setup.loads = vec![if random.chance(0.5) {
        light(random, &setup.station, mix)
    } else {
        clients((count / 4).max(1), mix)
    }];
    setup
}

fn becomes_slow(random: &mut Random) -> Setup {
    let mut setup = calm(random);
    let from_s = setup.seconds() * random.between(0.3, 0.6);
    let factor = random.between(4.0, 15.0);
    setup
        .station
        .slowdowns
        .push(slowdown(from_s, f64::INFINITY, factor));
    setup
}

fn slow_by_and_by(random: &mut Random) -> Setup {
    let mut setup = calm(random);
    let (from_s, until_s) = (
        setup.seconds() * random.between(0.2, 0.3),
        setup.seconds() + 1.0,
    );
    let factors = (1.0, random.between(8.0, 15.0));
    setup.station.slowdowns.push(Slowdown {
        factors,
        ..slowdown(from_s, until_s, 1.0)
    });
    setup
}

fn slow_from_the_start(random: &mut Random) -> Setup {
    let mut setup = calm(random);
    let factor = random.between(5.0, 15.0);
    setup
        .station
        .slowdowns
        .push(slowdown(f64::NEG_INFINITY, f64::INFINITY, factor));
    for operation in [Operation::Read, Operation::Write] {
        let mean_s = setup.station.service_s[0] * random.between(1.0, 1.2);
        let sectors = u64::from(setup.loads[0].mix.sectors[0]);
        setup.history.push(History {
            operation,
            ios: 5_000_000,
            sectors,
            mean_s,
        });
    }
    setup.begins_loaded = true;
    setup
}

fn slow_under_load(random: &mut Random) -> Setup {
    let (count, spread) = (random.count(2, 32), any_spread(random));
    let station = servers(random, count, spread);
    let mix = any_mix(random);
    let rate = station.capacity(8) * random.between(0.2, 0.4);
    let mut setup = busy_capture(random, station);
    let from_s = setup.seconds() * random.between(0.3, 0.6);
    // The load needs up to six times the servers; its clients keep no more than this in flight.
    let depth = count * random.count(8, 16);
    setup.loads = vec![Load::always(
        Arrivals::Paced {
            rate,
            jitter: 0.5,
            depth,
        },
        mix,
    )];
    let factor = random.between(6.0, 15.0);
    setup
        .station
        .slowdowns
        .push(slowdown(from_s, f64::INFINITY, factor));
    setup
}

fn slow_writes(random: &mut Random) -> Setup {
    let mut setup = calm(random);
    setup.loads = vec![light(
        random,
        &setup.station,
        Mix {
            reads: 0.5,
            ..Mix::READS
        },
    )];
    let from_s = setup.seconds() * random.between(0.3, 0.6);
    let factor = random.between(5.0, 15.0);
    let slow = Slowdown {
        operation: Some(Operation::Write),
        ..slowdown(from_s, f64::INFINITY, factor)
    };
    setup.station.slowdowns.push(slow);
    setup
}

fn a_little_slower(random: &mut Random) -> Setup {
    let mut setup = calm(random);
    let (from_s, until_s) = (setup.seconds() * 0.4, setup.seconds() * 0.7);
    let factor = random.between(1.1, 1.3);
    setup
        .station
        .slowdowns
        .push(slowdown(from_s, until_s, factor));
    setup
}

fn stalls(random: &mut Random) -> Setup {
    let mut setup = calm(random);
    let from_s = setup.seconds() * random.between(0.3, 0.6);
    let length_s = random.between(4.0, 12.0).max(4.0 * setup.interval_s);
    setup.station.pauses_s.push((from_s, from_s + length_s));
    setup
}

fn stalls_again(random: &mut Random) -> Setup {
    let mut setup = calm(random);
    let mut at_s = 8.0 * setup.interval_s;
    while at_s < setup.seconds() {
        let length_s = random.between(3.0, 6.0) * setup.interval_s.max(1.0);
        setup.station.pauses_s.push((at_s, at_s + length_s));
        at_s += length_s + random.between(6.0, 15.0) * setup.interval_s.max(1.0);
    }
    setup
}

fn begins_in_stall(random: &mut Random) -> Setup {
    let mut setup = calm(random);
    let until_s = setup.seconds() * random.between(0.3, 1.5);
    setup
        .station
        .pauses_s
        .push((-setup.warm_up_s / 2.0, until_s));
    setup.begins_loaded = true;
    setup
}

fn hang_beside_others(random: &mut Random) -> Setup {
    let mut setup = calm(random);
    setup.interval_s = 1.0;
    let from_s = setup.seconds() * random.between(0.1, 0.4);
    let until_s = if random.chance(0.5) {
        f64::INFINITY
    } else {
        from_s + random.between(20.0, 60.0)
    };
    let others = setup.station.servers;
    let requests = others + random.count(4, 32);
    setup.hung = Some(Hung {
        from_s,
        until_s: until_s.min(1e6),
        requests,
    });
    setup
}

fn hang_alone(random: &mut Random) -> Setup {
    let mut setup = calm(random);
    let from_s = setup.seconds() * random.between(0.2, 0.5);
    setup.loads[0].until_s = from_s - setup.interval_s;
    setup.hung = Some(Hung {
        from_s,
        until_s: 1e6,
        requests: random.count(1, 16),
    });
    setup
}

fn leaked(random: &mut Random) -> Setup {
    let mut setup = calm(random);
    let at_s = if random.chance(0.5) {
        -setup.warm_up_s / 2.0
    } else {
        setup.seconds() * 0.3
    };
    setup.leak = Some((at_s, u64::from(random.count(1, 8))));
    setup
}

fn replaced(random: &mut Random) -> Setup {
    let station = any_servers(random);
    let mix = any_mix(random);
    let mut setup = busy_capture(random, station);
    let at_s = setup.seconds() * random.between(0.4, 0.6);
    let pause_s = 2.0 * setup.interval_s;
    let before = light(random, &setup.station, mix);
    let after = light(random, &setup.station, mix);
    setup.loads = vec![
        before.within(f64::NEG_INFINITY, at_s - pause_s),
        after.within(at_s + pause_s, f64::INFINITY),
    ];
    // No healthy disk takes more than 25 ms for a request.
    let factor = random
        .between(3.0, 20.0)
        .min(0.025 / setup.station.service_s[0]);
    let slower = Slowdown {
        is_usual: true,
        ..slowdown(at_s, f64::INFINITY, factor)
    };
    setup.station.slowdowns.push(slower);
    setup.replaced_at_s = Some(at_s);
    setup
}
