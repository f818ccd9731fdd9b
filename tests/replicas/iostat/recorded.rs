//! All cases: the command lines on each machine, with the recorded output of the real iostat. They are in
//! `fixtures/reference`, one section per case: one file per machine, or one per group of its cases. A new case is a
//! heading, `=== LINE`, below which its output is then recorded.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::case::Case;
use super::differences::Version;
use super::machine::Machine;
use super::mask;
use crate::support::references::{self, Outcome};

/// The directory of the files.
const FOLDER: &str = "fixtures/reference/iostat-12.7.5";

/// The version of the iostat that was recorded.
pub(crate) const VERSION: Version = [12, 7, 5];

fn path(file: &str) -> PathBuf {
    Path::new(FOLDER).join(format!("{file}.txt"))
}

/// Returns every machine by name, and every case with its outcome.
pub(crate) fn all() -> (BTreeMap<String, Machine>, Vec<(Case, Outcome)>) {
    let mut machines = BTreeMap::new();
    let mut cases = Vec::new();
    for file in files() {
        let name = Case::machine_of(&file);
        let machine = machines
            .entry(name.to_owned())
            .or_insert_with(|| Machine::load(name));
        for (line, outcome) in references::read(&path(&file)) {
            cases.push((Case::parse(&file, machine.steps.len(), &line), outcome));
        }
    }
    (machines, cases)
}

/// Returns the names of all files, as in [`Case::file`].
fn files() -> Vec<String> {
    let name = |path: &Path| path.file_stem().unwrap().to_str().unwrap().to_owned();
    let entries = |folder: &Path| {
        fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
    };
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

/// Writes the files of all cases. The heading of a report, which describes the recording host, is masked.
pub(crate) fn write(cases: &[(Case, Outcome)]) {
    let version = VERSION.map(|number| number.to_string()).join(".");
    for of_file in cases.chunk_by(|(one, _), (other, _)| one.file == other.file) {
        let Case { machine, file, .. } = &of_file[0].0;
        let heading = format!(
            "# Output of the real iostat (sysstat version {version}) on the synthetic machine fixtures/machines/{machine}.txt.\n\
             # Written by BLKSTAT_RECORD=1 cargo test --test replicas recorded_on_request; times, host and CPUs are masked.\n"
        );
        let masked = |(case, outcome): &(Case, Outcome)| {
            let stdout = mask::machine(&mask::times(&outcome.stdout));
            (
                case.line.clone(),
                Outcome {
                    stdout,
                    status: outcome.status,
                },
            )
        };
        let sections: Vec<(String, Outcome)> = of_file.iter().map(masked).collect();
        references::write(&path(file), &heading, &sections);
    }
}
