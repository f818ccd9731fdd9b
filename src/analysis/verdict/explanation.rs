//! The explanation of a verdict over all intervals, as data.

use super::{Evidence, Latency};
use crate::analysis::caps::Plateau;
use crate::analysis::load::{IoDirection, RateUnit};
use crate::analysis::settings::BaselineSource;

/// The explanation of the verdict on a device over all intervals.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Explanation {
    /// The reason for the verdict, or for its absence.
    pub reason: Reason,
    /// The requests that show saturation if the mean latency does not: their direction, the multiple of their unloaded latency,
    /// and where that is known from.
    pub proof: Option<(IoDirection, f64, BaselineSource)>,
    /// The maximum rate of a saturated device; `None` if the knee is not known.
    pub max_rate: Option<MaxRate>,
    /// A rate that stayed constant as at a cap, but with the dispersion of busy servers.
    pub unclear: Option<Plateau>,
    /// The device above at which requests wait while this one is idle for most of the time; `None` unless that is the
    /// evidence that this device is not at a limit.
    pub waiting_above: Option<String>,
    /// The longest stall in seconds, if the verdict is not `stalled`.
    pub stall_s: Option<f64>,
    /// The stated caps that the load exceeded.
    pub exceeded: Vec<ExceededCap>,
}

impl From<Reason> for Explanation {
    fn from(reason: Reason) -> Self {
        Self {
            reason,
            ..Self::default()
        }
    }
}

/// The reason for a verdict over all intervals. Fractions are of the busy time.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Reason {
    /// No verdict: there are no intervals.
    #[default]
    NoIntervals,
    /// No verdict: the kernel gives no times for the requests.
    NoRequestTimes,
    /// No verdict: no reads or writes were completed.
    NoReadsOrWrites {
        /// Discards per second over all intervals; 0 without any.
        discards_per_s: f64,
        /// Flushes per second over all intervals; 0 without any.
        flushes_per_s: f64,
    },
    /// No verdict: the device was busy in too few intervals.
    TooFewIntervals {
        /// Intervals with reads or writes.
        busy_intervals: u64,
    },
    /// No verdict: unloaded latency is unknown for a part of the loads.
    PartlyUnknown {
        /// Fraction of the time that was ok.
        ok_fraction: f64,
        /// Fraction of the time with loads whose unloaded latency is unknown.
        unknown_fraction: f64,
        /// The mean latency of these loads.
        latency: Option<Latency>,
    },
    /// No verdict: unloaded latency is unknown.
    NoBaseline {
        /// The mean latency; `None` if the kernel counted no request time.
        latency: Option<Latency>,
    },
    /// The kernel does not count the device's requests (queue/iostats is 0).
    AccountingOff,
    /// Nothing was completed and nothing was in flight.
    Idle,
    /// Requests hung.
    Stalled {
        /// The longest time in seconds without a completion.
        longest_s: f64,
    },
    /// Requests hung while others completed.
    Hung {
        /// At least this number of requests.
        requests: u64,
        /// Seconds for which they hung at least.
        for_s: f64,
    },
    /// No verdict: requests may have hung while others completed.
    MaybeHung {
        /// At least this number of requests.
        requests: u64,
        /// Seconds for which they were in flight at the end of every interval.
        for_s: f64,
    },
    /// Rates stayed constant at a cap.
    Capped {
        /// The plateaus in the order of time; at least one.
        plateaus: Vec<Plateau>,
    },
    /// The device had its verdict for a substantial part of the time.
    Share {
        /// Fraction of the time.
        fraction: f64,
        /// The evidence that held for longest; for a verdict on latency, the mean over the loads with the verdict. `None` if
        /// that is not known.
        evidence: Option<Evidence>,
    },
    /// Hardly any request waited.
    Ok {
        /// Some intervals were saturated.
        was_saturated: bool,
        /// The unloaded latency is known for nearly all the time, so that multiples of it cover the same time as the
        /// latencies.
        is_known: bool,
    },
}

/// A maximum rate with its knee.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MaxRate {
    pub iops: f64,
    /// The queue of the last level below it; `None` if there is none.
    pub knee_low: Option<f64>,
    /// The queue of the first level at it.
    pub knee_high: f64,
}

/// A stated cap that the load exceeded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExceededCap {
    /// Requests or, for MiB per second, bytes.
    pub unit: RateUnit,
    pub cap: f64,
    /// The 95th percentile of the rate.
    pub seen: f64,
}

/// A hint at a cause other than the device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum OtherCause {
    /// Requests were issued one at a time, and something waited for them for most of the time, although the device was
    /// not overloaded.
    OneAtATime {
        /// The mean queue while busy.
        queue: f64,
    },
    /// Writes are slow because the kernel writes memory back in bulk, and hardly any task waits for them.
    BackgroundWrites {
        /// The 95th percentile of the multiple of unloaded write latency.
        p95_saturation: f64,
        /// Percentage of the time in which a task waited for I/O.
        some_pct: f64,
        /// The most memory under writeback, in KiB.
        max_writeback_kib: f64,
    },
}
