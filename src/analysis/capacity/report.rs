//! The reported capacity of a device: fit, plateaus and highest rates together.

use serde::Serialize;

use super::fit::{CapacityFit, Model};
use super::hard_cap::HardCap;
use super::usl::Usl;
use crate::analysis::caps::Plateau;
use crate::analysis::load::IoDirection;
use crate::analysis::stats::Distribution;
use crate::analysis::thresholds::{FIT_PLATEAU_TOLERANCE, MAX_CLOSE_FIT_ERROR, MAX_RATE_OVER_MODEL_RATIO};

/// A fitted cap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct CapParameters {
    /// Requests per second.
    pub iops: Option<f64>,
    /// MiB per second.
    pub mib_per_s: Option<f64>,
    /// Latency below the cap in milliseconds; an upper bound if all levels lie at the cap.
    pub service_ms: Option<f64>,
}

/// The capacity of a device or of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct CapacityReport {
    /// The model that the rates follow; [`Model::None`] where neither fits or the data do not reach the knee.
    pub model: Model,
    /// The data reach the knee.
    pub knee_reached: bool,
    /// There are enough levels for a confident fit.
    pub confident: bool,
    /// Number of levels of concurrency.
    pub fitted_levels: usize,
    /// The maximum rate in requests per second according to the model, or the highest rate seen if the knee is not
    /// reached.
    pub max_iops: Option<f64>,
    /// The maximum rate in MiB per second, determined like `max_iops`.
    pub max_mib_per_s: Option<f64>,
    /// The rates look like a maximum but are those at which requests arrived, so the device may do more.
    #[serde(rename = "offered_rate")]
    pub is_offered_rate: bool,
    /// The lowest plausible `max_iops`; `None` if the knee is not reached.
    pub max_iops_low: Option<f64>,
    /// The highest plausible `max_iops`.
    pub max_iops_high: Option<f64>,
    /// The lowest concurrency within 10% of the maximum; `None` if it is not reached.
    pub knee_concurrency: Option<f64>,
    /// Every level lies beyond the knee, which is at `knee_concurrency` or below.
    #[serde(rename = "knee_upper_bound")]
    pub knee_is_upper_bound: bool,
    /// The fraction of the rates' variance that the model explains.
    pub r_squared: Option<f64>,
    /// Mean relative error of the model.
    pub relative_error: Option<f64>,
    /// The parameters of the Universal Scalability Law in requests per second.
    pub usl: Option<Usl>,
    /// The parameters of the cap.
    pub cap: Option<CapParameters>,
    /// The rate stayed constant on a plateau, so that the cap is more than a fit.
    #[serde(rename = "proven")]
    pub is_proven: bool,
    /// The direction whose rate stayed constant; `None` without a plateau.
    pub capped: Option<IoDirection>,
}

impl CapacityReport {
    /// The report of the fits in requests and in KiB per second.
    pub(super) fn new(requests: &CapacityFit, kib: &CapacityFit) -> Self {
        let cap = requests.cap.map(|cap| CapParameters {
            iops: Some(cap.limit),
            mib_per_s: kib.cap.map(|cap| cap.limit / 1024.0),
            service_ms: Some(cap.service_s * 1000.0),
        });
        let max_kib = kib.max.filter(|_| requests.knee_reached).or(kib.highest_seen);
        Self {
            model: requests.model,
            knee_reached: requests.knee_reached,
            confident: requests.confident,
            fitted_levels: requests.levels,
            is_offered_rate: requests.is_offered_rate,
            max_iops: requests.max.or(requests.highest_seen),
            max_mib_per_s: max_kib.map(|kib| kib / 1024.0),
            max_iops_low: requests.max_range.map(|(low, _)| low),
            max_iops_high: requests.max_range.map(|(_, high)| high),
            knee_concurrency: requests.knee,
            knee_is_upper_bound: requests.knee_is_upper_bound,
            r_squared: requests.r_squared,
            relative_error: requests.relative_error,
            usl: requests.usl,
            cap,
            is_proven: false,
            capped: None,
        }
    }

