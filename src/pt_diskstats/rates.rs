//! The numbers of pt-diskstats, which are defined differently from those of iostat (see OUTPUT in its manual).

use crate::counters::{Counters, Requests, growth_u32};

/// Differences of counters, summed over devices or over intervals.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct PtDelta {
    reads: Requests,
    writes: Requests,
    /// Change of the requests in flight; may be negative.
    in_flight: i128,
    busy_ms: u64,
    weighted_ms: u64,
}

/// The numbers of one line, in the order of its columns.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PtRates {
    pub reads: DirectionRates,
    pub writes: DirectionRates,
    /// Time with a request in flight, in percent of the interval, per device.
    pub busy_pct: f64,
    /// Requests in flight at the end of the interval.
    pub in_progress: f64,
    /// Reads and writes per second.
    pub per_s: f64,
    /// Milliseconds in the queue per request, computed from the kernel's busy time, whose errors it inherits.
    pub queue_ms: f64,
    /// Milliseconds of service per request, computed from the kernel's busy time, whose errors it inherits.
    pub service_ms: f64,
}

/// The six numbers that reads and writes each have.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DirectionRates {
    pub per_s: f64,
    pub size_kib: f64,
    pub mib_per_s: f64,
    /// Merged requests in percent of all requests.
    pub merge_pct: f64,
    /// Mean number of requests in flight per device, by Little's law.
    pub concurrency: f64,
    /// Mean latency in milliseconds, in which merged requests count as requests.
    pub response_ms: f64,
}

impl PtDelta {
    /// Returns the change of a device's counters between two readings; `None` if a counter of requests or sectors
    /// went backwards.
    pub(super) fn between(older: &Counters, newer: &Counters) -> Option<Self> {
        let requests = |older: &Requests, newer: &Requests| {
            Some(Requests {
                ios: newer.ios.checked_sub(older.ios)?,
                merges: newer.merges.checked_sub(older.merges)?,
                sectors: newer.sectors.checked_sub(older.sectors)?,
                ms: millis(older.ms, newer.ms),
            })
        };
        Some(Self {
            reads: requests(&older.reads, &newer.reads)?,
            writes: requests(&older.writes, &newer.writes)?,
            in_flight: i128::from(newer.in_flight) - i128::from(older.in_flight),
            busy_ms: millis(older.busy_ms, newer.busy_ms),
            weighted_ms: millis(older.weighted_ms, newer.weighted_ms),
        })
    }

    /// Adds the change of another device, or of a later interval.
    pub(super) fn add(&mut self, other: &Self) {
        self.reads = self.reads.plus(&other.reads);
        self.writes = self.writes.plus(&other.writes);
        self.in_flight += other.in_flight;
        self.busy_ms = self.busy_ms.wrapping_add(other.busy_ms);
        self.weighted_ms = self.weighted_ms.wrapping_add(other.weighted_ms);
    }

    /// Replaces the change of the requests in flight, which the queue time counts as requests.
    pub(super) fn with_in_flight(self, in_flight: i128) -> Self {
        Self { in_flight, ..self }
    }

    /// Returns the numbers of a line: for this many devices, over `seconds`, which must not be zero, with
    /// `in_progress` requests in flight at the end.
    #[inline(always)]
    pub(super) fn rates(&self, seconds: f64, devices: usize, in_progress: i128) -> PtRates {
        let devices = devices as f64;
        let (reads, writes) = (&self.reads, &self.writes);
        let requests = [reads.ios, reads.merges, writes.ios, writes.merges]
            .iter()
            .map(|n| *n as f64)
            .sum::<f64>();
        let service_ms = if requests == 0.0 {
            0.0
        } else {
            self.busy_ms as f64 / requests
        };
        let queued = requests + self.in_flight as f64;
        // Zero divided by a negative number would be shown as -0.0.
        let queue_ms = if requests == 0.0 || queued == 0.0 {
            0.0
        } else if self.weighted_ms == 0 {
            0.0 - service_ms
        } else {
            self.weighted_ms as f64 / queued - service_ms
        };
        let (reads, writes) = (
            direction_rates(reads, seconds, devices),
            direction_rates(writes, seconds, devices),
        );
        PtRates {
            reads,
            writes,
            busy_pct: 100.0 * self.busy_ms as f64 / 1000.0 / seconds / devices,
            in_progress: to_signed(in_progress),
            // The sum of the rates: the rate of the sum may be rounded differently.
            per_s: reads.per_s + writes.per_s,
            queue_ms,
            service_ms,
        }
    }
}

/// Returns the difference of two millisecond counters, which wrap at 2^32. Only a negative difference is taken modulo
/// 2^32.
fn millis(older: u64, newer: u64) -> u64 {
    newer
        .checked_sub(older)
        .unwrap_or_else(|| growth_u32(older, newer))
}

/// Returns the number that a count stands for as a signed 64-bit number: the count of a kernel that miscounts is negative.
fn to_signed(count: i128) -> f64 {
    u64::try_from(count).unwrap_or(u64::MAX) as i64 as f64
}

