//! The texts about the program: the commands for clap, with what all commands have in common; their help; `blkstat help`
//! and `blkstat man`.

use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::process::{self, Stdio};

use anyhow::{Context, Result};
use clap::{Arg, Command, CommandFactory};

use super::completions::with_words;
use super::options::{Operand, VIEW_OPERANDS, usage_error};
use super::{Arguments, export, record};
use crate::console::RunContext;
use crate::exit::Exit;
use crate::quantities;
use crate::report::layout::{DEFAULT_WIDTH, wrap};
use crate::report::manual::{explain, names, page};
use crate::report::native::sort_keys;
use crate::typo::did_you_mean;

/// The width of texts that do not go to a terminal.
const TEXT_WIDTH: usize = 80;

/// The commands to type in an incident, at the top of the help.
const INCIDENT: &str = "\
In an incident:
  blkstat                 What is slow? The active devices, every second
  blkstat --explain sda   Why? One device, with the evidence for its verdicts
  blkstat who             Who is causing it? Cgroups, processes and their limits
  blkstat top             All of this on the full screen, with history
  blkstat record inc.gz   Keep it; then blkstat report inc.gz makes a page of it
  blkstat help verdicts   What does a verdict mean, and what can I do?

";

/// The options of the program on its first screen.
const FIRST_OPTIONS: [&str; 10] = [
    "from", "begin", "end", "all", "exclude", "sort", "top", "explain", "json", "csv",
];

const SHORT_USAGE: &str =
    "Usage: blkstat [OPTIONS] [FILE | DEVICE]... [INTERVAL [COUNT]] | COMMAND ...";
const MORE: &str = "Every option: blkstat --help. Commands and topics of the manual: blkstat help";

/// Returns the program and its commands.
pub(super) fn command() -> Command {
    with_texts(Arguments::command()).mut_subcommands(with_texts)
}

/// Adds to a command how its words are completed, and what clap cannot derive: operands stand in any order.
fn with_texts(command: Command) -> Command {
    let name = command.get_name().to_owned();
    let about = command
        .get_about()
        .map(ToString::to_string)
        .unwrap_or_default();
    let mut arguments = String::new();
    let mut description = format!("{about}.");
    for (operand, meaning) in operands(&name) {
        arguments += &format!("  {operand:11}  {meaning}\n");
        description += &format!("\n\n{operand}: {meaning}");
    }
    if !arguments.is_empty() {
        arguments.insert_str(0, "Arguments:\n");
    }
    if name == "blkstat" {
        arguments.insert_str(0, INCIDENT);
    }
    let mut end = "Manual: blkstat help".to_owned();
    if names().any(|page| page == name) {
        end += &format!(" {name}");
    }
    if let Some(note) = command.get_after_help() {
        end = format!("{note}\n{end}");
    }
    let mut command = command
        .mut_args(|argument| with_heading(with_words(argument, &name)))
        .long_about(description)
        .after_help(end)
        .term_width(TEXT_WIDTH);
    if !arguments.is_empty() {
        command = command.before_help(arguments);
    }
    command
}

/// Puts an option that the short help lacks below a heading of its own.
fn with_heading(option: Arg) -> Arg {
    if option.is_hide_short_help_set() {
        return option.help_heading("Seldom needed");
    }
    option
}

/// Returns the operands of a command; none if clap describes them.
pub(super) fn operands(command: &str) -> &'static [Operand] {
    match command {
        "blkstat" | "who" | "analyze" | "report" => VIEW_OPERANDS,
        "top" => VIEW_OPERANDS.get(..3).unwrap_or_default(),
        // Recordings have no single requests.
        "latency" => VIEW_OPERANDS.get(1..).unwrap_or_default(),
        "devices" => VIEW_OPERANDS.get(..2).unwrap_or_default(),
        "export" => export::OPERANDS,
        "record" => record::OPERANDS,
        _ => &[],
    }
}

/// Returns the help of the program, or of the command of this name. The short one lacks options that are seldom needed, and
/// that of the program leaves room for the prompt on a screen of 24 lines.
pub(super) fn help_text(name: Option<&str>, is_short: bool) -> String {
    let mut command = command();
    // Building passes global options on to the commands and gives them their full names.
    command.build();
    if let Some(named) = name.and_then(|name| command.find_subcommand(name)) {
        command = named.clone();
    }
    let is_program = command.get_name() == "blkstat";
    let mut template =
        "{about}\n\n{usage-heading} {usage}\n\n{before-help}{all-args}{after-help}\n".to_owned();
    if is_program && is_short {
        command = command.mut_args(|option| {
            let is_first = FIRST_OPTIONS.contains(&option.get_id().as_str());
            option.hide(!is_first)
        });
        template = format!("{{about}}\n{SHORT_USAGE}\n\n{INCIDENT}Options:\n{{options}}\n{MORE}\n");
    } else if !is_short {
        command = command.mut_args(|option| option.hide_short_help(false));
    }
    if is_program && !is_short {
        let pages = names().collect::<Vec<_>>().join(", ");
        for line in wrap(&format!("Pages: {pages}"), TEXT_WIDTH) {
            template += &format!("{line}\n");
        }
    }
    // The long help of clap would put each meaning below its option.
    command.help_template(template).render_help().to_string()
}

/// Prints a page for the terminal, with a pager if there is one, or what the manual says of a name that has no page.
///
/// # Errors
/// If the manual does not know the name, or the output cannot be written.
pub(super) fn print_help(topic: &str, context: &mut RunContext<'_>) -> Result<Exit> {
    let width = context
        .screen_size()
        .map_or(TEXT_WIDTH, |(columns, _)| columns.clamp(60, DEFAULT_WIDTH));
    // `column` means `columns`.
    let page = page(topic, width).or_else(|| page(&format!("{topic}s"), width));
    let mut text = page.unwrap_or_else(|| match quantities::device::find(topic) {
        Some(quantity) => explain(&[quantity.title, quantity.name], width),
        None => explain(&[topic], width),
    });
    if command().find_subcommand(topic).is_some() {
        text += &format!("\n{}", help_text(Some(topic), false));
    }
    if text.is_empty() {
        let known = names().chain(sort_keys());
        let end = did_you_mean(topic, known, "'blkstat help' lists the pages");
        return Err(usage_error(format!("no help on '{topic}'{end}")));
    }
    let mut text = text.into_bytes();
    context.make_displayable(&mut text);
    if !context.is_terminal || !page_through(&text, context) {
        context.emit(&mut text)?;
    }
    Ok(Exit::Success)
}

/// Writes the man pages of the program and its commands.
///
/// # Errors
/// If a file cannot be written.
pub(super) fn write_man_pages(directory: &Path) -> Result<()> {
    clap_mangen::generate_to(command(), directory)
        .with_context(|| format!("cannot write man pages to {}", directory.display()))
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
        // The text remains on the screen and is not paged if it fits there.
        shell.env("LESS", "FX");
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
