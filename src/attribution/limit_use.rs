//! Limits of cgroups, and whether they bind.
//!
//! That a limit exists is a fact; that it holds requests back can only be inferred from the rate. No file shows it:
//! requests that wait for `io.max` are in no counter, and asynchronous ones raise no pressure.

use std::collections::HashMap;
use std::sync::Arc;

use crate::counters::{DeviceNumber, IoCounters, IoLimits};

/// The fraction of a limit from which it counts as reached.
const MIN_REACHED_FRACTION: f64 = 0.98;
/// The multiple of a limit above which it cannot be in force.
const MAX_REACHED_RATIO: f64 = 1.1;
/// The fraction from which a limit is near: a process that sends one request after the other does other things, too, while
/// no request of it waits.
const NEAR_FRACTION: f64 = 0.8;
/// The intervals over which a limit must have been reached.
const INTERVALS: usize = 3;
/// The number of requests from which a tolerance of one request is small: of the 15 that a limit of 5 permits in three
/// seconds, 14 are 93%. If three intervals permit fewer, all intervals since the limit seems to be reached are checked,
/// too.
const MIN_REQUESTS: f64 = 50.0;
/// The most intervals that are checked.
const MAX_INTERVALS: usize = 10;
/// The kernel grants a tenth of the limit, rounded down, in each tenth of a second: a limit of 777 becomes 770 per
/// second, one of 19 becomes 10 (blk-throttle's slices; measured on Linux 6.18 with limits of 5 to 1234).
const SLICES_PER_S: u64 = 10;

/// A kind of limit. As a number, it is the index in [`IoLimits`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LimitKind {
    ReadIops,
    WriteIops,
    ReadBytes,
    WriteBytes,
}

impl LimitKind {
    pub const ALL: [Self; 4] = [Self::ReadIops, Self::WriteIops, Self::ReadBytes, Self::WriteBytes];

    /// Returns the limits that are set, with their values.
    pub fn of(limits: &IoLimits) -> impl Iterator<Item = (Self, u64)> + use<> {
        Self::ALL.into_iter().zip(*limits).filter_map(|(kind, value)| Some((kind, value?)))
    }

    /// Returns whether it counts bytes rather than requests.
    pub fn is_bytes(self) -> bool {
        matches!(self, Self::ReadBytes | Self::WriteBytes)
    }

    /// Returns the amount that the limit applies to, and the mean amount of a request.
    pub(super) fn amount(self, io: &IoCounters) -> (u64, f64) {
        let mean = |bytes: u64, requests: u64| bytes as f64 / requests.max(1) as f64;
        match self {
            Self::ReadIops => (io.reads, 1.0),
            Self::WriteIops => (io.writes, 1.0),
            Self::ReadBytes => (io.read_bytes, mean(io.read_bytes, io.reads)),
            Self::WriteBytes => (io.write_bytes, mean(io.write_bytes, io.writes)),
        }
    }
}

/// The use of a limit in an interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LimitUse {
    pub kind: LimitKind,
    /// Its value, per second.
    pub value: u64,
    /// The rate that it applies to, per second: in version 2, it includes that of descendants.
    pub rate: f64,
    /// The rate has been at the limit for three intervals, or tasks have waited while the limit permits less than one
    /// request in an interval.
    pub is_reached: bool,
    /// The rate over the last three intervals has been near the limit.
    pub is_near: bool,
}

/// The use of a limit in one interval.
#[derive(Clone, Copy, Debug)]
struct Observed {
    value: u64,
    elapsed_s: f64,
    amount: u64,
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
        let least = if by_slices > 0.0 { by_slices } else { self.permitted() };
        let least = fraction * least - missing.max(self.request);
        let most = MAX_REACHED_RATIO * self.permitted() + self.slice().max(self.request);
        (least..=most).contains(&(self.amount as f64))
    }

    /// Returns consecutive intervals as one; `None` if there are none.
    fn sum(intervals: &[Self]) -> Option<Self> {
        let elapsed_s = intervals.iter().map(|observed| observed.elapsed_s).sum();
        let amount = intervals.iter().map(|observed| observed.amount).sum();
        intervals.last().map(|last| Self { elapsed_s, amount, ..*last })
    }
}

/// A limit: the cgroup, the device and the kind.
pub(super) type LimitKey = (Arc<str>, DeviceNumber, LimitKind);