fn direction_rates(requests: &Requests, seconds: f64, devices: f64) -> DirectionRates {
    let [ios, merges, sectors, ms] =
        [requests.ios, requests.merges, requests.sectors, requests.ms].map(|count| count as f64);
    let ratio = |amount: f64, count: f64| if count > 0.0 { amount / count } else { 0.0 };
    DirectionRates {
        per_s: ios / seconds,
        size_kib: ratio(sectors / 2.0, ios),
        mib_per_s: sectors / 2048.0 / seconds,
        // A product of 2^53 or more is rounded before the division, so the quotient may slightly exceed 100.
        merge_pct: ratio(100.0 * merges, ios + merges).min(100.0),
        concurrency: ms / seconds / 1000.0 / devices,
        // Without completed requests there is no latency, even if requests were merged.
        response_ms: if ios > 0.0 { ms / (ios + merges) } else { 0.0 },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters(reads: [u64; 4], in_flight: u64, busy_ms: u64, weighted_ms: u64) -> Counters {
        let [ios, merges, sectors, ms] = reads;
        let reads = Requests {
            ios,
            merges,
            sectors,
            ms,
        };
        Counters {
            reads,
            in_flight,
            busy_ms,
            weighted_ms,
            ..Counters::ZERO
        }
    }

    #[test]
    fn two_seconds_give_the_hand_computed_numbers() {
        let older = counters([100, 10, 800, 50], 0, 1000, 3000);
        let newer = counters([250, 60, 4000, 250], 4, 2000, 3612);
        let rates = PtDelta::between(&older, &newer).unwrap().rates(2.0, 1, 4);
        // 150 reads, 50 merges, 3200 sectors and 200 ms.
        assert_eq!(rates.reads.per_s, 75.0);
        assert_eq!(rates.reads.size_kib, 1600.0 / 150.0);
        assert_eq!(rates.reads.mib_per_s, 0.78125);
        assert_eq!(
            (rates.reads.merge_pct, rates.reads.response_ms),
            (25.0, 1.0)
        );
        assert_eq!((rates.reads.concurrency, rates.busy_pct), (0.1, 50.0));
        // 1000 ms busy for 200 requests; 612 weighted ms for these and 4 more in flight.
        assert_eq!((rates.service_ms, rates.queue_ms), (5.0, 3.0 - 5.0));
        assert_eq!(rates.writes, DirectionRates::default());
    }

    #[test]
    fn concurrency_and_busy_time_are_per_device() {
        let delta =
            PtDelta::between(&Counters::ZERO, &counters([10, 0, 80, 1000], 0, 1000, 1000)).unwrap();
        let rates = delta.rates(1.0, 4, 0);
        assert_eq!(
            (rates.reads.concurrency, rates.busy_pct, rates.per_s),
            (0.25, 25.0, 10.0)
        );
    }

    #[test]
    fn the_total_rate_is_rounded_like_the_sum_of_the_two_rates() {
        let delta = PtDelta {
            reads: Requests {
                ios: 14_101,
                ..Requests::default()
            },
            writes: Requests {
                ios: 7193,
                ..Requests::default()
            },
            ..PtDelta::default()
        };
        // 117.508... + 59.941..., which is a little more than 21294 / 120.
        assert_eq!(format!("{:.1}", delta.rates(120.0, 1, 0).per_s), "177.5");
    }

    #[test]
    fn a_negative_count_of_requests_in_flight_is_shown_as_such() {
        let in_progress = |count: u64| {
            PtDelta::default()
                .rates(1.0, 1, i128::from(count))
                .in_progress
        };
        assert_eq!(
            (in_progress(u64::MAX), in_progress(4_294_967_295)),
            (-1.0, 4_294_967_295.0)
        );
    }

    #[test]
    fn requests_that_left_the_queue_in_no_time_waited_for_zero_and_not_for_minus_zero() {
        let delta = PtDelta::between(
            &counters([0; 4], 64, 0, 0),
            &counters([20, 1, 0, 0], 0, 0, 0),
        )
        .unwrap();
        assert_eq!(format!("{:.1}", delta.rates(1.0, 1, 0).queue_ms), "0.0");
    }

    #[test]
    fn a_miscount_in_between_leaves_the_sum_of_the_changes_exact() {
        let mut sum = PtDelta::default();
        for [older, newer] in [[0, u64::MAX], [u64::MAX, 5]] {
            sum.add(
                &PtDelta::between(
                    &counters([0; 4], older, 0, 0),
                    &counters([0; 4], newer, 0, 0),
                )
                .unwrap(),
            );
        }
        assert_eq!(sum.in_flight, 5);
    }

    #[test]
    fn the_merged_share_never_exceeds_100_percent() {
        let all_merged = counters([0, 1_441_151_880_758_565, 0, 0], 0, 0, 0);
        let rates = PtDelta::between(&Counters::ZERO, &all_merged)
            .unwrap()
            .rates(1.0, 1, 0);
        assert_eq!(rates.reads.merge_pct, 100.0);
    }

    #[test]
    fn a_counter_that_went_backwards_gives_no_delta() {
        let older = counters([100, 10, 800, 50], 0, 1000, 3000);
        assert_eq!(PtDelta::between(&older, &Counters::ZERO), None);
        let wrapped = counters([100, 10, 800, 40], 0, 900, 2900);
        assert!(PtDelta::between(&older, &wrapped).is_some());
    }
}
