//! The comparison of verdicts with the truth.
//!
//! **Wrong**: `ok`, `idle` or "not the disk" where the truth is `slow` or more severe; `slow` or more severe where the
//! truth is ok or idle; a cap of another kind, off by more than [`CAP_TOLERANCE`], or where there is none. A verdict that
//! was true within the last [`MAX_LAG_INTERVALS`] intervals counts as true: one that rests on several intervals follows the
//! truth with a delay. **Busy**: the verdict that says no more. **Silent**: no verdict while the device is busy. **Right**: a
//! true verdict. Everything else, such as `queueing` where the truth is `saturated`, or `capped` where servers whose times
//! hardly vary are saturated, is **near**. Not scored: intervals without truth, and those before the first step of the judge.

use std::collections::BTreeMap;

use crate::capture::Capture;
use crate::events::score_events;
use crate::judge::{Judgment, NamedCap, NamedEvent};
use crate::simulator::{Limited, Setup, Unit};
use crate::tally::{Outcome, Score};
use crate::truth::{MIN_STALL_S, Truth};
use crate::words::{Word, Words};

/// A named cap may be off by this.
const CAP_TOLERANCE: f64 = 0.05;
/// Intervals for which a verdict may follow the truth late.
const MAX_LAG_INTERVALS: usize = 3;
/// Seconds of the shortest step of the judge: shorter intervals are added up.
const MIN_STEP_S: f64 = 0.95;
/// Intervals of a second or longer within which a cap is to be named.
const MAX_CAP_STEPS: usize = 15;
/// The largest jitter of a cap that is to be named in time.
const MAX_NAMED_JITTER: f64 = 0.005;
/// Trouble for this share of the busy intervals makes a whole capture one of trouble ...
const TROUBLE_SHARE: f64 = 0.2;
/// ... and for less than this share it may be ignored, but also be reported.
const BRIEF_SHARE: f64 = 0.02;

/// Returns the outcome of each live interval of a device.
pub(crate) fn live_outcomes(
    setup: &Setup,
    truths: &[Truth],
    judgments: &[Judgment],
) -> Vec<Outcome> {
    let lag = max_lag(setup);
    let outcome = |index: usize| {
        let has_no_verdict_yet = (index + 1) as f64 * setup.interval_s < MIN_STEP_S;
        if has_no_verdict_yet {
            return Outcome::NotScored;
        }
        let of_truth = |truth: &Truth| live_outcome(setup, truth, &judgments[index]);
        let now = of_truth(&truths[index]);
        if now != Outcome::Wrong {
            return now;
        }
        let recent = &truths[index.saturating_sub(lag)..index];
        recent.iter().map(of_truth).min().unwrap_or(now).min(now)
    };
    (0..truths.len()).map(outcome).collect()
}

/// Returns the intervals of a step of the judge: it adds up those that are shorter than a second.
fn intervals_per_step(setup: &Setup) -> f64 {
    (1.0 / setup.interval_s).max(1.0)
}

/// Returns the intervals for which a verdict may follow the truth late. In intervals shorter than a step it stands until the
/// next.
fn max_lag(setup: &Setup) -> usize {
    MAX_LAG_INTERVALS + (intervals_per_step(setup) - 1.0).round() as usize
}

fn live_outcome(setup: &Setup, truth: &Truth, judgment: &Judgment) -> Outcome {
    if truth.words.is_empty() {
        return Outcome::NotScored;
    }
    let Some(word) = judgment.word else {
        return if truth.is_busy {
            Outcome::Silent
        } else {
            Outcome::NotScored
        };
    };
    if word == Word::Busy {
        return Outcome::Busy;
    }
    let is_saturated = truth.words.contains(Word::Saturated);
    if word == Word::Capped && truth.bound_gates.is_empty() && is_saturated {
        // Its own maximum: servers whose times hardly vary look like a limit.
        return Outcome::Near;
    }
    if names_wrong_cap(setup, judgment, &truth.bound_gates) || contradicts(judgment, truth.words) {
        Outcome::Wrong
    } else if truth.words.contains(word) {
        Outcome::Right
    } else {
        Outcome::Near
    }
}

/// Returns whether a verdict says trouble where there is surely none, or none where there surely is.
fn contradicts(judgment: &Judgment, truth: Words) -> bool {
    let says_no_trouble =
        judgment.is_not_the_disk || judgment.word.is_some_and(|word| word <= Word::Ok);
    let says_trouble = judgment.word.is_some_and(Word::is_trouble);
    let is_calm = truth.is_within(Words::of(&[Word::Idle, Word::Ok]));
    (says_no_trouble && truth.is_surely_trouble()) || (says_trouble && is_calm)
}

/// Returns whether a verdict names a cap where there is none, or none of those that there are.
fn names_wrong_cap(setup: &Setup, judgment: &Judgment, gates: &[(usize, f64)]) -> bool {
    let is_true =
        |cap: &NamedCap| is_true_cap(setup, cap, gates) || is_sum_of_caps(setup, cap, gates);
    let names_others = !judgment.caps.is_empty() && !judgment.caps.iter().any(is_true);
    judgment.word == Some(Word::Capped) && (gates.is_empty() || names_others)
}

