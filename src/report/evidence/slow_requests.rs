//! A few single requests that are far slower than the rest, in words.

use crate::analysis::{SlowIntervals, SlowRequests};
use crate::report::layout::sentence_numbers::{counted, multiple, time};

/// `read p99 40.0 ms, 40.0x p50 (1.00 ms), slowest 900 ms`.
pub(crate) fn slow_requests_text(requests: &SlowRequests) -> String {
    let SlowRequests { direction, percentile, tail_ms, median_ms, max_ms } = requests;
    format!(
        "{} p{percentile} {}, {} p50 ({}), slowest {}",
        direction.name(),
        time(*tail_ms),
        multiple(requests.ratio()),
        time(*median_ms),
        time(*max_ms)
    )
}

/// `read p99 40.0 ms (40.0x p50)`.
pub(crate) fn slow_requests_short_text(requests: &SlowRequests) -> String {
    let SlowRequests { direction, percentile, tail_ms, .. } = requests;
    format!("{} p{percentile} {} ({} p50)", direction.name(), time(*tail_ms), multiple(requests.ratio()))
}

/// The intervals in which a few requests of a device were far slower than the rest, out of `busy` intervals, as a
/// sentence without a period. `worst_begin` is the time at which the worst begins.
pub(crate) fn slow_intervals_text(
    device: &str,
    slow: &SlowIntervals,
    busy_intervals: u64,
    worst_begin: &str,
) -> String {
    let SlowIntervals { intervals, worst, .. } = slow;
    let of_busy = match *intervals {
        all if all >= busy_intervals => counted(all, "interval"),
        some => format!("{some} of {}", counted(busy_intervals, "busy interval")),
    };
    format!(
        "a few {} of {device} took far longer than the rest in {of_busy}; worst from {worst_begin}: {}",
        worst.direction.noun(),
        slow_requests_text(worst)
    )
}
