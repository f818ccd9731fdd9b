//! Limits of cgroups: whether they bind, and which one holds the requests of a device back.
//!
//! That a limit exists is a fact; that it holds requests back can only be inferred from the rate. No file shows it:
//! requests that wait for `io.max` are in no counter, and asynchronous ones raise no pressure.

use std::collections::HashMap;
use std::sync::Arc;

use super::{Attribution, CgroupUse, DeviceUse, is_in_cgroup};
use crate::counters::{CgroupHierarchy, DeviceNumber, IoCounters, IoLimits};

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

/// The fraction of a device's bytes or requests that cgroups at their limits must have for their limits to hold the
/// device back: with less, most of its requests do not wait for a limit.
const MIN_SHARE: f64 = 0.5;

/// The fractions of a limit between which a limit that has held a device back goes on to do so, without a rate that is
/// exactly at it in three intervals: the load may be a little uneven, and scans come late.
const STILL_REACHED: [f64; 2] = [0.8, 2.0];
const SMALLEST_REQUEST_BYTES: f64 = 4096.0;

/// A limit that a cgroup has reached, as seen from a device.
#[derive(Clone, Debug, PartialEq)]
pub struct ReachedLimit {
    /// The path of the cgroup.
    pub cgroup: Arc<str>,
    /// The device that the limit is on: this one, or one below it.
    pub limited_device: String,
    pub kind: LimitKind,
    /// Its value, per second.
    pub value: u64,
    pub hierarchy: CgroupHierarchy,
    /// The share of the device's bytes, in percent, of the cgroup and all others that the limit applies to; `None`
    /// without bytes.
    pub share_pct: Option<f64>,
    /// True if the limits that were reached hold the device back: the cgroups have at least half of its bytes or
    /// requests, or are the only ones whose tasks wait, or its requests wait above the device with the limit.
    pub holds_device: bool,
}

/// A reached limit with the path of its cgroup and the name of its device.
type Candidate<'a> = (&'a CgroupUse, &'a str, LimitKind, u64);

