//! The use of the limits of cgroups over several intervals: whether a rate is at its limit.

use std::collections::HashMap;
use std::sync::Arc;

use super::IoDirection::{Reads, Writes};
use super::RateUnit::{Kib, Requests};
use super::{Limit, LimitedRate};
use crate::counters::{DeviceNumber, IoCounters, IoLimits};

/// The fraction of a limit from which it counts as reached.
const MIN_REACHED_FRACTION: f64 = 0.98;
/// The multiple of a limit above which it is not in force, unless tasks wait.
const MAX_REACHED_RATIO: f64 = 1.1;
/// The fraction from which a limit is near: a process that sends one request after the other also does other things while
/// no request of it waits.
const NEAR_FRACTION: f64 = 0.8;
/// The fraction of a limit from which it may hold a cgroup back whose tasks wait: one that sends a request, waits for it, and
/// has other work in between comes no nearer.
const MIN_WAITING_FRACTION: f64 = 0.5;
/// The intervals over which a limit must have been reached.
pub const LIMIT_INTERVALS: usize = 3;
/// The number of requests from which a tolerance of one request is small: of the 15 that a limit of 5 permits in three
/// seconds, 14 are 93%. If three intervals permit fewer, all intervals since the limit seems to be reached are checked,
/// too.
const MIN_REQUESTS: f64 = 50.0;
/// The most intervals that are checked.
const MAX_INTERVALS: usize = 10;
/// The kernel grants a tenth of the limit, rounded down, in each tenth of a second: a limit of 777 becomes 770 per
/// second, one of 19 becomes 10 (blk-throttle's slices; measured on Linux 6.18 with limits of 5 to 1234).
const SLICES_PER_S: u64 = 10;

/// The kinds of limits, in the order of [`IoLimits`].
const LIMITED: [LimitedRate; 4] = [
    LimitedRate::of(Reads, Requests),
    LimitedRate::of(Writes, Requests),
    LimitedRate::of(Reads, Kib),
    LimitedRate::of(Writes, Kib),
];

/// The limits that are set, in requests or bytes per second.
pub(super) fn limits_set(limits: &IoLimits) -> impl Iterator<Item = (LimitedRate, u64)> + use<> {
    LIMITED
        .into_iter()
        .zip(*limits)
        .filter_map(|(limited, value)| Some((limited, value?)))
}

/// The requests or bytes of a cgroup to which a limit applies.
pub(super) fn limited_amount(io: &IoCounters, limited: LimitedRate) -> u64 {
    match (limited.direction, limited.unit) {
        (Reads, Requests) => io.reads,
        (Reads, Kib) => io.read_bytes,
        (_, Requests) => io.writes,
        (_, Kib) => io.write_bytes,
    }
}

/// The use of a limit in an interval.
#[derive(Clone, Debug, PartialEq)]
pub struct LimitUse {
    pub limit: Limit,
    /// The cgroup's rate of what is limited, in the unit of the limit; in version 2, with its descendants.
    pub rate: f64,
    /// The rate has been at the limit for three intervals, or tasks have waited while the limit permits less than one
    /// request in an interval.
    pub is_reached: bool,
    /// The seconds in which it was reached.
    pub reached_s: f64,
    /// The rate over the last three intervals has been near the limit.
    pub is_near: bool,
    /// It has been half of the limit or more, and tasks of the cgroup have waited in each of them.
    pub is_waited_for: bool,
}

/// The use of a limit in one interval.
#[derive(Clone, Copy, Debug)]
struct Observed {
    value: u64,
    elapsed_s: f64,
    amount: u64,
    /// How much of it a request is on average.
    request: f64,
    is_waiting: bool,
}

impl Observed {
    /// Returns the amount that the limit permits in the interval.
    fn permitted(&self) -> f64 {
        self.value as f64 * self.elapsed_s
    }

    /// Returns whether the limit permits less than one request in the interval.
    fn permits_no_request(&self) -> bool {
        self.permitted() < self.request
    }

    /// Returns the amount of a slice. All of it is granted at the beginning of the slice, which may be in the interval
    /// before or after.
    fn slice(&self) -> f64 {
        self.value as f64 / SLICES_PER_S as f64
    }

    /// Returns whether the amount is what the limit permits in the interval, less at most one request or `missing`.
    fn is_at_limit(&self, missing: f64) -> bool {
        self.reaches(MIN_REACHED_FRACTION, missing)
    }

