//! Several devices of one host: which of them is slower than the others, and which share a limit.

use std::fs;

use crate::capture::simulate;
use crate::judge::{Judgment, analyze, judge_live};
use crate::random::Random;
use crate::scenarios::all;
use crate::simulator::{Arrivals, Load, Mix, PowerSave, Setup, Spread, Station, closed};
use crate::words::Word;

const NAMES: [&str; 12] = [
    "nvme0n1", "nvme1n1", "nvme2n1", "nvme3n1", "nvme4n1", "nvme5n1", "nvme6n1", "nvme7n1",
    "nvme8n1", "nvme9n1", "nvme10n1", "nvme11n1",
];
const SEEDS: u64 = 2;

/// Seconds that the four servers of a disk need for a request, so that it completes 200 per second at most.
const SERVICE_S: f64 = 0.02;

/// A disk of an array for 20 minutes, with random writes at a rate per second.
fn member(random: &mut Random, rate: f64) -> Setup {
    let mut setup = Setup::new(80);
    setup.interval_s = 15.0;
    setup.sample_delay_s = 0.0;
    setup.is_recording = false;
    setup.station = Station::new(4, random.between(0.8, 1.1) * SERVICE_S, Spread::Exponential);
    setup.loads = vec![Load::always(Arrivals::Poisson { rate }, Mix::WRITES)];
    setup
}

/// The same as `count` disks.
fn members(random: &mut Random, count: usize, rate: f64) -> Vec<Setup> {
    let first = member(random, rate);
    vec![first; count]
}

fn slow(setup: &mut Setup, times: f64) {
    setup
        .station
        .service_s
        .iter_mut()
        .for_each(|seconds| *seconds *= times);
}

/// The capture of a host with these disks.
fn capture(setups: &[Setup], random: &mut Random) -> String {
    let texts = setups.iter().zip(NAMES).map(|(setup, name)| {
        simulate(setup, random)
            .text
            .replace(" sda ", &format!(" {name} "))
    });
    let texts: Vec<String> = texts.collect();
    let mut lines: Vec<_> = texts.iter().map(|text| text.lines()).collect();
    let mut merged = String::new();
    while let Some(time) = lines[0].next() {
        lines[1..]
            .iter_mut()
            .for_each(|of_disk| assert_eq!(of_disk.next(), Some(time)));
        merged += time;
        for of_disk in &mut lines {
            merged += "\n";
            merged += of_disk.next().unwrap();
        }
        merged += "\n";
    }
    merged
}

/// Returns the disks that are slower than their peers, according to `analyze` and to the live view, which must agree.
fn slower_than_peers(name: &str, build: impl Fn(&mut Random) -> Vec<Setup>) -> Vec<Vec<usize>> {
    let directory = tempfile::tempdir().unwrap();
    let found = |seed: u64| {
        let mut random = Random::new(name, seed);
        let setups = build(&mut random);
        let path = directory.path().join(format!("{seed}.txt"));
        fs::write(&path, capture(&setups, &mut random)).unwrap();
        let names = &NAMES[..setups.len()];
        let is_slow = |one: &Judgment| one.word == Some(Word::Slow) && one.text.contains(" peers");
        let (live, whole) = (judge_live(&path, names), analyze(&path, names));
        let by_analyze: Vec<usize> = (0..names.len()).filter(|at| is_slow(&whole[*at])).collect();
        let by_live: Vec<usize> = (0..names.len())
            .filter(|at| live[*at].iter().any(is_slow))
            .collect();
        assert_eq!(by_live, by_analyze, "{name}, seed {seed}");
        by_analyze
    };
    (0..SEEDS).map(found).collect()
}

fn none() -> Vec<Vec<usize>> {
    vec![Vec::new(); SEEDS as usize]
}

#[test]
fn a_slow_disk_of_several_is_found_although_it_always_was() {
    for count in [4, 8, 12] {
        let found = slower_than_peers("one slow", |random| {
            let mut setups = members(random, count, 12.0);
            slow(&mut setups[count - 1], 2.0);
            setups
        });
        assert_eq!(found, vec![vec![count - 1]; SEEDS as usize], "of {count}");
    }
    let found = slower_than_peers("two slow", |random| {
        let mut setups = members(random, 12, 12.0);
        slow(&mut setups[3], 2.0);
        slow(&mut setups[7], 3.0);
        setups
    });
    assert_eq!(found, vec![vec![3, 7]; SEEDS as usize]);
}

