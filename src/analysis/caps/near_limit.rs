//! A rate near a known limit under load that is not proven to be a cap.

use super::cloud_limits::{CloudLimit, has_limit_within, limits_within};
use super::pace::{Pace, has_constant_queue, pace};
use super::steady_rate::{count_intervals, median_rates};
use crate::analysis::load::{IoDirection, LoadSample, RateUnit, RecentLoads, weighted_median_of};
use crate::analysis::settings::KnownDevice;
use crate::analysis::thresholds::{
    ABOVE_LIMIT_RATIO, LIMIT_TOLERANCE, MIN_CONSTANT_QUEUE, MIN_NEAR_LIMIT_INTERVALS, MIN_ON_RATE_FRACTION,
    MIN_PLATEAU_INTERVALS, MIN_SATURATED_QUEUE, MIN_WITNESS_INTERVALS, NEAR_LIMIT_TOLERANCE,
};

/// The number of latest loads that show whether the rate is near a limit now.
const MAX_LATEST_LOADS: usize = 16;

/// Fewest intervals near a limit for it to be considered further.
const MIN_NEAR_LIMIT_TIME: f64 = MIN_NEAR_LIMIT_INTERVALS.min(MIN_PLATEAU_INTERVALS);

/// An upper bound of the rounding error of a ratio, as a factor.
const ROUNDING: f64 = 1.0 + 1e-9;

/// A rate near a known limit. It is only a hint: a device can happen to be just as fast.
#[derive(Clone, Debug, PartialEq)]
pub struct NearLimit {
    pub unit: RateUnit,
    /// The median rate of reads and writes in requests or MiB per second.
    pub rate: f64,
    /// The limits; at least one.
    pub limits: Vec<CloudLimit>,
}

/// The known limit near which the rate of reads and writes lay for most of the time in which requests waited; `None` if
/// there is no such limit, if it was exceeded, or if requests are issued at that rate.
pub(crate) fn find_near_limit(loads: &[LoadSample], device: &KnownDevice) -> Option<NearLimit> {
    let loaded: Vec<&LoadSample> = loads.iter().filter(is_under_queue).collect();
    RateUnit::ALL.into_iter().find_map(|unit| near_limit_in(unit, &loads.iter(), &loaded, device))
}

/// The known limit of [`find_near_limit`] in recent loads; `None` also if the latest of them is not near it.
pub(crate) fn near_limit_of_latest(recent: &RecentLoads, device: &KnownDevice) -> Option<NearLimit> {
    let latest = recent.latest().filter(is_under_queue)?;
    let (iops, mib_per_s) = rates(latest);
    let all = recent.iter();
    let last = all.clone().skip(all.len().saturating_sub(MAX_LATEST_LOADS)).filter(is_under_queue);
    let is_possible = |unit: &RateUnit| {
        has_limit_within(NEAR_LIMIT_TOLERANCE, device, *unit, iops, mib_per_s)
            && has_enough_near(last.clone(), latest, *unit)
    };
    // Usually no unit is near a limit, and nothing has to be collected.
    let mut units = RateUnit::ALL.into_iter().filter(is_possible).peekable();
    units.peek()?;
    let loaded: Vec<&LoadSample> = last.clone().collect();
    let found = units.find_map(|unit| near_limit_in(unit, &all, &loaded, device))?;
    is_within(value(found.unit, latest), found.limits.first()?.value, NEAR_LIMIT_TOLERANCE).then_some(found)
}

fn is_under_queue(load: &&LoadSample) -> bool {
    load.queue(IoDirection::Both) >= MIN_SATURATED_QUEUE
}

/// Returns whether enough loads can lie near a limit that the latest load lies near. Usually the rate varies too much.
fn has_enough_near<'a>(
    loaded: impl Iterator<Item = &'a LoadSample>,
    latest: &LoadSample,
    unit: RateUnit,
) -> bool {
    let rate = value(unit, latest);
    // Both rates may differ from the limit, in opposite directions.
    let max_ratio = (1.0 + NEAR_LIMIT_TOLERANCE) / (1.0 - NEAR_LIMIT_TOLERANCE) * ROUNDING;
    let is_near = |load: &&LoadSample| {
        let other = value(unit, load);
        other <= max_ratio * rate && rate <= max_ratio * other
    };
    count_intervals(loaded.filter(is_near)) >= MIN_NEAR_LIMIT_TIME
}