fn is_near(rate: f64, true_rate: f64) -> bool {
    (rate / true_rate - 1.0).abs() <= CAP_TOLERANCE
}

/// Returns whether a cap that was named is the sum of a limit of reads and one of writes, both of which are reached.
fn is_sum_of_caps(setup: &Setup, named: &NamedCap, gates: &[(usize, f64)]) -> bool {
    let of_one_direction = |gate: &usize| {
        let gate = &setup.gates[*gate];
        gate.limited != Limited::Both && gate.unit == named.unit
    };
    let limits: BTreeMap<usize, f64> = gates
        .iter()
        .copied()
        .filter(|(gate, _)| of_one_direction(gate))
        .collect();
    named.limited == Limited::Both && is_near(named.rate, limits.values().sum())
}

/// Returns whether a cap that was named is one of those that limited, in a kind that describes the same.
fn is_true_cap(setup: &Setup, named: &NamedCap, gates: &[(usize, f64)]) -> bool {
    gates.iter().any(|(gate, limit)| {
        let gate = &setup.gates[*gate];
        let reads = setup.common_read_share();
        // A limit of reads is one of everything if there is nothing else.
        let limited = match (gate.limited, reads) {
            (Limited::Both, Some(share)) if named.limited == Limited::Reads && share == 1.0 => {
                Limited::Reads
            }
            (Limited::Both, Some(share)) if named.limited == Limited::Writes && share == 0.0 => {
                Limited::Writes
            }
            (Limited::Reads | Limited::Writes, Some(share)) if share == 1.0 || share == 0.0 => {
                named.limited
            }
            (limited, _) => limited,
        };
        let true_rate = match (gate.unit, named.unit) {
            (unit, named_unit) if unit == named_unit => Some(*limit),
            _ if !setup.has_one_size() => None,
            (Unit::Sectors, _) => Some(setup.requests_per_s(Unit::Sectors, *limit)),
            (Unit::Requests, _) => Some(limit * f64::from(setup.loads[0].mix.sectors[0])),
        };
        named.limited == limited && true_rate.is_some_and(|rate| is_near(named.rate, rate))
    })
}

/// Returns whether the device answered nothing for long enough in a row.
fn has_stall(setup: &Setup, truths: &[Truth]) -> bool {
    let mut runs = truths.chunk_by(|a, b| a.answers_nothing && b.answers_nothing);
    let seconds = |run: &[Truth]| {
        run.iter().filter(|one| one.answers_nothing).count() as f64 * setup.interval_s
    };
    runs.any(|run| seconds(run) >= MIN_STALL_S)
}

/// Returns the outcome of the analysis of a device.
pub(crate) fn analyze_outcome(setup: &Setup, truths: &[Truth], judgment: &Judgment) -> Outcome {
    let busy: Vec<&Truth> = truths
        .iter()
        .filter(|truth| truth.is_busy && !truth.words.is_empty())
        .collect();
    if busy.is_empty() {
        let is_idle = judgment.word.is_none_or(|word| word == Word::Idle);
        return if is_idle {
            Outcome::NotScored
        } else {
            Outcome::Wrong
        };
    }
    let share = |is_counted: &dyn Fn(&Truth) -> bool| {
        busy.iter().filter(|truth| is_counted(truth)).count() as f64 / busy.len() as f64
    };
    let is_surely_trouble = share(&|truth| truth.words.is_surely_trouble()) >= TROUBLE_SHARE;
    let may_be_stall = judgment.word == Some(Word::Stalled) && has_stall(setup, truths);
    let may_be_trouble = may_be_stall || share(&|truth| truth.words.has_trouble()) >= BRIEF_SHARE;
    let Some(word) = judgment.word else {
        let is_wrong = judgment.is_not_the_disk && is_surely_trouble;
        return if is_wrong {
            Outcome::Wrong
        } else {
            Outcome::Silent
        };
    };
    let gates: Vec<_> = truths
        .iter()
        .flat_map(|truth| truth.bound_gates.iter().copied())
        .collect();
    let is_saturated = share(&|truth| truth.words.contains(Word::Saturated)) >= TROUBLE_SHARE;
    if word == Word::Capped && gates.is_empty() && is_saturated {
        return Outcome::Near;
    }
    let names_wrong_cap = names_wrong_cap(setup, judgment, &gates);
    let says_no_trouble = judgment.is_not_the_disk || word <= Word::Ok;
    if names_wrong_cap
        || (says_no_trouble && is_surely_trouble)
        || (word.is_trouble() && !may_be_trouble)
    {
        return Outcome::Wrong;
    }
    let is_true = share(&|truth| truth.words.contains(word)) >= TROUBLE_SHARE / 2.0;
    if is_true {
        Outcome::Right
    } else {
        Outcome::Near
    }
}

