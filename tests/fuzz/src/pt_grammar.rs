//! The command line of `pt-diskstats`, and its configuration file.
#![no_main]

mod words;

use std::ffi::OsString;
use std::sync::OnceLock;

use blkstat::plan::Plan;
use libfuzzer_sys::fuzz_target;
use tempfile::TempDir;

static HOME: OnceLock<TempDir> = OnceLock::new();

/// An empty home, in memory where there is a place for that.
fn home() -> &'static TempDir {
    HOME.get_or_init(|| tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap())
}

fuzz_target!(|bytes: &[u8]| {
    // After a zero byte comes the configuration file.
    let (command, config) = match bytes.iter().position(|byte| *byte == 0) {
        Some(at) => (&bytes[..at], Some(&bytes[at + 1..])),
        None => (bytes, None),
    };
    let words: Vec<OsString> = words::words(command).collect();
    // It may name any file of the machine, such as one without an end.
    if words.iter().any(|word| word.as_encoded_bytes().starts_with(b"--config")) {
        return;
    }
    if let Some(config) = config {
        std::fs::write(home().path().join(".pt-diskstats.conf"), config).unwrap();
    }
    let environment = |name: &str| match name {
        "HOME" if config.is_some() => Some(home().path().as_os_str().to_owned()),
        "HOME" => Some("/nonexistent".into()),
        _ => None,
    };
    if let Ok(plan) = words::planned("pt-diskstats", words.into_iter(), &environment) {
        assert!(matches!(plan, Plan::PtDiskstats(plan) if plan.interval >= 1));
    }
});
