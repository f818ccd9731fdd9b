//! Device names and commands, right and mistyped.

use blkstat::exit::Exit;
use serde_json::Value;

use super::host::{json, output};

#[test]
fn a_device_is_found_by_any_of_its_names_and_a_wrong_name_is_reported() {
    for word in [
        "vg0-root",
        "dm-0",
        "/dev/mapper/vg0-root",
        "/dev/dm-0",
        "mapper/vg0-root",
    ] {
        assert_eq!(
            json(&format!("{word} 1 1"), 1)[0]["device"],
            "dm-0",
            "{word}"
        );
    }
    let (out, err, exit) = output("vg0-rot 1 1", 1);
    assert_eq!((out.as_str(), exit), ("", Exit::NoData));
    assert_eq!(
        err,
        "blkstat: no such device 'vg0-rot'; did you mean 'vg0-root'?\n"
    );
    for (words, why) in [
        ("src 1 2", "src is a directory, not a device or a capture"),
        (
            "nosuch 1 2",
            "no such device or file 'nosuch'; run 'blkstat devices' for a list",
        ),
        (
            "vg0-rot 1 2",
            "no such device 'vg0-rot'; did you mean 'vg0-root'?",
        ),
        (
            "vg0-rot what 1 2",
            "no such devices: 'vg0-rot', 'what'; run 'blkstat devices' for a list",
        ),
    ] {
        let (out, err, exit) = output(&format!("analyze {words}"), 2);
        assert_eq!(
            (out.as_str(), err, exit),
            ("", format!("blkstat: {why}\n"), Exit::NoData)
        );
    }
    for command in ["", "analyze"] {
        let (out, err, exit) = output(&format!("{command} --devices-regex ^zzz"), 3);
        assert_eq!((out.as_str(), exit), ("", Exit::NoData));
        assert!(
            err.ends_with("no device matches '^zzz'\n") && err.lines().count() == 1,
            "{err}"
        );
    }
}

#[test]
fn an_analysis_without_a_count_says_that_it_runs_until_interrupted() {
    let (out, err, exit) = output("analyze sda", 3);
    assert!(
        out.contains("\nsda: ") && out.contains("Workload: 3.0 s, 3 intervals"),
        "{out}"
    );
    assert_eq!(
        (err.as_str(), exit),
        (
            "blkstat: analyzing until Ctrl-C (no COUNT given)\n",
            Exit::Signal(2)
        )
    );
    let (_, err, exit) = output("analyze sda 1 3", 3);
    assert_eq!((err.as_str(), exit), ("", Exit::Success));
}

#[test]
fn a_first_word_that_is_no_device_may_be_a_mistyped_command() {
    for words in ["analze", "analze capture.txt 1 5"] {
        let (out, err, exit) = output(words, 1);
        assert_eq!((out.as_str(), exit), ("", Exit::Error));
        assert_eq!(
            err,
            "blkstat: no such command 'analze'; did you mean 'blkstat analyze'?\n"
        );
    }
    assert!(
        output("sda analze", 1)
            .1
            .contains("no such device 'analze'; run")
    );
}

#[test]
fn a_recording_may_have_a_number_as_its_name_in_a_path() {
    let folder = tempfile::tempdir().unwrap();
    let (_, err, exit) = output(&format!("record {}/1 1 1", folder.path().display()), 1);
    assert_eq!(
        (err.as_str(), exit, folder.path().join("1").exists()),
        ("", Exit::Success, true)
    );
}

#[test]
fn record_finds_a_device_by_any_of_its_names_too() {
    let folder = tempfile::tempdir().unwrap();
    for (at, word) in [
        "vg0-root",
        "dm-0",
        "/dev/mapper/vg0-root",
        "/dev/dm-0",
        "mapper/vg0-root",
    ]
    .iter()
    .enumerate()
    {
        let file = folder.path().join(at.to_string());
        let (_, err, exit) = output(&format!("record {} {word} 1 1", file.display()), 1);
        assert_eq!((err.as_str(), exit), ("", Exit::Success), "{word}");
        let replayed = json(&format!("--all --from {}", file.display()), 0);
        let names: Vec<&Value> = replayed.iter().map(|line| &line["device"]).collect();
        assert_eq!(names, ["dm-0"], "{word}");
    }
    let (_, err, exit) = output(
        &format!("record {}/x vg0-rot 1 1", folder.path().display()),
        1,
    );
    assert!(
        err.ends_with("no such device 'vg0-rot'; did you mean 'vg0-root'?\n"),
        "{err}"
    );
    assert_eq!(exit, Exit::NoData);
}
