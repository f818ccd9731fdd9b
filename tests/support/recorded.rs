//! What the real program printed, kept in `fixtures/theirs`: one file a machine, one section a case.

use std::path::PathBuf;

use super::fixtures;
use super::outcomes::{self, Outcome};

/// The file of a machine.
pub(crate) fn path(machine: &str) -> PathBuf {
    fixtures().join("theirs/iostat-12.6.1").join(format!("{machine}.txt"))
}

/// The cases of a machine that were recorded, by their lines. Empty for none.
pub(crate) fn read(machine: &str) -> Vec<(String, Outcome)> {
    outcomes::read(&path(machine))
}
