//! Hints at causes other than the device. A hint that may be wrong is not given.

use super::DeviceReport;
use crate::analysis::caps::Plateau;
use crate::analysis::host::HostReport;
use crate::analysis::thresholds::{
    LOW_IO_PRESSURE_PCT, MAX_PLAUSIBLE_UTIL_PCT, MAX_SERIAL_QUEUE, MAX_SHORT_QUEUE, MAX_UNLOADED_QUEUE,
    MIN_HIGH_UTIL_PCT, MIN_QUEUEING_SATURATION,
};
use crate::analysis::verdict::{OtherCause, Verdict};

/// The evidence against the device as the cause: given only if it is far from saturated, except for slow writes that no
/// task waits for. Empty without such evidence.
pub(crate) fn other_causes(
    report: &DeviceReport,
    unclear: Option<&Plateau>,
    host: &HostReport,
) -> Vec<OtherCause> {
    match not_saturated(report, unclear) {
        None => background_writes(report, host).into_iter().collect(),
        Some(not_saturated) => [Some(not_saturated), one_at_a_time(report)].into_iter().flatten().collect(),
    }
}

/// The evidence that hardly any request waits. `None` if more than a few intervals contradict it, or if a constant rate
/// may be a cap, which may hold requests back where no counter shows them.
fn not_saturated(report: &DeviceReport, unclear: Option<&Plateau>) -> Option<OtherCause> {
    let is_ok = report.verdict == Some(Verdict::Ok) && unclear.is_none();
    let p95_saturation = report.all.saturation.p95.filter(|_| is_ok)?;
    if p95_saturation < MIN_QUEUEING_SATURATION {
        return Some(OtherCause::FarFromSaturated { p95_saturation });
    }
    let p99_queue = report.all.queue.p99.filter(|queue| *queue < MAX_SHORT_QUEUE)?;
    Some(OtherCause::ShortQueue { p99_queue })
}

/// A high util with one request at a time, unless this is shown to be the maximum.
fn one_at_a_time(report: &DeviceReport) -> Option<OtherCause> {
    let queue = report.all.busy?.queue?;
    let is_high = |util: &f64| (MIN_HIGH_UTIL_PCT..=MAX_PLAUSIBLE_UTIL_PCT).contains(util);
    let util = report.util_pct.p50.filter(is_high)?;
    let is_serial = queue <= MAX_SERIAL_QUEUE && report.all.queue.p99? <= MAX_UNLOADED_QUEUE;
    (is_serial && !report.capacity.is_max_known)
        .then_some(OtherCause::OneAtATime { util_pct: util.min(100.0), queue })
}

/// Writes that are slow because the kernel writes memory back in bulk, and that hardly any task waits for.
fn background_writes(report: &DeviceReport, host: &HostReport) -> Option<OtherCause> {
    if !matches!(report.verdict, Some(Verdict::Queueing | Verdict::Saturated | Verdict::Capped)) {
        return None;
    }
    let is_slow = |saturation: &f64| *saturation >= MIN_QUEUEING_SATURATION;
    if report.read.saturation.p95.as_ref().is_some_and(is_slow) {
        return None;
    }
    Some(OtherCause::BackgroundWrites {
        p95_saturation: report.write.saturation.p95.filter(is_slow)?,
        some_pct: host.io_pressure_some_pct.mean.filter(|some| *some < LOW_IO_PRESSURE_PCT)?,
        max_writeback_kib: host.writeback_kib.max.filter(|max| *max > 0.0)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::host::Range;
    use crate::analysis::load::{IoDirection, RateUnit};
    use crate::analysis::stats::{BusyMean, Distribution};

    fn always(value: f64) -> Distribution {
        let value = Some(value);
        Distribution { mean: value, p50: value, p95: value, p99: value, max: value }
    }

    fn range(value: f64) -> Range {
        let mut range = Range::default();
        (range.mean, range.min, range.max) = (Some(value), Some(value), Some(value));
        range
    }

    /// A fast device with one request after the other.
    fn serial() -> DeviceReport {
        let mut facts = DeviceReport { util_pct: always(96.0), ..DeviceReport::default() };
        facts.all.saturation = always(1.02);
        facts.all.queue = always(0.96);
        facts.all.busy = Some(BusyMean { seconds: 9.0, iops: 7e3, size_kib: 4.0, queue: Some(0.96) });
        facts
    }

    fn causes_if_ok(facts: &DeviceReport, host: &HostReport) -> Vec<OtherCause> {
        other_causes(&DeviceReport { verdict: Some(Verdict::Ok), ..facts.clone() }, None, host)
    }

    #[test]
    fn high_util_with_one_request_at_a_time_is_not_a_limit() {
        let far = OtherCause::FarFromSaturated { p95_saturation: 1.02 };
        let one_at_a_time = OtherCause::OneAtATime { util_pct: 96.0, queue: 0.96 };
        assert_eq!(causes_if_ok(&serial(), &HostReport::default()), [far, one_at_a_time]);
        let mut bursts = serial();
        bursts.all.queue.p99 = Some(9.0);
        assert_eq!(causes_if_ok(&bursts, &HostReport::default()), [far]);
        let without_util = DeviceReport { util_pct: Distribution::default(), ..serial() };
        assert_eq!(causes_if_ok(&without_util, &HostReport::default()), [far]);
    }

    #[test]
    fn a_slow_device_without_a_queue_is_not_called_far_from_saturated() {
        let mut slow = serial();
        slow.all.saturation = always(2.0);
        assert_eq!(causes_if_ok(&slow, &HostReport::default()), []);
        slow.all.queue = always(0.15);
        let causes = causes_if_ok(&slow, &HostReport::default());
        assert_eq!(causes[0], OtherCause::ShortQueue { p99_queue: 0.15 });
    }

    #[test]
    fn a_rate_that_may_be_capped_proves_nothing() {
        let plateau = Plateau {
            direction: IoDirection::Reads,
            unit: RateUnit::Requests,
            iops: 500.0,
            mib_per_s: 2.0,
            variation: 0.002,
            intervals: 20,
            seconds: 20.0,
            first_interval: 0,
            begin_s: 0.0,
            queue_from: 1.0,
            queue_to: 8.0,
            await_from_ms: 2.0,
            await_to_ms: 16.0,
            matches_limit: None,
            is_certain: false,
            is_at_constant_queue: false,
        };
        let ok = DeviceReport { verdict: Some(Verdict::Ok), ..serial() };
        assert_eq!(other_causes(&ok, Some(&plateau), &HostReport::default()), []);
    }

    #[test]
    fn a_saturated_device_has_background_writes_as_its_only_other_cause() {
        let mut facts = serial();
        facts.verdict = Some(Verdict::Saturated);
        let host = HostReport {
            io_pressure_some_pct: range(0.5),
            writeback_kib: range(2048.0),
            ..HostReport::default()
        };
        assert_eq!(other_causes(&facts, None, &host), []);
        facts.write.saturation = always(8.0);
        let background =
            OtherCause::BackgroundWrites { p95_saturation: 8.0, some_pct: 0.5, max_writeback_kib: 2048.0 };
        assert_eq!(other_causes(&facts, None, &host), [background]);
        let unknown = DeviceReport { verdict: None, ..facts.clone() };
        assert_eq!(other_causes(&unknown, None, &host), []);
        facts.read.saturation = always(8.0);
        assert_eq!(other_causes(&facts, None, &host), []);
    }
}
