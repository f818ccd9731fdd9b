//! Captures, and what the real pt-diskstats says of them.
//!
//! A capture is a file of `fixtures/captures/pt`, of 14 columns. [`captures`] reads it and widens it to those of
//! newer kernels, [`table`] lists the command lines and the key presses, [`programs`] runs a program on a file and
//! [`terminal`] on a pseudo-terminal, [`recorded`] keeps what the real program printed, [`differences`] says where
//! blkstat rightly prints something else.

pub(crate) mod captures;
pub(crate) mod case;
pub(crate) mod differences;
#[path = "../outcomes/mod.rs"]
pub(crate) mod outcomes;
pub(crate) mod programs;
pub(crate) mod recorded;
pub(crate) mod table;
pub(crate) mod terminal;

use std::path::{Path, PathBuf};

/// The folder of the repository's fixtures.
pub(crate) fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures")
}

/// Fails with what differs, if anything does; one entry a case.
pub(crate) fn fail_if_any(found: Vec<Option<String>>) {
    let of = found.len();
    let found: Vec<String> = found.into_iter().flatten().collect();
    assert!(
        found.is_empty(),
        "{} of {of} cases differ (- pt-diskstats, + blkstat):\n{}",
        found.len(),
        found.concat()
    );
}
