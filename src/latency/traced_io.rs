//! Single requests between two samples, counted by histograms in the kernel.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::counters::DeviceNumber;

/// The single requests that were traced since the sample before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TracedIo {
    /// The time since the sample before.
    pub elapsed: Duration,
    /// The requests that each whole device completed, by its counters: reads, writes and discards, without bios that
    /// only flush.
    pub completed: BTreeMap<DeviceNumber, [u64; 3]>,
    /// The latencies by device and kind of request: from the time at which the driver got the request to its completion.
    /// On a device without requests of its own, such as one of device-mapper, it is the whole time that the bio spends
    /// there.
    pub latencies: BTreeMap<LatencyKey, LatencyHistogram>,
    /// The requests that failed, by device and the number of the error, such as -5. Kernels before 5.18 count none.
    pub errors: BTreeMap<(DeviceNumber, i32), u64>,
    /// Requests that a full map in the kernel did not count.
    pub dropped: u64,
    /// The reason why requests are missing; `None` if none are.
    pub problem: Option<TraceProblem>,
}

/// The reasons why requests are missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceProblem {
    /// Tracing was paused because it would have cost more than permitted.
    Overhead,
    /// The kernel's files could not be read or written.
    Failed,
}

/// A histogram's device and kind of request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LatencyKey {
    pub number: DeviceNumber,
    pub kind: RequestKind,
}

/// The kinds of requests whose latencies are traced. A flush has no sector by which its end could be matched with its
/// start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RequestKind {
    Read,
    Write,
    /// Discards, including secure erases.
    Discard,
}

impl RequestKind {
    /// All kinds, in the order in which they are shown.
    pub const ALL: [Self; 3] = [Self::Read, Self::Write, Self::Discard];

    /// Returns the kind of a request from the kernel's letters for it (blk_fill_rwbs): an `F` for a preceding flush, a
    /// letter for the operation, and letters for its flags. `None` for requests that only flush, and for those that do
    /// not move data, such as commands of a driver.
    pub fn from_rwbs(letters: &str) -> Option<Self> {
        let operation = match letters.strip_prefix('F') {
            Some(rest) if rest.starts_with(['R', 'W', 'D', 'F', 'N']) => rest,
            _ => letters,
        };
        Some(match operation.chars().next()? {
            'R' => Self::Read,
            'W' => Self::Write,
            'D' => Self::Discard,
            _ => return None,
        })
    }

    /// Returns the kind of a bio from the kernel's letters for it. A bio is never a command of a driver: one without a
    /// letter for its operation writes zeros or manages a zone, and counters count it as a write.
    pub fn from_bio_rwbs(letters: &str) -> Option<Self> {
        Self::from_rwbs(letters).or_else(|| letters.starts_with('N').then_some(Self::Write))
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LatencyHistogram {
    /// The buckets by their lower bounds.
    buckets: BTreeMap<u64, LatencyBucket>,
}

/// The requests whose latencies lie between two bounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LatencyBucket {
    /// The smallest latency that the bucket counts, in nanoseconds.
    pub lower_ns: u64,
    /// The largest latency that the bucket counts, in nanoseconds.
    pub upper_ns: u64,
    pub count: u64,
    /// The sum of their latencies, in nanoseconds.
    pub sum_ns: u64,
}

impl LatencyBucket {
    /// Returns the mean latency in nanoseconds, within the bounds.
    pub fn mean_ns(&self) -> u64 {
        let mean = self.sum_ns.checked_div(self.count).unwrap_or(self.lower_ns);
        mean.clamp(self.lower_ns, self.upper_ns.max(self.lower_ns))
    }

    /// Returns an upper bound of the largest latency in nanoseconds; exact for a single request.
    pub fn max_ns(&self) -> u64 {
        let others = self.lower_ns.saturating_mul(self.count.saturating_sub(1));
        self.sum_ns
            .saturating_sub(others)
            .clamp(self.mean_ns(), self.upper_ns.max(self.lower_ns))
    }
}

impl LatencyHistogram {
    /// Adds the requests of a bucket.
    pub fn add(&mut self, bucket: LatencyBucket) {
        if bucket.count == 0 {
            return;
        }
        let own = self
            .buckets
            .entry(bucket.lower_ns)
            .or_insert(LatencyBucket {
                count: 0,
                sum_ns: 0,
                ..bucket
            });
        own.upper_ns = own.upper_ns.max(bucket.upper_ns);
        own.count = own.count.saturating_add(bucket.count);
        own.sum_ns = own.sum_ns.saturating_add(bucket.sum_ns);
    }

    /// Adds the requests of another histogram.
    pub fn merge(&mut self, other: &Self) {
        other.buckets().for_each(|bucket| self.add(*bucket));
    }

    /// Returns the requests that were added since an earlier state of this histogram.
    pub fn since(&self, earlier: &Self) -> Self {
        let mut added = Self::default();
        for bucket in self.buckets() {
            let before = earlier
                .buckets
                .get(&bucket.lower_ns)
                .copied()
                .unwrap_or_default();
            added.add(LatencyBucket {
                count: bucket.count.saturating_sub(before.count),
                sum_ns: bucket.sum_ns.saturating_sub(before.sum_ns),
                ..*bucket
            });
        }
        added
    }

