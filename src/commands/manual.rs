//! The manual pages.

use std::io::{Result, Write};

use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use super::help_template::{command, operands};
use crate::report::native::help::{self, Topic};

const EXIT_STATUS: [(&str, &str); 5] = [
    ("0", "Success, also if the reader of the output closes it."),
    (
        "1",
        "No data: no such device, a host without block devices, or a capture without two complete samples.",
    ),
    ("2", "A usage error, or a file that cannot be read or written."),
    ("130", "Interrupted by SIGINT (Ctrl-C)."),
    ("143", "Terminated by SIGTERM."),
];

const FILES: [(&str, &str); 2] = [
    ("/var/lib/blkstat/baseline.json", "Saved baselines that live views read, if it exists."),
    (
        "$XDG_STATE_HOME/blkstat/baseline.json",
        "The same for one user, if the first does not exist; ~/.local/state if the variable is not set.",
    ),
];

const REPLICA_EXIT_STATUS: &str = "The exit statuses of the tool that is replicated.";

/// Returns the names of the commands that have a manual page.
pub(super) fn command_names() -> Vec<String> {
    command().get_subcommands().map(|command| command.get_name().to_owned()).collect()
}

/// Returns the manual page of the program, or of a command; `None` if there is no such command.
pub(super) fn manual_page(name: Option<&str>) -> Option<Vec<u8>> {
    // Building passes global options on to the commands and gives them their full names.
    let mut program = command().disable_help_subcommand(true).subcommand_help_heading("COMMANDS");
    program.build();
    let version = program.get_version().unwrap_or_default().to_owned();
    let page = match name {
        None => program,
        Some(name) => program.find_subcommand(name)?.clone(),
    };
    let mut text = Vec::new();
    // Writing to a Vec cannot fail.
    let _ = write_page(&page, &version, &mut text);
    Some(escape_non_ascii(&String::from_utf8_lossy(&text)).into_bytes())
}

/// Replaces characters that groff reads only after a conversion, such as ≤, by groff's names for them.
fn escape_non_ascii(text: &str) -> String {
    let escape = |c: char| if c.is_ascii() { c.to_string() } else { format!("\\[u{:04X}]", u32::from(c)) };
    text.chars().map(escape).collect()
}

/// Appends the operands of a command.
fn write_operands(page: &clap::Command, text: &mut Vec<u8>) -> Result<()> {
    let shown = operands(page.get_name());
    if !shown.is_empty() {
        return write_section("OPERANDS", shown, text);
    }
    let term = |operand: &clap::Arg| {
        let names = operand.get_value_names().unwrap_or_default().join(" ");
        if operand.is_required_set() { names } else { format!("[{names}]") }
    };
    let meaning = |operand: &clap::Arg| {
        let help = operand.get_help().map(ToString::to_string).unwrap_or_default();
        let values: Vec<String> =
            operand.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect();
        if values.is_empty() { help } else { format!("{help}: {}", values.join(", ")) }
    };
    let operands: Vec<(String, String)> =
        page.get_positionals().map(|operand| (term(operand), meaning(operand))).collect();
    let operands: Vec<(&str, &str)> =
        operands.iter().map(|(term, meaning)| (term.as_str(), meaning.as_str())).collect();
    write_section("OPERANDS", &operands, text)
}

