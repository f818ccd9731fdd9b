//! The comparison of captures, on simulated loads with a known change and with none.

use blkstat::analysis::{DeviceReport, Difference, IoDirection, Outcome, Quantity, compare};

use crate::simulator::{Random, Second, analyze, reads, varied};

/// A load of this many seconds: clients with `queue` requests each in flight on a device that answers in `await_ms`. Rate and
/// latency vary from second to second, and drift slowly by a few percent, as real ones do.
fn load(random: &mut Random, seconds: usize, await_ms: f64, queue: f64) -> DeviceReport {
    let mut drift = 0.0;
    let second = |_| {
        drift = 0.95 * drift + 0.01 * random.normal();
        let latency = await_ms * (1.0 + drift + 0.05 * random.normal()).max(0.5);
        let rate = varied(random, queue / latency * 1000.0, 1.0).max(1.0);
        Second { reads: (rate, latency, 4.0), ..reads(rate, queue) }
    };
    let seconds: Vec<Second> = (0..seconds).map(second).collect();
    analyze(seconds)
}

fn changed(before: &DeviceReport, after: &DeviceReport) -> Vec<Difference> {
    compare(before, after).into_iter().filter(|one| one.outcome == Outcome::Changed).collect()
}

/// The part of pairs of like captures in which any change is claimed.
fn false_claims(seconds: usize, trials: u64) -> f64 {
    let claims = (0..trials).filter(|trial| {
        let mut random = Random(*trial);
        let (before, after) = (load(&mut random, seconds, 1.2, 4.0), load(&mut random, seconds, 1.2, 4.0));
        !changed(&before, &after).is_empty()
    });
    claims.count() as f64 / trials as f64
}

#[test]
fn without_a_change_one_is_hardly_ever_claimed() {
    for (seconds, most) in [(60, 0.03), (100, 0.02), (200, 0.01)] {
        let part = false_claims(seconds, 100);
        assert!(part <= most, "{seconds} s: {part}");
    }
}

#[test]
fn a_device_that_became_slower_is_found_at_like_queue() {
    for trial in 0..20 {
        let mut random = Random(1000 + trial);
        let (before, after) = (load(&mut random, 150, 1.2, 4.0), load(&mut random, 150, 2.9, 4.0));
        let found = changed(&before, &after);
        let at_like_queue = found.iter().find(|one| matches!(one.quantity, Quantity::LatencyAt(_)));
        let difference = at_like_queue.unwrap_or_else(|| panic!("{trial}: {found:?}"));
        let Quantity::LatencyAt(class) = difference.quantity else { panic!("no class") };
        assert_eq!((class.queue(), class.size_kib()), (Some(4.0), 4.0));
        assert!((difference.before.median - 1.2).abs() < 0.1 && (difference.after.median - 2.9).abs() < 0.2);
        assert!(found.iter().any(|one| one.quantity == Quantity::Rate(IoDirection::Reads)));
        // Size and queue did not change.
        assert!(!found.iter().any(|one| matches!(one.quantity, Quantity::Size(_) | Quantity::Queue)));
    }
}

#[test]
fn more_load_is_not_a_slower_device() {
    let mut random = Random(7);
    let (before, after) = (load(&mut random, 150, 1.2, 4.0), load(&mut random, 150, 4.8, 16.0));
    let found = compare(&before, &after);
    assert!(!found.iter().any(|one| matches!(one.quantity, Quantity::LatencyAt(_))), "{found:?}");
    let of = |quantity| found.iter().find(|one| one.quantity == quantity).unwrap().outcome;
    assert_eq!(of(Quantity::Queue), Outcome::Changed);
    assert_eq!(of(Quantity::Latency(IoDirection::Reads)), Outcome::Changed);
    assert_eq!(of(Quantity::Rate(IoDirection::Reads)), Outcome::NoDifference);
}

#[test]
fn a_capture_shorter_than_two_blocks_shows_no_spread() {
    let mut random = Random(7);
    let (before, after) = (load(&mut random, 150, 1.2, 4.0), load(&mut random, 50, 9.0, 4.0));
    let found = compare(&before, &after);
    assert!(!found.is_empty() && found.iter().all(|one| one.outcome == Outcome::SpreadUnknown), "{found:?}");
}
