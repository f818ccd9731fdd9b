//! The search for plateaus: rates that stay constant at a cap, including a cap that changes meanwhile.

use std::ops::RangeInclusive;
use std::rc::Rc;

use super::dispersion::dispersion;
use super::pace::has_steadier_counts;
use super::plateau::{Plateau, is_on_plateau};
use super::rate::{RateKind, count_intervals};
use super::steady_rate::{SteadyRate, sorted_by_rate, take_densest};
use crate::analysis::load::{IoDirection, LoadSample, RateUnit, steady_or_all, weighted_median_of};
use crate::analysis::settings::{KnownDevice, StatedCap};
use crate::analysis::stats::weighted_median;
use crate::analysis::thresholds::{
    MAX_NEGLIGIBLE_FRACTION, MIN_CONCURRENCY_GROWTH, MIN_CONSTANT_QUEUE, MIN_IRREGULAR_DISPERSION,
    MIN_LOADED_QUEUE, MIN_PLATEAU_QUEUE, MIN_RATE_CHANGE_RATIO, MIN_SATURATED_QUEUE,
    MIN_WITNESS_INTERVALS, SAME_KIND_TOLERANCE, SAME_QUEUE_TOLERANCE, SATURATION_WINDOW_INTERVALS,
    STEADY_TOLERANCE,
};

/// The highest number of steady rates searched for.
const MAX_STEADY_RATES: usize = 6;
/// The number of intervals on each side of a pair that show the usual amounts there.
const NEIGHBORS: usize = 3;

/// The steady rates of a device.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct SteadyRates {
    /// The steady rates that are caps, in the order of time.
    pub(crate) caps: Vec<Plateau>,
    /// If there is no cap: a rate that stayed constant while the queue quadrupled, but with the dispersion of busy
    /// servers.
    pub(crate) unclear: Option<Plateau>,
}

/// The plateaus of a device, in the order of time, or else a steady rate that is unclear.
///
/// Rates of requests and of bytes are searched, first of both directions together, then of each. A rate that is
/// constant in both units counts as one of bytes only if a known or stated limit indicates that.
pub(crate) fn find_steady_rates(
    loads: &[LoadSample],
    stated: Option<StatedCap>,
    device: &KnownDevice,
) -> SteadyRates {
    CapSearch::new(&loads.iter().collect::<Vec<_>>(), stated, device).find()
}

pub(super) struct CapSearch<'a> {
    /// The steady loads if there are enough of them, otherwise all.
    loads: Vec<&'a LoadSample>,
    stated: StatedCap,
    device: KnownDevice,
}