impl Attribution {
    /// Returns the limit that holds the requests of a device back, or that of the cgroup with most of its bytes among
    /// those at a limit. The limits are on the device itself or on those `below` it. `None` if no cgroup that uses the
    /// device has reached one; if the device is not idle but completes nothing, or its requests are held above those below
    /// (`is_held`), it may be any that is seen on no other device: the kernel charges some writes to another cgroup. Where
    /// they are held, the rate need only be near the limit if all tasks that wait are in the cgroup.
    pub fn reached_limit(
        &self,
        device: &str,
        below: &[String],
        is_idle: bool,
        is_held: bool,
    ) -> Option<ReachedLimit> {
        let hierarchy = self.hierarchy?;
        let none = DeviceUse::default();
        let usage = self.device(device).unwrap_or(&none);
        let limited = [device].into_iter().chain(below.iter().map(String::as_str));
        let candidates: Vec<Candidate<'_>> =
            limited.flat_map(|name| self.reached_on(name, is_held)).collect();
        let applies = |(limited, ..): &Candidate<'_>, path: &str| match hierarchy {
            CgroupHierarchy::V1 => *limited.path == *path,
            CgroupHierarchy::V2 => is_in_cgroup(&limited.path, path),
        };
        let share = |is_limited: &dyn Fn(&str) -> bool, amount: fn(&CgroupUse) -> f64, total: f64| {
            let held: f64 = usage.cgroups.iter().filter(|cgroup| is_limited(&cgroup.path)).map(amount).sum();
            let all: f64 = usage.cgroups.iter().map(amount).sum();
            let all = total.max(all);
            (all > 0.0).then(|| held / all)
        };
        let bytes = |is_limited: &dyn Fn(&str) -> bool| {
            share(is_limited, |cgroup| cgroup.rates.bytes_per_s(), usage.total.bytes_per_s())
        };
        let requests = |is_limited: &dyn Fn(&str) -> bool| {
            share(is_limited, |cgroup| cgroup.rates.ios_per_s(), usage.total.ios_per_s())
        };
        let share_of =
            |candidate: &Candidate<'_>| bytes(&|path| applies(candidate, path)).unwrap_or_default();
        let first = candidates.iter().max_by(|a, b| {
            // Among the limits of one cgroup, the one on the device itself.
            share_of(a).total_cmp(&share_of(b)).then_with(|| (a.1 == device).cmp(&(b.1 == device)))
        })?;
        let is_any = |path: &str| candidates.iter().any(|candidate| applies(candidate, path));
        let is_much = |share: Option<f64>| share.is_some_and(|share| share >= MIN_SHARE);
        // Where nothing completes, no cgroup is seen to use the device.
        let is_unused = !is_idle && usage.total.ios_per_s() == 0.0 && usage.cgroups.is_empty();
        let is_elsewhere = |path: &str| {
            let others = self.devices.iter().filter(|other| other.name != device && other.name != first.1);
            let mut uses = others.flat_map(|other| &other.cgroups);
            uses.any(|used| *used.path == *path && used.rates.ios_per_s() > 0.0)
        };
        let is_held = is_held && first.1 != device && !is_elsewhere(&first.0.path);
        let uses_device = is_unused || is_held || usage.cgroups.iter().any(|cgroup| is_any(&cgroup.path));
        let mut waiting = self.blocked.iter().filter_map(|task| task.cgroup.as_deref()).peekable();
        let are_all_waiting_limited = waiting.peek().is_some() && waiting.all(is_any);
        let holds_device = is_held
            || is_much(bytes(&is_any))
            || is_much(requests(&is_any))
            || uses_device && are_all_waiting_limited;
        uses_device.then(|| ReachedLimit {
            cgroup: Arc::clone(&first.0.path),
            limited_device: first.1.to_owned(),
            kind: first.2,
            value: first.3,
            hierarchy,
            share_pct: bytes(&|path| applies(first, path)).map(|share| 100.0 * share),
            holds_device,
        })
    }

    /// Returns a limit on these devices that permits less than a request per second. Requests that wait for it are in no
    /// counter, and asynchronous ones block no task: it is the cause if a device above has requests in flight of which none
    /// completes, while these devices have none.
    pub fn blocking_limit<'a>(
        &'a self,
        limited: impl IntoIterator<Item = &'a String>,
    ) -> Option<ReachedLimit> {
        let hierarchy = self.hierarchy?;
        let of_device = |name: &'a String| {
            let cgroups = self.device(name).into_iter().flat_map(|device| &device.cgroups);
            cgroups.flat_map(move |cgroup| cgroup.limits.iter().map(move |limit| (name, cgroup, limit)))
        };
        let mut limits = limited.into_iter().flat_map(of_device);
        let (name, cgroup, limit) = limits.find(|(.., limit)| permits_no_request(limit))?;
        Some(ReachedLimit {
            cgroup: Arc::clone(&cgroup.path),
            limited_device: name.clone(),
            kind: limit.kind,
            value: limit.value,
            hierarchy,
            share_pct: None,
            holds_device: true,
        })
    }

    /// Returns whether a limit that has held a device back still does: it is still set, and the rate is near it or, where
    /// it permits less than a request per second, the device is in trouble.
    pub fn still_holds(&self, known: &ReachedLimit, is_in_trouble: bool) -> bool {
        let cgroups = self.device(&known.limited_device).into_iter().flat_map(|device| &device.cgroups);
        let limits = cgroups.filter(|cgroup| cgroup.path == known.cgroup).flat_map(|cgroup| &cgroup.limits);
        let mut same = limits.filter(|limit| (limit.kind, limit.value) == (known.kind, known.value));
        same.any(|limit| {
            let permitted = limit.value as f64;
            let is_near = (STILL_REACHED[0] * permitted..=STILL_REACHED[1] * permitted).contains(&limit.rate);
            limit.is_reached || limit.is_near || is_near || permits_no_request(limit) && is_in_trouble
        })
    }

    /// Returns the use of a device by the kernel's name; `None` if it had no I/O and no limits.
    pub fn device(&self, name: &str) -> Option<&DeviceUse> {
        self.devices.iter().find(|device| device.name == name)
    }

    fn reached_on<'a>(&'a self, name: &'a str, is_held: bool) -> impl Iterator<Item = Candidate<'a>> {
        let cgroups = self.device(name).into_iter().flat_map(|device| &device.cgroups);
        // Threads of the kernel, which write journals for others, are in the root.
        let has_all_waiting = |path: &str| {
            let paths = self.blocked.iter().filter_map(|task| task.cgroup.as_deref());
            let mut waiting = paths.filter(|path| *path != "/").peekable();
            waiting.peek().is_some() && waiting.all(|task| is_in_cgroup(path, task))
        };
        cgroups.flat_map(move |cgroup| {
            let suffices_near = is_held && has_all_waiting(&cgroup.path);
            let reached =
                cgroup.limits.iter().filter(move |limit| limit.is_reached || suffices_near && limit.is_near);
            reached.map(move |limit| (cgroup, name, limit.kind, limit.value))
        })
    }
}

