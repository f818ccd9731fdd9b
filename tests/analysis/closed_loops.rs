//! Simulated closed loops of known truth: the errors of the estimates over many seeds.

use serde_json::Value;

use super::simulator::{Random, Second, analyze, assess, caps, is_near, number, reads, varied};

/// Simulates a closed loop of `clients` on `servers` with exponential service times of mean `service_s` for one second;
/// returns requests per second. Each client issues its next request at once.
fn servers_rate(random: &mut Random, clients: usize, servers: usize, service_s: f64) -> f64 {
    // The busy servers complete independently of each other: a sum of exponential times.
    let busy = clients.min(servers) as f64;
    let (mut at, mut done) = (0.0, 0.0);
    while at < 1.0 {
        at += random.exponential() * service_s / busy;
        done += 1.0;
    }
    done
}

fn sweep(levels: &[f64], each: usize, mut rate: impl FnMut(f64) -> f64) -> Vec<Second> {
    levels
        .iter()
        .flat_map(|n| (0..each).map(|_| reads(rate(*n), *n)).collect::<Vec<_>>())
        .collect()
}

const DOUBLING: [f64; 9] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0];

/// The knee, as queues rounded to tenths; 0 if it is not known.
fn knee(report: &Value) -> (f64, f64) {
    let rounded =
        |end: &str| (10.0 * report["capacity"][end].as_f64().unwrap_or(0.0)).round() / 10.0;
    (rounded("knee_low"), rounded("knee_high"))
}

#[test]
fn the_maximum_of_a_queue_with_several_servers_is_found() {
    for seed in 0..12 {
        let mut random = Random(seed);
        let servers = 4 << (seed % 3);
        let service_s = 0.01;
        let report = analyze(sweep(&DOUBLING[..8], 8, |n| {
            servers_rate(&mut random, n as usize, servers, service_s)
        }));
        let max_rate = servers as f64 / service_s;
        assert_eq!(
            report["capacity"]["max_known"], true,
            "seed {seed}: {}",
            report["capacity"]
        );
        assert!(
            is_near(&report["capacity"]["max_iops"], max_rate, 0.05),
            "seed {seed}"
        );
        assert_eq!(
            knee(&report),
            (servers as f64 / 2.0, servers as f64),
            "seed {seed}"
        );
        assert_eq!(
            report["verdict"], "saturated",
            "seed {seed}: {}",
            report["explanation"]
        );
    }
}

/// The rate by the Universal Scalability Law.
fn law(lambda: f64, sigma: f64, kappa: f64, n: f64) -> f64 {
    lambda * n / (1.0 + sigma * (n - 1.0) + kappa * n * (n - 1.0))
}

/// The knee by its definition, searched in steps of 0.1.
fn true_knee(sigma: f64, kappa: f64) -> f64 {
    let max_rate = (1..4000)
        .map(|n| law(1.0, sigma, kappa, f64::from(n)))
        .fold(0.0, f64::max);
    (0..)
        .map(|k| 1.0 + f64::from(k) * 0.1)
        .find(|n| law(1.0, sigma, kappa, *n) >= 0.9 * max_rate)
        .unwrap()
}

#[test]
fn the_maximum_and_the_knee_of_a_law_are_found_in_noise() {
    let (mut off_max, mut with_knee, mut reached) = (0.0f64, 0, 0);
    for seed in 0..60 {
        let mut random = Random(1000 + seed);
        let sigma = 0.005 + 0.05 * random.unit();
        let kappa = 10f64.powf(-4.5 + 1.5 * random.unit());
        let report = analyze(sweep(&DOUBLING, 8, |n| {
            law(8000.0, sigma, kappa, n) * (1.0 + 0.03 * random.normal())
        }));
        assert_ne!(report["verdict"], "capped", "seed {seed}");
        if report["capacity"]["max_known"] == true {
            reached += 1;
            let max_rate = (1..257)
                .map(|n| law(8000.0, sigma, kappa, f64::from(n)))
                .fold(0.0, f64::max);
            off_max = off_max.max((number(&report["capacity"]["max_iops"]) / max_rate - 1.0).abs());
            let (low, high) = knee(&report);
            with_knee += usize::from((low..=high).contains(&true_knee(sigma, kappa)));
        }
    }
    assert!(reached >= 50 && off_max < 0.06 && 10 * with_knee >= 9 * reached);
}

#[test]
fn a_sweep_that_stops_before_the_knee_has_not_reached_it() {
    let mut wrong = 0;
    for seed in 0..50 {
        let mut random = Random(2000 + seed);
        let sigma = 0.002 + 0.03 * random.unit();
        let kappa = 10f64.powf(-4.5 + 1.5 * random.unit());
        let knee = true_knee(sigma, kappa);
        let levels: Vec<f64> = (0..8)
            .map(|k| (knee * 0.7).powf(f64::from(k) / 7.0))
            .collect();
        let noise = 0.02 * random.unit();
        let report = analyze(sweep(&levels, 6, |n| {
            law(8000.0, sigma, kappa, n) * (1.0 + noise * random.normal())
        }));
        wrong += usize::from(report["capacity"]["max_known"] == true);
        assert_ne!(report["verdict"], "capped", "seed {seed}");
    }
    assert!(wrong <= 1);
}

