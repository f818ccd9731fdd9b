//! The capacity of devices of known capacity: the highest rate, the knee and limits.

use serde_json::Value;

use crate::capture::simulate;
use crate::judge::report;
use crate::random::Random;
use crate::simulator::{
    Arrivals, Gate, Limited, Load, Mix, Pacing, Setup, Spread, Station, Unit, closed,
};

/// Seconds at each number of clients.
const STEP_S: u32 = 8;
const DOUBLING: [u32; 8] = [1, 2, 4, 8, 16, 32, 64, 128];

/// A device with so many clients, one number after the other.
fn sweep(station: Station, clients: &[u32], mix: Mix) -> Setup {
    let mut setup = Setup::new(clients.len() as u32 * STEP_S);
    setup.is_recording = false;
    setup.station = station;
    let mut at_s = 0.0;
    for count in clients {
        let until_s = at_s + f64::from(STEP_S);
        setup
            .loads
            .push(Load::always(closed(*count), mix).within(at_s, until_s));
        at_s = until_s;
    }
    setup
}

/// Requests that arrive at their own times.
fn open(station: Station, seconds: u32, arrivals: Arrivals) -> Setup {
    let mut setup = Setup::new(seconds);
    setup.is_recording = false;
    setup.station = station;
    setup.loads = vec![Load::always(arrivals, Mix::READS).asynchronous()];
    setup
}

fn analyze(setup: &Setup, name: &str, seed: u64, options: &[&str]) -> Value {
    let mut random = Random::new(name, seed);
    report(&simulate(setup, &mut random).text, "sda", options)
}

#[track_caller]
fn assert_near(value: &Value, expected: f64, error: f64) {
    let number = value
        .as_f64()
        .unwrap_or_else(|| panic!("{value} is no number"));
    assert!(
        (number / expected - 1.0).abs() < error,
        "{number} is not {expected}"
    );
}

#[test]
fn the_maximum_and_the_knee_of_several_servers_are_found() {
    for (seed, servers) in (0..).zip([4, 8, 16, 4, 8, 16]) {
        let station = Station::new(servers, 0.01, Spread::Exponential);
        let report = analyze(&sweep(station, &DOUBLING, Mix::READS), "servers", seed, &[]);
        let capacity = &report["capacity"];
        assert_eq!(report["verdict"], "saturated", "{report}");
        assert_eq!(capacity["max_known"], true, "{capacity}");
        assert_near(&capacity["max_iops"], f64::from(servers) / 0.01, 0.05);
        assert_near(&capacity["knee_low"], f64::from(servers) / 2.0, 0.05);
        assert_near(&capacity["knee_high"], f64::from(servers), 0.05);
    }
}

#[test]
fn a_sweep_that_stops_before_the_knee_has_not_reached_it() {
    for seed in 0..5 {
        let station = Station::new(64, 0.02, Spread::Exponential);
        let report = analyze(
            &sweep(station, &DOUBLING[..6], Mix::READS),
            "stops",
            seed,
            &[],
        );
        assert_eq!(report["capacity"]["max_known"], false, "{report}");
    }
}

#[test]
fn a_limit_is_the_capacity_within_one_percent() {
    for (seed, rate) in (0..).zip([137.0, 450.0, 1234.0, 2600.0]) {
        let station = Station::new(64, 0.0004, Spread::Exponential);
        let mut setup = sweep(station, &DOUBLING, Mix::READS);
        let gate = Gate::new(Limited::Both, Unit::Requests, rate, Pacing::Spaced);
        setup.limit_inside(gate);
        let report = analyze(&setup, "limit", seed, &[]);
        let capacity = &report["capacity"];
        assert_eq!(report["verdict"], "capped", "{report}");
        assert_near(&report["plateaus"][0]["iops"], rate, 0.01);
        assert_near(&capacity["max_iops"], rate, 0.01);
        assert_eq!(
            (&capacity["max_known"], &capacity["proven"]),
            (&true.into(), &true.into())
        );
    }
}

#[test]
fn a_limit_of_reads_beside_free_writes_is_that_of_reads() {
    for seed in 0..3 {
        let station = Station::new(64, 0.0004, Spread::Exponential);
        let mut setup = sweep(station, &DOUBLING, Mix::READS);
        setup.limit_inside(Gate::new(
            Limited::Reads,
            Unit::Requests,
            900.0,
            Pacing::Spaced,
        ));
        let writes = Arrivals::Bursts {
            every_s: 1.7,
            size: 200,
        };
        setup.loads.push(Load::always(writes, Mix::WRITES));
        let report = analyze(&setup, "reads", seed, &[]);
        assert_eq!(report["verdict"], "capped", "{report}");
        assert_eq!(report["capacity"]["capped"], "read", "{report}");
        assert_near(&report["capacity"]["max_iops"], 900.0, 0.01);
    }
}

#[test]
fn a_constant_load_shows_no_maximum_and_none_exceeds_the_highest_rate() {
    for seed in 0..6 {
        let station = Station::new(8, 0.008, Spread::Exponential);
        let rate = 400.0 + 70.0 * seed as f64;
        let report = analyze(
            &open(station, 60, Arrivals::Poisson { rate }),
            "constant",
            seed,
            &[],
        );
        let capacity = &report["capacity"];
        assert_eq!(capacity["max_known"], false, "{rate}: {capacity}");
        let highest = report["all"]["iops"]["max"].as_f64().unwrap();
        assert!(
            capacity["max_iops"].as_f64().unwrap() <= highest,
            "{capacity}"
        );
    }
}

#[test]
fn the_pace_of_requests_is_not_the_capacity() {
    for seed in 0..5 {
        let station = Station::new(64, 0.004, Spread::Exponential);
        let paced = Arrivals::Paced {
            rate: 700.0,
            jitter: 0.1,
            depth: 512,
        };
        let report = analyze(&open(station, 90, paced), "paced", seed, &[]);
        let capacity = &report["capacity"];
        assert_eq!(capacity["max_known"], false, "{capacity}");
        assert!(capacity["knee_high"].is_null(), "{capacity}");
        assert_eq!(report["plateaus"], Value::Array(Vec::new()), "{report}");
    }
}

#[test]
fn a_long_capture_has_the_capacity_of_a_short_one() {
    let station = Station::new(4, 0.02, Spread::Exponential);
    let long: Vec<u32> = DOUBLING
        .iter()
        .copied()
        .cycle()
        .take(10 * DOUBLING.len())
        .collect();
    for clients in [&DOUBLING[..], &long] {
        let report = analyze(&sweep(station.clone(), clients, Mix::READS), "long", 1, &[]);
        let capacity = &report["capacity"];
        assert_eq!(report["intervals"], clients.len() as u32 * STEP_S);
        assert_near(&capacity["max_iops"], 200.0, 0.05);
        assert_near(&capacity["knee_low"], 2.0, 0.05);
        assert_near(&capacity["knee_high"], 4.0, 0.05);
    }
}

#[test]
fn a_load_above_the_stated_cap_is_reported() {
    let fast = Station::new(8, 0.001, Spread::Exponential);
    let setup = |rate| open(fast.clone(), 20, Arrivals::Poisson { rate });
    let explanation = |rate| {
        let report = analyze(&setup(rate), "stated", 1, &["--cap", "1000,125"]);
        report["explanation"].as_str().unwrap().to_owned()
    };
    let above = explanation(3000.0);
    assert!(
        above.contains("exceeded the stated cap of 1,000 requests/s"),
        "{above}"
    );
    let within = explanation(500.0);
    assert!(!within.contains("stated"), "{within}");
}
