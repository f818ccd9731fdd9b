//! Runs the program on captures.

use blkstat::clock::WaitOutcome;
use blkstat::exit::Exit;
use jiff::Timestamp;
use serde_json::Value;

use crate::support::clock::ManualClock;
use crate::support::in_process::in_process;
use crate::support::text::json_lines;

/// Runs a command that ends with the names of these captures. Returns standard output, standard error and how it ended.
pub(crate) fn run(words: &str, captures: &[impl AsRef<[u8]>]) -> (String, String, Exit) {
    let folder = tempfile::tempdir_in("/dev/shm")
        .or_else(|_| tempfile::tempdir())
        .unwrap();
    let write = |(number, text): (usize, &_)| {
        let path = folder.path().join(number.to_string());
        std::fs::write(&path, text).unwrap();
        path
    };
    let paths: Vec<_> = captures.iter().enumerate().map(write).collect();
    let clock = ManualClock::new(Timestamp::UNIX_EPOCH, |_| WaitOutcome::Due);
    in_process(words).args(paths).run(&clock)
}

/// Returns what a command prints that succeeds.
#[track_caller]
pub(crate) fn output(words: &str, captures: &[&str]) -> String {
    let (out, err, exit) = run(words, captures);
    assert_eq!(exit, Exit::Success, "{words}: {err}");
    out
}

/// Returns the lines of a device that blkstat prints as JSON.
#[track_caller]
pub(crate) fn lines(capture: &str, device: &str) -> Vec<Value> {
    let lines = output("--json --all --from", &[capture]);
    json_lines(&lines)
        .into_iter()
        .filter(|line| line["device"] == device)
        .collect()
}
