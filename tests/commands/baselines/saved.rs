//! Baselines that are saved for the host.

use std::fs;
use std::time::Instant;

use blkstat::exit::Exit;

use super::host::{HEAVY, Host, Load, saturations, save};
use crate::support::text::json_lines;

#[test]
fn a_device_has_the_baseline_of_its_identity_or_of_its_name_without_one() {
    for (wwid, key, options, expected) in [
        ("naa.1", "wwid:naa.1", "", Some(6.7)),
        ("naa.1", "wwid:naa.1", "--no-baseline", None),
        ("naa.1", "wwid:naa.1", "--baseline-ms 0.4", Some(1.7)),
        ("naa.1", "wwid:naa.2", "", None),
        ("naa.1", "sda", "", None),
        ("", "sda", "", Some(6.7)),
        ("", "wwid:naa.1", "", None),
    ] {
        let host = Host::new("sda", wwid);
        let file = host.path("saved.json");
        save(&file, &[(key, 0.1)]);
        let words = format!("--json 1 2 {options}");
        let (out, err, exit) = host.run_under(&[HEAVY; 2], &words, Some(&file));
        assert_eq!(
            (saturations(&out), err.as_str(), exit),
            (vec![expected; 2], "", Exit::Success),
            "{wwid} {key} {options}"
        );
    }
    let host = Host::new("sda", "naa.1");
    let none = host.path("none.json");
    let (out, err, _) = host.run_under(&[HEAVY; 2], "--json 1 2", Some(&none));
    assert_eq!((saturations(&out), err.as_str()), (vec![None; 2], ""));
}

#[test]
fn a_file_that_is_old_or_broken_or_hangs_is_ignored_with_one_warning() {
    let host = Host::new("sda", "naa.1");
    let [broken, old, hanging, directory, huge] =
        ["broken", "old", "hanging", "directory", "huge"].map(|name| host.path(name));
    fs::write(&broken, "{\"devices\": [").unwrap();
    fs::copy("fixtures/recordings-0.1.0/baseline.json", &old).unwrap();
    host.root.pipe("hanging");
    fs::create_dir(&directory).unwrap();
    fs::File::create(&huge).unwrap().set_len(1 << 30).unwrap();
    let useless = " holds no baselines of this version: it is damaged, or of 0.1.0; ignored. Delete it, and \
                   the recorder learns them anew\n";
    for (file, expected) in [
        (&broken, useless),
        (&old, useless),
        (
            &hanging,
            ": not read within 200 ms; saved baselines ignored\n",
        ),
        (&directory, ": Is a directory; saved baselines ignored\n"),
        (
            &huge,
            ": longer than 8388608 bytes; saved baselines ignored\n",
        ),
    ] {
        let start = Instant::now();
        let (out, err, exit) = host.run_under(&[HEAVY; 2], "--json 1 2", Some(file));
        assert_eq!((saturations(&out), exit), (vec![None; 2], Exit::Success));
        assert_eq!(err, format!("blkstat: {}{expected}", file.display()));
        assert!(start.elapsed().as_secs() < 30);
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
        let (out, _, _) = host.run_under(&loads, &format!("--json 1 30 {options}"), None);
        json_lines(&out)
            .into_iter()
            .map(|line| line["verdict"].as_str().unwrap_or("-").to_owned())
            .collect::<Vec<_>>()
    };
    assert!(!verdicts("").contains(&"capped".to_owned()));
    assert!(verdicts("--cap 3217").contains(&"capped".to_owned()));
    assert!(!verdicts("--cap 5000").contains(&"capped".to_owned()));
}
