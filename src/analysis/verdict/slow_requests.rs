//! A few requests that take far longer than the others of an interval, which the mean latency hides. This is only
//! evidence and does not decide a verdict.

use std::cmp::Ordering;

use crate::analysis::load::IoDirection;
use crate::analysis::thresholds::{
    MIN_MATCHED_FRACTION, MIN_SLOW_REQUESTS, MIN_TAIL_RATIO, TAIL_PERCENTILES,
};
use crate::counters::{LatencyBucket, LatencyHistogram};
use crate::metrics::percentile_bucket;

/// The latencies of a direction in which a few single requests are far slower than the median.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlowRequests {
    /// Reads, writes or flushes.
    pub direction: IoDirection,
    /// The percentile of [`Self::tail_ms`]: 99, or 95 if there are too few requests for that.
    pub percentile: f64,
    /// The latency that all but a few requests do not exceed, in milliseconds.
    pub tail_ms: f64,
    /// The latency that half of them do not exceed, in milliseconds.
    pub median_ms: f64,
    /// The largest latency, in milliseconds.
    pub max_ms: f64,
}

impl SlowRequests {
    /// Finds slow requests among the traced ones of an interval; `completed` is the number that the device completed.
    /// `None` if there are none, or if too few requests were traced.
    pub fn find(direction: IoDirection, traced: &LatencyHistogram, completed: u64) -> Option<Self> {
        let count = traced.count();
        if (count as f64) < MIN_MATCHED_FRACTION * completed as f64 {
            return None;
        }
        let above = |percentile: f64| count as f64 * (100.0 - percentile) / 100.0;
        let has_enough = |percentile: &f64| above(*percentile) >= MIN_SLOW_REQUESTS;
        let percentile = TAIL_PERCENTILES.into_iter().find(has_enough)?;
        let median = percentile_bucket(traced, count, 50.0)?;
        let tail = percentile_bucket(traced, count, percentile)?;
        // The bounds of the buckets are compared, which are certain: before Linux 5.14, a bucket ends at twice its
        // beginning.
        let is_far = tail.lower_ns as f64 >= MIN_TAIL_RATIO * median.upper_ns as f64;
        let ms = |ns: u64| ns as f64 / 1e6;
        is_far.then(|| Self {
            direction,
            percentile,
            tail_ms: ms(tail.mean_ns()),
            median_ms: ms(median.mean_ns()),
            max_ms: traced.buckets().next_back().map_or(0.0, |slowest| ms(LatencyBucket::max_ns(slowest))),
        })
    }

    /// Returns how many times longer than half of the requests the slow ones take.
    pub fn ratio(&self) -> f64 {
        self.tail_ms / self.median_ms
    }

    /// Compares by [`Self::ratio`].
    pub fn by_ratio(&self, other: &Self) -> Ordering {
        self.ratio().total_cmp(&other.ratio())
    }
}

/// The intervals in which a few requests of a direction were far slower than the rest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlowIntervals {
    /// The number of such intervals.
    pub intervals: u64,
    /// The interval with the highest [`SlowRequests::ratio`].
    pub worst: SlowRequests,
    /// Seconds of all intervals before that one.
    pub worst_begin_s: f64,
}

