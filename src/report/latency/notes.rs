//! Notes about requests that are missing.

use crate::counters::{RequestKind, TraceProblem};
use crate::intervals::{TracedDevice, TracedInterval};
use crate::report::layout::number_format::percent;
use crate::report::layout::wrap;

/// The percentage of matched requests below which a note mentions it.
const MIN_MATCHED_PCT: f64 = 95.0;
/// The number of requests up to which an interval shows nothing about matching: they may all have been under way at its
/// ends.
const FEW_REQUESTS: u64 = 100;

/// Returns notes for people about the requests that the interval lacks.
pub(super) fn interval_notes(traced: &TracedInterval, has_requests: bool) -> Vec<String> {
    let mut notes = Vec::new();
    if !has_requests && traced.problem.is_none() {
        notes.push("no requests".to_owned());
    }
    notes.extend(trace_notes(traced));
    notes
}

/// Appends a note in parentheses, in lines of at most `width` columns. The first line begins with `first`, the others
/// with `next`, which must be as wide.
pub(crate) fn push_note(note: &str, width: usize, first: &str, next: &str, out: &mut Vec<u8>) {
    for (number, line) in wrap(&format!("({note})"), width.saturating_sub(first.len())).iter().enumerate() {
        let begin = if number == 0 { first } else { next };
        out.extend_from_slice(format!("{begin}{line}\n").as_bytes());
    }
}

/// Returns the reason why requests are missing, for people.
pub fn trace_problem_text(problem: TraceProblem) -> &'static str {
    match problem {
        TraceProblem::Overhead => {
            "tracing is paused: at this rate it would cost more CPU time than --max-overhead permits"
        }
        TraceProblem::Failed => {
            "requests are missing: the kernel's tracing files could not be read or written"
        }
    }
}

/// Returns the note about requests that a full histogram did not count, with the remedy.
pub fn dropped_text(dropped: u64) -> String {
    let requests = if dropped == 1 { "request is" } else { "requests are" };
    format!("{dropped} {requests} missing: a kernel histogram was full; name fewer devices")
}

/// Returns the reasons why requests are missing, with the remedy; empty if none are.
pub fn trace_notes(traced: &TracedInterval) -> Vec<String> {
    let mut notes = Vec::new();
    notes.extend(traced.problem.map(|problem| trace_problem_text(problem).to_owned()));
    if traced.dropped > 0 {
        notes.push(dropped_text(traced.dropped));
    }
    let completed_by = |device: &TracedDevice| -> u64 {
        RequestKind::ALL.iter().map(|kind| device.completed_of(*kind)).sum()
    };
    let completed: u64 = traced.devices.iter().map(completed_by).sum();
    if traced.problem.is_none() && completed >= FEW_REQUESTS {
        let count = |device: &TracedDevice| -> u64 {
            let histograms = RequestKind::ALL.iter().filter_map(|kind| device.histogram(*kind));
            histograms.map(crate::counters::LatencyHistogram::count).sum()
        };
        let traced_count: u64 = traced.devices.iter().map(count).sum();
        let pct = traced_count as f64 / completed as f64 * 100.0;
        if pct < MIN_MATCHED_PCT {
            notes.push(format!(
                "only {} of the requests are matched: the others began before tracing did, write zeros, only flush, or did \
                 not fit into the map of requests under way; name fewer devices",
                percent(pct)
            ));
        }
    }
    notes
}
