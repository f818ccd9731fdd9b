//! Suggestions for unknown arguments that belong to another command, to another tool or version, or are typos.

use std::ffi::OsString;
use std::path::Path;

use clap::Command;

use super::help::{command, operands};
use super::options::is_number_or_interval;
use crate::iostat;
use crate::pt_diskstats;
use crate::typo::most_similar;

/// Options of other tools for the interval or the count, which are operands here.
const SCHEDULE_OPTIONS: &str =
    "-n -c -i -t --count --interval --delay --seconds --samples --iterations --rate --number";
/// Those for devices.
const DEVICE_OPTIONS: &str = "--device --devices --dev --disk --disks";
/// Other names of options that other tools and 0.1.0 have, with ours.
const SYNONYMS: [(&str, &str); 13] = [
    ("--file", "--from"),
    ("--input", "--from"),
    ("--replay", "--from"),
    ("--since", "--begin"),
    ("--start", "--begin"),
    ("--until", "--end"),
    ("--filter", "--devices-regex"),
    ("--no-color", "--color never"),
    ("--regex", "--devices-regex"),
    ("--limit", "--top"),
    ("--columns", "--fields"),
    ("--ignore", "--exclude"),
    ("--device-exclude", "--exclude"),
];

/// Returns the names of the commands.
pub(super) fn command_names() -> Vec<String> {
    let program = command();
    let names = program.get_subcommands().map(Command::get_name);
    names.map(str::to_owned).collect()
}

/// Returns whether a word is the name of a command.
pub(super) fn is_command(word: &str) -> bool {
    command_names().iter().any(|name| name == word)
}

/// Returns the message about `option`, which is unknown, on the command line `arguments` (without the program's name);
/// `None` if there is nothing to suggest. `similar` is the most similar option of the command.
pub(super) fn message_for_unknown_option(
    option: &str,
    similar: Option<&str>,
    arguments: &[OsString],
) -> Option<String> {
    let mut words = Vec::new();
    for argument in arguments {
        words.push(argument.to_str()?);
    }
    let program = command();
    let name = words.iter().find(|word| is_command(word));
    let used = match name {
        Some(name) => program.find_subcommand(name)?,
        None => &program,
    };
    if let Some(operand) = operand_meant(option, used, &words) {
        return Some(operand);
    }

    let found = format!("unexpected argument '{option}' found");
    let mut meant = None;
    if name.is_none() {
        meant = command_meant(&words, arguments);
    }
    if meant.is_none() {
        meant = option_meant(option, used, &words).map(str::to_owned);
    }
    if meant.is_none() {
        let owners = owners(option, &program);
        if !owners.is_empty() {
            return Some(format!("{found}; it is an option of {}", owners.join(", ")));
        }
        // What clap takes for similar often is not.
        meant = most_similar(option, similar, option.len() / 3).map(str::to_owned);
    }
    if meant.is_none() && name.is_none() && is_pt_diskstats(arguments) {
        meant = Some(format!("blkstat pt-diskstats {}", words.join(" ")));
    }
    Some(format!("{found}; did you mean '{}'?", meant?))
}

/// Returns how to type the operand that an option of other tools stands for.
fn operand_meant(option: &str, used: &Command, words: &[&str]) -> Option<String> {
    let mut typed = full_name(used);
    if used.get_name() == "record" {
        typed += " FILE";
    }
    // Alone, -d is iostat's.
    let is_schedule =
        is_one_of(SCHEDULE_OPTIONS, option) || option == "-d" && used.get_name() != "blkstat";
    let is_plain = option.len() > 2 || has_number(option, words);
    if is_schedule && is_plain && takes(used, "[INTERVAL]") {
        return Some(match takes(used, "[COUNT]") {
            true => format!("INTERVAL and COUNT are operands: {typed} 1 5"),
            false => format!("INTERVAL is an operand: {typed} 1"),
        });
    }
    if is_one_of(DEVICE_OPTIONS, option) && takes(used, "[DEVICE]...") {
        return Some(format!("DEVICE is an operand: {typed} sda"));
    }
    None
}

fn is_one_of(options: &str, option: &str) -> bool {
    options.split(' ').any(|one| one == option)
}

/// Returns whether a command takes an operand.
fn takes(command: &Command, operand: &str) -> bool {
    operands(command.get_name())
        .iter()
        .any(|(term, _)| *term == operand)
}

/// Returns the command that was meant where the words name none: a similar one, or iostat, whose options they are.
fn command_meant(words: &[&str], arguments: &[OsString]) -> Option<String> {
    if let Some(command) = words.first().and_then(|word| similar_command(word)) {
        return Some(format!("blkstat {command}"));
    }
    match iostat::parse(arguments, Path::new("/"), &|_| None) {
        Ok(_) => Some(format!("blkstat iostat {}", words.join(" "))),
        Err(_) => None,
    }
}

