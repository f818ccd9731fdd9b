//! Recorded runs of a real program, in a text file with one section per case.

use std::fmt::Write;
use std::fs;
use std::path::Path;

/// The standard output and exit status of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Outcome {
    pub(crate) stdout: String,
    pub(crate) status: i32,
}

/// The prefix of the line that begins a section; the name of the case follows it.
const SECTION: &str = "=== ";
/// The prefix of the next line; the exit status follows it.
const STATUS: &str = "--- exit ";
/// The prefix used instead if the outcome is equal to that of an earlier section, whose name follows it.
const SAME: &str = "--- as ";
/// The line after a text whose last line has no newline.
const CUT_OFF: &str = "--- cut off\n";

/// Returns the cases of a file with their names; empty if there is no such file.
pub(crate) fn read(path: &Path) -> Vec<(String, Outcome)> {
    let Ok(text) = fs::read_to_string(path) else {
        return Vec::new();
    };
    let mut cases: Vec<(String, Outcome)> = Vec::new();
    for line in text.split_inclusive('\n') {
        if let Some(case) = line.strip_prefix(SECTION) {
            cases.push((
                case.trim_end().to_owned(),
                Outcome {
                    stdout: String::new(),
                    status: -1,
                },
            ));
        } else if let Some(same) = line.strip_prefix(SAME) {
            let (_, outcome) = cases
                .iter()
                .find(|(case, _)| case == same.trim_end())
                .unwrap();
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

/// Writes a file and reads it back.
pub(crate) fn write(path: &Path, heading: &str, cases: &[(String, Outcome)]) {
    let mut text = heading.to_owned();
    for (index, (case, outcome)) in cases.iter().enumerate() {
        writeln!(text, "{SECTION}{case}").unwrap();
        let is_same =
            |(_, earlier): &&(String, Outcome)| earlier == outcome && !earlier.stdout.is_empty();
        let earlier = cases[..index].iter().find(is_same);
        if let Some((earlier, _)) = earlier {
            writeln!(text, "{SAME}{earlier}").unwrap();
            continue;
        }
        let stdout = &outcome.stdout;
        write!(text, "{STATUS}{}\n{stdout}", outcome.status).unwrap();
        if !stdout.is_empty() && !stdout.ends_with('\n') {
            write!(text, "\n{CUT_OFF}").unwrap();
        }
    }
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    assert!(
        read(path) == cases,
        "{} cannot be read back",
        path.display()
    );
}

/// Lines shown before the first difference, and from it on.
const SHOWN_LINES: [usize; 2] = [2, 6];

/// Describes how an outcome of blkstat differs from that of the real program.
pub(crate) fn describe(name: &str, theirs: &Outcome, ours: &Outcome) -> String {
    let mut text = format!("{name}\n");
    if theirs.status != ours.status {
        text += &format!("      exit {}, not {}\n", ours.status, theirs.status);
    }
    let (a, b): (Vec<&str>, Vec<&str>) = (
        theirs.stdout.split_inclusive('\n').collect(),
        ours.stdout.split_inclusive('\n').collect(),
    );
    if a != b {
        let same = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
        text += &format!(
            "      line {} of {}; blkstat has {}\n",
            same + 1,
            a.len(),
            b.len()
        );
        let mut show = |sign: char, lines: &[&str]| {
            lines
                .iter()
                .for_each(|line| text += &format!("      {sign}{line:?}\n"));
        };
        show(' ', &a[same.saturating_sub(SHOWN_LINES[0])..same]);
        show('-', &a[same..a.len().min(same + SHOWN_LINES[1])]);
        show('+', &b[same..b.len().min(same + SHOWN_LINES[1])]);
    }
    text
}
