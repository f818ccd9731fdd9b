//! The choice between the models, and the capacity according to the better one.

use libm::log;
use serde::Serialize;

use super::hard_cap::HardCap;
use super::rate_point::{RatePoint, squared_error};
use super::usl::Usl;
use crate::analysis::thresholds::{
    AT_CAP_FRACTION, BIC_TIE, CAP_RANGE_SIGMAS, FIT_ERROR_FLOOR, KNEE_FRACTION, MAX_EXTRAPOLATION,
    MAX_FIT_ERROR, MAX_FLAT_FIT_ERROR, MIN_AT_CAP_LEVELS, MIN_CONCURRENCY_GROWTH, MIN_CONFIDENT_LEVELS,
    MIN_CORNER_RATIO, MIN_FIT_LEVELS, MIN_KNEE_RATIO, MIN_R_SQUARED, PLAUSIBLE_VARIANCES, RATE_NOISE_FLOOR,
};

/// The model that the rates follow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Model {
    /// Neither, or the data do not show it.
    #[default]
    None,
    /// A hard cap.
    Cap,
    /// The Universal Scalability Law.
    Usl,
}

/// The capacity that the levels of concurrency show.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CapacityFit {
    /// The model that fits better; [`Model::None`] where neither does or the data do not reach the knee.
    pub model: Model,
    /// True if the data reach the knee; otherwise the models say nothing about it.
    pub knee_reached: bool,
    /// There are enough levels for a confident fit.
    pub confident: bool,
    /// Number of levels.
    pub levels: usize,
    /// The highest rate of a level; `None` without levels.
    pub highest_seen: Option<f64>,
    /// The maximum rate by the model, within the concurrencies seen; `None` if the knee was not reached.
    pub max: Option<f64>,
    /// The lowest and highest plausible maximum rate.
    pub max_range: Option<(f64, f64)>,
    /// The lowest concurrency within 10% of the maximum rate; `None` if the knee was not reached.
    pub knee: Option<f64>,
    /// Every level lies beyond the knee, so the knee is at `knee`, the lowest concurrency seen, or below.
    pub knee_is_upper_bound: bool,
    /// The fraction of the rates' variance that the model explains; `None` if they do not vary.
    pub r_squared: Option<f64>,
    /// The mean relative error of the model.
    pub relative_error: Option<f64>,
    /// A model has a knee, but the rates beyond it are those at which requests arrived: the device may do more.
    pub is_offered_rate: bool,
    /// The fitted law, if the knee was reached.
    pub usl: Option<Usl>,
    /// The fitted cap, if the knee was reached.
    pub cap: Option<HardCap>,
}

impl CapacityFit {
    /// Fits both models to points sorted by their concurrency and takes the better one by the Bayesian information
    /// criterion, if the points show its knee.
    pub fn fit(points: &[RatePoint]) -> Self {
        let unknown = Self::highest_only(points);
        let highest_seen = unknown.highest_seen;
        if points.len() < MIN_FIT_LEVELS {
            return unknown;
        }
        let Some(cap) = HardCap::fit(points) else { return unknown };
        let usl = Usl::fit(points);
        let cap_error = squared_error(points, |n| cap.rate(n));
        let usl_error = squared_error(points, |n| usl.rate(n));
        let is_cap = information_criterion(cap_error, points.len(), 2)
            <= information_criterion(usl_error, points.len(), 3) + BIC_TIE;
        let found = if is_cap { from_cap(points, cap, cap_error) } else { from_usl(points, usl, usl_error) };
        let confident = points.len() >= MIN_CONFIDENT_LEVELS;
        let complete = |found| Self {
            usl: Some(usl),
            cap: Some(cap),
            confident,
            levels: points.len(),
            highest_seen,
            ..found
        };
        found.filter(|found| found.is_supported(points)).map_or(unknown, complete)
    }

    /// The highest rate alone, without fitting a model.
    pub fn highest_only(points: &[RatePoint]) -> Self {
        let highest_seen = points.iter().map(|point| point.rate).reduce(f64::max);
        Self { levels: points.len(), highest_seen, ..Self::default() }
    }

    /// The highest rate alone, for points whose rates are those at which requests arrived.
    pub(super) fn offered_only(points: &[RatePoint]) -> Self {
        Self { is_offered_rate: true, ..Self::highest_only(points) }
    }

