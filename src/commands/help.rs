//! The texts about the program: the commands for clap, with what all commands have in common and help texts that clap cannot
//! derive; `blkstat help` and `blkstat man`, the pages of the manual with the options of the commands.

use std::ffi::OsString;
use std::io::Write;
use std::process::{self, Stdio};

use anyhow::Result;
use clap::{Arg, Command, CommandFactory};

use super::completions::with_words;
use super::options::{Operand, VIEW_OPERANDS, usage_error};
use super::{Arguments, export, record};
use crate::console::RunContext;
use crate::exit::Exit;
use crate::quantities;
use crate::report::layout::DEFAULT_WIDTH;
use crate::report::manual::{Page, Terms, find_term, names, page, styled};
use crate::report::native::sort_keys;
use crate::typo::did_you_mean;

/// Returns the program and its commands.
pub(super) fn command() -> Command {
    with_completions(Arguments::command()).mut_subcommands(with_completions)
}

fn with_completions(command: Command) -> Command {
    let name = command.get_name().to_owned();
    command.mut_args(|argument| with_words(argument, &name))
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
        None => styled(&text_about_word(topic, width), is_terminal),
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

/// Returns what the manual says of a word, with the page of each part; empty if nothing.
fn text_about_word(word: &str, width: usize) -> String {
    // The definition first, also of a name of iostat or JSON.
    let title = quantities::device::find(word).map_or(word, |quantity| quantity.title);
    let mut found = find_term(title, pages().collect(), width);
    for part in find_term(word, pages().collect(), width) {
        if !found.contains(&part) {
            found.push(part);
        }
    }
    let mut parts = Vec::new();
    for (text, page) in found {
        parts.push(format!("{text}  (blkstat help {page})\n"));
    }
    parts.join("\n")
}

/// Returns a page as roff, or the names of the files of all pages.
///
/// # Errors
/// If there is no such page.
pub(super) fn manual_text(name: Option<&str>, list: bool) -> Result<String> {
    if list {
        return Ok(pages().map(|page| page.file_name() + "\n").collect());
    }
    let name = name.unwrap_or("blkstat");
    // The name of its file is one, too: `blkstat-top.1`.
    let short = name.trim_end_matches(".1").trim_end_matches(".7");
    let page = manual_page(short.strip_prefix("blkstat-").unwrap_or(short));
    match page {
        Some(page) => Ok(page.roff()),
        None => Err(usage_error(format!(
            "no manual page for '{name}'; 'blkstat man --list' lists them"
        ))),
    }
}

fn pages() -> impl Iterator<Item = Page> {
    names().filter_map(manual_page)
}

fn manual_page(name: &str) -> Option<Page> {
    let mut program = command();
    // Building passes global options on to the commands and gives them their full names.
    program.build();
    let command = if name == "blkstat" {
        Some(&mut program)
    } else {
        program.find_subcommand_mut(name)
    };
    let Some(command) = command else {
        return page(name, &|_| None);
    };
    let page = page(name, &|table| {
        (table == "options").then(|| options(command))
    })?;
    let usage = command.render_usage().to_string();
    let mut synopsis = String::new();
    for line in usage.trim_start_matches("Usage: ").lines() {
        synopsis += &format!("{}\n", line.trim());
    }
    Some(page.with_synopsis(synopsis))
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
    let mut term = String::new();
    if let Some(short) = option.get_short() {
        term += &format!("-{short}, ");
    }
    let long = option.get_long().unwrap_or_default();
    term += &format!("--{long}");
    let names = value_names(option);
    if option.is_require_equals_set() {
        term += &format!("[={names}]");
    } else if !names.is_empty() {
        term += &format!(" {names}");
    }
    (term, meaning(option))
}

fn value_names(argument: &Arg) -> String {
    match argument.get_value_names() {
        Some(names) if argument.get_action().takes_values() => names.join(" "),
        _ => String::new(),
    }
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
    if let Some(default) = argument.get_default_values().first()
        && !argument.is_hide_default_value_set()
    {
        meaning += &format!(" (default {})", default.to_string_lossy());
    }
    meaning
}

/// Returns the value of a variable; `None` if it is not set or empty.
fn variable(name: &str, context: &RunContext<'_>) -> Option<OsString> {
    (context.environment)(name).filter(|value| !value.is_empty())
}

/// Shows a text with the pager of the user; false if it cannot be started.
fn page_through(text: &[u8], context: &RunContext<'_>) -> bool {
    let manual_pager = variable("MANPAGER", context);
    let pager = manual_pager.or_else(|| variable("PAGER", context));
    let pager = pager.unwrap_or_else(|| "less".into());
    let mut shell = process::Command::new("sh");
    shell.arg("-c").arg(pager).stdin(Stdio::piped());
    if variable("LESS", context).is_none() {
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

#[cfg(test)]
mod manual_tests {
    use super::*;

    #[test]
    fn every_command_has_a_page_with_its_options() {
        for name in super::super::suggestions::command_names() {
            if ["completions", "man", "version"].contains(&name.as_str()) {
                // They are explained on the page `help`.
                continue;
            }
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
