//! Sentences for the evidence of verdicts, shared by the table, JSON, CSV and the report of an analysis.

mod explanation;
mod plateau;

pub(crate) use explanation::explanation_text;
pub(crate) use plateau::{limit_name, plateau_evidence, plateau_rate};

use plateau::{limit_suffix, plateau_caveat};

use crate::analysis::{Evidence, IoDirection, Latency};
use crate::report::layout::sentence_numbers::{duration, multiple, queue, time};

/// A fact about one interval as a sentence without a period.
pub(crate) fn evidence_text(evidence: &Evidence) -> String {
    match evidence {
        Evidence::Idle => "nothing completed, nothing in flight".to_owned(),
        Evidence::NothingCompleted { in_flight, for_s } => {
            format!("{in_flight} in flight, none completed for {}", duration(*for_s))
        }
        Evidence::NoLatency => "no read or write latency to judge by".to_owned(),
        Evidence::Latency { direction, latency } => {
            let unknown = if latency.saturation.is_none() { "; unloaded latency unknown" } else { "" };
            format!("{} {}{unknown}", latency_name(*direction), latency_text(latency))
        }
        Evidence::ConstantRate(plateau) => {
            let (rate, limit) = (plateau_rate(plateau), limit_suffix(plateau));
            format!("{rate}{limit}: {}{}", plateau_evidence(plateau), plateau_caveat(plateau))
        }
    }
}

fn latency_name(direction: IoDirection) -> &'static str {
    match direction {
        IoDirection::Reads => "read latency",
        IoDirection::Writes => "write latency",
        IoDirection::Both => "latency",
    }
}

/// `1.31 ms, 4.2x unloaded, queue 3.93`.
fn latency_text(latency: &Latency) -> String {
    let times = latency.saturation.map(|times| format!(" {} unloaded,", multiple(times))).unwrap_or_default();
    format!("{},{times} queue {}", time(latency.await_ms), queue(latency.queue))
}
