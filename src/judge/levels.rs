//! Levels of concurrency as they occurred, and the capacity that they show: the highest rate that a device held, and whether
//! more load would bring more.

use serde::Serialize;

use super::by_class::ByClass;
use super::judged::Compared;
use super::limit::Plateau;
use super::thresholds::{
    CAP_QUEUE, CLEARLY_FASTER, CLEARLY_LESS, MIN_FELT_QUEUE, MIN_REQUESTS, MIN_SHARE,
};
use super::verdict::Verdict;
use crate::attribution::IoDirection;
use crate::metrics::{Completed, Interval};

/// Relative deviation within which the rate stays the same although the queue grows.
const MAX_RATE_TOLERANCE: f64 = 0.05;
/// Growth of the queue to about twice as much, less some scatter.
const ABOUT_TWICE: f64 = 1.9;
/// Queues are told apart by the sixteenth of a power of two: 4%.
const BINS_PER_OCTAVE: f64 = 16.0;
/// Shorter queues are one level: no task waits in them.
const MIN_QUEUE: f64 = 0.1;
/// Fewest intervals of a level: fewer are a transition, or chance.
const MIN_LEVEL_INTERVALS: u64 = 2;

/// The intervals of about one concurrency.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ConcurrencyLevel {
    /// Mean number of requests in the queue or being served, weighted by time.
    pub queue: f64,
    /// Number of intervals.
    pub intervals: u64,
    /// Mean requests per second: multiplied by `await_ms`, it is the queue (Little's law).
    pub iops: f64,
    /// MiB per second, the mean.
    pub mib_per_s: f64,
    /// Mean latency in milliseconds: the time of all requests over their number.
    pub await_ms: f64,
    /// Latency as a multiple of unloaded latency; `None` if that is not known for most of the level.
    pub saturation: Option<f64>,
}

/// The requests of the intervals of a level.
#[derive(Clone, Copy, Debug, Default)]
struct Level {
    requests: Completed,
    intervals: u64,
    /// Intervals in which requests waited for each other.
    waiting: u64,
    compared: Compared,
}

impl Level {
    /// Returns whether it lasted for more than a transition.
    fn has_lasted(&self) -> bool {
        self.intervals >= MIN_LEVEL_INTERVALS
    }

    fn plus(self, other: &Self) -> Self {
        Self {
            requests: self.requests.followed_by(&other.requests),
            intervals: self.intervals + other.intervals,
            waiting: self.waiting + other.waiting,
            compared: self.compared.plus(&other.compared),
        }
    }

    fn queue(&self) -> f64 {
        self.requests.queue().unwrap_or(0.0)
    }

    fn iops(&self) -> f64 {
        self.requests.ios.sum / self.requests.seconds()
    }

    fn mib_per_s(&self) -> f64 {
        self.requests.kib() / 1024.0 / self.requests.seconds()
    }

    fn finish(&self) -> ConcurrencyLevel {
        ConcurrencyLevel {
            queue: self.queue(),
            intervals: self.intervals,
            iops: self.iops(),
            mib_per_s: self.mib_per_s(),
            await_ms: self.requests.await_ms().unwrap_or(0.0),
            saturation: self
                .compared
                .saturation(CLEARLY_FASTER * self.requests.time.sum),
        }
    }
}

/// The requests of one direction by the queue that they met.
#[derive(Clone, Debug, Default)]
pub(super) struct Levels(ByClass<i32, Level>);

impl Levels {
    /// Takes the requests of an interval with the verdict on it, and the multiple of the unloaded latency that they took.
    fn observe(&mut self, requests: &Completed, verdict: Option<Verdict>, saturation: Option<f64>) {
        let Some(queue) = requests.queue().filter(|queue| *queue > 0.0) else {
            return;
        };
        let bin = (queue.max(MIN_QUEUE).log2() * BINS_PER_OCTAVE).round() as i32;
        let now = Level {
            requests: *requests,
            intervals: 1,
            waiting: u64::from(verdict >= Some(Verdict::Queueing)),
            compared: Compared::of(requests, saturation),
        };
        let level = self.0.get_or_insert_with(bin, Level::default);
        *level = level.plus(&now);
    }