fn write_page(page: &clap::Command, version: &str, text: &mut Vec<u8>) -> Result<()> {
    let name = page.get_name().to_owned();
    let is_program = name == "blkstat";
    let has_commands = page.has_subcommands();
    let title = if is_program { name.clone() } else { format!("blkstat-{name}") };
    let has_options = page.get_opts().next().is_some();
    // Man lists operands among the options.
    let hidden = page
        .clone()
        .mut_args(|argument| if argument.is_positional() { argument.hide(true) } else { argument });
    let man = Man::new(hidden.bin_name(title.replacen('-', " ", 1)).display_name(&title));
    // Man does not quote an empty date.
    writeln!(text, ".TH \"{title}\" \"1\" \"\" \"blkstat {version}\" \"User Commands\"")?;
    man.render_name_section(text)?;
    man.render_synopsis_section(text)?;
    man.render_description_section(text)?;
    write_operands(page, text)?;
    if has_options {
        man.render_options_section(text)?;
    }
    if has_commands {
        man.render_subcommands_section(text)?;
    }
    if is_program {
        write_topic("COLUMNS", &help::columns(), text)?;
        write_topic("VERDICTS", &help::verdicts(), text)?;
    }
    if matches!(name.as_str(), "iostat" | "pt-diskstats") {
        let mut roff = Roff::new();
        roff.control("SH", ["EXIT STATUS"]).text([roman(REPLICA_EXIT_STATUS)]);
        roff.to_writer(text)?;
    } else {
        write_section("EXIT STATUS", &EXIT_STATUS, text)?;
    }
    if matches!(name.as_str(), "blkstat" | "analyze" | "record") {
        write_section("FILES", &FILES, text)?;
    }
    write_section("EXAMPLES", examples(&name), text)?;
    if is_program { man.render_version_section(text) } else { write_see_also(text) }
}

/// Appends a list of terms with their meanings; nothing if it is empty.
fn write_section(heading: &str, terms: &[(&str, &str)], text: &mut Vec<u8>) -> Result<()> {
    if terms.is_empty() {
        return Ok(());
    }
    let mut roff = Roff::new();
    roff.control("SH", [heading]);
    push_terms(terms, &mut roff);
    roff.to_writer(text)
}

fn write_topic(heading: &str, topic: &Topic, text: &mut Vec<u8>) -> Result<()> {
    let mut roff = Roff::new();
    roff.control("SH", [heading]);
    for (heading, terms) in &topic.lists {
        if topic.lists.len() > 1 {
            roff.control("SS", [*heading]);
        }
        push_terms(terms, &mut roff);
    }
    for remark in topic.remarks {
        roff.control("PP", []).text([roman(*remark)]);
    }
    roff.to_writer(text)
}

fn push_terms(terms: &[(&str, &str)], roff: &mut Roff) {
    for (term, meaning) in terms {
        roff.control("TP", []).text([bold(*term)]).text([roman(*meaning)]);
    }
}

fn write_see_also(text: &mut Vec<u8>) -> Result<()> {
    let mut roff = Roff::new();
    roff.control("SH", ["SEE ALSO"]).text([bold("blkstat"), roman("(1)")]);
    roff.to_writer(text)
}

