//! Rates that were held: which loads lie at one, and whether that is a cap.

use std::ops::Range;

use super::clouds::is_just_on_known_cap;
use super::levels::median_of;
use super::load::{IoDirection, LoadSample, RateUnit};
use super::scatter::{HALF, QUIET, against_chance};

/// A rate that stands still stays within this share.
pub(super) const STILL: f64 = 0.01;
/// By which factor the concurrency grows meanwhile, about (formulas: at least quadruples).
const GROWTH: f64 = 3.9;
/// Below this mean concurrency a device is not loaded.
pub(super) const LEAST_LOADED: f64 = 0.5;
/// A queue of less waits for nobody much, whatever holds the rate.
const LEAST_QUEUE: f64 = 3.5;
/// The fewest intervals of a plateau: in noise, fewer are soon alike by chance.
pub(super) const LEAST_INTERVALS: f64 = 8.0;
/// The fewest requests in an interval: with less, one more or less is a step that many rates share.
pub(super) const LEAST_REQUESTS: f64 = 5.0;
/// The share of the loaded intervals in its time that lie on a plateau.
const ON_IT: f64 = 0.75;
/// A token bucket lets the first requests pass at a higher rate: so much of the time may lie above.
const ABOVE: f64 = 0.05;
/// By which factor two rates clearly differ.
const CLEARLY: f64 = 1.2;

/// LoadHistory whose rates lie within [`STILL`] of one rate, in the order of time.
pub(super) struct Still<'a> {
    pub(super) loads: Vec<&'a LoadSample>,
    pub(super) rate: f64,
    /// The lowest concurrency that two intervals had.
    pub(super) low: f64,
    /// The highest.
    pub(super) high: f64,
    /// Most of the loaded time within its span was spent at the rate.
    pub(super) is_still: bool,
    /// The concurrency quadrupled meanwhile, and the rate was the same below and above.
    pub(super) has_grown: bool,
    /// The user stated a cap there.
    pub(super) is_stated: bool,
    /// A cloud is known to set a cap just there.
    is_known: bool,
    /// How much the rate scattered against what chance gives busy servers.
    scatter: f64,
}

impl Still<'_> {
    /// It proves a cap by itself: busy servers hold their rate too, but not as exactly.
    pub(super) fn is_proof(&self) -> bool {
        let most = if self.is_known { HALF } else { QUIET };
        self.is_stated || (self.has_grown && self.scatter < most)
    }

    /// Whether its own rate, or the user, says that it is a cap, not only where it lies.
    pub(super) fn is_certain(&self) -> bool {
        self.is_stated || self.is_quiet()
    }

    /// Its rate alone is too exact for busy servers.
    pub(super) fn is_quiet(&self) -> bool {
        self.scatter < QUIET
    }

    /// It may be a cap where another plateau of the same load is proven.
    pub(super) fn may_be_a_cap(&self) -> bool {
        self.is_proof() || self.scatter < HALF
    }
}

/// For a rate that is no plateau because of what lies within its time: the loads without those at the `others` at
/// which the same load was held, which do not speak against one that came back. `None` where that changes nothing.
pub(super) fn without_others<'a>(
    one: &Still,
    others: &[&Still],
    all: &[&'a LoadSample],
    side: IoDirection,
) -> Option<Vec<&'a LoadSample>> {
    let others: Vec<&Still> = others.iter().copied().filter(|other| changed(one, other, side)).collect();
    let is_left = |load: &&&LoadSample| !others.iter().any(|other| holds(&other.loads, load));
    (!one.is_still && !others.is_empty()).then(|| all.iter().filter(is_left).copied().collect())
}

/// Whether the rate was seen where nobody waited, too: then it is the pace at which requests come.
pub(super) fn is_pace(one: &Still, loads: &[&LoadSample], side: IoDirection, measure: RateUnit) -> bool {
    const ENOUGH: f64 = 3.0;
    let is_at_rest = |load: &&&LoadSample| {
        load.concurrency(side) < LEAST_LOADED.min(one.low / GROWTH)
            && (load.rate(side, measure) / one.rate - 1.0).abs() <= STILL
    };
    loads.iter().filter(is_at_rest).map(|load| load.intervals).sum::<f64>() >= ENOUGH
}

