//! The evidence that no device is the bottleneck.

use super::host_report::HostReport;
use super::report::DeviceReport;
use super::thresholds::{MIN_FELT_QUEUE, MIN_QUEUE};
use super::verdict::Verdict;

/// The evidence that none of these devices is the bottleneck: each is idle, or had so few requests at a time that nobody
/// waited for as much as half of the time, and tasks did not wait long for I/O of these devices.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NotTheDisk<'a> {
    /// The kernel names of the devices that were not idle.
    pub busy: Vec<&'a str>,
    /// The longest mean queue of these.
    pub longest_queue: f64,
}

/// Returns the evidence; `None` if a device may be the bottleneck.
pub fn not_the_disk<'a>(devices: &'a [DeviceReport], host: &HostReport) -> Option<NotTheDisk<'a>> {
    // A device that is not saturated may still be what tasks wait for most of the time.
    let tasks_wait = host.long_io_wait_pct().is_some() || host.blocked.mean >= Some(MIN_FELT_QUEUE);
    if host.long_hidden_wait_pct().is_none() && tasks_wait {
        return None;
    }
    let mut found = NotTheDisk::default();
    for report in devices
        .iter()
        .filter(|report| report.verdict != Some(Verdict::Idle))
    {
        let (p99, mean) = (report.all.queue.p99?, report.mean_queue?);
        let is_fine = matches!(report.verdict, None | Some(Verdict::Ok));
        if !is_fine || p99 >= MIN_QUEUE || mean >= MIN_FELT_QUEUE {
            return None;
        }
        found.longest_queue = found.longest_queue.max(mean);
        found.busy.push(&report.device);
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::host_report::MeanMinMax;

    fn report(device: &str, verdict: Option<Verdict>, queue: f64) -> DeviceReport {
        let mut report = DeviceReport {
            verdict,
            mean_queue: Some(queue),
            ..DeviceReport::default()
        };
        report.device = device.into();
        report.all.queue.p99 = Some(5.0 * queue);
        report
    }

    fn ok(device: &str, queue: f64) -> DeviceReport {
        report(device, Some(Verdict::Ok), queue)
    }

    #[test]
    fn a_claim_needs_proof_for_every_busy_device() {
        let idle = report("sdc", Some(Verdict::Idle), 0.0);
        let host = HostReport::default();
        let two = [ok("sda", 0.02), idle.clone(), report("sdb", None, 0.08)];
        let found = NotTheDisk {
            busy: vec!["sda", "sdb"],
            longest_queue: 0.08,
        };
        assert_eq!(not_the_disk(&two, &host), Some(found));
        assert_eq!(
            not_the_disk(std::slice::from_ref(&idle), &host),
            Some(NotTheDisk::default())
        );
        let mut in_bursts = ok("sdb", 0.02);
        in_bursts.all.queue.p99 = Some(4.0);
        let queueing = report("sdb", Some(Verdict::Queueing), 0.05);
        for other in [
            in_bursts,
            queueing,
            ok("sdb", 0.96),
            report("sdb", Some(Verdict::AccountingOff), 0.0),
        ] {
            assert_eq!(
                not_the_disk(&[ok("sda", 0.02), other.clone()], &host),
                None,
                "{other:?}"
            );
        }
    }

    #[test]
    fn a_device_that_tasks_wait_for_is_not_ruled_out() {
        let always = |value| {
            let mut range = MeanMinMax::default();
            (range.mean, range.min, range.max) = (Some(value), Some(value), Some(value));
            range
        };
        let pressure = |some_pct| HostReport {
            io_pressure_some_pct: always(some_pct),
            ..HostReport::default()
        };
        let devices = [ok("sda", 0.02)];
        assert!(not_the_disk(&devices, &pressure(9.9)).is_some());
        assert_eq!(not_the_disk(&devices, &pressure(42.0)), None);
        // If no device shows the waits, they are not for a device.
        let hidden = HostReport {
            hidden_io_wait_pct: always(40.0),
            ..pressure(42.0)
        };
        assert!(not_the_disk(&devices, &hidden).is_some());
    }
}