fn near_limit_in<'a>(
    unit: RateUnit,
    all: &(impl Iterator<Item = &'a LoadSample> + Clone),
    loaded: &[&LoadSample],
    device: &KnownDevice,
) -> Option<NearLimit> {
    let (iops, mib_per_s) = median_rates(loaded, IoDirection::Both)?;
    let rate = if unit == RateUnit::Requests { iops } else { mib_per_s };
    let mut limits = limits_within(LIMIT_TOLERANCE, device, unit, iops, mib_per_s);
    let distance = |limit: &CloudLimit| (rate - limit.value).abs();
    let limit = limits.iter().min_by(|a, b| distance(a).total_cmp(&distance(b)))?.value;
    limits.retain(|one| one.value == limit);
    // Burst credits allow more for a time.
    let max_rate = limits.iter().filter_map(|one| one.volume.burst(unit)).fold(limit, f64::max);
    let is_near = |load: &&LoadSample| is_within(value(unit, load), limit, NEAR_LIMIT_TOLERANCE);
    let time = count_intervals(loaded.iter().copied());
    let waiting: Vec<&LoadSample> = loaded.iter().copied().filter(is_near).collect();
    let near_time = count_intervals(waiting.iter().copied());
    if near_time < MIN_NEAR_LIMIT_TIME || near_time < MIN_ON_RATE_FRACTION * time {
        return None;
    }
    let above = count_intervals(all.clone().filter(|load| value(unit, load) > ABOVE_LIMIT_RATIO * max_rate));
    // A rate that is also seen while no request waits is the rate at which requests are issued.
    let at_rest = |load: &&LoadSample| is_near(load) && load.queue(IoDirection::Both) < MIN_CONSTANT_QUEUE;
    let is_offered = count_intervals(all.clone().filter(at_rest)) >= MIN_WITNESS_INTERVALS;
    if above >= MIN_WITNESS_INTERVALS || is_offered {
        return None;
    }
    let near: Vec<&LoadSample> = all.clone().filter(is_near).collect();
    let near_rate = weighted_median_of(&near, |load| Some(load.rate(IoDirection::Both, unit)))?;
    let paces = [&near, &waiting].map(|loads| {
        let is_at_constant_queue = has_constant_queue(loads, IoDirection::Both);
        pace(loads, IoDirection::Both, unit, near_rate, is_at_constant_queue, true)
    });
    if paces.contains(&Pace::Arrivals) {
        return None;
    }
    // It takes some intervals to recognize a paced client.
    let is_clear = paces.into_iter().any(Pace::is_held);
    let min_time = if is_clear { MIN_NEAR_LIMIT_INTERVALS } else { MIN_PLATEAU_INTERVALS };
    (near_time >= min_time).then_some(NearLimit { unit, rate, limits })
}

fn is_within(rate: f64, limit: f64, tolerance: f64) -> bool {
    (rate / limit - 1.0).abs() <= tolerance
}

/// Requests and MiB per second.
fn rates(load: &LoadSample) -> (f64, f64) {
    (value(RateUnit::Requests, load), value(RateUnit::Kib, load))
}

