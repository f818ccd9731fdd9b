//! The texts about the program: the commands for clap, with what all commands have in common and help texts that clap cannot
//! derive; `blkstat help` and `blkstat man`, the pages of the manual with the options of the commands; and suggestions for
//! unknown arguments that belong to another command or another version, or are typos.

use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::process::{self, Stdio};

use anyhow::Result;
use clap::{Arg, Command, CommandFactory};

use super::completions::with_words;
use super::options::{Operand, VIEW_OPERANDS, is_number_or_interval, usage_error};
use super::{Arguments, export, record};
use crate::console::RunContext;
use crate::exit::Exit;
use crate::iostat;
use crate::pt_diskstats;
use crate::quantities;
use crate::report::layout::DEFAULT_WIDTH;
use crate::report::manual::{Page, Terms, find_term, names, page, styled};
use crate::report::native::sort_keys;
use crate::typo::{did_you_mean, most_similar};

/// Returns the program and its commands.
pub(super) fn command() -> Command {
    let with_completions = |command: Command| {
        let name = command.get_name().to_owned();
        command.mut_args(|argument| with_words(argument, &name))
    };
    with_completions(Arguments::command()).mut_subcommands(with_completions)
}

/// Returns the operands of a command; none if clap describes them.
pub(super) fn operands(command: &str) -> &'static [Operand] {
    match command {
        "blkstat" | "who" | "analyze" | "report" => VIEW_OPERANDS,
        "top" => VIEW_OPERANDS.get(..3).unwrap_or_default(),
        // Recordings have no single requests.
        "latency" => VIEW_OPERANDS.get(1..).unwrap_or_default(),
        "export" => export::OPERANDS,
        "record" => record::OPERANDS,
        _ => &[],
    }
}

/// The width of pages that do not go to a terminal.
const TEXT_WIDTH: usize = 80;

/// Returns the names of the commands.
fn command_names() -> Vec<String> {
    command()
        .get_subcommands()
        .map(|command| command.get_name().to_owned())
        .collect()
}

/// Prints a page for the terminal, with a pager if there is one, or what the manual says of a name that has no page.
///
/// # Errors
/// If the manual does not know the name, or the output cannot be written.
pub(super) fn print_help(topic: &str, context: &mut RunContext<'_>) -> Result<Exit> {
    let is_terminal = context.is_terminal;
    let width = context
        .screen_size()
        .map_or(TEXT_WIDTH, |(columns, _)| columns.clamp(60, DEFAULT_WIDTH));
    // `column` means `columns`.
    let page = manual_page(topic).or_else(|| manual_page(&format!("{topic}s")));
    let text = match page {
        Some(page) => page.text(width, is_terminal),
        None => {
            let find =
                |term: &str| find_term(term, names().filter_map(manual_page).collect(), width);
            // The definition first, also of a name of iostat or JSON.
            let title = quantities::device::find(topic).map_or(topic, |quantity| quantity.title);
            let mut found = find(title);
            for part in find(topic) {
                if !found.contains(&part) {
                    found.push(part);
                }
            }
            let parts = found
                .iter()
                .map(|(text, page)| format!("{text}  (blkstat help {page})\n"));
            styled(&parts.collect::<Vec<_>>().join("\n"), is_terminal)
        }
    };
    if text.is_empty() {
        let known = names().chain(sort_keys());
        let end = did_you_mean(topic, known, "'blkstat help' lists the pages");
        return Err(usage_error(format!("no help on '{topic}'{end}")));
    }
    let mut text = text.into_bytes();
    context.make_displayable(&mut text);
    if !is_terminal || !page_through(&text, context) {
        context.emit(&mut text)?;
    }
    Ok(Exit::Success)
}

/// Returns a page as roff, or the names of the files of all pages.
///
/// # Errors
/// If there is no such page.
pub(super) fn manual_text(name: Option<&str>, list: bool) -> Result<String> {
    if list {
        let files = names()
            .filter_map(manual_page)
            .map(|page| page.file_name() + "\n");
        return Ok(files.collect());
    }
    let name = name.unwrap_or("blkstat");
    // The name of its file is one, too: `blkstat-top.1`.
    let short = name.trim_end_matches(".1").trim_end_matches(".7");
    let page = manual_page(short.strip_prefix("blkstat-").unwrap_or(short));
    page.map(|page| page.roff()).ok_or_else(|| {
        usage_error(format!(
            "no manual page for '{name}'; 'blkstat man --list' lists them"
        ))
    })
}

fn manual_page(name: &str) -> Option<Page> {
    let mut program = command();
    // Building passes global options on to the commands and gives them their full names.
    program.build();
    let command = if name == "blkstat" {
        Some(program)
    } else {
        program.find_subcommand(name).cloned()
    };
    let page = page(name, &|table| {
        command.as_ref().filter(|_| table == "options").map(options)
    })?;
    Some(match command {
        None => page,
        Some(mut command) => {
            let usage = command.render_usage().to_string();
            let lines = usage.trim_start_matches("Usage: ").lines();
            page.with_synopsis(lines.map(|line| line.trim().to_owned() + "\n").collect())
        }
    })
}

