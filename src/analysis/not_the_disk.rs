//! What else it may be, where it is not the disk. A hint that may be wrong is left out.

use super::explain::{number, ratio};
use super::machine::{Extent, HostReport};
use super::report::DeviceReport;
use super::verdict::{QUEUEING_AT, Verdict};

/// With less of all CPUs available, in percent, they may be what is short.
const LITTLE_CPU: f64 = 10.0;
/// Tasks that waited for I/O for less of the time, in percent, hardly waited.
const LITTLE_PRESSURE: f64 = 2.0;
/// A hypervisor that took more, in percent, is worth a word.
const MUCH_STEAL: f64 = 5.0;
/// Below this mean queue requests rarely meet.
const LITTLE_QUEUE: f64 = 0.5;
/// A mean queue up to this is about one request at a time.
const ABOUT_ONE: f64 = 1.2;
/// From this util on, in percent, people take a device for full.
const HIGH_UTIL: f64 = 60.0;

/// What speaks against the device as the cause, in sentences: only where it is far from saturated, but for writes
/// that are slow and that no task waits for. Empty where there is nothing to say.
pub fn not_the_disk(report: &DeviceReport, machine: &HostReport) -> Vec<String> {
    let Some(far) = far_from_saturated(report) else {
        return background_writes(report, machine).into_iter().collect();
    };
    let hints = [one_at_a_time(report), cpu(machine), pressure(machine), pages(machine)];
    std::iter::once(far).chain(hints.into_iter().flatten()).collect()
}

/// That hardly any request waits, with its numbers; `None` where more than a rare interval says otherwise.
fn far_from_saturated(report: &DeviceReport) -> Option<String> {
    let device = &report.device;
    let times = report.all.saturation.p95.filter(|_| report.verdict == Some(Verdict::Ok))?;
    let queue = report.all.queue.p99.filter(|queue| *queue < LITTLE_QUEUE);
    if times < QUEUEING_AT {
        let times = ratio(times);
        Some(format!(
            "{device} is far from saturated: 95 % of the time it answered within {times} its unloaded time."
        ))
    } else {
        let queue = number(queue?);
        Some(format!("{device} is not saturated: 99 % of the time its queue was {queue} at the most."))
    }
}

/// Util is high with one request at a time, and nothing says that this is the most.
fn one_at_a_time(report: &DeviceReport) -> Option<String> {
    let queue = report.all.while_working?.queue?;
    let util = report.util_pct.p50.filter(|util| (HIGH_UTIL..=110.0).contains(util))?;
    let is_one = queue <= ABOUT_ONE && report.all.queue.p99? <= super::baseline::UNLOADED;
    if !is_one || report.capacity.reached {
        return None;
    }
    let (util, queue) = (format!("{:.0} %", util.min(100.0)), number(queue));
    Some(format!(
        "Requests came one at a time ({util} util at a queue of {queue}): that util is no limit, and most devices \
         do more with more requests at once."
    ))
}

fn cpu(machine: &HostReport) -> Option<String> {
    let available = machine.cpu_available_pct.mean?;
    let (user, system) = (machine.cpu_user_pct.mean?, machine.cpu_system_pct.mean?);
    let steal = machine.cpu_steal_pct.mean.filter(|steal| *steal >= MUCH_STEAL);
    let steal = steal.map_or(String::new(), |steal| format!(", {} taken by the hypervisor", percent(steal)));
    let shares = format!("user {}, system {}{steal}", percent(user), percent(system));
    Some(if available < LITTLE_CPU {
        format!("Only {} of the CPUs was available ({shares}): they may be the limit.", percent(available))
    } else {
        format!("{} of the CPUs was available ({shares}).", percent(available))
    })
}

fn pressure(machine: &HostReport) -> Option<String> {
    let some = machine.io_pressure_some_pct.mean?;
    let share = format!("{} of the time some task waited for I/O", percent(some));
    Some(if some < LITTLE_PRESSURE {
        format!("Tasks hardly waited for I/O: {share}.")
    } else {
        let full = machine.io_pressure_full_pct.mean;
        let full = full.map_or(String::new(), |full| format!(", {} all that had work", percent(full)));
        format!("{share}{full}.")
    })
}

fn pages(machine: &HostReport) -> Option<String> {
    let some = |extent: &Extent| extent.mean.zip(extent.max.filter(|max| *max > 0.0));
    let (dirty, most_dirty) = some(&machine.dirty_kib)?;
    let writeback = some(&machine.writeback_kib).map_or(String::new(), |(mean, most)| {
        format!("; {} (at most {}) was being written", mib(mean), mib(most))
    });
    Some(format!("{} of memory waited to be written, at most {}{writeback}.", mib(dirty), mib(most_dirty)))
}

