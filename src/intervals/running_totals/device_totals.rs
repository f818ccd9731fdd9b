//! The values of a device, added up over intervals.

use super::buckets::{BucketCounts, QUEUE_BOUNDS, TimedRequests};
use super::known_limit::{KnownLimit, LimitSource};
use crate::analysis::{BaselineSource, RateUnit, Verdict};
use crate::intervals::{DeviceActivity, DeviceInterval};
use crate::metrics::Completed;

/// The values of a device since the start.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeviceTotals {
    pub verdicts: VerdictSeconds,
    /// Seconds in intervals in which requests were in flight and none completed.
    pub stalled_s: f64,
    pub reads: TimedRequests,
    pub writes: TimedRequests,
    pub discards: TimedRequests,
    /// The mean queue of each interval.
    pub queue: BucketCounts<{ QUEUE_BOUNDS.len() }>,
    /// The sum of these means.
    pub queue_sum: f64,
    /// Reads compared with their unloaded latency.
    pub read_saturation: SaturationTotals,
    /// Writes compared with their unloaded latency.
    pub write_saturation: SaturationTotals,
    /// The limits of requests and of bytes that it reached last; `None` before it reached any.
    pub(super) reached_limits: [Option<KnownLimit>; 2],
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct VerdictSeconds {
    /// In the order of [`Verdict::ALL`]; then those without a verdict.
    seconds: [f64; Verdict::ALL.len() + 1],
}

/// The name of the time without a verdict.
const UNKNOWN: &str = "unknown";

impl VerdictSeconds {
    fn add(&mut self, verdict: Option<Verdict>, seconds: f64) {
        let index = Verdict::ALL.iter().position(|one| Some(*one) == verdict);
        self.seconds[index.unwrap_or(Verdict::ALL.len())] += seconds;
    }

    /// Returns the seconds with each verdict by its name, including zeros, and those without a verdict.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, f64)> {
        Verdict::ALL.iter().map(|verdict| verdict.name()).chain([UNKNOWN]).zip(self.seconds)
    }
}

/// Requests whose unloaded latency is known. The saturation over any range of time is the time that they took, divided
/// by their unloaded time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SaturationTotals {
    /// The milliseconds that they took.
    pub taken_ms: f64,
    /// The milliseconds that they would have taken on the unloaded device.
    pub unloaded_ms: f64,
    /// The unloaded latency in milliseconds that the latest requests were compared with, and its origin; `None` before
    /// the first.
    pub baseline: Option<(f64, BaselineSource)>,
}

impl SaturationTotals {
    /// Adds an interval with the saturation in it, if that is known.
    fn observe(&mut self, stats: &Completed, saturation: Option<f64>, source: Option<BaselineSource>) {
        let (Some(await_ms), Some(saturation), Some(source)) =
            (stats.await_ms(), saturation.filter(|saturation| *saturation > 0.0), source)
        else {
            return;
        };
        let unloaded_ms = await_ms / saturation;
        self.taken_ms += stats.time.ms as f64;
        self.unloaded_ms += stats.timed_ios as f64 * unloaded_ms;
        self.baseline = Some((unloaded_ms, source));
    }
}

impl DeviceTotals {
    /// Adds an interval of this length.
    pub(super) fn observe(&mut self, device: &DeviceInterval, elapsed_s: f64) {
        let verdict = device.verdict();
        let verdict_s = device.activity().and_then(|activity| activity.verdict_s).unwrap_or(elapsed_s);
        let verdict_s = if verdict.is_some() { verdict_s.min(elapsed_s) } else { 0.0 };
        self.verdicts.add(verdict, verdict_s);
        // In a longer interval, only a part of the time has its worst verdict.
        self.verdicts.add(None, elapsed_s - verdict_s);
        if let Some(activity) = device.activity() {
            self.observe_activity(activity);
        }
        // What the user states is known anyway.
        if let Some(limit) = KnownLimit::reached(device).find(|limit| limit.source != LimitSource::Given) {
            self.reached_limits[usize::from(limit.unit == RateUnit::Kib)] = Some(limit);
        }
    }

