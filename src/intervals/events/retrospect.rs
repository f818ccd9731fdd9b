//! Trouble that is only visible in the analysis of all intervals.

use std::sync::Arc;

use super::figures::Figures;
use super::merge::{MAX_GAP_INTERVALS, is_same_event, merge};
use super::phase::{Conclusion, Phase};
use crate::analysis::TroubleSpan;
use crate::intervals::{DeviceNames, RunClock};

/// Adds the parts of spans without a phase to the phases of a device, which must be in the order of time.
pub(super) fn complete(
    names: &Arc<DeviceNames>,
    phases: Vec<Phase>,
    spans: &[TroubleSpan],
    clock: &RunClock,
) -> Vec<Phase> {
    let mut all = phases;
    let mut interval_s: f64 = 0.0;
    // The worst spans come first: they get the time that they share with milder ones.
    let mut spans: Vec<&TroubleSpan> = spans.iter().collect();
    spans.sort_by_key(|span| std::cmp::Reverse(span.verdict.severity()));
    for span in spans {
        interval_s = interval_s.max(span.load.seconds / span.load.intervals);
        all.iter_mut().filter(|phase| is_within(phase, span)).for_each(|phase| phase.raise(span));
        let added: Vec<Phase> = uncovered(span, &all)
            .into_iter()
            .filter(|(begin_s, end_s)| end_s - begin_s >= MAX_GAP_INTERVALS * interval_s)
            .map(|(begin_s, end_s)| {
                let times = (clock.moment(begin_s), clock.moment(end_s));
                Phase::new(names, span.verdict, times, Figures::of_span(span), Conclusion::of_span(span))
            })
            .collect();
        if !added.is_empty() {
            all.extend(added);
            all.sort_by(|a, b| a.begin.run_s.total_cmp(&b.begin.run_s));
        }
    }
    let mut merged: Vec<Phase> = Vec::with_capacity(all.len());
    for phase in all {
        match merged.pop_if(|last| is_same_event(last, &phase, interval_s)) {
            Some(last) => merged.push(merge(last, phase)),
            None => merged.push(phase),
        }
    }
    merged
}

/// Returns whether most of a phase lies in a span, if the phase was milder than the span at least part of the time.
fn is_within(phase: &Phase, span: &TroubleSpan) -> bool {
    let common_s = phase.end.run_s.min(span.end_s) - phase.begin.run_s.max(span.begin_s);
    let is_milder = phase.verdict.severity() < span.verdict.severity();
    let is_partly_milder = phase.verdict == span.verdict && phase.course.len() > 1;
    (is_milder || is_partly_milder) && 2.0 * common_s >= phase.duration_s()
}

/// Returns the parts of a span without a phase, in seconds of the run.
fn uncovered(span: &TroubleSpan, phases: &[Phase]) -> Vec<(f64, f64)> {
    let mut found = Vec::new();
    let mut from_s = span.begin_s;
    for phase in phases.iter().filter(|phase| phase.end.run_s > span.begin_s) {
        if phase.begin.run_s >= span.end_s {
            break;
        }
        found.push((from_s, phase.begin.run_s));
        from_s = from_s.max(phase.end.run_s);
    }
    found.push((from_s, span.end_s));
    found.retain(|(begin_s, end_s)| end_s > begin_s);
    found
}