/// The rate in the unit of limits.
fn value(unit: RateUnit, load: &LoadSample) -> f64 {
    let rate = load.rate(IoDirection::Both, unit);
    if unit == RateUnit::Requests { rate } else { rate / 1024.0 }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::analysis::stats::IoTotals;
    use crate::topology::Provider;

    const UNKNOWN: KnownDevice = KnownDevice { size_bytes: None, provider: None, class: None };

    /// Loads of `(requests of 4 KiB, queue)` with a constant number in flight.
    fn loads(intervals: &[(f64, f64)]) -> Vec<LoadSample> {
        let load = |(index, (ios, queue)): (usize, &(f64, f64))| LoadSample {
            interval_index: index as f64,
            seconds: 1.0,
            intervals: 1.0,
            reads: IoTotals { ios: *ios, kib: 4.0 * ios, ms: 1000.0 * queue },
            in_flight_at_end: Some(*queue as u64),
            ..LoadSample::default()
        };
        intervals.iter().enumerate().map(load).collect()
    }

    fn of_latest(loads: &[LoadSample]) -> Option<NearLimit> {
        let mut recent = RecentLoads::default();
        loads.iter().for_each(|load| recent.push(*load));
        near_limit_of_latest(&recent, &UNKNOWN)
    }

    fn found(intervals: &[(f64, f64)]) -> bool {
        let loads = loads(intervals);
        let found = find_near_limit(&loads, &UNKNOWN);
        assert!(of_latest(&loads).is_none() || found.is_some());
        found.is_some()
    }

    #[test]
    fn a_rate_near_a_limit_under_a_queue_is_found() {
        let rates = [3000.0, 3040.0, 2990.0, 3010.0, 3000.0, 2995.0, 3005.0, 3000.0];
        let found = find_near_limit(&loads(&rates.map(|rate| (rate, 32.0))), &UNKNOWN).unwrap();
        assert_eq!((found.unit, found.rate, found.limits[0].value), (RateUnit::Requests, 3000.0, 3000.0));
    }

    #[test]
    fn few_intervals_a_short_queue_and_a_rate_that_scatters_or_is_exceeded_show_nothing() {
        assert!(found(&[(3000.0, 8.0); 5]) && !found(&[(3000.0, 8.0); 4]) && !found(&[(3000.0, 1.5); 20]));
        assert!(!found(&[(3000.0, 8.0), (3300.0, 8.0), (2700.0, 8.0)].repeat(10)));
        let faster = [[(3000.0, 8.0); 20].as_slice(), &[(9000.0, 8.0); 4]].concat();
        assert!(!found(&faster));
        let offered = [[(3000.0, 8.0); 20].as_slice(), &[(3000.0, 0.3); 4]].concat();
        assert!(!found(&offered));
    }

    #[test]
    fn requests_that_arrive_at_the_rate_are_not_limited_to_it() {
        let mut loads =
            loads(&[(4930.0, 4.0), (5070.0, 6.0), (4950.0, 3.0), (5050.0, 5.0), (5000.0, 4.0)].repeat(4));
        // Requests that were not completed are in flight.
        for load in &mut loads {
            load.in_flight_change = 5000.0 - load.reads.ios;
        }
        assert_eq!(find_near_limit(&loads, &UNKNOWN), None);
        loads.iter_mut().for_each(|load| load.in_flight_change = 0.0);
        assert!(find_near_limit(&loads, &UNKNOWN).is_some());
    }

    #[test]
    fn a_burst_above_a_limit_is_possible_where_volumes_have_burst_credits() {
        let spent = |rate| {
            loads(&[[(3000.0, 8.0); 10], [(rate, 8.0); 10], [(rate, 8.0); 10], [(rate, 8.0); 10]].concat())
        };
        let volume = |gib: u64| KnownDevice {
            size_bytes: Some(gib << 30),
            provider: Some(Provider::Aws),
            ..KnownDevice::default()
        };
        // Most of the time at the limit of the volume without credits.
        assert!(find_near_limit(&spent(600.0), &volume(200)).is_some());
        assert_eq!(find_near_limit(&spent(600.0), &volume(300)), None);
        let azure =
            KnownDevice { size_bytes: None, provider: Some(Provider::Azure), ..KnownDevice::default() };
        assert!(find_near_limit(&spent(500.0), &azure).is_some());
    }

    #[test]
    fn a_rate_that_has_left_the_limit_is_not_near_it() {
        let mut loads = loads(&[(3000.0, 8.0); 20]);
        assert!(of_latest(&loads).is_some());
        loads.last_mut().unwrap().reads.ios = 2500.0;
        assert_eq!(of_latest(&loads), None);
    }

    /// The search without the check for enough loads near the latest.
    fn search_in_all(recent: &RecentLoads) -> Option<NearLimit> {
        let latest = recent.latest().filter(is_under_queue)?;
        let (iops, mib_per_s) = rates(latest);
        let is_near =
            |unit: &RateUnit| has_limit_within(NEAR_LIMIT_TOLERANCE, &UNKNOWN, *unit, iops, mib_per_s);
        let all = recent.iter();
        let last = all.clone().skip(all.len().saturating_sub(MAX_LATEST_LOADS));
        let loaded: Vec<&LoadSample> = last.filter(is_under_queue).collect();
        let mut units = RateUnit::ALL.into_iter().filter(is_near);
        let found = units.find_map(|unit| near_limit_in(unit, &all, &loaded, &UNKNOWN))?;
        is_within(value(found.unit, latest), found.limits.first()?.value, NEAR_LIMIT_TOLERANCE)
            .then_some(found)
    }

    proptest! {
        #[test]
        fn no_rate_near_a_limit_is_missed(
            limit in prop::sample::select(vec![3000.0, 500.0, 32_000.0]),
            spread in prop::sample::select(vec![0.01, 0.03, 0.06]),
            intervals in prop::collection::vec((-1.0..1.0_f64, 1.5..9.0_f64), 1..30),
        ) {
            let rate = |part: f64| (limit * (1.0 + spread * part)).round();
            let intervals: Vec<(f64, f64)> =
                intervals.into_iter().map(|(part, queue)| (rate(part), queue)).collect();
            let mut recent = RecentLoads::default();
            for load in loads(&intervals) {
                recent.push(load);
                prop_assert_eq!(near_limit_of_latest(&recent, &UNKNOWN), search_in_all(&recent));
            }
        }
    }
}
