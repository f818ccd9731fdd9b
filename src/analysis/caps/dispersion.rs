//! Dispersion of a rate against chance, which distinguishes a cap from busy servers.

use crate::analysis::load::{IoDirection, LoadSample, RateUnit};
use crate::analysis::stats::{NORMAL_MAD, weighted_median};
use crate::analysis::thresholds::{
    MAX_DEVIATION_SIGMAS, MAX_LIKELIHOOD_DIFFERENCE, MAX_SAMPLING_DISPERSION, MIN_OUTLIER_LOADS,
};

/// The ratios tried of the variance of completions in an interval to the variance of the sampling error.
const VARIANCE_RATIOS: [f64; 10] = [
    0.0,
    0.01,
    0.03,
    0.1,
    0.3,
    1.0,
    3.0,
    10.0,
    100.0,
    f64::INFINITY,
];

/// The number of variances multiplied before the logarithm of their product is taken. A logarithm takes far longer than
/// a multiplication, and the product of many more variances would overflow.
const INTERVALS_PER_LOGARITHM: usize = 8;

/// The largest likely dispersion of the rates of loads in the order of time; `None` with too few of them. It is the
/// relative deviation of the completions in an interval as a multiple of `1 / sqrt(n)` for n requests, which is that of
/// requests that complete independently of each other. Requests of busy servers have 1 or less, those that a token
/// bucket lets through far less.
///
/// Sampling errors do not count. A request that is missing from an interval because its sample was taken early, or
/// because it waits for the next slice of a limit, is in the next interval, so these errors cancel out. Busy servers do
/// not make up for an interval in which they did more. With the variance q of completions in an interval and the
/// variance v of a sample, the deviations from a constant rate are a moving average of the first order: variance q +
/// 2v, covariance of neighbors -v (Harvey, *Forecasting, Structural Time Series Models and the Kalman Filter*, local
/// level model). It is that of the highest q whose likelihood is close enough to the highest. Deviations that are too large
/// for sampling errors are taken as they are.
///
/// Outliers, such as intervals in which the load changed, are left out.
pub(super) fn dispersion(
    loads: &[&LoadSample],
    direction: IoDirection,
    unit: RateUnit,
) -> Option<f64> {
    let deviations = Deviations::of(loads, direction, unit)?;
    let fits = VARIANCE_RATIOS.map(|ratio| deviations.fit(ratio));
    let highest = fits.iter().map(|fit| fit.log_likelihood).reduce(f64::max)?;
    let mut upper = 0.0f64;
    for fit in fits {
        let slack = MAX_LIKELIHOOD_DIFFERENCE - (highest - fit.log_likelihood);
        if slack >= 0.0 {
            // The standard error of the logarithm of a variance is sqrt(2 / n).
            let error = 2.0 * (slack / deviations.count()).sqrt();
            upper = upper.max((fit.log_variance + error).exp());
        }
    }
    let of_variance = |variance: f64| (variance / deviations.requests).sqrt();
    let with_errors = of_variance(deviations.fit(f64::INFINITY).log_variance.exp());
    let min_upper = if with_errors < MAX_SAMPLING_DISPERSION {
        0.0
    } else {
        with_errors
    };
    Some(of_variance(upper).max(min_upper)).filter(|upper| upper.is_finite())
}

/// Deviations of the numbers of completed requests from a constant rate.
struct Deviations {
    /// Runs of consecutive intervals: deviation in requests, and length as a multiple of the usual length.
    runs: Vec<Vec<(f64, f64)>>,
    /// Requests in an interval of the usual length.
    requests: f64,
}

/// The most likely variance of completions, given its ratio to the variance of a sample.
struct Fit {
    log_likelihood: f64,
    log_variance: f64,
}

