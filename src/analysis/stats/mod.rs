//! Statistics of a device over any number of intervals, in bounded memory; no conclusions.

mod direction;
mod histogram;
mod io_totals;

pub use direction::{BusyMean, DirectionReport, Pattern};
pub use histogram::{Distribution, Histogram};
pub(super) use io_totals::IoTotals;

pub(super) use direction::DirectionSummary;
pub(super) use histogram::{median, weighted_median};

/// The median absolute deviation of a normal distribution, in standard deviations.
pub(super) const NORMAL_MAD: f64 = 0.6745;