/// Returns the number of changes of the verdict; silence in between does not count as one.
pub(crate) fn verdict_changes(judgments: &[Judgment]) -> u64 {
    let words: Vec<Word> = judgments
        .iter()
        .filter_map(|judgment| judgment.word)
        .collect();
    words.windows(2).filter(|pair| pair[0] != pair[1]).count() as u64
}

/// Returns the fewest changes with which a verdict could always be true.
pub(crate) fn truth_changes(truths: &[Truth]) -> u64 {
    let mut common = Words::NONE;
    let mut changes = 0;
    for truth in truths.iter().filter(|truth| !truth.words.is_empty()) {
        if !common.and(truth.words).is_empty() {
            common = common.and(truth.words);
        } else {
            changes += u64::from(!common.is_empty());
            common = truth.words;
        }
    }
    changes
}

/// Returns the caps that were named in time and those that should have been: times of at least
/// [`MAX_CAP_STEPS`] in which a gate of low jitter limits the device. A limit above the device does not show
/// in its counters.
pub(crate) fn caps_in_time(setup: &Setup, truths: &[Truth], judgments: &[Judgment]) -> (u64, u64) {
    let (mut named, mut all, mut start) = (0, 0, 0);
    let intervals = (MAX_CAP_STEPS as f64 * intervals_per_step(setup)).round() as usize;
    while start + intervals <= truths.len() {
        let window = start..start + intervals;
        // One that volumes share takes longer to show: `neighbors` counts those that are named at all.
        let is_steady = |gate: &(usize, f64)| {
            !setup.has_volumes && setup.gates[gate.0].jitter <= MAX_NAMED_JITTER
        };
        let is_capped = |truth: &Truth| {
            truth.is_surely_capped
                && !truth.is_hidden
                && !truth.bound_gates.is_empty()
                && truth.bound_gates.iter().all(is_steady)
        };
        if !truths[window.clone()].iter().all(is_capped) {
            start += 1;
            continue;
        }
        let is_named = |index: usize| {
            let says_cap = matches!(judgments[index].word, Some(Word::Capped | Word::Throttled));
            says_cap && live_outcome(setup, &truths[index], &judgments[index]) == Outcome::Right
        };
        named += u64::from(window.into_iter().any(is_named));
        all += 1;
        start += truths[start..]
            .iter()
            .take_while(|truth| is_capped(truth))
            .count();
    }
    (named, all)
}

/// Steps of trouble that may be too few for an incident to be told.
const UNTOLD_STEPS: f64 = 8.0;

/// Returns how the verdict on a device and its events contradict each other; `None` where they agree. A verdict of trouble
/// needs an event of trouble, unless seconds that are too few to tell are a tenth of the work; an idle device has none, and
/// one that is ok has none for most of its busy time. Which trouble it is may differ: an event has the worst verdict at the
/// time, and the verdict is that of all the time.
pub(crate) fn contradiction(
    truths: &[Truth],
    interval_s: f64,
    judgment: &Judgment,
) -> Option<String> {
    let busy_s = truths.iter().filter(|truth| truth.is_busy).count() as f64 * interval_s;
    let word = judgment.word?;
    let events = &judgment.events;
    let trouble_s: f64 = events.iter().map(|event| event.end - event.begin).sum();
    let step_s = interval_s.max(1.0);
    let problem = if word == Word::Idle && !events.is_empty() {
        "idle with events"
    } else if word.is_trouble() && events.is_empty() && busy_s > 10.0 * UNTOLD_STEPS * step_s {
        "trouble without an event"
    } else if word == Word::Ok && trouble_s > 0.5 * busy_s {
        "ok with events for most of the time"
    } else {
        return None;
    };
    Some(format!("{word:?}, {problem}: {events:?}"))
}

/// Returns the score of a capture.
pub(crate) fn score(capture: &Capture, live: &[Vec<Judgment>], analyzed: &[Judgment]) -> Score {
    let mut score = Score::default();
    for ((truths, live), analyzed) in capture.truths.iter().zip(live).zip(analyzed) {
        assert_eq!(truths.len(), live.len(), "every interval has a line");
        for outcome in live_outcomes(&capture.setup, truths, live) {
            score.live.count(outcome);
        }
        score
            .analyze
            .count(analyze_outcome(&capture.setup, truths, analyzed));
        let contradiction = contradiction(truths, capture.setup.interval_s, analyzed);
        score.contradictions.extend(contradiction);
        score.changes.0 += verdict_changes(live);
        score.changes.1 += truth_changes(truths);
        let caps = caps_in_time(&capture.setup, truths, live);
        score.caps = (score.caps.0 + caps.0, score.caps.1 + caps.1);
        let in_intervals = |event: &NamedEvent| NamedEvent {
            begin: event.begin / capture.setup.interval_s,
            end: event.end / capture.setup.interval_s,
            ..event.clone()
        };
        let events: Vec<NamedEvent> = analyzed.events.iter().map(in_intervals).collect();
        score.events += score_events(truths, &events, intervals_per_step(&capture.setup));
    }
    score
}