fn permits_no_request(limit: &LimitUse) -> bool {
    limit.kind.is_bytes() && (limit.value as f64) < SMALLEST_REQUEST_BYTES
}

#[cfg(test)]
mod limit_use_tests {
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

#[cfg(test)]
mod reached_limit_tests {
    use super::*;
    use crate::attribution::IoRates;
    use crate::counters::BlockedTask;

    fn cgroup(path: &str, bytes: f64, limit: Option<u64>) -> CgroupUse {
        let rates = IoRates { reads_per_s: bytes / 4096.0, read_bytes_per_s: bytes, ..IoRates::default() };
        let limits = limit.map(|value| LimitUse {
            kind: LimitKind::ReadIops,
            value,
            rate: value as f64,
            is_reached: true,
            is_near: true,
        });
        CgroupUse { path: path.into(), rates, share_pct: None, limits: limits.into_iter().collect() }
    }

    fn device(name: &str, cgroups: Vec<CgroupUse>) -> DeviceUse {
        let bytes: f64 = cgroups.iter().map(|cgroup| cgroup.rates.read_bytes_per_s).sum();
        let total = IoRates { reads_per_s: bytes / 4096.0, read_bytes_per_s: bytes, ..IoRates::default() };
        DeviceUse { name: name.into(), total, cgroups, ..DeviceUse::default() }
    }

    fn attribution(devices: Vec<DeviceUse>) -> Attribution {
        Attribution { hierarchy: Some(CgroupHierarchy::V2), devices, ..Attribution::default() }
    }

    fn held(attribution: &Attribution, name: &str, below: &[&str]) -> Option<(String, Option<f64>, bool)> {
        let below: Vec<String> = below.iter().map(|name| (*name).to_owned()).collect();
        let limit = attribution.reached_limit(name, &below, false, false)?;
        Some((format!("{} on {}", limit.cgroup, limit.limited_device), limit.share_pct, limit.holds_device))
    }

    #[test]
    fn a_limit_of_less_than_a_request_blocks_whoever_is_in_flight_above() {
        let mut limited = cgroup("/db", 0.0, Some(100));
        let attribution = |limited: &CgroupUse| attribution(vec![device("sda", vec![limited.clone()])]);
        let below = ["sda".to_owned()];
        assert_eq!(attribution(&limited).blocking_limit(&below), None);
        limited.limits[0].kind = LimitKind::ReadBytes;
        let limit = &mut limited.limits[0];
        (limit.is_reached, limit.is_near, limit.rate) = (false, false, 0.0);
        let found = attribution(&limited).blocking_limit(&below).unwrap();
        assert_eq!((&*found.cgroup, found.holds_device), ("/db", true));
        assert!(attribution(&limited).still_holds(&found, true));
        assert!(!attribution(&limited).still_holds(&found, false));
        limited.limits[0].value = 1 << 20;
        assert_eq!(attribution(&limited).blocking_limit(&below), None);
    }

    #[test]
    fn cgroups_at_their_limit_hold_a_device_back_if_most_of_it_is_theirs() {
        let of = |db, other| {
            attribution(vec![device("sda", vec![cgroup("/db", db, Some(50)), cgroup("/other", other, None)])])
        };
        let found = |share, holds| Some(("/db on sda".to_owned(), Some(share), holds));
        assert_eq!(held(&of(60.0, 40.0), "sda", &[]), found(60.0, true));
        assert_eq!(held(&of(40.0, 60.0), "sda", &[]), found(40.0, false));
        assert_eq!(held(&of(40.0, 60.0), "sdb", &[]), None);
        let without = attribution(vec![device("sda", vec![cgroup("/db", 60.0, None)])]);
        assert_eq!(held(&without, "sda", &[]), None);
    }