/// A cap on requests per second in front of a device with a fixed latency, as a token bucket that saves up to `burst`
/// tokens. Each sample is taken up to 0.2 ms late.
fn bucket(
    levels: &[f64],
    each: usize,
    cap: f64,
    burst: f64,
    service_s: f64,
    random: &mut Random,
) -> Vec<Second> {
    const LATE_S: f64 = 0.0002;
    let (mut credits, mut late) = (burst, 0.0);
    sweep(levels, each, |n| {
        let wanted = varied(random, n / service_s, 0.5);
        let served = wanted.min(cap + credits.max(0.0));
        credits = (credits + cap - served).min(burst);
        let before = std::mem::replace(&mut late, LATE_S * random.unit());
        served * (1.0 + late - before)
    })
}

#[test]
fn any_cap_is_found_within_one_percent() {
    for seed in 0..50 {
        let mut random = Random(3000 + seed);
        // One that eight requests at a time reach, or one request.
        let is_high = seed % 5 == 4;
        let cap = (100.0 * 10f64.powf(2.5 * random.unit())).round();
        let service_s = if is_high {
            8.0 / cap
        } else {
            0.5 / cap * (0.5 + random.unit())
        };
        let burst = if is_high { 0.0 } else { 0.1 * cap };
        let report = analyze(bucket(
            &DOUBLING[..8],
            8,
            cap,
            burst,
            service_s,
            &mut random,
        ));
        assert_eq!(
            report["verdict"], "capped",
            "seed {seed}: {}",
            report["explanation"]
        );
        assert!(
            is_near(&report["plateaus"][0]["iops"], cap, 0.01),
            "seed {seed}"
        );
        let capacity = &report["capacity"];
        assert!(
            is_near(&capacity["max_iops"], cap, 0.02),
            "seed {seed} {capacity}"
        );
        assert!(
            capacity["max_known"] == true && capacity["proven"] == true,
            "seed {seed}"
        );
        assert!(
            !is_high || knee(&report) == (4.0, 8.0),
            "seed {seed}: {capacity}"
        );
    }
}

#[test]
fn busy_servers_are_saturated_and_not_capped() {
    let (mut wrong, mut live_wrong) = (0, 0);
    for seed in 0..40 {
        let mut random = Random(7000 + seed);
        // Exponential service times, and uniformly distributed ones of ±30%.
        let variation = if seed % 2 == 0 { 1.0 } else { 0.173 };
        let max_rate = 5000.0 * 2f64.powf(3.0 * random.unit());
        let load = sweep(&DOUBLING[..7], 8, |n| {
            varied(&mut random, max_rate * (n / 4.0).min(1.0), variation)
        });
        let report = analyze(load.clone());
        wrong += usize::from(report["verdict"] != "saturated");
        live_wrong += usize::from(assess(load).iter().any(|one| one["verdict"] == "capped"));
    }
    assert!(wrong == 0 && live_wrong <= 2, "{wrong} {live_wrong}");
}

#[test]
fn a_device_that_slows_down_at_the_same_queue_has_no_cap() {
    for seed in 0..20 {
        let mut random = Random(7500 + seed);
        let noise = 0.006 + 0.004 * random.unit();
        let rates = [(6, 1500.0, 1.0), (20, 8000.0, 32.0), (20, 2000.0, 32.0)];
        let load: Vec<Second> = rates
            .iter()
            .flat_map(|(seconds, rate, queue)| (0..*seconds).map(move |_| (*rate, *queue)))
            .map(|(rate, queue): (f64, f64)| reads(rate * (1.0 + noise * random.normal()), queue))
            .collect();
        let report = analyze(load.clone());
        assert_eq!(
            report["verdict"], "saturated",
            "seed {seed}: {}",
            report["explanation"]
        );
        assert!(
            assess(load).iter().all(|one| one["verdict"] != "capped"),
            "seed {seed}"
        );
    }
}

#[test]
fn a_cap_that_comes_back_is_one_plateau_with_another_in_it() {
    let mut random = Random(4500);
    let load = (0..120).map(|second| {
        let cap = if (40..80).contains(&second) {
            300.0
        } else {
            3000.0
        };
        reads(
            cap * (1.0 + 0.001 * random.normal()),
            f64::from(1 << (second % 40 / 8)),
        )
    });
    let report = analyze(load.collect::<Vec<_>>());
    assert_eq!(report["verdict"], "capped");
    assert_eq!(caps(&report, 10.0), [3000.0, 300.0]);
    assert!(is_near(&report["capacity"]["max_iops"], 3000.0, 0.01));
}

#[test]
fn large_requests_at_a_known_limit_on_bytes_are_capped_in_bytes() {
    let load = (0..60).map(|second| {
        let queue = f64::from(1 << (second / 10));
        let in_flight = queue as u64;
        Second {
            reads: (500.0, queue / 500.0 * 1000.0, 256.0),
            in_flight,
            ..Second::default()
        }
    });
    let report = analyze(load);
    assert_eq!(
        report["plateaus"][0]["unit"], "bytes",
        "{}",
        report["explanation"]
    );
    assert!((number(&report["plateaus"][0]["mib_per_s"]) - 125.0).abs() < 0.1);
}