    /// Returns whether the points support the model: about its maximum was seen, and its shape is not chance.
    fn is_supported(&self, points: &[RatePoint]) -> bool {
        let (Some(max), Some(error), Some(knee)) = (self.max, self.relative_error, self.knee) else {
            return false;
        };
        let highest = points.iter().map(|point| point.rate).fold(0.0, f64::max);
        let beyond = points.iter().filter(|point| point.concurrency >= knee).map(|point| point.concurrency);
        let (from, to) = beyond.fold((f64::INFINITY, 0.0), |(from, to), n| (n.min(from), n.max(to)));
        let is_explained = self.r_squared.is_some_and(|fraction| fraction >= MIN_R_SQUARED);
        let is_constant = error <= MAX_FLAT_FIT_ERROR && to >= MIN_CONCURRENCY_GROWTH * from;
        // Three parameters can explain any few levels.
        let is_far_enough = points.len() >= MIN_CONFIDENT_LEVELS || to >= MIN_CONCURRENCY_GROWTH * knee;
        (highest / max - 1.0).abs() <= MAX_EXTRAPOLATION && is_far_enough && (is_explained || is_constant)
    }

    /// Sets the knee. A knee at or below the lowest concurrency seen is an upper bound.
    fn with_knee(self, knee: f64, points: &[RatePoint], is_upper_bound: bool) -> Self {
        let lowest = points.first().map_or(0.0, |point| point.concurrency);
        let is_upper_bound = is_upper_bound || knee <= lowest;
        let knee = if is_upper_bound { lowest } else { knee };
        Self { knee: Some(knee), knee_is_upper_bound: is_upper_bound, ..self }
    }
}

/// The Bayesian information criterion for normal relative errors (Schwarz 1978).
fn information_criterion(squared_error: f64, points: usize, parameters: usize) -> f64 {
    let n = points as f64;
    let variance = (squared_error / n).max(FIT_ERROR_FLOOR * FIT_ERROR_FLOOR);
    n * log(variance) + parameters as f64 * log(n)
}

/// The root of the mean squared relative error; `None` if it is too large for a model.
fn relative_error(squared_error: f64, points: &[RatePoint]) -> Option<f64> {
    let error = (squared_error / points.len() as f64).sqrt();
    (error <= MAX_FIT_ERROR).then_some(error)
}

/// The fraction of the rates' variance that a model explains; `None` if they do not vary.
fn r_squared(points: &[RatePoint], model: impl Fn(f64) -> f64) -> Option<f64> {
    let mean = points.iter().map(|point| point.rate).sum::<f64>() / points.len() as f64;
    let total: f64 = points.iter().map(|point| (point.rate - mean).powi(2)).sum();
    let rest: f64 = points.iter().map(|point| (point.rate - model(point.concurrency)).powi(2)).sum();
    (total > points.len() as f64 * (FIT_ERROR_FLOOR * mean).powi(2)).then(|| 1.0 - rest / total)
}

/// The capacity by a cap. The knee is reached if the concurrency gets to twice that of the corner (the product of limit
/// and latency) and at least two levels lie at the cap.
fn from_cap(points: &[RatePoint], cap: HardCap, error: f64) -> Option<CapacityFit> {
    let corner = cap.limit * cap.service_s;
    let at_cap: Vec<&RatePoint> =
        points.iter().filter(|point| point.concurrency >= AT_CAP_FRACTION * corner).collect();
    let highest_concurrency = points.last()?.concurrency;
    if at_cap.len() < MIN_AT_CAP_LEVELS || highest_concurrency < MIN_CORNER_RATIO * corner {
        return None;
    }
    let deviation = (error / (points.len() - 2) as f64).sqrt().max(FIT_ERROR_FLOOR / 2.0);
    let margin = CAP_RANGE_SIGMAS * deviation / (at_cap.len() as f64).sqrt();
    let highest_rate = at_cap.iter().map(|point| point.rate).fold(0.0, f64::max);
    let found = CapacityFit {
        model: Model::Cap,
        knee_reached: true,
        max: Some(cap.limit),
        max_range: Some((cap.limit * (1.0 - margin), (cap.limit * (1.0 + margin)).max(highest_rate))),
        r_squared: r_squared(points, |n| cap.rate(n)),
        relative_error: Some(relative_error(error, points)?),
        ..CapacityFit::default()
    };
    // Without a level below the cap, nothing shows where it begins.
    let are_all_at_cap = points.first().is_some_and(|first| first.rate >= KNEE_FRACTION * cap.limit);
    Some(found.with_knee(cap.knee(), points, are_all_at_cap))
}

