//! How far quantities were spread over several steps, which the sum of the steps does not show.

use super::series::{Extent, Fold, LatencyCounts};
use crate::judge::Judged;
use crate::metrics::HostStats;
use crate::quantities::{HostQuantity, Quantity, device, host};

/// The quantities of a device over several steps.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spread {
    extents: [Extent; device::CHARTED.len()],
    /// Its reads, writes and flushes by the mean latency of their step.
    pub(super) latencies: LatencyCounts,
}

impl Spread {
    /// The spread of one step, which has one value of each quantity.
    pub(super) fn of(judged: &Judged) -> Self {
        let mut spread = Self::default();
        spread.observe(judged);
        spread
    }

    pub(super) fn observe(&mut self, step: &Judged) {
        for (extent, quantity) in self.extents.iter_mut().zip(&device::CHARTED) {
            if let Some((value, weight)) = quantity.weighted(step) {
                extent.observe(value, weight);
            }
        }
        let interval = &step.interval;
        for kind in [&interval.reads, &interval.writes, &interval.flushes] {
            if let Some(await_ms) = kind.await_ms() {
                self.latencies.observe(await_ms, kind.ios.sum);
            }
        }
    }

    /// A quantity that charts have; empty if it is not known.
    pub(super) fn extent(&self, quantity: &Quantity) -> Extent {
        for (charted, extent) in device::CHARTED.iter().zip(self.extents) {
            if charted.name == quantity.name {
                return extent;
            }
        }
        Extent::default()
    }
}

impl Fold for Spread {
    fn add(&mut self, later: Self) {
        self.extents.add(later.extents);
        self.latencies.add(later.latencies);
    }
}

/// The quantities of the host over several steps.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostSpread {
    extents: [Extent; host::CHARTED.len()],
}

impl HostSpread {
    /// The spread of one step of this length.
    pub(super) fn of(stats: &HostStats, seconds: f64) -> Self {
        let mut spread = Self::default();
        for (extent, quantity) in spread.extents.iter_mut().zip(&host::CHARTED) {
            if let Some(value) = (quantity.value)(stats) {
                extent.observe(value, seconds);
            }
        }
        spread
    }

    /// A quantity that charts have; empty if it is not known.
    pub(super) fn extent(&self, quantity: &HostQuantity) -> Extent {
        for (charted, extent) in host::CHARTED.iter().zip(self.extents) {
            if charted.name == quantity.name {
                return extent;
            }
        }
        Extent::default()
    }
}

impl Fold for HostSpread {
    fn add(&mut self, later: Self) {
        self.extents.add(later.extents);
    }
}
