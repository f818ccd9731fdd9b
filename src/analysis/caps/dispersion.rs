//! Dispersion of a rate against chance, which distinguishes a cap from busy servers.

use crate::analysis::load::{IoDirection, LoadSample, RateUnit};
use crate::analysis::stats::{NORMAL_MAD, weighted_median};
use crate::analysis::thresholds::{DISPERSION_SIGMAS, MAX_DEVIATION_SIGMAS, MIN_OUTLIER_LOADS};

/// Standard deviation of a number that is rounded to a whole one.
const COUNT_DEVIATION: f64 = 0.289;

/// The square root of the index of dispersion of the rates: their relative deviation as a multiple of `1 / sqrt(n)` for
/// n requests per interval, which is that of requests that complete independently of each other. Requests of busy
/// servers have 1 or less, those that a token bucket lets through far less.
///
/// Outliers, as intervals in which the load changed or that were sampled late, are left out. Few loads give a higher
/// value than many; infinite without loads.
pub(super) fn sqrt_index_of_dispersion(loads: &[&LoadSample], direction: IoDirection, unit: RateUnit) -> f64 {
    let median_of = |value: &dyn Fn(&LoadSample) -> f64| {
        weighted_median(&mut loads.iter().map(|load| (value(load), load.intervals)).collect::<Vec<_>>())
    };
    let rate = |load: &LoadSample| load.rate(direction, unit);
    let requests = median_of(&|load| load.totals(direction).ios / load.intervals);
    let (Some(median_rate), Some(requests)) = (median_of(&rate), requests) else { return f64::INFINITY };
    let deviation = |load: &LoadSample| (rate(load) / median_rate - 1.0).abs();
    let sigma = median_of(&deviation).unwrap_or(f64::INFINITY) / NORMAL_MAD;
    // One request more or less is not an outlier.
    let max_deviation = (MAX_DEVIATION_SIGMAS * sigma).max(1.0 / requests);
    let is_used = |load: &&&LoadSample| loads.len() < MIN_OUTLIER_LOADS || deviation(load) <= max_deviation;
    let (mut squares, mut intervals) = (0.0, 0.0);
    for load in loads.iter().filter(is_used) {
        squares += load.intervals * (deviation(load).powi(2) + load.variation.powi(2));
        intervals += load.intervals;
    }
    let uncertainty = 1.0 + DISPERSION_SIGMAS / intervals.sqrt();
    // A count is exact to one request.
    let rounding = COUNT_DEVIATION * COUNT_DEVIATION / requests;
    let dispersion = uncertainty * (squares / intervals * requests + rounding).sqrt();
    if dispersion.is_finite() { dispersion } else { f64::INFINITY }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::stats::IoTotals;

    fn dispersion(rates: &[f64]) -> f64 {
        let load = |ios: &f64| LoadSample {
            seconds: 1.0,
            intervals: 1.0,
            reads: IoTotals { ios: *ios, kib: 4.0 * ios, ms: 8000.0 },
            ..LoadSample::default()
        };
        let loads: Vec<LoadSample> = rates.iter().map(load).collect();
        let loads: Vec<&LoadSample> = loads.iter().collect();
        sqrt_index_of_dispersion(&loads, IoDirection::Reads, RateUnit::Requests)
    }

    #[test]
    fn the_dispersion_of_chance_is_about_one_and_that_of_a_cap_far_below() {
        let chance: Vec<f64> = (0..40).map(|k| 10_000.0 + 141.4 * f64::from(k % 5 - 2) / 2.0).collect();
        assert!((dispersion(&chance) - 1.3).abs() < 0.05, "{}", dispersion(&chance));
        // With an outlier.
        let capped: Vec<f64> =
            (0..40).map(|k| if k == 20 { 7000.0 } else { 10_000.0 + f64::from(k % 3) }).collect();
        assert!(dispersion(&capped) < 0.02, "{}", dispersion(&capped));
        assert!(dispersion(&[]).is_infinite());
    }
}