/// Returns the operands and options of a command with their meanings.
fn options(command: &Command) -> Terms {
    let mut terms = operand_terms(command);
    terms.extend(shown_options(command).map(option_term));
    terms
}

/// Returns the operands of a command with their meanings.
pub(super) fn operand_terms(command: &Command) -> Terms {
    let mut terms = Terms::new();
    for (operand, meaning) in operands(command.get_name()) {
        terms.push(((*operand).to_owned(), (*meaning).to_owned()));
    }
    if terms.is_empty() {
        for operand in command.get_positionals().filter(|one| !one.is_hide_set()) {
            terms.push((value_names(operand), meaning(operand)));
        }
    }
    terms
}

/// Returns the options that the help shows.
pub(super) fn shown_options(command: &Command) -> impl Iterator<Item = &Arg> {
    let options = command.get_arguments();
    options.filter(|option| !option.is_positional() && !option.is_hide_set())
}

/// Returns an option as one types it, with its meaning.
pub(super) fn option_term(option: &Arg) -> (String, String) {
    let short = option
        .get_short()
        .map(|short| format!("-{short}, "))
        .unwrap_or_default();
    let long = option.get_long().unwrap_or_default();
    let names = value_names(option);
    let value = match option.is_require_equals_set() {
        true => format!("[={names}]"),
        false => format!(" {names}"),
    };
    let term = format!("{short}--{long}{value}");
    (term.trim_end().to_owned(), meaning(option))
}

fn value_names(argument: &Arg) -> String {
    let names = argument
        .get_value_names()
        .filter(|_| argument.get_action().takes_values());
    names.unwrap_or_default().join(" ")
}

/// Returns the meaning of an argument, with its values and its default.
fn meaning(argument: &Arg) -> String {
    let help = argument.get_help().map(ToString::to_string);
    let mut meaning = help.unwrap_or_default();
    if !argument.get_action().takes_values() {
        return meaning;
    }
    let mut values = Vec::new();
    for value in argument.get_possible_values() {
        values.push(value.get_name().to_owned());
    }
    if !values.is_empty() {
        meaning += &format!(": {}", values.join(", "));
    }
    let default = argument.get_default_values().first();
    if let Some(default) = default.filter(|_| !argument.is_hide_default_value_set()) {
        meaning += &format!(" (default {})", default.to_string_lossy());
    }
    meaning
}

/// Shows a text with the pager of the user; false if it cannot be started.
fn page_through(text: &[u8], context: &RunContext<'_>) -> bool {
    let variable = |name| (context.environment)(name).filter(|value| !value.is_empty());
    let pager = ["MANPAGER", "PAGER"]
        .into_iter()
        .find_map(variable)
        .unwrap_or_else(|| "less".into());
    let mut shell = process::Command::new("sh");
    shell.arg("-c").arg(pager).stdin(Stdio::piped());
    if variable("LESS").is_none() {
        // The text remains on the screen and is not paged if it fits there; bold words are shown.
        shell.env("LESS", "FRX");
    }
    let Ok(mut pager) = shell.spawn() else {
        return false;
    };
    if let Some(mut input) = pager.stdin.take() {
        // The pager may end before it has read everything.
        let _ = input.write_all(text);
    }
    // The shell's status if there is no such program.
    pager.wait().is_ok_and(|status| status.code() != Some(127))
}

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
const SYNONYMS: [(&str, &str); 14] = [
    ("--saturated-at", "--saturation-threshold"),
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
    ("--columns", "--show"),
    ("--ignore", "--exclude"),
    ("--device-exclude", "--exclude"),
];

