//! Devices whose counters are reset, or whose name another one takes.

use std::path::Path;

use serde_json::Value;

use super::host::{HEAVY, Host, LIGHT, Load, saturations, save};

#[test]
fn a_reset_drops_what_was_learned_unless_identity_or_a_saved_baseline_stay() {
    // The counters start at zero after ten intervals.
    let after_reset = |wwid: &str, saved_ms: Option<f64>| {
        let host = Host::new("sda", wwid);
        let file = host.path("saved.json");
        let key = format!("wwid:{wwid}");
        let entry = saved_ms.map(|ms| (key.as_str(), ms));
        save(&file, entry.as_slice());
        host.load("sda", &[]);
        let (out, _, _) = host.run("--json 1 16", Some(&file), |wait| match wait {
            0..=10 => host.load("sda", &[LIGHT; 10][..wait]),
            _ => host.load("sda", &vec![HEAVY; wait - 10]),
        });
        let found = saturations(&out);
        assert_eq!(found[10], None, "the interval of the reset has no numbers");
        found[11..].to_vec()
    };
    // There is nothing but the load itself to compare with, from its third interval on.
    let of_itself = [None, None, Some(1.0), Some(1.0), Some(1.0)];
    assert_eq!(after_reset("", None), of_itself);
    assert_eq!(after_reset("naa.1", None), [Some(7.8); 5]);
    assert_eq!(after_reset("naa.1", Some(0.2)), [Some(7.8); 5]);
}

#[test]
fn another_device_under_the_name_has_its_own_baseline() {
    let host = Host::new("sda", "naa.1");
    let file = host.path("saved.json");
    save(&file, &[("wwid:naa.1", 0.1), ("wwid:naa.2", 0.4)]);
    // Its counters are higher, so there is no reset; it is noticed when the devices are read again.
    let run = |words: &str, saved: Option<&Path>| {
        host.set_wwid("sda", "naa.1");
        host.load("sda", &[]);
        let (out, err, _) = host.run(words, saved, |wait| {
            if wait == 20 {
                host.set_wwid("sda", "naa.2");
            }
            host.load("sda", &[[LIGHT; 20], [HEAVY; 20]].concat()[..wait.min(40)]);
        });
        assert!(!err.contains("warning"), "{err}");
        out
    };
    let learned = saturations(&run("--json 1 40", None));
    // Of the other one, only the mean since boot is known, and then the load itself.
    assert_eq!(
        (learned[25], learned[30], learned[35]),
        (Some(7.8), Some(0.6), Some(1.0)),
        "{learned:?}"
    );
    let saved = saturations(&run("--json 1 40", Some(&file)));
    assert_eq!((saved[25], saved[35]), (Some(7.8), Some(1.7)), "{saved:?}");

    // A recorder that sees the counters start at zero writes the new identity and its baseline.
    let recording = host.path("r.txt");
    host.set_wwid("sda", "naa.1");
    host.load("sda", &[]);
    host.run(
        &format!("record {} 1 10", recording.display()),
        Some(&file),
        |wait| match wait {
            0..=5 => host.load("sda", &[HEAVY; 5][..wait]),
            _ => {
                host.set_wwid("sda", "naa.2");
                host.load("sda", &vec![HEAVY; wait - 5]);
            }
        },
    );
    let (out, _, _) = host.run(
        &format!("--json --from {}", recording.display()),
        None,
        |_| {},
    );
    let replayed = saturations(&out);
    assert_eq!(
        (replayed[3], replayed[5], replayed[8]),
        (Some(6.7), None, Some(1.7)),
        "{replayed:?}"
    );
}

#[test]
fn analyze_learns_again_with_another_device_and_not_after_a_reset_of_the_same() {
    let baseline_ms = |wwid_after: &str| {
        let host = Host::new("sda", "naa.1");
        host.load("sda", &[]);
        let (out, _, _) = host.run("analyze --json sda 1 40", None, |wait| match wait {
            0..=25 => host.load("sda", &[LIGHT; 25][..wait]),
            _ => {
                host.set_wwid("sda", wwid_after);
                host.load("sda", &vec![(1000.0, 0.4); wait.min(40) - 25]);
            }
        });
        let report: Value = serde_json::from_str(&out).unwrap();
        let ms = report["devices"][0]["read"]["baseline_await_ms"]
            .as_f64()
            .unwrap();
        (ms * 10.0).round() / 10.0
    };
    assert_eq!((baseline_ms("naa.1"), baseline_ms("naa.2")), (0.1, 0.4));
}

#[test]
fn a_slower_device_is_not_judged_by_the_latency_of_the_one_before() {
    // The other one takes forty times as long for the same load; its counters start at zero after 25 intervals.
    let loads = |await_ms: f64, count: usize| -> Vec<Load> {
        (0..count)
            .map(|n| (1130.0 + 40.0 * (n % 3) as f64, await_ms))
            .collect()
    };
    let run = |words: &str, wwid: &str| {
        let host = Host::new("sda", wwid);
        host.load("sda", &[]);
        let (out, _, _) = host.run(words, None, |wait| match wait {
            0..=25 => host.load("sda", &loads(0.1, wait)),
            _ => host.load("sda", &loads(4.0, wait - 25)),
        });
        out
    };
    // The reset is within the third interval, which has no numbers. Without an identity, it may be another device, whose own
    // latency is known once it stood still for ten seconds.
    for (wwid, overall, later) in [
        ("", "ok", ["busy", "ok"]),
        ("naa.1", "saturated", ["saturated", "saturated"]),
    ] {
        let report: Value = serde_json::from_str(&run("analyze --json sda 1 50", wwid)).unwrap();
        assert_eq!(report["devices"][0]["verdict"], overall, "{wwid}");
        let out = run("--json sda 10 5", wwid);
        let verdicts: Vec<Value> = out
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap()["verdict"].clone())
            .collect();
        assert_eq!(
            verdicts,
            [
                "ok".into(),
                "ok".into(),
                Value::Null,
                later[0].into(),
                later[1].into()
            ],
            "{wwid}"
        );
    }
}
