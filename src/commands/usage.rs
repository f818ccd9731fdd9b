//! The texts of `-h`, which fits on a screen of 80 columns, and of `--help`, which has every option. clap itself shows
//! operands only in a fixed order, with its own brackets, and the same options in both.

use clap::{Arg, Command};

use super::help::{command, operand_terms, option_term, shown_options};
use crate::report::layout::wrap;
use crate::report::manual::{Terms, topics};

/// The width of the text.
const WIDTH: usize = 80;
/// The width at which the first column is broken.
const MAX_TERM_WIDTH: usize = 24;

/// The commands to type in an incident, at the top of the help.
const INCIDENT: &str = "\
In an incident:
  blkstat                 What is slow? The active devices, every second
  blkstat --explain sda   Why? One device, with the evidence for its verdicts
  blkstat who             Who is causing it? Cgroups, processes and their limits
  blkstat top             All of this on the full screen, with history
  blkstat record inc.gz   Keep it; then blkstat report inc.gz makes a page of it
  blkstat help verdicts   What does a verdict mean, and what is to be done?
";

/// The options of the program on its first screen.
const FIRST_OPTIONS: [&str; 10] = [
    "from", "begin", "end", "all", "exclude", "sort", "top", "explain", "json", "csv",
];

/// The headings of options that commands have in common, in their order. Other options come first.
const GROUPS: [(&str, &[&str]); 4] = [
    (
        "Source",
        &["from", "begin", "end", "realtime", "since_boot"],
    ),
    (
        "Devices",
        &[
            "devices_regex",
            "exclude",
            "partitions",
            "all",
            "total",
            "min_util",
        ],
    ),
    (
        "Output",
        &[
            "output",
            "force",
            "json",
            "csv",
            "influx",
            "fields",
            "columns",
            "sort",
            "top",
            "width",
            "all_columns",
            "times",
            "mounts",
            "color",
            "summary",
            "no_summary",
            "explain",
            "who",
            "no_who",
        ],
    ),
    ("Seldom needed", SELDOM),
];

/// Options that only `--help` shows.
const SELDOM: &[&str] = &[
    "as_live",
    "host",
    "every",
    "stack",
    "classes",
    "strict",
    "root",
    "saturation_threshold",
    "cap",
    "baseline",
    "baseline_ms",
    "no_baseline",
];

/// Returns the help of the program, or of the command of this name; the short one has no options that are seldom needed.
pub(super) fn help_text(name: Option<&str>, is_short: bool) -> String {
    let mut program = command();
    // Building passes global options on to the commands and gives them their full names.
    program.build();
    let named = name.and_then(|name| program.find_subcommand(name));
    let is_program = named.is_none();
    let mut command = named.unwrap_or(&program).clone();
    let mut text = about(&command);
    if is_program && is_short {
        // A line less, so that the prompt below leaves all of it on a screen of 24 lines.
        text.pop();
        text += "Usage: blkstat [OPTIONS] [FILE | DEVICE]... [INTERVAL [COUNT]] | COMMAND ...\n\n";
        text += INCIDENT;
        let is_first = |option: &&Arg| FIRST_OPTIONS.contains(&option.get_id().as_str());
        push_section(
            "Options",
            shown_options(&command).filter(is_first).map(option_term),
            &mut text,
        );
        text += "Every option: blkstat --help. Commands and topics of the manual: blkstat help\n";
        return text;
    }
    text += &format!("{}\n", command.render_usage());
    if is_program {
        text += &format!("\n{INCIDENT}");
    }
    push_section("Arguments", operand_terms(&command), &mut text);
    if is_program {
        push_section(
            "Commands",
            program.get_subcommands().map(command_term),
            &mut text,
        );
    }
    let in_a_group = |option: &&Arg| {
        GROUPS
            .iter()
            .any(|(_, of)| of.contains(&option.get_id().as_str()))
    };
    let others = shown_options(&command).filter(|option| !in_a_group(option));
    push_section("Options", others.map(option_term), &mut text);
    for (heading, group) in GROUPS {
        if is_short && group == SELDOM {
            continue;
        }
        let of_group = shown_options(&command).filter(|one| group.contains(&one.get_id().as_str()));
        push_section(heading, of_group.map(option_term), &mut text);
    }
    push_end(&command, is_program, is_short, &mut text);
    text
}

fn about(command: &Command) -> String {
    let about = command.get_about().map(ToString::to_string);
    format!("{}\n\n", about.unwrap_or_default())
}

fn command_term(command: &Command) -> (String, String) {
    let about = command.get_about().map(ToString::to_string);
    (command.get_name().to_owned(), about.unwrap_or_default())
}

/// Appends a heading and a table of what is below it, unless that is empty.
fn push_section(
    heading: &str,
    terms: impl IntoIterator<Item = (String, String)>,
    text: &mut String,
) {
    let terms: Terms = terms.into_iter().collect();
    let longest = terms.iter().map(|(term, _)| indented(term).len()).max();
    let Some(longest) = longest else { return };
    let term_width = longest.min(MAX_TERM_WIDTH);
    *text += &format!("\n{heading}:\n");
    for (term, meaning) in terms {
        let mut term = indented(&term);
        if term.len() > term_width {
            *text += &format!("  {term}\n");
            term.clear();
        }
        for line in wrap(&meaning, WIDTH - term_width - 4) {
            *text += format!("  {term:term_width$}  {line}").trim_end();
            text.push('\n');
            term.clear();
        }
    }
}

/// Returns an option without a short form in line with those that have one.
fn indented(term: &str) -> String {
    let blanks = if term.starts_with("--") { "    " } else { "" };
    format!("{blanks}{term}")
}

fn push_end(command: &Command, is_program: bool, is_short: bool, text: &mut String) {
    text.push('\n');
    if let Some(note) = command.get_after_help() {
        push_lines(&note.to_string(), text);
    }
    if is_program {
        push_lines(
            "Manual: blkstat help COMMAND, or blkstat help WORD, or blkstat help TOPIC, which may be:",
            text,
        );
        push_lines(&topics().collect::<Vec<_>>().join(", "), text);
        return;
    }
    let name = command.get_name();
    let all = if is_short {
        format!("Every option: blkstat {name} --help. ")
    } else {
        String::new()
    };
    push_lines(&format!("{all}Manual: blkstat help {name}"), text);
}

fn push_lines(words: &str, text: &mut String) {
    for line in wrap(words, WIDTH) {
        *text += &format!("{line}\n");
    }
}
