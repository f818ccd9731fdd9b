//! The output blocks of the README for captures in `fixtures` are what blkstat prints.

#![allow(clippy::unwrap_used, clippy::panic, clippy::disallowed_methods)]

use std::path::Path;
use std::process::Command;

/// Returns the commands of the README with their output: blocks indented by four blanks that begin with `$ ` and a
/// command of one or more lines.
fn command_blocks(readme: &str) -> Vec<(String, Vec<String>)> {
    let mut blocks: Vec<(String, Vec<String>)> = Vec::new();
    let mut is_open = false;
    for line in readme.lines() {
        let Some(text) = line.strip_prefix("    ").or_else(|| line.is_empty().then_some("")) else {
            is_open = false;
            continue;
        };
        if let Some(command) = text.strip_prefix("$ ") {
            blocks.push((command.to_owned(), Vec::new()));
            is_open = true;
        } else if let Some((command, lines)) = blocks.last_mut().filter(|_| is_open) {
            if lines.is_empty() && (command.ends_with('\\') || command.ends_with('|')) {
                *command = format!("{} {}", command.trim_end_matches('\\'), text.trim());
            } else {
                lines.push(text.to_owned());
            }
        }
    }
    blocks
}

/// Returns whether the printed lines are the expected ones; a line `...` matches any number of lines.
fn matches(expected: &[String], printed: &[&str]) -> bool {
    match expected.split_first() {
        None => printed.is_empty(),
        Some((line, rest)) if line.trim() == "..." => {
            (0..=printed.len()).any(|skipped| matches(rest, &printed[skipped..]))
        }
        Some((line, rest)) => {
            printed.split_first().is_some_and(|(first, others)| line == first && matches(rest, others))
        }
    }
}

fn is_installed(program: &str) -> bool {
    Command::new("sh").args(["-c", &format!("command -v {program}")]).output().unwrap().status.success()
}

#[test]
fn output_blocks_are_what_blkstat_prints() {
    let readme = std::fs::read_to_string("README.md").unwrap();
    let folder = Path::new(env!("CARGO_BIN_EXE_blkstat")).parent().unwrap().to_owned();
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    let mut checked = 0;
    for (command, mut expected) in command_blocks(&readme) {
        let needs = ["jq", "sqlite3"].into_iter().find(|program| command.contains(*program));
        let is_repeatable = command.contains("fixtures/") && !command.contains(" > ");
        if !is_repeatable || needs.is_some_and(|program| !is_installed(program)) {
            continue;
        }
        while expected.last().is_some_and(String::is_empty) {
            expected.pop();
        }
        let output =
            Command::new("bash").args(["-c", &command]).env("PATH", &path).env("TZ", "UTC").output().unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        let lines: Vec<&str> = printed.trim_end_matches('\n').split('\n').collect();
        assert!(matches(&expected, &lines), "$ {command}\nprints\n{printed}");
        checked += 1;
    }
    assert!(checked >= 8, "only {checked} blocks checked");
}