impl SlowIntervals {
    /// Adds an interval to those of its direction. `begin_s` is the total length of all intervals before it in seconds.
    pub fn add(all: &mut Vec<Self>, requests: &SlowRequests, begin_s: f64) {
        let Some(known) = all.iter_mut().find(|known| known.worst.direction == requests.direction) else {
            all.push(Self { intervals: 1, worst: *requests, worst_begin_s: begin_s });
            return;
        };
        known.intervals += 1;
        if requests.by_ratio(&known.worst) == Ordering::Greater {
            (known.worst, known.worst_begin_s) = (*requests, begin_s);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Requests by latency in microseconds, in buckets of the kernel's finest width.
    fn traced(latencies_us: impl IntoIterator<Item = (f64, u64)>) -> LatencyHistogram {
        let mut histogram = LatencyHistogram::default();
        for (us, count) in latencies_us {
            let ns = (us * 1000.0) as u64;
            let lower_ns = ns - ns % 200;
            histogram.add(LatencyBucket { lower_ns, upper_ns: lower_ns + 199, count, sum_ns: ns * count });
        }
        histogram
    }

    fn find(traced: &LatencyHistogram) -> Option<SlowRequests> {
        SlowRequests::find(IoDirection::Reads, traced, traced.count())
    }

    #[test]
    fn a_few_slow_requests_are_found_with_their_latencies() {
        let slow = find(&traced([(1000.0, 1960), (40_000.0, 39), (900_000.0, 1)])).unwrap();
        assert_eq!((slow.percentile, slow.tail_ms, slow.median_ms, slow.max_ms), (99.0, 40.0, 1.0, 900.0));
        assert_eq!(slow.ratio(), 40.0);
        // Below 1000 requests, p99 is a matter of a single one.
        let fewer = find(&traced([(1000.0, 188), (40_000.0, 12)])).unwrap();
        assert_eq!((fewer.percentile, fewer.tail_ms), (95.0, 40.0));
    }

    #[test]
    fn where_they_are_not_known_or_not_far_slower_nothing_is_said() {
        assert_eq!(find(&LatencyHistogram::default()), None);
        // Too few requests.
        assert_eq!(find(&traced([(1000.0, 160), (40_000.0, 39)])), None);
        // Half of the requests are slow, or a single one of many.
        assert_eq!(find(&traced([(1000.0, 900), (40_000.0, 1100)])), None);
        assert_eq!(find(&traced([(1000.0, 1999), (900_000.0, 1)])), None);
        assert_eq!(find(&traced([(1000.0, 1960), (9_000.0, 40)])), None);
        // Too many requests are not matched.
        let matched = traced([(1000.0, 1960), (40_000.0, 40)]);
        assert!(SlowRequests::find(IoDirection::Writes, &matched, 2100).is_some());
        assert_eq!(SlowRequests::find(IoDirection::Writes, &matched, 2200), None);
    }

    #[test]
    fn wide_buckets_count_by_what_is_certain() {
        let mut powers = LatencyHistogram::default();
        powers.add(LatencyBucket {
            lower_ns: 1 << 20,
            upper_ns: (1 << 21) - 1,
            count: 1900,
            sum_ns: 1900 << 20,
        });
        let slow = |shift: u32| {
            let lower_ns = 1 << shift;
            LatencyBucket {
                lower_ns,
                upper_ns: 2 * lower_ns - 1,
                count: 100,
                sum_ns: 100 * (2 * lower_ns - 1),
            }
        };
        // Means of 1 and 16 ms, but maybe 2 and 8.
        let (mut near, mut far) = (powers.clone(), powers);
        near.add(slow(23));
        far.add(slow(25));
        assert_eq!((find(&near), find(&far).is_some()), (None, true));
    }

    #[test]
    fn random_service_and_queueing_times_of_one_server_are_not_a_tail() {
        // Exponential latencies, like those of a queue at a server with random service times (M/M/1) at any load.
        let mut state = 88_172_645_463_325_252_u64;
        let mut exponential = |mean_us: f64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let uniform = (state >> 11) as f64 / (1_u64 << 53) as f64;
            (-mean_us * libm::log(1.0 - uniform), 1)
        };
        for round in 0..400 {
            let count = if round % 2 == 0 { 200 } else { 1000 };
            let latencies: Vec<(f64, u64)> = (0..count).map(|_| exponential(1000.0)).collect();
            assert_eq!(find(&traced(latencies)), None, "round {round}");
        }
    }

    #[test]
    fn the_worst_interval_of_a_direction_is_kept() {
        let of = |direction, tail_ms| SlowRequests {
            direction,
            percentile: 99.0,
            tail_ms,
            median_ms: 1.0,
            max_ms: 900.0,
        };
        let mut all = Vec::new();
        for (at, one) in [(1.0, of(IoDirection::Reads, 20.0)), (2.0, of(IoDirection::Reads, 40.0))] {
            SlowIntervals::add(&mut all, &one, at);
        }
        SlowIntervals::add(&mut all, &of(IoDirection::Reads, 30.0), 3.0);
        SlowIntervals::add(&mut all, &of(IoDirection::Flushes, 30.0), 3.0);
        let kept: Vec<_> =
            all.iter().map(|one| (one.intervals, one.worst.tail_ms, one.worst_begin_s)).collect();
        assert_eq!(kept, [(3, 40.0, 2.0), (1, 30.0, 3.0)]);
    }
}