    /// Replaces the maximum by the highest rate of a single interval if the knee is not reached, because a level's rate
    /// is the median of several intervals. Drops the model if rates were clearly above its maximum for some of the
    /// time.
    pub(in crate::analysis) fn with_highest(self, iops: Distribution, mib_per_s: Distribution) -> Self {
        let is_exceeded =
            iops.p95.zip(self.max_iops).is_some_and(|(seen, max)| seen > MAX_RATE_OVER_MODEL_RATIO * max);
        if self.max_iops.is_none() || self.is_proven || (self.knee_reached && !is_exceeded) {
            return self;
        }
        Self {
            fitted_levels: self.fitted_levels,
            is_offered_rate: self.is_offered_rate,
            max_iops: iops.max.or(self.max_iops),
            max_mib_per_s: mib_per_s.max.or(self.max_mib_per_s),
            ..Self::default()
        }
    }

    /// Adds plateaus: the highest is the maximum and the cap, even if there were too few levels for a fit, or if a
    /// changing cap or another direction spoiled the fit. A fit that agrees keeps its knee.
    pub(in crate::analysis) fn with_plateaus<'a>(self, plateaus: impl Iterator<Item = &'a Plateau>) -> Self {
        let plateaus: Vec<&Plateau> = plateaus.collect();
        let Some(highest) = plateaus.iter().max_by(|a, b| a.iops.total_cmp(&b.iops)) else { return self };
        let is_same_limit =
            self.max_iops.is_some_and(|max| (max / highest.iops - 1.0).abs() <= FIT_PLATEAU_TOLERANCE);
        let agrees = is_same_limit && self.is_close_fit() && self.model == Model::Cap;
        let fit = if agrees && plateaus.len() == 1 { self } else { Self::default() };
        Self {
            model: Model::Cap,
            knee_reached: true,
            is_proven: true,
            capped: Some(highest.direction),
            max_iops: Some(highest.iops),
            max_mib_per_s: Some(highest.mib_per_s),
            max_iops_low: Some(highest.iops * (1.0 - highest.variation)),
            max_iops_high: Some(highest.iops * (1.0 + highest.variation)),
            cap: Some(CapParameters {
                iops: Some(highest.iops),
                mib_per_s: Some(highest.mib_per_s),
                service_ms: fit.cap.and_then(|cap| cap.service_ms),
            }),
            fitted_levels: self.fitted_levels,
            ..fit
        }
    }

    /// The model's rate in requests per second at a concurrency; `None` without a model, or if only its maximum is
    /// known.
    pub fn rate(&self, concurrency: f64) -> Option<f64> {
        match self.model {
            Model::Usl => self.usl.map(|law| law.rate(concurrency)),
            Model::Cap => {
                let cap = self.cap?;
                let model = HardCap { service_s: cap.service_ms? / 1000.0, limit: cap.iops? };
                Some(model.rate(concurrency))
            }
            Model::None => None,
        }
    }

    /// Returns whether the model is so close to the rates that it need not be called "rough".
    pub fn is_close_fit(&self) -> bool {
        self.relative_error.is_some_and(|error| error <= MAX_CLOSE_FIT_ERROR)
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

impl CapacityByDirection {
    /// Adds plateaus, each to the capacity of its own direction.
    pub(in crate::analysis) fn with_plateaus(self, plateaus: &[Plateau]) -> Self {
        self.map(|direction, capacity| {
            capacity.with_plateaus(plateaus.iter().filter(|plateau| plateau.direction == direction))
        })
    }

    /// Replaces each capacity by the result of a function.
    pub(in crate::analysis) fn map(
        self,
        change: impl Fn(IoDirection, CapacityReport) -> CapacityReport,
    ) -> Self {
        Self {
            read: self.read.map(|capacity| change(IoDirection::Reads, capacity)),
            write: self.write.map(|capacity| change(IoDirection::Writes, capacity)),
            both: self.both.map(|capacity| change(IoDirection::Both, capacity)),
        }
    }
}
