//! Requests that hang while others complete.

use std::borrow::Borrow;

use crate::analysis::load::{IoDirection, LoadSample, weighted_median_of};
use crate::analysis::thresholds::{
    HUNG_WINDOW_INTERVALS, MIN_ALWAYS_BUSY_UTIL_PCT, MIN_HUNG_REQUESTS, MIN_IN_STEP_MS,
    MIN_LEAKED_S, MIN_STALL_LATENCY_RATIO, MIN_STALL_S, MOST_FRACTION, THROTTLE_SLICE_S,
    USUAL_LATENCY_INTERVALS,
};
use crate::metrics::{HostStats, Interval};

/// Pressure in percent up to which no task waits for I/O.
const NO_PRESSURE_PCT: f64 = 0.5;

/// Requests that hang.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Hung {
    /// At least this number of requests.
    pub(crate) requests: u64,
    /// Seconds for which this has lasted at least.
    pub(crate) for_s: f64,
    /// No task waits for them, so the kernel may have missed their completion in its count.
    pub(crate) may_be_leaked: bool,
    /// This number of requests may be issued, or released by a limit above, just before every sample.
    pub(crate) may_be_bursts: bool,
}

impl Hung {
    /// Returns whether requests that hang are the only explanation.
    pub(crate) fn is_certain(&self) -> bool {
        !self.may_be_leaked && !self.may_be_bursts
    }
}

/// The requests in flight at the end of an interval.
#[derive(Clone, Copy, Debug, Default)]
struct EndOfInterval {
    in_flight: u64,
    /// The mean queue in the interval.
    queue: f64,
    seconds: f64,
    may_be_burst: bool,
    /// Requests completed in it.
    had_completions: bool,
}

/// Finds requests that hang: over several intervals, far more requests are in flight than the mean queue of the
/// completed ones. The kernel adds a request's time only when it completes.
#[derive(Clone, Debug, Default)]
pub(crate) struct HungRequests {
    /// The latest intervals. A ring buffer: the latest interval replaces the oldest.
    latest: [EndOfInterval; HUNG_WINDOW_INTERVALS],
    /// The number of intervals so far.
    count: usize,
    hung_s: f64,
    /// Seconds for which the lowest number in flight has been the same while no task waited for I/O.
    unmissed_s: f64,
    least: u64,
}

impl HungRequests {
    /// Takes an interval of the device and the host. Returns the requests that hang; `None` if none do.
    pub(crate) fn observe(&mut self, stats: &Interval, host: &HostStats) -> Option<Hung> {
        let Some(in_flight) = stats.in_flight else {
            self.clear();
            return None;
        };
        let queues = [stats.reads.queue(), stats.writes.queue(), stats.queue()];
        let queue = queues.into_iter().flatten().fold(0.0, f64::max);
        let may_be_burst = may_be_in_step(stats, in_flight);
        let seconds = stats.seconds();
        let had_completions = stats.completed() > 0;
        self.latest[self.count % HUNG_WINDOW_INTERVALS] = EndOfInterval {
            in_flight,
            queue,
            seconds,
            may_be_burst,
            had_completions,
        };
        self.count += 1;
        let known = self.count.min(HUNG_WINDOW_INTERVALS);
        let least = self.latest[..known]
            .iter()
            .map(|one| one.in_flight)
            .min()
            .unwrap_or_default();
        let no_task_waits = host.blocked == Some(0)
            && host
                .pressure_some_pct
                .is_some_and(|some| some <= NO_PRESSURE_PCT);
        let is_same = in_flight > 0 && least == self.least && no_task_waits;
        self.unmissed_s = if is_same {
            self.unmissed_s + stats.seconds()
        } else {
            0.0
        };
        self.least = least;
        let least = least as f64;
        // Usually too few requests are in flight, whatever the mean queue is.
        if known < HUNG_WINDOW_INTERVALS || least < MIN_HUNG_REQUESTS {
            self.hung_s = 0.0;
            return None;
        }
        let (earlier, later) = self.latest.split_at(self.count % HUNG_WINDOW_INTERVALS);
        let in_order = || later.iter().chain(earlier);
        let seconds: f64 = in_order().map(|one| one.seconds).sum();
        let mean_queue = in_order().map(|one| one.queue * one.seconds).sum::<f64>() / seconds;
        // In a stall all requests wait, and most of them came after it began.
        let completing = self.latest.iter().filter(|one| one.had_completions).count();
        let is_hung = least >= MIN_HUNG_REQUESTS * mean_queue + MIN_HUNG_REQUESTS
            && completing as f64 >= MOST_FRACTION * HUNG_WINDOW_INTERVALS as f64;
        self.hung_s = match (is_hung, self.hung_s > 0.0) {
            (false, _) => 0.0,
            (true, false) => seconds,
            (true, true) => self.hung_s + stats.seconds(),
        };
        let may_be_leaked = self.may_be_leaked();
        let requests = (least - mean_queue).max(1.0) as u64;
        let may_be_bursts = self.latest.iter().any(|one| one.may_be_burst);
        is_hung.then_some(Hung {
            requests,
            for_s: self.hung_s,
            may_be_leaked,
            may_be_bursts,
        })
    }

