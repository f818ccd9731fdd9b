//! Which model the rates follow, and how much they say about the most that a device can do.

use libm::log;
use serde::Serialize;

use super::cap::CapModel;
use super::usl::Usl;

/// So many distinct levels of concurrency a fit needs (formulas).
const LEAST_LEVELS: usize = 4;
/// So many it needs for a confident word.
const CONFIDENT_LEVELS: usize = 6;
/// Two errors below this are no reason to prefer one model.
const ERROR_FLOOR: f64 = 0.005;
/// What a median of rates may be off by, at least, however well the model fits.
const NOISE_FLOOR: f64 = 0.015;
/// With a larger relative error no model is followed.
const MOST_ERROR: f64 = 0.1;
/// A model that explains less of the rates' variance describes chance...
const LEAST_EXPLAINED: f64 = 0.7;
/// ...but where the rates stand still within this share...
const FLAT: f64 = 0.06;
/// ...while the concurrency grows by this factor: less is what any load does by chance.
const GROWTH: f64 = 3.9;
/// The most by a model lies this near to the highest rate of a level: what is beyond was not seen.
const NEAR_SEEN: f64 = 0.1;
/// Models whose criterion differs by less are tied (Kass and Raftery: "not worth more than a bare mention").
const TIE: f64 = 2.0;

/// The median rate of a level against its median concurrency.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RatePoint {
    /// Mean requests in the queue or being served.
    pub concurrency: f64,
    /// Requests (or KiB) a second; above zero.
    pub rate: f64,
}

impl RatePoint {
    /// A rate at a concurrency.
    pub fn new(concurrency: f64, rate: f64) -> Self {
        Self { concurrency, rate }
    }
}

/// The sum of the squared relative errors of a model.
pub(super) fn squared_error(points: &[RatePoint], model: impl Fn(f64) -> f64) -> f64 {
    points.iter().map(|point| log(point.rate / model(point.concurrency)).powi(2)).sum()
}

/// The model that the rates follow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Model {
    /// Neither, or the data do not tell.
    #[default]
    None,
    /// A limit that the rate meets and does not pass.
    Cap,
    /// The Universal Scalability Law.
    Usl,
}

/// What the levels say of the most that a device can do.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Capacity {
    /// The model that fits better; `None` where neither does or the data do not reach the knee.
    pub model: Model,
    /// Whether the data reach the knee; if not, the models say nothing of it.
    pub reached: bool,
    /// Whether there were levels enough for a confident word.
    pub confident: bool,
    /// Distinct levels of concurrency.
    pub levels: usize,
    /// The highest rate of a level seen; `None` without levels.
    pub highest_seen: Option<f64>,
    /// The highest rate by the model, within the concurrencies seen; `None` where the knee was not reached.
    pub max: Option<f64>,
    /// Between which rates the highest lies, by the models that the data do not rule out.
    pub between: Option<(f64, f64)>,
    /// The smallest concurrency within 10 % of the highest rate; `None` where the knee was not reached.
    pub knee: Option<f64>,
    /// Every level lies beyond the knee: it is at `knee`, the lowest concurrency seen, or below.
    pub knee_is_upper_bound: bool,
    /// The share of the rates' variance that the model explains; `None` where they do not vary.
    pub r_squared: Option<f64>,
    /// The mean relative error of the model.
    pub relative_error: Option<f64>,
    /// The fitted law, where the knee was reached.
    pub usl: Option<Usl>,
    /// The fitted cap, where the knee was reached.
    pub cap: Option<CapModel>,
}

impl Capacity {
    /// Fits both models to points in the order of their concurrency.
    pub fn of(points: &[RatePoint]) -> Self {
        let unknown = Self::unheld(points);
        let highest_seen = unknown.highest_seen;
        if points.len() < LEAST_LEVELS {
            return unknown;
        }
        let Some(cap) = CapModel::fit(points) else { return unknown };
        let usl = Usl::fit(points);
        let cap_error = squared_error(points, |n| cap.rate(n));
        let usl_error = squared_error(points, |n| usl.rate(n));
        let is_cap = criterion(cap_error, points.len(), 2) <= criterion(usl_error, points.len(), 3) + TIE;
        let found = if is_cap { by_cap(points, cap, cap_error) } else { by_usl(points, usl, usl_error) };
        let found = found.filter(|found| found.is_seen(points));
        let confident = points.len() >= CONFIDENT_LEVELS;
        let complete = |found| Self { usl: Some(usl), cap: Some(cap), confident, ..found };
        found.map_or(unknown, |found| complete(Self { levels: points.len(), highest_seen, ..found }))
    }

