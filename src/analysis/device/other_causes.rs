//! Hints at causes other than the device. A hint that may be wrong is not given.

use super::DeviceReport;
use crate::analysis::host::HostReport;
use crate::analysis::thresholds::{
    LOW_IO_PRESSURE_PCT, MAX_SERIAL_BUSY_QUEUE, MAX_SERIAL_QUEUE, MAX_UNLOADED_QUEUE,
    MIN_LOADED_QUEUE, MIN_QUEUEING_SATURATION,
};
use crate::analysis::verdict::{OtherCause, Verdict};

/// Reasons other than overload for which users of the device wait. Empty without evidence.
pub(crate) fn other_causes(report: &DeviceReport, host: &HostReport) -> Vec<OtherCause> {
    one_at_a_time(report)
        .or_else(|| background_writes(report, host))
        .into_iter()
        .collect()
}

/// One request at a time for most of the time, unless this is shown to be the maximum.
fn one_at_a_time(report: &DeviceReport) -> Option<OtherCause> {
    let queue = report.all.busy?.queue?;
    // Several at a time, with idle time between them, have the same mean queue.
    let queue_while_busy = report.util_pct.mean.map_or(queue, |util| {
        report.mean_queue.unwrap_or(queue) / util * 100.0
    });
    let is_serial = (MIN_LOADED_QUEUE..=MAX_SERIAL_QUEUE).contains(&queue)
        && report.all.queue.p99? <= MAX_UNLOADED_QUEUE
        && queue_while_busy <= MAX_SERIAL_BUSY_QUEUE;
    (report.verdict == Some(Verdict::Ok) && is_serial && !report.capacity.is_max_known)
        .then_some(OtherCause::OneAtATime { queue })
}

/// Writes that are slow because the kernel writes memory back in bulk, and that hardly any task waits for.
fn background_writes(report: &DeviceReport, host: &HostReport) -> Option<OtherCause> {
    if !matches!(
        report.verdict,
        Some(Verdict::Queueing | Verdict::Saturated | Verdict::Capped)
    ) {
        return None;
    }
    let is_slow = |saturation: &f64| *saturation >= MIN_QUEUEING_SATURATION;
    if report.read.saturation.p95.as_ref().is_some_and(is_slow) {
        return None;
    }
    Some(OtherCause::BackgroundWrites {
        p95_saturation: report.write.saturation.p95.filter(is_slow)?,
        some_pct: host
            .io_pressure_some_pct
            .mean
            .filter(|some| *some < LOW_IO_PRESSURE_PCT)?,
        max_writeback_kib: host.writeback_kib.max.filter(|max| *max > 0.0)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::host::Range;
    use crate::analysis::stats::{BusyMean, Distribution};

    fn always(value: f64) -> Distribution {
        let value = Some(value);
        Distribution {
            mean: value,
            p50: value,
            p95: value,
            p99: value,
            max: value,
        }
    }

    fn range(value: f64) -> Range {
        let mut range = Range::default();
        (range.mean, range.min, range.max) = (Some(value), Some(value), Some(value));
        range
    }

    /// A fast device with one request after the other.
    fn serial() -> DeviceReport {
        let mut facts = DeviceReport::default();
        facts.all.queue = always(0.96);
        facts.all.busy = Some(BusyMean {
            seconds: 9.0,
            iops: 7e3,
            size_kib: 4.0,
            queue: Some(0.96),
        });
        facts
    }

    #[test]
    fn one_request_at_a_time_is_what_its_issuer_waits_for() {
        let causes = |facts: DeviceReport| other_causes(&facts, &HostReport::default());
        let ok = || DeviceReport {
            verdict: Some(Verdict::Ok),
            ..serial()
        };
        assert_eq!(causes(ok()), [OtherCause::OneAtATime { queue: 0.96 }]);
        let mut bursts = ok();
        bursts.all.queue.p99 = Some(9.0);
        assert_eq!(causes(bursts), []);
        let mut seldom = ok();
        seldom.all.busy.as_mut().unwrap().queue = Some(0.3);
        assert_eq!(causes(seldom), []);
        assert_eq!(causes(serial()), []);
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
        assert_eq!(other_causes(&facts, &host), []);
        facts.write.saturation = always(8.0);
        let background = OtherCause::BackgroundWrites {
            p95_saturation: 8.0,
            some_pct: 0.5,
            max_writeback_kib: 2048.0,
        };
        assert_eq!(other_causes(&facts, &host), [background]);
        let unknown = DeviceReport {
            verdict: None,
            ..facts.clone()
        };
        assert_eq!(other_causes(&unknown, &host), []);
        facts.read.saturation = always(8.0);
        assert_eq!(other_causes(&facts, &host), []);
    }
}