    /// Returns whether the amount is this fraction of what the limit permits or more, less at most one request or `missing`.
    fn reaches(&self, fraction: f64, missing: f64) -> bool {
        if self.permits_no_request() {
            return self.is_waiting;
        }
        let by_slices = (self.value / SLICES_PER_S * SLICES_PER_S) as f64 * self.elapsed_s;
        let least = if by_slices > 0.0 {
            by_slices
        } else {
            self.permitted()
        };
        let least = fraction * least - missing.max(self.request);
        let most = MAX_REACHED_RATIO * self.permitted() + self.slice().max(self.request);
        let amount = self.amount as f64;
        // Version 1 counts a request that it holds back again and again, twice its limit and more. A task then waits.
        amount >= least && (amount <= most || self.is_waiting)
    }

    /// Returns consecutive intervals as one; `None` if there are none.
    fn sum(intervals: &[Self]) -> Option<Self> {
        let mut sum = Self {
            elapsed_s: 0.0,
            amount: 0,
            ..*intervals.last()?
        };
        for observed in intervals {
            sum.elapsed_s += observed.elapsed_s;
            sum.amount += observed.amount;
        }
        Some(sum)
    }
}

/// A limit of a cgroup on a device.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct LimitKey {
    pub(super) path: Arc<str>,
    pub(super) number: DeviceNumber,
    pub(super) limited: LimitedRate,
}

/// Follows the use of limits over several intervals.
#[derive(Default)]
pub(super) struct LimitHistory {
    recent: HashMap<LimitKey, Vec<Observed>>,
    /// The uses in the present interval.
    current: HashMap<LimitKey, Vec<Observed>>,
}

impl LimitHistory {
    /// Adds an interval of a cgroup on a device, whose counters grew by `delta`; `is_waiting` if one of its tasks has
    /// waited for I/O.
    pub(super) fn observe(
        &mut self,
        path: &Arc<str>,
        number: DeviceNumber,
        limits: &IoLimits,
        delta: &IoCounters,
        elapsed_s: f64,
        is_waiting: bool,
    ) {
        for (limited, value) in limits_set(limits) {
            let amount = limited_amount(delta, limited);
            let requests = limited_amount(delta, LimitedRate::of(limited.direction, Requests));
            let mut request = match limited.unit {
                Requests => 1.0,
                Kib => amount as f64 / requests.max(1) as f64,
            };
            let key = LimitKey {
                path: Arc::clone(path),
                number,
                limited,
            };
            let mut recent = self.recent.remove(&key).unwrap_or_default();
            // A limit that was changed was not reached before.
            recent.retain(|before| before.value == value);
            if recent.len() == MAX_INTERVALS {
                recent.remove(0);
            }
            // Without a request, requests are assumed to be as large as before.
            if amount == 0
                && let Some(last) = recent.last()
            {
                request = last.request;
            }
            recent.push(Observed {
                value,
                elapsed_s,
                amount,
                request,
                is_waiting,
            });
            self.current.insert(key, recent);
        }
    }

    /// Ends an interval. Cgroups that were not observed in it are forgotten.
    pub(super) fn end_interval(&mut self) {
        self.recent = std::mem::take(&mut self.current);
    }

    /// Returns the limits that have been reached.
    pub(super) fn reached(&self) -> impl Iterator<Item = LimitKey> {
        let reached = self.recent.iter().filter(|(_, recent)| is_reached(recent));
        reached.map(|(key, _)| key.clone())
    }

    /// Returns whether the rate over the last three intervals is near a limit.
    pub(super) fn is_near(&self, key: &LimitKey) -> bool {
        let sum = self.latest(key).and_then(Observed::sum);
        sum.is_some_and(|sum| sum.amount > 0 && sum.reaches(NEAR_FRACTION, 0.0))
    }

    /// Returns whether the rate over the last three intervals is half of a limit or more while tasks waited in each.
    pub(super) fn is_waited_for(&self, key: &LimitKey) -> bool {
        let latest = self.latest(key).unwrap_or_default();
        latest.iter().all(|observed| observed.is_waiting)
            && Observed::sum(latest).is_some_and(|sum| sum.reaches(MIN_WAITING_FRACTION, 0.0))
    }

    /// The use of a limit in the last three intervals; `None` if it is not known for that long.
    fn latest(&self, key: &LimitKey) -> Option<&[Observed]> {
        let recent = self.recent.get(key)?;
        let begin = recent.len().checked_sub(LIMIT_INTERVALS)?;
        Some(&recent[begin..])
    }
}

