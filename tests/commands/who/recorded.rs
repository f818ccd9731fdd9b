//! Recordings with cgroups and processes.

use std::path::Path;

use super::host::{output, run_on_host};
use crate::support::program;

/// Records the host of these tests for some seconds, and returns the path of the recording.
fn record(folder: &Path, options: &str, seconds: u64) -> String {
    let file = folder.join("recording.txt").display().to_string();
    let options = format!("{options} {file} 1 {seconds}");
    let (_, err, exit) = run_on_host("record", |_| {}, &options, seconds);
    assert_eq!(exit, blkstat::exit::Exit::Success, "{err}");
    file
}

fn replay(words: &str) -> String {
    let (out, err, code) = program::output(words, "");
    assert_eq!((err.as_str(), code), ("", 0), "{words}");
    out
}

#[test]
fn a_replay_shows_what_the_live_view_showed() {
    let folder = tempfile::tempdir().unwrap();
    let file = record(folder.path(), "", 4);
    assert_eq!(replay(&format!("who --json --from {file}")), output("--json", 4));
    let (live, _, _) = run_on_host("", |_| {}, "--who --json 1 4", 4);
    assert_eq!(replay(&format!("--json --from {file}")), live);
    assert!(live.contains("\"throttled\""), "{live}");
}

#[test]
fn an_interval_of_several_recorded_samples_has_the_rates_of_all() {
    let folder = tempfile::tempdir().unwrap();
    let file = record(folder.path(), "", 4);
    let out = replay(&format!("who --json --from {file} 4"));
    let first: serde_json::Value = serde_json::from_str(out.lines().next().unwrap()).unwrap();
    assert_eq!((first["elapsed_s"].as_f64(), first["reads_per_s"].as_f64()), (Some(4.0), Some(100.0)));
    assert_eq!(first["at_limit"], serde_json::json!(["read_iops"]));
}

#[test]
fn an_analysis_of_a_recording_finds_the_limit() {
    let folder = tempfile::tempdir().unwrap();
    let file = record(folder.path(), "", 20);
    let out = replay(&format!("analyze {file}"));
    assert!(out.contains("db.service is at its limit of 100 reads/s on sda"), "{out}");
    assert!(!out.contains("Not the disk"), "{out}");
}

#[test]
fn without_who_a_recording_has_no_names() {
    let folder = tempfile::tempdir().unwrap();
    let file = record(folder.path(), "--no-who", 2);
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(!text.contains("mysqld") && !text.contains("db.service"), "{text}");
    assert_eq!(program::output(&format!("who --from {file}"), "").2, 1);
}

#[test]
fn a_truncated_recording_shows_what_is_complete() {
    let folder = tempfile::tempdir().unwrap();
    let file = record(folder.path(), "", 4);
    let text = std::fs::read(&file).unwrap();
    let complete = replay(&format!("who --json --from {file}"));
    for length in [text.len() - 10, text.len() * 3 / 4, text.len() / 2] {
        std::fs::write(&file, &text[..length]).unwrap();
        let (out, _, code) = program::output(&format!("who --json --from {file}"), "");
        assert!(complete.starts_with(&out) && code == 0, "{length}: {out}");
    }
}
