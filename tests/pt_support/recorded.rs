//! The recorded output of the real pt-diskstats in `fixtures/reference`: one file per capture, one section per case.

use std::path::PathBuf;

use super::fixtures;
use super::recorded_runs::{self, Outcome};

/// The name of the file of the exit statuses.
pub(crate) const STATUSES: &str = "exit-statuses";

/// Returns the name of the file of the terminal sessions of a capture.
pub(crate) fn keys_file(capture: &str) -> String {
    format!("keys/{capture}")
}

/// Returns the path of a file.
pub(crate) fn path(name: &str) -> PathBuf {
    fixtures().join("reference/pt-diskstats-3.2.1").join(format!("{name}.txt"))
}

/// Returns the cases of a file with their names; empty if there is no such file.
pub(crate) fn read(name: &str) -> Vec<(String, Outcome)> {
    recorded_runs::read(&path(name))
}
