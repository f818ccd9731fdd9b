//! The columns of the state of a device: util, saturation and the verdict.

use super::CellText::Value;
use super::{CellText, Column};
use crate::analysis::Verdict;
use crate::intervals::DeviceActivity;
use crate::report::layout::figure::Figure;
use crate::report::layout::number_format::{MULTIPLE, PERCENT};
use crate::report::native::style::Emphasis;

/// The width of verdicts that held for the whole interval, and that of verdicts with up to 9,999 s; with the blank before.
pub(in crate::report::native) const VERDICT_WIDTH: usize = 10;
pub(in crate::report::native) const VERDICT_WIDTH_WITH_SECONDS: usize = 16;

pub(super) const COLUMNS: [Column; 5] = [
    Column {
        title: "util",
        meaning: "share of the time with a request in flight, as the kernel counts it; 100% is not a limit by \
                  itself, as most devices serve several requests at once",
        rank: 97,
        value: |a| a.stats.util_pct(),
        text: CellText::Util,
        ..Column::DEFAULT
    },
    Column {
        title: "≤util",
        meaning: "upper bound of the true util: request times in the interval plus requests still in flight, at \
                  most 100%; its sort key is util_ub",
        rank: 70,
        value: |a| a.stats.util_upper_bound_pct(),
        text: Value(PERCENT),
        ..Column::DEFAULT
    },
    Column {
        title: "r_sat",
        meaning: "read saturation: latency as a multiple of the latency of the unloaded device for \
                  requests of that size; if that is not known, of the mean latency since boot; in an interval of \
                  several samples, only if one of them is known for 90% of the reads",
        rank: 85,
        emphasis: read_emphasis,
        value: |a| a.assessment.read_saturation,
        text: Value(MULTIPLE),
        ..Column::DEFAULT
    },
    Column {
        title: "w_sat",
        meaning: "write saturation, defined like read saturation",
        rank: 85,
        emphasis: write_emphasis,
        value: |a| a.assessment.write_saturation,
        text: Value(MULTIPLE),
        ..Column::DEFAULT
    },
    Column {
        title: "verdict",
        meaning: "the state of the device, with its seconds if it held for a part of the interval only; see \
                  'blkstat help verdicts'",
        width: VERDICT_WIDTH,
        rank: 100,
        emphasis: verdict_emphasis,
        value: verdict_severity,
        text: CellText::Verdict,
        ..Column::DEFAULT
    },
];

/// Returns the util, marked with `?` if it is implausible; `None` without a util.
#[inline]
pub(super) fn util_figure(activity: &DeviceActivity) -> Option<Figure> {
    Some(PERCENT.figure(activity.stats.util_pct()?).with_suffix(activity.flag.map(|_| b'?')))
}

/// Returns the rank of the verdict. An unknown verdict ranks like accounting that is off: below every known problem,
/// above ok.
fn verdict_severity(activity: &DeviceActivity) -> Option<f64> {
    Some(f64::from(activity.assessment.verdict.unwrap_or(Verdict::AccountingOff).severity()))
}

/// Returns the emphasis of read latency and saturation.
pub(super) fn read_emphasis(activity: &DeviceActivity, threshold: f64) -> Emphasis {
    Emphasis::of_saturation(activity.assessment.read_saturation, threshold)
}

/// Returns the emphasis of write latency and saturation.
pub(super) fn write_emphasis(activity: &DeviceActivity, threshold: f64) -> Emphasis {
    Emphasis::of_saturation(activity.assessment.write_saturation, threshold)
}

fn verdict_emphasis(activity: &DeviceActivity, _: f64) -> Emphasis {
    match activity.assessment.verdict.map(Verdict::severity) {
        Some(severity) if severity > Verdict::Queueing.severity() => Emphasis::Alert,
        Some(severity) if severity == Verdict::Queueing.severity() => Emphasis::Warning,
        _ => Emphasis::Plain,
    }
}
