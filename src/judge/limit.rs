//! A limit above the device: while requests wait, the rate is steadier than chance and than the arrivals.

use super::load::{Load, LoadOfKind};
use super::settings::StatedCap;
use super::thresholds::{
    CAP_EXCEEDED, CAP_QUEUE, CAP_REQUESTS, CAP_RUN, CAP_STEP, CLEARLY_MORE, EVEN,
    MAX_PACE_VARIANCE, MAX_STEPS, MIN_QUEUE, MIN_SHARE, POISSON_CHANGE, QUARTILE, SATURATED,
    VERY_EVEN,
};
use crate::attribution::IoDirection::{self, Both, Flushes, Reads, Writes};
use crate::attribution::RateUnit::{self, Kib, Requests};
use crate::attribution::{Limit, LimitSource, LimitedRate};

/// The rates that a limit can hold, in the order in which they are looked at.
const RATES: [LimitedRate; 6] = [
    LimitedRate::of(Both, Requests),
    LimitedRate::of(Both, Kib),
    LimitedRate::of(Reads, Requests),
    LimitedRate::of(Reads, Kib),
    LimitedRate::of(Writes, Requests),
    LimitedRate::of(Writes, Kib),
];

/// A time in which a rate stayed constant while requests waited.
#[derive(Clone, Debug, PartialEq)]
pub struct Plateau {
    pub direction: IoDirection,
    /// The unit in which it is constant.
    pub unit: RateUnit,
    /// Requests per second, the mean.
    pub iops: f64,
    /// MiB per second, the mean.
    pub mib_per_s: f64,
    /// Relative standard deviation of the rate.
    pub variation: f64,
    pub intervals: u64,
    pub seconds: f64,
    /// The shortest mean queue on it.
    pub queue_from: f64,
    /// The longest mean queue on it.
    pub queue_to: f64,
    /// Mean latency in milliseconds at the shortest queue.
    pub await_from_ms: f64,
    /// Mean latency in milliseconds at the longest queue.
    pub await_to_ms: f64,
    /// Given if it is at the cap that the user states, or else inferred.
    pub source: LimitSource,
}

impl Plateau {
    /// The limit of a device at which it stays; `None` for a plateau of flushes.
    pub fn limit(&self, device: &str) -> Option<Limit> {
        if self.direction == Flushes {
            return None;
        }
        Some(Limit {
            owner: None,
            device: device.into(),
            direction: self.direction,
            unit: self.unit,
            value: self.rate(),
            source: self.source,
        })
    }

    /// Returns whether its requests are so large that the limit may be on bytes.
    pub fn has_large_requests(&self) -> bool {
        const LARGE_KIB: f64 = 64.0;
        self.mib_per_s * 1024.0 >= LARGE_KIB * self.iops
    }

    /// Its rate in the unit that is constant.
    pub fn rate(&self) -> f64 {
        match self.unit {
            Requests => self.iops,
            Kib => self.mib_per_s * 1024.0,
        }
    }

    /// Returns the plateau with what an earlier one at the same limit shows of shorter queues.
    fn since(self, earlier: &Self) -> Self {
        if !self.is_same(earlier) || earlier.queue_from >= self.queue_from {
            return self;
        }
        Self {
            queue_from: earlier.queue_from,
            await_from_ms: earlier.await_from_ms,
            ..self
        }
    }

    /// Returns whether another plateau is at the same limit.
    pub fn is_same(&self, other: &Self) -> bool {
        (self.direction, self.unit) == (other.direction, other.unit)
            && (self.rate() / other.rate() - 1.0).abs() <= CAP_STEP
    }
}

/// A step in the memory of the limits of a device.
#[derive(Clone, Copy, Debug)]
struct LimitStep {
    load: Load,
    /// The multiple of the highest unloaded latency that reads and writes took.
    over: [f64; 2],
}

impl LimitStep {
    /// The requests of a direction.
    fn requests(&self, direction: IoDirection) -> LoadOfKind {
        let [reads, writes, _] = self.load.kinds;
        match direction {
            Reads => reads,
            Writes => writes,
            Both | Flushes => LoadOfKind {
                count: reads.count + writes.count,
                kib: reads.kib + writes.kib,
                ms: self.load.ms(),
            },
        }
    }

    /// Requests or KiB per second.
    fn rate(&self, limited: LimitedRate) -> f64 {
        let requests = self.requests(limited.direction);
        let amount = match limited.unit {
            Requests => requests.count,
            Kib => requests.kib,
        };
        amount / self.load.seconds
    }

