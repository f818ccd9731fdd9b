//! Loads whose requests arrive at their own rate, independent of the device (open loops), and loads only some of which
//! have a baseline.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use serde_json::Value;

use super::simulator::{Random, Second, analyze, assess, caps, is_near, number, reads, varied};

/// Simulates requests that arrive at random, `rate(second)` per second, at `servers` with exponential service times of
/// mean `service_s`, behind a gate that opens `cap` times per second.
fn open(
    random: &mut Random,
    seconds: usize,
    rate: impl Fn(usize) -> f64,
    servers: usize,
    service_s: f64,
    cap: f64,
) -> Vec<Second> {
    // The bits of a positive number are in the order of the numbers.
    let mut free = BinaryHeap::from(vec![Reverse(0.0f64.to_bits()); servers]);
    let (mut done, mut took) = (vec![0.0; seconds], vec![0.0; seconds]);
    let (mut at, mut gate) = (0.0f64, 0.0f64);
    while at < seconds as f64 {
        gate = gate.max(at);
        let Reverse(first) = free.pop().unwrap();
        let end = gate.max(f64::from_bits(first)) + service_s * random.exponential();
        free.push(Reverse(end.to_bits()));
        gate += 1.0 / cap;
        // As the kernel does, a request counts when it completes.
        if let Some(done) = done.get_mut(end as usize) {
            *done += 1.0;
            took[end as usize] += 1000.0 * (end - at);
        }
        at += random.exponential() / rate(at as usize);
    }
    let second = |(done, took): (f64, f64)| Second {
        reads: (done, took / done, 4.0),
        in_flight: (took / 1000.0) as u64,
        ..Second::default()
    };
    done.into_iter()
        .zip(took)
        .filter(|(done, _)| *done > 0.0)
        .map(second)
        .collect()
}

fn is_capped(judged: &Value) -> bool {
    judged["verdict"] == "capped"
}

fn has_no_plateau(report: &Value) -> bool {
    report["plateaus"].as_array().unwrap().is_empty()
}

#[test]
fn a_constant_load_does_not_show_a_maximum_by_chance() {
    let mut wrong = 0;
    for seed in 0..30 {
        let mut random = Random(9000 + seed);
        let (servers, service_s) = [(1, 0.008), (8, 0.008), (2, 0.001)][seed as usize % 3];
        let max_rate = servers as f64 / service_s;
        let share = 0.4 + 0.35 * random.unit();
        let load = open(
            &mut random,
            60,
            |_| share * max_rate,
            servers,
            service_s,
            1e9,
        );
        let capacity = &analyze(load)["capacity"];
        let is_wrong =
            capacity["max_known"] == true && !is_near(&capacity["max_iops"], max_rate, 0.1);
        wrong += usize::from(is_wrong);
    }
    assert!(wrong <= 3, "{wrong} of 30");
}

#[test]
fn the_maximum_does_not_exceed_the_highest_rate() {
    for seed in 0..15 {
        let mut random = Random(9100 + seed);
        let (servers, service_s) = [(8, 0.001), (32, 0.004), (1, 0.008)][seed as usize % 3];
        let max_rate = servers as f64 / service_s;
        // The load rises beyond what the device can do.
        let load = open(
            &mut random,
            65,
            |at| max_rate * (0.1 + 0.02 * at as f64),
            servers,
            service_s,
            1e9,
        );
        let report = analyze(load);
        let (capacity, seen) = (&report["capacity"], number(&report["all"]["iops"]["max"]));
        assert!(
            number(&capacity["max_iops"]) <= 1.1 * seen,
            "seed {seed}: {capacity}"
        );
        let is_right =
            capacity["max_known"] == false || is_near(&capacity["max_iops"], max_rate, 0.12);
        assert!(is_right, "seed {seed}: {max_rate} {capacity}");
    }
}

