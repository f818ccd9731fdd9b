//! README and manual against the program: their blocks of commands are real output, their links lead somewhere, and they
//! name every field, metric and alert.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::program::{BLKSTAT, Outcome, Program};

/// Documents with their texts: the README, the manual, and what else is written for readers of the repository.
fn documents() -> Vec<(PathBuf, String)> {
    let folder = |path: &str| {
        fs::read_dir(path)
            .unwrap()
            .map(|entry| entry.unwrap().path())
    };
    let mut paths: Vec<PathBuf> = folder("src/manual").chain(folder(".github")).collect();
    paths.extend(["README.md", "CHANGELOG.md"].map(PathBuf::from));
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "md"));
    paths.sort();
    paths
        .into_iter()
        .map(|path| (path.clone(), fs::read_to_string(path).unwrap()))
        .collect()
}

fn is_of_manual(path: &Path) -> bool {
    path.starts_with("src/manual")
}

/// A line of a block of code, or another line.
fn code(line: &str) -> Option<&str> {
    line.strip_prefix("    ")
        .or_else(|| line.is_empty().then_some(""))
}

/// Returns the text with the output of each command in it: after a line of code that begins with `$ ` and goes on after
/// `\\` or `|`, the lines up to the next command or the end of the block.
fn with_real_output(
    text: &str,
    path: &Path,
    run: &mut dyn FnMut(&str) -> Option<String>,
) -> String {
    let mut lines = text.lines().peekable();
    let mut result = String::new();
    while let Some(line) = lines.next() {
        result += &format!("{line}\n");
        let Some(first) = line.strip_prefix("    $ ") else {
            continue;
        };
        let mut command = first.to_owned();
        while command.ends_with(['\\', '|']) {
            let more = lines
                .next()
                .and_then(code)
                .unwrap_or_else(|| panic!("{}: {command}", path.display()));
            result += &format!("    {more}\n");
            command = format!("{} {}", command.trim_end_matches('\\'), more.trim());
        }
        let mut shown = Vec::new();
        while let Some(line) =
            lines.next_if(|line| code(line).is_some_and(|line| !line.starts_with("$ ")))
        {
            shown.push(line);
        }
        let blank_lines = shown
            .iter()
            .rev()
            .take_while(|line| line.is_empty())
            .count();
        match run(&command) {
            Some(printed) => {
                for line in printed.trim_end().lines() {
                    result += format!("    {line}").trim_end();
                    result.push('\n');
                }
            }
            None => shown[..shown.len() - blank_lines]
                .iter()
                .for_each(|line| result += &format!("{line}\n")),
        }
        result += &"\n".repeat(blank_lines);
    }
    result
}

fn is_installed(program: &str) -> bool {
    Program::new(&["sh", "-c", &format!("command -v {program}")])
        .run()
        .code
        == 0
}

/// Runs a shell command with this build of blkstat first in the path.
fn run(command: &str) -> Outcome {
    let directory = Path::new(BLKSTAT).parent().unwrap();
    let path = format!("{}:{}", directory.display(), std::env::var("PATH").unwrap());
    Program::new(&["bash", "-c", command])
        .env("PATH", &path)
        .env("LC_ALL", "C.UTF-8")
        .run()
}

fn print_of(command: &str) -> String {
    run(command).out
}

/// With BLKSTAT_REFRESH=1, writes the output into the documents instead.
#[test]
fn every_block_of_commands_with_output_is_what_the_program_prints() {
    let mut checked = 0;
    for (path, text) in documents() {
        let mut run = |command: &str| {
            let tool = ["jq", "sqlite3", "promtool"]
                .into_iter()
                .find(|program| command.contains(*program));
            if tool.is_some_and(|program| !is_installed(program)) {
                return None;
            }
            checked += 1;
            Some(print_of(command))
        };
        let real = with_real_output(&text, &path, &mut run);
        if std::env::var_os("BLKSTAT_REFRESH").is_some() {
            fs::write(&path, &real).unwrap();
        } else if let Some((shown, printed)) = text
            .lines()
            .zip(real.lines())
            .find(|(shown, real)| shown != real)
        {
            panic!(
                "{} shows\n{shown}\nbut blkstat prints\n{printed}",
                path.display()
            );
        } else {
            assert_eq!(text.len(), real.len(), "{}", path.display());
        }
    }
    assert!(checked >= 15, "only {checked} blocks were found");
}

