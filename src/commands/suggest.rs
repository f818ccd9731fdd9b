//! Suggestions for unknown arguments that belong to another command or another version, or are typos.

use std::ffi::OsString;
use std::path::Path;

use super::help_template::{command, operands};
use super::manual::command_names;
use super::operands::is_number_or_interval;
use crate::iostat;
use crate::pt_diskstats;

/// Returns whether a word is the name of a command.
pub(super) fn is_command(word: &str) -> bool {
    command_names().iter().any(|name| name == word)
}

/// Options of other tools for the interval or the count, which are operands here.
const SCHEDULE_OPTIONS: &str =
    "-n -c -i -t --count --interval --delay --seconds --samples --iterations --rate --number";
/// Those for devices.
const DEVICE_OPTIONS: &str = "--device --devices --dev --disk --disks";
/// Other names of options that other tools and 0.1.0 have, with ours.
const SYNONYMS: [(&str, &str); 12] = [
    ("--pace", "--realtime"),
    ("--saturated-at", "--saturation-threshold"),
    ("--file", "--from"),
    ("--input", "--from"),
    ("--replay", "--from"),
    ("--since", "--begin"),
    ("--start", "--begin"),
    ("--until", "--end"),
    ("--filter", "--devices-regex"),
    ("--regex", "--devices-regex"),
    ("--limit", "--top"),
    ("--columns", "--all-columns"),
];

/// Returns the message about `option`, which is unknown, on the command line `arguments` (without the program's name);
/// `None` if there is nothing to suggest. `similar` is the most similar option of the command.
pub(super) fn message_for_unknown_option(
    option: &str,
    similar: Option<&str>,
    arguments: &[OsString],
) -> Option<String> {
    let words: Vec<&str> = arguments.iter().map(|argument| argument.to_str()).collect::<Option<_>>()?;
    let program = command();
    let name = words.iter().copied().find(|word| is_command(word));
    let used = name.and_then(|name| program.find_subcommand(name)).unwrap_or(&program);
    let is_taken = |operand: &str| operands(used.get_name()).iter().any(|(term, _)| *term == operand);
    let is_one_of = |options: &str| options.split(' ').any(|one| one == option);
    // Alone, -d is iostat's.
    let is_schedule = is_one_of(SCHEDULE_OPTIONS) || option == "-d" && name.is_some();
    if is_schedule && is_taken("[INTERVAL]") && (option.len() > 2 || has_number(option, &words)) {
        let file = if used.get_name() == "record" { " FILE" } else { "" };
        return Some(match is_taken("[COUNT]") {
            true => format!("INTERVAL and COUNT are operands: {}{file} 1 5", full_name(used)),
            false => format!("INTERVAL is an operand: {} 1", full_name(used)),
        });
    }
    if is_one_of(DEVICE_OPTIONS) && is_taken("[DEVICE]...") {
        return Some(format!("DEVICE is an operand: {} sda", full_name(used)));
    }
    let found = format!("unexpected argument '{option}' found");
    let meant = |suggestion: &str| Some(format!("{found}; did you mean '{suggestion}'?"));
    if name.is_none() {
        if let Some(command) = words.first().and_then(|word| similar_command(word)) {
            return meant(&format!("blkstat {command}"));
        }
        if iostat::parse(arguments, Path::new("/"), &|_| None).is_ok() {
            return meant(&format!("blkstat iostat {}", words.join(" ")));
        }
    }
    let synonym = SYNONYMS.iter().find(|(other, _)| *other == option).map(|(_, ours)| *ours);
    if let Some(ours) = synonym.filter(|ours| has_option(used, ours)) {
        return meant(ours);
    }
    let all = [&program].into_iter().chain(program.get_subcommands());
    let owners = all.filter(|owner| has_option(owner, option));
    let owners: Vec<String> = owners.map(|owner| format!("'{}'", full_name(owner))).collect();
    if !owners.is_empty() {
        return Some(format!("{found}; it is an option of {}", owners.join(", ")));
    }
    if let Some(similar) = similar {
        return meant(similar);
    }
    let is_pt_diskstats = name.is_none()
        && pt_diskstats::parse(arguments, Path::new("/"), &|_| None, &|_| Ok(String::new())).is_ok();
    if is_pt_diskstats { meant(&format!("blkstat pt-diskstats {}", words.join(" "))) } else { None }
}

/// Returns whether a short option is followed by a number: `-n 5` or `-n5`. `-c` alone is iostat's.
fn has_number(option: &str, words: &[&str]) -> bool {
    let value = words.iter().enumerate().find_map(|(at, word)| match word.strip_prefix(option)? {
        "" => words.get(at + 1).copied(),
        value => Some(value.trim_start_matches('=')),
    });
    value.is_some_and(is_number_or_interval)
}

fn has_option(command: &clap::Command, option: &str) -> bool {
    let (long, short) = (option.strip_prefix("--"), option.strip_prefix('-'));
    command.get_arguments().filter(|argument| !argument.is_positional()).any(|argument| {
        long.is_some() && argument.get_long() == long
            || argument.get_short().is_some_and(|letter| short == Some(letter.encode_utf8(&mut [0; 4])))
    })
}

/// Returns the name of a command as one types it.
fn full_name(command: &clap::Command) -> String {
    match command.get_name() {
        "blkstat" => "blkstat".to_owned(),
        name => format!("blkstat {name}"),
    }
}

/// Returns the command whose name is most similar to `word`; `None` if none is similar.
pub(super) fn similar_command(word: &str) -> Option<String> {
    let distance = |command: &String| strsim::damerau_levenshtein(command, word);
    // A typo rarely changes more than a third of a word.
    command_names().into_iter().filter(|name| distance(name) <= name.len() / 3).min_by_key(distance)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(option: &str, words: &str) -> Option<String> {
        let arguments: Vec<OsString> = words.split_whitespace().map(OsString::from).collect();
        message_for_unknown_option(option, None, &arguments)
    }

    #[test]
    fn options_of_iostat_suggest_iostat_with_the_same_arguments() {
        let suggested = |option: &str, words: &str| {
            let end = format!("found; did you mean 'blkstat iostat {words}'?");
            assert!(message(option, words).unwrap_or_default().ends_with(&end), "{words}");
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
