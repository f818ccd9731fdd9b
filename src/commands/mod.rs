//! The commands, with a file or folder for each: its arguments, as clap parses them, and its run. Only this module uses
//! clap.

mod analyze;
mod baseline_file;
mod completions;
mod devices;
mod export;
mod follow;
mod help;
mod hindsight;
mod latency;
mod options;
mod record;
pub mod removed;
mod report;
mod service;
mod suggestions;
mod top;
mod version;
mod view;
mod who;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgAction, FromArgMatches, Parser, Subcommand};
use signal_hook::consts::SIGHUP;

pub use self::completions::COMPLETION_VARIABLE;
use self::completions::Shell;
use self::help::{command, help_text, print_help, write_man_pages};
pub use self::options::Host;
pub use self::record::Record;
use self::removed::find_removed;
use self::suggestions::{message_for_first_word, message_for_unknown_option, named_command};
use self::version::Version;
use crate::console::{ArgError, RunContext, is_closed_pipe, is_unread};
use crate::exit::{Exit, NoData};
use crate::iostat;
use crate::pt_diskstats;
use crate::sanitize::sanitize;
use crate::signals::FATAL;
use crate::sink::OutputError;
use crate::source::{ignores_hangup, read_text_file};

/// The command that the arguments request.
#[derive(Clone, Debug)]
pub enum Plan {
    /// Run a command of blkstat itself on this host.
    Native(Command, Host),
    /// Run as sysstat's iostat.
    Iostat(Box<iostat::Options>),
    /// Run as Percona's pt-diskstats.
    PtDiskstats(Box<pt_diskstats::Options>),
}

/// Show what block devices are doing, and whether a disk is the bottleneck
#[derive(Parser, Clone, Debug)]
#[command(
    name = "blkstat",
    version,
    disable_version_flag = true,
    disable_help_subcommand = true,
    args_conflicts_with_subcommands = true,
    override_usage = "blkstat [OPTIONS] [FILE]... [DEVICE]... [INTERVAL [COUNT]]\n       blkstat COMMAND ..."
)]
struct Arguments {
    #[command(flatten)]
    view: view::View,
    #[command(flatten)]
    host: Host,
    /// Print the version; -VV adds the facts that a bug report needs
    #[arg(short = 'V', long, action = ArgAction::Count)]
    version: u8,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand, Clone, Debug)]