    /// What points say that no model is to be fitted to.
    pub fn unheld(points: &[RatePoint]) -> Self {
        let highest_seen = points.iter().map(|point| point.rate).reduce(f64::max);
        Self { levels: points.len(), highest_seen, ..Self::default() }
    }

    /// Whether the levels show what the model says: its most was about seen, and its shape is none of chance.
    fn is_seen(&self, points: &[RatePoint]) -> bool {
        let (Some(max), Some(error), Some(knee)) = (self.max, self.relative_error, self.knee) else {
            return false;
        };
        let highest = points.iter().map(|point| point.rate).fold(0.0, f64::max);
        let beyond = points.iter().filter(|point| point.concurrency >= knee).map(|point| point.concurrency);
        let (from, to) = beyond.fold((f64::INFINITY, 0.0), |(from, to), n| (n.min(from), n.max(to)));
        let is_explained = self.r_squared.is_some_and(|share| share >= LEAST_EXPLAINED);
        let stands_still = error <= FLAT && to >= GROWTH * from;
        // A few levels are soon explained by three parameters.
        let is_far = points.len() >= CONFIDENT_LEVELS || to >= GROWTH * knee;
        (highest / max - 1.0).abs() <= NEAR_SEEN && is_far && (is_explained || stands_still)
    }

    /// With a knee that lies at the lowest concurrency seen, or below it, as an upper bound.
    fn with_knee(self, knee: f64, points: &[RatePoint], is_upper_bound: bool) -> Self {
        let lowest = points.first().map_or(0.0, |point| point.concurrency);
        let is_upper_bound = is_upper_bound || knee <= lowest;
        let knee = if is_upper_bound { lowest } else { knee };
        Self { knee: Some(knee), knee_is_upper_bound: is_upper_bound, ..self }
    }
}

/// The Bayesian information criterion for normal relative errors (Schwarz 1978).
fn criterion(squared_error: f64, points: usize, parameters: usize) -> f64 {
    let n = points as f64;
    n * log((squared_error / n).max(ERROR_FLOOR * ERROR_FLOOR)) + parameters as f64 * log(n)
}

fn relative_error(squared_error: f64, points: &[RatePoint]) -> Option<f64> {
    let error = (squared_error / points.len() as f64).sqrt();
    (error <= MOST_ERROR).then_some(error)
}

/// The share of the variance of the rates that a model explains.
fn r_squared(points: &[RatePoint], model: impl Fn(f64) -> f64) -> Option<f64> {
    let mean = points.iter().map(|point| point.rate).sum::<f64>() / points.len() as f64;
    let total: f64 = points.iter().map(|point| (point.rate - mean).powi(2)).sum();
    let left: f64 = points.iter().map(|point| (point.rate - model(point.concurrency)).powi(2)).sum();
    // Rates that stand still have no variance to explain.
    (total > points.len() as f64 * (ERROR_FLOOR * mean).powi(2)).then(|| 1.0 - left / total)
}

/// The cap is reached where the concurrency passes it twice over, at two levels at least, at one rate.
fn by_cap(points: &[RatePoint], cap: CapModel, error: f64) -> Option<Capacity> {
    let corner = cap.limit * cap.service_s;
    let at: Vec<&RatePoint> = points.iter().filter(|point| point.concurrency >= 0.95 * corner).collect();
    let highest = points.last()?.concurrency;
    if at.len() < 2 || highest < 2.0 * corner {
        return None;
    }
    let spread = (error / (points.len() - 2) as f64).sqrt().max(ERROR_FLOOR / 2.0);
    let off = 2.0 * spread / (at.len() as f64).sqrt();
    let highest = at.iter().map(|point| point.rate).fold(0.0, f64::max);
    let found = Capacity {
        model: Model::Cap,
        reached: true,
        max: Some(cap.limit),
        between: Some((cap.limit * (1.0 - off), (cap.limit * (1.0 + off)).max(highest))),
        r_squared: r_squared(points, |n| cap.rate(n)),
        relative_error: Some(relative_error(error, points)?),
        ..Capacity::default()
    };
    // With no level below the cap nothing tells where it begins.
    let is_all_beyond = points.first().is_some_and(|first| first.rate >= 0.9 * cap.limit);
    Some(found.with_knee(cap.knee(), points, is_all_beyond))
}