/// Returns the message about `option`, which is unknown, on the command line `arguments` (without the program's name);
/// `None` if there is nothing to suggest. `similar` is the most similar option of the command.
pub(super) fn message_for_unknown_option(
    option: &str,
    similar: Option<&str>,
    arguments: &[OsString],
) -> Option<String> {
    let words: Vec<&str> = arguments
        .iter()
        .map(|argument| argument.to_str())
        .collect::<Option<_>>()?;
    let program = command();
    let name = words.iter().copied().find(|word| is_command(word));
    let used = name
        .and_then(|name| program.find_subcommand(name))
        .unwrap_or(&program);
    let is_taken = |operand: &str| {
        operands(used.get_name())
            .iter()
            .any(|(term, _)| *term == operand)
    };
    let is_one_of = |options: &str| options.split(' ').any(|one| one == option);
    // Alone, -d is iostat's.
    let is_schedule = is_one_of(SCHEDULE_OPTIONS) || option == "-d" && name.is_some();
    let mut typed = full_name(used);
    if used.get_name() == "record" {
        typed += " FILE";
    }
    if is_schedule && is_taken("[INTERVAL]") && (option.len() > 2 || has_number(option, &words)) {
        return Some(match is_taken("[COUNT]") {
            true => format!("INTERVAL and COUNT are operands: {typed} 1 5"),
            false => format!("INTERVAL is an operand: {typed} 1"),
        });
    }
    if is_one_of(DEVICE_OPTIONS) && is_taken("[DEVICE]...") {
        return Some(format!("DEVICE is an operand: {typed} sda"));
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
    if let Some(format) = named_format(option, &words) {
        return meant(format);
    }
    let synonym = SYNONYMS
        .iter()
        .find(|(other, _)| *other == option)
        .map(|(_, ours)| *ours);
    if let Some(ours) = synonym
        && let Some(name) = ours.split(' ').next()
        && has_option(used, name)
    {
        return meant(ours);
    }
    let all = [&program].into_iter().chain(program.get_subcommands());
    let owners = all.filter(|owner| has_option(owner, option));
    let owners: Vec<String> = owners
        .map(|owner| format!("'{}'", full_name(owner)))
        .collect();
    if !owners.is_empty() {
        return Some(format!("{found}; it is an option of {}", owners.join(", ")));
    }
    if let Some(similar) = similar
        && most_similar(option, [similar], option.len() / 3).is_some()
    {
        return meant(similar);
    }
    let is_pt_diskstats = name.is_none()
        && pt_diskstats::parse(arguments, Path::new("/"), &|_| None, &|_| Ok(String::new()))
            .is_ok();
    if is_pt_diskstats {
        meant(&format!("blkstat pt-diskstats {}", words.join(" ")))
    } else {
        None
    }
}

/// Returns the option for a format that is named like that of other tools: `--output json`, `--format=csv`.
fn named_format(option: &str, words: &[&str]) -> Option<&'static str> {
    if !matches!(option, "--output" | "--format" | "-o") {
        return None;
    }
    let at = words.iter().position(|word| word.starts_with(option))?;
    let value = words[at].split_once('=').map(|(_, value)| value);
    match value.or(words.get(at + 1).copied())? {
        "json" | "jsonl" | "JSON" => Some("--json"),
        "csv" | "CSV" => Some("--csv"),
        "influx" | "influxdb" => Some("--influx"),
        _ => None,
    }
}

/// Returns whether a short option is followed by a number: `-n 5` or `-n5`. `-c` alone is iostat's.
fn has_number(option: &str, words: &[&str]) -> bool {
    let value =
        words
            .iter()
            .enumerate()
            .find_map(|(at, word)| match word.strip_prefix(option)? {
                "" => words.get(at + 1).copied(),
                value => Some(value.trim_start_matches('=')),
            });
    value.is_some_and(is_number_or_interval)
}

fn has_option(command: &Command, option: &str) -> bool {
    let (long, short) = (option.strip_prefix("--"), option.strip_prefix('-'));
    command
        .get_arguments()
        .filter(|argument| !argument.is_positional())
        .any(|argument| {
            long.is_some() && argument.get_long() == long
                || argument
                    .get_short()
                    .is_some_and(|letter| short == Some(letter.encode_utf8(&mut [0; 4])))
        })
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
mod manual_tests {
    use super::*;

    #[test]
    fn every_command_has_a_page_with_its_options() {
        for name in command_names() {
            let text = manual_page(&name)
                .unwrap_or_else(|| panic!("no page for {name}"))
                .text(TEXT_WIDTH, false);
            let program = command();
            let options = program
                .find_subcommand(&name)
                .unwrap()
                .get_arguments()
                .filter_map(Arg::get_long);
            for option in options {
                assert!(
                    text.contains(&format!("--{option}")),
                    "{name} lacks --{option}: {text}"
                );
            }
            assert!(text.contains("\nSynopsis\n"), "{text}");
        }
    }

    #[test]
    fn the_page_of_a_file_is_found_by_its_name() {
        let files = manual_text(None, true).unwrap();
        assert!(
            files.starts_with("blkstat.1\n") && files.contains("\nblkstat-verdicts.7\n"),
            "{files}"
        );
        for file in files.lines() {
            let (name, section) = file.rsplit_once('.').unwrap();
            let page = manual_text(Some(file), false).unwrap();
            assert!(
                page.starts_with(&format!(".TH \"{name}\" \"{section}\" ")),
                "{page}"
            );
        }
        assert_eq!(
            manual_text(None, false).unwrap(),
            manual_text(Some("blkstat"), false).unwrap()
        );
        assert!(manual_text(Some("nosuch"), false).is_err());
    }
}

#[cfg(test)]
mod suggest_tests {
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
