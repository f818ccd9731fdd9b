//! The cell of the verdict, with its seconds if it held for only a part of the interval.

use std::borrow::Cow;

use crate::intervals::DeviceActivity;

/// The length of a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum VerdictLength {
    /// `capped 24 s of 50`
    #[default]
    Long,
    /// `capped 24s`
    Short,
}

/// Returns the verdict, with its seconds unless it held for the whole interval; `None` without a verdict.
pub(super) fn verdict_cell(activity: &DeviceActivity, length: VerdictLength) -> Option<Cow<'static, str>> {
    let name = activity.assessment.verdict?.name();
    let Some(verdict_s) = activity.verdict_s.filter(|verdict_s| *verdict_s != activity.stats.seconds) else {
        return Some(name.into());
    };
    let (with, all) = (seconds(verdict_s), seconds(activity.stats.seconds));
    Some(match length {
        _ if with == all => name.into(),
        VerdictLength::Long => format!("{name} {with} s of {all}").into(),
        VerdictLength::Short => format!("{name} {with}s").into(),
    })
}

/// Returns the widths of the long cell and the short one; `None` without a verdict.
pub(super) fn verdict_widths(activity: &DeviceActivity) -> Option<(usize, usize)> {
    let name = activity.assessment.verdict?.name();
    if activity.verdict_s.is_none_or(|verdict_s| verdict_s == activity.stats.seconds) {
        return Some((name.len(), name.len()));
    }
    let width = |length| verdict_cell(activity, length).map(|cell| cell.len());
    width(VerdictLength::Long).zip(width(VerdictLength::Short))
}

/// Seconds, with one decimal unless it is zero.
fn seconds(seconds: f64) -> String {
    let text = format!("{seconds:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::{Assessment, Verdict};
    use crate::metrics::IntervalStats;

    fn cells(verdict: Option<Verdict>, verdict_s: f64, seconds: f64) -> [Option<String>; 2] {
        let activity = DeviceActivity {
            stats: IntervalStats { seconds, ..IntervalStats::default() },
            assessment: Assessment { verdict, ..Assessment::default() },
            verdict_s: verdict.map(|_| verdict_s),
            ..DeviceActivity::default()
        };
        let widths = [VerdictLength::Long, VerdictLength::Short]
            .map(|length| Some(verdict_cell(&activity, length)?.len()));
        assert_eq!(verdict_widths(&activity), widths[0].zip(widths[1]));
        [VerdictLength::Long, VerdictLength::Short]
            .map(|length| verdict_cell(&activity, length).map(Cow::into_owned))
    }

    #[test]
    fn seconds_are_shown_where_a_verdict_held_for_a_part_of_the_interval() {
        let some = |long: &str, short: &str| [Some(long.to_owned()), Some(short.to_owned())];
        let capped = Some(Verdict::Capped);
        assert_eq!(cells(capped, 24.0007, 50.0003), some("capped 24 s of 50", "capped 24s"));
        assert_eq!(cells(capped, 0.75, 1.5), some("capped 0.8 s of 1.5", "capped 0.8s"));
        assert_eq!(cells(capped, 50.0003, 50.0003), some("capped", "capped"));
        // The remaining time is too short to be shown.
        assert_eq!(cells(capped, 9.99, 10.0), some("capped", "capped"));
        assert_eq!(cells(None, 0.0, 10.0), [None, None]);
    }
}
