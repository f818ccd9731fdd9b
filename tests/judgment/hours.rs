//! A healthy disk for hours: what is said of it does not drift as more and more is known.

use std::collections::BTreeMap;
use std::fs;

use crate::capture::simulate;
use crate::judge::run;
use crate::random::Random;
use crate::simulator::{Arrivals, Load, Mix, Setup, Spread, Station};

const HOUR: usize = 3600;
/// The shares of a verdict in the first and in the last hour may differ by so many percent.
const MAX_DRIFT_PCT: f64 = 4.0;

/// Requests at random to a disk that serves one at a time.
struct Healthy {
    requests_per_s: f64,
    service_s: f64,
}

const LOADS: [Healthy; 3] = [
    Healthy {
        requests_per_s: 20.0,
        service_s: 0.025,
    },
    Healthy {
        requests_per_s: 60.0,
        service_s: 0.010,
    },
    Healthy {
        requests_per_s: 200.0,
        service_s: 0.003,
    },
];

impl Healthy {
    fn setup(&self, hours: u32) -> Setup {
        let mut setup = Setup::new(hours * HOUR as u32);
        setup.is_recording = false;
        setup.station = Station::new(1, self.service_s, Spread::Exponential);
        let rate = self.requests_per_s;
        setup.loads = vec![Load::always(Arrivals::Poisson { rate }, Mix::READS)];
        setup
    }
}

/// Returns the verdict of each interval.
fn verdicts(setup: &Setup, random: &mut Random) -> Vec<String> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("hours.txt");
    fs::write(&path, simulate(setup, random).text).unwrap();
    let table = run(&["--csv", "--all", "--as-live", "--from"], &path);
    let mut lines = table.lines();
    let titles = lines.next().unwrap();
    let column = titles
        .split(',')
        .position(|title| title == "verdict")
        .unwrap();
    let verdict = |line: &str| line.split(',').nth(column).unwrap().to_owned();
    lines.map(verdict).collect()
}

/// Returns the percentage of each verdict.
fn shares(verdicts: &[String]) -> BTreeMap<&str, f64> {
    let mut shares = BTreeMap::new();
    for verdict in verdicts {
        *shares.entry(verdict.as_str()).or_default() += 100.0 / verdicts.len() as f64;
    }
    shares
}

fn check(load: &Healthy, hours: u32) {
    let mut random = Random::new("hours", 1);
    let verdicts = verdicts(&load.setup(hours), &mut random);
    assert_eq!(verdicts.len(), hours as usize * HOUR);
    let (first, last) = (
        shares(&verdicts[..HOUR]),
        shares(&verdicts[verdicts.len() - HOUR..]),
    );
    println!("{}/s: {first:.1?}, {last:.1?}", load.requests_per_s);
    for word in first.keys().chain(last.keys()) {
        let [before, after] =
            [&first, &last].map(|shares| shares.get(word).copied().unwrap_or(0.0));
        assert!(
            (before - after).abs() < MAX_DRIFT_PCT,
            "{word}: {before:.1}% in the first hour, {after:.1}% in the last of {hours}"
        );
    }
}

#[test]
fn verdicts_do_not_drift_within_hours() {
    check(&LOADS[0], 5);
}

/// With `BLKSTAT_JUDGMENT=full`, in a release build.
#[test]
fn verdicts_do_not_drift_within_a_day() {
    if crate::run::is_full() {
        for load in &LOADS {
            check(load, 24);
        }
    }
}
