//! The rates that gates let pass.

use crate::random::Random;
use crate::simulator::{
    Gate, Host, Limited, Load, Mix, Operation, Pacing, Setup, Spread, Station, Unit, closed, nanos,
};

/// The requests per second that eight clients get through a gate, from a second to another.
fn rate(gate: Gate, mix: Mix, from_s: f64, until_s: f64) -> f64 {
    let mut setup = Setup::new(60);
    setup.station = Station::new(8, 0.0001, Spread::Exponential);
    setup.loads = vec![Load::always(closed(8), mix)];
    setup.limit_inside(gate);
    let mut host = Host::new(&setup, Random::new("gates", 1));
    let mut done = |at: f64| {
        host.run_until(nanos(at));
        host.totals(0, Operation::Read).0 + host.totals(0, Operation::Write).0
    };
    let before = done(from_s);
    (done(until_s) - before) / (until_s - from_s)
}

fn requests(rate: f64, pacing: Pacing) -> Gate {
    Gate::new(Limited::Both, Unit::Requests, rate, pacing)
}

#[test]
fn an_even_gate_keeps_its_rate() {
    for limit in [37.0, 777.0, 4321.0] {
        let rate = rate(requests(limit, Pacing::Spaced), Mix::READS, 2.0, 32.0);
        assert!((rate / limit - 1.0).abs() < 0.002, "{limit}: {rate}");
    }
}

#[test]
fn slices_let_whole_requests_pass() {
    for (limit, kept) in [(777.0, 770.0), (4321.0, 4320.0), (100.0, 100.0)] {
        let gate = requests(limit, Pacing::Slices);
        assert_eq!(gate.kept_rate(), kept);
        let rate = rate(gate, Mix::READS, 2.05, 32.05);
        assert!((rate / kept - 1.0).abs() < 0.002, "{limit}: {rate}");
    }
}

#[test]
fn a_gate_of_bytes_counts_sizes() {
    let mix = Mix { sectors: &[16, 64, 256], ..Mix::READS };
    for pacing in [Pacing::Spaced, Pacing::Slices] {
        let gate = Gate::new(Limited::Both, Unit::Sectors, 112.0 * 500.0, pacing);
        let rate = rate(gate, mix, 2.0, 62.0);
        assert!((rate / 500.0 - 1.0).abs() < 0.02, "{rate}");
    }
}

#[test]
fn slices_of_bytes_lose_nothing_where_requests_are_large() {
    let mix = Mix { sectors: &[1024], ..Mix::READS };
    let gate = Gate::new(Limited::Both, Unit::Sectors, 1024.0 * 27.5, Pacing::Slices);
    let rate = rate(gate, mix, 2.0, 62.0);
    assert!((rate / 27.5 - 1.0).abs() < 0.01, "{rate}");
}

#[test]
fn a_gate_of_one_operation_lets_others_pass() {
    let gate = Gate::new(Limited::Reads, Unit::Requests, 100.0, Pacing::Spaced);
    assert!(rate(gate.clone(), Mix::WRITES, 2.0, 4.0) > 10_000.0);
    assert!(rate(gate, Mix::READS, 2.0, 12.0) < 101.0);
}

#[test]
fn spent_credits_leave_the_rate_of_the_refill() {
    let mut gate = requests(300.0, Pacing::Credits { burst_rate: 2000.0, capacity: 8500.0 });
    gate.credits = 8500.0;
    // 8,500 credits last 5 s at 2,000 per second less the 300 that come back.
    let full = rate(gate.clone(), Mix::READS, 1.0, 4.5);
    assert!((full / 2000.0 - 1.0).abs() < 0.01, "{full}");
    let spent = rate(gate, Mix::READS, 6.0, 36.0);
    assert!((spent / 300.0 - 1.0).abs() < 0.01, "{spent}");
}

#[test]
fn jitter_changes_the_rate_from_second_to_second() {
    let mut gate = requests(1000.0, Pacing::Spaced);
    gate.jitter = 0.02;
    let rates: Vec<f64> = (3..23)
        .map(|second| rate(gate.clone(), Mix::READS, f64::from(second), f64::from(second) + 1.0))
        .collect();
    let mean = rates.iter().sum::<f64>() / 20.0;
    let deviation = (rates.iter().map(|rate| (rate / mean - 1.0).powi(2)).sum::<f64>() / 19.0).sqrt();
    assert!((0.01..0.03).contains(&deviation) && (mean / 1000.0 - 1.0).abs() < 0.02, "{mean} {deviation}");
}