/// Requests that arrive at random, `rate` per second, at a device that takes `first_s` for each in the first minute and
/// `then_s` in the second, as many at a time as are there.
fn random_on_a_slower_device(
    random: &mut Random,
    rate: f64,
    [first_s, then_s]: [f64; 2],
) -> Vec<Second> {
    let mut seconds = vec![Second::default(); 120];
    let (mut at, mut busy_until) = (0.0f64, 0.0f64);
    loop {
        at += random.exponential() / rate;
        let second = at as usize;
        let Some(load) = seconds.get_mut(second) else {
            return seconds;
        };
        let took_s = if second < 60 { first_s } else { then_s };
        load.reads = (load.reads.0 + 1.0, 1000.0 * took_s, 4.0);
        load.busy_s = (load.busy_s + at + took_s - busy_until.max(at)).min(1.0);
        busy_until = at + took_s;
    }
}

#[test]
fn a_device_that_became_slower_is_slow_although_requests_overlap_by_chance() {
    for seed in 0..20 {
        let mut random = Random(9800 + seed);
        // At 40 times the latency of before, two or three are often in flight at once.
        let assessed = assess(random_on_a_slower_device(&mut random, 85.0, [0.0005, 0.02]));
        let slow = assessed[64..]
            .iter()
            .filter(|one| one["verdict"] == "slow")
            .count();
        assert!(slow >= 45, "seed {seed}: slow for {slow} of 56 s");
        assert!(
            assessed[..60].iter().all(|one| one["verdict"] != "slow"),
            "seed {seed}"
        );
    }
}

/// Requests that arrive evenly while the device, whose own rate is far higher, becomes slower by and by.
fn paced_on_a_slowing_device(random: &mut Random, rate: f64, queues: &[f64]) -> Vec<Second> {
    let mut in_flight = 1.0;
    let seconds = queues.iter().flat_map(|queue| [*queue; 10]);
    let second = |queue: f64| {
        let now = (queue * (1.0 + 0.3 * random.normal())).round().max(0.0);
        let done = rate - (now - std::mem::replace(&mut in_flight, now));
        Second {
            in_flight: now as u64,
            ..reads(done, queue)
        }
    };
    seconds.map(second).collect()
}

#[test]
fn the_pace_of_requests_is_not_the_capacity() {
    let queues = [1.0, 1.5, 2.2, 3.3, 5.0, 7.5, 11.0, 16.0, 24.0];
    for seed in 0..10 {
        let mut random = Random(9600 + seed);
        let rate = (300.0 * 10f64.powf(random.unit())).round();
        let report = analyze(paced_on_a_slowing_device(&mut random, rate, &queues));
        let capacity = &report["capacity"];
        let is_offered = capacity["max_known"] == false && capacity["offered_rate"] == true;
        assert!(is_offered, "seed {seed}: {rate} {capacity}");
        assert!(
            capacity["knee_high"].is_null() && has_no_plateau(&report),
            "seed {seed}"
        );
    }
}

#[test]
fn a_queue_that_only_grows_at_a_cap_is_capped() {
    for seed in 0..20 {
        let mut random = Random(9200 + seed);
        let cap = (500.0 * 10f64.powf(random.unit())).round();
        let rate = |at: usize| if at < 20 { 0.5 * cap } else { 1.5 * cap };
        let load = open(&mut random, 40, rate, 64, 0.0003, cap);
        let report = analyze(load.clone());
        assert_eq!(
            report["verdict"], "capped",
            "seed {seed}: {}",
            report["explanation"]
        );
        assert!(
            is_near(&report["plateaus"][0]["iops"], cap, 0.01),
            "seed {seed}"
        );
        let live = assess(load).iter().filter(|one| is_capped(one)).count();
        assert!(live >= 5, "seed {seed}: {live}");
    }
}

