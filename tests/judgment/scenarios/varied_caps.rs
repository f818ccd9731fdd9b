//! Limits on some operations, limits that come and go, and loads that stay below theirs.

use super::Scenario;
use super::building::{any_gate, any_mix, capture, clients, light_then};
use super::caps::{capped, device_for, enough_clients};
use crate::random::Random;
use crate::simulator::{Arrivals, Gate, Limited, Load, Mix, Setup, Unit};

pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "write cap beside free reads",
        build: writes_only,
    },
    Scenario {
        name: "separate caps for reads and writes",
        build: separate,
    },
    Scenario {
        name: "request cap under a paced load above it",
        build: paced_above,
    },
    Scenario {
        name: "request cap imposed under load",
        build: imposed,
    },
    Scenario {
        name: "request cap lifted under load",
        build: lifted,
    },
    Scenario {
        name: "byte cap on large sequential writes",
        build: sequential_writes,
    },
    Scenario {
        name: "paced load below a cap",
        build: paced_below,
    },
    Scenario {
        name: "random load below a cap",
        build: random_below,
    },
    Scenario {
        name: "burst credits earned and spent in turns",
        build: credits_in_turns,
    },
    Scenario {
        name: "request cap met in turns",
        build: met_in_turns,
    },
    Scenario {
        name: "byte cap met at once",
        build: bytes_met_at_once,
    },
];

fn writes_only(random: &mut Random) -> Setup {
    let (mut setup, rate) = capped(random);
    let writers = clients(enough_clients(random, &setup, rate), Mix::WRITES);
    setup.limit_inside(any_gate(random, Limited::Writes, Unit::Requests, rate));
    light_then(random, &mut setup, (0.2, 0.5), writers);
    let reads = Arrivals::Poisson {
        rate: rate * random.between(0.05, 0.3),
    };
    setup.loads.push(Load::always(reads, Mix::READS));
    setup
}

fn separate(random: &mut Random) -> Setup {
    let (mut setup, rate) = capped(random);
    let share = random.between(0.2, 0.8);
    let count = enough_clients(random, &setup, rate);
    setup.loads = vec![clients(count, Mix::READS), clients(count, Mix::WRITES)];
    setup.limit_inside(any_gate(
        random,
        Limited::Reads,
        Unit::Requests,
        rate * share,
    ));
    setup.limit_inside(any_gate(
        random,
        Limited::Writes,
        Unit::Requests,
        rate * (1.0 - share),
    ));
    setup.begins_loaded = true;
    setup
}

fn paced_above(random: &mut Random) -> Setup {
    let (mut setup, rate) = capped(random);
    let depth = enough_clients(random, &setup, rate).max(16);
    let mix = any_mix(random);
    let above = Arrivals::Paced {
        rate: rate * random.between(1.2, 2.0),
        jitter: 0.2,
        depth,
    };
    setup.limit_inside(any_gate(random, Limited::Both, Unit::Requests, rate));
    light_then(
        random,
        &mut setup,
        (0.2, 0.5),
        Load::always(above, mix).asynchronous(),
    );
    setup
}

/// A load that works unhindered but for a part of the capture.
fn limited_for_a_time(random: &mut Random, share: (f64, f64)) -> Setup {
    let rate = random.log_between(60.0, 1500.0);
    let station = device_for(random, rate);
    let mut setup = capture(random, station, rate * 4.0);
    let mut gate = any_gate(random, Limited::Both, Unit::Requests, rate);
    let time = |share: f64| {
        if (0.01..0.99).contains(&share) {
            share * setup.seconds()
        } else {
            share * 1e6
        }
    };
    gate.active = (time(share.0), time(share.1));
    // Alone on the device, the clients do three to six times what the limit lets pass.
    let working = rate * random.between(3.0, 6.0) * setup.station.service_s[0];
    let count = (working.round() as u32).clamp(1, setup.station.servers);
    setup.station.service_s = [f64::from(count) / rate / random.between(3.0, 6.0); 4];
    setup.loads = vec![clients(count, any_mix(random))];
    setup.limit_inside(gate);
    setup
}

