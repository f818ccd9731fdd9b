//! `blkstat help` and `blkstat man`: the pages of the manual, with the options of the commands.

use std::io::Write;
use std::process::{Command, Stdio};

use anyhow::Result;

use super::help_template::{command, operands};
use super::options::usage_error;
use crate::console::RunContext;
use crate::exit::Exit;
use crate::report::layout::DEFAULT_WIDTH;
use crate::report::manual::{Page, Terms, find_term, names, page, styled};

/// The width of pages that do not go to a terminal.
const TEXT_WIDTH: usize = 80;

/// Returns the names of the commands.
pub(super) fn command_names() -> Vec<String> {
    command().get_subcommands().map(|command| command.get_name().to_owned()).collect()
}

/// Prints a page for the terminal, with a pager if there is one, or what the manual says of a name that has no page.
///
/// # Errors
/// If the manual does not know the name, or the output cannot be written.
pub(super) fn print_help(topic: &str, context: &mut RunContext<'_>) -> Result<Exit> {
    let is_terminal = context.is_terminal;
    let width = context.screen_size().map_or(TEXT_WIDTH, |(columns, _)| columns.clamp(60, DEFAULT_WIDTH));
    // `column` means `columns`.
    let page = manual_page(topic).or_else(|| manual_page(&format!("{topic}s")));
    let text = match page {
        Some(page) => page.text(width, is_terminal),
        None => {
            let found = find_term(topic, names().filter_map(manual_page).collect(), width);
            let parts = found.iter().map(|(text, page)| format!("{text}  (blkstat help {page})\n"));
            styled(&parts.collect::<Vec<_>>().join("\n"), is_terminal)
        }
    };
    if text.is_empty() {
        return Err(usage_error(format!("no help on '{topic}'; 'blkstat help help' lists the pages")));
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
        let files = names().filter_map(manual_page).map(|page| page.file_name() + "\n");
        return Ok(files.collect());
    }
    let name = name.unwrap_or("blkstat");
    // The name of its file is one, too: `blkstat-top.1`.
    let short = name.trim_end_matches(".1").trim_end_matches(".7");
    let page = manual_page(short.strip_prefix("blkstat-").unwrap_or(short));
    page.map(|page| page.roff())
        .ok_or_else(|| usage_error(format!("no manual page for '{name}'; 'blkstat man --list' lists them")))
}

fn manual_page(name: &str) -> Option<Page> {
    let mut program = command();
    // Building passes global options on to the commands and gives them their full names.
    program.build();
    let command = if name == "blkstat" { Some(program) } else { program.find_subcommand(name).cloned() };
    let page = page(name, &|table| command.as_ref().filter(|_| table == "options").map(options))?;
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
fn options(command: &clap::Command) -> Terms {
    let described = |argument: &clap::Arg| {
        let mut meaning = argument.get_help().map(ToString::to_string).unwrap_or_default();
        let values = argument.get_possible_values();
        if !values.is_empty() && argument.get_action().takes_values() {
            let values: Vec<&str> = values.iter().map(clap::builder::PossibleValue::get_name).collect();
            meaning += &format!(": {}", values.join(", "));
        }
        meaning
    };
    let values = |argument: &clap::Arg| {
        let names = argument.get_value_names().filter(|_| argument.get_action().takes_values());
        names.unwrap_or_default().join(" ")
    };
    let operands = operands(command.get_name()).iter();
    let mut terms: Terms =
        operands.map(|(operand, meaning)| ((*operand).to_owned(), (*meaning).to_owned())).collect();
    if terms.is_empty() {
        terms.extend(command.get_positionals().map(|operand| (values(operand), described(operand))));
    }
    for option in command.get_arguments().filter(|option| !option.is_positional() && !option.is_hide_set()) {
        let short = option.get_short().map(|short| format!("-{short}, ")).unwrap_or_default();
        let long = option.get_long().unwrap_or_default();
        terms.push((format!("{short}--{long} {}", values(option)).trim().to_owned(), described(option)));
    }
    terms
}

/// Shows a text with the pager of the user; false if it cannot be started.
fn page_through(text: &[u8], context: &RunContext<'_>) -> bool {
    let variable = |name| (context.environment)(name).filter(|value| !value.is_empty());
    let pager = ["MANPAGER", "PAGER"].into_iter().find_map(variable).unwrap_or_else(|| "less".into());
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(pager).stdin(Stdio::piped());
    if variable("LESS").is_none() {
        // The text remains on the screen and is not paged if it fits there; bold words are shown.
        shell.env("LESS", "FRX");
    }
    let Ok(mut pager) = shell.spawn() else { return false };
    if let Some(mut input) = pager.stdin.take() {
        // The pager may end before it has read everything.
        let _ = input.write_all(text);
    }
    // The shell's status if there is no such program.
    pager.wait().is_ok_and(|status| status.code() != Some(127))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_page_with_its_options() {
        for name in command_names() {
            let text =
                manual_page(&name).unwrap_or_else(|| panic!("no page for {name}")).text(TEXT_WIDTH, false);
            let program = command();
            let options =
                program.find_subcommand(&name).unwrap().get_arguments().filter_map(clap::Arg::get_long);
            for option in options {
                assert!(text.contains(&format!("--{option}")), "{name} lacks --{option}: {text}");
            }
            assert!(text.contains("\nSynopsis\n"), "{text}");
        }
    }

    #[test]
    fn the_page_of_a_file_is_found_by_its_name() {
        let files = manual_text(None, true).unwrap();
        assert!(files.starts_with("blkstat.1\n") && files.contains("\nblkstat-verdicts.7\n"), "{files}");
        for file in files.lines() {
            let (name, section) = file.rsplit_once('.').unwrap();
            let page = manual_text(Some(file), false).unwrap();
            assert!(page.starts_with(&format!(".TH \"{name}\" \"{section}\" ")), "{page}");
        }
        assert_eq!(manual_text(None, false).unwrap(), manual_text(Some("blkstat"), false).unwrap());
        assert!(manual_text(Some("nosuch"), false).is_err());
    }
}