/// The capacity by a law. The knee is reached if no plausible law has its knee near or beyond the highest concurrency
/// seen.
fn from_usl(points: &[RatePoint], usl: Usl, error: f64) -> Option<CapacityFit> {
    let degrees_of_freedom = points.len().saturating_sub(3).max(1) as f64;
    let variance = (error / degrees_of_freedom).max(RATE_NOISE_FLOOR * RATE_NOISE_FLOOR);
    let highest_concurrency = points.last()?.concurrency;
    let plausible = usl.plausible_fits(points, error + PLAUSIBLE_VARIANCES * variance);
    let is_reached = |law: &Usl| law.knee() <= highest_concurrency / MIN_KNEE_RATIO;
    if !is_reached(&usl) || !plausible.iter().all(is_reached) {
        return None;
    }
    // Nothing is said about concurrencies that were not seen.
    let max_rate = |law: &Usl| law.rate(law.peak().min(highest_concurrency));
    let max = max_rate(&usl);
    // The range holds the highest rate seen and the standard error of the medians themselves.
    let margin = (variance / points.len() as f64).sqrt();
    let seen = points.iter().map(|point| point.rate).fold(0.0, f64::max);
    let rates = || plausible.iter().map(max_rate).chain([seen, max * (1.0 - margin), max * (1.0 + margin)]);
    let found = CapacityFit {
        model: Model::Usl,
        knee_reached: true,
        max: Some(max),
        max_range: Some((rates().fold(max, f64::min), rates().fold(max, f64::max))),
        r_squared: r_squared(points, |n| usl.rate(n)),
        relative_error: Some(relative_error(error, points)?),
        ..CapacityFit::default()
    };
    Some(found.with_knee(usl.knee(), points, false))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fit(model: impl Fn(f64) -> f64, concurrencies: &[f64]) -> CapacityFit {
        CapacityFit::fit(&concurrencies.iter().map(|n| RatePoint::new(*n, model(*n))).collect::<Vec<_>>())
    }

    const DOUBLING: [f64; 9] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0];

    #[test]
    fn a_cap_and_a_law_are_told_apart() {
        let cap = HardCap { service_s: 0.001, limit: 8000.0 };
        let found = fit(|n| cap.rate(n), &DOUBLING);
        assert_eq!((found.model, found.knee_reached, found.confident), (Model::Cap, true, true));
        assert!((found.max.unwrap() / 8000.0 - 1.0).abs() < 0.001);
        let law = Usl { lambda: 7000.0, sigma: 0.03, kappa: 0.0003 };
        let found = fit(|n| law.rate(n), &DOUBLING);
        assert_eq!((found.model, found.knee_reached), (Model::Usl, true));
        assert!((found.max.unwrap() / law.max_rate() - 1.0).abs() < 0.02);
        assert!((found.knee.unwrap() / law.knee() - 1.0).abs() < 0.1);
        assert!(
            found.max_range.is_some_and(|(low, high)| low <= law.max_rate() && law.max_rate() <= high * 1.01)
        );
    }

    #[test]
    fn the_table_of_zaitsev_and_trudeau_has_its_knee_between_16_and_64() {
        let table =
            [(1.0, 7113.0), (3.94, 26_248.0), (16.1, 76_846.0), (63.9, 127_841.0), (256.5, 131_559.0)];
        let found = CapacityFit::fit(&table.map(|(n, rate)| RatePoint::new(n, rate)));
        assert_eq!(
            (found.model, found.knee_reached, found.confident),
            (Model::Usl, true, false),
            "{found:?}"
        );
        assert!(found.knee.is_some_and(|knee| (16.0..=64.0).contains(&knee)), "{found:?}");
    }

    #[test]
    fn a_constant_rate_is_a_cap_and_has_no_variance_to_explain() {
        let found = fit(|_| 3000.0, &DOUBLING[..7]);
        assert_eq!((found.model, found.knee_reached, found.r_squared), (Model::Cap, true, None));
    }

    #[test]
    fn data_that_end_before_the_knee_say_nothing_about_it() {
        let law = Usl { lambda: 7000.0, sigma: 0.02, kappa: 0.0008 };
        for sweep in [&[1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 10.0][..], &DOUBLING[..4], &DOUBLING[..3]] {
            let found = fit(|n| law.rate(n), sweep);
            assert_eq!((found.knee_reached, found.model, found.knee), (false, Model::None, None));
            assert_eq!(found.highest_seen, sweep.last().map(|n| law.rate(*n)));
        }
        assert!(!fit(|n| 1000.0 * n, &DOUBLING).knee_reached);
        assert_eq!(CapacityFit::fit(&[]).highest_seen, None);
    }

    #[test]
    fn rates_that_follow_no_model_have_none() {
        let wild = |n: f64| if (n.log2() as i32) % 2 == 0 { 100.0 } else { 1000.0 };
        assert_eq!(fit(wild, &DOUBLING).model, Model::None);
    }
}
