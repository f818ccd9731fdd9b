//! The commands for clap: the grammar of [`Arguments`], with what all commands have in common and help texts that clap
//! cannot derive.

use std::fmt::Write;

use clap::builder::StyledStr;
use clap::{Command, CommandFactory};

use super::options::{Operand, VIEW_OPERANDS};
use super::{Arguments, export, record};

/// The headings of options that commands have in common. Other options are those of a command alone.
const GROUPS: [(&str, &[&str]); 4] = [
    ("Source", &["from", "begin", "end", "realtime", "strict"]),
    ("Devices", &["device", "devices_regex", "partitions", "all"]),
    ("Output", &["output", "force", "json", "csv", "sort", "top", "width", "no_who"]),
    ("Verdict settings", &["saturation_threshold", "cap", "baseline", "baseline_ms", "no_baseline"]),
];

/// The commands to type in an incident, at the top of the help.
const INCIDENT: &str = "\
In an incident:
  blkstat                      What is slow? The active devices every second, with verdicts
  blkstat --explain sda        Why? One device, with the evidence for its verdicts
  blkstat who                  Who? The cgroups and processes behind the load, and their limits
  blkstat top                  The full screen, with the last minutes
  blkstat record inc.gz 1 600  Keep ten minutes, for all views: blkstat --from inc.gz
  blkstat analyze inc.gz       What happened in them, when, and what the device can do
  blkstat report inc.gz        One page with charts, for the ticket
  blkstat help r_sat           What is it? Any column or verdict; the manual: blkstat help help

";

/// Returns the program and its commands.
pub(super) fn command() -> Command {
    let program = with_common(Arguments::command()).help_template(template(VIEW_OPERANDS, INCIDENT));
    let program = program.mut_subcommands(with_common);
    // In this order, the last ones on lists of commands.
    let with_operands = ["top", "analyze", "report", "who", "export", "latency", "record"];
    with_operands.into_iter().fold(program, |program, name| {
        program.mut_subcommand(name, |command| command.help_template(template(operands(name), "")))
    })
}

/// Adds the headings that all commands have in common.
fn with_common(command: Command) -> Command {
    command.mut_args(|argument| {
        let id = argument.get_id().as_str().to_owned();
        let group = GROUPS.iter().find(|(_, options)| options.contains(&id.as_str()));
        group.iter().fold(argument, |argument, (heading, _)| argument.help_heading(*heading))
    })
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

/// Returns the template of `--help`. clap itself shows operands only in a fixed order, with its own brackets.
fn template(operands: &[Operand], examples: &str) -> StyledStr {
    let mut template = StyledStr::new();
    let width = operands.iter().map(|(operand, _)| operand.len()).max().unwrap_or(0);
    let arguments: String =
        operands.iter().map(|(operand, meaning)| format!("  {operand:width$}  {meaning}\n")).collect();
    // Writing to a string cannot fail.
    let _ = write!(
        template,
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{examples}Arguments:\n{arguments}\n\
         {{all-args}}{{after-help}}"
    );
    template
}
