//! The comparison of captures, on simulated loads with a known change and with none.

use serde_json::Value;

use crate::program::output;
use crate::simulator::{Random, Second, capture, number, reads, varied};

/// The capture of a load of this many seconds: clients with `queue` requests each in flight on a device that answers in `await_ms`. Rate and
/// latency vary from second to second, and drift slowly by a few percent, as real ones do.
fn load(random: &mut Random, seconds: usize, await_ms: f64, queue: f64) -> String {
    let mut drift = 0.0;
    let second = |_| {
        drift = 0.95 * drift + 0.01 * random.normal();
        let latency = await_ms * (1.0 + drift + 0.05 * random.normal()).max(0.5);
        let rate = varied(random, queue / latency * 1000.0, 1.0).max(1.0);
        Second {
            reads: (rate, latency, 4.0),
            ..reads(rate, queue)
        }
    };
    capture((0..seconds).map(second).collect::<Vec<_>>())
}

/// What `analyze --compare` says of each quantity of the device.
fn compare(before: &str, after: &str) -> Vec<Value> {
    let document = output("analyze --compare --json", &[before, after]);
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
fn false_claims(seconds: usize, trials: u64) -> usize {
    let is_claimed = |trial: &u64| {
        let mut random = Random(*trial);
        let (before, after) = (
            load(&mut random, seconds, 1.2, 4.0),
            load(&mut random, seconds, 1.2, 4.0),
        );
        !changed(&before, &after).is_empty()
    };
    (0..trials).filter(is_claimed).count()
}

#[test]
fn without_a_change_one_is_hardly_ever_claimed() {
    for (seconds, trials, most) in [(60, 34, 1), (100, 12, 0), (200, 6, 0)] {
        let claims = false_claims(seconds, trials);
        assert!(claims <= most, "{seconds} s: {claims}");
    }
}

#[test]
fn a_device_that_became_slower_is_found_at_like_queue() {
    for trial in 0..8 {
        let mut random = Random(1000 + trial);
        let (before, after) = (
            load(&mut random, 150, 1.2, 4.0),
            load(&mut random, 150, 2.9, 4.0),
        );
        let found = changed(&before, &after);
        let at_like_queue = found.iter().find(is_latency_at_like_queue);
        let difference = at_like_queue.unwrap_or_else(|| panic!("{trial}: {found:?}"));
        assert_eq!(
            (&difference["queue_class"], &difference["size_class_kib"]),
            (&4.0.into(), &4.0.into())
        );
        let [before, after] = ["before", "after"].map(|side| number(&difference[side]["median"]));
        assert!(
            (before - 1.2).abs() < 0.1 && (after - 2.9).abs() < 0.2,
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
    let mut random = Random(7);
    let (before, after) = (
        load(&mut random, 150, 1.2, 4.0),
        load(&mut random, 150, 4.8, 16.0),
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
