//! The commands for clap: the grammar of [`Arguments`], with help texts that clap cannot derive.

use std::fmt::Write;

use clap::builder::StyledStr;
use clap::{Command, CommandFactory};

use super::Arguments;
use super::options::VIEW_OPERANDS;
use super::{analyze, export, record, report, top};

/// An operand as shown in the help, with its meaning.
pub(super) type Operand = (&'static str, &'static str);

/// Returns the program and its commands.
pub(super) fn command() -> Command {
    let program = Arguments::command().help_template(template(VIEW_OPERANDS, true));
    // In this order, the last ones on lists of commands.
    let with_operands = ["top", "analyze", "report", "who", "export", "latency", "record"];
    with_operands.into_iter().fold(program, |program, name| {
        program.mut_subcommand(name, |command| command.help_template(template(operands(name), false)))
    })
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