/// Seconds at a rate and a queue; a rate varies by chance only where hardly any request waits.
fn steady(random: &mut Random, phases: &[(usize, f64, f64)]) -> Vec<Second> {
    let seconds = phases
        .iter()
        .flat_map(|(seconds, rate, queue)| vec![(*rate, *queue); *seconds]);
    let second = |(rate, queue): (f64, f64)| {
        let is_varied = [1.0, 4.0].contains(&queue);
        let rate = if is_varied {
            varied(random, rate, 0.5)
        } else {
            rate * (1.0 + 0.0004 * random.normal())
        };
        reads(rate, queue)
    };
    seconds.map(second).collect()
}

#[test]
fn a_higher_cap_for_a_while_is_a_plateau_of_its_own() {
    let credits = [(8.0, 32.0), (16.0, 32.0), (16.0, 64.0), (32.0, 16.0)].map(|(before, after)| {
        vec![
            (10, 900.0, 1.0),
            (25, 7500.0, before),
            (15, 1500.0, before),
            (25, 1500.0, after),
            (9, 700.0, 0.4),
        ]
    });
    let coming_and_going = [2, 3, 40]
        .map(|cycles| [(30, 3000.0, 32.0), (30, 300.0, 32.0), (20, 50.0, 0.02)].repeat(cycles));
    let bursts = [9, 11, 14].map(|burst_s| {
        vec![
            (4, 1500.0, 1.0),
            (4, 6000.0, 4.0),
            (burst_s, 16_000.0, 64.0),
            (25, 3000.0, 64.0),
        ]
    });
    let cases = credits.map(|load| (load, [7500.0, 1500.0])).into_iter();
    let cases = cases.chain(coming_and_going.map(|load| (load, [3000.0, 300.0])));
    let cases = cases.chain(bursts.map(|load| (load, [16_000.0, 3000.0])));
    for (phases, expected) in cases {
        for seed in 0..3 {
            let load = steady(&mut Random(9300 + seed), &phases);
            let report = analyze(load.clone());
            assert_eq!(report["verdict"], "capped", "{phases:?}");
            assert_eq!(caps(&report, 100.0), expected, "{phases:?}");
            assert_eq!(report["capacity"]["max_known"], true, "{phases:?}");
            if expected[1] == 3000.0 {
                assert_eq!(report["plateaus"][1]["matches_limit"], "AWS gp3 (base)");
                assert!(assess(load).last().is_some_and(is_capped), "{phases:?}");
            }
        }
    }
}

#[test]
fn a_device_is_not_called_ok_for_loads_without_a_baseline() {
    let mut random = Random(9650);
    let mut writes: Vec<Second> = Vec::new();
    for _ in 0..30 {
        let rate = varied(&mut random, 2000.0, 1.0);
        writes.push(Second {
            writes: (rate, 64_000.0 / rate, 64.0),
            in_flight: 64,
            ..Second::default()
        });
    }
    let reading: Vec<Second> = (0..40)
        .map(|_| reads(varied(&mut random, 250.0, 1.0), 1.0))
        .collect();
    let load = [reading.clone(), writes.clone()].concat();
    let report = analyze(load);
    let explanation = report["explanation"].as_str().unwrap();
    assert!(report["verdict"].is_null(), "{explanation}");
    assert!(
        explanation.contains("latency 32.1 ms, queue 64.0"),
        "{explanation}"
    );
    // With the unloaded latency of such writes, there is a verdict.
    let light = Second {
        writes: (200.0, 4.0, 64.0),
        ..Second::default()
    };
    let load = [reading, vec![light; 5], writes].concat();
    assert_eq!(analyze(load)["verdict"], "saturated");
}

#[test]
fn where_every_level_is_at_the_maximum_the_lowest_is_an_upper_bound() {
    let mut random = Random(9600);
    let levels = [16.0, 32.0, 64.0, 128.0, 256.0].map(|queue| (8, 3000.0, queue));
    let capacity = &analyze(steady(&mut random, &levels))["capacity"];
    assert!(capacity["knee_low"].is_null(), "{capacity}");
    assert!(is_near(&capacity["knee_high"], 16.0, 0.02), "{capacity}");
}

