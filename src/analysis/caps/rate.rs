//! The rates of loads that a cap may hold.

use crate::analysis::load::{IoDirection, LoadSample, RateUnit, weighted_median_of};
use crate::analysis::settings::KnownDevice;
use crate::analysis::thresholds::{LARGE_REQUEST_RATIO, STEADY_TOLERANCE};

/// A direction of a device and the unit of its rate.
#[derive(Clone, Copy)]
pub(super) struct RateKind {
    pub(super) direction: IoDirection,
    pub(super) unit: RateUnit,
    pub(super) device: KnownDevice,
}

impl RateKind {
    pub(super) fn rate(self, load: &LoadSample) -> f64 {
        load.rate(self.direction, self.unit)
    }

    pub(super) fn queue(self, load: &LoadSample) -> f64 {
        load.queue(self.direction)
    }

    /// The relative difference within which a rate equals that of a load: the tolerance, or one request (possibly a
    /// large one) if that is more.
    pub(super) fn tolerance(self, load: &LoadSample) -> f64 {
        let request = if self.unit == RateUnit::Kib {
            LARGE_REQUEST_RATIO
        } else {
            1.0
        };
        STEADY_TOLERANCE.max(request * load.intervals / load.totals(self.direction).ios)
    }

    /// The median rate of loads; `None` without loads.
    pub(super) fn median_rate(self, loads: &[&LoadSample]) -> Option<f64> {
        weighted_median_of(loads, |load| Some(self.rate(load)))
    }
}

/// The median rates of loads in requests and in MiB per second; `None` without loads.
pub(super) fn median_rates(loads: &[&LoadSample], direction: IoDirection) -> Option<(f64, f64)> {
    let median = |unit| weighted_median_of(loads, |load| Some(load.rate(direction, unit)));
    Some((median(RateUnit::Requests)?, median(RateUnit::Kib)? / 1024.0))
}

pub(super) fn count_intervals<'a>(loads: impl Iterator<Item = &'a LoadSample>) -> f64 {
    loads.map(|load| load.intervals).sum()
}
