//! A rate near a known limit under load that is not proven to be a cap.

use super::cloud_limits::{CloudLimit, limits_within};
use super::pace::{Pace, pace_of_level};
use super::rate::{count_intervals, median_rates};
use crate::analysis::load::{IoDirection, LoadSample, RATE_KINDS, RateUnit, RecentLoads};
use crate::analysis::settings::KnownDevice;
use crate::analysis::thresholds::{
    MIN_CONSTANT_QUEUE, MIN_EXCEEDED_CAP_RATIO, MIN_ON_RATE_FRACTION, MIN_PLATEAU_INTERVALS,
    MIN_SATURATED_QUEUE, MIN_WITNESS_INTERVALS, SAME_LIMIT_TOLERANCE, STEADY_TOLERANCE,
};

/// A rate near a known limit. It is only a hint: a device can happen to be just as fast.
#[derive(Clone, Debug, PartialEq)]
pub struct NearLimit {
    pub unit: RateUnit,
    /// The median rate of reads and writes in requests or MiB per second.
    pub rate: f64,
    /// The limits; at least one.
    pub limits: Vec<CloudLimit>,
}

/// The known limit of [`find_near_limit`] in recent loads, if the latest of them is near it under load.
pub(crate) fn near_limit_of_latest(recent: &RecentLoads, device: &KnownDevice) -> Option<NearLimit> {
    let latest = recent.latest().filter(is_waiting)?;
    let [iops, mib_per_s] = RateUnit::ALL.map(|unit| value(unit, latest));
    // Few rates stay the same for long enough, and fewer of them near a limit.
    let may_be_held = |(kind, (direction, unit)): (usize, (IoDirection, RateUnit))| {
        direction == IoDirection::Both
            && recent.has_near(kind, MIN_PLATEAU_INTERVALS as u32)
            && !limits_within(SAME_LIMIT_TOLERANCE, device, unit, iops, mib_per_s).is_empty()
    };
    if !RATE_KINDS.into_iter().enumerate().any(may_be_held) {
        return None;
    }
    let found = find_near_limit(recent.iter(), device)?;
    is_within(value(found.unit, latest), found.limits.first()?.value).then_some(found)
}

/// The known limit near which the rate of reads and writes lay for most of the time in which requests waited; `None` if
/// there is no such limit, if it was exceeded, or if requests are issued at that rate.
pub(crate) fn find_near_limit<'a>(
    loads: impl Iterator<Item = &'a LoadSample>,
    device: &KnownDevice,
) -> Option<NearLimit> {
    let loads: Vec<&LoadSample> = loads.collect();
    let waiting: Vec<&LoadSample> = loads.iter().copied().filter(is_waiting).collect();
    RateUnit::ALL.into_iter().find_map(|unit| near_limit_in(unit, &loads, &waiting, device))
}

fn near_limit_in(
    unit: RateUnit,
    loads: &[&LoadSample],
    waiting: &[&LoadSample],
    device: &KnownDevice,
) -> Option<NearLimit> {
    let (iops, mib_per_s) = median_rates(waiting, IoDirection::Both)?;
    let rate = if unit == RateUnit::Requests { iops } else { mib_per_s };
    let mut limits = limits_within(STEADY_TOLERANCE, device, unit, iops, mib_per_s);
    let distance = |limit: &CloudLimit| (rate - limit.value).abs();
    let limit = limits.iter().min_by(|a, b| distance(a).total_cmp(&distance(b)))?.value;
    limits.retain(|one| one.value == limit);
    let time = |is_counted: &dyn Fn(&LoadSample) -> bool| {
        count_intervals(loads.iter().copied().filter(|load| is_counted(load)))
    };
    let is_near = |load: &LoadSample| is_within(value(unit, load), limit);
    let near_time = time(&|load| is_waiting(&load) && is_near(load));
    let above_time = time(&|load| value(unit, load) > MIN_EXCEEDED_CAP_RATIO * limit);
    // A rate that is also seen while no request waits is the rate at which requests are issued.
    let at_rest = time(&|load| is_near(load) && load.queue(IoDirection::Both) < MIN_CONSTANT_QUEUE);
    let near: Vec<&LoadSample> = loads.iter().copied().filter(|load| is_near(load)).collect();
    let is_held = near_time >= MIN_PLATEAU_INTERVALS
        && near_time >= MIN_ON_RATE_FRACTION * count_intervals(waiting.iter().copied())
        && above_time < MIN_WITNESS_INTERVALS
        && at_rest < MIN_WITNESS_INTERVALS
        && pace_of_level(&near, IoDirection::Both, unit) != Pace::Arrivals;
    is_held.then_some(NearLimit { unit, rate, limits })
}

fn is_waiting(load: &&LoadSample) -> bool {
    load.queue(IoDirection::Both) >= MIN_SATURATED_QUEUE
}

fn is_within(rate: f64, limit: f64) -> bool {
    (rate / limit - 1.0).abs() <= SAME_LIMIT_TOLERANCE
}

/// The rate in the unit of limits.
fn value(unit: RateUnit, load: &LoadSample) -> f64 {
    let rate = load.rate(IoDirection::Both, unit);
    if unit == RateUnit::Requests { rate } else { rate / 1024.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::stats::IoTotals;

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
        let found = find_near_limit(loads.iter(), &UNKNOWN);
        assert!(of_latest(&loads).is_none() || found.is_some());
        found.is_some()
    }

    #[test]
    fn a_rate_near_a_limit_under_a_queue_is_found() {
        let rates = [3000.0, 3040.0, 2990.0, 3010.0, 3000.0, 2995.0, 3005.0, 3000.0];
        let found = find_near_limit(loads(&rates.map(|rate| (rate, 32.0))).iter(), &UNKNOWN).unwrap();
        assert_eq!((found.unit, found.rate, found.limits[0].value), (RateUnit::Requests, 3000.0, 3000.0));
    }

    #[test]
    fn few_intervals_a_short_queue_and_a_rate_that_scatters_or_is_exceeded_show_nothing() {
        assert!(found(&[(3000.0, 8.0); 8]) && !found(&[(3000.0, 8.0); 7]) && !found(&[(3000.0, 1.5); 20]));
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
        assert_eq!(find_near_limit(loads.iter(), &UNKNOWN), None);
        loads.iter_mut().for_each(|load| load.in_flight_change = 0.0);
        assert!(find_near_limit(loads.iter(), &UNKNOWN).is_some());
    }

    #[test]
    fn a_rate_that_has_left_the_limit_is_not_near_it() {
        let mut loads = loads(&[(3000.0, 8.0); 20]);
        assert!(of_latest(&loads).is_some());
        loads.last_mut().unwrap().reads.ios = 2500.0;
        assert_eq!(of_latest(&loads), None);
    }
}
