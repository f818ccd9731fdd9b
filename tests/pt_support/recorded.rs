//! What the real program printed, kept in `fixtures/theirs`: one file a capture, one section a case.

use std::path::PathBuf;

use super::case::Outcome;
use super::fixtures;

/// Begins a section.
pub(crate) const SECTION: &str = "=== ";
/// Follows it.
pub(crate) const STATUS: &str = "--- exit ";
/// Follows a text that does not end its last line.
pub(crate) const CUT_OFF: &str = "--- cut off\n";

/// Stands, before the name of an earlier section, for the same outcome.
pub(crate) const SAME: &str = "--- as ";

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
    let Ok(text) = std::fs::read_to_string(path(name)) else { return Vec::new() };
    let mut cases: Vec<(String, Outcome)> = Vec::new();
    for line in text.split_inclusive('\n') {
        if let Some(case) = line.strip_prefix(SECTION) {
            cases.push((case.trim_end().to_owned(), Outcome { stdout: String::new(), status: -1 }));
        } else if let Some(same) = line.strip_prefix(SAME) {
            let (_, outcome) = cases.iter().find(|(case, _)| case == same.trim_end()).unwrap();
            let outcome = outcome.clone();
            cases.last_mut().unwrap().1 = outcome;
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
