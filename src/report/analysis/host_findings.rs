//! Findings about the host, in sentences.

use super::AnalysisReport;
use crate::analysis::{HostFinding, Verdict, host_findings, not_the_disk};
use crate::report::evidence::HIDDEN_IO_WAIT_CAUSES;
use crate::report::layout::sentence_numbers::{mib, multiple, number, percent, queue};

/// The sentences under "Not the disk"; `None` if a device may be the bottleneck or was for a time, if a disk disappeared,
/// or if only some devices were analyzed and these did nothing.
pub(in crate::report) fn not_the_disk_sentences(report: &AnalysisReport<'_>) -> Option<Vec<String>> {
    let is_worse = |verdict: Verdict| verdict.severity() > Verdict::Queueing.severity();
    let was_worse = report.events.list.iter().any(|event| is_worse(event.verdict));
    if was_worse || !report.events.departures.is_empty() {
        return None;
    }
    let findings = not_the_disk(report.devices, report.host)?;
    let is_incomplete = report.is_selection && findings.contains(&HostFinding::NoDeviceBusy);
    (!is_incomplete).then(|| findings.iter().map(sentence).collect())
}

/// The sentences under "Host".
pub(in crate::report) fn host_sentences(report: &AnalysisReport<'_>) -> Vec<String> {
    host_findings(report.devices, report.topology, report.host).iter().map(sentence).collect()
}

fn sentence(finding: &HostFinding) -> String {
    match finding {
        HostFinding::NoDeviceBusy => "No device did any I/O.".to_owned(),
        HostFinding::FarFromSaturated { devices, p95_saturation } => format!(
            "{} far from saturated: latency at most {} unloaded for 95% of the time.",
            are(devices),
            multiple(*p95_saturation)
        ),
        HostFinding::ShortQueue { devices, p99_queue } => {
            format!("{} not saturated: queue {} or less 99% of the time.", are(devices), queue(*p99_queue))
        }
        HostFinding::Cpu { available_pct, user_pct, system_pct, steal_pct, is_short } => {
            let steal = steal_pct.map(|steal| format!(", steal {}", percent(steal))).unwrap_or_default();
            let cpu = format!(
                "{} CPU available (user {}, system {}{steal})",
                percent(*available_pct),
                percent(*user_pct),
                percent(*system_pct)
            );
            if *is_short { format!("Only {cpu}: CPU may be the bottleneck.") } else { format!("{cpu}.") }
        }
        HostFinding::IoPressure { some_pct, is_low: true, .. } => format!(
            "Tasks hardly waited for I/O: at least one waited {} of the time. Asynchronous I/O (io_uring, libaio) does \
             not count, so this does not prove that no one waited.",
            percent(*some_pct)
        ),
        HostFinding::IoPressure { some_pct, full_pct, is_low: false } => {
            format!("At least one task waited for I/O {} of the time{}.", percent(*some_pct), all(*full_pct))
        }
        HostFinding::DirtyMemory { dirty_kib, writeback_kib } => {
            let range = |(mean, max): (f64, f64)| format!("{} on average, {} at most", mib(mean), mib(max));
            let writeback = writeback_kib.map(|kib| format!("; under writeback: {}", range(kib)));
            format!("Dirty memory: {}{}.", range(*dirty_kib), writeback.unwrap_or_default())
        }
        HostFinding::HiddenIoWait { some_pct, hidden_pct } => format!(
            "Tasks waited for I/O that no device shows: at least one waited {} of the time, and for {} of the time or \
             more, one did while no device seen had a request in flight. Possible causes: {HIDDEN_IO_WAIT_CAUSES}.",
            percent(*some_pct),
            percent(*hidden_pct)
        ),
        HostFinding::MemoryPressure { some_pct, full_pct } => format!(
            "Memory is short: at least one task waited for memory {} of the time{}. Reclaiming memory and \
             reading it back causes I/O of its own.",
            percent(*some_pct),
            all(*full_pct)
        ),
        HostFinding::Swapping { in_pages_per_s, out_pages_per_s, devices } => {
            let devices =
                if devices.is_empty() { String::new() } else { format!(" (swap: {})", devices.join(", ")) };
            format!(
                "The host swapped in {} pages/s and swapped out {} pages/s on average{devices}.",
                number(*in_pages_per_s),
                number(*out_pages_per_s)
            )
        }
        HostFinding::SwapDevice { device, read_mib_per_s, write_mib_per_s } => format!(
            "{device} is swap: its average {} MiB/s of reads and {} MiB/s of writes are swapping, not file I/O.",
            number(*read_mib_per_s),
            number(*write_mib_per_s)
        ),
    }
}