    /// Returns whether the lowest number in flight has not changed for minutes while no task waited for I/O.
    pub(crate) fn may_be_leaked(&self) -> bool {
        self.unmissed_s >= MIN_LEAKED_S
    }

    /// Forgets everything, after a break.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }
}

/// Returns whether the requests in flight at the end of the interval may be a burst, rather than those that were in
/// flight at the end of the interval before: at least as many completed in between.
///
/// Timers and limits issue requests at a constant period, such as every second or every five, and the sampler has one
/// that is a multiple of it: all samples then see the same moment of a burst, however short the mean queue is. Between
/// such bursts the device is idle, unless they follow each other within a slice of the kernel's throttle; with requests
/// that hang, it counts as busy all the time.
fn may_be_in_step(stats: &Interval, in_flight: u64) -> bool {
    let directions = [&stats.reads, &stats.writes];
    let per_s: f64 = directions
        .iter()
        .filter_map(|direction| direction.per_s())
        .sum();
    let longest_ms = directions
        .iter()
        .filter_map(|direction| direction.await_ms())
        .fold(0.0, f64::max);
    let is_always_busy = stats
        .util_pct()
        .is_some_and(|util| util >= MIN_ALWAYS_BUSY_UTIL_PCT);
    let max_period_s = if is_always_busy {
        THROTTLE_SLICE_S.min(stats.seconds())
    } else {
        stats.seconds()
    };
    in_flight as f64 <= max_period_s * per_s && longest_ms >= MIN_IN_STEP_MS
}

