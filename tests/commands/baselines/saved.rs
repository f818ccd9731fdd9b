//! Baselines that are saved: for devices of the host, by their identities.

use std::fs;
use std::path::Path;
use std::time::Instant;

use blkstat::exit::Exit;
use serde_json::Value;

use super::host::{HEAVY, Host, LIGHT, Load, saturations, save};
use crate::support::fake_root::FakeRoot;
use crate::support::program::blkstat;
use crate::support::text::json_lines;

#[test]
fn a_baseline_is_saved_by_identity_and_found_under_another_name() {
    let host = Host::new("sda", "naa.1");
    let file = host.path("saved.json");
    let words = format!("analyze sda 1 60 --save-baseline {}", file.display());
    let (_, err, exit) = host.run_under(&[LIGHT; 60], &words, std::slice::from_ref(&file));
    assert_eq!((err.as_str(), exit), ("", Exit::Success));
    let saved: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    let entry = &saved["devices"]["wwid:naa.1"];
    assert_eq!(
        (
            entry["name"].as_str(),
            saved["devices"].as_object().unwrap().len()
        ),
        (Some("sda"), 1)
    );
    assert!(
        (entry["read"][0]["await_ms"].as_f64().unwrap() - 0.1).abs() < 0.005,
        "{entry}"
    );

    // Saved again, it is learned again rather than copied.
    let slower = (1000.0, 0.2);
    host.run_under(&[slower; 60], &words, std::slice::from_ref(&file));
    let saved: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    let await_ms = saved["devices"]["wwid:naa.1"]["read"][0]["await_ms"]
        .as_f64()
        .unwrap();
    assert!((await_ms - 0.2).abs() < 0.01, "{saved}");

    let other = Host::new("sdz", "naa.1");
    other.load("sdz", &[]);
    let given = format!("--json 1 5 --baseline {}", file.display());
    let (out, err, _) = other.run(&given, &[], |wait| other.load("sdz", &[HEAVY; 5][..wait]));
    assert_eq!((saturations(&out), err.as_str()), (vec![Some(3.2); 5], ""));
}

#[test]
fn a_file_that_is_read_by_default_matches_identities_only() {
    let host = Host::new("sda", "naa.1");
    let (mine, by_name, none) = (
        host.path("mine.json"),
        host.path("name.json"),
        host.path("none.json"),
    );
    save(&mine, &[("wwid:naa.1", Some("sdx"), 0.1)]);
    save(
        &by_name,
        &[("sda", None, 0.1), ("wwid:naa.2", Some("sda"), 0.1)],
    );
    let loads = [HEAVY; 2];
    for (saved, options, expected) in [
        (vec![mine.clone()], "", Some(6.7)),
        (
            vec![none.clone(), mine.clone(), by_name.clone()],
            "",
            Some(6.7),
        ),
        (vec![by_name.clone(), mine.clone()], "", None),
        (vec![none], "", None),
        (vec![mine.clone()], "--no-baseline", None),
        (vec![mine.clone()], "--baseline-ms 0.4", Some(1.7)),
        (
            vec![mine],
            &format!("--baseline {}", by_name.display()),
            Some(6.7),
        ),
    ] {
        let (out, err, exit) = host.run_under(&loads, &format!("--json 1 2 {options}"), &saved);
        assert_eq!(
            (saturations(&out), err.as_str(), exit),
            (vec![expected; 2], "", Exit::Success),
            "{options}"
        );
    }
}

#[test]
fn a_default_file_that_is_broken_or_hangs_is_ignored_with_one_warning() {
    let host = Host::new("sda", "naa.1");
    let (broken, hanging, directory, huge) = (
        host.path("broken"),
        host.path("hanging"),
        host.path("directory"),
        host.path("huge"),
    );
    fs::write(&broken, "{\"devices\": [").unwrap();
    host.root.pipe("hanging");
    fs::create_dir(&directory).unwrap();
    fs::File::create(&huge).unwrap().set_len(1 << 30).unwrap();
    for (file, expected) in [
        (&broken, "not a saved baseline: "),
        (&hanging, "not read within 200 ms"),
        (&directory, "Is a directory; saved baselines ignored"),
        (&huge, "longer than 8388608 bytes; saved baselines ignored"),
    ] {
        let start = Instant::now();
        let (out, err, exit) =
            host.run_under(&[HEAVY; 2], "--json 1 2", std::slice::from_ref(file));
        assert_eq!((saturations(&out), exit), (vec![None; 2], Exit::Success));
        assert!(err.contains(expected) && err.lines().count() == 1, "{err}");
        assert!(err.contains(&file.display().to_string()), "{err}");
        assert!(start.elapsed().as_secs() < 30);
    }
}

#[test]
fn the_program_reads_the_file_of_the_user_and_ends_although_it_hangs() {
    if Path::new("/var/lib/blkstat/baseline.json").exists()
        || !Path::new("/proc/diskstats").exists()
    {
        eprintln!("skipped: this host has a baseline of its own, or no devices");
        return;
    }
    let state = FakeRoot::new();
    state.folder("blkstat").pipe("blkstat/baseline.json");
    let file = state.path().join("blkstat/baseline.json");
    let run = |options: &[&str]| {
        blkstat("--json 0.1 1")
            .args(options)
            .env("XDG_STATE_HOME", state.path())
            .run()
            .err
    };
    let err = run(&[]);
    assert!(
        err.contains(&format!("{} not read within 200 ms", file.display())),
        "{err}"
    );
    for options in [
        &["--no-baseline"][..],
        &["--baseline-ms", "1"],
        &["--from", "fixtures/captures/mixed.txt"],
    ] {
        assert!(!run(options).contains("baseline"), "{options:?}");
    }
}

#[test]
fn a_stated_cap_works_in_the_live_view() {
    // A rate that varies as that of busy servers does: it takes the user to say that it is a limit.
    let loads: Vec<Load> = (0..30)
        .map(|n| {
            (
                3217.0 + f64::from(n % 3 - 1) * 32.0,
                if n < 15 { 4.0 } else { 5.0 },
            )
        })
        .collect();
    let host = Host::new("sda", "naa.1");
    let verdicts = |options: &str| {
        let (out, _, _) = host.run_under(&loads, &format!("--json 1 30 {options}"), &[]);
        json_lines(&out)
            .into_iter()
            .map(|line| line["verdict"].as_str().unwrap_or("-").to_owned())
            .collect::<Vec<_>>()
    };
    assert!(!verdicts("").contains(&"capped".to_owned()));
    assert!(verdicts("--cap 3217").contains(&"capped".to_owned()));
    assert!(!verdicts("--cap 5000").contains(&"capped".to_owned()));
}