pub enum Command {
    /// The incident view, which is shown without the name of a command.
    #[command(skip)]
    View(Box<view::View>),
    /// Run as sysstat's iostat: same options, output and exit status
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
    #[command(
        disable_help_flag = true,
        override_usage = "blkstat pt-diskstats [OPTION]... [FILE]..."
    )]
    PtDiskstats {
        /// Arguments of pt-diskstats, and --root DIR
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Show devices, verdicts and charts on the full screen, live or recorded
    Top(Box<top::Top>),
    #[command(alias = "analyse")]
    /// Find what went wrong: verdicts, incidents, limits, capacity, with evidence
    Analyze(Box<analyze::Analyze>),
    /// Write a self-contained HTML page with charts, for a ticket
    Report(Box<report::Report>),
    /// Show which cgroups and processes do the I/O, and their limits
    Who(Box<who::Who>),
    /// Show latency percentiles of single requests (root)
    Latency(Box<latency::Latency>),
    /// Record samples to a file, to replay in any view
    Record(Box<Record>),
    /// Export metrics for Prometheus: over HTTP, to a file, or once
    Export(Box<export::Export>),
    /// Show the device tree with queue settings
    Devices(devices::Devices),
    /// Print a completion script for a shell
    #[command(override_usage = "blkstat completions SHELL")]
    Completions {
        /// Shell
        shell: Shell,
    },
    /// Print a systemd unit that records or exports metrics
    Service(service::Service),
    /// Print the version
    Version(Version),
    /// Write pages for man(1): that of the program and of each command
    #[command(override_usage = "blkstat man DIR")]
    Man {
        /// Directory to write them to
        #[arg(value_name = "DIR")]
        directory: PathBuf,
    },
    /// Show the manual: a command, a topic, or a name such as a column
    #[command(override_usage = "blkstat help [COMMAND | TOPIC | NAME]")]
    Help {
        /// A command, a topic, or a name: a column, field, verdict or metric
        #[arg(default_value = "help", hide_default_value = true)]
        topic: String,
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
    let called = arguments
        .first()
        .and_then(|name| Path::new(name).file_name())
        .unwrap_or_default();
    // Replicas bypass clap: building its parser takes longer than a report.
    for (name, first) in [
        (Some(called), 1),
        (arguments.get(1).map(OsString::as_os_str), 2),
    ] {
        let (words, root) = (arguments.get(first..).unwrap_or_default(), Path::new("/"));
        match name.and_then(OsStr::to_str) {
            Some("iostat") => {
                let options = iostat::parse(words, root, environment)?;
                return Ok(Plan::Iostat(Box::new(options)));
            }
            Some("pt-diskstats") => {
                let options = pt_diskstats::parse(words, root, environment, &read_text_file)?;
                return Ok(Plan::PtDiskstats(Box::new(options)));
            }
            _ => {}
        }
    }
    if let Some(message) = arguments
        .get(1)
        .and_then(|word| message_for_first_word(word.to_str()?))
    {
        return Err(refusal(&message));
    }
    let matches = command().try_get_matches_from(&arguments);
    let Arguments {
        view,
        mut host,
        version,
        command,
    } = matches
        .and_then(|matches| Arguments::from_arg_matches(&matches))
        .map_err(|error| clap_error(&error, &arguments))?;
    host.find_saved_baselines();
    let command = match version {
        0 => command.unwrap_or_else(|| Command::View(Box::new(view))),
        times => Command::Version(Version { verbose: times > 1 }),
    };
    Ok(Plan::Native(command, host))
}

/// Completes the word that a shell asks for.
pub fn complete() -> Exit {
    completions::complete(command)
}

impl Plan {
    /// Returns whether a run may last until a signal ends it. A single report of iostat is printed faster than signal
    /// handlers are set up.
    pub fn needs_signals(&self) -> bool {
        !matches!(self, Self::Iostat(options) if options.from.is_none() && options.interval.is_none())
    }

    /// Returns the signals, beside SIGINT and SIGTERM, after which the run must end by itself: so that no trace remains in the
    /// kernel, or the terminal is restored. It goes on after the terminal is closed if it was started by `nohup` or the like.
    pub fn further_signals(&self) -> Vec<i32> {
        let must_clean_up = match self {
            Self::Native(Command::Latency(latency), _) => !latency.cleanup,
            #[cfg(feature = "top")]
            Self::Native(Command::Top(_), _) => true,
            Self::PtDiskstats(_) => true,
            Self::Native(..) | Self::Iostat(_) => false,
        };
        let mut signals = FATAL.to_vec();
        signals.retain(|signal| must_clean_up && (*signal != SIGHUP || !ignores_hangup()));
        signals
    }
}

/// Executes the plan and returns the exit code. Errors are printed to the error stream.
pub fn run(plan: &Plan, context: &mut RunContext<'_>) -> Exit {
    let outcome = match plan {
        Plan::Iostat(options) => iostat::run(options, context),
        Plan::PtDiskstats(options) => pt_diskstats::run(options, context),
        Plan::Native(command, host) => run_native(command, host, context),
    };
    outcome.unwrap_or_else(|error| {
        if is_closed_pipe(&error) {
            return Exit::Success;
        }
        // A signal makes reading a capture fail.
        if let Some(signal) = context.clock.signal()
            && (!error.is::<OutputError>() || is_unread(&error))
        {
            return Exit::Signal(signal);
        }
        if let Some(ArgError { message, exit }) = error.downcast_ref() {
            let _ = context.err.write_all(message.as_bytes());
            return *exit;
        }
        context.print_error(format_args!("{error:#}"));
        if error.is::<NoData>() {
            Exit::NoData
        } else {
            Exit::Error
        }
    })
}

/// Executes any command except the replicas. It is a separate function so that the start of a replica does not touch
/// the stack memory that the largest of the other commands needs.
#[inline(never)]
fn run_native(command: &Command, host: &Host, context: &mut RunContext<'_>) -> Result<Exit> {
    let mut text = match command {
        Command::View(view) => return view.run(host, context),
        Command::Top(top) => return top.run(host, context),
        Command::Analyze(analyze) => return analyze.run(host, context),
        Command::Report(report) => return report.run(host, context),
        Command::Who(who) => return who.run(host, context),
        Command::Latency(latency) => return latency.run(host, context),
        Command::Record(record) => return record.run(host, context),
        Command::Export(export) => return export.run(host, context),
        Command::Devices(devices) => return devices.run(host, context),
        Command::Version(version) => return version.run(host, context),
        Command::Iostat { arguments } => {
            let options = iostat::parse(arguments, &host.root, context.environment)?;
            return iostat::run(&options, context);
        }
        Command::PtDiskstats { arguments } => {
            let options =
                pt_diskstats::parse(arguments, &host.root, context.environment, &read_text_file)?;
            return pt_diskstats::run(&options, context);
        }
        Command::Service(service) => service.text().into(),
        Command::Completions { shell } => shell.script()?,
        Command::Help { topic } => return print_help(topic, context),
        Command::Man { directory } => {
            write_man_pages(directory)?;
            return Ok(Exit::Success);
        }
    };
    context.emit(&mut text)?;
    Ok(Exit::Success)
}

/// Converts a message of clap about `arguments`: a usage error becomes one line, requested help is not changed.
fn clap_error(error: &clap::Error, arguments: &[OsString]) -> ArgError {
    let words = arguments.iter().skip(1);
    let typed: Vec<&str> = words.filter_map(|word| word.to_str()).collect();
    if error.kind() == ErrorKind::DisplayHelp {
        let is_short = !typed.contains(&"--help");
        return ArgError {
            message: help_text(named_command(&typed).as_deref(), is_short),
            exit: Exit::Success,
        };
    }
    if let Some(removed) = find_removed(error, &typed) {
        return refusal(&removed.sentence());
    }
    if error.kind() == ErrorKind::UnknownArgument
        && let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg)
    {
        let words = arguments.get(1..).unwrap_or_default();
        if let Some(message) = message_for_unknown_option(option, words) {
            return refusal(&message);
        }
    }

    let mut parts = Vec::new();
    for line in error.to_string().lines().map(str::trim) {
        if line.starts_with("Usage:") {
            break;
        }
        // Nobody means an option as a value.
        let is_left_out = line.starts_with("For more") || line.starts_with("tip: to pass");
        if !line.is_empty() && !is_left_out {
            parts.push(line.trim_start_matches("tip: ").to_owned());
        }
    }
    let text = parts.join("; ");
    let text = text
        .strip_prefix("error: ")
        .unwrap_or(&text)
        .replace(":; ", ": ");
    let name = named_command(&typed).map_or(String::new(), |name| format!("{name} "));
    refusal(&format!("{text}; see blkstat {name}--help"))
}

/// Returns the error about arguments, whose words come from the user.
fn refusal(message: &str) -> ArgError {
    ArgError {
        message: format!("blkstat: {}\n", sanitize(message)),
        exit: Exit::Error,
    }
}