    /// The levels, the lowest first: neighboring queues are one level, up to a power of two.
    fn merged(&self) -> Vec<Level> {
        let mut merged: Vec<Level> = Vec::new();
        let mut first = 0;
        let mut last = i32::MIN;
        for (bin, level) in self.0.iter() {
            let is_near = last >= bin - 2 && f64::from(bin - first) < BINS_PER_OCTAVE;
            match merged.last_mut() {
                Some(present) if is_near => *present = present.plus(level),
                _ => {
                    merged.push(*level);
                    first = *bin;
                }
            }
            last = *bin;
        }
        merged
    }

    /// The levels that were held, the lowest first; all if none was.
    pub(super) fn finish(&self) -> Vec<ConcurrencyLevel> {
        let mut levels = self.merged();
        if levels.iter().any(Level::has_lasted) {
            levels.retain(Level::has_lasted);
        }
        levels.iter().map(Level::finish).collect()
    }

    /// The capacity that the levels show, with the plateaus of their direction; `None` without levels.
    fn capacity_with(
        &self,
        plateaus: &[Plateau],
        direction: IoDirection,
    ) -> Option<CapacityReport> {
        let mut own = Vec::from_iter(plateaus);
        own.retain(|plateau| plateau.direction == direction);
        Some(self.capacity()?.with_plateaus(&own))
    }

    /// The capacity that the levels show; `None` without any.
    fn capacity(&self) -> Option<CapacityReport> {
        if self.0.is_empty() {
            return None;
        }
        let mut capacity = CapacityReport::default();
        let mut loaded = Vec::new();
        for level in self.merged() {
            if !level.has_lasted() {
                continue;
            }
            capacity.max_iops = higher(capacity.max_iops, level.iops());
            capacity.max_mib_per_s = higher(capacity.max_mib_per_s, level.mib_per_s());
            let has_requests = level.requests.ios.sum >= MIN_REQUESTS * level.intervals as f64;
            if level.queue() >= MIN_FELT_QUEUE && has_requests {
                loaded.push(level);
            }
        }
        let Some(first) = first_at_maximum(&loaded) else {
            return Some(capacity);
        };
        let at_maximum = &loaded[first..];
        let (mut waiting, mut all) = (0, 0);
        for level in at_maximum {
            waiting += level.waiting;
            all += level.intervals;
        }
        // A rate that stays the same may be the one at which requests arrive.
        let is_limited = waiting as f64 >= CLEARLY_FASTER * all as f64;
        if !is_limited || at_maximum[0].queue() < CAP_QUEUE {
            capacity.is_offered_rate = true;
            return Some(capacity);
        }
        capacity.is_max_known = true;
        capacity.knee_low = first.checked_sub(1).map(|below| loaded[below].queue());
        capacity.knee_high = Some(at_maximum[0].queue());
        Some(capacity)
    }
}

/// The index of the first level at about the highest rate; `None` unless the queue about doubles among the levels at it, of which
/// those that are short beside the others do not count.
fn first_at_maximum(levels: &[Level]) -> Option<usize> {
    let max = levels.iter().map(Level::iops).reduce(f64::max)?;
    let mut at_maximum = Vec::from_iter(levels);
    at_maximum.retain(|level| level.iops() >= (1.0 - 2.0 * MAX_RATE_TOLERANCE) * max);
    let all: u64 = at_maximum.iter().map(|level| level.intervals).sum();
    at_maximum.retain(|level| level.intervals as f64 >= MIN_SHARE * all as f64);
    let (shortest, longest) = (at_maximum.first()?, at_maximum.last()?);
    if longest.queue() < ABOUT_TWICE * shortest.queue() {
        return None;
    }
    levels
        .iter()
        .position(|level| level.queue() >= shortest.queue())
}

/// Returns the higher of a rate and the highest so far.
fn higher(highest: Option<f64>, rate: f64) -> Option<f64> {
    Some(highest.map_or(rate, |highest| highest.max(rate)))
}

