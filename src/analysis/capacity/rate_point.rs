//! The data that models are fitted to.

use libm::log;

/// The median rate of a level against its median concurrency.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RatePoint {
    /// Requests in the queue or being served.
    pub concurrency: f64,
    /// Requests (or KiB) per second; above zero.
    pub rate: f64,
}

impl RatePoint {
    /// A rate at a concurrency.
    pub fn new(concurrency: f64, rate: f64) -> Self {
        Self { concurrency, rate }
    }
}

/// The sum of the squared relative errors of a model, computed from logarithms of rates.
pub(super) fn squared_error(points: &[RatePoint], model: impl Fn(f64) -> f64) -> f64 {
    points.iter().map(|point| log(point.rate / model(point.concurrency)).powi(2)).sum()
}
