//! Turns arguments and environment variables into a [`Plan`], with a file for each command. Only this module uses clap.

mod analyze;
mod baselines;
mod command;
mod export;
mod iostat;
mod latency;
mod manual;
mod native;
mod operands;
mod pt_diskstats;
mod range;
mod record;
mod report;
mod rotation;
mod service;
mod shared_arguments;
mod suggest;
mod top;
mod version;
mod who;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use clap::error::{ContextKind, ContextValue};
use clap::{ArgAction, FromArgMatches, Parser, Subcommand};
use clap_complete::Shell;

use self::command::command;
use self::manual::{command_names, manual_page};
use self::version::version_flags;
use crate::exit::Exit;
use crate::plan::{Devices, Plan};
use crate::report::native::help;
use crate::sanitize::sanitize;
use crate::source::read_text_file;

/// The text and the exit code that replace a run: a usage error, or help that was requested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArgError {
    pub message: String,
    /// The exit code; [`Exit::Success`] for requested text, which belongs on standard output.
    pub exit: Exit,
}

/// Show Linux block-device activity, live or recorded, and whether a disk is the bottleneck
#[derive(Parser)]
#[command(
    name = "blkstat",
    version,
    disable_version_flag = true,
    args_conflicts_with_subcommands = true,
    override_usage = "blkstat [OPTIONS] [DEVICE]... [INTERVAL [COUNT]]\n       blkstat COMMAND ...",
    subcommand_help_heading = "COMMANDS",
    after_help = "Help on the table: blkstat help columns, blkstat help verdicts"
)]
struct Arguments {
    #[command(flatten)]
    view: native::ViewArguments,
    /// Use DIR/proc and DIR/sys instead of /proc and /sys
    #[arg(long, value_name = "DIR", default_value = "/", global = true, hide_default_value = true)]
    root: PathBuf,
    /// Print the version; if given twice, also the facts for a bug report
    #[arg(short = 'V', long, action = ArgAction::Version)]
    version: (),
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Run as sysstat's iostat: same options, output and exit codes
    #[command(
        disable_help_flag = true,
        override_usage = "blkstat iostat [OPTION]... [DEVICE]... [INTERVAL [COUNT]]"
    )]
    Iostat {
        /// Arguments of iostat, and --from FILE and --root DIR
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Run as Percona's pt-diskstats: same options, output and keys
    #[command(disable_help_flag = true, override_usage = "blkstat pt-diskstats [OPTION]... [FILE]...")]
    PtDiskstats {
        /// Arguments of pt-diskstats, and --root DIR
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Show the full screen: devices, verdicts and charts, live and through time, or of a recording
    Top(Box<top::TopArguments>),
    /// Analyze a capture or the running system: saturation, capacity, caps, with evidence
    Analyze(Box<analyze::AnalyzeArguments>),
    /// Write one self-contained HTML page with charts, for a ticket or a post-mortem
    Report(Box<report::ReportArguments>),
    /// Show which cgroups and processes do the I/O, and their limits
    Who(Box<who::WhoArguments>),
    /// Show percentiles of the latencies of single requests (root)
    Latency(Box<latency::LatencyArguments>),
    /// Record samples to a file for later replay
    Record(Box<record::RecordArguments>),
    /// Export metrics for Prometheus: over HTTP, as a text file, or from a recording
    Export(Box<export::ExportArguments>),
    /// Show the block-device tree and queue settings
    #[command(override_usage = "blkstat devices [OPTIONS]")]
    Devices {
        /// Print one JSON document with every device
        #[arg(long)]
        json: bool,
        /// Include unused devices, such as loop devices without a file
        #[arg(long)]
        all: bool,
        /// Show the devices of the host that FILE was recorded on
        #[arg(long, value_name = "FILE")]
        from: Option<PathBuf>,
    },
    /// Print a shell completion script
    #[command(override_usage = "blkstat completions SHELL")]
    Completions {
        /// Shell
        shell: Shell,
    },
    /// Print a systemd unit that records continuously, or one that exports metrics
    Service(service::ServiceArguments),
    /// Print the version
    #[command(override_usage = "blkstat version [OPTIONS]")]
    Version {
        /// Also print how blkstat was built and which sources of this host it can read, for bug reports
        #[arg(short, long)]
        verbose: bool,
    },
    /// Print the manual page, or that of a command
    #[command(override_usage = "blkstat man [COMMAND | --list]")]
    Man {
        /// Command (default: the program)
        command: Option<String>,
        /// Print the names of all commands that have a page
        #[arg(long, conflicts_with = "command")]
        list: bool,
    },
}

/// Returns the plan that the arguments request. `arguments` begins with the name that the program was called by;
/// `environment` returns the value of a variable.
///
/// # Errors
/// The text to print instead of a run: a usage error, or help that was requested.
pub fn plan(
    arguments: impl IntoIterator<Item = OsString>,
    environment: &dyn Fn(&str) -> Option<OsString>,
) -> Result<Plan, ArgError> {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let called = arguments.first().and_then(|name| Path::new(name).file_name()).unwrap_or_default();
    let root = Path::new("/");
    // Replicas and `--version` bypass clap: building its parser takes longer than a report.
    for (name, first) in [(Some(called), 1), (arguments.get(1).map(OsString::as_os_str), 2)] {
        let replica_arguments = arguments.get(first..).unwrap_or_default();
        if let Some(plan) = name.and_then(|name| plan_replica(name, replica_arguments, root, environment)) {
            return plan;
        }
    }
    if let Some(version) = version_flags(&arguments) {
        return version;
    }
    if let Some(help) = help_topic(&arguments) {
        return Err(help);
    }
    let matches = command().try_get_matches_from(&arguments);
    let Arguments { view, root, command, version: () } = matches
        .and_then(|matches| Arguments::from_arg_matches(&matches))
        .map_err(|error| clap_error(&error, &arguments))?;
    let usage_error = |message: String| ArgError {
        message: format!("blkstat: {}\n", sanitize(&message)),
        exit: Exit::Error,
    };
    let (name, arguments) = match command {
        None => return Ok(Plan::View(Box::new(view.plan(root, environment).map_err(usage_error)?))),
        Some(Command::Analyze(analyze)) => {
            return Ok(Plan::Analyze(Box::new(analyze.plan(root, environment).map_err(usage_error)?)));
        }
        Some(Command::Report(report)) => {
            return Ok(Plan::Report(Box::new(report.plan(root, environment).map_err(usage_error)?)));
        }
        Some(Command::Top(top)) => {
            return Ok(Plan::Top(Box::new(top.plan(root, environment).map_err(usage_error)?)));
        }
        Some(Command::Who(who)) => {
            return Ok(Plan::Who(Box::new(who.plan(root, environment).map_err(usage_error)?)));
        }
        Some(Command::Latency(latency)) => {
            return Ok(Plan::Latency(Box::new(latency.plan(root, environment).map_err(usage_error)?)));
        }
        Some(Command::Record(record)) => {
            return Ok(Plan::Record(Box::new(record.plan(root, environment).map_err(usage_error)?)));
        }
        Some(Command::Export(export)) => return export.plan(root, environment).map_err(usage_error),
        Some(Command::Devices { json, all, from }) => {
            return Ok(Plan::Devices(Devices { json, all, root, from }));
        }
        Some(Command::Service(service)) => return Ok(Plan::Print(service.text().into_bytes())),
        Some(Command::Version { verbose }) => return Ok(version::plan(verbose, root)),
        Some(Command::Completions { shell }) => return Ok(Plan::Print(completions(shell))),
        Some(Command::Man { list: true, .. }) => {
            return Ok(Plan::Print((command_names().join("\n") + "\n").into_bytes()));
        }
        Some(Command::Man { command, .. }) => {
            let page = manual_page(command.as_deref()).ok_or_else(|| {
                let name = command.unwrap_or_default();
                usage_error(format!(
                    "no manual page for '{name}'; expected one of: {}",
                    command_names().join(", ")
                ))
            });
            return Ok(Plan::Print(page?));
        }
        Some(Command::Iostat { arguments }) => ("iostat", arguments),
        Some(Command::PtDiskstats { arguments }) => ("pt-diskstats", arguments),
    };
    let plan = plan_replica(OsStr::new(name), &arguments, &root, environment);
    plan.unwrap_or_else(|| Err(ArgError { message: String::new(), exit: Exit::Error }))
}

/// Converts a message of clap about `arguments`: a usage error becomes one line, requested help is not changed.
fn clap_error(error: &clap::Error, arguments: &[OsString]) -> ArgError {
    let text = error.to_string();
    if !error.use_stderr() {
        return ArgError { message: text, exit: Exit::Success };
    }
    if let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg)
        && let Some(message) =
            suggest::message_for_unknown_option(option, arguments.get(1..).unwrap_or_default())
    {
        return ArgError { message: format!("blkstat: {}\n", sanitize(&message)), exit: Exit::Error };
    }
    let lines: Vec<&str> =
        text.lines().take_while(|line| !line.starts_with("Usage:")).map(str::trim).collect();
    let relevant = lines.iter().filter(|line| !line.is_empty() && !line.starts_with("For more")).copied();
    let line = relevant.collect::<Vec<_>>().join("; ");
    let line = line.strip_prefix("error: ").unwrap_or(&line).replace("; tip: ", "; ").replace(":; ", ": ");
    let is_command = |word: &&str| command_names().iter().any(|name| name == word);
    let command = arguments.get(1).and_then(|word| word.to_str()).filter(is_command);
    let command = command.map(|name| format!(" {name}")).unwrap_or_default();
    let message = format!("blkstat: {}; see blkstat{command} --help\n", sanitize(&line));
    ArgError { message, exit: Exit::Error }
}

