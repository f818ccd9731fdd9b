//! Records the output of the real pt-diskstats in the fixtures.

use std::fmt::Write;
use std::fs;

use crate::pt_support::recorded::{path, read};
use crate::pt_support::recorded_runs::{CUT_OFF, Outcome, SAME, SECTION, STATUS};

/// Writes a file, and reads it back.
pub(crate) fn write(name: &str, version: &str, outcomes: &[(String, Outcome)]) {
    let mut text = format!(
        "# Output of the real pt-diskstats ({version}) for a capture of fixtures/captures/pt.\n\
         # Written by BLKSTAT_RECORD=1 cargo test --test pt_peers.\n"
    );
    for (index, (case, outcome)) in outcomes.iter().enumerate() {
        let same =
            outcomes[..index].iter().find(|(_, earlier)| earlier == outcome && !earlier.stdout.is_empty());
        if let Some((earlier, _)) = same {
            writeln!(text, "{SECTION}{case}\n{SAME}{earlier}").unwrap();
            continue;
        }
        let stdout = &outcome.stdout;
        write!(text, "{SECTION}{case}\n{STATUS}{}\n{stdout}", outcome.status).unwrap();
        if !stdout.is_empty() && !stdout.ends_with('\n') {
            write!(text, "\n{CUT_OFF}").unwrap();
        }
    }
    fs::create_dir_all(path(name).parent().unwrap()).unwrap();
    fs::write(path(name), text).unwrap();
    assert!(read(name) == outcomes, "{name} cannot be read back");
}
