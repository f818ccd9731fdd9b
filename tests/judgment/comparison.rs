//! The comparison of captures, on simulated loads with a known change and with none.

use std::fs;

use serde_json::Value;

use crate::capture::simulate;
use crate::judge::run;
use crate::random::Random;
use crate::simulator::{Load, Mix, Setup, Slowdown, Spread, Station, closed};

/// Requests that the device serves at the same time.
const SERVERS: u32 = 4;
/// The seconds between changes of the speed of a device.
const DRIFT_STEP_S: f64 = 5.0;

/// The capture of a load of this many seconds: so many clients on a device that serves a request in `service_ms`. Its speed drifts by a few percent, as that of real ones does.
fn load(random: &mut Random, seconds: u32, service_ms: f64, clients: u32) -> String {
    let mut setup = Setup::new(seconds);
    setup.is_recording = false;
    setup.station = Station::new(SERVERS, service_ms / 1000.0, Spread::Lognormal(0.5));
    let (mut from_s, mut drift) = (0.0, 0.0);
    while from_s < f64::from(seconds) {
        let before = drift;
        drift = 0.8 * drift + 0.02 * random.normal();
        setup.station.slowdowns.push(Slowdown {
            from_s,
            until_s: from_s + DRIFT_STEP_S,
            factors: (1.0 + before, 1.0 + drift),
            operation: None,
            is_usual: true,
        });
        from_s += DRIFT_STEP_S;
    }
    setup.loads = vec![Load::always(closed(clients), Mix::READS)];
    simulate(&setup, random).text
}

/// What `analyze --compare` says of each quantity of the device.
fn compare(before: &str, after: &str) -> Vec<Value> {
    let directory = tempfile::tempdir().unwrap();
    let [first, second] = ["before", "after"].map(|name| directory.path().join(name));
    fs::write(&first, before).unwrap();
    fs::write(&second, after).unwrap();
    let document = run(
        &["analyze", "--compare", "--json", first.to_str().unwrap()],
        &second,
    );
    let mut document: Value = serde_json::from_str(&document).unwrap();
    std::mem::take(document["devices"][0]["quantities"].as_array_mut().unwrap())
}

fn changed(before: &str, after: &str) -> Vec<Value> {
    compare(before, after)
        .into_iter()
        .filter(|one| one["outcome"] == "changed")
        .collect()
}

fn is_latency_at_like_queue(one: &&Value) -> bool {
    one["quantity"] == "await_ms_at_like_queue"
}

/// The number of pairs of like captures in which any change is claimed.
fn false_claims(seconds: u32, trials: u64) -> usize {
    let is_claimed = |trial: &u64| {
        let mut random = Random::new("alike", *trial);
        let (before, after) = (
            load(&mut random, seconds, 12.0, 4),
            load(&mut random, seconds, 12.0, 4),
        );
        !changed(&before, &after).is_empty()
    };
    (0..trials).filter(is_claimed).count()
}

#[test]
fn without_a_change_one_is_hardly_ever_claimed() {
    for (seconds, trials, most) in [(60, 20, 1), (100, 8, 0), (200, 4, 0)] {
        let claims = false_claims(seconds, trials);
        assert!(claims <= most, "{seconds} s: {claims}");
    }
}

#[test]
fn a_device_that_became_slower_is_found_at_like_queue() {
    for trial in 0..8 {
        let mut random = Random::new("slower", trial);
        let (before, after) = (
            load(&mut random, 150, 12.0, 4),
            load(&mut random, 150, 29.0, 4),
        );
        let found = changed(&before, &after);
        let at_like_queue = found.iter().find(is_latency_at_like_queue);
        let difference = at_like_queue.unwrap_or_else(|| panic!("{trial}: {found:?}"));
        assert_eq!(
            (&difference["queue_class"], &difference["size_class_kib"]),
            (&4.0.into(), &4.0.into())
        );
        let [before, after] =
            ["before", "after"].map(|side| difference[side]["median"].as_f64().unwrap());
        assert!(
            (before - 12.0).abs() < 1.0 && (after - 29.0).abs() < 2.0,
            "{difference}"
        );
        assert!(
            found
                .iter()
                .any(|one| one["quantity"] == "per_s" && one["direction"] == "read")
        );
        // Size and queue did not change.
        assert!(
            !found
                .iter()
                .any(|one| one["quantity"] == "size_kib" || one["quantity"] == "queue")
        );
    }
}

#[test]
fn more_load_is_not_a_slower_device() {
    let mut random = Random::new("more load", 1);
    let (before, after) = (
        load(&mut random, 150, 12.0, 4),
        load(&mut random, 150, 12.0, 16),
    );
    let found = compare(&before, &after);
    assert!(
        !found.iter().any(|one| is_latency_at_like_queue(&one)),
        "{found:?}"
    );
    let of = |quantity, direction: Value| {
        let is_it = |one: &&Value| one["quantity"] == quantity && one["direction"] == direction;
        &found.iter().find(is_it).unwrap()["outcome"]
    };
    assert_eq!(of("queue", Value::Null), "changed");
    assert_eq!(of("await_ms", "read".into()), "changed");
    assert_eq!(of("per_s", "read".into()), "no_difference");
}