    /// The mean latency of the requests of a direction in milliseconds. A log may round their number to zero.
    fn await_ms(&self, direction: IoDirection) -> f64 {
        let requests = self.requests(direction);
        requests.ms / requests.count.max(1.0)
    }

    fn over(&self, direction: IoDirection) -> f64 {
        let [reads, writes] = self.over;
        match direction {
            Reads => reads,
            Writes => writes,
            Both | Flushes => reads.max(writes),
        }
    }

    fn waits(&self) -> bool {
        self.load.queue >= CAP_QUEUE
    }
}

/// The most steps that are kept beyond the latest ones, so that they need not move for each step.
const OLDER: usize = 16;

/// The latest steps of a device, and the limits found so far.
#[derive(Clone, Debug, Default)]
pub(super) struct RateHistory {
    stated: StatedCap,
    /// In the order of time, [`MAX_STEPS`] of them and up to [`OLDER`] more, which are dropped all at once.
    latest: Vec<LimitStep>,
    /// The limit on each of [`RATES`] that was found; `None` without one.
    known: [Option<Plateau>; RATES.len()],
}

impl RateHistory {
    pub(super) fn new(stated: Option<StatedCap>) -> Self {
        Self {
            stated: stated.unwrap_or_default(),
            ..Self::default()
        }
    }

    /// Forgets the latest steps; limits that were found stay.
    pub(super) fn forget_steps(&mut self) {
        self.latest = Vec::new();
    }

    /// Takes a step, in which reads and writes took `over` times the highest unloaded latency. Returns the limit that holds
    /// the device; `None` if none is seen.
    pub(super) fn observe(&mut self, load: &Load, over: [f64; 2]) -> Option<Plateau> {
        if self.latest.len() == MAX_STEPS + OLDER {
            self.latest.drain(..=OLDER);
        }
        let count = self.latest.len();
        if count == self.latest.capacity() {
            let room = (2 * count).clamp(4, MAX_STEPS + OLDER);
            self.latest.reserve_exact(room - count);
        }
        let now = LimitStep { load: *load, over };
        self.latest.push(now);
        if !now.waits() {
            return None;
        }
        for (at, limited) in RATES.into_iter().enumerate() {
            let rate = now.rate(limited);
            if rate <= 0.0 {
                continue;
            }
            if self.is_at_stated(limited, rate) && load.queue >= MIN_QUEUE {
                return Some(self.plateau(limited, &[now]));
            }
            if let Some(known) = &self.known[at] {
                let is_near = (rate / known.rate() - 1.0).abs() <= CAP_STEP;
                if is_near && now.over(limited.direction) >= SATURATED {
                    return Some(self.plateau(limited, self.run(limited, rate)).since(known));
                }
                if rate > CAP_EXCEEDED * known.rate() {
                    self.known[at] = None;
                }
            }
            let run = self.run(limited, rate);
            if run.len() >= CAP_RUN && is_even(run, limited) {
                let mut plateau = self.plateau(limited, run);
                if let Some(known) = &self.known[at] {
                    plateau = plateau.since(known);
                }
                self.known[at] = Some(plateau.clone());
                return Some(plateau);
            }
        }
        None
    }

    /// The latest steps in a row that are near a rate, and in which requests wait.
    fn run(&self, limited: LimitedRate, rate: f64) -> &[LimitStep] {
        let latest = &self.latest[self.latest.len().saturating_sub(MAX_STEPS)..];
        let mut begin = latest.len();
        for step in latest.iter().rev() {
            if !step.waits() || (step.rate(limited) / rate - 1.0).abs() > CAP_STEP {
                break;
            }
            begin -= 1;
        }
        &latest[begin..]
    }

    /// Returns whether a rate is at the cap that the user states.
    fn is_at_stated(&self, limited: LimitedRate, rate: f64) -> bool {
        match self.stated.value(limited.unit) {
            Some(cap) => limited.direction == Both && (rate / cap - 1.0).abs() <= CAP_STEP,
            None => false,
        }
    }

    fn plateau(&self, limited: LimitedRate, run: &[LimitStep]) -> Plateau {
        let LimitedRate { direction, unit } = limited;
        let seconds = sum(run, |step| step.load.seconds);
        let iops = sum(run, |step| step.requests(direction).count) / seconds;
        let kib = sum(run, |step| step.requests(direction).kib) / seconds;
        let count = run.len() as f64;
        let mean = sum(run, |step| step.rate(limited)) / count;
        let squares = sum(run, |step| (step.rate(limited) / mean - 1.0).powi(2));
        let mut by_queue = Vec::from_iter(run);
        by_queue.sort_by(|a, b| a.load.queue.total_cmp(&b.load.queue));
        let (shortest, longest) = (by_queue[0], by_queue[by_queue.len() - 1]);
        let source = if self.is_at_stated(limited, mean) {
            LimitSource::Given
        } else {
            LimitSource::Inferred
        };
        Plateau {
            direction: only_direction(run).unwrap_or(direction),
            unit,
            iops,
            mib_per_s: kib / 1024.0,
            variation: (squares / count).sqrt(),
            intervals: run.len() as u64,
            seconds,
            queue_from: shortest.load.queue,
            queue_to: longest.load.queue,
            await_from_ms: shortest.await_ms(direction),
            await_to_ms: longest.await_ms(direction),
            source,
        }
    }
}

