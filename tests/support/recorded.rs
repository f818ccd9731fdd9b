//! What the real program printed, kept in `fixtures/theirs`: one file a machine, one section a case.

use std::path::PathBuf;

use super::case::Outcome;
use super::fixtures;

/// Begins a section.
pub(crate) const SECTION: &str = "=== ";
/// Follows it.
pub(crate) const STATUS: &str = "--- exit ";
/// Follows a text that does not end its last line.
pub(crate) const CUT_OFF: &str = "--- cut off\n";

/// The file of a machine.
pub(crate) fn path(machine: &str) -> PathBuf {
    fixtures().join("theirs/iostat-12.6.1").join(format!("{machine}.txt"))
}

/// The cases of a machine that were recorded, by their lines. Empty for none.
pub(crate) fn read(machine: &str) -> Vec<(String, Outcome)> {
    let Ok(text) = std::fs::read_to_string(path(machine)) else { return Vec::new() };
    let mut cases: Vec<(String, Outcome)> = Vec::new();
    for line in text.split_inclusive('\n') {
        if let Some(case) = line.strip_prefix(SECTION) {
            cases.push((case.trim_end().to_owned(), Outcome { stdout: String::new(), status: -1 }));
        } else if let Some((_, outcome)) = cases.last_mut() {
            match line.strip_prefix(STATUS) {
                Some(status) => outcome.status = status.trim_end().parse().unwrap(),
                None if line == CUT_OFF => outcome.stdout.truncate(outcome.stdout.len() - 1),
                None => outcome.stdout.push_str(line),
            }
        }
    }
    cases
}
