//! The recorded output of the real pt-diskstats in `fixtures/reference`: one file per capture, one section per case.

use std::path::PathBuf;

use super::fixtures;
use crate::support::references::{self, Outcome, Repeats};

/// The name of the file of the exit statuses.
pub(crate) const STATUSES: &str = "exit-statuses";

/// Returns the name of the file of the terminal sessions of a capture.
pub(crate) fn keys_file(capture: &str) -> String {
    format!("keys/{capture}")
}

/// Returns the path of a file.
fn path(name: &str) -> PathBuf {
    fixtures().join("reference/pt-diskstats-3.2.1").join(format!("{name}.txt"))
}

/// Returns the cases of a file with their names; empty if there is no such file.
pub(crate) fn read(name: &str) -> Vec<(String, Outcome)> {
    references::read(&path(name))
}

/// Writes a file.
pub(crate) fn write(name: &str, version: &str, outcomes: &[(String, Outcome)]) {
    let heading = format!(
        "# Output of the real pt-diskstats ({version}) for a capture of fixtures/captures/pt.\n\
         # Written by BLKSTAT_RECORD=1 cargo test --test replicas recorded_on_request.\n"
    );
    references::write(&path(name), &heading, outcomes, Repeats::AsName);
}