fn holds(loads: &[&LoadSample], load: &LoadSample) -> bool {
    loads.iter().any(|other| std::ptr::eq(*other, load))
}

/// Which of the loads, sorted by their rates, are those of the rate that most time was spent at.
pub(super) fn densest(sorted: &[&LoadSample], side: IoDirection, measure: RateUnit) -> Option<Range<usize>> {
    let rate = |load: &LoadSample| load.rate(side, measure);
    let (mut first, mut weight, mut best) = (0, 0.0, (0.0, 0..0));
    for end in 0..sorted.len() {
        weight += sorted[end].intervals;
        while rate(sorted[end]) > rate(sorted[first]) * (1.0 + 2.0 * STILL) {
            weight -= sorted[first].intervals;
            first += 1;
        }
        if weight > best.0 {
            best = (weight, first..end + 1);
        }
    }
    (best.0 >= LEAST_INTERVALS).then_some(best.1)
}

/// What the loads of one rate are: a plateau if most of the time in which the device was as loaded was spent at it,
/// little above it.
pub(super) fn judged<'a>(
    mut found: Vec<&'a LoadSample>,
    all: &[&LoadSample],
    side: IoDirection,
    measure: RateUnit,
    stated: Option<f64>,
) -> Option<Still<'a>> {
    found.sort_by(|a, b| a.place.total_cmp(&b.place));
    let (first, last) = (found.first()?.place, found.last()?.place);
    let rate = median_of(&found, |load| Some(load.rate(side, measure)))?;
    let (low, high) = ends(&found, side)?;
    let has_grown = high >= GROWTH * low;
    let threshold = if has_grown { 1.2 * low } else { 0.7 * low };
    let within = || all.iter().copied().filter(|load| (first..=last).contains(&load.place));
    let loaded: Vec<&LoadSample> = within().filter(|load| load.concurrency(side) >= threshold).collect();
    let sum = |loads: &mut dyn Iterator<Item = &LoadSample>| loads.map(|load| load.intervals).sum::<f64>();
    let ratio = |load: &LoadSample| load.rate(side, measure) / rate;
    let is_on = |load: &&LoadSample| (ratio(load) - 1.0).abs() <= 1.5 * STILL && load.variation <= STILL;
    let above = sum(&mut within().filter(|load| ratio(load) > 1.0 + 3.0 * STILL));
    let (time, on) =
        (sum(&mut loaded.iter().copied()), sum(&mut loaded.iter().copied().filter(|load| is_on(load))));
    let requests = median_of(&found, |load| Some(load.work(side).ios / load.intervals))?;
    let is_still = requests >= LEAST_REQUESTS
        && on >= (ON_IT * time).max(LEAST_INTERVALS - 2.0)
        && above <= (ABOVE * time).max(2.0)
        && high >= LEAST_QUEUE;
    let median = |measure| median_of(&found, |load| Some(load.rate(side, measure)));
    let (iops, mib) = (median(RateUnit::Requests)?, median(RateUnit::Kib)? / 1024.0);
    Some(Still {
        is_still,
        has_grown: has_grown && halves_agree(&found, side, measure, (low * high).sqrt()),
        is_stated: stated.is_some_and(|cap| (rate / cap - 1.0).abs() <= 2.0 * STILL),
        is_known: is_just_on_known_cap(measure, iops, mib),
        scatter: against_chance(&loaded, side, measure),
        loads: found,
        rate,
        low,
        high,
    })
}

/// The lowest concurrency that two intervals had, and the highest that two in a row had, of loads in the order of time:
/// a device that stops for a moment and catches up has one high one alone.
fn ends(loads: &[&LoadSample], side: IoDirection) -> Option<(f64, f64)> {
    let mut sorted: Vec<(f64, f64)> =
        loads.iter().map(|load| (load.concurrency(side), load.intervals)).collect();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    let in_a_row = loads.windows(2).filter(|pair| pair[1].place - pair[0].place <= pair[0].intervals + 0.5);
    let both = in_a_row.map(|pair| pair[0].concurrency(side).min(pair[1].concurrency(side)));
    let alone = loads.iter().filter(|load| load.intervals >= 2.0).map(|load| load.concurrency(side));
    second(&sorted).zip(both.chain(alone).reduce(f64::max))
}