/// The knee of a law is reached where no law that the data allow has it beyond the highest concurrency seen.
fn by_usl(points: &[RatePoint], usl: Usl, error: f64) -> Option<Capacity> {
    let freedom = points.len().saturating_sub(3).max(1) as f64;
    let variance = (error / freedom).max(NOISE_FLOOR * NOISE_FLOOR);
    let highest = points.last()?.concurrency;
    let likely = usl.likely(points, error + 4.0 * variance);
    let reaches = |law: &Usl| law.knee() <= highest / 1.2;
    if !reaches(&usl) || !likely.iter().all(reaches) {
        return None;
    }
    // Nothing is said of concurrencies that were not seen.
    let most = |law: &Usl| law.rate(law.peak().min(highest));
    let max = most(&usl);
    // What was seen is possible too, and the medians themselves are only so good.
    let off = (variance / points.len() as f64).sqrt();
    let seen = points.iter().map(|point| point.rate).fold(0.0, f64::max);
    let rates = || likely.iter().map(most).chain([seen, max * (1.0 - off), max * (1.0 + off)]);
    let found = Capacity {
        model: Model::Usl,
        reached: true,
        max: Some(max),
        between: Some((rates().fold(max, f64::min), rates().fold(max, f64::max))),
        r_squared: r_squared(points, |n| usl.rate(n)),
        relative_error: Some(relative_error(error, points)?),
        ..Capacity::default()
    };
    Some(found.with_knee(usl.knee(), points, false))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn capacity(model: impl Fn(f64) -> f64, concurrencies: &[f64]) -> Capacity {
        Capacity::of(&concurrencies.iter().map(|n| RatePoint::new(*n, model(*n))).collect::<Vec<_>>())
    }

    const DOUBLING: [f64; 9] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0];

    #[test]
    fn a_cap_is_told_from_a_law() {
        let cap = CapModel { service_s: 0.001, limit: 8000.0 };
        let found = capacity(|n| cap.rate(n), &DOUBLING);
        assert_eq!((found.model, found.reached, found.confident), (Model::Cap, true, true));
        assert!((found.max.unwrap() / 8000.0 - 1.0).abs() < 0.001);
        let law = Usl { lambda: 7000.0, sigma: 0.03, kappa: 0.0003 };
        let found = capacity(|n| law.rate(n), &DOUBLING);
        assert_eq!((found.model, found.reached), (Model::Usl, true));
        assert!((found.max.unwrap() / law.highest() - 1.0).abs() < 0.02);
        assert!((found.knee.unwrap() / law.knee() - 1.0).abs() < 0.1);
        assert!(
            found.between.is_some_and(|(low, high)| low <= law.highest() && law.highest() <= high * 1.01)
        );
    }

    #[test]
    fn the_table_of_the_formulas_has_its_knee_between_16_and_64() {
        let table =
            [(1.0, 7113.0), (3.94, 26_248.0), (16.1, 76_846.0), (63.9, 127_841.0), (256.5, 131_559.0)];
        let found = Capacity::of(&table.map(|(n, rate)| RatePoint::new(n, rate)));
        assert_eq!((found.model, found.reached, found.confident), (Model::Usl, true, false), "{found:?}");
        assert!(found.knee.is_some_and(|knee| (16.0..=64.0).contains(&knee)), "{found:?}");
    }

    #[test]
    fn a_flat_line_is_a_cap_and_has_no_variance_to_explain() {
        let found = capacity(|_| 3000.0, &DOUBLING[..7]);
        assert_eq!((found.model, found.reached, found.r_squared), (Model::Cap, true, None));
    }

    #[test]
    fn data_before_the_knee_say_nothing_of_it() {
        let law = Usl { lambda: 7000.0, sigma: 0.02, kappa: 0.0008 };
        for sweep in [&[1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 10.0][..], &DOUBLING[..4], &DOUBLING[..3]] {
            let found = capacity(|n| law.rate(n), sweep);
            assert_eq!((found.reached, found.model, found.knee), (false, Model::None, None));
            assert_eq!(found.highest_seen, sweep.last().map(|n| law.rate(*n)));
        }
        assert!(!capacity(|n| 1000.0 * n, &DOUBLING).reached);
        assert_eq!(Capacity::of(&[]).highest_seen, None);
    }

    #[test]
    fn what_follows_no_model_has_none() {
        let wild = |n: f64| if (n.log2() as i32) % 2 == 0 { 100.0 } else { 1000.0 };
        assert_eq!(capacity(wild, &DOUBLING).model, Model::None);
    }
}
