//! The report of a device: plain data, serialized in the names of the JSON contract. `null` is what is not known.

use serde::Serialize;

use super::baseline::DeviceBaseline;
use super::fit::{Capacity, Model};
use super::levels::ConcurrencyLevel;
use super::load::IoDirection;
use super::plateau::Plateau;
use super::statistic::Distribution;
use super::summary::DirectionReport;
use super::trace::ActivityTimeline;
use super::usl::Usl;
use super::verdict::Verdict;

/// Intervals that no number of the report holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Excluded {
    /// The device was replugged within them.
    pub resets: u64,
    /// Breaks in time: no interval lies across one.
    pub gaps: u64,
    /// The device was not there.
    pub away: u64,
    /// Requests were completed, but the kernel gives no times.
    pub without_times: u64,
    /// The load changed within them: in the statistics, but not in the fits.
    pub transitions: u64,
}

/// A fitted cap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct CapParameters {
    /// Requests a second.
    pub iops: Option<f64>,
    /// MiB a second.
    pub mib_per_s: Option<f64>,
    /// The response time below the cap in milliseconds; an upper bound where all levels lie at the cap.
    pub service_ms: Option<f64>,
}

/// The most that a device can do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct CapacityReport {
    /// The model that the rates follow; `none` where neither fits or the data do not reach the knee.
    pub model: Model,
    /// Whether the data reach the knee.
    pub reached: bool,
    /// Whether there were six levels of concurrency or more.
    pub confident: bool,
    /// Distinct levels of concurrency.
    pub fitted_levels: usize,
    /// The most requests a second: by the model; where the knee is not reached, the highest rate seen.
    pub max_iops: Option<f64>,
    /// The same in MiB a second.
    pub max_mib_per_s: Option<f64>,
    /// The least that `max_iops` may be; `None` where the knee is not reached.
    pub max_iops_low: Option<f64>,
    /// The most that `max_iops` may be.
    pub max_iops_high: Option<f64>,
    /// The smallest concurrency within 10 % of the most; `None` where it is not reached.
    pub knee_concurrency: Option<f64>,
    /// Whether every level lies beyond the knee, so that it is there or at less.
    pub knee_is_upper_bound: bool,
    /// The share of the rates' variance that the model explains.
    pub r_squared: Option<f64>,
    /// Mean relative error of the model.
    pub relative_error: Option<f64>,
    /// The Universal Scalability Law's parameters in requests a second.
    pub usl: Option<Usl>,
    /// The cap's parameters.
    pub cap: Option<CapParameters>,
    /// Whether a rate stood still, so that the cap is no mere fit.
    pub is_proven: bool,
    /// Whose rate stood still: `reads`, `writes` or `requests` (both together); `None` where none did.
    pub capped: Option<&'static str>,
}

