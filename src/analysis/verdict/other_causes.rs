//! Hints at other causes than the disk. A hint that may be wrong is not given.

use super::{DeviceFacts, OtherCause, Verdict};
use crate::analysis::host::{HostReport, Range};
use crate::analysis::thresholds::{
    LOW_AVAILABLE_CPU_PCT, LOW_IO_PRESSURE_PCT, MAX_PLAUSIBLE_UTIL_PCT, MAX_SERIAL_QUEUE, MAX_SHORT_QUEUE,
    MAX_UNLOADED_QUEUE, MIN_HIGH_UTIL_PCT, MIN_QUEUEING_SATURATION, MIN_REPORTED_STEAL_PCT,
};

/// The evidence against the device as the cause: only where it is far from saturated, except for slow writes that no
/// task waits for. Empty without such evidence.
pub(in crate::analysis) fn other_causes(
    facts: &DeviceFacts<'_>,
    verdict: Option<Verdict>,
    host: &HostReport,
) -> Vec<OtherCause> {
    match not_saturated(facts, verdict) {
        None => background_writes(facts, verdict, host).into_iter().collect(),
        Some(not_saturated) => {
            let hints = [one_at_a_time(facts), cpu(host), io_pressure(host), dirty_memory(host)];
            std::iter::once(not_saturated).chain(hints.into_iter().flatten()).collect()
        }
    }
}

/// The evidence that hardly any request waits; `None` where more than a rare interval contradicts it.
fn not_saturated(facts: &DeviceFacts<'_>, verdict: Option<Verdict>) -> Option<OtherCause> {
    let p95_saturation = facts.all.saturation.p95.filter(|_| verdict == Some(Verdict::Ok))?;
    if p95_saturation < MIN_QUEUEING_SATURATION {
        return Some(OtherCause::FarFromSaturated { p95_saturation });
    }
    let p99_queue = facts.all.queue.p99.filter(|queue| *queue < MAX_SHORT_QUEUE)?;
    Some(OtherCause::ShortQueue { p99_queue })
}

/// A high util with one request at a time, where nothing shows that this is the maximum.
fn one_at_a_time(facts: &DeviceFacts<'_>) -> Option<OtherCause> {
    let queue = facts.all.busy?.queue?;
    let is_high = |util: &f64| (MIN_HIGH_UTIL_PCT..=MAX_PLAUSIBLE_UTIL_PCT).contains(util);
    let util = facts.util_pct.p50.filter(is_high)?;
    let is_serial = queue <= MAX_SERIAL_QUEUE && facts.all.queue.p99? <= MAX_UNLOADED_QUEUE;
    (is_serial && !facts.capacity.knee_reached)
        .then_some(OtherCause::OneAtATime { util_pct: util.min(100.0), queue })
}

fn cpu(host: &HostReport) -> Option<OtherCause> {
    let available_pct = host.cpu_available_pct.mean?;
    Some(OtherCause::Cpu {
        available_pct,
        user_pct: host.cpu_user_pct.mean?,
        system_pct: host.cpu_system_pct.mean?,
        steal_pct: host.cpu_steal_pct.mean.filter(|steal| *steal >= MIN_REPORTED_STEAL_PCT),
        is_short: available_pct < LOW_AVAILABLE_CPU_PCT,
    })
}

fn io_pressure(host: &HostReport) -> Option<OtherCause> {
    let some_pct = host.io_pressure_some_pct.mean?;
    let is_low = some_pct < LOW_IO_PRESSURE_PCT;
    Some(OtherCause::IoPressure { some_pct, full_pct: host.io_pressure_full_pct.mean, is_low })
}

fn dirty_memory(host: &HostReport) -> Option<OtherCause> {
    let used = |range: &Range| range.mean.zip(range.max.filter(|max| *max > 0.0));
    Some(OtherCause::DirtyMemory {
        dirty_kib: used(&host.dirty_kib)?,
        writeback_kib: used(&host.writeback_kib),
    })
}

