//! The rules of the scores, on verdicts and truths of a few intervals.

use crate::judge::{Judgment, NamedCap};
use crate::score::{analyze_outcome, caps_in_time, live_outcomes, truth_changes, verdict_changes};
use crate::simulator::{Gate, Limited, Load, Mix, Pacing, Setup, Unit, closed};
use crate::tally::Outcome;
use crate::truth::Truth;
use crate::words::Word::{self, Busy, Capped, Idle, Ok, Queueing, Saturated, Slow};
use crate::words::Words;

/// A disk with a limit of 1,000 reads per second.
fn setup() -> Setup {
    let mut setup = Setup::new(10);
    setup.loads = vec![Load::always(closed(8), Mix::READS)];
    setup.limit_inside(Gate::new(
        Limited::Both,
        Unit::Requests,
        1000.0,
        Pacing::Spaced,
    ));
    setup
}

fn truth(words: &[Word]) -> Truth {
    let words = Words::of(words);
    let is_capped = words.contains(Capped);
    Truth {
        words,
        is_busy: words != Words::of(&[Idle]),
        answers_nothing: false,
        bound_gates: if is_capped {
            vec![(0, 1000.0)]
        } else {
            Vec::new()
        },
        is_hidden: false,
        is_surely_capped: is_capped,
    }
}

fn verdict(word: Option<Word>) -> Judgment {
    Judgment {
        word,
        ..Judgment::default()
    }
}

fn cap(limited: Limited, unit: Unit, rate: f64) -> Judgment {
    let caps = vec![NamedCap {
        limited,
        unit,
        rate,
    }];
    Judgment {
        caps,
        ..verdict(Some(Capped))
    }
}

fn outcome(words: &[Word], judgment: &Judgment) -> Outcome {
    live_outcomes(&setup(), &[truth(words)], std::slice::from_ref(judgment))[0]
}

#[test]
fn confusing_trouble_with_none_is_wrong_and_queueing_is_near_both() {
    let cases = [
        (Slow, Some(Ok), Outcome::Wrong),
        (Ok, Some(Saturated), Outcome::Wrong),
        (Idle, Some(Slow), Outcome::Wrong),
        (Saturated, Some(Queueing), Outcome::Near),
        (Ok, Some(Queueing), Outcome::Near),
        (Capped, Some(Saturated), Outcome::Near),
        (Saturated, Some(Capped), Outcome::Near),
        (Queueing, Some(Capped), Outcome::Wrong),
        (Saturated, Some(Busy), Outcome::Busy),
        (Ok, Some(Busy), Outcome::Busy),
        (Saturated, Some(Saturated), Outcome::Right),
        (Saturated, None, Outcome::Silent),
        (Idle, None, Outcome::NotScored),
    ];
    for (truth, word, expected) in cases {
        assert_eq!(
            outcome(&[truth], &verdict(word)),
            expected,
            "{truth:?} {word:?}"
        );
    }
    assert_eq!(outcome(&[], &verdict(Some(Ok))), Outcome::NotScored);
    let not_the_disk = Judgment {
        is_not_the_disk: true,
        ..verdict(None)
    };
    let analyzed = |word| analyze_outcome(&setup(), &[truth(&[word])], &not_the_disk);
    assert_eq!(
        (analyzed(Slow), analyzed(Ok)),
        (Outcome::Wrong, Outcome::Silent)
    );
}

#[test]
fn a_cap_must_be_right_in_value_and_kind() {
    let of = |limited, unit, rate| outcome(&[Capped], &cap(limited, unit, rate));
    assert_eq!(of(Limited::Both, Unit::Requests, 1040.0), Outcome::Right);
    assert_eq!(of(Limited::Both, Unit::Requests, 1060.0), Outcome::Wrong);
    assert_eq!(of(Limited::Writes, Unit::Requests, 1000.0), Outcome::Wrong);
    // There are only reads, and all are of 8 sectors.
    assert_eq!(of(Limited::Reads, Unit::Requests, 1000.0), Outcome::Right);
    assert_eq!(of(Limited::Reads, Unit::Sectors, 8000.0), Outcome::Right);
}

#[test]
fn a_verdict_may_follow_the_truth_by_three_intervals() {
    let truths = [Ok, Saturated, Saturated, Saturated, Saturated].map(|word| truth(&[word]));
    let judgments = [Some(Ok); 5].map(verdict);
    let outcomes = live_outcomes(&setup(), &truths, &judgments);
    assert_eq!(outcomes[..4], [Outcome::Right; 4]);
    assert_eq!(outcomes[4], Outcome::Wrong);
}

#[test]
fn in_intervals_shorter_than_a_step_a_verdict_stands_until_the_next() {
    let setup = Setup {
        interval_s: 0.1,
        ..setup()
    };
    let truths: Vec<Truth> = (0..25)
        .map(|at| truth(&[if at < 10 { Ok } else { Saturated }]))
        .collect();
    let outcomes = live_outcomes(&setup, &truths, &vec![verdict(Some(Ok)); 25]);
    assert_eq!(outcomes[..9], [Outcome::NotScored; 9]);
    assert_eq!(outcomes[9..22], [Outcome::Right; 13]);
    assert_eq!(outcomes[22..], [Outcome::Wrong; 3]);
}

#[test]
fn silence_is_no_change_and_the_truth_changes_as_seldom_as_it_can() {
    let judgments = [Some(Ok), None, Some(Ok), Some(Slow), None, Some(Ok)].map(verdict);
    assert_eq!(verdict_changes(&judgments), 2);
    let truths = [
        &[Ok][..],
        &[Ok, Queueing],
        &[Queueing, Saturated],
        &[],
        &[Saturated],
    ]
    .map(truth);
    // Ok twice, then saturated.
    assert_eq!(truth_changes(&truths), 1);
}

#[test]
fn a_whole_capture_is_trouble_if_a_fifth_of_it_is() {
    let of = |troubled: usize, word| {
        let truths: Vec<Truth> = (0..20)
            .map(|at| truth(&[if at < troubled { Saturated } else { Ok }]))
            .collect();
        analyze_outcome(&setup(), &truths, &verdict(Some(word)))
    };
    assert_eq!(
        (of(4, Ok), of(4, Saturated)),
        (Outcome::Wrong, Outcome::Right)
    );
    assert_eq!(
        (of(3, Ok), of(1, Saturated), of(0, Saturated)),
        (Outcome::Right, Outcome::Near, Outcome::Wrong)
    );
}

#[test]
fn a_second_without_an_answer_may_be_called_a_stall() {
    let of = |silent: usize| {
        let mut truths = vec![truth(&[Ok]); 20];
        truths[..silent]
            .iter_mut()
            .for_each(|one| one.answers_nothing = true);
        analyze_outcome(&setup(), &truths, &verdict(Some(Word::Stalled)))
    };
    assert_eq!((of(0), of(1)), (Outcome::Wrong, Outcome::Near));
}

#[test]
fn a_cap_counts_as_named_within_15_intervals() {
    let truths = vec![truth(&[Capped]); 20];
    let named_at = |at: usize| {
        let mut judgments = vec![verdict(None); 20];
        judgments[at] = cap(Limited::Both, Unit::Requests, 1000.0);
        caps_in_time(&setup(), &truths, &judgments)
    };
    assert_eq!((named_at(14), named_at(15)), ((1, 1), (0, 1)));
    assert_eq!(
        caps_in_time(&setup(), &truths[..14], &vec![verdict(None); 14]),
        (0, 0)
    );
}
