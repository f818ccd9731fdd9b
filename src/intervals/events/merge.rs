//! The rules by which phases of trouble become one event.

use super::event::{Course, Moment, TOLERANCE_S};
use super::phase::Phase;
use crate::analysis::Verdict;

/// The most intervals without a verdict, or with another one, that do not split an event. Confirming a verdict takes
/// three of four intervals, and confirming the end of trouble takes two: a shorter gap may be random variation of one
/// load.
pub(in crate::intervals) const MAX_GAP_INTERVALS: f64 = 3.0;

/// The length in seconds, or [`MAX_GAP_INTERVALS`] if that is longer, up to which a milder phase belongs to the worse
/// one next to it, as the way into trouble or out of it.
const MAX_FLANK_S: f64 = 10.0;

/// A milder phase up to this many times as long as the worse one next to it is of the same load: the evidence for a cap
/// may suffice for only a part of the time.
const MAX_MILDER_RATIO: f64 = 9.0;

/// Returns whether two consecutive phases of a device are one event. `interval_s` is the present length of an interval
/// in seconds.
pub(super) fn is_same_event(before: &Phase, after: &Phase, interval_s: f64) -> bool {
    let max_gap_s = MAX_GAP_INTERVALS * interval_s;
    let gap_s = after.begin.run_s - before.end.run_s;
    if gap_s > max_gap_s + TOLERANCE_S || is_broken(before.end, after.begin) {
        return false;
    }
    let (worse, milder) =
        if before.verdict.severity() >= after.verdict.severity() { (before, after) } else { (after, before) };
    let is_flank = milder.duration_s() <= MAX_FLANK_S.max(max_gap_s) + TOLERANCE_S;
    worse.verdict == milder.verdict
        || is_flank
        || is_load(worse.verdict)
            && is_load(milder.verdict)
            && milder.duration_s() <= worse.duration_s().max(MAX_MILDER_RATIO * worse.verdict_s)
}

/// Returns whether the wall clock advanced by more or less between two moments than the intervals did: time broke, or
/// the clock was set.
fn is_broken(before: Moment, after: Moment) -> bool {
    const MAX_DIFFERENCE_S: f64 = 1.0;
    before.at.zip(after.at).is_some_and(|(from, to)| {
        let difference_s = to.duration_since(from).as_secs_f64() - (after.run_s - before.run_s);
        difference_s.abs() > MAX_DIFFERENCE_S
    })
}

/// Returns whether a verdict is one of those that a single load can have at different times, as the evidence or the
/// strength of the load changes. Not `stalled`, whose length is its most important number, nor `queueing`, which may
/// last for hours around trouble.
fn is_load(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Slow | Verdict::Saturated | Verdict::Capped | Verdict::Throttled)
}

/// Joins two consecutive phases.
pub(super) fn merge(before: Phase, after: Phase) -> Phase {
    let is_same = before.verdict == after.verdict;
    let mut figures = before.figures;
    figures.add(&after.figures);
    let end = after.end;
    let mut course = before.course;
    after.course.into_iter().for_each(|one| push(&mut course, one));
    let is_worse = after.verdict.severity() > before.verdict.severity();
    let verdict = if is_worse { after.verdict } else { before.verdict };
    let (worse, milder, worse_s) = if is_worse || is_same {
        (after.conclusion, before.conclusion, after.verdict_s)
    } else {
        (before.conclusion, after.conclusion, before.verdict_s)
    };
    let verdict_s = if is_same { before.verdict_s + after.verdict_s } else { worse_s };
    let conclusion = worse.completed_by(milder);
    let is_ongoing = after.is_ongoing;
    Phase { is_ongoing, verdict, verdict_s, end, course, figures, conclusion, ..before }
}

/// Adds a verdict to a course. If there are too many, the first ones are kept: they show how the trouble began.
fn push(course: &mut Vec<Course>, next: Course) {
    if let Some(last) = course.last_mut().filter(|last| last.verdict == next.verdict) {
        last.duration_s = next.begin.run_s + next.duration_s - last.begin.run_s;
    } else if course.len() < Course::MAX {
        course.push(next);
    }
}
