//! The simulator against queueing theory.

use crate::random::Random;
use crate::simulator::{
    Arrivals, Host, Load, Mix, Operation, Setup, Spread, Station, closed, nanos,
};

/// A disk with one load, from the start of the simulation.
fn host(station: Station, arrivals: Arrivals) -> Host {
    let mut setup = Setup::new(60);
    setup.station = station;
    setup.loads = vec![Load::always(arrivals, Mix::READS)];
    Host::new(&setup, Random::new("theory", 1))
}

/// Runs a host, and returns requests per second, mean seconds of a request and the servers' utilization.
fn run(host: &mut Host, seconds: f64) -> (f64, f64, f64) {
    host.run_until(nanos(5.0));
    let (ios, time) = host.totals(0, Operation::Read);
    let observed = host.run_until(nanos(5.0 + seconds));
    let (all_ios, all_time) = host.totals(0, Operation::Read);
    let done = all_ios - ios;
    (
        done / seconds,
        (all_time - time) / done,
        observed.utilization,
    )
}

fn assert_near(value: f64, expected: f64, tolerance: f64) {
    assert!(
        (value / expected - 1.0).abs() <= tolerance,
        "{value} is not {expected} within {tolerance}"
    );
}

#[test]
fn one_even_server_makes_requests_wait_half_as_long() {
    // M/D/1: the wait is rho S / (2 (1 - rho)).
    let mut host = host(
        Station::new(1, 0.001, Spread::Even(0.001)),
        Arrivals::Poisson { rate: 700.0 },
    );
    let (_, response_s, _) = run(&mut host, 150.0);
    assert_near(response_s - 0.001, 0.7 * 0.001 / 0.6, 0.06);
}

#[test]
fn several_servers_answer_as_theory_says() {
    // M/M/4 at rho = 0.75: Erlang's C is 0.5094, and the wait is C S / (4 (1 - rho)).
    let mut host = host(
        Station::new(4, 0.004, Spread::Exponential),
        Arrivals::Poisson { rate: 750.0 },
    );
    let (_, response_s, utilization) = run(&mut host, 150.0);
    assert_near(response_s, 0.004 + 0.5094 * 0.004, 0.05);
    assert_near(utilization, 0.75, 0.02);
}

#[test]
fn clients_in_a_closed_loop_follow_the_response_time_law() {
    // X = N / (R + Z), and the utilization law U = X S / k.
    for (clients, think_s) in [(1, 0.0), (3, 0.002), (16, 0.0), (20, 0.01)] {
        let station = Station::new(4, 0.002, Spread::Lognormal(0.5));
        let mut host = host(station, Arrivals::Closed { clients, think_s });
        let (rate, response_s, utilization) = run(&mut host, 30.0);
        assert_near(rate, f64::from(clients) / (response_s + think_s), 0.02);
        assert_near(utilization, rate * 0.002 / 4.0, 0.02);
    }
}

#[test]
fn spreads_have_the_mean_that_they_state() {
    let heavy = Spread::HeavyTail {
        share: 0.02,
        times: 20.0,
    };
    for spread in [
        Spread::Exponential,
        Spread::Even(0.2),
        Spread::Lognormal(0.8),
        heavy,
    ] {
        let mut host = host(Station::new(1, 0.001, spread), closed(1));
        let (_, response_s, _) = run(&mut host, 60.0);
        assert_near(response_s, 0.001, 0.03);
    }
}
