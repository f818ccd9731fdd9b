//! Statistics of a device over any number of intervals, in bounded memory; no conclusions.

mod direction;
mod histogram;
mod io_totals;

pub use direction::{BusyMean, DirectionReport, Pattern};
pub use histogram::{Distribution, Histogram};
pub(super) use io_totals::IoTotals;

pub(super) use direction::DirectionSummary;
pub(super) use histogram::{median, weighted_median};

/// Returns the power of two at or below a positive number: the exponent in its bits. A logarithm would take longer, and
/// every interval needs several.
pub(super) fn floor_log2(value: f64) -> i32 {
    const MANTISSA_BITS: u32 = f64::MANTISSA_DIGITS - 1;
    let exponent = value.abs().to_bits() >> MANTISSA_BITS;
    exponent as i32 - (f64::MAX_EXP - 1)
}

/// The median absolute deviation of a normal distribution, in standard deviations.
pub(super) const NORMAL_MAD: f64 = 0.6745;