/// Returns the completion script of a shell.
fn completions(shell: Shell) -> Vec<u8> {
    let mut text = Vec::new();
    let mut command = command();
    if shell == Shell::Zsh {
        // Otherwise the script for zsh would mistake a command for the first device, and complete neither the command
        // nor its options.
        let options = command.get_arguments().filter(|argument| !argument.is_positional()).cloned();
        command = clap::Command::new("blkstat")
            .version(env!("CARGO_PKG_VERSION"))
            .disable_version_flag(true)
            .args(options)
            .subcommands(command.get_subcommands().cloned());
    }
    clap_complete::generate(shell, &mut command, "blkstat", &mut text);
    text
}

/// Returns the help on a topic, or a usage error for a topic that does not exist; `None` if the arguments are not
/// `help TOPIC`, or the topic is a command.
fn help_topic(arguments: &[OsString]) -> Option<ArgError> {
    let [_, help, topic] = arguments else { return None };
    if help != "help" || suggest::COMMANDS.iter().any(|command| topic == command) {
        return None;
    }
    match topic.to_str()? {
        "columns" => Some(ArgError { message: help::columns().text(), exit: Exit::Success }),
        "verdicts" => Some(ArgError { message: help::verdicts().text(), exit: Exit::Success }),
        option if option.starts_with('-') => None,
        topic => {
            let topic = sanitize(topic);
            let message = format!(
                "blkstat: no help on '{topic}'; expected columns, verdicts or the name of a command\n"
            );
            Some(ArgError { message, exit: Exit::Error })
        }
    }
}

/// Returns the plan for iostat or pt-diskstats, called with `arguments`; `None` for any other name.
fn plan_replica(
    name: &OsStr,
    arguments: &[OsString],
    root: &Path,
    environment: &dyn Fn(&str) -> Option<OsString>,
) -> Option<Result<Plan, ArgError>> {
    match name.to_str()? {
        "iostat" => {
            let options = iostat::parse(arguments, root, environment);
            Some(options.map(|options| Plan::Iostat(Box::new(options))))
        }
        "pt-diskstats" => {
            let options = pt_diskstats::parse(arguments, root, environment, &read_text_file);
            Some(options.map(|options| Plan::PtDiskstats(Box::new(options))))
        }
        _ => None,
    }
}