/// Returns whether a limit has been reached in each of the last three intervals and in these together. If they permit
/// only few requests, it must also have been reached in all intervals since it seems to be reached.
fn is_reached(recent: &[Observed]) -> bool {
    let mut begin = recent.len();
    while begin > 0 && recent[begin - 1].is_at_limit(recent[begin - 1].slice()) {
        begin -= 1;
    }
    let run = &recent[begin..];
    let Some(begin_of_last) = run.len().checked_sub(LIMIT_INTERVALS) else {
        return false;
    };
    let last = &run[begin_of_last..];
    // If there was no request, the reason must be that the limit permits none.
    if last.iter().all(|observed| observed.amount == 0) {
        return last.iter().all(Observed::permits_no_request);
    }

    let Some(sum) = Observed::sum(last) else {
        return false;
    };
    if !sum.is_at_limit(0.0) {
        return false;
    }
    if sum.permitted() >= MIN_REQUESTS * sum.request {
        return true;
    }
    // The limit may have been reached only during the first interval of the run.
    let all = if begin_of_last > 0 { &run[1..] } else { run };
    Observed::sum(all).is_some_and(|sum| sum.is_at_limit(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns whether a limit on reads per second counts as reached after intervals of a second with these reads.
    fn reached(limit: u64, reads: &[u64]) -> bool {
        reached_while(false, limit, reads)
    }

    fn reached_while(is_waiting: bool, limit: u64, reads: &[u64]) -> bool {
        let mut history = LimitHistory::default();
        let limits = [Some(limit), None, None, None];
        let path = Arc::from("/a");
        let observe = |reads: &u64| {
            let delta = IoCounters {
                reads: *reads,
                ..IoCounters::default()
            };
            history.observe(&path, (8, 0), &limits, &delta, 1.0, is_waiting);
            history.end_interval();
            history.reached().count() == 1
        };
        reads.iter().map(observe).last().unwrap()
    }

    #[test]
    fn a_limit_must_be_reached_in_three_intervals() {
        assert!(!reached(100, &[100, 100]) && reached(100, &[100, 100, 100]));
        assert!(!reached(100, &[100, 90, 100]) && reached(100, &[90, 100, 100, 100]));
        assert!(!reached(100, &[0, 0, 0]) && !reached(100, &[96, 96, 96]));
        assert!(!reached(100, &[200, 200, 200]), "it is not in force");
        // Linux 6.18 counts 128 writes per second of a cgroup of version 1 that may do 60, and its device does 60.
        assert!(reached_while(true, 60, &[128, 128, 128]));
    }

    #[test]
    fn a_process_that_also_does_other_things_than_wait_is_near_a_limit() {
        let near = |limit: u64, reads: &[u64]| {
            let mut history = LimitHistory::default();
            let limits = [Some(limit), None, None, None];
            let key = LimitKey {
                path: Arc::from("/a"),
                number: (8, 0),
                limited: LimitedRate::of(Reads, Requests),
            };
            for reads in reads {
                let delta = IoCounters {
                    reads: *reads,
                    ..IoCounters::default()
                };
                history.observe(&key.path, key.number, &limits, &delta, 1.0, false);
                history.end_interval();
            }
            history.is_near(&key)
        };
        // Reads per second on Linux 6.12, and what is too few, or is above the limit.
        assert!(near(5, &[3, 4, 5]) && near(100, &[85, 80, 82]));
        assert!(!near(5, &[4, 5]) && !near(100, &[75, 80, 77]) && !near(100, &[140, 150, 130]));
    }

    #[test]
    fn requests_of_a_slice_may_be_counted_in_the_next_interval() {
        // Reads per second on Linux 6.18, scanned on a busy machine.
        assert!(reached(50, &[50, 55, 45]) && reached(50, &[55, 45, 51]));
        assert!(
            !reached(50, &[50, 43, 57]) && !reached(50, &[45, 45, 50]),
            "more than that"
        );
    }

    /// Returns the number of intervals in which a limit on reads per second counts as reached by reads that are issued
    /// one after another at a steady rate, at a time that shifts by a part of an interval.
    fn reached_by_pace(limit: u64, per_s: f64, interval_s: f64, shift: f64) -> usize {
        let mut history = LimitHistory::default();
        let limits = [Some(limit), None, None, None];
        let path = Arc::from("/a");
        let reads_until =
            |interval: u32| (per_s * interval_s * (f64::from(interval) + shift)) as u64;
        let observe = |interval: &u32| {
            let reads = reads_until(*interval) - reads_until(*interval - 1);
            let delta = IoCounters {
                reads,
                ..IoCounters::default()
            };
            history.observe(&path, (8, 0), &limits, &delta, interval_s, false);
            history.end_interval();
            history.reached().count() == 1
        };
        (1..=100).filter(observe).count()
    }

    #[test]
    fn a_steady_load_below_a_limit_does_not_reach_it() {
        for limit in [20, 50, 100, 250, 777, 2000, 40_000] {
            for part in [0.5, 0.8, 0.85, 0.9, 0.95] {
                let granted = (limit / 10 * 10) as f64;
                for shift in [0.0, 0.2, 0.5, 0.9] {
                    assert_eq!(
                        reached_by_pace(limit, part * granted, 1.0, shift),
                        0,
                        "{part} of {limit}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_steady_load_below_a_low_limit_seems_to_reach_it_only_at_first() {
        for (limit, interval_s) in [
            (5, 1.0),
            (6, 1.0),
            (9, 1.0),
            (50, 0.1),
            (60, 0.1),
            (20, 0.2),
        ] {
            for part in [0.5, 0.8, 0.85, 0.9] {
                for shift in [0.0, 0.2, 0.5, 0.9] {
                    let found = reached_by_pace(limit, part * limit as f64, interval_s, shift);
                    assert!(
                        found <= 3,
                        "{part} of {limit} in {interval_s} s: {found} of 100 intervals"
                    );
                }
            }
            assert!(
                reached_by_pace(limit, limit as f64, interval_s, 0.5) >= 98,
                "{limit}"
            );
        }
    }

    #[test]
    fn a_load_that_begins_during_an_interval_reaches_its_limit_after_three_more() {
        assert!(!reached(50, &[0, 44, 50, 50]) && reached(50, &[0, 44, 50, 50, 50]));
        assert!(
            !reached(5, &[0, 2, 5, 5])
                && reached(5, &[0, 2, 5, 5, 5])
                && reached(5, &[0, 4, 5, 5, 5])
        );
        assert!(
            reached(777, &[700, 720, 760, 770, 750]),
            "the last three of many requests count"
        );
    }

    #[test]
    fn slices_may_be_longer_than_intervals() {
        // Reads per tenth of a second: the limit permits five in each slice, and slices and scans begin at different times.
        let mut history = LimitHistory::default();
        let limits = [Some(50), None, None, None];
        let path = Arc::from("/a");
        let mut observe = |reads: u64| {
            let delta = IoCounters {
                reads,
                ..IoCounters::default()
            };
            history.observe(&path, (8, 0), &limits, &delta, 0.1, false);
            history.end_interval();
            history.reached().count() == 1
        };
        assert_eq!(
            [5, 5, 5, 0, 10, 5, 5].map(&mut observe)[2..],
            [true, false, true, true, true]
        );
        assert_eq!([0, 0, 0].map(&mut observe), [false; 3]);
    }

    #[test]
    fn rates_that_the_kernel_grants_reach_the_limit() {
        // Reads per second that Linux 6.18 granted.
        for (limit, granted) in [
            (5, 5),
            (19, 10),
            (55, 50),
            (99, 90),
            (777, 770),
            (1234, 1230),
        ] {
            assert!(reached(limit, &[granted; 3]), "{limit}");
            let less = granted * 9 / 10 - 1;
            assert!(!reached(limit, &[less; 3]), "{limit}: {less}");
        }
    }

    #[test]
    fn one_request_more_or_less_is_permitted() {
        assert!(reached(50, &[49, 50, 51]) && reached(3, &[2, 4, 3]));
        assert!(
            !reached(3, &[2, 2, 2]),
            "two of three requests, again and again"
        );
    }

    #[test]
    fn with_less_than_a_request_permitted_waiting_tasks_are_the_evidence() {
        let mut history = LimitHistory::default();
        let limits = [None, None, None, Some(1000)];
        let mut observe = |bytes: u64, is_waiting| {
            let delta = IoCounters {
                write_bytes: bytes,
                writes: bytes / 4096,
                ..IoCounters::default()
            };
            history.observe(&Arc::from("/a"), (8, 0), &limits, &delta, 1.0, is_waiting);
            history.end_interval();
            history.reached().count() == 1
        };
        assert_eq!(
            [4096, 0, 0].map(|bytes| observe(bytes, true)),
            [false, false, true]
        );
        assert!(!observe(4096, false));
    }

    #[test]
    fn a_changed_limit_was_not_reached_before() {
        let mut history = LimitHistory::default();
        let path = Arc::from("/a");
        let mut observe = |limit| {
            let limits = [Some(limit), None, None, None];
            let delta = IoCounters {
                reads: limit,
                ..IoCounters::default()
            };
            history.observe(&path, (8, 0), &limits, &delta, 1.0, false);
            history.end_interval();
            history.reached().count() == 1
        };
        let found = [100, 100, 100, 50, 50, 50].map(&mut observe);
        assert_eq!(found, [false, false, true, false, false, true]);
    }
}