impl Deviations {
    /// `None` with fewer than three intervals.
    fn of(loads: &[&LoadSample], direction: IoDirection, unit: RateUnit) -> Option<Self> {
        let median_of = |value: &dyn Fn(&LoadSample) -> f64| {
            weighted_median(
                &mut loads
                    .iter()
                    .map(|load| (value(load), load.intervals))
                    .collect::<Vec<_>>(),
            )
        };
        let rate = |load: &LoadSample| load.rate(direction, unit);
        let requests = median_of(&|load| load.totals(direction).ios / load.intervals)?;
        let seconds = median_of(&|load| load.seconds / load.intervals)?;
        let median_rate = median_of(&rate)?;
        let deviation = |load: &LoadSample| (rate(load) / median_rate - 1.0).abs();
        let sigma = median_of(&deviation)? / NORMAL_MAD;
        // One request more or less is not an outlier.
        let max_deviation = (MAX_DEVIATION_SIGMAS * sigma).max(1.0 / requests);
        let is_used = |load: &&LoadSample| {
            loads.len() < MIN_OUTLIER_LOADS || deviation(load) <= max_deviation
        };
        let used: Vec<&LoadSample> = loads.iter().copied().filter(is_used).collect();
        let total_s: f64 = used.iter().map(|load| load.seconds).sum();
        let mean_rate = used
            .iter()
            .map(|load| rate(load) * load.seconds)
            .sum::<f64>()
            / total_s;
        let is_next = |a: &&LoadSample, b: &&LoadSample| {
            b.interval_index - a.interval_index <= a.intervals.max(b.intervals) + 0.5
        };
        let in_requests = |load: &&LoadSample| {
            let length = load.seconds / seconds;
            ((rate(load) / mean_rate - 1.0) * requests * length, length)
        };
        let runs = used
            .chunk_by(is_next)
            .map(|run| run.iter().map(in_requests).collect())
            .collect();
        (used.len() >= 3).then_some(Self { runs, requests })
    }

    fn count(&self) -> f64 {
        self.runs.iter().map(Vec::len).sum::<usize>() as f64
    }

    /// Each deviation is compared with the one expected from the error of the deviation before it (innovations
    /// algorithm; Brockwell and Davis, *Time Series: Theory and Methods*, 5.2).
    fn fit(&self, variance_ratio: f64) -> Fit {
        let (completions, sample) = if variance_ratio.is_finite() {
            (variance_ratio, 1.0)
        } else {
            (1.0, 0.0)
        };
        let (mut squares, mut logs) = (0.0, 0.0);
        for run in &self.runs {
            let (mut error, mut of_variance) = (0.0, 0.0);
            for some in run.chunks(INTERVALS_PER_LOGARITHM) {
                let mut product = 1.0f64;
                for (deviation, length) in some {
                    let kept = sample * of_variance;
                    error = deviation + kept * error;
                    let variance = completions * length + 2.0 * sample - kept * sample;
                    of_variance = 1.0 / variance;
                    squares += error * error * of_variance;
                    product *= variance;
                }
                logs += product.ln();
            }
        }
        // The mean rate is estimated from the same numbers, hence one less; they cannot be more exact than floating
        // point.
        let scale = (squares / (self.count() - 1.0)).max(f64::EPSILON);
        Fit {
            log_likelihood: -0.5 * (self.count() * scale.ln() + logs),
            log_variance: (completions * scale).ln(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::stats::IoTotals;

    fn of_rates(rates: impl IntoIterator<Item = f64>) -> Option<f64> {
        let load = |(index, ios): (usize, f64)| LoadSample {
            interval_index: index as f64,
            seconds: 1.0,
            intervals: 1.0,
            reads: IoTotals {
                ios,
                kib: 4.0 * ios,
                ms: 8000.0,
            },
            ..LoadSample::default()
        };
        let loads: Vec<LoadSample> = rates.into_iter().enumerate().map(load).collect();
        let loads: Vec<&LoadSample> = loads.iter().collect();
        dispersion(&loads, IoDirection::Reads, RateUnit::Requests)
    }

    /// Random numbers of standard normal distribution.
    const NORMAL: [f64; 20] = [
        0.98, -0.09, 0.23, -1.78, -1.32, -0.14, 0.84, 0.98, 0.22, -2.08, 0.51, -0.47, -0.15, 1.03,
        0.11, 1.04, 1.34, 0.04, 0.93, -2.11,
    ];

    #[test]
    fn the_dispersion_of_chance_is_about_one() {
        let found = of_rates(NORMAL.map(|z| 10_000.0 + 100.0 * z)).unwrap();
        assert!((1.0..1.6).contains(&found), "{found}");
        let even = of_rates(NORMAL.map(|z| 10_000.0 + 20.0 * z)).unwrap();
        assert!((0.2..0.3).contains(&even), "{even}");
    }

    #[test]
    fn errors_of_sampling_are_not_those_of_completions() {
        // Each sample is taken up to some milliseconds late.
        let late = |n: usize| 5.0 * NORMAL[n * 7 % 20];
        let found = of_rates((1..60).map(|n| 10_000.0 + late(n) - late(n - 1))).unwrap();
        assert!(found < 0.05, "{found}");
        // With an outlier.
        let found = of_rates((0..20).map(|k| {
            if k == 9 {
                7000.0
            } else {
                10_000.0 + f64::from(k % 2)
            }
        }))
        .unwrap();
        assert!(found < 0.01, "{found}");
    }

    #[test]
    fn few_intervals_show_no_dispersion() {
        assert_eq!(of_rates([1000.0, 1001.0]), None);
        assert_eq!(of_rates([]), None);
    }
}