/// The direction of practically all requests of a run; `None` if there are reads and writes.
fn only_direction(run: &[LimitStep]) -> Option<IoDirection> {
    const MOST: f64 = 0.99;
    let all = sum(run, |step| step.requests(Both).count);
    let mut directions = [Reads, Writes].into_iter();
    directions.find(|direction| sum(run, |step| step.requests(*direction).count) >= MOST * all)
}

/// The sum of an amount over the steps of a run.
fn sum(run: &[LimitStep], amount: impl Fn(&LimitStep) -> f64) -> f64 {
    run.iter().map(amount).sum()
}

/// Returns whether the rate of a run is steadier than chance, while the queue grew or requests took far longer, and steadier
/// than the arrivals.
fn is_even(run: &[LimitStep], limited: LimitedRate) -> bool {
    let requests = sum(run, |step| step.requests(limited.direction).count);
    let mean_requests = requests / run.len() as f64;
    if mean_requests < CAP_REQUESTS || is_paced(run) {
        return false;
    }
    let jitter_over_chance =
        quartile_of_changes(run, limited) / (POISSON_CHANGE / mean_requests.sqrt());
    let done = sum(run, |step| step.load.done());
    let mut queues: Vec<f64> = run.iter().map(|step| step.load.queue).collect();
    queues.sort_by(f64::total_cmp);
    // The second longest queue and the second shortest: one outlier at each end does no harm.
    let has_grown = queues[queues.len() - 2] >= CLEARLY_MORE * queues[1]
        && requests >= (1.0 - MIN_SHARE) * done;
    if has_grown && jitter_over_chance < EVEN {
        return true;
    }
    // Without requests in flight, nothing shows whether the arrivals are as even.
    let mut waiting = 0;
    for step in run {
        if step.load.in_flight.is_none() {
            return false;
        }
        waiting += usize::from(step.over(limited.direction) >= CLEARLY_MORE);
    }
    jitter_over_chance < VERY_EVEN && 2 * waiting > run.len()
}

/// The upper quartile of the changes from one rate to the next, relative to their mean.
fn quartile_of_changes(run: &[LimitStep], limited: LimitedRate) -> f64 {
    let rates: Vec<f64> = run.iter().map(|step| step.rate(limited)).collect();
    let mean = rates.iter().sum::<f64>() / rates.len() as f64;
    let mut changes = Vec::with_capacity(rates.len());
    for pair in rates.windows(2) {
        changes.push((pair[0] - pair[1]).abs() / mean);
    }
    changes.sort_by(f64::total_cmp);
    changes[(QUARTILE * changes.len() as f64) as usize]
}

/// Returns whether requests arrive more evenly than they complete: that is the pace of a client.
fn is_paced(run: &[LimitStep]) -> bool {
    let pace = sum(run, |step| step.load.completed) / sum(run, |step| step.load.seconds);
    let (mut of_completions, mut of_arrivals) = (0.0, 0.0);
    for step in run {
        let Some([begin, end]) = step.load.in_flight else {
            return false;
        };
        let beyond = step.load.completed - pace * step.load.seconds;
        of_completions += beyond.powi(2);
        of_arrivals += (beyond + end - begin).powi(2);
    }
    of_arrivals < MAX_PACE_VARIANCE * of_completions
}

#[cfg(test)]
mod memory_tests {
    use super::*;
    use crate::metrics::Interval;

    #[test]
    fn a_history_takes_the_memory_of_its_steps() {
        let mut history = RateHistory::default();
        let load = Load::of(&Interval::unknown(1.0));
        for _ in 0..3 {
            history.observe(&load, [1.0; 2]);
        }
        assert_eq!(history.latest.capacity(), 4);
        for _ in 0..1000 {
            history.observe(&load, [1.0; 2]);
        }
        assert_eq!(history.latest.capacity(), MAX_STEPS + OLDER);
        history.forget_steps();
        assert_eq!(history.latest.capacity(), 0);
    }
}
