//! The Universal Scalability Law.

use libm::{exp, log, pow};
use serde::Serialize;

use super::fit::{RatePoint, squared_error};

/// X = λN / (1 + σ(N−1) + κN(N−1)) (Gunther; formulas, "Models for rate X against concurrency N").
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Usl {
    /// The rate of one request at a time, per second.
    pub lambda: f64,
    /// Contention: the share that is done one after the other, 0 to 1.
    pub sigma: f64,
    /// Crosstalk: what each pair costs, 0 to 1.
    pub kappa: f64,
}

impl Usl {
    /// The rate at a concurrency.
    pub fn rate(&self, concurrency: f64) -> f64 {
        self.lambda * self.speedup(concurrency)
    }

    fn speedup(&self, n: f64) -> f64 {
        n / (1.0 + self.sigma * (n - 1.0) + self.kappa * n * (n - 1.0))
    }

    /// The concurrency of the highest rate, N* = sqrt((1−σ)/κ); infinite without crosstalk.
    pub fn peak(&self) -> f64 {
        ((1.0 - self.sigma) / self.kappa).sqrt().max(1.0)
    }

    /// The highest rate: at N*, or λ/σ without crosstalk; infinite without contention too.
    pub fn highest(&self) -> f64 {
        if self.kappa > 0.0 { self.rate(self.peak()) } else { self.lambda / self.sigma }
    }

    /// The smallest concurrency at which the rate is within 10 % of the highest; infinite where there is none.
    pub fn knee(&self) -> f64 {
        let goal = 0.9 * self.highest() / self.lambda;
        if !goal.is_finite() {
            return f64::INFINITY;
        }
        // N = goal (1 + σ(N−1) + κN(N−1)): the smaller root of aN² + bN + c, written so that a may be zero.
        let (a, c) = (goal * self.kappa, goal * (1.0 - self.sigma));
        let b = goal * (self.sigma - self.kappa) - 1.0;
        let root = (b * b - 4.0 * a * c).max(0.0).sqrt();
        2.0 * c / (root - b)
    }

    /// The law of this shape that fits best: λ has a closed solution in relative error.
    fn of_shape(points: &[RatePoint], sigma: f64, kappa: f64) -> Self {
        let shape = Self { lambda: 1.0, sigma, kappa };
        let logs: f64 = points.iter().map(|p| log(p.rate / shape.speedup(p.concurrency))).sum();
        Self { lambda: exp(logs / points.len().max(1) as f64), ..shape }
    }

    fn error(&self, points: &[RatePoint]) -> f64 {
        squared_error(points, |n| self.rate(n))
    }

    /// The best fit by relative error, with λ >= 0 and σ, κ within 0 to 1.
    ///
    /// Bounded non-linear least squares: a search over σ and κ on a coarse logarithmic grid with zero in it, then
    /// by ever smaller steps from its best point, which the bounds cannot trap as they can a gradient.
    pub fn fit(points: &[RatePoint]) -> Self {
        let grid = |lowest: i32| {
            std::iter::once(0.0)
                .chain((0..=-2 * lowest).map(move |k| pow(10.0, f64::from(k) / 2.0 + f64::from(lowest))))
        };
        let mut best = Self::of_shape(points, 0.01, 0.0001);
        let mut least = best.error(points);
        for sigma in grid(-4) {
            for kappa in grid(-7) {
                improve(points, sigma, kappa, &mut best, &mut least);
            }
        }
        let mut step: f64 = 1.7;
        while step > 1.0005 {
            let before = least;
            let (sigma, kappa) = (best.sigma, best.kappa);
            for s in moves(sigma, 1e-5, step) {
                for k in moves(kappa, 1e-8, step) {
                    improve(points, s, k, &mut best, &mut least);
                }
            }
            if least >= before {
                step = step.sqrt();
            }
        }
        best
    }

    /// The laws near the best that the points do not rule out: those whose squared error is at most `allowed`.
    pub(super) fn likely(&self, points: &[RatePoint], allowed: f64) -> Vec<Self> {
        const STEPS: i32 = 14;
        let around = |value: f64, least: f64| {
            let centre = value.max(least);
            let near = (-STEPS..=STEPS).map(move |k| (centre * 1.3f64.powi(k)).min(1.0));
            std::iter::once(0.0).chain(near).chain([value])
        };
        around(self.sigma, 1e-4)
            .flat_map(|sigma| around(self.kappa, 1e-7).map(move |kappa| (sigma, kappa)))
            .map(|(sigma, kappa)| Self::of_shape(points, sigma, kappa))
            .filter(|law| law.error(points) <= allowed)
            .collect()
    }
}

fn improve(points: &[RatePoint], sigma: f64, kappa: f64, best: &mut Usl, least: &mut f64) {
    let law = Usl::of_shape(points, sigma, kappa);
    let error = law.error(points);
    if error < *least {
        (*best, *least) = (law, error);
    }
}

/// A value, a step down and a step up from it, within the bounds.
fn moves(value: f64, least: f64, step: f64) -> [f64; 3] {
    let down = if value <= least { 0.0 } else { value / step };
    [value, down, (value.max(least) * step).min(1.0)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_law_is_found_again() {
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
    fn the_knee_is_where_ninety_percent_are_reached() {
        let law = Usl { lambda: 1000.0, sigma: 0.02, kappa: 0.0008 };
        assert!((law.rate(law.knee()) / law.highest() - 0.9).abs() < 1e-9 && law.knee() < law.peak());
        let ceiling = Usl { kappa: 0.0, ..law };
        assert!((ceiling.highest() - 50_000.0).abs() < 1e-6);
        assert!((ceiling.rate(ceiling.knee()) / 50_000.0 - 0.9).abs() < 1e-9);
        let line = Usl { sigma: 0.0, ..ceiling };
        assert!(line.knee().is_infinite() && line.highest().is_infinite());
    }
}