fn examples(command: &str) -> &'static [(&'static str, &'static str)] {
    match command {
        "blkstat" => &[
            ("blkstat", "Show the active devices every second until Ctrl-C."),
            (
                "blkstat --explain nvme0n1 5 12",
                "Show one disk for a minute, with the evidence for its verdicts.",
            ),
            ("blkstat --top 5 --sort util", "Show the five devices with the highest util."),
            (
                "blkstat --json 10 | jq -c 'select(.verdict == \"saturated\")'",
                "Print saturated devices as JSON.",
            ),
            ("blkstat --from incident.txt.gz 60", "Replay a recording in intervals of a minute."),
        ],
        "analyze" => &[
            ("blkstat analyze incident.txt.gz", "Analyze all devices of a recording."),
            (
                "blkstat analyze --save-baseline /var/lib/blkstat/baseline.json 1 600",
                "Save unloaded latencies, while all is well, for later live views.",
            ),
            ("blkstat analyze sda 1 60", "Analyze a device of the running system for a minute."),
            (
                "blkstat analyze --cap 3000,125 vol.txt",
                "Take into account a limit of 3000 IOPS and 125 MiB/s.",
            ),
        ],
        "who" => &[
            ("blkstat who", "Show the cgroups on each device, and processes, every second until Ctrl-C."),
            ("blkstat who --top 3 sda 5", "Show the three busiest cgroups on a disk every five seconds."),
            (
                "blkstat who --json 10 | jq -c 'select(.at_limit != [])'",
                "Print cgroups that are at a limit as JSON.",
            ),
        ],
        "latency" => &[
            ("blkstat latency", "Show percentiles of the latencies of all devices every second, as root."),
            (
                "blkstat latency nvme0n1 --heatmap 5",
                "Show how the latencies of a disk change, one line every five seconds.",
            ),
            (
                "blkstat latency --cleanup",
                "Remove the tracing instances and events that a killed run left in the kernel.",
            ),
        ],
        "record" => &[
            ("blkstat record incident.txt.gz 1 600", "Record ten minutes, compressed."),
            ("blkstat record --rotate 100M --keep 9 disk.txt", "Record until Ctrl-C, in at most ten files."),
        ],
        "export" => &[
            ("blkstat export --listen 9980", "Serve metrics at http://127.0.0.1:9980/metrics until Ctrl-C."),
            (
                "blkstat export --textfile /var/lib/prometheus/node-exporter/blkstat.prom",
                "Write metrics for a node_exporter that is already running.",
            ),
            (
                "blkstat export --from incident.txt.gz --label instance=db1 > incident.om",
                "Convert a recording for promtool tsdb create-blocks-from openmetrics.",
            ),
            ("blkstat export --alerts > blkstat-alerts.yml", "Print alert rules."),
        ],
        "devices" => &[
            ("blkstat devices", "Show how the devices of this host are stacked."),
            ("blkstat devices --from incident.txt.gz", "Show the devices of the host that made a recording."),
        ],
        "iostat" => &[("blkstat iostat -x 1", "Show extended statistics every second, as iostat does.")],
        "pt-diskstats" => {
            &[("blkstat pt-diskstats --group-by sample", "Show a line per sample, as pt-diskstats does.")]
        }
        "completions" => {
            &[("blkstat completions bash > blkstat.bash", "Write the completion script of bash.")]
        }
        "service" => &[
            (
                "blkstat service recorder > /etc/systemd/system/blkstat-recorder.service",
                "Install the unit of the recorder.",
            ),
            ("blkstat service sysusers > /etc/sysusers.d/blkstat.conf", "Install the user that it runs as."),
            (
                "systemd-sysusers && systemctl enable --now blkstat-recorder",
                "Create the user and start recording.",
            ),
        ],
        "report" => &[
            ("blkstat report incident.gz", "Write incident.html, one page about a recording, for a ticket."),
            (
                "blkstat report incident.gz --begin 16:00 --end 16:30 -o half.html --no-who",
                "Write one about half an hour of it, without names of cgroups and processes.",
            ),
        ],
        "top" => &[
            ("blkstat top", "Show the full screen of this host."),
            (
                "blkstat top --from incident.gz",
                "Begin a recording at its main event and move through its time.",
            ),
        ],
        "version" => {
            &[("blkstat version --verbose", "Show the facts about this host that a bug report needs.")]
        }
        "man" => &[("blkstat man analyze > blkstat-analyze.1", "Write the page of a command to a file.")],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(name: Option<&str>) -> String {
        String::from_utf8(manual_page(name).unwrap()).unwrap()
    }

    #[test]
    fn every_command_has_a_page_with_an_example_and_balanced_brackets() {
        assert_eq!(manual_page(Some("nosuch")), None);
        let names = command_names();
        assert!(names.iter().any(|name| name == "analyze"), "{names:?}");
        for name in names.iter().map(String::as_str).map(Some).chain([None]) {
            let page = page(name);
            let synopsis = page.split(".SH").find(|section| section.starts_with(" SYNOPSIS")).unwrap();
            assert_eq!(synopsis.matches('[').count(), synopsis.matches(']').count(), "{synopsis}");
            for section in ["SYNOPSIS", "\"EXIT STATUS\"", "EXAMPLES"] {
                assert!(page.contains(&format!(".SH {section}")), "{name:?} lacks {section}: {page}");
            }
            assert!(!page.replace('\n', "").contains(char::is_control), "{name:?}");
        }
    }

    #[test]
    fn the_page_of_the_program_explains_columns_and_verdicts() {
        let page = page(None);
        for text in [".SH COLUMNS", ".SH VERDICTS", "r_sat", "queueing", "accounting_off", "inflt"] {
            assert!(page.contains(text), "{text}");
        }
    }
}