#[test]
fn a_long_capture_gets_the_same_maximum_as_a_short_one() {
    let report = |seconds: i32| {
        analyze((0..seconds).map(|second| {
            let queue = f64::from(1 << (second / 20 % 9));
            reads(law(8000.0, 0.02, 0.0001, queue), queue)
        }))
    };
    let [short, long] = [180, 4000].map(report);
    assert_eq!(
        (&long["intervals"], &long["capacity"]["max_known"]),
        (&4000.into(), &true.into())
    );
    assert_eq!((knee(&short), knee(&long)), ((32.0, 64.0), (32.0, 64.0)));
    let expected = number(&short["capacity"]["max_iops"]);
    assert!(
        is_near(&long["capacity"]["max_iops"], expected, 0.001),
        "{expected} {long}"
    );
}

#[test]
fn the_changes_between_many_short_steps_are_not_levels() {
    let mut random = Random(4700);
    let (mut queue, mut before) = (1.0, 1.0);
    let load = (0..2500).map(|second| {
        if second % 3 == 0 {
            queue = f64::from(1 << (random.unit() * 7.0) as u32);
        }
        // The first second of a step begins with the old load.
        let old = if second % 3 == 0 { random.unit() } else { 0.0 };
        let rate = |queue: f64| 100.0 * queue.min(8.0) * (1.0 + 0.01 * random.normal());
        let [was, is] = [before, queue].map(rate);
        let mixed = old * before + (1.0 - old) * queue;
        before = queue;
        reads(old * was + (1.0 - old) * is, mixed)
    });
    let report = analyze(load.collect::<Vec<_>>());
    let capacity = &report["capacity"];
    assert_eq!(capacity["max_known"], true, "{capacity}");
    assert!(is_near(&capacity["max_iops"], 800.0, 0.02), "{capacity}");
    assert!(is_near(&capacity["knee_low"], 4.0, 0.05), "{capacity}");
    assert!(is_near(&capacity["knee_high"], 8.0, 0.05), "{capacity}");
}

fn noisy(seed: u64, deviation: f64) -> Vec<Second> {
    let mut random = Random(seed);
    let level = 500.0 + 5000.0 * random.unit();
    let one = |_| {
        let queue = 0.3 * 10f64.powf(2.0 * random.unit());
        reads(level * (deviation * random.normal()).exp(), queue)
    };
    (0..200).map(one).collect()
}

#[test]
fn noise_is_not_called_capped() {
    for seed in 0..15 {
        let report = analyze(noisy(5000 + seed, 0.02 + 0.02 * seed as f64));
        assert_ne!(
            report["verdict"], "capped",
            "seed {seed}: {}",
            report["explanation"]
        );
        let live = assess(noisy(5000 + seed, 0.05));
        assert!(
            live.iter().all(|one| one["verdict"] != "capped"),
            "seed {seed}"
        );
    }
}

#[test]
fn a_mixed_cap_counts_reads_and_writes_together() {
    let mut random = Random(6);
    let load = (0..60).map(|second| {
        let (share, queue) = (0.3 + 0.4 * random.unit(), f64::from(1 << (second / 12)));
        let ms = queue / 5000.0 * 1000.0;
        let in_flight = queue as u64;
        let (reads, writes) = ((5000.0 * share, ms, 4.0), (5000.0 * (1.0 - share), ms, 4.0));
        Second {
            reads,
            writes,
            in_flight,
            ..Second::default()
        }
    });
    let report = analyze(load.collect::<Vec<_>>());
    assert_eq!(report["verdict"], "capped", "{}", report["explanation"]);
    let plateau = &report["plateaus"][0];
    assert!(is_near(&plateau["iops"], 5000.0, 0.01));
    assert_eq!(plateau["direction"], "all");
}

/// Checks the verdict and that the maximum is not known.
#[track_caller]
fn check_without_maximum(load: impl IntoIterator<Item = Second>, verdict: Option<&str>) {
    let report = analyze(load);
    assert_eq!(
        (report["verdict"].as_str(), &report["capacity"]["max_known"]),
        (verdict, &false.into())
    );
}

#[test]
fn too_little_data_gives_no_verdict() {
    check_without_maximum([reads(3000.0, 32.0)], None);
    check_without_maximum([reads(3000.0, 0.9)], None);
    check_without_maximum([Second::default(); 20], Some("idle"));
    // One level of concurrency shows neither unloaded latency nor capacity.
    let mut random = Random(9);
    let mut level = |queue| {
        (0..50)
            .map(|_| reads(varied(&mut random, 3000.0, 1.0), queue))
            .collect::<Vec<_>>()
    };
    check_without_maximum(level(32.0), None);
    // Where hardly any request waits and nothing paces them, the device is not at a limit...
    check_without_maximum(level(0.5), Some("ok"));
    // ...but at an even pace it may be.
    check_without_maximum([reads(3000.0, 0.5); 50], None);
}
