//! The command line of `pt-diskstats`, and its configuration file.
#![no_main]

mod arguments;

use std::ffi::OsString;
use std::sync::OnceLock;

use blkstat::commands::Plan;
use libfuzzer_sys::fuzz_target;
use tempfile::TempDir;

static HOME: OnceLock<TempDir> = OnceLock::new();

/// Returns an empty home directory, in memory if /dev/shm exists.
fn home() -> &'static TempDir {
    HOME.get_or_init(|| {
        tempfile::tempdir_in("/dev/shm")
            .or_else(|_| tempfile::tempdir())
            .unwrap()
    })
}

fuzz_target!(|bytes: &[u8]| {
    // The configuration file follows a zero byte.
    let (command, config) = match bytes.iter().position(|byte| *byte == 0) {
        Some(at) => (&bytes[..at], Some(&bytes[at + 1..])),
        None => (bytes, None),
    };
    let arguments: Vec<OsString> = arguments::split(command).collect();
    // --config may name any file of the host, even an endless one.
    if arguments
        .iter()
        .any(|argument| argument.as_encoded_bytes().starts_with(b"--config"))
    {
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
    if let Ok(plan) = arguments::check_plan("pt-diskstats", arguments.into_iter(), &environment) {
        assert!(matches!(plan, Plan::PtDiskstats(plan) if plan.interval >= 1));
    }
});
