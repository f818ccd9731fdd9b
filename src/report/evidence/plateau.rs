//! Plateaus in words.

use super::limits::limit_text;
use crate::analysis::{CloudLimit, IoDirection, LimitMatch, Plateau, RateUnit};
use crate::report::layout::sentence_numbers::{number, per_second, queue, time};

/// The growth of queue or latency on a plateau, as a factor, below which it is not mentioned.
const MIN_MENTIONED_GROWTH_RATIO: f64 = 1.5;

/// The rate of a plateau: `3,000 reads/s`; with the bytes if the limit may be on bytes.
pub(crate) fn plateau_rate(plateau: &Plateau) -> String {
    let requests = || per_second(plateau.iops, plateau.direction.noun());
    let bytes = || format!("{} MiB/s", number(plateau.mib_per_s));
    match plateau.unit {
        RateUnit::Requests if plateau.has_large_requests() => format!("{} or {}", requests(), bytes()),
        RateUnit::Requests => requests(),
        RateUnit::Kib if plateau.direction == IoDirection::Both => bytes(),
        RateUnit::Kib => format!("{} of {}", bytes(), plateau.direction.noun()),
    }
}

/// The evidence of a plateau: its variation, queues and latencies.
pub(crate) fn plateau_evidence(plateau: &Plateau) -> String {
    let (from, to) = (queue(plateau.queue_from), queue(plateau.queue_to));
    let queues = if plateau.queue_to >= MIN_MENTIONED_GROWTH_RATIO * plateau.queue_from {
        format!("while the queue grew from {from} to {to}")
    } else {
        format!("at a queue of {to}")
    };
    let latency = if plateau.await_to_ms >= MIN_MENTIONED_GROWTH_RATIO * plateau.await_from_ms {
        format!("rose from {} to {}", time(plateau.await_from_ms), time(plateau.await_to_ms))
    } else {
        time(plateau.await_to_ms)
    };
    format!("rate stayed constant ({}) {queues}; latency {latency}", variation_text(plateau))
}

/// The variation of the rate: `±0.3%`, never below 0.1%.
pub(super) fn variation_text(plateau: &Plateau) -> String {
    format!("±{:.1}%", (plateau.variation * 100.0).max(0.1))
}

/// The caveat of a plateau; empty if it is certain.
pub(super) fn plateau_caveat(plateau: &Plateau) -> &'static str {
    let is_known = |limit: &CloudLimit| limit.is_provider_known;
    match &plateau.matches_limit {
        _ if plateau.is_certain => "",
        Some(LimitMatch::Cloud(limits)) if limits.iter().any(is_known) => {
            "; it matches a known limit, but fully busy servers can be as steady"
        }
        _ => "; fully busy servers can be as steady",
    }
}

/// The limit that a plateau matches, in parentheses; empty without one.
pub(crate) fn limit_suffix(plateau: &Plateau) -> String {
    plateau.matches_limit.as_ref().map(|limit| format!(" ({})", limit_text(limit))).unwrap_or_default()
}