/// Returns whether `stalled_s` seconds with requests in flight and no completion are a stall on a device with these
/// latest loads. A slow device may need a second for a single request.
pub(crate) fn is_stall<L: Borrow<LoadSample>>(
    stalled_s: f64,
    latest: impl FnOnce(usize) -> Vec<L>,
) -> bool {
    stalled_s >= MIN_STALL_S && {
        let loads = latest(USUAL_LATENCY_INTERVALS);
        let loads: Vec<&LoadSample> = loads.iter().map(Borrow::borrow).collect();
        // If several are in flight, the next completion comes sooner.
        let distance_ms = |load: &LoadSample| {
            let await_ms = load.totals(IoDirection::Both).await_ms()?;
            Some(await_ms / load.queue(IoDirection::Both).max(1.0))
        };
        let usual_ms = weighted_median_of(&loads, distance_ms).unwrap_or(0.0);
        stalled_s >= MIN_STALL_LATENCY_RATIO * usual_ms / 1000.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Completed;

    fn interval(in_flight: u64, queue: f64) -> Interval {
        Interval {
            in_flight: Some(in_flight),
            other_ios: 10,
            ..Interval::unknown(1.0).with_queue(queue)
        }
    }

    #[test]
    fn requests_in_flight_far_above_the_queue_of_the_others_hang() {
        let mut hung = HungRequests::default();
        let unknown = HostStats::default();
        for _ in 0..9 {
            assert_eq!(hung.observe(&interval(8, 0.4), &unknown), None);
        }
        let found = hung.observe(&interval(9, 0.4), &unknown).unwrap();
        assert_eq!(
            (found.requests, found.for_s, found.may_be_leaked),
            (7, 10.0, false)
        );
        assert_eq!(
            hung.observe(&interval(8, 0.4), &unknown).unwrap().for_s,
            11.0
        );
        assert_eq!(hung.observe(&interval(1, 0.4), &unknown), None);
        // A full queue is not a hang.
        let mut busy = HungRequests::default();
        assert!((0..40).all(|_| busy.observe(&interval(32, 31.0), &unknown).is_none()));
        // Nor are bursts that a limit releases just before each sample, or that a timer issues every five seconds.
        for (per_s, in_flight, queue) in [(800, 32, 8.0), (256, 64, 9.0)] {
            let reads = Completed::example(1.0, per_s, 10.0);
            let bursts = Interval {
                reads,
                ..interval(in_flight, queue)
            };
            assert!((0..40).all(|_| {
                busy.observe(&bursts, &unknown)
                    .is_none_or(|hung| !hung.is_certain())
            }));
            // Between bursts of a timer, the device is idle; a limit may keep it busy all the time.
            let always_busy = bursts.with_util(100.0);
            let mut hung = HungRequests::default();
            let last = (0..40)
                .map(|_| hung.observe(&always_busy, &unknown))
                .last()
                .flatten();
            assert_eq!(last.unwrap().is_certain(), per_s < 800);
        }
        // Too few complete to be a burst of as many.
        let reads = Completed::example(1.0, 30, 10.0);
        let few = Interval {
            reads,
            ..interval(64, 0.3)
        };
        let last = (0..40)
            .map(|_| busy.observe(&few, &unknown))
            .last()
            .flatten();
        assert!(last.is_some_and(|hung| hung.is_certain()));
    }

    #[test]
    fn requests_that_came_in_a_stall_hang_no_longer_than_it() {
        let mut hung = HungRequests::default();
        let unknown = HostStats::default();
        (0..20).for_each(|_| assert_eq!(hung.observe(&interval(1, 0.4), &unknown), None));
        let stall = |second: u64| Interval {
            other_ios: 0,
            ..interval(50 * second, 0.0)
        };
        assert!((0..12).all(|second| hung.observe(&stall(second), &unknown).is_none()));
        assert_eq!(hung.observe(&interval(200, 3.0), &unknown), None);
    }

    #[test]
    fn a_count_that_never_changes_while_no_task_waits_may_be_leaked() {
        let mut hung = HungRequests::default();
        let calm = HostStats {
            blocked: Some(0),
            pressure_some_pct: Some(0.0),
            ..HostStats::default()
        };
        let last = (0..130)
            .map(|_| hung.observe(&interval(3, 0.0), &calm))
            .last()
            .flatten()
            .unwrap();
        assert!(last.may_be_leaked);
        let waiting = HostStats {
            blocked: Some(1),
            ..calm
        };
        assert!(
            !hung
                .observe(&interval(3, 0.0), &waiting)
                .unwrap()
                .may_be_leaked
        );
    }
}

#[cfg(test)]
mod stall_tests {
    use super::*;
    use crate::analysis::stats::IoTotals;

    /// Returns whether there is a stall after intervals of one second with two requests of these latencies.
    fn is_stall_after(await_ms: &[f64], stalled_s: f64) -> bool {
        let loads: Vec<LoadSample> = await_ms
            .iter()
            .map(|ms| {
                let reads = IoTotals {
                    ios: 2.0,
                    kib: 8.0,
                    ms: 2.0 * ms,
                };
                LoadSample {
                    seconds: 1.0,
                    intervals: 1.0,
                    reads,
                    ..LoadSample::default()
                }
            })
            .collect();
        is_stall(stalled_s, |count| loads.iter().rev().take(count).collect())
    }

    #[test]
    fn a_stall_is_far_longer_than_the_usual_latency() {
        assert!(is_stall_after(&[], 1.0) && !is_stall_after(&[], 0.9));
        assert!(is_stall_after(&[5.0; 20], 1.0));
        assert!(!is_stall_after(&[300.0; 20], 2.0) && is_stall_after(&[300.0; 20], 3.5));
        // The requests of an earlier stall do not count.
        assert!(is_stall_after(&[5.0, 5.0, 8000.0, 5.0, 5.0], 1.0));
        // Two requests per second that take two seconds each: one completes every half second.
        assert!(is_stall_after(&[2000.0; 20], 5.0));
    }
}
