//! The texts of `-h`, which fits on a screen of 80 columns, and of `--help`, which has every option. clap itself shows
//! operands only in a fixed order, with its own brackets, and the same options in both.

use clap::Command;

use super::help::{command, operand_terms, option_term, shown_options};
use crate::report::layout::wrap;
use crate::report::manual::{Terms, names, topics};

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
  blkstat help verdicts   What does a verdict mean, and what can I do?
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
        &["devices_regex", "exclude", "partitions", "all", "total"],
    ),
    (
        "Output",
        &[
            "output", "force", "json", "csv", "influx", "fields", "sort", "top", "width", "color",
            "summary", "explain", "who", "no_who",
        ],
    ),
    ("Seldom needed", SELDOM),
];

/// Options that only `--help` shows.
const SELDOM: &[&str] = &[
    "as_live",
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
    let mut text = format!("{}\n\n", about(&command));
    if is_program && is_short {
        // A line less, so that the prompt below leaves all of it on a screen of 24 lines.
        text.pop();
        text += "Usage: blkstat [OPTIONS] [FILE | DEVICE]... [INTERVAL [COUNT]] | COMMAND ...\n\n";
        text += INCIDENT;
        push_section("Options", option_terms(&command, is_first), &mut text);
        text += "Every option: blkstat --help. Commands and topics of the manual: blkstat help\n";
        return text;
    }
    text += &format!("{}\n", command.render_usage());
    if is_program {
        text += &format!("\n{INCIDENT}");
    }
    push_section("Arguments", operand_terms(&command), &mut text);
    if is_program {
        let commands = program.get_subcommands();
        let terms = commands.map(|one| (one.get_name().to_owned(), about(one)));
        push_section("Commands", terms.collect(), &mut text);
    }
    push_section("Options", option_terms(&command, is_in_no_group), &mut text);
    for (heading, group) in GROUPS {
        if is_short && group == SELDOM {
            continue;
        }
        let terms = option_terms(&command, |id| group.contains(&id));
        push_section(heading, terms, &mut text);
    }
    push_end(&command, is_program, is_short, &mut text);
    text
}

fn is_first(id: &str) -> bool {
    FIRST_OPTIONS.contains(&id)
}

fn is_in_no_group(id: &str) -> bool {
    !GROUPS.iter().any(|(_, group)| group.contains(&id))
}

fn about(command: &Command) -> String {
    let about = command.get_about().map(ToString::to_string);
    about.unwrap_or_default()
}

/// Returns the options of a command that are wanted, by their identifiers, with their meanings.
fn option_terms(command: &Command, is_wanted: impl Fn(&str) -> bool) -> Terms {
    let wanted = shown_options(command).filter(|one| is_wanted(one.get_id().as_str()));
    wanted.map(option_term).collect()
}

/// Appends a heading and a table of what is below it, unless that is empty.
fn push_section(heading: &str, terms: Terms, text: &mut String) {
    let Some(longest) = terms.iter().map(|(term, _)| indented(term).len()).max() else {
        return;
    };
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
    let mut where_more = "Manual: blkstat help".to_owned();
    if names().any(|page| page == name) {
        where_more += &format!(" {name}");
    }
    if is_short {
        where_more = format!("Every option: blkstat {name} --help. {where_more}");
    }
    push_lines(&where_more, text);
}

fn push_lines(words: &str, text: &mut String) {
    for line in wrap(words, WIDTH) {
        *text += &format!("{line}\n");
    }
}
