//! The recorded output of the real iostat in `fixtures/reference`, one section per case: one file per machine, or one per
//! group of its cases.

use std::fs;
use std::path::{Path, PathBuf};

use super::case::Case;
use super::differences::Version;
use super::mask;
use crate::support::references::{self, Outcome, Repeats};

/// The directory of the files.
const FOLDER: &str = "fixtures/reference/iostat-12.7.5";

/// The version of the iostat that was recorded.
pub(crate) const VERSION: Version = [12, 7, 5];

fn path(file: &str) -> PathBuf {
    Path::new(FOLDER).join(format!("{file}.txt"))
}

/// Returns the recorded cases of a file with their lines; empty if there is none.
pub(crate) fn read(file: &str) -> Vec<(String, Outcome)> {
    references::read(&path(file))
}

/// Returns the names of all files, as in [`Case::file`].
pub(crate) fn files() -> Vec<String> {
    let name = |path: &Path| path.file_stem().unwrap().to_str().unwrap().to_owned();
    let entries = |folder: &Path| fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files = Vec::new();
    for path in entries(Path::new(FOLDER)) {
        if path.is_dir() {
            files.extend(entries(&path).map(|file| format!("{}/{}", name(&path), name(&file))));
        } else {
            files.push(name(&path));
        }
    }
    files.sort_unstable();
    files
}

/// Returns the recorded cases of a machine with their lines.
pub(crate) fn read_machine(machine: &str) -> Vec<(String, Outcome)> {
    let is_of_machine = |file: &String| file.split('/').next() == Some(machine);
    files().iter().filter(|file| is_of_machine(file)).flat_map(|file| read(file)).collect()
}

/// Writes a file. The heading of a report, which describes the recording host, is masked.
pub(crate) fn write(file: &str, outcomes: &[(Case, Outcome)]) {
    let machine = file.split('/').next().unwrap_or(file);
    let version = VERSION.map(|number| number.to_string()).join(".");
    let heading = format!(
        "# Output of the real iostat (sysstat version {version}) on the synthetic machine fixtures/machines/{machine}.txt.\n\
         # Written by BLKSTAT_RECORD=1 cargo test --test replicas recorded_on_request; times, host and CPUs are masked.\n"
    );
    let masked = |outcome: &Outcome| mask::machine(&mask::times(&outcome.stdout));
    let outcomes: Vec<(String, Outcome)> = outcomes
        .iter()
        .map(|(case, outcome)| {
            (case.line.clone(), Outcome { stdout: masked(outcome), status: outcome.status })
        })
        .collect();
    references::write(&path(file), &heading, &outcomes, Repeats::InFull);
}