impl<'a> CapSearch<'a> {
    pub(super) fn new(
        loads: &[&'a LoadSample],
        stated: Option<StatedCap>,
        device: &KnownDevice,
    ) -> Self {
        Self {
            loads: steady_or_all(loads),
            stated: stated.unwrap_or_default(),
            device: *device,
        }
    }

    /// The plateaus, or else a steady rate that is unclear.
    pub(super) fn find(&self) -> SteadyRates {
        let mut unclear = None;
        let mut find_in = |direction: IoDirection| {
            let by_requests = self.caps_of(self.kind(direction, RateUnit::Requests));
            let by_bytes = self.caps_of(self.kind(direction, RateUnit::Kib));
            let has_match =
                |found: &[Plateau]| found.iter().any(|plateau| plateau.matches_limit.is_some());
            let are_large = by_requests.caps.iter().all(Plateau::has_large_requests);
            let prefer_bytes = by_requests.caps.is_empty()
                || (has_match(&by_bytes.caps) && (are_large || !has_match(&by_requests.caps)));
            unclear = unclear.take().or(by_requests.unclear).or(by_bytes.unclear);
            if prefer_bytes {
                by_bytes.caps
            } else {
                by_requests.caps
            }
        };
        let caps = match only_direction(&self.loads) {
            Some(direction) => find_in(direction),
            None => {
                let joint = find_in(IoDirection::Both);
                if !joint.is_empty() && has_random_mix(&self.loads) {
                    joint
                } else {
                    [IoDirection::Reads, IoDirection::Writes]
                        .map(find_in)
                        .concat()
                }
            }
        };
        let unclear = unclear.filter(|_| caps.is_empty());
        SteadyRates { caps, unclear }
    }

    /// The caps on one kind of rate, or else a steady rate that is unclear.
    pub(super) fn caps_of(&self, kind: RateKind) -> SteadyRates {
        let stated = match kind.unit {
            RateUnit::Requests => self.stated.iops,
            RateUnit::Kib => self.stated.mib_per_s.map(|mib| mib * 1024.0),
        };
        find_caps_by_rate_or_count(&self.loads, kind, stated)
    }

    fn kind(&self, direction: IoDirection, unit: RateUnit) -> RateKind {
        RateKind {
            direction,
            unit,
            device: self.device,
        }
    }
}

/// Returns whether each direction varies nearly as much as by chance, as it does if both share a cap. A direction that
/// is constant by itself has its own cap.
fn has_random_mix(loads: &[&LoadSample]) -> bool {
    let is_busy = |load: &&LoadSample| load.queue(IoDirection::Both) >= MIN_SATURATED_QUEUE;
    let busy: Vec<&LoadSample> = loads.iter().copied().filter(is_busy).collect();
    let is_random = |direction| {
        dispersion(&busy, direction, RateUnit::Requests)
            .is_none_or(|dispersion| dispersion >= MIN_IRREGULAR_DISPERSION)
    };
    is_random(IoDirection::Reads) && is_random(IoDirection::Writes)
}

/// The only direction to search, because the other has hardly any requests; `None` if both have.
fn only_direction(loads: &[&LoadSample]) -> Option<IoDirection> {
    let ios = |direction: IoDirection| {
        loads
            .iter()
            .map(|load| load.totals(direction).ios)
            .sum::<f64>()
    };
    let (reads, writes) = (ios(IoDirection::Reads), ios(IoDirection::Writes));
    if writes <= MAX_NEGLIGIBLE_FRACTION * reads {
        Some(IoDirection::Reads)
    } else if reads <= MAX_NEGLIGIBLE_FRACTION * writes {
        Some(IoDirection::Writes)
    } else {
        None
    }
}

/// The caps on one kind of rate, or else on the number of completions in each interval: a limit that releases requests
/// in slices of time, like the kernel's, completes the same number however late a sample is taken.
fn find_caps_by_rate_or_count(
    loads: &[&LoadSample],
    kind: RateKind,
    stated: Option<f64>,
) -> SteadyRates {
    let by_rate = find_caps(loads, kind, stated);
    if !by_rate.caps.is_empty() || !has_steadier_counts(loads, kind) {
        return by_rate;
    }
    let Some(seconds) = weighted_median_of(loads, |load| Some(load.seconds / load.intervals))
    else {
        return by_rate;
    };
    let mut even: Vec<LoadSample> = loads
        .iter()
        .map(|load| LoadSample {
            seconds: seconds * load.intervals,
            ..**load
        })
        .collect();
    share_delayed_requests(&mut even, kind);
    let by_count = find_caps(&even.iter().collect::<Vec<_>>(), kind, stated);
    if by_count.caps.is_empty() {
        by_rate
    } else {
        by_count
    }
}

/// Gives both of two neighboring intervals their mean if one has about as many requests too few as the other has too
/// many: a late sample moved them from one to the other.
fn share_delayed_requests(loads: &mut [LoadSample], kind: RateKind) {
    let amounts: Vec<f64> = loads
        .iter()
        .map(|load| load.amount(kind.direction, kind.unit))
        .collect();
    let mut index = 0;
    while index + 1 < loads.len() {
        let around = index.saturating_sub(NEIGHBORS)..(index + 2 + NEIGHBORS).min(loads.len());
        let mut near: Vec<(f64, f64)> = amounts[around]
            .iter()
            .map(|amount| (*amount, 1.0))
            .collect();
        let usual = weighted_median(&mut near).unwrap_or_default();
        let is_usual = |amount: f64| (amount / usual - 1.0).abs() <= STEADY_TOLERANCE;
        let pair = [amounts[index], amounts[index + 1]];
        let mean = (pair[0] + pair[1]) / 2.0;
        let follows = loads[index + 1].interval_index - loads[index].interval_index < 1.5;
        if follows && is_usual(mean) && !pair.into_iter().any(is_usual) {
            for (load, amount) in loads[index..index + 2].iter_mut().zip(pair) {
                for totals in [&mut load.reads, &mut load.writes] {
                    totals.ios *= mean / amount;
                    totals.kib *= mean / amount;
                }
            }
            index += 1;
        }
        index += 1;
    }
}

/// The caps on one kind of rate, or else a steady rate that is unclear.
fn find_caps(loads: &[&LoadSample], kind: RateKind, stated: Option<f64>) -> SteadyRates {
    let is_loaded =
        |load: &&LoadSample| kind.queue(load) >= MIN_LOADED_QUEUE && kind.rate(load) > 0.0;
    let loaded: Rc<[&LoadSample]> = loads.iter().copied().filter(is_loaded).collect();
    let mut by_rate = sorted_by_rate(&loaded, kind);
    let dense: Vec<Vec<&LoadSample>> = (0..MAX_STEADY_RATES)
        .map_while(|_| take_densest(&mut by_rate))
        .collect();
    let mut steady: Vec<SteadyRate> = dense
        .iter()
        .filter_map(|same| {
            SteadyRate::find(same.clone(), &loaded, kind, stated).or_else(|| {
                let all = without_others(same, &dense, &loaded, kind)?;
                SteadyRate::find(same.clone(), &all, kind, stated)
                    .filter(SteadyRate::is_low_dispersion)
            })
        })
        .collect();
    steady.retain(|one| one.is_stated || !is_offered_load(one, loads, kind));
    // A rate is a cap if it proves so by itself, if the device can do more, or if it changed from or to another cap.
    // After a cap was lifted, the rate may be that of the device.
    let follows_slower = |one: &SteadyRate, other: &SteadyRate| {
        one.rate > other.rate && one.first_interval() > other.first_interval()
    };
    let changed_with_other_cap = |one: &SteadyRate| {
        steady.iter().any(|other| {
            cap_changed(one, other, kind)
                && one.may_be_cap()
                && (one.is_low_dispersion()
                    || !follows_slower(one, other)
                        && (other.is_low_dispersion() || other.proves_cap()))
        })
    };
    let is_cap = |one: &&SteadyRate| {
        one.proves_cap() && !exceeded_later(one, &loaded, kind)
            || one.can_be_cap()
                && (one.is_low_dispersion() && exceeded_elsewhere(one, &loaded, kind)
                    || changed_with_other_cap(one))
    };
    let plateau = |one: &SteadyRate| Plateau::from_steady_rate(one, kind);
    let mut plateaus: Vec<Plateau> = steady.iter().filter(is_cap).filter_map(plateau).collect();
    plateaus.sort_by_key(|plateau| plateau.first_interval);
    let unclear = steady
        .iter()
        .filter(|one| one.concurrency_grew)
        .find_map(plateau)
        .filter(|_| plateaus.is_empty());
    SteadyRates {
        caps: plateaus,
        unclear,
    }
}

/// All `loaded` but those at the clearly different rates among the `dense` ones: caps that take turns lie within each
/// other's time span. `None` without such rates.
fn without_others<'a>(
    same: &[&LoadSample],
    dense: &[Vec<&LoadSample>],
    loaded: &[&'a LoadSample],
    kind: RateKind,
) -> Option<Rc<[&'a LoadSample]>> {
    let range = |dense: &[&LoadSample]| Some(kind.rate(dense.first()?)..=kind.rate(dense.last()?));
    let own = range(same)?;
    let is_other = |other: &RangeInclusive<f64>| {
        *other.start() >= MIN_RATE_CHANGE_RATIO * own.end()
            || MIN_RATE_CHANGE_RATIO * other.end() <= *own.start()
    };
    let others: Vec<_> = dense
        .iter()
        .filter_map(|one| range(one))
        .filter(is_other)
        .collect();
    let is_left = |load: &&LoadSample| !others.iter().any(|range| range.contains(&kind.rate(load)));
    (!others.is_empty()).then(|| loaded.iter().copied().filter(is_left).collect())
}

/// Returns whether the rate was also seen while no request waited, which makes it the rate at which requests are
/// issued.
fn is_offered_load(one: &SteadyRate, loads: &[&LoadSample], kind: RateKind) -> bool {
    // A client that waits for each of its requests has one in flight nearly all the time: with less, the device was idle at
    // times, and nothing was held back.
    let max_queue = (one.max_queue / MIN_CONCURRENCY_GROWTH).min(MIN_CONSTANT_QUEUE);
    let is_at_rest = |load: &&LoadSample| {
        kind.queue(load) < max_queue && (kind.rate(load) / one.rate - 1.0).abs() <= STEADY_TOLERANCE
    };
    count_intervals(loads.iter().copied().filter(is_at_rest)) >= MIN_WITNESS_INTERVALS
}

/// Returns whether the same load, at the same queue or a longer one, had a clearly different steady rate at another
/// time: a cap that changed.
fn cap_changed(one: &SteadyRate, other: &SteadyRate, kind: RateKind) -> bool {
    let (slow, fast) = if one.rate < other.rate {
        (one, other)
    } else {
        (other, one)
    };
    fast.rate >= MIN_RATE_CHANGE_RATIO * slow.rate
        && slow.max_queue >= (1.0 - SAME_QUEUE_TOLERANCE) * fast.max_queue
        && (fast.min_queue >= MIN_PLATEAU_QUEUE || fast.proves_cap())
        && (slow.min_queue <= (1.0 + SAME_QUEUE_TOLERANCE) * fast.max_queue || fast.proves_cap())
        && is_same_kind_of_load(&one.loads, &other.loads, kind.direction)
}

/// Returns whether the same kind of load had a clearly higher rate in some of the loads for which `is_witness` is true.
fn was_exceeded(
    one: &SteadyRate,
    all: &[&LoadSample],
    kind: RateKind,
    is_witness: impl Fn(&LoadSample) -> bool,
) -> bool {
    let is_faster = |load: &&LoadSample| {
        kind.rate(load) >= MIN_RATE_CHANGE_RATIO * one.rate && is_witness(load)
    };
    let faster: Vec<&LoadSample> = all.iter().copied().filter(is_faster).collect();
    count_intervals(faster.iter().copied()) >= MIN_WITNESS_INTERVALS
        && is_same_kind_of_load(&one.loads, &faster, kind.direction)
}

/// Returns whether the device itself can do more: its rate was higher at a queue that was not longer.
fn exceeded_elsewhere(one: &SteadyRate, all: &[&LoadSample], kind: RateKind) -> bool {
    let max_queue = (1.0 + SAME_QUEUE_TOLERANCE) * one.max_queue;
    was_exceeded(one, all, kind, |load| kind.queue(load) <= max_queue)
}

/// Returns whether more requests at a time brought a higher rate afterwards, as at a device without a limit. Always
/// false if the user states the cap.
fn exceeded_later(one: &SteadyRate, all: &[&LoadSample], kind: RateKind) -> bool {
    let max_queue = (1.0 + SAME_QUEUE_TOLERANCE) * one.max_queue;
    let is_later = |load: &LoadSample| load.interval_index > one.last_interval();
    !one.is_stated
        && was_exceeded(one, all, kind, |load| {
            is_later(load) && kind.queue(load) > max_queue
        })
}

/// Returns whether requests of two sets of loads are of similar size and mix.
fn is_same_kind_of_load(
    one: &[&LoadSample],
    other: &[&LoadSample],
    direction: IoDirection,
) -> bool {
    let is_similar = |quantity: &dyn Fn(&LoadSample) -> Option<f64>, tolerance: f64| {
        weighted_median_of(one, quantity)
            .zip(weighted_median_of(other, quantity))
            .is_some_and(|(a, b)| (a - b).abs() <= tolerance * a.max(b))
    };
    is_similar(
        &|load| load.totals(direction).size_kib(),
        SAME_KIND_TOLERANCE,
    ) && is_similar(
        &|load| Some(1.0 + load.read_fraction()),
        SAME_KIND_TOLERANCE,
    )
}

/// The steady rates of the loads of a range. A cap that holds for the whole range is only visible against the loads
/// before it: if the range alone shows no cap, caps of both together count that have enough intervals within the range.
/// The indices of the preceding loads are negative.
pub(crate) fn find_steady_rates_after(
    preceding: Vec<LoadSample>,
    loads: &[LoadSample],
    stated: Option<StatedCap>,
    device: &KnownDevice,
) -> SteadyRates {
    let own = find_steady_rates(loads, stated, device);
    if preceding.is_empty() || loads.is_empty() || !own.caps.is_empty() {
        return own;
    }
    let both: Vec<LoadSample> = preceding.into_iter().chain(loads.iter().copied()).collect();
    let found = find_steady_rates(&both, stated, device).caps;
    let caps: Vec<Plateau> = found
        .into_iter()
        .filter_map(|cap| within(cap, loads))
        .collect();
    if caps.is_empty() {
        own
    } else {
        SteadyRates {
            caps,
            unclear: None,
        }
    }
}

/// The part of a plateau within the range, with the evidence of the whole plateau; `None` if the part is too short.
fn within(plateau: Plateau, loads: &[LoadSample]) -> Option<Plateau> {
    let on: Vec<&LoadSample> = loads
        .iter()
        .filter(|load| is_on_plateau(&plateau, load))
        .collect();
    let intervals: f64 = on.iter().map(|load| load.intervals).sum();
    let first = on
        .first()
        .filter(|_| intervals >= SATURATION_WINDOW_INTERVALS as f64)?;
    Some(Plateau {
        intervals: intervals as u64,
        seconds: on.iter().map(|load| load.seconds).sum(),
        first_interval: first.interval_index as u64,
        begin_s: first.begin_s,
        ..plateau
    })
}

#[cfg(test)]
mod tests {
    use super::super::{CloudLimit, CloudVolume, LimitMatch};
    use super::*;
    use crate::analysis::stats::IoTotals;

