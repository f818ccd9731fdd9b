//! The recorded output of the real iostat in `fixtures/reference`: one file per machine, one section per case.

use std::path::PathBuf;

use super::fixtures;
use super::recorded_runs::{self, Outcome};

/// Returns the path of the file of a machine.
pub(crate) fn path(machine: &str) -> PathBuf {
    fixtures().join("reference/iostat-12.6.1").join(format!("{machine}.txt"))
}

/// Returns the recorded cases of a machine with their lines; empty if there are none.
pub(crate) fn read(machine: &str) -> Vec<(String, Outcome)> {
    recorded_runs::read(&path(machine))
}