#[test]
fn commands_without_output_are_ones_that_the_program_accepts() {
    let mut checked = 0;
    for (path, text) in documents() {
        for line in text.lines().filter_map(|line| line.strip_prefix("    ")) {
            let command = line.strip_prefix("sudo ").unwrap_or(line);
            let command = command
                .split([';', '|', '>', '#', '&', '('])
                .next()
                .unwrap()
                .trim();
            let is_usage = command.contains(['[', '$', '\\']) || command.contains("...");
            if !command.starts_with("blkstat ") || is_usage {
                continue;
            }
            let words: Vec<OsString> = command
                .split(' ')
                .filter(|word| !word.is_empty())
                .map(OsString::from)
                .collect();
            let plan = blkstat::commands::plan(words, &|_| None);
            let refusal = plan
                .err()
                .filter(|error| error.exit != blkstat::exit::Exit::Success);
            assert_eq!(refusal, None, "{}: {command}", path.display());
            checked += 1;
        }
    }
    assert!(checked >= 40, "only {checked} commands were found");
}

/// Returns what links call a heading: letters, digits, hyphens and underscores, with hyphens for blanks.
fn anchor(heading: &str) -> String {
    let kept = heading
        .chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

#[test]
fn every_link_leads_to_a_file_and_a_heading() {
    let mut checked = 0;
    for (path, text) in documents() {
        let targets = text
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split(')').next());
        let pictures = ["src=\"", "srcset=\""]
            .into_iter()
            .flat_map(|mark| text.split(mark).skip(1));
        let pictures = pictures.filter_map(|rest| rest.split('"').next());
        for target in targets
            .chain(pictures)
            .filter(|target| !target.contains("://"))
        {
            let (file, heading) = target.split_once('#').unwrap_or((target, ""));
            let file = if file.is_empty() {
                path.clone()
            } else {
                path.parent().unwrap().join(file)
            };
            assert!(file.exists(), "{}: {target}", path.display());
            if !heading.is_empty() {
                let linked = fs::read_to_string(&file).unwrap();
                let headings = linked.lines().filter(|line| line.starts_with('#'));
                let found = headings
                    .map(|line| anchor(line.trim_start_matches('#').trim()))
                    .any(|one| one == heading);
                assert!(found, "{}: {target}", path.display());
            }
            checked += 1;
        }
    }
    assert!(checked > 30, "only {checked} links were found");
}

#[test]
fn the_first_commands_of_the_readme_run_the_program_and_the_tests_of_the_checks() {
    let readme = fs::read_to_string("README.md").unwrap();
    let (_, after_picture) = readme.split_once("</picture>").unwrap();
    let commands: Vec<&str> = after_picture
        .lines()
        .filter_map(|line| line.strip_prefix("    "))
        .map(|line| line.split('#').next().unwrap().trim())
        .take(2)
        .collect();
    assert_eq!(commands, ["cargo run --release -- 1 3", "cargo test"]);
    let checks = fs::read_to_string(".ci/run").unwrap();
    assert!(checks.lines().any(|line| line == commands[1]), "{checks}");
}

