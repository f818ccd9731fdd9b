//! The README against the program: its examples are real output, and its tables name every field, column and option.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

use crate::support::program::{BLKSTAT, Outcome, Program};

/// An example: a command and the lines that the README shows below it.
struct Example {
    command: String,
    expected: Vec<String>,
}

fn readme() -> String {
    std::fs::read_to_string("README.md").unwrap()
}

/// Returns the examples: blocks indented by four blanks, with a command after `$ `. A command continues on the next
/// line after `\` or `|`.
fn find_examples(readme: &str) -> Vec<Example> {
    let mut examples: Vec<Example> = Vec::new();
    let mut is_open = false;
    for line in readme.lines() {
        let Some(text) = line.strip_prefix("    ").or_else(|| line.is_empty().then_some("")) else {
            is_open = false;
            continue;
        };
        if let Some(command) = text.strip_prefix("$ ") {
            examples.push(Example { command: command.to_owned(), expected: Vec::new() });
            is_open = true;
        } else if let Some(Example { command, expected }) = examples.last_mut().filter(|_| is_open) {
            if expected.is_empty() && (command.ends_with('\\') || command.ends_with('|')) {
                *command = format!("{} {}", command.trim_end_matches('\\'), text.trim());
            } else {
                expected.push(text.to_owned());
            }
        }
    }
    for Example { expected, .. } in &mut examples {
        while expected.last().is_some_and(String::is_empty) {
            expected.pop();
        }
    }
    examples
}

/// Reports whether the printed lines are the expected ones. An expected line `...` matches any number of lines.
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
    Program::new(&["sh", "-c", &format!("command -v {program}")]).run().code == 0
}

/// Runs a shell command with this build of blkstat first in the path.
fn run(command: &str) -> Outcome {
    let directory = Path::new(BLKSTAT).parent().unwrap();
    let path = format!("{}:{}", directory.display(), std::env::var("PATH").unwrap());
    Program::new(&["bash", "-c", command]).env("PATH", &path).run()
}

fn print_of(command: &str) -> String {
    run(command).out
}

fn json_of(command: &str) -> Value {
    serde_json::from_str(&print_of(command)).unwrap()
}

#[test]
fn every_example_with_a_capture_is_real_output() {
    let mut checked = 0;
    for Example { command, expected } in find_examples(&readme()) {
        let tool = ["jq", "sqlite3"].into_iter().find(|program| command.contains(*program));
        let is_repeatable = command.contains("fixtures/") && !command.contains(" > ");
        if !is_repeatable || tool.is_some_and(|program| !is_installed(program)) {
            continue;
        }
        let printed = print_of(&command);
        let lines: Vec<&str> = printed.trim_end_matches('\n').split('\n').collect();
        assert!(matches(&expected, &lines), "$ {command}\nprints\n{printed}");
        checked += 1;
    }
    assert!(checked >= 10, "only {checked} examples were found");
}

#[test]
fn the_facts_of_version_are_those_that_the_program_prints() {
    const COMMAND: &str = "blkstat version --verbose";
    let readme = readme();
    let example = find_examples(&readme).into_iter().find(|example| example.command == COMMAND).unwrap();
    let printed = print_of(COMMAND);
    let printed: Vec<&str> = printed.lines().collect();
    assert_eq!((example.expected[0].as_str(), &example.expected[2]), (printed[0], &printed[2].to_owned()));
    // The facts about cgroups depend on their version, and come last.
    let name = |line: &str| line.split_once(": ").map(|(name, _)| name.to_owned());
    let is_before_cgroups = |name: &String| name != "cgroups";
    let shown: Vec<String> =
        example.expected.iter().filter_map(|line| name(line)).take_while(is_before_cgroups).collect();
    let names: Vec<String> =
        printed.iter().filter_map(|line| name(line)).take_while(is_before_cgroups).collect();
    assert_eq!(shown, names);
}

/// Returns the section whose heading contains `heading`, up to the next heading.
fn section<'a>(readme: &'a str, heading: &str) -> &'a str {
    readme.split("\n## ").find(|section| section.lines().next().unwrap().contains(heading)).unwrap()
}

/// Returns the words in backticks, without blanks, commas and vertical bars.
fn names_in_backticks(text: &str) -> BTreeSet<&str> {
    text.split('`').skip(1).step_by(2).flat_map(|code| code.split([' ', ',', '|'])).collect()
}

