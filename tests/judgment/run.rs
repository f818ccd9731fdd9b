//! The run over all scenarios.

use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::capture::{Capture, simulate};
use crate::goals::{self, Scores};
use crate::judge::{Judgment, NamedEvent, analyze, judge_live};
use crate::scenarios::{Scenario, all};
use crate::score::{analyze_outcome, live_outcomes, score};
use crate::table::{table, total};
use crate::tally::Score;

/// The seeds of a full run.
const ALL_SEEDS: u64 = 20;
/// The seeds of a short run.
const FEW_SEEDS: u64 = 2;

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Returns whether everything is to be tested.
pub(crate) fn is_full() -> bool {
    variable("BLKSTAT_JUDGMENT").is_some_and(|value| value == "full")
}

/// Simulates a scenario and compares the verdicts on it with the truth.
fn examine(scenario: &Scenario, seed: u64, directory: &Path, shows_intervals: bool) -> Score {
    let (setup, mut random) = scenario.build(seed);
    let capture = simulate(&setup, &mut random);
    let path = directory.join(format!(
        "{}-{seed}.txt",
        scenario.name.replace([' ', ',', '%'], "-")
    ));
    fs::write(&path, &capture.text).unwrap();
    let devices: Vec<&str> = setup.devices.iter().map(|device| device.name).collect();
    let live = judge_live(&path, &devices);
    let analyzed = analyze(&path, &devices);
    if shows_intervals {
        show(scenario.name, seed, &capture, &live, &analyzed);
    }
    score(&capture, &live, &analyzed)
}

fn show(name: &str, seed: u64, capture: &Capture, live: &[Vec<Judgment>], analyzed: &[Judgment]) {
    let said = |one: &Judgment| {
        one.word
            .map_or("-".to_owned(), |word| format!("{word:?}").to_lowercase())
    };
    for (index, device) in capture.setup.devices.iter().enumerate() {
        println!("{name}, seed {seed}, {}", device.name);
        let truths = &capture.truths[index];
        let outcomes = live_outcomes(&capture.setup, truths, &live[index]);
        for (at, (truth, one)) in truths.iter().zip(&live[index]).enumerate() {
            let (words, outcome) = (truth.words.to_string(), format!("{:?}", outcomes[at]));
            println!(
                "{at:4} {words:28} {:10} {outcome:10} {}",
                said(one),
                one.text
            );
        }
        let one = &analyzed[index];
        let outcome = analyze_outcome(&capture.setup, truths, one);
        let not_the_disk = if one.is_not_the_disk {
            ", not the disk"
        } else {
            ""
        };
        println!(
            " analyze: {}{not_the_disk} {outcome:?}: {} {:?}",
            said(one),
            one.text,
            one.caps
        );
        for NamedEvent { word, begin, end } in &one.events {
            println!(" event: {word:?} from {begin} to {end} s");
        }
    }
}

/// Examines all scenarios with some seeds, on all processors.
fn examine_all(
    scenarios: &[Scenario],
    seeds: &[u64],
    directory: &Path,
    shows_intervals: bool,
) -> Vec<Score> {
    let next = AtomicUsize::new(0);
    let scores = Mutex::new(vec![Score::default(); scenarios.len()]);
    let work = || {
        loop {
            let job = next.fetch_add(1, Ordering::Relaxed);
            let Some(scenario) = scenarios.get(job / seeds.len()) else {
                break;
            };
            let score = examine(
                scenario,
                seeds[job % seeds.len()],
                directory,
                shows_intervals,
            );
            scores.lock().unwrap()[job / seeds.len()] += score;
        }
    };
    let threads = if shows_intervals {
        1
    } else {
        thread::available_parallelism().map_or(1, usize::from)
    };
    thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
    scores.into_inner().unwrap()
}

#[test]
fn verdicts_agree_with_the_truth() {
    let only = variable("BLKSTAT_JUDGMENT_ONLY");
    let is_chosen = |scenario: &Scenario| {
        only.as_ref()
            .is_none_or(|text| scenario.name.contains(text.as_str()))
    };
    let scenarios: Vec<Scenario> = all().into_iter().filter(is_chosen).collect();
    let seeds: Vec<u64> = match variable("BLKSTAT_JUDGMENT_SEED") {
        Some(seed) => vec![seed.parse().unwrap()],
        None => (0..if is_full() { ALL_SEEDS } else { FEW_SEEDS }).collect(),
    };
    let temporary = tempfile::tempdir().unwrap();
    let directory = variable("BLKSTAT_JUDGMENT_CAPTURES").map(std::path::PathBuf::from);
    let directory = directory.as_deref().unwrap_or(temporary.path());
    let scores = examine_all(&scenarios, &seeds, directory, only.is_some());
    let named: Vec<(&str, Score)> = scenarios.iter().map(|one| one.name).zip(scores).collect();
    println!("{}", table(&named));
    let contradictions: Vec<String> = named
        .iter()
        .flat_map(|(name, score)| {
            score
                .contradictions
                .iter()
                .map(move |one| format!("{name}: {one}"))
        })
        .collect();
    assert!(contradictions.is_empty(), "{}", contradictions.join("\n"));
    let scores = Scores {
        scenarios: &named,
        total: total(&named),
    };
    println!("{}", goals::report(&scores));
    if only.is_none() {
        let mut failures = goals::failures(&scores);
        if !is_full() {
            failures.extend(goals::stale_in_readme(&scores));
        }
        assert!(failures.is_empty(), "{}", failures.join("\n"));
    }
}