    /// Steady loads of `(rate, queue, size in KiB)`.
    fn loads(seconds: impl IntoIterator<Item = (f64, f64, f64)>) -> Vec<LoadSample> {
        let load = |(index, (ios, queue, size)): (usize, (f64, f64, f64))| {
            let reads = IoTotals {
                ios,
                kib: ios * size,
                ms: 1000.0 * queue,
            };
            LoadSample {
                interval_index: index as f64,
                seconds: 1.0,
                intervals: 1.0,
                reads,
                is_steady: true,
                in_flight_at_end: Some(queue.round() as u64),
                ..LoadSample::default()
            }
        };
        seconds.into_iter().enumerate().map(load).collect()
    }

    /// Numbers from 0 to 4 in no order.
    fn chance(k: i32) -> f64 {
        const NUMBERS: [u8; 20] = [2, 0, 3, 3, 1, 4, 0, 1, 1, 4, 2, 4, 0, 3, 2, 2, 4, 1, 0, 3];
        f64::from(NUMBERS[k as usize % NUMBERS.len()])
    }

    fn find_plateaus(loads: &[LoadSample], stated: Option<StatedCap>) -> Vec<Plateau> {
        find_steady_rates(loads, stated, &KnownDevice::default()).caps
    }

    fn rates(found: &[Plateau]) -> Vec<f64> {
        found.iter().map(|plateau| plateau.iops.round()).collect()
    }

