//! A plateau: a time in which a rate stayed constant.

use super::cloud_limits::{CloudLimit, limits_within};
use super::rate::{RateKind, median_rates};
use super::steady_rate::SteadyRate;
use crate::analysis::load::{IoDirection, LoadSample, RateUnit};
use crate::analysis::thresholds::{
    MIN_CAPPED_QUEUE_RATIO, MIN_CONCURRENCY_GROWTH, MIN_CONSTANT_QUEUE, MIN_EXCEEDED_CAP_RATIO,
    MIN_LARGE_REQUEST_KIB, MIN_PLATEAU_INTERVALS, MIN_SATURATED_QUEUE, ON_PLATEAU_TOLERANCE,
    STEADY_TOLERANCE,
};

/// A limit that a plateau matches.
#[derive(Clone, Debug, PartialEq)]
pub enum LimitMatch {
    /// The cap that the user stated.
    Stated,
    /// Limits of cloud volumes; at least one.
    Cloud(Vec<CloudLimit>),
}

/// A time in which a rate stayed constant.
#[derive(Clone, Debug, PartialEq)]
pub struct Plateau {
    pub direction: IoDirection,
    /// The unit in which it is constant.
    pub unit: RateUnit,
    /// Requests per second, the median.
    pub iops: f64,
    /// MiB per second, the median.
    pub mib_per_s: f64,
    /// Relative standard deviation of the rate.
    pub variation: f64,
    pub intervals: u64,
    pub seconds: f64,
    /// The number of the device's intervals before the first one on the plateau.
    pub first_interval: u64,
    /// Seconds of all intervals before the first one on the plateau; 0 in a live view.
    pub begin_s: f64,
    /// The shortest mean queue on it.
    pub queue_from: f64,
    /// The longest mean queue on it.
    pub queue_to: f64,
    /// Mean latency in milliseconds at the shortest queue.
    pub await_from_ms: f64,
    /// Mean latency in milliseconds at the longest queue.
    pub await_to_ms: f64,
    /// The limit that it matches; `None` if it matches none.
    pub matches_limit: Option<LimitMatch>,
    /// The number of requests in flight was the same all the time.
    pub is_at_constant_queue: bool,
    /// The rate varied too little for busy servers, or the user stated the cap. Otherwise, only the limit that it
    /// matches or another plateau indicates a cap.
    pub is_certain: bool,
}

impl Plateau {
    /// Returns whether its requests are so large that the limit may be on bytes.
    pub fn has_large_requests(&self) -> bool {
        self.mib_per_s * 1024.0 >= MIN_LARGE_REQUEST_KIB * self.iops
    }

    pub(super) fn from_steady_rate(steady: &SteadyRate, kind: RateKind) -> Option<Self> {
        let await_ms_near = |queue: f64| {
            let distance = |load: &LoadSample| (kind.queue(load) / queue).ln().abs();
            let nearest = steady
                .loads
                .iter()
                .min_by(|a, b| distance(a).total_cmp(&distance(b)))?;
            nearest.totals(kind.direction).await_ms()
        };
        let intervals: f64 = steady.loads.iter().map(|load| load.intervals).sum();
        let square =
            |load: &&LoadSample| load.intervals * (kind.rate(load) / steady.rate - 1.0).powi(2);
        let (iops, mib_per_s) = median_rates(&steady.loads, kind.direction)?;
        let cloud = limits_within(STEADY_TOLERANCE, &kind.device, kind.unit, iops, mib_per_s);
        Some(Self {
            direction: kind.direction,
            unit: kind.unit,
            iops,
            mib_per_s,
            variation: (steady.loads.iter().map(square).sum::<f64>() / intervals).sqrt(),
            intervals: intervals as u64,
            seconds: steady.loads.iter().map(|load| load.seconds).sum(),
            first_interval: steady.loads.first()?.interval_index as u64,
            begin_s: steady.loads.first()?.begin_s,
            queue_from: steady.min_queue,
            queue_to: steady.max_queue,
            await_from_ms: await_ms_near(steady.min_queue)?,
            await_to_ms: await_ms_near(steady.max_queue)?,
            is_at_constant_queue: steady.is_at_constant_queue,
            is_certain: steady.is_certain(),
            matches_limit: if steady.is_stated {
                Some(LimitMatch::Stated)
            } else {
                (!cloud.is_empty()).then_some(LimitMatch::Cloud(cloud))
            },
        })
    }
}

/// Returns whether the load exceeds the limit that a plateau would be.
pub(super) fn is_above_plateau(plateau: &Plateau, load: &LoadSample) -> bool {
    load.rate(plateau.direction, plateau.unit) > MIN_EXCEEDED_CAP_RATIO * rate_of(plateau)
}

/// The rate of a plateau in its unit.
fn rate_of(plateau: &Plateau) -> f64 {
    match plateau.unit {
        RateUnit::Requests => plateau.iops,
        RateUnit::Kib => plateau.mib_per_s * 1024.0,
    }
}

/// Returns whether the load lies on the plateau with a queue.
pub(crate) fn is_on_plateau(plateau: &Plateau, load: &LoadSample) -> bool {
    let plateau_rate = rate_of(plateau);
    // Where the queue grew, the device may just keep up at the shortest.
    let has_grown = plateau.queue_to >= MIN_CONCURRENCY_GROWTH * plateau.queue_from;
    let min_queue = if plateau.is_at_constant_queue {
        MIN_CONSTANT_QUEUE
    } else {
        MIN_SATURATED_QUEUE
    };
    let min_grown_queue = if has_grown || plateau.queue_from < min_queue {
        MIN_CAPPED_QUEUE_RATIO * plateau.queue_from
    } else {
        0.0
    };
    let is_loaded = load.queue(plateau.direction) >= min_queue.max(min_grown_queue);
    let is_long = plateau.intervals as f64 >= MIN_PLATEAU_INTERVALS;
    // The rate, or the number of completions in an interval of the usual length.
    let is_on_plateau = [load.seconds, plateau.seconds / plateau.intervals as f64]
        .into_iter()
        .any(|seconds| {
            let rate = load.amount(plateau.direction, plateau.unit) / seconds;
            (rate / plateau_rate - 1.0).abs() <= ON_PLATEAU_TOLERANCE
        });
    is_on_plateau && is_loaded && is_long
}
