//! Scores of events: how far their begin and end are from those of the trouble.
//!
//! A **window** is a time in which the device is surely in trouble. Intervals without truth, or in which trouble is one of
//! several accepted verdicts, may belong to it or not, and so may up to [`MAX_QUEUEING_INTERVALS`] of `queueing`, which an
//! event takes in as the way into trouble or out of it: its begin and end are ranges.
//!
//! An event can span several windows, and a window can hold several events. What overlaps is one **time of trouble**: the
//! **error** of its begin is the distance of the first event's from that of the first window, the error of its end that of
//! the last ones. That an event bridges calm, or leaves out trouble, between them is no error of its edges, and counted by
//! itself: the **calm time** in events, and the time of windows **outside** events.
//!
//! An event **without a window** is one in which less than half of the time may be trouble. A window **without an event** is
//! one of at least [`MIN_WINDOW_INTERVALS`] that events do not cover for half of its length. It is **hidden**, and counted
//! apart, where requests only wait for a limit above all devices: the counters of devices do not have them.

use std::ops::Range;

use crate::judge::NamedEvent;
use crate::tally::EventTally;
use crate::truth::Truth;
use crate::words::{Word, Words};

/// Intervals of trouble that an event must be named for: a verdict takes three of four, a cap at least eight.
const MIN_WINDOW_INTERVALS: usize = 10;

/// The longest way into trouble, or out of it, with `queueing`.
const MAX_QUEUEING_INTERVALS: usize = 10;

/// A time of trouble, in intervals.
#[derive(Debug, PartialEq)]
struct Window {
    /// The intervals of sure trouble, and what may belong to them in between.
    sure: Range<usize>,
    /// The same with what may belong to it before and after.
    possible: Range<usize>,
    /// The counters do not show the trouble.
    is_hidden: bool,
}

/// Returns the times of trouble.
fn windows(truths: &[Truth]) -> Vec<Window> {
    let may_be = |truth: &Truth| truth.words.is_empty() || truth.words.has_trouble();
    let mut found = Vec::new();
    let mut start = 0;
    while start < truths.len() {
        let length = truths[start..]
            .iter()
            .take_while(|truth| may_be(truth))
            .count();
        let possible = start..start + length;
        let is_sure = |index: &usize| truths[*index].words.is_surely_trouble();
        if let (Some(first), Some(last)) = (
            possible.clone().find(is_sure),
            possible.clone().rev().find(|index| is_sure(index)),
        ) {
            let sure = first..last + 1;
            let is_hidden = truths[sure.clone()].iter().all(|truth| truth.is_hidden);
            found.push(Window {
                sure,
                possible: with_queueing(truths, possible),
                is_hidden,
            });
        }
        start += length.max(1);
    }
    found
}

/// Extends a range by the intervals with `queueing` before and after it.
fn with_queueing(truths: &[Truth], range: Range<usize>) -> Range<usize> {
    let is_queueing = |truth: &&Truth| truth.words.contains(Word::Queueing);
    let before = truths[..range.start]
        .iter()
        .rev()
        .take_while(is_queueing)
        .count();
    let after = truths[range.end..].iter().take_while(is_queueing).count();
    range.start - before.min(MAX_QUEUEING_INTERVALS)..range.end + after.min(MAX_QUEUEING_INTERVALS)
}

fn overlap(event: &NamedEvent, window: &Range<usize>) -> f64 {
    (event.end.min(window.end as f64) - event.begin.max(window.start as f64)).max(0.0)
}

fn distance(value: f64, range: Range<usize>) -> f64 {
    (range.start as f64 - value)
        .max(value - range.end as f64)
        .max(0.0)
}

/// Compares the events of a device, in intervals, with the truth. Errors are in steps of the judge.
pub(crate) fn score_events(
    truths: &[Truth],
    events: &[NamedEvent],
    intervals_per_step: f64,
) -> EventTally {
    let mut tally = EventTally::default();
    for event in events {
        let possible_s = |index: usize| {
            let truth = &truths[index];
            let is_possible =
                truth.words.is_empty() || truth.words.has_trouble() || truth.answers_nothing;
            if is_possible {
                overlap(event, &(index..index + 1))
            } else {
                0.0
            }
        };
        let possible: f64 = (0..truths.len()).map(possible_s).sum();
        tally.events += 1;
        tally.false_events += u64::from(possible < 0.5 * (event.end - event.begin));
    }
    let is_calm = |truth: &Truth| {
        !truth.words.is_empty() && truth.words.is_within(Words::of(&[Word::Idle, Word::Ok]))
    };
    for event in events {
        let within = |index: usize| overlap(event, &(index..index + 1));
        let calm = (0..truths.len())
            .filter(|index| is_calm(&truths[*index]))
            .map(within);
        tally.calm_time += calm.sum::<f64>();
        tally.event_time += event.end - event.begin;
    }
    let mut found = Vec::new();
    for window in windows(truths) {
        let covered: f64 = events
            .iter()
            .map(|event| overlap(event, &window.sure))
            .sum();
        let length = window.sure.len() as f64;
        let is_found = covered >= 0.5 * length;
        if window.is_hidden && !is_found {
            tally.hidden_windows += 1;
            continue;
        }
        tally.window_time += length;
        tally.outside_time += (length - covered).max(0.0);
        if window.sure.len() >= MIN_WINDOW_INTERVALS {
            tally.windows += 1;
            tally.missed_windows += u64::from(!is_found);
        }
        if is_found {
            found.push(window);
        }
    }
    for (windows, events) in times_of_trouble(&found, events) {
        if let (Some(window), Some(event)) = (windows.first(), events.first()) {
            let error = distance(event.begin, window.possible.start..window.sure.start);
            tally.begin_errors.push(error / intervals_per_step);
        }
        if let (Some(window), Some(event)) = (windows.last(), events.last()) {
            let error = distance(event.end, window.sure.end..window.possible.end);
            tally.end_errors.push(error / intervals_per_step);
        }
    }
    tally
}

/// Groups windows and events, each in the order of time, by which of them overlap.
fn times_of_trouble<'a>(
    windows: &'a [Window],
    events: &'a [NamedEvent],
) -> Vec<(&'a [Window], Vec<&'a NamedEvent>)> {
    let of_window = |window: &Window| -> Vec<usize> {
        (0..events.len())
            .filter(|index| overlap(&events[*index], &window.sure) > 0.0)
            .collect()
    };
    let share_event = |a: &Window, b: &Window| {
        let before = of_window(a);
        of_window(b).iter().any(|index| before.contains(index))
    };
    let members = |windows: &'a [Window]| {
        let is_member = |event: &&NamedEvent| {
            windows
                .iter()
                .any(|window| overlap(event, &window.sure) > 0.0)
        };
        (windows, events.iter().filter(is_member).collect())
    };
    windows.chunk_by(share_event).map(members).collect()
}
