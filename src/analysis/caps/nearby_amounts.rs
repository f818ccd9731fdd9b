//! A quick check whether the latest load can lie on a plateau, which costs far less than a search for one.

use std::ops::RangeInclusive;

use super::pace::max_alike_counts;
use crate::analysis::load::{IoDirection, MAX_RECENT_LOADS, RATE_KINDS, RateUnit, RecentAmounts};
use crate::analysis::thresholds::{
    LARGE_REQUEST_RATIO, MAX_SAMPLE_DELAY_FRACTION, MIN_PLATEAU_INTERVALS, ON_PLATEAU_TOLERANCE,
    STEADY_TOLERANCE, STEADY_WINDOW,
};

/// Factor for errors of rounding.
const ROUNDING: f32 = 1.0 + RecentAmounts::ROUNDING;

/// The fewest loads of a plateau, each a single interval.
pub(super) const MIN_PLATEAU_LOADS: usize = MIN_PLATEAU_INTERVALS as usize;

/// The amounts of the recent loads of a device, each a single interval, to be compared with the latest. Their order
/// matters only for neighbors: the oldest counts as a neighbor of the latest, so that bounds are too wide rather than
/// too narrow.
pub(super) struct NearbyAmounts<'a> {
    amounts: &'a RecentAmounts,
    /// The index of the latest load.
    latest: usize,
    /// The longest interval as a multiple of the shortest.
    max_length_ratio: f32,
    /// The relative difference of two counts in a row up to which they may be steadier than the rates.
    max_alike: f32,
}

/// The completions of an interval.
#[derive(Clone, Copy)]
struct Amount {
    /// Requests or KiB.
    value: f32,
    /// The number of requests; infinite without a value, which is never on a plateau.
    requests: f32,
}

impl Amount {
    fn new((value, requests): (&f32, &f32)) -> Self {
        Self { value: *value, requests: if *value > 0.0 { *requests } else { f32::INFINITY } }
    }

    /// The amount that each of two neighbors may have in a search by counts: their mean, which is at least half of its
    /// own.
    fn mean((before, after): (Self, Self)) -> Self {
        let requests = before.requests.min(after.requests) / 2.0;
        Self { value: (before.value + after.value) / 2.0, requests }
    }
}

/// The chance of a plateau that the latest load lies on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Chance {
    /// The latest load does not lie on a plateau.
    None,
    /// It may lie on one if the numbers of completions in each interval are steadier than the rates.
    OfCounts,
    /// It may lie on one.
    Any,
}

impl<'a> NearbyAmounts<'a> {
    /// Compares amounts; `None` without loads.
    pub(super) fn new(amounts: &'a RecentAmounts) -> Option<Self> {
        // The bits of positive floats sort as they do, and the compiler compares several integers at a time.
        let bits = amounts.seconds().iter().map(|length| length.to_bits().cast_signed());
        let (min, max) = bits.fold((i32::MAX, 0), |(min, max), bits| (min.min(bits), max.max(bits)));
        let [min, max] = [min, max].map(|bits| f32::from_bits(bits.cast_unsigned()));
        let max_delay_fraction = MAX_SAMPLE_DELAY_FRACTION / (1.0 - MAX_SAMPLE_DELAY_FRACTION);
        let max_delay = f64::from(max / min - 1.0).min(max_delay_fraction);
        let max_alike = max_alike_counts(max_delay) as f32 + RecentAmounts::ROUNDING;
        let max_length_ratio = ROUNDING * max / min;
        Some(Self { amounts, latest: amounts.latest()?, max_length_ratio, max_alike })
    }

    /// The kinds of rate in which the latest load may lie on a plateau.
    pub(super) fn chances(&self) -> Vec<((IoDirection, RateUnit), Chance)> {
        let chances = RATE_KINDS.into_iter().enumerate().map(|(kind, name)| (name, self.chance(kind)));
        chances.filter(|(_, chance)| *chance != Chance::None).collect()
    }