/// Follows the use of limits over several intervals.
#[derive(Clone, Debug, Default)]
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
        (path, number): (&Arc<str>, DeviceNumber),
        limits: &IoLimits,
        (delta, elapsed_s): (&IoCounters, f64),
        is_waiting: bool,
    ) {
        for (kind, value) in LimitKind::of(limits) {
            let (amount, request) = kind.amount(delta);
            let key = (Arc::clone(path), number, kind);
            let mut recent = self.recent.remove(&key).unwrap_or_default();
            // A limit that was changed was not reached before.
            recent.retain(|before| before.value == value);
            if recent.len() == MAX_INTERVALS {
                recent.remove(0);
            }
            // Without a request, requests are assumed to be as large as before.
            let request =
                if amount > 0 { request } else { recent.last().map_or(request, |last| last.request) };
            recent.push(Observed { value, elapsed_s, amount, request, is_waiting });
            self.current.insert(key, recent);
        }
    }

    /// Ends an interval. Cgroups that were not observed in it are forgotten.
    pub(super) fn end_interval(&mut self) {
        self.recent = std::mem::take(&mut self.current);
    }

    /// Returns the limits that have been reached.
    pub(super) fn reached(&self) -> impl Iterator<Item = LimitKey> {
        self.recent.iter().filter(|(_, recent)| is_reached(recent)).map(|(key, _)| key.clone())
    }

    /// Returns whether the rate over the last three intervals is near a limit.
    pub(super) fn is_near(&self, key: &LimitKey) -> bool {
        let last = self.recent.get(key).and_then(|recent| recent.last_chunk::<INTERVALS>());
        let sum = last.and_then(|last| Observed::sum(last));
        sum.is_some_and(|sum| sum.amount > 0 && sum.reaches(NEAR_FRACTION, 0.0))
    }
}

