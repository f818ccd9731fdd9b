//! A bound on the loads that a plateau with the latest load can have, which costs far less than a search for it.

use super::latest_plateau::DIRECTIONS;
use super::pace::max_alike_counts;
use crate::analysis::load::{IoDirection, LoadSample, RateUnit};
use crate::analysis::thresholds::{
    LARGE_REQUEST_RATIO, MAX_SAMPLE_DELAY_FRACTION, MIN_PLATEAU_INTERVALS, ON_PLATEAU_TOLERANCE,
    STEADY_TOLERANCE, STEADY_WINDOW,
};

/// Factor for errors of rounding.
const ROUNDING: f64 = 1.0 + 1e-9;

/// Loads of a plateau, each a single interval.
const MIN_PLATEAU_LOADS: usize = MIN_PLATEAU_INTERVALS as usize;

/// The amounts of the recent loads of a device, single intervals in the order of time, to be compared with the latest.
pub(super) struct NearbyAmounts {
    /// For each direction its requests, then its KiB: numbers side by side, as they are gone through several times.
    columns: Vec<f64>,
    loads: usize,
    /// The longest interval as a multiple of the shortest.
    max_length_ratio: f64,
    /// The relative difference of two counts in a row up to which they may be steadier than the rates.
    max_alike: f64,
}

/// The completions of an interval.
#[derive(Clone, Copy)]
struct Amount {
    /// Requests or KiB.
    value: f64,
    /// Infinite without a value, which is never that of a plateau.
    requests: f64,
}

impl Amount {
    /// The amount that each of two neighbors may have in a search by counts: at least half of its own.
    fn mean(neighbors: &[Self]) -> Self {
        let [before, after] = neighbors else { return Self { value: 0.0, requests: f64::INFINITY } };
        let requests = before.requests.min(after.requests) / 2.0;
        Self { value: (before.value + after.value) / 2.0, requests }
    }
}

impl NearbyAmounts {
    pub(super) fn new(recent: &[LoadSample]) -> Self {
        let lengths = recent.iter().map(|load| load.seconds);
        let (min, max) =
            lengths.fold((f64::INFINITY, 0.0f64), |(min, max), length| (min.min(length), max.max(length)));
        let max_delay = (max / min - 1.0).min(MAX_SAMPLE_DELAY_FRACTION / (1.0 - MAX_SAMPLE_DELAY_FRACTION));
        let max_alike = max_alike_counts(max_delay) + (ROUNDING - 1.0);
        let loads = recent.len();
        let mut columns = vec![0.0; DIRECTIONS.len() * RateUnit::ALL.len() * loads];
        for (index, load) in recent.iter().enumerate() {
            for (direction, columns) in DIRECTIONS.into_iter().zip(columns.chunks_exact_mut(2 * loads)) {
                let totals = load.totals(direction);
                (columns[index], columns[loads + index]) = (totals.ios, totals.kib);
            }
        }
        Self { columns, loads, max_length_ratio: ROUNDING * max / min, max_alike }
    }

    /// The requests of a direction and its amounts in a unit.
    fn columns(&self, direction: IoDirection, unit: RateUnit) -> (&[f64], &[f64]) {
        let index = DIRECTIONS.iter().position(|other| *other == direction).unwrap_or(0);
        let (requests, kib) = self.columns[2 * self.loads * index..][..2 * self.loads].split_at(self.loads);
        (requests, if unit == RateUnit::Kib { kib } else { requests })
    }

    /// Returns whether a search may find a plateau of this kind of rate that the latest load lies on: enough loads have
    /// about one amount that is near its own. It never returns `false` where a search finds one.
    ///
    /// A plateau's rate is the median of rates within a window, and the latest rate lies within a tolerance of it. So do
    /// the amounts, but for the ratio of the lengths of intervals. In a search by counts, which is made where
    /// `has_steadier_counts` holds, each of two neighbors may have the mean amount of both.
    pub(super) fn may_have_plateau(
        &self,
        direction: IoDirection,
        unit: RateUnit,
        has_steadier_counts: impl FnOnce() -> bool,
    ) -> bool {
        let request = if unit == RateUnit::Kib { LARGE_REQUEST_RATIO } else { 1.0 };
        let (requests, values) = self.columns(direction, unit);
        let Some(latest) = values.last().copied().filter(|value| *value > 0.0) else { return false };
        // The amounts of plateaus that the latest load can lie on.
        let min = latest / ((1.0 + ON_PLATEAU_TOLERANCE) * self.max_length_ratio);
        let max = latest / (1.0 - ON_PLATEAU_TOLERANCE) * self.max_length_ratio;
        // A window is as wide as the tolerance of its lowest rate, which is larger for few requests.
        let few = request / STEADY_TOLERANCE;
        let width = |one: &Amount| 1.0 + STEADY_WINDOW.max(2.0 * request / one.requests);
        let may_be_lowest = |one: &&Amount| one.value <= max && one.value * width(one) >= min;
        // Mostly it ends here. Short loops without branches, in which the compiler compares several numbers at a time.
        let strict = self.max_length_ratio * (1.0 + STEADY_WINDOW);
        let (low, high) = (min / strict, max * strict);
        let near = values.iter().filter(|value| (low <= **value) & (**value <= high)).count();
        let has_wide = values.iter().zip(requests).fold(false, |found, (value, requests)| {
            let may_reach = value * (requests + 2.0 * request) >= min * requests;
            found | ((*requests < few) & (0.0 < *value) & (*value <= max) & may_reach)
        });
        let has_alike = values.iter().zip(&values[1..]).fold(false, |found, (before, after)| {
            found | ((after - before).abs() <= self.max_alike * before)
        });
        if near < MIN_PLATEAU_LOADS && !has_wide && !has_alike {
            return false;
        }
        let amount = |(value, requests): (&f64, &f64)| Amount {
            value: *value,
            requests: if *value > 0.0 { *requests } else { f64::INFINITY },
        };
        let mut amounts: Vec<Amount> = values.iter().zip(requests).map(amount).collect();
        let has_dense_window = |amounts: &[Amount]| {
            amounts.iter().filter(may_be_lowest).any(|lowest| {
                let low = lowest.value / self.max_length_ratio;
                let high = lowest.value * width(lowest) * self.max_length_ratio;
                let is_within = |one: &&Amount| low <= one.value && one.value <= high;
                amounts.iter().filter(is_within).count() >= MIN_PLATEAU_LOADS
            })
        };
        has_dense_window(&amounts)
            || has_alike && {
                let means: Vec<Amount> = amounts.windows(2).map(Amount::mean).collect();
                amounts.extend_from_slice(&means);
                amounts.extend_from_slice(&means);
                has_dense_window(&amounts) && has_steadier_counts()
            }
    }
}
