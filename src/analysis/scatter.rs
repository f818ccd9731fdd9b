//! How much a rate scatters against what chance gives: a cap is told from busy servers by it.

use super::load::{IoDirection, LoadSample, RateUnit};
use super::statistic::median;

/// Below this multiple of chance a rate is held: requests that leave busy servers at random have 1, those of servers
/// whose times vary by 30 % 0.17, a token bucket about 0.01.
pub(super) const QUIET: f64 = 0.1;
/// Below this a rate may be held, where more speaks for it.
pub(super) const HALF: f64 = 0.5;

/// The median absolute deviation of a normal distribution is this part of its standard deviation.
const NORMAL: f64 = 0.6745;
/// Deviations beyond so many of the usual are intervals that were cut, not scatter.
const CUT: f64 = 4.0;
/// With fewer loads the usual deviation is not known well enough to leave any out.
const ENOUGH: usize = 8;

/// The relative scatter of the rates as a multiple of `1 / sqrt(n)` for n requests an interval, which is what requests
/// that complete independently of each other have.
///
/// Intervals far from the rest are left out, as those in which the load changed or that were sampled late. Infinite
/// without loads; the fewer they are, the higher it is said.
pub(super) fn against_chance(loads: &[&LoadSample], side: IoDirection, measure: RateUnit) -> f64 {
    let middle = |of: &dyn Fn(&LoadSample) -> f64| {
        median(&mut loads.iter().map(|load| (of(load), load.intervals)).collect::<Vec<_>>())
    };
    let rate = |load: &LoadSample| load.rate(side, measure);
    let requests = middle(&|load| load.work(side).ios / load.intervals);
    let (Some(level), Some(requests)) = (middle(&rate), requests) else { return f64::INFINITY };
    let off = |load: &LoadSample| (rate(load) / level - 1.0).abs();
    let usual = middle(&off).unwrap_or(f64::INFINITY) / NORMAL;
    // One request more or less is no deviation.
    let bound = (CUT * usual).max(1.0 / requests);
    let (mut squares, mut intervals) = (0.0, 0.0);
    for load in loads.iter().filter(|load| loads.len() < ENOUGH || off(load) <= bound) {
        squares += load.intervals * (off(load).powi(2) + load.variation.powi(2));
        intervals += load.intervals;
    }
    // Few intervals may look alike by chance: the most that it may be, about.
    let doubt = 1.0 + 2.0 / intervals.sqrt();
    let scatter = doubt * (squares / intervals).sqrt() * requests.sqrt();
    if scatter.is_finite() { scatter } else { f64::INFINITY }
}

#[cfg(test)]
mod tests {
    use super::super::load::IoTotals;
    use super::*;

    fn scatter(rates: &[f64]) -> f64 {
        let of = |ios: &f64| LoadSample {
            seconds: 1.0,
            intervals: 1.0,
            reads: IoTotals { ios: *ios, kib: 4.0 * ios, ms: 8000.0 },
            ..LoadSample::default()
        };
        let loads: Vec<LoadSample> = rates.iter().map(of).collect();
        against_chance(&loads.iter().collect::<Vec<_>>(), IoDirection::Reads, RateUnit::Requests)
    }

    #[test]
    fn chance_is_one_and_a_held_rate_is_far_below() {
        let chance: Vec<f64> = (0..40).map(|k| 10_000.0 + 141.4 * f64::from(k % 5 - 2) / 2.0).collect();
        assert!((scatter(&chance) - 1.3).abs() < 0.05, "{}", scatter(&chance));
        // With a cut interval in it.
        let held: Vec<f64> =
            (0..40).map(|k| if k == 20 { 7000.0 } else { 10_000.0 + f64::from(k % 3) }).collect();
        assert!(scatter(&held) < 0.02, "{}", scatter(&held));
        assert!(scatter(&[]).is_infinite());
    }
}