    fn observe_activity(&mut self, activity: &DeviceActivity) {
        let DeviceActivity { stats, assessment, .. } = activity;
        if stats.is_stalled() {
            self.stalled_s += stats.seconds();
        }
        self.reads.observe(&stats.reads);
        self.writes.observe(&stats.writes);
        self.discards.observe(&stats.discards);
        if let Some(queue) = stats.queue() {
            self.queue.add(&QUEUE_BOUNDS, queue, 1);
            self.queue_sum += queue;
        }
        let source = assessment.baseline_source;
        self.read_saturation.observe(&stats.reads, assessment.read_saturation, source);
        self.write_saturation.observe(&stats.writes, assessment.write_saturation, source);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::Assessment;
    use crate::intervals::{DeviceState, EventKind};
    use crate::metrics::Interval;

    fn interval(state: DeviceState) -> DeviceInterval {
        DeviceInterval::without_alias("sda", state)
    }

    fn active(stats: Interval, assessment: Assessment, verdict_s: Option<f64>) -> DeviceInterval {
        let activity = DeviceActivity { stats, assessment, verdict_s, ..DeviceActivity::default() };
        interval(DeviceState::Active(Box::new(activity)))
    }

    fn seconds(totals: &DeviceTotals, name: &str) -> f64 {
        totals.verdicts.iter().find(|(verdict, _)| *verdict == name).unwrap().1
    }

    #[test]
    fn every_second_has_a_verdict_or_is_unknown() {
        let mut totals = DeviceTotals::default();
        let stats = Interval::unknown(2.0);
        let capped = Assessment { verdict: Some(Verdict::Capped), ..Assessment::default() };
        totals.observe(&active(stats, capped.clone(), Some(2.0)), 2.0);
        totals.observe(&active(stats, capped, Some(0.5)), 2.0);
        totals.observe(&active(stats, Assessment::default(), None), 2.0);
        totals.observe(&interval(DeviceState::AccountingOff(Box::new(stats))), 2.0);
        totals.observe(&interval(DeviceState::Reset), 2.0);
        totals.observe(&interval(DeviceState::Event(EventKind::Appeared)), 2.0);
        assert_eq!((seconds(&totals, "capped"), seconds(&totals, "accounting_off")), (2.5, 2.0));
        assert_eq!(seconds(&totals, UNKNOWN), 7.5);
        assert_eq!(totals.verdicts.iter().map(|(_, seconds)| seconds).sum::<f64>(), 12.0);
    }

    #[test]
    fn intervals_without_completions_are_stalled() {
        let mut totals = DeviceTotals::default();
        let stalled = Interval::unknown(1.5).with_in_flight(3);
        totals.observe(&active(stalled, Assessment::default(), None), 1.5);
        totals.observe(
            &active(
                Interval { reads: Completed::example(1.5, 1, 1.0), ..stalled },
                Assessment::default(),
                None,
            ),
            1.5,
        );
        assert_eq!(totals.stalled_s, 1.5);
    }

    #[test]
    fn saturation_over_any_time_follows_from_two_sums() {
        let mut totals = DeviceTotals::default();
        let mut observe = |ios, await_ms, saturation| {
            let reads = Completed::example(1.0, ios, await_ms);
            let assessment = Assessment {
                read_saturation: saturation,
                baseline_source: Some(BaselineSource::Learned),
                ..Assessment::default()
            };
            let stats = Interval { reads, ..Interval::unknown(1.0).with_queue(2.0) };
            totals.observe(&active(stats, assessment, None), 1.0);
        };
        observe(100, 4.0, Some(8.0));
        observe(300, 1.0, Some(2.0));
        observe(500, 9.0, None);
        let SaturationTotals { taken_ms, unloaded_ms, baseline } = totals.read_saturation;
        assert_eq!((taken_ms, unloaded_ms), (700.0, 200.0));
        assert_eq!(baseline, Some((0.5, BaselineSource::Learned)));
        assert_eq!(totals.write_saturation, SaturationTotals::default());
        assert_eq!((totals.queue.count(), totals.queue_sum, totals.reads.ms), (3, 6.0, 5200));
    }
}
