//! The hard cap: a rate that grows with the concurrency up to a limit and is constant from there.

use libm::{exp, log};

use super::rate_point::{RatePoint, squared_error};
use crate::analysis::thresholds::KNEE_FRACTION;

/// X = min(N / R0, C): rate X at concurrency N, latency R0 below the cap, cap C.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HardCap {
    /// The latency below the cap, R0, in seconds; an upper bound if every point lies at the cap.
    pub service_s: f64,
    /// The cap, C, per second.
    pub limit: f64,
}

impl HardCap {
    /// The rate at a concurrency.
    pub fn rate(&self, concurrency: f64) -> f64 {
        (concurrency / self.service_s).min(self.limit)
    }

    /// The lowest concurrency at which the rate is within 10% of the cap.
    pub fn knee(&self) -> f64 {
        KNEE_FRACTION * self.limit * self.service_s
    }

    /// The best fit by relative error to points sorted by their concurrency; `None` without points.
    ///
    /// Each split into points below and points at the cap has a closed-form solution; the best one is taken.
    pub fn fit(points: &[RatePoint]) -> Option<Self> {
        let mean = |points: &[RatePoint], value: fn(&RatePoint) -> f64| {
            exp(points.iter().map(|point| log(value(point))).sum::<f64>() / points.len().max(1) as f64)
        };
        (1..=points.len())
            .map(|split| {
                let (below, at_cap) = points.split_at(split);
                let service_s = mean(below, |point| point.concurrency / point.rate);
                let highest = points.last().map_or(0.0, |last| last.concurrency / service_s);
                let limit = if at_cap.is_empty() { highest } else { mean(at_cap, |point| point.rate) };
                Self { service_s, limit }
            })
            .filter(|model| model.service_s > 0.0 && model.limit.is_finite())
            .min_by(|a, b| {
                let error = |model: &Self| squared_error(points, |n| model.rate(n));
                error(a).total_cmp(&error(b))
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fit_of_an_exact_cap_is_exact() {
        let truth = HardCap { service_s: 0.0005, limit: 10_000.0 };
        let points: Vec<RatePoint> =
            [1.0, 2.0, 4.0, 8.0, 16.0, 64.0].map(|n| RatePoint::new(n, truth.rate(n))).into();
        let found = HardCap::fit(&points).unwrap();
        assert!((found.limit / truth.limit - 1.0).abs() < 1e-9);
        assert!((found.service_s / truth.service_s - 1.0).abs() < 1e-9);
        assert!((found.knee() - 4.5).abs() < 1e-6);
        assert_eq!(HardCap::fit(&[]), None);
    }
}
