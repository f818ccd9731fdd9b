//! The commands for clap: the grammar of [`Arguments`], with help texts that clap cannot derive.

use std::fmt::Write;

use clap::builder::StyledStr;
use clap::{Command, CommandFactory};

use super::Arguments;
use super::shared_arguments::VIEW_OPERANDS;
use super::{analyze, export, record, report, top};

/// An operand as shown in the help, with its meaning.
pub(super) type Operand = (&'static str, &'static str);

/// Returns the program and its commands.
pub(super) fn command() -> Command {
    Arguments::command()
        .help_template(template(VIEW_OPERANDS, true))
        .mut_subcommand("top", |command| command.help_template(template(top::OPERANDS, false)))
        .mut_subcommand("analyze", |command| command.help_template(template(analyze::OPERANDS, false)))
        .mut_subcommand("report", |command| command.help_template(template(report::OPERANDS, false)))
        .mut_subcommand("who", |command| command.help_template(template(VIEW_OPERANDS, false)))
        .mut_subcommand("export", |command| command.help_template(template(export::OPERANDS, false)))
        .mut_subcommand("latency", |command| command.help_template(template(VIEW_OPERANDS, false)))
        .mut_subcommand("record", |command| command.help_template(template(record::OPERANDS, false)))
}

/// Returns the operands of a command; none if clap describes them.
pub(super) fn operands(command: &str) -> &'static [Operand] {
    match command {
        "blkstat" | "latency" | "who" => VIEW_OPERANDS,
        "analyze" => analyze::OPERANDS,
        "export" => export::OPERANDS,
        "record" => record::OPERANDS,
        "report" => report::OPERANDS,
        "top" => top::OPERANDS,
        _ => &[],
    }
}

/// Returns the template of `--help`. clap itself shows operands only in a fixed order, with its own brackets.
fn template(operands: &[Operand], has_commands: bool) -> StyledStr {
    let mut template = StyledStr::new();
    let width = operands.iter().map(|(operand, _)| operand.len()).max().unwrap_or(0);
    let arguments: String =
        operands.iter().map(|(operand, meaning)| format!("  {operand:width$}  {meaning}\n")).collect();
    let commands = if has_commands { "Commands:\n{subcommands}\n\n" } else { "" };
    // Writing to a string cannot fail.
    let _ = write!(
        template,
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{commands}Arguments:\n{arguments}\n\
         Options:\n{{options}}{{after-help}}"
    );
    template
}
