//! Recordings replay as the live view was, with its missed samples.

use std::time::Duration;

use blkstat::clock::WaitOutcome;
use jiff::Timestamp;

use super::host::{json, output, write_host};
use crate::support::clock::ManualClock;
use crate::support::fake_root::FakeRoot;
use crate::support::in_process::in_process;
use crate::support::text::json_lines;

#[test]
fn a_replayed_recording_prints_the_live_numbers() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["plain.txt", "packed.txt.gz"] {
        let file = folder.path().join(name);
        let (_, err, _) = output(&format!("record {} 1 6", file.display()), 6);
        assert_eq!(err, "");
        for options in [
            "--json",
            "--csv",
            "--total --width 120",
            "--json vg0-root sdb",
            "--since-boot --all",
        ] {
            let (live, _, _) = output(&format!("{options} 1 6"), 6);
            let (replayed, err, _) =
                output(&format!("{options} --as-live --from {}", file.display()), 0);
            assert_eq!((replayed, err.as_str()), (live, ""), "{options}");
        }
    }
}

#[test]
fn a_recording_knows_if_its_interval_is_too_short_for_util() {
    let folder = tempfile::tempdir().unwrap();
    for every in ["50ms", "95ms", "99ms", "100ms"] {
        let file = folder.path().join(every);
        output(&format!("record {} {every} 3", file.display()), 3);
        let live = json(&format!("sda {every} 3"), 3);
        assert_eq!(live[0]["util_pct"].is_null(), every != "100ms");
        assert_eq!(
            json(&format!("sda --from {}", file.display()), 0),
            live,
            "{every}"
        );
        // Aggregated intervals are long enough.
        assert!(
            json(&format!("sda --from {} 200ms", file.display()), 0)[0]["util_pct"].is_number()
        );
    }
}

/// Runs blkstat with waits that last 2.5 s too long, except the first. Returns its standard output.
fn output_late(words: &str, host: &FakeRoot) -> String {
    write_host(host, 0);
    let clock = ManualClock::new(Timestamp::UNIX_EPOCH, |wait| {
        write_host(host, wait);
        WaitOutcome::Due
    })
    .late_by(|wait| Duration::from_millis(if wait == 1 { 0 } else { 2500 }));
    in_process(words).root(host.path()).run(&clock).0
}

#[test]
fn missed_samples_are_counted_in_the_interval_that_covers_them_and_in_a_recording() {
    let host = FakeRoot::new();
    let numbers = |out: &str, name: &str| -> Vec<f64> {
        json_lines(out)
            .into_iter()
            .map(|line| line[name].as_f64().unwrap())
            .collect()
    };
    let live = output_late("--json sda 1 4", &host);
    assert_eq!(numbers(&live, "missed_samples"), [0.0, 2.0, 2.0, 2.0]);
    assert_eq!(numbers(&live, "elapsed_s"), [1.0, 3.5, 3.0, 3.0]);
    let file = host.path().join("late.txt");
    output_late(&format!("record {} 1 4", file.display()), &host);
    let replayed = |more: &str| {
        output(
            &format!("--json --as-live --from {} sda {more}", file.display()),
            0,
        )
        .0
    };
    assert_eq!(replayed(""), live);
    // An aggregated interval has the sum.
    assert_eq!(numbers(&replayed("60"), "missed_samples"), [6.0]);
}
