//! All cases: command lines on each capture, and key presses, with the recorded output of the real pt-diskstats. They are in
//! `fixtures/reference`, one section per case. A new case is a heading, `=== NAME`, below which its output is then
//! recorded.

use std::fs;
use std::path::PathBuf;

use super::case::{Case, Session};
use super::fixtures;
use crate::support::references::{self, Outcome};

/// The name of the file of the exit statuses: invalid command lines, and valid ones that look invalid.
pub(crate) const STATUSES: &str = "exit-statuses";
/// The capture of these.
const SMALL: &str = "two5";

/// Returns the name of the file of the terminal sessions of a capture.
pub(crate) fn keys_file(capture: &str) -> String {
    format!("keys/{capture}")
}

fn folder() -> PathBuf {
    fixtures().join("reference/pt-diskstats-3.2.1")
}

/// Returns the sections of each file in a folder, with the name of the file.
fn read(in_folder: &str) -> Vec<(String, String, Outcome)> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder().join(in_folder))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.retain(|path| path.is_file());
    paths.sort_unstable();
    let sections = paths.iter().flat_map(|path| {
        let file = path.file_stem().unwrap().to_str().unwrap();
        references::read(path)
            .into_iter()
            .map(move |(name, outcome)| (file.to_owned(), name, outcome))
    });
    sections.collect()
}

/// Returns the cases whose output and exit status are compared.
pub(crate) fn cases() -> Vec<(Case, Outcome)> {
    let sections = read("").into_iter().filter(|(file, ..)| file != STATUSES);
    sections
        .map(|(capture, line, outcome)| (Case { capture, line }, outcome))
        .collect()
}

/// Returns the cases in which only the exit status is compared.
pub(crate) fn status_only() -> Vec<(Case, Outcome)> {
    let sections = read("").into_iter().filter(|(file, ..)| file == STATUSES);
    sections
        .map(|(_, line, outcome)| (Case::new(SMALL, &line), outcome))
        .collect()
}

/// Returns the terminal sessions.
pub(crate) fn sessions() -> Vec<(Session, Outcome)> {
    let sections = read("keys").into_iter();
    sections
        .map(|(capture, name, outcome)| (Session::parse(capture, &name), outcome))
        .collect()
}

/// Writes a file.
pub(crate) fn write(name: &str, version: &str, outcomes: &[(String, Outcome)]) {
    let heading = format!(
        "# Output of the real pt-diskstats ({version}) for a capture of fixtures/captures/pt.\n\
         # Written by BLKSTAT_RECORD=1 cargo test --test replicas recorded_on_request.\n"
    );
    references::write(&folder().join(format!("{name}.txt")), &heading, outcomes);
}
