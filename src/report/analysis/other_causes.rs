//! Hints at causes other than a device, in sentences.

use crate::analysis::{DeviceReport, OtherCause};
use crate::report::layout::sentence_numbers::{mib, multiple, percent, queue};

/// The hints about a device, each as a sentence. Its explanation already shows that it is not saturated.
pub(in crate::report) fn sentences(report: &DeviceReport) -> Vec<String> {
    report.other_causes.iter().filter_map(sentence).collect()
}

/// A hint as a sentence; `None` for a hint that the explanation contains.
fn sentence(cause: &OtherCause) -> Option<String> {
    Some(match *cause {
        OtherCause::FarFromSaturated { .. } | OtherCause::ShortQueue { .. } => return None,
        OtherCause::OneAtATime { util_pct, queue: mean_queue } => format!(
            "Requests were issued one at a time ({} util, queue {}); high util is not a limit: most devices do more \
             in parallel.",
            percent(util_pct),
            queue(mean_queue)
        ),
        OtherCause::BackgroundWrites { p95_saturation, some_pct, max_writeback_kib } => format!(
            "Write latency was up to {} unloaded, but hardly any task waited for I/O ({} of the time, without \
             asynchronous I/O): memory is written back in the background, up to {} at once.",
            multiple(p95_saturation),
            percent(some_pct),
            mib(max_writeback_kib)
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_hint_is_a_sentence_with_its_numbers() {
        let causes = [
            (
                OtherCause::OneAtATime { util_pct: 96.0, queue: 0.96 },
                "Requests were issued one at a time (96% util, queue 0.96); high util is not a limit: most devices do \
                 more in parallel.",
            ),
            (
                OtherCause::BackgroundWrites {
                    p95_saturation: 8.0,
                    some_pct: 0.5,
                    max_writeback_kib: 2048.0,
                },
                "Write latency was up to 8.0x unloaded, but hardly any task waited for I/O (0.5% of the time, without \
                 asynchronous I/O): memory is written back in the background, up to 2.00 MiB at once.",
            ),
        ];
        for (cause, expected) in causes {
            assert_eq!(sentence(&cause).as_deref(), Some(expected));
        }
        assert_eq!(sentence(&OtherCause::ShortQueue { p99_queue: 0.15 }), None);
    }
}
