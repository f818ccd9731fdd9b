//! Recordings with cgroups and processes.

use std::path::Path;

use super::host::{output, run_on_host};
use crate::support::fake_root::FakeRoot;
use crate::support::program;
use crate::support::snapshot::assert_snapshot;

/// The counters of the database.
const DB_STAT: &str = "sys/fs/cgroup/system.slice/db.service/io.stat";

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
    assert_eq!(
        replay(&format!("who --json --from {file}")),
        output("--json", 4)
    );
    let (live, _, _) = run_on_host("", |_| {}, "--who --json 1 4", 4);
    assert_eq!(replay(&format!("--json --as-live --from {file}")), live);
    assert!(live.contains("\"throttled\""), "{live}");
}

#[test]
fn a_recording_is_shown_as_its_total_unless_an_interval_is_given() {
    let folder = tempfile::tempdir().unwrap();
    let file = record(folder.path(), "", 4);
    let total = replay(&format!("who --from {file}"));
    assert_snapshot("who/total.txt", &total);
    let live = super::host::output("", 4);
    assert_eq!(replay(&format!("who --from {file} 1")), live);
}

#[test]
fn the_total_has_the_time_at_a_limit_that_was_lifted() {
    let words = "who --top 2 fixtures/captures/throttled-volume.txt.gz";
    let (out, err, code) = program::output(words, "");
    assert_eq!(code, 0, "{err}");
    assert_snapshot("who/throttled-volume.txt", &out);
}

#[test]
fn a_range_of_a_replay_shows_what_the_whole_shows_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = record(folder.path(), "", 4);
    for command in ["who --json", "--json"] {
        let all = replay(&format!("{command} --from {file}"));
        let shown = replay(&format!("{command} --from {file} --begin +2s"));
        assert!(
            !shown.is_empty() && all.len() > shown.len() && all.ends_with(&shown),
            "{command}"
        );
    }
}

#[test]
fn without_who_a_recording_has_no_names() {
    let folder = tempfile::tempdir().unwrap();
    let file = record(folder.path(), "--no-who", 2);
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(
        !text.contains("mysqld") && !text.contains("db.service"),
        "{text}"
    );
    assert_eq!(program::output(&format!("who --from {file}"), "").2, 1);
}

#[test]
fn a_recording_of_a_device_has_the_cgroups_on_it_and_on_the_disk_below_it() {
    let folder = tempfile::tempdir().unwrap();
    let record_of = |device: &str| {
        let file = folder.path().join(device).display().to_string();
        let add_sdb = |host: &FakeRoot| {
            if !host.path().join("sys/block/sdb").exists() {
                host.disk("sdb", "8:16", 1024);
            }
            let read = |path: &str| std::fs::read_to_string(host.path().join(path)).unwrap();
            let (stats, use_of_db) = (read("proc/diskstats"), read(DB_STAT));
            host.diskstats(&format!("{stats}8 16 sdb 9 0 72 9 0 0 0 0 0 0 0\n"));
            host.file(
                DB_STAT,
                use_of_db.clone() + &use_of_db.replace("8:0", "8:16"),
            );
        };
        let (_, err, _) = run_on_host("record", add_sdb, &format!("{file} {device} 1 3"), 3);
        assert_eq!(err, "");
        std::fs::read_to_string(file).unwrap()
    };
    for (device, recorded, other) in [
        ("sda1", "[8,0]", "[8,16]"),
        ("sda", "[8,0]", "[8,16]"),
        ("sdb", "[8,16]", "[8,0]"),
    ] {
        let text = record_of(device);
        assert!(
            text.contains("db.service") && text.contains("mysqld"),
            "{device}: {text}"
        );
        assert!(
            text.contains(recorded) && !text.contains(other),
            "{device}: {text}"
        );
    }
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

#[test]
fn a_page_names_cgroups_and_tasks_unless_they_are_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let file = record(folder.path(), "", 4);
    let page = replay(&format!("report {file} -o -"));
    assert!(
        page.contains("db.service") && page.contains("Tasks seen in state D"),
        "{page}"
    );
    assert!(page.contains("Who: share of the bytes"));
    let without = replay(&format!("report {file} --no-who -o -"));
    assert!(
        !without.contains("db.service") && !without.contains("state D</h3>"),
        "{without}"
    );
}