fn is_pt_diskstats(arguments: &[OsString]) -> bool {
    let read = |_: &Path| Ok(String::new());
    pt_diskstats::parse(arguments, Path::new("/"), &|_| None, &read).is_ok()
}

/// Returns the option of a command that has another name elsewhere.
fn option_meant(option: &str, used: &Command, words: &[&str]) -> Option<&'static str> {
    if let Some(format) = named_format(option, words) {
        return Some(format);
    }
    let (_, ours) = SYNONYMS.iter().find(|(other, _)| *other == option)?;
    let name = ours.split(' ').next()?;
    has_option(used, name).then_some(*ours)
}

/// Returns the quoted names of the commands that have an option.
fn owners(option: &str, program: &Command) -> Vec<String> {
    let mut owners = Vec::new();
    for owner in [program].into_iter().chain(program.get_subcommands()) {
        if has_option(owner, option) {
            owners.push(format!("'{}'", full_name(owner)));
        }
    }
    owners
}

/// Returns the option for a format that is named like that of other tools: `--output json`, `--format=csv`.
fn named_format(option: &str, words: &[&str]) -> Option<&'static str> {
    if !matches!(option, "--output" | "--format" | "-o") {
        return None;
    }
    let at = words.iter().position(|word| word.starts_with(option))?;
    let value = match words[at].split_once('=') {
        Some((_, value)) => value,
        None => words.get(at + 1)?,
    };
    match value {
        "json" | "jsonl" | "JSON" => Some("--json"),
        "csv" | "CSV" => Some("--csv"),
        "influx" | "influxdb" => Some("--influx"),
        _ => None,
    }
}

/// Returns whether a short option is followed by a number: `-n 5` or `-n5`. `-c` alone is iostat's.
fn has_number(option: &str, words: &[&str]) -> bool {
    for (at, word) in words.iter().enumerate() {
        match word.strip_prefix(option) {
            Some("") => {
                return words
                    .get(at + 1)
                    .is_some_and(|next| is_number_or_interval(next));
            }
            Some(value) => return is_number_or_interval(value.trim_start_matches('=')),
            None => {}
        }
    }
    false
}

fn has_option(command: &Command, option: &str) -> bool {
    let Some(short) = option.strip_prefix('-') else {
        return false;
    };
    let long = short.strip_prefix('-');
    for argument in command.get_arguments() {
        if argument.is_positional() {
            continue;
        }
        if long.is_some() && argument.get_long() == long {
            return true;
        }
        if let Some(letter) = argument.get_short()
            && letter.to_string() == short
        {
            return true;
        }
    }
    false
}

/// Returns the name of a command as one types it.
fn full_name(command: &Command) -> String {
    match command.get_name() {
        "blkstat" => "blkstat".to_owned(),
        name => format!("blkstat {name}"),
    }
}

/// Returns the command whose name is most similar to `word`; `None` if none is similar.
pub(super) fn similar_command(word: &str) -> Option<String> {
    let names = command_names();
    most_similar(word, names.iter().map(String::as_str), word.len() / 3).map(str::to_owned)
}

#[cfg(test)]
mod suggestions_tests {
    use super::*;

    fn message(option: &str, words: &str) -> Option<String> {
        let arguments: Vec<OsString> = words.split_whitespace().map(OsString::from).collect();
        message_for_unknown_option(option, None, &arguments)
    }

    #[test]
    fn options_of_iostat_suggest_iostat_with_the_same_arguments() {
        let suggested = |option: &str, words: &str| {
            let end = format!("found; did you mean 'blkstat iostat {words}'?");
            assert!(
                message(option, words).unwrap_or_default().ends_with(&end),
                "{words}"
            );
        };
        suggested("-x", "-x 1");
        suggested("-d", "-dx sda 1 5");
        suggested("-c", "-c");
        suggested("--human", "--human");
        for (option, words) in [("-x", "--sort r/s -x"), ("-x", "analyze -x 1")] {
            assert_eq!(message(option, words), None, "{words}");
        }
    }

    #[test]
    fn a_similar_name_is_a_typo_of_a_command() {
        for (word, command) in [
            ("analze", "analyze"),
            ("recrod", "record"),
            ("device", "devices"),
            ("pt-diskstat", "pt-diskstats"),
        ] {
            assert_eq!(similar_command(word).as_deref(), Some(command));
        }
        for word in ["vda", "sda", "md0", "nvme0n1", "total", "1", ""] {
            assert_eq!(similar_command(word), None, "{word}");
        }
    }
}
