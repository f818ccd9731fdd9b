//! The elasticity of latency: how much it grows when more requests arrive than usual, by the chance of every load.

use std::collections::VecDeque;

use super::{INTERVALS_PER_UPDATE, size_class};
use crate::analysis::load::{IoDirection, LoadSample};
use crate::analysis::stats::{IoTotals, NORMAL_MAD, median};
use crate::analysis::thresholds::{
    ELASTICITY_SIGMAS, MAX_AUTOCORRELATION, MAX_ELASTICITY, MAX_OUTLIER_FRACTION, MAX_OUTLIER_MADS,
    MIN_ARRIVAL_DISPERSION, MIN_ELASTICITY_INTERVALS, MIN_LATENCY_REQUESTS, MIN_LATENCY_SUM_MS,
};

/// The intervals that are kept, at most: enough for a standard error of a twentieth under random arrivals.
const MAX_POINTS: usize = 256;
/// The least deviation of logarithms of latencies, which the kernel counts in milliseconds.
const MIN_MAD: f64 = 1e-3;

/// The direction and the class of size of requests.
type RequestKind = (IoDirection, i32);

#[derive(Clone, Copy, Debug)]
struct Point {
    /// The logarithm of the requests per second that came to the device.
    arrivals: f64,
    /// Reads and writes.
    parts: [IoTotals; 2],
}

impl Point {
    fn kinds(&self) -> impl Iterator<Item = (RequestKind, IoTotals)> {
        let parts = [IoDirection::Reads, IoDirection::Writes]
            .into_iter()
            .zip(self.parts);
        parts
            .filter_map(|(direction, part)| Some(((direction, size_class(part.size_kib()?)), part)))
    }
}

/// The latest intervals of a device. Where requests wait for each other, an interval in which more arrive than in others
/// has a higher latency; where they do not, latency does not depend on the arrivals.
#[derive(Clone, Debug, Default)]
pub(super) struct Elasticity {
    points: VecDeque<Point>,
    /// The intervals until conclusions are drawn again: the more there are, the less one more changes.
    pause: usize,
    /// The mean latency in milliseconds of each kind of request, if it is proven not to depend on the arrivals.
    inelastic: Vec<(RequestKind, f64)>,
}

impl Elasticity {
    pub(super) fn observe(&mut self, load: &LoadSample) {
        let both = load.totals(IoDirection::Both);
        let arrived = both.ios + load.in_flight_change;
        let has_latency = both.ios >= MIN_LATENCY_REQUESTS && both.ms >= MIN_LATENCY_SUM_MS;
        if load.intervals > 1.0 || !has_latency || arrived <= 0.0 {
            return;
        }
        if self.points.len() == MAX_POINTS {
            self.points.pop_front();
        }
        let arrivals = (arrived / load.seconds).ln();
        self.points.push_back(Point {
            arrivals,
            parts: [load.reads, load.writes],
        });
        self.pause = self.pause.saturating_sub(1);
        if self.pause == 0 && self.points.len() >= MIN_ELASTICITY_INTERVALS {
            self.pause = 1 + self.points.len() / INTERVALS_PER_UPDATE as usize;
            self.inelastic = self.conclude().unwrap_or_default();
        }
    }

    /// The usual latency in milliseconds of such requests, if it is proven not to depend on how many arrive.
    pub(super) fn inelastic_ms(&self, direction: IoDirection, size_kib: f64) -> Option<f64> {
        let kind = (direction, size_class(size_kib));
        self.inelastic
            .iter()
            .find(|(other, _)| *other == kind)
            .map(|(_, ms)| *ms)
    }