/// The names with their verb: `sda is`, `sda and sdb are`, `sda, sdb and sdc are`.
fn are(devices: &[String]) -> String {
    match devices {
        [] => String::new(),
        [device] => format!("{device} is"),
        [several @ .., last] => format!("{} and {last} are", several.join(", ")),
    }
}

/// The percentage of the time in which all tasks waited, as the end of a clause; empty if it is unknown.
fn all(full_pct: Option<f64>) -> String {
    full_pct.map(|full| format!(", all non-idle tasks {}", percent(full))).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_finding_is_a_sentence_with_its_numbers() {
        let devices = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let cpu = HostFinding::Cpu {
            available_pct: 4.0,
            user_pct: 80.0,
            system_pct: 10.0,
            steal_pct: Some(6.0),
            is_short: true,
        };
        let findings = [
            (
                HostFinding::FarFromSaturated {
                    devices: devices(&["sda", "sdb", "sdc"]),
                    p95_saturation: 1.02,
                },
                "sda, sdb and sdc are far from saturated: latency at most 1.0x unloaded for 95% of the time.",
            ),
            (
                HostFinding::ShortQueue { devices: devices(&["sda"]), p99_queue: 0.15 },
                "sda is not saturated: queue 0.15 or less 99% of the time.",
            ),
            (cpu, "Only 4.0% CPU available (user 80%, system 10%, steal 6.0%): CPU may be the bottleneck."),
            (
                HostFinding::IoPressure { some_pct: 0.31, full_pct: None, is_low: true },
                "Tasks hardly waited for I/O: at least one waited 0.3% of the time. Asynchronous I/O (io_uring, \
                 libaio) does not count, so this does not prove that no one waited.",
            ),
            (
                HostFinding::IoPressure { some_pct: 35.0, full_pct: Some(20.0), is_low: false },
                "At least one task waited for I/O 35% of the time, all non-idle tasks 20%.",
            ),
            (
                HostFinding::DirtyMemory {
                    dirty_kib: (12288.0, 14336.0),
                    writeback_kib: Some((1024.0, 2048.0)),
                },
                "Dirty memory: 12.0 MiB on average, 14.0 MiB at most; under writeback: 1.00 MiB on average, \
                 2.00 MiB at most.",
            ),
            (
                HostFinding::HiddenIoWait { some_pct: 85.0, hidden_pct: 83.0 },
                "Tasks waited for I/O that no device shows: at least one waited 85% of the time, and for 83% of the \
                 time or more, one did while no device seen had a request in flight. Possible causes: a network file \
                 system, a limit above the device (cgroup io.max), or swap in a cgroup.",
            ),
            (
                HostFinding::MemoryPressure { some_pct: 40.0, full_pct: None },
                "Memory is short: at least one task waited for memory 40% of the time. Reclaiming memory and \
                 reading it back causes I/O of its own.",
            ),
            (
                HostFinding::Swapping {
                    in_pages_per_s: 1200.0,
                    out_pages_per_s: 300.0,
                    devices: devices(&["sda2"]),
                },
                "The host swapped in 1,200 pages/s and swapped out 300 pages/s on average (swap: sda2).",
            ),
            (
                HostFinding::SwapDevice {
                    device: "sda2".to_owned(),
                    read_mib_per_s: 4.69,
                    write_mib_per_s: 1.2,
                },
                "sda2 is swap: its average 4.69 MiB/s of reads and 1.20 MiB/s of writes are swapping, not file I/O.",
            ),
        ];
        for (finding, expected) in findings {
            assert_eq!(sentence(&finding), expected);
        }
    }
}
