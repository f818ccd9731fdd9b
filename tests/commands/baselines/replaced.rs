//! Devices whose counters are reset, or whose name another one takes.

use std::path::PathBuf;

use serde_json::Value;

use super::host::{HEAVY, Host, LIGHT, Load, saturations, save};

#[test]
fn a_reset_drops_what_was_learned_but_a_saved_baseline_stays() {
    let host = Host::new("sda", "naa.1");
    let file = host.path("saved.json");
    save(&file, &[("wwid:naa.1", Some("sda"), 0.2)]);
    // The counters start at zero after ten intervals.
    let on_wait = |wait: usize| match wait {
        0..=10 => host.load("sda", &[LIGHT; 10][..wait]),
        _ => host.load("sda", &vec![HEAVY; wait - 10]),
    };
    host.load("sda", &[]);
    let (out, _, _) = host.run("--json 1 16", &[], on_wait);
    let without = saturations(&out);
    // After the reset there is nothing but the load itself to compare it with.
    assert_eq!((&without[1..10], without[10]), (&[Some(1.0); 9][..], None));
    assert_eq!(without[11..], [Some(1.0), None, None, None, None]);
    host.load("sda", &[]);
    let (out, _, _) = host.run("--json 1 16", std::slice::from_ref(&file), on_wait);
    assert_eq!(saturations(&out)[11..], [Some(4.0); 5]);
}

#[test]
fn another_device_under_the_name_has_its_own_baseline() {
    let host = Host::new("sda", "naa.1");
    let file = host.path("saved.json");
    save(
        &file,
        &[
            ("wwid:naa.1", Some("sda"), 0.1),
            ("wwid:naa.2", Some("sdb"), 0.4),
        ],
    );
    // Its counters are higher, so there is no reset; it is noticed when the devices are read again.
    let run = |words: &str, saved: &[PathBuf]| {
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
    let learned = saturations(&run("--json 1 40", &[]));
    // Of the other one, only the mean since boot is known, and then the load itself.
    assert_eq!(
        (learned[25], learned[30], learned[35]),
        (Some(8.0), Some(1.2), None),
        "{learned:?}"
    );
    let saved = saturations(&run("--json 1 40", std::slice::from_ref(&file)));
    assert_eq!((saved[25], saved[35]), (Some(8.0), Some(2.0)), "{saved:?}");

    // A recorder that sees the counters start at zero writes the new identity and its baseline.
    let recording = host.path("r.txt");
    host.set_wwid("sda", "naa.1");
    host.load("sda", &[]);
    host.run(
        &format!("record {} 1 10", recording.display()),
        std::slice::from_ref(&file),
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
        &[],
        |_| {},
    );
    let replayed = saturations(&out);
    assert_eq!(
        (replayed[3], replayed[5], replayed[8]),
        (Some(8.0), None, Some(2.0)),
        "{replayed:?}"
    );
}

#[test]
fn analyze_learns_again_after_a_reset_or_with_another_device() {
    let host = Host::new("sda", "naa.1");
    let baseline_ms = |on_wait: &dyn Fn(usize)| {
        host.set_wwid("sda", "naa.1");
        host.load("sda", &[]);
        let (out, _, _) = host.run("analyze --json sda 1 40", &[], on_wait);
        let report: Value = serde_json::from_str(&out).unwrap();
        let ms = report["devices"][0]["read"]["baseline_await_ms"]
            .as_f64()
            .unwrap();
        (ms * 10.0).round() / 10.0
    };
    let slower = (1000.0, 0.4);
    let with_reset = baseline_ms(&|wait| match wait {
        0..=10 => host.load("sda", &[LIGHT; 10][..wait]),
        _ => host.load("sda", &vec![slower; wait - 10]),
    });
    let with_swap = baseline_ms(&|wait| {
        if wait == 25 {
            host.set_wwid("sda", "naa.2");
        }
        host.load(
            "sda",
            &[vec![LIGHT; 25], vec![slower; 15]].concat()[..wait.min(40)],
        );
    });
    assert_eq!((with_reset, with_swap), (0.4, 0.4));
}

#[test]
fn a_slower_device_is_not_judged_by_the_latency_of_the_one_before() {
    let host = Host::new("sda", "naa.1");
    // The other one takes forty times as long for the same load; its counters start at zero after 25 intervals.
    let loads = |await_ms: f64, count: usize| -> Vec<Load> {
        (0..count)
            .map(|n| (1130.0 + 40.0 * (n % 3) as f64, await_ms))
            .collect()
    };
    let run = |words: &str, resets: bool| {
        host.load("sda", &[]);
        let (out, _, _) = host.run(words, &[], |wait| match wait {
            0..=25 => host.load("sda", &loads(0.1, wait)),
            _ if resets => host.load("sda", &loads(4.0, wait - 25)),
            _ => host.load("sda", &[loads(0.1, 25), loads(4.0, wait - 25)].concat()),
        });
        out
    };
    let overall = |resets| {
        let report: Value = serde_json::from_str(&run("analyze --json sda 1 50", resets)).unwrap();
        report["devices"][0]["verdict"].clone()
    };
    assert_eq!(
        (overall(true), overall(false)),
        (Value::Null, "saturated".into())
    );
    // The reset is within the third interval, which has no numbers.
    let verdicts = |resets| {
        let out = run("--json sda 10 5", resets);
        let lines = out
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines
            .map(|line| line["verdict"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(verdicts(true)[2..], [Value::Null, Value::Null, Value::Null]);
    assert_eq!(verdicts(false)[2..], ["saturated"; 3]);
}
