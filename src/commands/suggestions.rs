//! What was meant by words that clap cannot know: mistyped commands, which may be operands, and options of other tools.

use std::ffi::OsString;
use std::path::Path;

use clap::Command;

use super::help::command;
use super::options::is_number_or_interval;
use crate::iostat;
use crate::source::is_device_name;
use crate::typo::most_similar;

/// Options of other tools for the interval or the count, which are operands here.
const SCHEDULE_OPTIONS: [&str; 7] = ["-n", "-c", "-i", "-d", "--count", "--interval", "--delay"];

/// Returns the name of the command that one of the words names, also by another name.
pub(super) fn named_command(words: &[&str]) -> Option<String> {
    let program = command();
    let named = words
        .iter()
        .find_map(|word| program.find_subcommand(word))?;
    Some(named.get_name().to_owned())
}

/// Returns the message about the first word of a command line if no file and no device has this name, but a command has a similar
/// one.
pub(super) fn message_for_first_word(word: &str) -> Option<String> {
    let is_other = word.starts_with('-')
        || is_number_or_interval(word)
        || Path::new(word).exists()
        || is_device_name(word, Path::new("/"));
    if is_other {
        return None;
    }
    let program = command();
    if program.find_subcommand(word).is_some() {
        return None;
    }
    let names = program.get_subcommands().map(Command::get_name);
    let similar = most_similar(word, names, word.len() / 3)?;
    Some(format!(
        "no such command '{word}'; did you mean 'blkstat {similar}'?"
    ))
}

/// Returns the message about `option`, which is unknown, on the command line `arguments` (without the program's name);
/// `None` if it is not one of another tool.
pub(super) fn message_for_unknown_option(option: &str, arguments: &[OsString]) -> Option<String> {
    let mut words = Vec::new();
    for argument in arguments {
        words.push(argument.to_str()?);
    }
    let name = named_command(&words);
    if name.is_none() && iostat::parse(arguments, Path::new("/"), &|_| None).is_ok() {
        let typed = words.join(" ");
        return Some(format!(
            "unexpected argument '{option}' found; did you mean 'blkstat iostat {typed}'?"
        ));
    }
    let mut program = command();
    let used = match name {
        Some(name) => program.find_subcommand_mut(name)?,
        None => &mut program,
    };
    let usage = used.render_usage().to_string();
    let usage = usage
        .lines()
        .next()
        .filter(|usage| usage.contains("INTERVAL"))?;
    if !SCHEDULE_OPTIONS.contains(&option) {
        return None;
    }
    Some(format!(
        "unexpected argument '{option}' found; INTERVAL is an operand: {}",
        usage.trim_start_matches("Usage: ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_word_like_the_name_of_a_command_is_taken_for_one() {
        for (word, command) in [
            ("reprot", "report"),
            ("recrod", "record"),
            ("device", "devices"),
            ("pt-diskstat", "pt-diskstats"),
        ] {
            let expected = format!("no such command '{word}'; did you mean 'blkstat {command}'?");
            assert_eq!(message_for_first_word(word), Some(expected));
        }
        for word in [
            "vda", "md0", "nvme0n1", "loop", "total", "1", "", "--help", "analyse", "src",
        ] {
            assert_eq!(message_for_first_word(word), None, "{word}");
        }
    }
}