fn imposed(random: &mut Random) -> Setup {
    let from = random.between(0.3, 0.6);
    limited_for_a_time(random, (from, 1.0))
}

fn lifted(random: &mut Random) -> Setup {
    let until = random.between(0.3, 0.6);
    let mut setup = limited_for_a_time(random, (-1.0, until));
    setup.begins_loaded = true;
    setup
}

fn sequential_writes(random: &mut Random) -> Setup {
    let rate = random.log_between(20.0, 1000.0);
    let station = device_for(random, rate);
    let mut setup = capture(random, station, rate * 1.2);
    let mix = Mix {
        sectors: &[1024],
        merges: 7,
        is_sequential: true,
        ..Mix::WRITES
    };
    setup.loads = vec![clients(enough_clients(random, &setup, rate), mix)];
    setup.limit_inside(any_gate(
        random,
        Limited::Writes,
        Unit::Sectors,
        rate * 1024.0,
    ));
    setup.begins_loaded = true;
    setup
}

fn paced_below(random: &mut Random) -> Setup {
    let (mut setup, rate) = capped(random);
    let arrivals = Arrivals::Paced {
        rate: rate * random.between(0.4, 0.8),
        jitter: 0.1,
        depth: 64,
    };
    setup.loads = vec![Load::always(arrivals, any_mix(random)).asynchronous()];
    setup.limit_inside(any_gate(random, Limited::Both, Unit::Requests, rate));
    setup
}

fn random_below(random: &mut Random) -> Setup {
    let (mut setup, rate) = capped(random);
    let arrivals = Arrivals::Poisson {
        rate: rate * random.between(0.3, 0.6),
    };
    setup.loads = vec![Load::always(arrivals, any_mix(random))];
    setup.limit_inside(any_gate(random, Limited::Both, Unit::Requests, rate));
    setup
}

/// A calm load all the time, and another in every second period.
fn in_turns(mut setup: Setup, calm: Load, load: Load, period_s: f64) -> Setup {
    setup.loads = vec![calm];
    let mut at_s = period_s;
    while at_s < setup.seconds() {
        setup.loads.push(load.within(at_s, at_s + period_s));
        at_s += 2.0 * period_s;
    }
    setup
}

fn credits_in_turns(random: &mut Random) -> Setup {
    let rate = random.log_between(60.0, 1000.0);
    let station = device_for(random, rate * 5.0);
    let mut setup = capture(random, station, rate * 3.0);
    let burst_rate = rate * random.between(3.0, 5.0);
    let period_s = setup.seconds() / random.between(4.0, 6.0);
    let capacity = (burst_rate - rate) * period_s * random.between(0.2, 0.5);
    setup.limit_inside(Gate::full_of_credits(rate, burst_rate, capacity));
    let mix = any_mix(random);
    let count = random.count(32, 64);
    let calm = Load::always(
        Arrivals::Poisson {
            rate: rate * random.between(0.1, 0.3),
        },
        mix,
    );
    in_turns(setup, calm, clients(count, mix), period_s)
}

fn met_in_turns(random: &mut Random) -> Setup {
    let (mut setup, rate) = capped(random);
    let mix = any_mix(random);
    let count = enough_clients(random, &setup, rate);
    setup.limit_inside(any_gate(random, Limited::Both, Unit::Requests, rate));
    let calm = Load::always(
        Arrivals::Poisson {
            rate: rate * random.between(0.1, 0.3),
        },
        mix,
    );
    let period_s = setup.interval_s * random.between(12.0, 20.0);
    in_turns(setup, calm, clients(count, mix), period_s)
}

fn bytes_met_at_once(random: &mut Random) -> Setup {
    let (mut setup, rate) = capped(random);
    let mix = Mix {
        sectors: &[128],
        ..any_mix(random)
    };
    let load = clients(enough_clients(random, &setup, rate), mix);
    setup.limit_inside(any_gate(random, Limited::Both, Unit::Sectors, rate * 128.0));
    light_then(random, &mut setup, (0.2, 0.5), load);
    setup
}