/// Writes that answer slowly because the kernel writes memory back in bulk: nobody waits for them.
fn background_writes(report: &DeviceReport, machine: &HostReport) -> Option<String> {
    if !matches!(report.verdict, Some(Verdict::Queueing | Verdict::Saturated | Verdict::Capped)) {
        return None;
    }
    let times = report.write.saturation.p95.filter(|times| *times >= QUEUEING_AT)?;
    let is_reading = report.read.saturation.p95.is_some_and(|times| times >= QUEUEING_AT);
    let some = machine.io_pressure_some_pct.mean.filter(|some| *some < LITTLE_PRESSURE && !is_reading)?;
    let most = machine.writeback_kib.max.filter(|most| *most > 0.0)?;
    Some(format!(
        "Writes answered in up to {} their unloaded time, but hardly any task waited for I/O ({} of the time): memory \
         is written back in the background, up to {} at once.",
        ratio(times),
        percent(some),
        mib(most)
    ))
}

fn percent(share: f64) -> String {
    format!("{} %", number(if share >= 10.0 { share.round() } else { (share * 10.0).round() / 10.0 }))
}

fn mib(kib: f64) -> String {
    format!("{} MiB", number(kib / 1024.0))
}

#[cfg(test)]
mod tests {
    use super::super::statistic::Distribution;
    use super::super::working::BusyMean;
    use super::*;

    fn always(value: f64) -> Distribution {
        let value = Some(value);
        Distribution { mean: value, p50: value, p95: value, p99: value, max: value }
    }

    fn extent(value: f64) -> Extent {
        Extent { mean: Some(value), min: Some(value), max: Some(value) }
    }

    /// A device that answers at once, one request after the other.
    fn single() -> DeviceReport {
        let mut report =
            DeviceReport { device: "sda".into(), verdict: Some(Verdict::Ok), ..DeviceReport::default() };
        report.all.saturation = always(1.02);
        report.all.queue = always(0.96);
        report.all.while_working =
            Some(BusyMean { seconds: 9.0, iops: 7e3, size_kib: 4.0, queue: Some(0.96) });
        report.util_pct = always(96.0);
        report
    }

    #[test]
    fn a_device_at_one_request_at_a_time_is_not_full() {
        let said = not_the_disk(&single(), &HostReport::default());
        assert_eq!(said.len(), 2);
        assert!(said[0].starts_with("sda is far from saturated"), "{}", said[0]);
        assert!(said[1].contains("one at a time (96 % util at a queue of 0.96)"), "{}", said[1]);
        let mut bursts = single();
        bursts.all.queue.p99 = Some(9.0);
        assert_eq!(not_the_disk(&bursts, &HostReport::default()).len(), 1);
        let without_util = DeviceReport { util_pct: Distribution::default(), ..single() };
        assert_eq!(not_the_disk(&without_util, &HostReport::default()).len(), 1);
    }

    #[test]
    fn a_slow_device_without_a_queue_is_not_called_far_from_saturated() {
        let mut slow = single();
        slow.all.saturation = always(2.0);
        assert!(not_the_disk(&slow, &HostReport::default()).is_empty());
        slow.all.queue = always(0.15);
        let said = not_the_disk(&slow, &HostReport::default());
        assert!(said[0].starts_with("sda is not saturated: 99 % of the time its queue was 0.15"), "{said:?}");
    }

    #[test]
    fn the_machine_is_described_as_far_as_it_is_known() {
        let machine = HostReport {
            cpu_available_pct: extent(4.0),
            cpu_user_pct: extent(80.0),
            cpu_system_pct: extent(10.0),
            cpu_steal_pct: extent(6.0),
            io_pressure_some_pct: extent(0.31),
            dirty_kib: extent(12.0 * 1024.0),
            writeback_kib: extent(0.0),
            ..HostReport::default()
        };
        let said = not_the_disk(&single(), &machine);
        assert_eq!(
            said[2..],
            [
                "Only 4 % of the CPUs was available (user 80 %, system 10 %, 6 % taken by the hypervisor): they may be \
                 the limit.",
                "Tasks hardly waited for I/O: 0.3 % of the time some task waited for I/O.",
                "12 MiB of memory waited to be written, at most 12 MiB.",
            ]
        );
    }

    #[test]
    fn of_a_saturated_device_only_background_writes_are_said() {
        let mut report = DeviceReport { verdict: Some(Verdict::Saturated), ..single() };
        let machine = HostReport {
            cpu_available_pct: extent(90.0),
            io_pressure_some_pct: extent(0.5),
            writeback_kib: extent(2048.0),
            ..HostReport::default()
        };
        assert!(not_the_disk(&report, &machine).is_empty());
        report.write.saturation = always(8.0);
        let said = not_the_disk(&report, &machine);
        assert!(said.len() == 1 && said[0].contains("in the background, up to 2 MiB at once"), "{said:?}");
        report.read.saturation = always(8.0);
        assert!(not_the_disk(&report, &machine).is_empty());
        report.verdict = None;
        assert!(not_the_disk(&report, &machine).is_empty());
    }
}