#[test]
fn documents_are_short() {
    for (path, text) in documents() {
        let is_readme = path == Path::new("README.md");
        if !is_readme && !is_of_manual(&path) {
            continue;
        }
        assert!(
            text.lines().count() <= 230,
            "{}: {} lines",
            path.display(),
            text.lines().count()
        );
        assert!(!is_readme || text.len() <= 20_000, "{} bytes", text.len());
        // The rows of a table and what the program prints cannot be broken.
        let is_text = |line: &&str| is_readme || !line.starts_with(['|', ' ']);
        let longest = text
            .lines()
            .filter(is_text)
            .max_by_key(|line| line.chars().count())
            .unwrap();
        assert!(
            longest.chars().count() <= 100,
            "{}: {longest}",
            path.display()
        );
    }
}

/// Panics if the page of the manual does not name one of the fields, keys or metrics.
fn assert_named<'a>(page: &str, names: impl IntoIterator<Item = &'a str>) {
    let text = print_of(&format!("blkstat help {page}"));
    let is_part = |c: char| c.is_alphanumeric() || "_≤%/+".contains(c);
    let named: BTreeSet<&str> = text.split(|c| !is_part(c)).collect();
    let missing: Vec<&str> = names
        .into_iter()
        .filter(|name| !named.contains(name))
        .collect();
    assert!(missing.is_empty(), "blkstat help {page} lacks {missing:?}");
}

/// Adds the names of all fields of a JSON value.
fn collect_keys(value: &Value, keys: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                keys.insert(key.clone());
                collect_keys(value, keys);
            }
        }
        Value::Array(elements) => elements
            .iter()
            .for_each(|element| collect_keys(element, keys)),
        _ => {}
    }
}

#[test]
fn every_field_that_is_printed_is_named() {
    let mut keys = BTreeSet::new();
    for words in ["--csv", "who --csv"] {
        let table = print_of(&format!(
            "blkstat {words} --from fixtures/captures/mixed.txt"
        ));
        keys.extend(table.lines().next().unwrap().split(',').map(str::to_owned));
    }
    let captures = ["capped-3000", "sweep-randread", "mixed", "stalls"]
        .map(|capture| format!("analyze --json fixtures/captures/{capture}.txt"));
    let tree = "devices --json --from fixtures/recordings-0.1.0/recording.txt".to_owned();
    for words in captures.into_iter().chain([tree]) {
        collect_keys(
            &serde_json::from_str(&print_of(&format!("blkstat {words}"))).unwrap(),
            &mut keys,
        );
    }
    assert!(keys.len() > 100, "{keys:?}");
    assert_named("json", keys.iter().map(String::as_str));
}

#[test]
fn every_sort_key_is_named() {
    let refusal = run("blkstat --sort nosuch --from fixtures/captures/mixed.txt").err;
    let keys = refusal
        .split_once("expected one of: ")
        .unwrap()
        .1
        .split(';')
        .next()
        .unwrap();
    assert_named("columns", keys.split(", "));
}

#[test]
fn every_metric_and_alert_is_named() {
    let metrics = print_of("blkstat export --from fixtures/captures/mixed.txt");
    let types = metrics
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE "));
    let mut names: Vec<String> = types
        .map(|line| line.split(' ').next().unwrap().to_owned())
        .collect();
    let alerts = print_of("blkstat export --print alert-rules");
    names.extend(
        alerts
            .lines()
            .filter_map(|line| Some(line.split_once("- alert: ")?.1.to_owned())),
    );
    assert!(names.len() > 35);
    assert_named("prometheus", names.iter().map(String::as_str));
}

#[test]
fn every_page_is_shown_and_named_by_the_help_of_the_program_and_of_the_manual() {
    let help = print_of("blkstat --help");
    let list = print_of("blkstat help");
    for (path, _) in documents().iter().filter(|(path, _)| is_of_manual(path)) {
        let name = path.file_stem().unwrap().to_str().unwrap();
        assert!(help.contains(name), "{name}");
        assert!(
            list.contains(&format!("`{name}`")) || name == "help",
            "{name}"
        );
        let page = print_of(&format!("blkstat help {name}"));
        assert!(page.lines().count() > 5, "{page}");
    }
}
