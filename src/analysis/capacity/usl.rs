//! The Universal Scalability Law.

use libm::{exp, log, pow};
use serde::Serialize;

use super::rate_point::{RatePoint, squared_error};
use crate::analysis::thresholds::KNEE_FRACTION;

/// X = λN / (1 + σ(N−1) + κN(N−1)): rate X at concurrency N (Gunther, *Guerrilla Capacity Planning*, 2007).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Usl {
    /// The rate with one request at a time, per second.
    pub lambda: f64,
    /// Contention: the fraction of the work that is serialized, 0 to 1.
    pub sigma: f64,
    /// Crosstalk: the cost of each pair of requests, 0 to 1.
    pub kappa: f64,
}

/// The lowest σ and κ above zero in the grid of the fit, as powers of ten...
const GRID_MIN_EXPONENTS: (i32, i32) = (-4, -7);
/// ...and in its refinement. A law with smaller values does not differ from one with zero.
const MIN_SIGMA: f64 = 1e-5;
const MIN_KAPPA: f64 = 1e-8;
/// The factor of the first step of the refinement, and the factor below which the refinement ends.
const FIRST_STEP: f64 = 1.7;
const LAST_STEP: f64 = 1.0005;
/// The number and the factor of the steps on each side of the best law in which plausible laws are searched for.
const PLAUSIBLE_STEPS: i32 = 14;
const PLAUSIBLE_STEP: f64 = 1.3;

impl Usl {
    /// The rate at a concurrency.
    pub fn rate(&self, concurrency: f64) -> f64 {
        self.lambda * self.speedup(concurrency)
    }

    fn speedup(&self, n: f64) -> f64 {
        n / (1.0 + self.sigma * (n - 1.0) + self.kappa * n * (n - 1.0))
    }

    /// The concurrency of the maximum rate, N* = sqrt((1−σ)/κ); infinite without crosstalk.
    pub fn peak(&self) -> f64 {
        ((1.0 - self.sigma) / self.kappa).sqrt().max(1.0)
    }

    /// The maximum rate: at N*, or λ/σ without crosstalk; infinite without contention and crosstalk.
    pub fn max_rate(&self) -> f64 {
        if self.kappa > 0.0 { self.rate(self.peak()) } else { self.lambda / self.sigma }
    }

    /// The lowest concurrency at which the rate is within 10% of the maximum; infinite if the law has no maximum.
    pub fn knee(&self) -> f64 {
        let goal = KNEE_FRACTION * self.max_rate() / self.lambda;
        if !goal.is_finite() {
            return f64::INFINITY;
        }
        // N = goal (1 + σ(N−1) + κN(N−1)): the smaller root of aN² + bN + c, written so that a may be zero.
        let (a, c) = (goal * self.kappa, goal * (1.0 - self.sigma));
        let b = goal * (self.sigma - self.kappa) - 1.0;
        let root = (b * b - 4.0 * a * c).max(0.0).sqrt();
        2.0 * c / (root - b)
    }

    /// The best law with this σ and κ: the λ of least relative error has a closed-form solution.
    fn with_shape(points: &[RatePoint], sigma: f64, kappa: f64) -> Self {
        let shape = Self { lambda: 1.0, sigma, kappa };
        let logs: f64 = points.iter().map(|p| log(p.rate / shape.speedup(p.concurrency))).sum();
        Self { lambda: exp(logs / points.len().max(1) as f64), ..shape }
    }

    fn error(&self, points: &[RatePoint]) -> f64 {
        squared_error(points, |n| self.rate(n))
    }