    #[test]
    fn a_constant_rate_while_the_queue_quadruples_is_a_plateau() {
        let capped =
            loads((0..30).map(|k| (3000.0 + f64::from(k % 3), f64::from(1 << (k / 6)), 4.0)));
        let found = find_plateaus(&capped, None);
        assert_eq!(rates(&found), [3001.0]);
        assert_eq!((found[0].queue_from, found[0].queue_to), (1.0, 16.0));
        let gp3 = CloudLimit {
            volume: CloudVolume::Gp3Base,
            is_provider_known: false,
        };
        assert_eq!(found[0].matches_limit, Some(LimitMatch::Cloud(vec![gp3])));
    }

    #[test]
    fn a_constant_rate_at_a_queue_of_one_is_not_a_plateau() {
        // As at a device below a cap: the queue grows tenfold, but no request waits.
        assert_eq!(
            find_plateaus(
                &loads((0..50).map(|k| (3000.0, 0.1 + f64::from(k) / 40.0, 4.0))),
                None
            ),
            []
        );
        // A single level shows nothing if its rate varies as much as by chance, and neither do two levels in
        // proportion.
        assert_eq!(
            find_plateaus(
                &loads((0..50).map(|k| (3000.0 + 12.0 * chance(k), 32.0, 4.0))),
                None
            ),
            []
        );
        let growing = |k: i32| {
            let varied = 12.0 * chance(k);
            if k < 25 {
                (3000.0 + varied, 8.0, 4.0)
            } else {
                (4000.0 + varied, 10.0, 4.0)
            }
        };
        assert_eq!(find_plateaus(&loads((0..50).map(growing)), None), []);
    }

