//! Standard output, or a file, that cannot be written.

use std::collections::BTreeSet;
use std::io;
use std::process::Stdio;

use super::support::{capture, device, host, on_input, sample};
use crate::support::program::{Outcome, blkstat};

/// Every command, and its exit code when standard output is full.
const COMMANDS: [(&str, i32); 21] = [
    ("iostat --root ROOT -d", 6),
    ("iostat --root ROOT -x -o JSON 1 1", 6),
    ("iostat -dx --from FILE", 6),
    ("iostat -o JSON --from FILE", 6),
    ("iostat -V", 2),
    ("pt-diskstats FILE", 1),
    ("pt-diskstats --group-by sample FILE", 1),
    ("pt-diskstats --group-by disk FILE", 1),
    ("pt-diskstats --help", 2),
    ("--from FILE", 2),
    ("--json --from FILE", 2),
    ("--csv --from FILE", 2),
    ("--summary --from FILE", 2),
    ("--json --root ROOT 10ms 2", 2),
    ("--root ROOT --all --since-boot 10ms 2", 2),
    ("--help", 2),
    ("devices --root ROOT", 2),
    ("devices --json --root ROOT", 2),
    ("completions bash", 2),
    ("record --root ROOT - 10ms 2", 2),
    ("--version", 2),
];

fn run_to(words: &str, stdout: impl Into<Stdio>) -> Outcome {
    let root = host();
    let file = root.path().join("capture");
    std::fs::write(&file, capture(20)).unwrap();
    let words = words
        .replace("ROOT", root.path().to_str().unwrap())
        .replace("FILE", file.to_str().unwrap());
    blkstat(&words).run_to(stdout)
}

#[test]
fn a_closed_pipe_is_a_normal_end_of_every_command() {
    for (words, _) in COMMANDS {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let outcome = run_to(words, writer);
        assert_eq!((outcome.err.as_str(), outcome.code), ("", 0), "{words}");
    }
}

#[test]
fn a_full_disk_is_one_line_and_the_exit_code_of_the_command() {
    for (words, code) in COMMANDS {
        let Ok(full) = std::fs::OpenOptions::new().write(true).open("/dev/full") else {
            return;
        };
        let outcome = run_to(words, full);
        assert_eq!(
            (outcome.err.lines().count(), outcome.code),
            (1, code),
            "{words}: {}",
            outcome.err
        );
        assert!(
            outcome.err.contains("No space left on device"),
            "{words}: {}",
            outcome.err
        );
    }
}

#[test]
fn a_full_file_is_one_line_that_names_it() {
    if !std::path::Path::new("/dev/full").exists() {
        return;
    }
    for words in [
        "record --root ROOT --force /dev/full 10ms 2",
        "pt-diskstats --root ROOT --iterations 1 --save-samples /dev/full",
    ] {
        let Outcome { err, code, .. } = run_to(words, Stdio::null());
        assert_eq!((err.lines().count(), code), (1, 2), "{words}: {err}");
        assert!(
            err.starts_with("blkstat: cannot write /dev/full: No space left"),
            "{words}: {err}"
        );
    }
}

#[test]
fn a_spreadsheet_takes_no_name_for_a_formula() {
    let names = ["=cmd|x", "+1", "-1", "@a", "sda"];
    let lines = |at: u64| -> String { names.map(|name| device(0, name, 100 * at)).concat() };
    let text: String = (0..3)
        .map(|at| sample(1_800_000_000 + at, &lines(at)))
        .collect();
    let outcome = on_input(
        "--csv --fields device,reads_per_s --from -",
        text.as_bytes(),
    );
    assert_eq!(outcome.code, 0, "{}", outcome.err);
    let lines = outcome.out.lines().skip(1).take(names.len());
    let lines: BTreeSet<&str> = lines.collect();
    let expected = ["'=cmd|x", "'+1", "'-1", "'@a", "sda"].map(|name| format!("{name},100.0"));
    assert_eq!(lines, expected.iter().map(String::as_str).collect());
}
