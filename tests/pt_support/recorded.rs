//! What the real program printed, kept in `fixtures/theirs`: one file a capture, one section a case.

use std::path::PathBuf;

use super::fixtures;
use super::outcomes::{self, Outcome};

/// The file of the exit statuses.
pub(crate) const STATUSES: &str = "exit-statuses";

/// The file of a capture's sessions at a terminal.
pub(crate) fn of_keys(capture: &str) -> String {
    format!("keys/{capture}")
}

/// Where a file lies.
pub(crate) fn path(name: &str) -> PathBuf {
    fixtures().join("theirs/pt-diskstats-3.2.1").join(format!("{name}.txt"))
}

/// The cases of a file, by their names. Empty for none.
pub(crate) fn read(name: &str) -> Vec<(String, Outcome)> {
    outcomes::read(&path(name))
}