/// Returns whether a limit has been reached in each of the last three intervals and in these together. If they permit
/// only few requests, it must also have been reached in all intervals since it seems to be reached.
fn is_reached(recent: &[Observed]) -> bool {
    let is_near_limit = |observed: &Observed| observed.is_at_limit(observed.slice());
    let begin = recent.iter().rposition(|observed| !is_near_limit(observed)).map_or(0, |before| before + 1);
    let run = &recent[begin..];
    let Some(begin_of_last) = run.len().checked_sub(INTERVALS) else { return false };
    let last = &run[begin_of_last..];
    // If there was no request, the reason must be that the limit permits none.
    if last.iter().all(|observed| observed.amount == 0) {
        return last.iter().all(Observed::permits_no_request);
    }
    let is_at_limit = |observed: &[Observed]| Observed::sum(observed).is_some_and(|sum| sum.is_at_limit(0.0));
    let are_many = |sum: Observed| sum.permitted() >= MIN_REQUESTS * sum.request;
    // The limit may have been reached only during the first interval of the run.
    let all = if begin_of_last > 0 { &run[1..] } else { run };
    is_at_limit(last) && (Observed::sum(last).is_some_and(are_many) || is_at_limit(all))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns whether a limit on reads per second counts as reached after intervals of a second with these reads.
    fn reached(limit: u64, reads: &[u64]) -> bool {
        let mut history = LimitHistory::default();
        let limits = [Some(limit), None, None, None];
        let path = Arc::from("/a");
        let observe = |reads: &u64| {
            let delta = IoCounters { reads: *reads, ..IoCounters::default() };
            history.observe((&path, (8, 0)), &limits, (&delta, 1.0), false);
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
    }

    #[test]
    fn a_process_that_also_does_other_things_than_wait_is_near_a_limit() {
        let near = |limit: u64, reads: &[u64]| {
            let mut history = LimitHistory::default();
            let limits = [Some(limit), None, None, None];
            let key = (Arc::from("/a"), (8, 0), LimitKind::ReadIops);
            for reads in reads {
                let delta = IoCounters { reads: *reads, ..IoCounters::default() };
                history.observe((&key.0, key.1), &limits, (&delta, 1.0), false);
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
        assert!(!reached(50, &[50, 43, 57]) && !reached(50, &[45, 45, 50]), "more than that");
    }

    /// Returns the number of intervals in which a limit on reads per second counts as reached by reads that are issued
    /// one after another at a steady rate, at a time that shifts by a part of an interval.
    fn reached_by_pace(limit: u64, per_s: f64, interval_s: f64, shift: f64) -> usize {
        let mut history = LimitHistory::default();
        let limits = [Some(limit), None, None, None];
        let path = Arc::from("/a");
        let reads_until = |interval: u32| (per_s * interval_s * (f64::from(interval) + shift)) as u64;
        let observe = |interval: &u32| {
            let reads = reads_until(*interval) - reads_until(*interval - 1);
            let delta = IoCounters { reads, ..IoCounters::default() };
            history.observe((&path, (8, 0)), &limits, (&delta, interval_s), false);
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
                    assert_eq!(reached_by_pace(limit, part * granted, 1.0, shift), 0, "{part} of {limit}");
                }
            }
        }
    }

    #[test]
    fn a_steady_load_below_a_low_limit_seems_to_reach_it_only_at_first() {
        for (limit, interval_s) in [(5, 1.0), (6, 1.0), (9, 1.0), (50, 0.1), (60, 0.1), (20, 0.2)] {
            for part in [0.5, 0.8, 0.85, 0.9] {
                for shift in [0.0, 0.2, 0.5, 0.9] {
                    let found = reached_by_pace(limit, part * limit as f64, interval_s, shift);
                    assert!(found <= 3, "{part} of {limit} in {interval_s} s: {found} of 100 intervals");
                }
            }
            assert!(reached_by_pace(limit, limit as f64, interval_s, 0.5) >= 98, "{limit}");
        }
    }

    #[test]
    fn a_load_that_begins_during_an_interval_reaches_its_limit_after_three_more() {
        assert!(!reached(50, &[0, 44, 50, 50]) && reached(50, &[0, 44, 50, 50, 50]));
        assert!(!reached(5, &[0, 2, 5, 5]) && reached(5, &[0, 2, 5, 5, 5]) && reached(5, &[0, 4, 5, 5, 5]));
        assert!(reached(777, &[700, 720, 760, 770, 750]), "the last three of many requests count");
    }

    #[test]
    fn slices_may_be_longer_than_intervals() {
        // Reads in tenths of a second: slices of five at times that differ from those of the scans.
        let mut history = LimitHistory::default();
        let limits = [Some(50), None, None, None];
        let path = Arc::from("/a");
        let mut observe = |reads: u64| {
            let delta = IoCounters { reads, ..IoCounters::default() };
            history.observe((&path, (8, 0)), &limits, (&delta, 0.1), false);
            history.end_interval();
            history.reached().count() == 1
        };
        assert_eq!([5, 5, 5, 0, 10, 5, 5].map(&mut observe)[2..], [true, false, true, true, true]);
        assert_eq!([0, 0, 0].map(&mut observe), [false; 3]);
    }

    #[test]
    fn rates_that_the_kernel_grants_reach_the_limit() {
        // Reads per second that Linux 6.18 granted.
        for (limit, granted) in [(5, 5), (19, 10), (55, 50), (99, 90), (777, 770), (1234, 1230)] {
            assert!(reached(limit, &[granted; 3]), "{limit}");
            let less = granted * 9 / 10 - 1;
            assert!(!reached(limit, &[less; 3]), "{limit}: {less}");
        }
    }

    #[test]
    fn one_request_more_or_less_is_permitted() {
        assert!(reached(50, &[49, 50, 51]) && reached(3, &[2, 4, 3]));
        assert!(!reached(3, &[2, 2, 2]), "two of three requests, again and again");
    }

    #[test]
    fn with_less_than_a_request_permitted_waiting_tasks_are_the_evidence() {
        let mut history = LimitHistory::default();
        let limits = [None, None, None, Some(1000)];
        let mut observe = |bytes: u64, is_waiting| {
            let delta = IoCounters { write_bytes: bytes, writes: bytes / 4096, ..IoCounters::default() };
            history.observe((&Arc::from("/a"), (8, 0)), &limits, (&delta, 1.0), is_waiting);
            history.end_interval();
            history.reached().count() == 1
        };
        assert_eq!([4096, 0, 0].map(|bytes| observe(bytes, true)), [false, false, true]);
        assert!(!observe(4096, false));
    }

    #[test]
    fn a_changed_limit_was_not_reached_before() {
        let mut history = LimitHistory::default();
        let path = Arc::from("/a");
        let mut observe = |limit| {
            let limits = [Some(limit), None, None, None];
            let delta = IoCounters { reads: limit, ..IoCounters::default() };
            history.observe((&path, (8, 0)), &limits, (&delta, 1.0), false);
            history.end_interval();
            history.reached().count() == 1
        };
        let found = [100, 100, 100, 50, 50, 50].map(&mut observe);
        assert_eq!(found, [false, false, true, false, false, true]);
    }
}