/// The capacity of a device or of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct CapacityReport {
    /// The highest rate of a level of concurrency, in requests per second; `None` without a level.
    pub max_iops: Option<f64>,
    /// The highest rate of a level in MiB per second.
    pub max_mib_per_s: Option<f64>,
    /// The rate stayed the same while the queue grew, but it may be the one at which requests arrived, so the device may do
    /// more.
    #[serde(rename = "offered_rate")]
    pub is_offered_rate: bool,
    /// A plateau shows the maximum.
    #[serde(rename = "proven")]
    pub is_proven: bool,
    /// The direction whose rate stayed constant; `None` without a plateau.
    pub capped: Option<IoDirection>,
    /// `max_iops` is the maximum: the rate stayed the same while the queue at least doubled, and latency with it.
    #[serde(rename = "max_known")]
    pub is_max_known: bool,
    /// The queue of the last level below the maximum, from which more load still brought more; `None` if every level is
    /// at the maximum or that is not known.
    pub knee_low: Option<f64>,
    /// The queue of the first level at the maximum, from which more load brought no more; `None` if the maximum is not
    /// known.
    pub knee_high: Option<f64>,
}

impl CapacityReport {
    /// Adds plateaus: the highest is the maximum. The knee stays where the levels show the same maximum.
    fn with_plateaus(self, plateaus: &[&Plateau]) -> Self {
        let Some(highest) = plateaus.iter().max_by(|a, b| a.iops.total_cmp(&b.iops)) else {
            return self;
        };
        let is_same = self
            .max_iops
            .is_some_and(|max| (max / highest.iops - 1.0).abs() <= MAX_RATE_TOLERANCE);
        let knee = if is_same && plateaus.len() == 1 {
            [self.knee_low, self.knee_high]
        } else {
            [None, None]
        };
        Self {
            max_iops: Some(highest.iops),
            max_mib_per_s: Some(highest.mib_per_s),
            is_offered_rate: false,
            is_proven: true,
            capped: Some(highest.direction),
            is_max_known: true,
            knee_low: knee[0],
            knee_high: knee[1],
        }
    }
}

/// The capacity by direction; that of one direction is measured while there were hardly any requests of the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct CapacityByDirection {
    /// Of reads; `None` without intervals of reads alone.
    pub read: Option<CapacityReport>,
    /// Of writes; `None` without intervals of writes alone.
    pub write: Option<CapacityReport>,
    /// Of both together.
    #[serde(rename = "all")]
    pub both: Option<CapacityReport>,
}

/// The levels of reads alone, of writes alone, and of both together.
#[derive(Clone, Debug, Default)]
pub(super) struct DeviceLevels {
    reads: Levels,
    writes: Levels,
    pub(super) both: Levels,
}

impl DeviceLevels {
    /// Takes an interval with the verdict on it, and the multiple of the unloaded latency that its requests took.
    pub(super) fn observe(
        &mut self,
        interval: &Interval,
        verdict: Option<Verdict>,
        saturation: Option<f64>,
    ) {
        let both = interval.reads_and_writes();
        let most = (1.0 - MIN_SHARE) * both.ios.sum;
        if interval.reads.ios.sum >= most {
            self.reads.observe(&interval.reads, verdict, saturation);
        }
        if interval.writes.ios.sum >= most {
            self.writes.observe(&interval.writes, verdict, saturation);
        }
        self.both.observe(&both, verdict, saturation);
    }

    /// The capacity by direction, with the plateaus of the device.
    pub(super) fn capacity(&self, plateaus: &[Plateau]) -> CapacityByDirection {
        CapacityByDirection {
            read: self.reads.capacity_with(plateaus, IoDirection::Reads),
            write: self.writes.capacity_with(plateaus, IoDirection::Writes),
            both: self.both.capacity_with(plateaus, IoDirection::Both),
        }
    }

    /// The capacity of both directions together. A cap on a direction with only a part of the requests is none of the device.
    pub(super) fn capacity_of_all(&self, plateaus: &[Plateau], sum: &Interval) -> CapacityReport {
        let total = sum.reads.ios.sum + sum.writes.ios.sum;
        let mut dominant = Vec::from_iter(plateaus);
        dominant.retain(|plateau| match plateau.direction {
            IoDirection::Reads => sum.reads.ios.sum >= CLEARLY_LESS * total,
            IoDirection::Writes => sum.writes.ios.sum >= CLEARLY_LESS * total,
            IoDirection::Both | IoDirection::Flushes => true,
        });
        let capacity = self.both.capacity().unwrap_or_default();
        capacity.with_plateaus(&dominant)
    }
}