    /// The best fit by relative error, with λ >= 0 and σ, κ within 0 to 1.
    ///
    /// Bounded non-linear least squares: a search over σ and κ on a coarse logarithmic grid that includes zero, then in
    /// shrinking steps from the best point of the grid. Unlike gradient descent, it cannot get stuck at the bounds.
    pub fn fit(points: &[RatePoint]) -> Self {
        let grid = |min_exponent: i32| {
            let values = move |k| pow(10.0, f64::from(k) / 2.0 + f64::from(min_exponent));
            std::iter::once(0.0).chain((0..=-2 * min_exponent).map(values))
        };
        let mut best = Self::with_shape(points, 0.01, 0.0001);
        let mut min_error = best.error(points);
        for sigma in grid(GRID_MIN_EXPONENTS.0) {
            for kappa in grid(GRID_MIN_EXPONENTS.1) {
                improve(points, sigma, kappa, &mut best, &mut min_error);
            }
        }
        let mut step: f64 = FIRST_STEP;
        while step > LAST_STEP {
            let previous = min_error;
            let (sigma, kappa) = (best.sigma, best.kappa);
            for s in neighbor_values(sigma, MIN_SIGMA, step) {
                for k in neighbor_values(kappa, MIN_KAPPA, step) {
                    improve(points, s, k, &mut best, &mut min_error);
                }
            }
            if min_error >= previous {
                step = step.sqrt();
            }
        }
        best
    }

    /// The laws near this one that the points do not rule out: those whose squared error is at most `max_error`.
    pub(super) fn plausible_fits(&self, points: &[RatePoint], max_error: f64) -> Vec<Self> {
        let around = |value: f64, min: f64| {
            let center = value.max(min);
            let near =
                (-PLAUSIBLE_STEPS..=PLAUSIBLE_STEPS).map(move |k| (center * PLAUSIBLE_STEP.powi(k)).min(1.0));
            std::iter::once(0.0).chain(near).chain([value])
        };
        around(self.sigma, 10.0 * MIN_SIGMA)
            .flat_map(|sigma| around(self.kappa, 10.0 * MIN_KAPPA).map(move |kappa| (sigma, kappa)))
            .map(|(sigma, kappa)| Self::with_shape(points, sigma, kappa))
            .filter(|law| law.error(points) <= max_error)
            .collect()
    }
}

/// Replaces `best` by the law with this σ and κ if its error is smaller.
fn improve(points: &[RatePoint], sigma: f64, kappa: f64, best: &mut Usl, min_error: &mut f64) {
    let law = Usl::with_shape(points, sigma, kappa);
    let error = law.error(points);
    if error < *min_error {
        (*best, *min_error) = (law, error);
    }
}

/// A value, a step down and a step up from it, within the bounds.
fn neighbor_values(value: f64, min: f64, step: f64) -> [f64; 3] {
    let down = if value <= min { 0.0 } else { value / step };
    [value, down, (value.max(min) * step).min(1.0)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fit_finds_the_law_that_made_the_points() {
        for (sigma, kappa) in [(0.02, 0.0005), (0.1, 0.0), (0.0, 0.001), (0.3, 0.01)] {
            let truth = Usl { lambda: 7000.0, sigma, kappa };
            let points: Vec<RatePoint> =
                [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0].map(|n| RatePoint::new(n, truth.rate(n))).into();
            let found = Usl::fit(&points);
            for n in [1.0, 10.0, 50.0] {
                assert!((found.rate(n) / truth.rate(n) - 1.0).abs() < 0.005, "{found:?} for {truth:?}");
            }
            assert!((found.knee() / truth.knee() - 1.0).abs() < 0.05, "{found:?} for {truth:?}");
        }
    }

    #[test]
    fn the_knee_has_ninety_percent_of_the_maximum_rate() {
        let law = Usl { lambda: 1000.0, sigma: 0.02, kappa: 0.0008 };
        assert!((law.rate(law.knee()) / law.max_rate() - 0.9).abs() < 1e-9 && law.knee() < law.peak());
        let without_crosstalk = Usl { kappa: 0.0, ..law };
        assert!((without_crosstalk.max_rate() - 50_000.0).abs() < 1e-6);
        assert!((without_crosstalk.rate(without_crosstalk.knee()) / 50_000.0 - 0.9).abs() < 1e-9);
        let linear = Usl { sigma: 0.0, ..without_crosstalk };
        assert!(linear.knee().is_infinite() && linear.max_rate().is_infinite());
    }
}
