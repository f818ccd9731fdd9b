//! What a program left when it ran, and the text that keeps many of these: one section a case.

use std::path::Path;

/// What a run left.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Outcome {
    pub(crate) stdout: String,
    pub(crate) status: i32,
}

/// Begins a section.
pub(crate) const SECTION: &str = "=== ";
/// Follows it.
pub(crate) const STATUS: &str = "--- exit ";
/// Stands there, before the name of an earlier section, for the same outcome.
pub(crate) const SAME: &str = "--- as ";
/// Follows a text that does not end its last line.
pub(crate) const CUT_OFF: &str = "--- cut off\n";

/// The cases of a file, by their names. Empty where there is none.
pub(crate) fn read(path: &Path) -> Vec<(String, Outcome)> {
    let Ok(text) = std::fs::read_to_string(path) else { return Vec::new() };
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