#[test]
fn a_slow_disk_whose_requests_wait_is_found_at_an_even_load() {
    let found = slower_than_peers("slow and busy", |random| {
        let mut setups = members(random, 8, 90.0);
        slow(&mut setups[2], 1.6);
        setups
    });
    assert_eq!(found, vec![vec![2]; SEEDS as usize]);
}

#[test]
fn like_disks_are_not_slow() {
    assert_eq!(
        slower_than_peers("alike", |random| members(random, 8, 15.0)),
        none()
    );
    assert_eq!(
        slower_than_peers("alike and busy", |random| members(random, 8, 160.0)),
        none()
    );
}

/// At up to 70% of what a disk can do. Closer to it, or with more clients at its highest rate, a disk with more load than like
/// ones looks like a slower one: only rates are compared.
#[test]
fn more_load_does_not_make_a_disk_slow() {
    let rates = [50.0, 62.0, 74.0, 87.0, 100.0, 112.0, 124.0, 136.0];
    let found = slower_than_peers("unequal rates", |random| {
        let first = member(random, 50.0);
        let load = |rate| Setup {
            station: Station::new(4, SERVICE_S, Spread::Exponential),
            loads: vec![Load::always(Arrivals::Poisson { rate }, Mix::WRITES)],
            ..first.clone()
        };
        rates.into_iter().map(load).collect()
    });
    assert_eq!(found, none());
    let found = slower_than_peers("one hot", |random| {
        let mut setups = members(random, 8, 124.0);
        setups[5].loads[0].arrivals = Arrivals::Poisson { rate: 152.0 };
        setups
            .iter_mut()
            .for_each(|setup| setup.station.service_s = [SERVICE_S; 4]);
        setups
    });
    assert_eq!(found, none());
}

#[test]
fn other_requests_and_seldom_used_disks_are_not_compared() {
    let found = slower_than_peers("larger requests", |random| {
        let mut setups = members(random, 8, 12.0);
        setups
            .iter_mut()
            .for_each(|setup| setup.station.sector_s = 0.0004);
        setups[1].loads[0].mix.sectors = &[256];
        setups
    });
    assert_eq!(found, none());
    let found = slower_than_peers("spare", |random| {
        let mut setups = members(random, 8, 12.0);
        setups[6].loads[0].arrivals = Arrivals::Poisson { rate: 0.7 };
        setups[6].station.power_save = Some(PowerSave {
            after_s: 0.2,
            wake_s: 0.2,
        });
        setups[7].loads.clear();
        setups
    });
    assert_eq!(found, none());
    let found = slower_than_peers("too few", |random| {
        let mut setups = members(random, 3, 12.0);
        slow(&mut setups[0], 3.0);
        setups
    });
    assert_eq!(found, none());
}

#[test]
fn a_limit_that_volumes_share_is_named_and_no_other() {
    const SEEDS: u64 = 15;
    let directory = tempfile::tempdir().unwrap();
    let scenario = all()
        .into_iter()
        .find(|one| one.name == "limit shared by three volumes")
        .unwrap();
    let names = ["sda", "sdb", "sdc"];
    let named =
        |one: &Judgment| one.word == Some(Word::Capped) && one.text.contains("shared with sd");
    let mut found = 0;
    for seed in 0..SEEDS {
        let (setup, mut random) = scenario.build(seed);
        let path = directory.path().join("shared.txt");
        fs::write(&path, simulate(&setup, &mut random).text).unwrap();
        found += u64::from(analyze(&path, &names).iter().all(named));
    }
    assert!(10 * found >= 8 * SEEDS, "{found} of {SEEDS}");
}

#[test]
fn devices_with_a_load_of_their_own_share_no_limit() {
    let directory = tempfile::tempdir().unwrap();
    for seed in 0..4 {
        let mut random = Random::new("independent", seed);
        let mut setups = members(&mut random, 6, 1.0);
        for setup in &mut setups {
            (setup.interval_s, setup.intervals) = (1.0, 120);
            let load = if random.chance(0.5) {
                closed(random.count(4, 16))
            } else {
                Arrivals::Poisson {
                    rate: random.between(100.0, 190.0),
                }
            };
            setup.station.service_s = [SERVICE_S; 4];
            setup.loads = vec![Load::always(load, Mix::WRITES)];
        }
        let path = directory.path().join("independent.txt");
        fs::write(&path, capture(&setups, &mut random)).unwrap();
        for one in judge_live(&path, &NAMES[..6]).iter().flatten() {
            assert!(!one.text.contains("shared with"), "{}", one.text);
        }
    }
}