#[test]
fn the_end_of_a_burst_is_not_a_baseline() {
    // Bursts of 32 at a cap of 3,000; their last requests are completed in the next second.
    let burst = |at: usize| match at % 10 {
        0..5 => Second {
            in_flight: 32,
            ..reads(3000.0, 32.0)
        },
        5 => Second {
            reads: (32.0, 10.7, 4.0),
            ..Second::default()
        },
        _ => Second::default(),
    };
    let load: Vec<Second> = (0..60).map(burst).collect();
    let report = analyze(load.clone());
    assert_ne!(report["verdict"], "ok", "{}", report["explanation"]);
    let live = assess(load);
    assert!(
        (0..60)
            .filter(|at| at % 10 < 5)
            .all(|at| live[at]["verdict"] != "ok")
    );
}

/// Even requests of a client that waits because of a neighbor at times.
fn beside_a_neighbor(seed: u64) -> Vec<Second> {
    let mut random = Random(9700 + seed);
    let rate = (500.0 * 20f64.powf(random.unit())).round();
    let [light, loaded] = [0.5 + 0.25 * random.unit(), 4.0 + 4.0 * random.unit()];
    let phases = [light, loaded]
        .repeat(3)
        .into_iter()
        .flat_map(|queue| [queue; 8]);
    let second = |queue: f64| Second {
        in_flight: (queue * (1.0 + 0.4 * random.normal())).round().max(0.0) as u64,
        ..reads((rate * (1.0 + 0.0003 * random.normal())).round(), queue)
    };
    phases.map(second).collect()
}

#[test]
fn a_rate_that_is_not_the_limit_of_the_device_is_no_cap() {
    let mut random = Random(9500);
    let issued_evenly = steady(
        &mut random,
        &[0.1, 0.2, 2.0, 5.0, 9.0].map(|queue| (10, 1000.0, queue)),
    );
    let device_pauses = (0..60).map(|at| {
        let queue = if at % 5 == 4 {
            150.0 + 400.0 * random.unit()
        } else {
            4.8 + 0.1 * random.unit()
        };
        reads(4800.0 + (at % 3) as f64, queue)
    });
    let device_pauses = device_pauses.collect();
    // One or two requests per second at any queue.
    let few = (0..60)
        .map(|at| reads(1.0 + f64::from(at % 7 == 0), f64::from(1 << (at / 10))))
        .collect();
    let loads = [issued_evenly, device_pauses, few]
        .into_iter()
        .chain((0..20).map(beside_a_neighbor));
    for (at, load) in loads.enumerate() {
        let report = analyze(load.clone());
        assert!(has_no_plateau(&report), "{at}: {}", report["explanation"]);
        // The even rate counts as the maximum.
        assert_eq!(
            report["capacity"]["max_known"],
            at == 0,
            "{at}: {}",
            report["explanation"]
        );
        assert!(!assess(load).iter().any(is_capped), "{at}");
    }
}

#[test]
fn a_cap_on_the_smaller_direction_is_not_the_capacity_of_the_device() {
    let mut random = Random(9800);
    let load: Vec<Second> = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0]
        .into_iter()
        .flat_map(|queue| vec![queue; 8])
        .map(|queue| {
            let written = 1000.0 * (1.0 + 0.0004 * random.normal());
            let read = 4000.0 * queue * (1.0 + 0.02 * random.normal());
            let (reads, writes) = ((read, 0.25, 4.0), (written, queue, 4.0));
            Second {
                reads,
                writes,
                in_flight: 2 * queue as u64,
                ..Second::default()
            }
        })
        .collect();
    let report = analyze(load);
    assert_eq!(caps(&report, 10.0), [1000.0]);
    assert!(
        number(&report["capacity"]["max_iops"]) > 100_000.0,
        "{}",
        report["capacity"]
    );
}
