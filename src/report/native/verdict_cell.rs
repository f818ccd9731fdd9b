//! The cell of the verdict, with its seconds if it held for only a part of the interval.

use std::borrow::Cow;

use crate::intervals::DeviceActivity;

/// The seconds from which no decimal is shown.
const COARSE_S: f64 = 99.95;

/// Returns the verdict, with its seconds unless it held for the whole interval; without them if that is longer than
/// `max_width`. `None` without a verdict.
pub(super) fn verdict_cell(activity: &DeviceActivity, max_width: usize) -> Option<Cow<'static, str>> {
    let name = activity.assessment.verdict?.name();
    let Some(verdict_s) = activity.verdict_s.filter(|verdict_s| *verdict_s != activity.stats.seconds())
    else {
        return Some(name.into());
    };
    let with = seconds(verdict_s);
    if with == seconds(activity.stats.seconds()) {
        return Some(name.into());
    }
    let text = format!("{name} {with}s");
    Some(if text.len() <= max_width { text.into() } else { name.into() })
}

/// Seconds, with one decimal unless it is zero or they are many.
fn seconds(seconds: f64) -> String {
    let text = if seconds < COARSE_S { format!("{seconds:.1}") } else { format!("{seconds:.0}") };
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::{Assessment, Verdict};
    use crate::metrics::Interval;

    #[test]
    fn seconds_are_shown_where_a_verdict_held_for_a_part_of_the_interval() {
        let cell = |verdict: Option<Verdict>, verdict_s: f64, seconds: f64| {
            let activity = DeviceActivity {
                stats: Interval::unknown(seconds),
                assessment: Assessment { verdict, ..Assessment::default() },
                verdict_s: verdict.map(|_| verdict_s),
                ..DeviceActivity::default()
            };
            verdict_cell(&activity, 15).map(Cow::into_owned)
        };
        let (capped, throttled) = (Some(Verdict::Capped), Some(Verdict::Throttled));
        assert_eq!(cell(capped, 24.0007, 50.0003).as_deref(), Some("capped 24s"));
        assert_eq!(cell(capped, 0.75, 1.5).as_deref(), Some("capped 0.8s"));
        assert_eq!(cell(capped, 50.0003, 50.0003).as_deref(), Some("capped"));
        assert_eq!(cell(throttled, 99.94, 120.0).as_deref(), Some("throttled 99.9s"));
        assert_eq!(cell(throttled, 9999.4, 86400.0).as_deref(), Some("throttled 9999s"));
        // There is no space.
        assert_eq!(cell(throttled, 86000.0, 86400.0).as_deref(), Some("throttled"));
        // The remaining time is too short to be shown.
        assert_eq!(cell(capped, 9.99, 10.0).as_deref(), Some("capped"));
        assert_eq!(cell(None, 0.0, 10.0), None);
    }
}