    fn conclude(&self) -> Option<Vec<(RequestKind, f64)>> {
        let mut sums: Vec<(RequestKind, IoTotals)> = Vec::new();
        for (kind, part) in self.points.iter().flat_map(Point::kinds) {
            match sums.iter_mut().find(|(other, _)| *other == kind) {
                Some((_, sum)) => *sum = sum.plus(&part),
                None => sums.push((kind, part)),
            }
        }
        let mean_ms = |kind: RequestKind| {
            let (_, sum) = sums.iter().find(|(other, _)| *other == kind)?;
            sum.await_ms()
        };
        // The request time, as a multiple of that of the same requests at their usual latencies.
        let multiple = |point: &Point| {
            let usual_ms: f64 = point
                .kinds()
                .filter_map(|(kind, part)| Some(part.ios * mean_ms(kind)?))
                .sum();
            (point.parts.iter().map(|part| part.ms).sum::<f64>() / usual_ms).ln()
        };
        let all: Vec<(f64, f64)> = self
            .points
            .iter()
            .map(|point| (point.arrivals, multiple(point)))
            .collect();
        let usual = median(all.iter().map(|(_, latency)| *latency))?;
        let deviation = |latency: f64| (latency - usual).abs();
        let mad = median(all.iter().map(|(_, latency)| deviation(*latency)))? / NORMAL_MAD;
        let is_kept =
            |(_, latency): &&(f64, f64)| deviation(*latency) <= MAX_OUTLIER_MADS * mad.max(MIN_MAD);
        let kept: Vec<(f64, f64)> = all.iter().filter(is_kept).copied().collect();
        let ios = median(
            self.points
                .iter()
                .map(|point| point.parts.iter().map(|part| part.ios).sum()),
        )?;
        let is_enough = kept.len() as f64 >= (1.0 - MAX_OUTLIER_FRACTION) * all.len() as f64;
        (is_enough && is_inelastic(&kept, ios)).then(|| {
            sums.iter()
                .filter_map(|(kind, sum)| Some((*kind, sum.await_ms()?)))
                .collect()
        })
    }
}

/// Returns whether the second of each pair of logarithms, the latency, hardly grows with the first, the arrivals, which
/// vary as much as those of intervals with this number of requests do by chance.
fn is_inelastic(points: &[(f64, f64)], ios: f64) -> bool {
    let count = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (mean_arrivals, mean_latency) = (mean(|point| point.0), mean(|point| point.1));
    let (mut squares, mut products) = (0.0, 0.0);
    for (arrivals, latency) in points {
        squares += (arrivals - mean_arrivals).powi(2);
        products += (arrivals - mean_arrivals) * (latency - mean_latency);
    }
    if squares <= 0.0 || (squares / count * ios).sqrt() < MIN_ARRIVAL_DISPERSION {
        return false;
    }
    let slope = products / squares;
    let residual = |(arrivals, latency): &(f64, f64)| {
        latency - mean_latency - slope * (arrivals - mean_arrivals)
    };
    let residuals: Vec<f64> = points.iter().map(residual).collect();
    let residual_squares: f64 = residuals.iter().map(|one| one * one).sum();
    let error = (residual_squares / (count - 2.0) / squares).sqrt();
    let neighbors: f64 = residuals.windows(2).map(|pair| pair[0] * pair[1]).sum();
    slope.abs() + ELASTICITY_SIGMAS * error < MAX_ELASTICITY
        && neighbors < (MAX_AUTOCORRELATION + 1.0 / count.sqrt()) * residual_squares
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers between -1 and 1 without a pattern.
    fn chance(index: u32) -> f64 {
        f64::from(index.wrapping_mul(2_654_435_761) >> 16) / 32_768.0 - 1.0
    }

    /// Intervals of a second of about 1000 reads and a tenth as many writes, which take five times as long; `await_ms` is
    /// of the index and the reads.
    fn inelastic_ms(count: u32, spread: f64, await_ms: impl Fn(u32, f64) -> f64) -> Option<f64> {
        let mut elasticity = Elasticity::default();
        for index in 0..count {
            let reads = 1000.0 + spread * chance(index);
            let writes = 100.0 + 0.3 * spread * chance(index + 500);
            let totals = |ios, await_ms: f64| IoTotals {
                ios,
                kib: 4.0 * ios,
                ms: ios * await_ms,
            };
            let await_ms = await_ms(index, reads);
            elasticity.observe(&LoadSample {
                seconds: 1.0,
                intervals: 1.0,
                reads: totals(reads, await_ms),
                writes: totals(writes, 5.0 * await_ms),
                ..LoadSample::default()
            });
        }
        let (reads, writes) = (IoDirection::Reads, IoDirection::Writes);
        let found = elasticity.inelastic_ms(reads, 4.0);
        assert_eq!(
            found.is_some(),
            elasticity.inelastic_ms(writes, 4.0).is_some()
        );
        assert_eq!(elasticity.inelastic_ms(reads, 64.0), None);
        found
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
        assert_eq!(
            inelastic_ms(60, 60.0, |_, ios| 2.0 * (ios / 1000.0).powf(0.5)),
            None
        );
        // A constant number of clients: the rate follows the latency.
        assert_eq!(inelastic_ms(60, 60.0, |_, ios| 8000.0 / ios), None);
    }

    #[test]
    fn a_latency_that_drifts_depends_on_something_else() {
        assert_eq!(
            inelastic_ms(60, 60.0, |index, _| 2.0 + 0.002 * f64::from(index)),
            None
        );
    }
}
