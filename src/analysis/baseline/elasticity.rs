//! The elasticity of latency: how much it grows when more requests arrive than usual, by the chance of every load.

use std::collections::VecDeque;

use libm::{exp, log};

use super::seen_loads::SeenLoad;
use crate::analysis::stats::NORMAL_MAD;
use crate::analysis::thresholds::{
    ELASTICITY_SIGMAS, MAX_AUTOCORRELATION, MAX_ELASTICITY, MAX_OUTLIER_FRACTION, MAX_OUTLIER_MADS,
    MIN_ARRIVAL_DISPERSION, MIN_ELASTICITY_INTERVALS,
};

/// The intervals that are kept, at most: enough for a standard error of a twentieth under random arrivals.
const MAX_POINTS: usize = 256;

/// The least deviation of logarithms of latencies, which the kernel counts in milliseconds.
const MIN_MAD: f64 = 1e-3;

/// An interval as the logarithms of the device's arrivals per second and of the latency, with its requests.
#[derive(Clone, Copy, Debug)]
struct Point {
    arrivals: f32,
    latency: f32,
    ios: f32,
}

/// The latest intervals of similar requests. Where requests wait for each other, an interval in which more arrive than
/// in others has a higher latency; where they do not, latency does not depend on the arrivals.
#[derive(Clone, Debug, Default)]
pub(super) struct Elasticity {
    points: VecDeque<Point>,
}

impl Elasticity {
    pub(super) fn observe(&mut self, load: &SeenLoad) {
        if load.intervals != 1.0 || load.arrivals <= 0.0 {
            return;
        }
        if self.points.len() == MAX_POINTS {
            self.points.pop_front();
        }
        self.points.push_back(Point {
            arrivals: log(load.arrivals / load.seconds) as f32,
            latency: log(load.await_ms()) as f32,
            ios: load.totals.ios as f32,
        });
    }

    /// The usual latency in milliseconds, if it does not depend on the arrivals; `None` if it does, or if that is not
    /// proven.
    pub(super) fn inelastic_ms(&self) -> Option<f64> {
        if self.points.len() < MIN_ELASTICITY_INTERVALS {
            return None;
        }
        let median = |values: &mut dyn Iterator<Item = f32>| {
            let mut values: Vec<f32> = values.collect();
            let middle = values.len() / 2;
            f64::from(*values.select_nth_unstable_by(middle, f32::total_cmp).1)
        };
        let usual = median(&mut self.points.iter().map(|point| point.latency));
        let distance = |point: &Point| (f64::from(point.latency) - usual).abs();
        let mad = median(&mut self.points.iter().map(|point| distance(point) as f32)) / NORMAL_MAD;
        let kept: Vec<(f64, f64)> = (self.points.iter())
            .filter(|point| distance(point) <= MAX_OUTLIER_MADS * mad.max(MIN_MAD))
            .map(|point| (f64::from(point.arrivals), f64::from(point.latency)))
            .collect();
        let count = kept.len() as f64;
        if count < (1.0 - MAX_OUTLIER_FRACTION) * self.points.len() as f64 {
            return None;
        }
        let mean = |of: fn(&(f64, f64)) -> f64| kept.iter().map(of).sum::<f64>() / count;
        let (mean_arrivals, mean_latency) = (mean(|point| point.0), mean(|point| point.1));
        let (mut squares, mut products) = (0.0, 0.0);
        for (arrivals, latency) in &kept {
            squares += (arrivals - mean_arrivals).powi(2);
            products += (arrivals - mean_arrivals) * (latency - mean_latency);
        }
        let ios = median(&mut self.points.iter().map(|point| point.ios));
        if squares <= 0.0 || (squares / count * ios).sqrt() < MIN_ARRIVAL_DISPERSION {
            return None;
        }
        let slope = products / squares;
        let residuals: Vec<f64> = (kept.iter())
            .map(|(arrivals, latency)| latency - mean_latency - slope * (arrivals - mean_arrivals))
            .collect();
        let residual_squares: f64 = residuals.iter().map(|one| one * one).sum();
        let error = (residual_squares / (count - 2.0) / squares).sqrt();
        let neighbors: f64 = residuals.windows(2).map(|pair| pair[0] * pair[1]).sum();
        let is_inelastic = slope.abs() + ELASTICITY_SIGMAS * error < MAX_ELASTICITY;
        let is_random = neighbors < (MAX_AUTOCORRELATION + 1.0 / count.sqrt()) * residual_squares;
        (is_inelastic && is_random).then(|| exp(mean_latency))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::stats::IoTotals;

    /// Numbers between -1 and 1 without a pattern.
    fn chance(index: u32) -> f64 {
        f64::from(index.wrapping_mul(2_654_435_761) >> 16) / 32_768.0 - 1.0
    }

    /// Intervals of a second of about 1000 requests; `await_ms` is of the index and the requests.
    fn inelastic_ms(count: u32, spread: f64, await_ms: impl Fn(u32, f64) -> f64) -> Option<f64> {
        let mut elasticity = Elasticity::default();
        for index in 0..count {
            let ios = 1000.0 + spread * chance(index);
            let totals = IoTotals { ios, kib: 4.0 * ios, ms: ios * await_ms(index, ios) };
            elasticity.observe(&SeenLoad {
                intervals: 1.0,
                totals,
                seconds: 1.0,
                arrivals: ios,
                ..SeenLoad::default()
            });
        }
        elasticity.inelastic_ms()
    }

    #[test]
    fn a_latency_that_does_not_follow_the_arrivals_is_that_of_the_device() {
        let even = |index, _| 2.0 + 0.02 * chance(index + 1000);
        let found = inelastic_ms(60, 60.0, even).unwrap();
        assert!((found - 2.0).abs() < 0.01, "{found}");
        // With hardly any difference between the arrivals, nothing shows.
        assert_eq!(inelastic_ms(60, 6.0, even), None);
        assert_eq!(inelastic_ms(19, 60.0, even), None);
    }

    #[test]
    fn a_latency_that_follows_the_arrivals_may_be_waiting() {
        assert_eq!(inelastic_ms(60, 60.0, |_, ios| 2.0 * (ios / 1000.0).powf(0.5)), None);
        // A constant number of clients: the rate follows the latency.
        assert_eq!(inelastic_ms(60, 60.0, |_, ios| 8000.0 / ios), None);
    }

    #[test]
    fn a_latency_that_drifts_depends_on_something_else() {
        assert_eq!(inelastic_ms(60, 60.0, |index, _| 2.0 + 0.002 * f64::from(index)), None);
    }
}