/// The value that two intervals have reached.
fn second(sorted: &[(f64, f64)]) -> Option<f64> {
    let mut passed = 0.0;
    let mut reached = sorted.iter().skip_while(|(_, intervals)| {
        passed += intervals;
        passed < 2.0
    });
    reached.next().map(|(value, _)| *value)
}

/// Whether the rate is the same below and above a concurrency, with intervals on both sides.
fn halves_agree(loads: &[&LoadSample], side: IoDirection, measure: RateUnit, middle: f64) -> bool {
    let (low, high): (Vec<&LoadSample>, Vec<&LoadSample>) =
        loads.iter().partition(|load| load.concurrency(side) <= middle);
    let median = |half: &[&LoadSample]| median_of(half, |load| Some(load.rate(side, measure)));
    median(&low).zip(median(&high)).is_some_and(|(low, high)| (low / high - 1.0).abs() <= STILL)
}

/// Whether the same load, at the same concurrency or more, was held at a clearly different rate at another time:
/// a cap that changed.
pub(super) fn changed(one: &Still, other: &Still, side: IoDirection) -> bool {
    let (slow, fast) = if one.rate < other.rate { (one, other) } else { (other, one) };
    fast.rate >= CLEARLY * slow.rate
        && slow.high >= 0.95 * fast.high
        && (fast.low >= LEAST_QUEUE || fast.is_proof())
        && (fast.high >= 0.5 * slow.high || slow.low <= 1.05 * fast.high || fast.is_proof())
        && is_same_kind(&one.loads, &other.loads, side)
}

/// Whether the same kind of load had a clearly higher rate at no more concurrency at another time, so that the
/// device itself can do more.
pub(super) fn is_beaten(one: &Still, all: &[&LoadSample], side: IoDirection, measure: RateUnit) -> bool {
    const ENOUGH: f64 = 3.0;
    let faster: Vec<&LoadSample> = all
        .iter()
        .copied()
        .filter(|load| load.rate(side, measure) >= CLEARLY * one.rate)
        .filter(|load| load.concurrency(side) <= 1.05 * one.high)
        .collect();
    faster.iter().map(|load| load.intervals).sum::<f64>() >= ENOUGH && is_same_kind(&one.loads, &faster, side)
}

/// Whether requests were of like size and mix.
fn is_same_kind(one: &[&LoadSample], other: &[&LoadSample], side: IoDirection) -> bool {
    let alike = |of: &dyn Fn(&LoadSample) -> Option<f64>, tolerance: f64| {
        median_of(one, of)
            .zip(median_of(other, of))
            .is_some_and(|(a, b)| (a - b).abs() <= tolerance * a.max(b))
    };
    alike(&|load| load.work(side).size_kib(), 0.1) && alike(&|load| Some(1.0 + load.read_share()), 0.05)
}

/// The longest run of the intervals before a plateau at a clearly higher rate, held as exactly: a cap above it whose
/// credits were soon spent. `None` where there was none, or where it was no shorter than any plateau.
pub(super) fn brief_before<'a>(
    one: &Still,
    all: &[&'a LoadSample],
    side: IoDirection,
    measure: RateUnit,
) -> Option<Still<'a>> {
    const LEAST: usize = 4;
    let rate = |load: &LoadSample| load.rate(side, measure);
    let first = one.loads.first()?.place;
    let before: Vec<&LoadSample> = all.iter().copied().filter(|load| load.place < first).collect();
    let same = |a: &&LoadSample, b: &&LoadSample| (rate(a) / rate(b) - 1.0).abs() <= STILL;
    let longest = before
        .chunk_by(same)
        .filter(|run| rate(run[0]) >= CLEARLY * one.rate)
        .max_by_key(|run| run.len())
        .filter(|run| (LEAST..LEAST_INTERVALS as usize).contains(&run.len()))?;
    let found = judged(longest.to_vec(), &before, side, measure, None)?;
    (found.may_be_a_cap() && changed(one, &found, side)).then_some(found)
}