impl CapacityReport {
    /// From the fits in requests and in KiB a second.
    pub(super) fn new(requests: &Capacity, kib: &Capacity) -> Self {
        let cap = requests.cap.map(|cap| CapParameters {
            iops: Some(cap.limit),
            mib_per_s: kib.cap.map(|cap| cap.limit / 1024.0),
            service_ms: Some(cap.service_s * 1000.0),
        });
        let mib = kib.max.filter(|_| requests.reached).or(kib.highest_seen);
        Self {
            model: requests.model,
            reached: requests.reached,
            confident: requests.confident,
            fitted_levels: requests.levels,
            max_iops: requests.max.or(requests.highest_seen),
            max_mib_per_s: mib.map(|kib| kib / 1024.0),
            max_iops_low: requests.between.map(|(low, _)| low),
            max_iops_high: requests.between.map(|(_, high)| high),
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
}

impl CapacityReport {
    /// The same with the highest rates of any interval where the knee is not reached: a level is the middle of several.
    /// A model whose most was clearly exceeded for a time is none.
    pub(super) fn with_highest(self, iops: Distribution, mib_per_s: Distribution) -> Self {
        const CLEARLY: f64 = 1.25;
        let is_exceeded = iops.p95.zip(self.max_iops).is_some_and(|(seen, most)| seen > CLEARLY * most);
        if self.max_iops.is_none() || self.is_proven || (self.reached && !is_exceeded) {
            return self;
        }
        Self {
            fitted_levels: self.fitted_levels,
            max_iops: iops.max.or(self.max_iops),
            max_mib_per_s: mib_per_s.max.or(self.max_mib_per_s),
            ..Self::default()
        }
    }

    /// The same where plateaus were found: the highest is the most and the cap, also where there were too few levels
    /// for a fit, or where a cap that changed, or another direction, spoilt it. A fit that agrees keeps its knee.
    pub(super) fn with_plateaus<'a>(self, plateaus: impl Iterator<Item = &'a Plateau>) -> Self {
        const AGREES: f64 = 0.03;
        let plateaus: Vec<&Plateau> = plateaus.collect();
        let Some(highest) = plateaus.iter().max_by(|a, b| a.iops.total_cmp(&b.iops)) else { return self };
        let agrees = self.max_iops.is_some_and(|most| (most / highest.iops - 1.0).abs() <= AGREES)
            && self.is_close_fit()
            && self.model == Model::Cap;
        let fit = if agrees && plateaus.len() == 1 { self } else { Self::default() };
        let off = highest.variation;
        Self {
            model: Model::Cap,
            reached: true,
            is_proven: true,
            capped: Some(highest.side.noun()),
            max_iops: Some(highest.iops),
            max_mib_per_s: Some(highest.mib_per_s),
            max_iops_low: Some(highest.iops * (1.0 - off)),
            max_iops_high: Some(highest.iops * (1.0 + off)),
            cap: Some(CapParameters {
                iops: Some(highest.iops),
                mib_per_s: Some(highest.mib_per_s),
                service_ms: fit.cap.and_then(|cap| cap.service_ms),
            }),
            fitted_levels: self.fitted_levels,
            ..fit
        }
    }

    /// Whether the model is so near to the rates that it may be called by its name.
    pub(crate) fn is_close_fit(&self) -> bool {
        const CLOSE: f64 = 0.05;
        self.relative_error.is_some_and(|error| error <= CLOSE)
    }
}

/// The capacity by direction; a direction's where the other hardly worked at the time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Capacities {
    /// Of reads; `None` without intervals of reads alone.
    pub read: Option<CapacityReport>,
    /// Of writes.
    pub write: Option<CapacityReport>,
    /// Of both together.
    pub both: Option<CapacityReport>,
}

impl Capacities {
    /// The same with what stood still, each in its own direction.
    pub(super) fn with_plateaus(self, plateaus: &[Plateau]) -> Self {
        let of = |capacity: Option<CapacityReport>, side: IoDirection| {
            let own = plateaus.iter().filter(|plateau| plateau.side == side);
            capacity.map(|capacity| capacity.with_plateaus(own))
        };
        Self {
            read: of(self.read, IoDirection::Reads),
            write: of(self.write, IoDirection::Writes),
            both: of(self.both, IoDirection::Both),
        }
    }
}

/// What is to be said of a device.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct DeviceReport {
    /// The kernel's name of the device.
    pub device: String,
    /// The verdict; `None` where the data do not tell.
    pub verdict: Option<Verdict>,
    /// The verdict, or why there is none, in a sentence with its numbers.
    pub explanation: String,
    /// Intervals seen.
    pub intervals: u64,
    /// Seconds in them.
    pub seconds: f64,
    /// Intervals in which reads or writes were completed.
    pub working_intervals: u64,
    /// What was left out.
    pub left_out: Excluded,
    /// The longest stall in seconds; zero where there was none.
    pub longest_stall_s: f64,
    /// Share of the time with at least one request in flight as the kernel counts it, in percent, without the
    /// intervals in which that count cannot be true or that are too short for it.
    pub util_pct: Distribution,
    /// Reads.
    pub read: DirectionReport,
    /// Writes.
    pub write: DirectionReport,
    /// Reads and writes together, without a baseline of their own.
    pub all: DirectionReport,
    /// The concurrency table.
    pub levels: Vec<ConcurrencyLevel>,
    /// The most of reads and writes together.
    pub capacity: CapacityReport,
    /// The same by direction.
    pub capacity_by_direction: Capacities,
    /// Rates that stood still; two where a cap changed on the way.
    pub plateaus: Vec<Plateau>,
    /// The baselines learnt or given, by size, as they can be saved.
    pub baseline: DeviceBaseline,
    /// When it worked, to compare devices.
    #[serde(skip)]
    pub trace: ActivityTimeline,
}