    /// Returns the buckets with requests, the fastest first.
    pub fn buckets(&self) -> impl DoubleEndedIterator<Item = &LatencyBucket> {
        self.buckets.values()
    }

    pub fn count(&self) -> u64 {
        self.buckets()
            .fold(0, |sum, bucket| sum.saturating_add(bucket.count))
    }
}

impl TracedIo {
    /// Returns the requests that were counted since an earlier state of the same histograms.
    pub fn since(&self, earlier: &Self) -> Self {
        let mut since = Self {
            dropped: self.dropped.saturating_sub(earlier.dropped),
            ..Self::default()
        };
        for (key, histogram) in &self.latencies {
            let added = match earlier.latencies.get(key) {
                Some(before) => histogram.since(before),
                None => histogram.clone(),
            };
            if added.count() > 0 {
                since.latencies.insert(*key, added);
            }
        }
        for (key, count) in &self.errors {
            let added = count.saturating_sub(*earlier.errors.get(key).unwrap_or(&0));
            if added > 0 {
                since.errors.insert(*key, added);
            }
        }
        since
    }

    /// Adds the requests that were traced after these.
    pub fn extend(&mut self, later: &Self) {
        self.elapsed = self.elapsed.saturating_add(later.elapsed);
        for (number, counts) in &later.completed {
            let own = self.completed.entry(*number).or_default();
            own.iter_mut()
                .zip(counts)
                .for_each(|(own, count)| *own = own.saturating_add(*count));
        }
        for (key, histogram) in &later.latencies {
            self.latencies.entry(*key).or_default().merge(histogram);
        }
        for (key, count) in &later.errors {
            let own = self.errors.entry(*key).or_default();
            *own = own.saturating_add(*count);
        }
        self.dropped = self.dropped.saturating_add(later.dropped);
        self.problem = self.problem.or(later.problem);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bucket(lower_ns: u64, upper_ns: u64, count: u64, sum_ns: u64) -> LatencyBucket {
        LatencyBucket {
            lower_ns,
            upper_ns,
            count,
            sum_ns,
        }
    }

    #[test]
    fn the_letters_of_a_request_have_its_kind_after_a_flush_before_it() {
        use RequestKind::{Discard, Read, Write};
        for (letters, kind) in [
            ("R", Some(Read)),
            ("RA", Some(Read)),
            ("WS", Some(Write)),
            ("FWFSM", Some(Write)),
            ("FF", None),
            ("F", None),
            ("FDS", Some(Discard)),
            ("DE", Some(Discard)),
            ("WSM", Some(Write)),
            ("N", None),
            ("", None),
        ] {
            assert_eq!(RequestKind::from_rwbs(letters), kind, "{letters}");
        }
        let of_bios = ["R", "NS", "FF", ""].map(RequestKind::from_bio_rwbs);
        assert_eq!(of_bios, [Some(Read), Some(Write), None, None]);
    }

    #[test]
    fn the_largest_latency_of_a_bucket_is_bounded_by_its_sum() {
        assert_eq!(bucket(1000, 1199, 1, 1040).max_ns(), 1040);
        // Either one each at 1000 and 1070, or two at 1035.
        assert_eq!(
            (
                bucket(1000, 1199, 2, 2070).mean_ns(),
                bucket(1000, 1199, 2, 2070).max_ns()
            ),
            (1035, 1070)
        );
        assert_eq!(bucket(1000, 1199, 9, 9 * 1190).max_ns(), 1199);
        // The kernel read the count and the sum at different times.
        assert_eq!(bucket(1000, 1199, 1, 0).mean_ns(), 1000);
        assert_eq!(bucket(1000, 1199, 0, 5).max_ns(), 1000);
    }

    #[test]
    fn traced_requests_add_up() {
        let key = LatencyKey {
            number: (8, 0),
            kind: RequestKind::Read,
        };
        let mut histogram = LatencyHistogram::default();
        histogram.add(bucket(0, 199, 2, 300));
        let one = TracedIo {
            elapsed: Duration::from_secs(1),
            completed: BTreeMap::from([((8, 0), [2, 0, 0])]),
            latencies: BTreeMap::from([(key, histogram)]),
            errors: BTreeMap::from([(((8, 0), -5), 2)]),
            dropped: 3,
            problem: None,
        };
        let mut sum = TracedIo::default();
        sum.extend(&one);
        sum.extend(&TracedIo {
            problem: Some(TraceProblem::Overhead),
            ..one
        });
        assert_eq!(
            sum.latencies[&key].buckets().collect::<Vec<_>>(),
            [&bucket(0, 199, 4, 600)]
        );
        assert_eq!(sum.completed[&(8, 0)], [4, 0, 0]);
        assert_eq!(sum.errors[&((8, 0), -5)], 4);
        assert_eq!(
            (sum.dropped, sum.problem),
            (6, Some(TraceProblem::Overhead))
        );
    }
}