/// Panics if the section does not name one of the fields, columns or options.
fn assert_named<'a>(readme: &str, heading: &str, names: impl IntoIterator<Item = &'a str>) {
    let section = section(readme, heading);
    let named = names_in_backticks(section);
    let missing: Vec<&str> = names.into_iter().filter(|name| !named.contains(name)).collect();
    assert!(missing.is_empty(), "the section \"{heading}\" lacks {missing:?}");
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
        Value::Array(elements) => elements.iter().for_each(|element| collect_keys(element, keys)),
        _ => {}
    }
}

#[test]
fn every_field_of_json_and_csv_is_named() {
    let csv = print_of("blkstat --csv --from fixtures/captures/mixed.txt | head -1");
    let fields = csv.trim_end().split(',');
    // Those of writes and discards are named like those of reads.
    let like_reads = fields.map(|field| match field.split_once('_') {
        Some(("write" | "discard", rest)) => format!("read_{rest}"),
        _ => field.to_owned(),
    });
    let fields: Vec<String> = like_reads.collect();
    assert_named(&readme(), "In pipes", fields.iter().map(String::as_str));
}

#[test]
fn every_field_of_an_analysis_and_of_the_device_tree_is_named() {
    let mut keys = BTreeSet::new();
    for capture in ["capped-3000", "sweep-randread", "mixed", "stalls"] {
        let command = format!("blkstat analyze --json fixtures/captures/{capture}.txt");
        collect_keys(&json_of(&command), &mut keys);
    }
    assert_named(&readme(), "A verdict", keys.iter().map(String::as_str));
    let mut keys = BTreeSet::new();
    collect_keys(
        &json_of("blkstat devices --json --from fixtures/recordings-0.1.0/recording.txt"),
        &mut keys,
    );
    assert_named(&readme(), "The device tree", keys.iter().map(String::as_str));
}

#[test]
fn every_field_of_cgroups_and_processes_is_named() {
    for snapshot in ["cgroup", "process"] {
        let text =
            std::fs::read_to_string(format!("fixtures/snapshots/who/host.{snapshot}.csv.txt")).unwrap();
        assert_named(&readme(), "Who does the I/O", text.lines().next().unwrap().split(','));
    }
}

#[test]
fn every_column_and_sort_key_is_named() {
    let refusal = run("blkstat --sort nosuch --from fixtures/captures/mixed.txt").err;
    let keys = refusal.split_once("expected one of: ").unwrap().1.split(';').next().unwrap();
    assert_named(&readme(), "The incident view", keys.split(", "));
}

#[test]
fn every_metric_and_alert_is_named() {
    let metrics = print_of("blkstat export --from fixtures/captures/mixed.txt");
    let types = metrics.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    let mut names: Vec<String> = types.map(|line| line.split(' ').next().unwrap().to_owned()).collect();
    let alerts = print_of("blkstat export --alerts");
    names.extend(alerts.lines().filter_map(|line| Some(line.split_once("- alert: ")?.1.to_owned())));
    assert!(names.len() > 40);
    assert_named(&readme(), "Metrics for Prometheus", names.iter().map(String::as_str));
}

#[test]
fn every_option_is_named() {
    for (command, heading) in [
        ("", "The incident view"),
        ("top", "The full screen"),
        ("analyze", "A verdict"),
        ("record", "Recording"),
        ("who", "Who does the I/O"),
        ("export", "Metrics for Prometheus"),
        ("latency", "Single requests"),
        ("devices", "The device tree"),
    ] {
        let help = print_of(&format!("blkstat {command} --help"));
        // A short option may precede the long one: `-j, --json`.
        let options = help.lines().filter_map(|line| {
            let option = line.trim_start();
            option.get(4..).filter(|_| option.get(2..4) == Some(", ")).unwrap_or(option).strip_prefix("--")
        });
        let names: Vec<String> =
            options.map(|option| format!("--{}", option.split(' ').next().unwrap())).collect();
        // Described once, with the incident view; or by the help itself.
        let is_described = |name: &&str| match *name {
            "--root" => command.is_empty(),
            name => !matches!(name, "--help" | "--version"),
        };
        let names = names.iter().map(String::as_str).filter(is_described);
        assert_named(&readme(), heading, names);
    }
}