    /// The chance that a search finds a plateau of one of [`RATE_KINDS`] that the latest load lies on: a plateau needs
    /// enough loads whose amounts are about the same and near that of the latest. It is never [`Chance::None`] if a
    /// search would find one.
    ///
    /// A plateau's rate is the median of rates within a window, and the latest rate lies within a tolerance of it. The
    /// same holds for the amounts, within the ratio of the lengths of intervals. In a search by counts, each of two
    /// neighbors may have the mean amount of both.
    fn chance(&self, kind: usize) -> Chance {
        let (direction, unit) = RATE_KINDS[kind];
        let request = if unit == RateUnit::Kib { LARGE_REQUEST_RATIO as f32 } else { 1.0 };
        let (values, requests) = (self.amounts.of_kind(kind), self.requests(direction));
        let latest = values[self.latest];
        if latest <= 0.0 {
            return Chance::None;
        }
        // The amounts of plateaus that the latest load can lie on.
        let tolerance = ON_PLATEAU_TOLERANCE as f32;
        let min = latest / ((1.0 + tolerance) * self.max_length_ratio);
        let max = latest / (1.0 - tolerance) * self.max_length_ratio;
        // With fewer requests than these, a window is wider.
        let few = request / STEADY_TOLERANCE as f32;
        // Usually this decides it.
        let strict = self.max_length_ratio * (ROUNDING + STEADY_WINDOW as f32);
        let (low, high) = (min / strict, max * strict);
        let near = count(values, |value| (low <= value) & (value <= high));
        let is_wide = |value: f32, requests: f32| {
            let may_reach = value * (requests + 2.0 * request) * ROUNDING >= min * requests;
            (requests < few) & (0.0 < value) & (value <= max) & may_reach
        };
        let has_wide = count_pairs(values, requests, is_wide) > 0;
        let is_alike = |before: f32, after: f32| (after - before).abs() <= self.max_alike * before;
        let has_alike =
            count_pairs(values, &values[1..], is_alike) > 0 || is_alike(values[values.len() - 1], values[0]);
        if near < MIN_PLATEAU_LOADS && !has_wide && !has_alike {
            return Chance::None;
        }
        let amounts = || values.iter().zip(requests).map(Amount::new);
        let means = || amounts().zip(amounts().cycle().skip(1)).map(Amount::mean);
        let search = DenseWindow { min, max, request, max_length_ratio: self.max_length_ratio };
        let is_dense = || has_dense_range(values, low..=high, strict * self.max_length_ratio);
        // The window of the fewest requests is the widest.
        let may_be_in_wide = || {
            let bits = values.iter().zip(requests).map(|(value, requests)| {
                let wide = if is_wide(*value, *requests) { *requests } else { f32::INFINITY };
                wide.to_bits().cast_signed()
            });
            let fewest = f32::from_bits(bits.fold(i32::MAX, i32::min).cast_unsigned());
            let widest = search.width(fewest) * self.max_length_ratio * ROUNDING;
            let (low, high) = (min / widest, max * widest);
            count(values, |value| (low <= value) & (value <= high)) >= MIN_PLATEAU_LOADS
        };
        let may_be_in = if has_wide { may_be_in_wide() } else { near >= MIN_PLATEAU_LOADS && is_dense() };
        if may_be_in && search.is_in(amounts()) {
            Chance::Any
        } else if has_alike && search.is_in(amounts().chain(means()).chain(means())) {
            Chance::OfCounts
        } else {
            Chance::None
        }
    }

    fn requests(&self, direction: IoDirection) -> &[f32] {
        let is_of = |kind: &(IoDirection, RateUnit)| *kind == (direction, RateUnit::Requests);
        self.amounts.of_kind(RATE_KINDS.iter().position(is_of).unwrap_or(0))
    }
}

/// Counts values, in a loop without branches, in which the compiler compares several at a time.
fn count(values: &[f32], is_counted: impl Fn(f32) -> bool) -> usize {
    values.iter().map(|value| u32::from(is_counted(*value))).sum::<u32>() as usize
}

/// Counts pairs of values, like [`count`].
fn count_pairs(values: &[f32], others: &[f32], is_counted: impl Fn(f32, f32) -> bool) -> usize {
    values.iter().zip(others).map(|(value, other)| u32::from(is_counted(*value, *other))).sum::<u32>()
        as usize
}

/// Returns whether enough values for a plateau lie within a range, the highest of them at most `max_multiple` times the
/// lowest.
fn has_dense_range(values: &[f32], range: RangeInclusive<f32>, max_multiple: f32) -> bool {
    let mut within = [0.0; MAX_RECENT_LOADS];
    let mut count = 0;
    for value in values {
        // It is about random which values lie within the range, so the CPU would predict a branch badly.
        within[count] = *value;
        count += usize::from((range.start() <= value) & (value <= range.end()));
    }
    let within = &mut within[..count];
    within.sort_unstable_by(f32::total_cmp);
    within.windows(MIN_PLATEAU_LOADS).any(|window| window[MIN_PLATEAU_LOADS - 1] <= max_multiple * window[0])
}

/// A search for a window with enough amounts for a plateau.
struct DenseWindow {
    /// The amounts of the plateaus.
    min: f32,
    max: f32,
    /// The amount that counts as one request.
    request: f32,
    max_length_ratio: f32,
}

impl DenseWindow {
    /// Returns whether there is such a window.
    fn is_in(&self, amounts: impl Iterator<Item = Amount> + Clone) -> bool {
        let is_lowest = |one: &Amount| self.may_be_lowest(one);
        // No window reaches beyond these two, and usually hardly any amount lies between them.
        let windows = amounts.clone().filter(is_lowest).map(|lowest| self.window(lowest));
        let (low, high) =
            windows.fold((f32::INFINITY, 0.0f32), |(min, max), (low, high)| (min.min(low), max.max(high)));
        let near: Vec<Amount> = amounts.filter(|one| low <= one.value && one.value <= high).collect();
        near.len() >= MIN_PLATEAU_LOADS
            && near.iter().copied().filter(is_lowest).any(|lowest| {
                let (low, high) = self.window(lowest);
                let is_within = |one: &&Amount| low <= one.value && one.value <= high;
                near.iter().filter(is_within).count() >= MIN_PLATEAU_LOADS
            })
    }

    /// Returns whether this may be the lowest amount of a plateau that the latest load lies on.
    fn may_be_lowest(&self, one: &Amount) -> bool {
        one.value <= self.max && one.value * self.width(one.requests) >= self.min
    }

    /// The lowest and the highest amount of a plateau with this lowest one.
    fn window(&self, lowest: Amount) -> (f32, f32) {
        (
            lowest.value / self.max_length_ratio,
            lowest.value * self.width(lowest.requests) * self.max_length_ratio,
        )
    }

    /// The highest rate of a window as a multiple of the lowest. It follows from the tolerance of the lowest rate,
    /// which is larger for few requests.
    fn width(&self, lowest_requests: f32) -> f32 {
        ROUNDING + (STEADY_WINDOW as f32).max(2.0 * self.request / lowest_requests)
    }
}
