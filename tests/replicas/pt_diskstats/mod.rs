//! Captures, and the output of the real pt-diskstats for them.
//!
//! A capture is a file of `fixtures/captures/pt` with 14 columns. [`captures`] extends it to the columns of newer
//! kernels, [`recorded`] reads the command lines and the key presses with the recorded output of the real program,
//! [`programs`] runs a program on a file and [`terminal`] on a pseudo-terminal, and [`differences`] lists the allowed
//! differences.

pub(crate) mod captures;
pub(crate) mod case;
pub(crate) mod differences;
mod goldens;
mod peers;
pub(crate) mod programs;
pub(crate) mod recorded;
pub(crate) mod terminal;

use std::path::{Path, PathBuf};

/// Returns the directory of the fixtures.
pub(crate) fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures")
}

/// Fails if any case has differences; one entry per case.
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