    #[test]
    fn spent_burst_credits_make_two_plateaus() {
        let spent = loads((0..40).map(|k| (if k < 20 { 3000.0 } else { 300.0 }, 32.0, 4.0)));
        assert_eq!(rates(&find_plateaus(&spent, None)), [3000.0, 300.0]);
        // Rates that vary by a third of what chance makes of them, for requests of two sizes.
        let varied = |rate: f64, k: i32| rate + chance(k) * rate.sqrt() / 4.0;
        let larger = loads((0..40).map(|k| {
            if k < 20 {
                (varied(3000.0, k), 32.0, 4.0)
            } else {
                (varied(300.0, k), 32.0, 64.0)
            }
        }));
        assert_eq!(find_plateaus(&larger, None), []);
    }

    #[test]
    fn bytes_can_be_constant_where_requests_are_not() {
        let sized = loads((0..40).map(|k| {
            let size = [16.0, 64.0, 256.0][k % 3];
            (125.0 * 1024.0 / size, f64::from(1 << (k / 8)), size)
        }));
        let found = find_plateaus(&sized, None);
        assert_eq!((found.len(), found[0].unit), (1, RateUnit::Kib));
        assert!((found[0].mib_per_s - 125.0).abs() < 0.01);
    }

    #[test]
    fn a_stated_cap_needs_no_other_proof() {
        let flat = loads((0..10).map(|_| (4000.0, 32.0, 4.0)));
        let stated = Some(StatedCap {
            iops: Some(4000.0),
            mib_per_s: None,
        });
        assert_eq!(
            find_plateaus(&flat, stated)[0].matches_limit,
            Some(LimitMatch::Stated)
        );
    }
}

#[cfg(test)]
mod preceding_tests {
    use super::*;
    use crate::analysis::load::{IoDirection, RateUnit};
    use crate::analysis::stats::IoTotals;

