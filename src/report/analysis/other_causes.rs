//! Hints at other causes than the disk, in sentences.

use crate::analysis::{DeviceReport, OtherCause};
use crate::report::layout::sentence_numbers::{mib, multiple, percent, queue};

/// The hints of a device, each as a sentence.
pub(super) fn sentences(report: &DeviceReport) -> Vec<String> {
    report.other_causes.iter().map(|cause| sentence(&report.device, cause)).collect()
}

/// A hint as a sentence.
fn sentence(device: &str, cause: &OtherCause) -> String {
    match *cause {
        OtherCause::FarFromSaturated { p95_saturation } => format!(
            "{device} is far from saturated: latency {} unloaded or less 95% of the time.",
            multiple(p95_saturation)
        ),
        OtherCause::ShortQueue { p99_queue } => {
            format!("{device} is not saturated: queue {} or less 99% of the time.", queue(p99_queue))
        }
        OtherCause::OneAtATime { util_pct, queue: mean_queue } => format!(
            "Requests were issued one at a time ({} util, queue {}); high util is not a limit: most devices do more \
             in parallel.",
            percent(util_pct),
            queue(mean_queue)
        ),
        OtherCause::Cpu { available_pct, user_pct, system_pct, steal_pct, is_short } => {
            let steal = steal_pct.map(|steal| format!(", steal {}", percent(steal))).unwrap_or_default();
            let cpu = format!(
                "{} CPU available (user {}, system {}{steal})",
                percent(available_pct),
                percent(user_pct),
                percent(system_pct)
            );
            if is_short { format!("Only {cpu}: CPU may be the bottleneck.") } else { format!("{cpu}.") }
        }
        OtherCause::IoPressure { some_pct, is_low: true, .. } => {
            format!("Tasks hardly waited for I/O: at least one waited {} of the time.", percent(some_pct))
        }
        OtherCause::IoPressure { some_pct, full_pct, is_low: false } => {
            let full = full_pct.map(|full| format!(", all non-idle tasks {}", percent(full)));
            format!(
                "At least one task waited for I/O {} of the time{}.",
                percent(some_pct),
                full.unwrap_or_default()
            )
        }
        OtherCause::DirtyMemory { dirty_kib, writeback_kib } => {
            let range = |(mean, max): (f64, f64)| format!("{} on average, {} at most", mib(mean), mib(max));
            let writeback = writeback_kib.map(|kib| format!("; under writeback: {}", range(kib)));
            format!("Dirty memory: {}{}.", range(dirty_kib), writeback.unwrap_or_default())
        }
        OtherCause::BackgroundWrites { p95_saturation, some_pct, max_writeback_kib } => format!(
            "Write latency was up to {} unloaded, but hardly any task waited for I/O ({} of the time): memory is \
             written back in the background, up to {} at once.",
            multiple(p95_saturation),
            percent(some_pct),
            mib(max_writeback_kib)
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_hint_is_a_sentence_with_its_numbers() {
        let cpu = OtherCause::Cpu {
            available_pct: 4.0,
            user_pct: 80.0,
            system_pct: 10.0,
            steal_pct: Some(6.0),
            is_short: true,
        };
        let causes = [
            (
                OtherCause::FarFromSaturated { p95_saturation: 1.02 },
                "sda is far from saturated: latency 1.0x unloaded or less 95% of the time.",
            ),
            (
                OtherCause::ShortQueue { p99_queue: 0.15 },
                "sda is not saturated: queue 0.15 or less 99% of the time.",
            ),
            (
                OtherCause::OneAtATime { util_pct: 96.0, queue: 0.96 },
                "Requests were issued one at a time (96% util, queue 0.96); high util is not a limit: most devices do \
                 more in parallel.",
            ),
            (cpu, "Only 4.0% CPU available (user 80%, system 10%, steal 6.0%): CPU may be the bottleneck."),
            (
                OtherCause::IoPressure { some_pct: 0.31, full_pct: None, is_low: true },
                "Tasks hardly waited for I/O: at least one waited 0.3% of the time.",
            ),
            (
                OtherCause::IoPressure { some_pct: 35.0, full_pct: Some(20.0), is_low: false },
                "At least one task waited for I/O 35% of the time, all non-idle tasks 20%.",
            ),
            (
                OtherCause::DirtyMemory {
                    dirty_kib: (12288.0, 14336.0),
                    writeback_kib: Some((1024.0, 2048.0)),
                },
                "Dirty memory: 12.0 MiB on average, 14.0 MiB at most; under writeback: 1.00 MiB on average, \
                 2.00 MiB at most.",
            ),
            (
                OtherCause::BackgroundWrites {
                    p95_saturation: 8.0,
                    some_pct: 0.5,
                    max_writeback_kib: 2048.0,
                },
                "Write latency was up to 8.0x unloaded, but hardly any task waited for I/O (0.5% of the time): memory \
                 is written back in the background, up to 2.00 MiB at once.",
            ),
        ];
        for (cause, expected) in causes {
            assert_eq!(sentence("sda", &cause), expected);
        }
    }
}