/// Writes that are slow because the kernel writes memory back in bulk, and that hardly any task waits for.
fn background_writes(
    facts: &DeviceFacts<'_>,
    verdict: Option<Verdict>,
    host: &HostReport,
) -> Option<OtherCause> {
    if !matches!(verdict, Some(Verdict::Queueing | Verdict::Saturated | Verdict::Capped)) {
        return None;
    }
    let is_slow = |saturation: &f64| *saturation >= MIN_QUEUEING_SATURATION;
    if facts.read.saturation.p95.as_ref().is_some_and(is_slow) {
        return None;
    }
    Some(OtherCause::BackgroundWrites {
        p95_saturation: facts.write.saturation.p95.filter(is_slow)?,
        some_pct: host.io_pressure_some_pct.mean.filter(|some| *some < LOW_IO_PRESSURE_PCT)?,
        max_writeback_kib: host.writeback_kib.max.filter(|max| *max > 0.0)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::stats::{BusyMean, Distribution};

    fn always(value: f64) -> Distribution {
        let value = Some(value);
        Distribution { mean: value, p50: value, p95: value, p99: value, max: value }
    }

    fn range(value: f64) -> Range {
        Range { mean: Some(value), min: Some(value), max: Some(value) }
    }

    /// A fast device with one request after the other.
    fn serial() -> DeviceFacts<'static> {
        let mut facts = DeviceFacts { util_pct: always(96.0), ..DeviceFacts::default() };
        facts.all.saturation = always(1.02);
        facts.all.queue = always(0.96);
        facts.all.busy = Some(BusyMean { seconds: 9.0, iops: 7e3, size_kib: 4.0, queue: Some(0.96) });
        facts
    }

    fn causes_if_ok(facts: &DeviceFacts<'_>, host: &HostReport) -> Vec<OtherCause> {
        other_causes(facts, Some(Verdict::Ok), host)
    }

    #[test]
    fn high_util_with_one_request_at_a_time_is_not_a_limit() {
        let far = OtherCause::FarFromSaturated { p95_saturation: 1.02 };
        let one_at_a_time = OtherCause::OneAtATime { util_pct: 96.0, queue: 0.96 };
        assert_eq!(causes_if_ok(&serial(), &HostReport::default()), [far, one_at_a_time]);
        let mut bursts = serial();
        bursts.all.queue.p99 = Some(9.0);
        assert_eq!(causes_if_ok(&bursts, &HostReport::default()), [far]);
        let without_util = DeviceFacts { util_pct: Distribution::default(), ..serial() };
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
    fn the_host_is_described_as_far_as_it_is_known() {
        let host = HostReport {
            cpu_available_pct: range(4.0),
            cpu_user_pct: range(80.0),
            cpu_system_pct: range(10.0),
            cpu_steal_pct: range(6.0),
            io_pressure_some_pct: range(0.31),
            dirty_kib: range(12.0 * 1024.0),
            writeback_kib: range(0.0),
            ..HostReport::default()
        };
        let expected = [
            OtherCause::Cpu {
                available_pct: 4.0,
                user_pct: 80.0,
                system_pct: 10.0,
                steal_pct: Some(6.0),
                is_short: true,
            },
            OtherCause::IoPressure { some_pct: 0.31, full_pct: None, is_low: true },
            OtherCause::DirtyMemory { dirty_kib: (12288.0, 12288.0), writeback_kib: None },
        ];
        assert_eq!(causes_if_ok(&serial(), &host)[2..], expected);
    }

    #[test]
    fn a_saturated_device_has_background_writes_as_its_only_other_cause() {
        let mut facts = serial();
        let saturated = Some(Verdict::Saturated);
        let host = HostReport {
            cpu_available_pct: range(90.0),
            io_pressure_some_pct: range(0.5),
            writeback_kib: range(2048.0),
            ..HostReport::default()
        };
        assert_eq!(other_causes(&facts, saturated, &host), []);
        facts.write.saturation = always(8.0);
        let background =
            OtherCause::BackgroundWrites { p95_saturation: 8.0, some_pct: 0.5, max_writeback_kib: 2048.0 };
        assert_eq!(other_causes(&facts, saturated, &host), [background]);
        assert_eq!(other_causes(&facts, None, &host), []);
        facts.read.saturation = always(8.0);
        assert_eq!(other_causes(&facts, saturated, &host), []);
    }
}