    /// A second of reads at a rate and a queue.
    fn load(index: usize, (ios, queue): (f64, f64)) -> LoadSample {
        let reads = IoTotals {
            ios,
            kib: 4.0 * ios,
            ms: 1000.0 * queue,
        };
        LoadSample {
            interval_index: index as f64,
            begin_s: index as f64,
            seconds: 1.0,
            intervals: 1.0,
            reads,
            is_steady: true,
            in_flight_at_end: Some(queue as u64),
            ..LoadSample::default()
        }
    }

    fn loads(count: usize, rate_and_queue: impl Fn(usize) -> (f64, f64)) -> Vec<LoadSample> {
        (0..count)
            .map(|index| load(index, rate_and_queue(index)))
            .collect()
    }

    fn caps(preceding: Vec<LoadSample>, own: &[LoadSample]) -> Vec<Plateau> {
        find_steady_rates_after(preceding, own, None, &KnownDevice::default()).caps
    }

    #[test]
    fn a_cap_shows_by_the_growth_of_the_queue_before_the_range() {
        let own = loads(6, |_| (2000.0, 24.0));
        assert_eq!(caps(Vec::new(), &own), []);
        let mut preceding = loads(12, |index| (2000.0, [3.0, 3.0, 6.0, 12.0][index / 3]));
        preceding
            .iter_mut()
            .for_each(|load| load.interval_index -= 12.0);
        let [cap] = &caps(preceding.clone(), &own)[..] else {
            panic!("one cap")
        };
        assert_eq!(
            (cap.intervals, cap.seconds, cap.first_interval, cap.begin_s),
            (6, 6.0, 0, 0.0)
        );
        assert_eq!(
            own[0].rate(IoDirection::Reads, RateUnit::Requests),
            cap.iops
        );
        assert_eq!((cap.queue_from, cap.queue_to), (3.0, 24.0));
        // It is not a cap of a range with far higher rates.
        let fast = loads(6, |_| (9000.0, 24.0));
        assert_eq!(caps(preceding, &fast), []);
    }
}
