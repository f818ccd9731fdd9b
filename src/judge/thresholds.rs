//! The numbers of the judge, each with its unit and the reason for its value; one that a single rule explains stands there. What
//! the names mean stands in the files that use them; how much each number matters was measured on simulated devices of known truth (`tests/judgment`).

use crate::topology::DeviceClass;

// What the words mean.

/// Times the unloaded latency from which requests are saturated: two thirds of their time are waiting, whatever the service
/// times are like.
pub(crate) const SATURATED: f64 = 3.0;
/// Times: clearly more. A third of the time is waiting (queueing); a rate and a queue that grew; a disk slower than its peers.
pub(crate) const CLEARLY_MORE: f64 = 1.5;
/// Times: clearly less; its inverse is "alike". Scatter and mix of real loads reach a fifth.
pub(crate) const CLEARLY_LESS: f64 = 0.8;
/// Requests at a time; with fewer, no request waits behind more than one other.
pub(crate) const MIN_QUEUE: f64 = 2.0;
/// Requests at a time; with fewer, nobody waits for as much as half of the time.
pub(crate) const MIN_FELT_QUEUE: f64 = 0.5;
/// Milliseconds; a shorter wait of a handful of requests matters to nobody.
pub(crate) const MATTERS_MS: f64 = 10.0;
/// Requests; the mean of fewer is off by more than a third.
pub(crate) const MIN_REQUESTS: f64 = 8.0;
/// Fraction of the time; a kind of requests, or a word, with less does not count.
pub(crate) const MIN_SHARE: f64 = 0.1;
/// Times a threshold: trouble ends there, not at the threshold itself, so that words change less often.
pub(crate) const HOLD_FRACTION: f64 = 0.75;
/// Seconds without a completion although requests are in flight: no device is meant to do that. Also the shortest step.
pub(crate) const STALL_S: f64 = 1.0;
/// Seconds until requests hang, and until an event is over: a shorter pause is no end of it.
pub(crate) const PATIENCE_S: f64 = 5.0;
/// Intervals for the same.
pub(crate) const PATIENCE_STEPS: usize = 5;
/// Fraction of a time that counts as all of it: samples are never exactly on time.
pub(crate) const ON_TIME: f64 = 0.95;
/// Seconds for which the same requests are in flight while no task waits, after which the kernel has lost count of them.
pub(crate) const LEAKED_S: f64 = 120.0;

// What narrows the range of the unloaded latency.

/// The third best interval counts, the third peer, the third interval in a row: two outliers do no harm.
pub(crate) const MIN_CONFIRMATIONS: usize = 3;
/// Size classes of two times: requests more than four times as large are another kind of load (streams).
pub(crate) const LARGER_CLASSES: i32 = 2;
/// Times the mean since boot, which has queueing and other content in it.
pub(crate) const TIMES_SINCE_BOOT: f64 = 2.0;
/// Requests since boot from which their mean counts.
pub(crate) const BOOT_REQUESTS: f64 = 10_000.0;
/// Rate classes of four times: proofs at a rate 16 times lower are of another state (power saving).
pub(crate) const RATE_REACH: i32 = 2;
/// Intervals that are remembered.
pub(crate) const MAX_STEPS: usize = 64;
/// Steps in a row that show whether the latency stands still.
pub(crate) const STILL_RUN: usize = 10;
/// Variance of the latency over that of independent requests, for each request in flight: a queue that made up a third of the
/// latency would scatter by twice that.
pub(crate) const MAX_STILL_VARIANCE: f64 = 0.3;
/// Standard errors: 99%.
pub(crate) const STANDARD_ERRORS: f64 = 2.6;
/// Times Erlang's wait: arrivals are burstier and services more varied than random.
pub(crate) const TIMES_ERLANG: f64 = 2.0;
/// Times the latency: intervals that were surely faster.
pub(crate) const CLEARLY_FASTER: f64 = 0.5;
/// Times a baseline that was given or saved: the lowest and the highest unloaded latency that it stands for.
pub(crate) const GIVEN: [f64; 2] = [0.8, 1.2];
/// Quiet intervals from which the lowest latency is saved as a baseline: a minute.
pub(crate) const SAVED_INTERVALS: u32 = 60;

// Limits.

/// Intervals in a row at the same rate.
pub(crate) const CAP_RUN: usize = 6;
/// Relative distance of these rates: a real limit has 0.1 to 1% of jitter.
pub(crate) const CAP_STEP: f64 = 0.02;
/// Requests of each interval on average: fewer are too coarse to be even.
pub(crate) const CAP_REQUESTS: f64 = 20.0;
/// Requests at a time: one client that waits nearly always is held as well.
pub(crate) const CAP_QUEUE: f64 = 0.9;
/// Upper quartile of the changes of the rate over those of chance, with a queue that grew.
pub(crate) const EVEN: f64 = 0.2;
/// The same, without a queue that grew.
pub(crate) const VERY_EVEN: f64 = 0.07;
/// Which of the changes is looked at.
pub(crate) const QUARTILE: f64 = 0.75;
/// Median change between two Poisson counts, times the square root of their mean.
pub(crate) const POISSON_CHANGE: f64 = 0.95;
/// Times the limit: it is none any more.
pub(crate) const CAP_EXCEEDED: f64 = 1.05;
/// Variance of the arrivals over that of the completions: with less, the rate is the client's pace.
pub(crate) const MAX_PACE_VARIANCE: f64 = 0.7;

// Side by side.

/// Sum of ln(ratio / sqrt(1.5)): two minutes at 1.5 times the median of the peers, half a minute at three times.
pub(crate) const PEER_SUM: f64 = 8.0;
/// Seconds of an interval that count in full for that sum.
pub(crate) const PEER_STEP_S: f64 = 3.0;
/// Intervals that show a limit which devices share.
pub(crate) const SHARED_RUN: usize = 10;
/// Relative scatter of the sum of their rates at most.
pub(crate) const SHARED_EVEN: f64 = 0.01;
/// Relative scatter of each of their rates at least.
pub(crate) const SHARED_OWN: f64 = 0.002;
/// Fraction of the sum from which a device is a part of it.
pub(crate) const SHARED_PART: f64 = 0.05;

// Events and summary.

/// Fraction of an event, or of a capture, from which a word is that of all of it.
pub(crate) const QUARTER: f64 = 0.25;

/// The slowest unloaded device of a class.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClassLimits {
    /// The latency of small requests in milliseconds, at most.
    pub(crate) small_ms: f64,
    /// KiB per millisecond, at least.
    pub(crate) kib_per_ms: f64,
}

impl ClassLimits {
    /// The limits of a class; of an unknown one, those of any disk at all.
    pub(crate) fn of(class: Option<DeviceClass>) -> Self {
        let (small_ms, kib_per_ms) = match class {
            None | Some(DeviceClass::HardDisk) => (25.0, 75.0),
            Some(DeviceClass::Ssd) => (0.5, 200.0),
            Some(DeviceClass::Nvme) => (0.3, 500.0),
            Some(DeviceClass::Network) => (10.0, 30.0),
        };
        Self {
            small_ms,
            kib_per_ms,
        }
    }

    /// The latency in milliseconds that an unloaded request of this size needs at most.
    pub(crate) fn max_ms(self, kib: f64) -> f64 {
        self.small_ms + kib / self.kib_per_ms
    }
}
