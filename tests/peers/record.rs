//! Records the output of the real iostat in the fixtures.

use std::fmt::Write;
use std::fs;

use crate::support::case::Case;
use crate::support::mask;
use crate::support::recorded::{path, read};
use crate::support::recorded_runs::{CUT_OFF, Outcome, SECTION, STATUS};

/// Writes the file of a machine.
pub(crate) fn write(machine: &str, version: &str, outcomes: &[(Case, Outcome)]) {
    fs::create_dir_all(path(machine).parent().unwrap()).unwrap();
    fs::write(path(machine), text(machine, version, outcomes)).unwrap();
    let lines: Vec<String> = read(machine).into_iter().map(|(line, _)| line).collect();
    assert!(lines.iter().eq(outcomes.iter().map(|(case, _)| &case.line)), "{machine} cannot be read back");
}

/// Returns the text of a file. The heading of a report, which describes the recording host, is masked.
fn text(machine: &str, version: &str, outcomes: &[(Case, Outcome)]) -> String {
    let mut text = format!(
        "# Output of the real iostat ({version}) on the invented machine fixtures/machines/{machine}.txt.\n\
         # Written by BLKSTAT_RECORD=1 cargo test --test peers; times, host and CPUs are masked.\n"
    );
    for (case, outcome) in outcomes {
        let stdout = mask::machine(&mask::times(&outcome.stdout));
        write!(text, "{SECTION}{}\n{STATUS}{}\n{stdout}", case.line, outcome.status).unwrap();
        if !stdout.is_empty() && !stdout.ends_with('\n') {
            write!(text, "\n{CUT_OFF}").unwrap();
        }
    }
    text
}