    #[test]
    fn several_limited_cgroups_hold_it_together() {
        let cgroups =
            vec![cgroup("/a", 30.0, Some(50)), cgroup("/b", 30.0, Some(50)), cgroup("/c", 40.0, None)];
        let (name, share, holds) = held(&attribution(vec![device("sda", cgroups)]), "sda", &[]).unwrap();
        assert!(name.ends_with("on sda") && share == Some(30.0) && holds, "{name}");
    }

    #[test]
    fn in_version_2_a_limit_applies_to_descendants() {
        let cgroups =
            vec![cgroup("/db", 0.0, Some(50)), cgroup("/db/w", 90.0, None), cgroup("/x", 10.0, None)];
        let mut found = attribution(vec![device("sda", cgroups)]);
        assert_eq!(held(&found, "sda", &[]), Some(("/db on sda".to_owned(), Some(90.0), true)));
        found.hierarchy = Some(CgroupHierarchy::V1);
        assert_eq!(held(&found, "sda", &[]), Some(("/db on sda".to_owned(), Some(0.0), false)));
    }

    #[test]
    fn a_limit_on_a_device_below_holds_the_volume() {
        let below = device("sda", vec![cgroup("/db", 60.0, Some(50)), cgroup("/x", 600.0, None)]);
        let volume = device("dm-0", vec![cgroup("/db", 60.0, None)]);
        let other = device("dm-1", vec![cgroup("/x", 600.0, None)]);
        let found = attribution(vec![below, volume, other]);
        assert_eq!(held(&found, "dm-0", &["sda"]), Some(("/db on sda".to_owned(), Some(100.0), true)));
        assert_eq!(held(&found, "dm-1", &["sda"]), None);
        assert!(!held(&found, "sda", &[]).unwrap().2);
    }

    #[test]
    fn requests_that_are_held_above_a_reached_limit_wait_for_it() {
        // The journal below, and buffered writes above, are charged to the root.
        let below = device("sda", vec![cgroup("/db", 40.0, Some(50)), cgroup("/", 60.0, None)]);
        let volume = device("dm-0", vec![cgroup("/", 60.0, None)]);
        let mut found = attribution(vec![below, volume]);
        let below = ["sda".to_owned()];
        let holds = |found: &Attribution, is_held| {
            found.reached_limit("dm-0", &below, false, is_held).is_some_and(|limit| limit.holds_device)
        };
        assert_eq!([false, true].map(|is_held| holds(&found, is_held)), [false, true]);
        found.hierarchy = Some(CgroupHierarchy::V1);
        assert!(holds(&found, true));
        found.devices.push(device("dm-1", vec![cgroup("/db", 40.0, None)]));
        assert!(!holds(&found, true), "it is another volume that the cgroup uses");
    }

    #[test]
    fn where_requests_are_held_a_limit_that_is_near_suffices_if_only_its_cgroup_waits() {
        let mut limited = cgroup("/db", 40.0, Some(50));
        limited.limits[0].is_reached = false;
        let volume = device("dm-0", vec![cgroup("/", 60.0, None)]);
        let mut found = attribution(vec![device("sda", vec![limited]), volume]);
        let is_found = |found: &Attribution, is_held| {
            found.reached_limit("dm-0", &["sda".to_owned()], false, is_held).is_some()
        };
        let task = |path: &str| BlockedTask { cgroup: Some(path.into()), ..BlockedTask::default() };
        assert!(!is_found(&found, true));
        found.blocked = vec![task("/db/w"), task("/")];
        assert_eq!([false, true].map(|is_held| is_found(&found, is_held)), [false, true]);
        found.blocked.push(task("/other"));
        assert!(!is_found(&found, true));
        found.blocked.pop();
        found.devices[0].cgroups[0].limits[0].is_near = false;
        assert!(!is_found(&found, true));
    }

    #[test]
    fn cgroups_that_alone_wait_hold_a_device_back() {
        let cgroups = || vec![cgroup("/db", 1.0, Some(50)), cgroup("/other", 99.0, None)];
        let task = |path: &str| BlockedTask { cgroup: Some(path.into()), ..BlockedTask::default() };
        let with = |blocked| Attribution { blocked, ..attribution(vec![device("sda", cgroups())]) };
        let holds = |found: &Attribution| held(found, "sda", &[]).unwrap().2;
        assert!(holds(&with(vec![task("/db"), task("/db/w")])));
        assert!(!holds(&with(vec![task("/db"), task("/other")])) && !holds(&with(Vec::new())));
    }
}
