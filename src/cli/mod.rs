//! Arguments and environment into a [`Plan`]: one grammar a file. Nothing else knows clap.

mod analyze;
mod iostat;
mod native;
mod operands;
mod pt_diskstats;
mod record;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use clap::{CommandFactory, Parser, Subcommand};
use clap_complete::Shell;

use crate::exit::Exit;
use crate::plan::{Devices, Plan};
use crate::sanitize::sanitize;
use crate::source::read_text_file;

/// Why there is no plan: what to say, and how to end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArgError {
    /// The text to print.
    pub message: String,
    /// How to end; [`Exit::Success`] for a text that was asked for, which belongs on standard output.
    pub exit: Exit,
}

/// What Linux block devices do, live or from a recording, and whether they are the problem
#[derive(Parser)]
#[command(
    name = "blkstat",
    version,
    args_conflicts_with_subcommands = true,
    override_usage = "blkstat [OPTIONS] [DEVICE]... [INTERVAL [COUNT]]\n       blkstat COMMAND ..."
)]
struct Arguments {
    #[command(flatten)]
    view: native::ViewArguments,
    /// Read DIR/proc and DIR/sys in place of /proc and /sys
    #[arg(long, value_name = "DIR", default_value = "/", global = true, hide_default_value = true)]
    root: PathBuf,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Be sysstat's iostat: its options, its output, its exit codes
    #[command(disable_help_flag = true)]
    Iostat {
        /// What iostat takes, and --from FILE and --root DIR
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Be Percona's pt-diskstats: its options, its output, its keys
    #[command(disable_help_flag = true)]
    PtDiskstats {
        /// What pt-diskstats takes
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// LiveVerdict a capture, or this machine for a while: saturation, capacity, caps, with the evidence
    Analyze(Box<analyze::AnalyzeArguments>),
    /// Write a capture that every view can replay
    Record(record::RecordArguments),
    /// Show the block-device tree and queue settings
    Devices {
        /// Print one JSON document with every device
        #[arg(long)]
        json: bool,
        /// Include unused devices, such as loop devices without a file
        #[arg(long)]
        all: bool,
        /// Show the devices of the host that made this recording
        #[arg(long, value_name = "FILE")]
        from: Option<PathBuf>,
    },
    /// Print a script that completes blkstat's words in a shell
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print the manual page
    Man,
}

/// What the arguments ask for. `arguments` begins with the name that the program was called by; `environment`
/// looks a variable up.
///
/// # Errors
/// A text to print in place of a run: wrong usage, or help that was asked for.
pub fn plan(
    arguments: impl IntoIterator<Item = OsString>,
    environment: &dyn Fn(&str) -> Option<OsString>,
) -> Result<Plan, ArgError> {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let called = arguments.first().and_then(|name| Path::new(name).file_name()).unwrap_or_default();
    let here = Path::new("/");
    // The plain forms go past clap too: building its grammar takes longer than a report.
    for (name, words) in [(Some(called), 1), (arguments.get(1).map(OsString::as_os_str), 2)] {
        let words = arguments.get(words..).unwrap_or_default();
        if let Some(plan) = name.and_then(|name| dialect(name, words, here, environment)) {
            return plan;
        }
    }
    if let [_, word] = arguments.as_slice()
        && (word == "--version" || word == "-V")
    {
        let message = concat!("blkstat ", env!("CARGO_PKG_VERSION"), "\n").to_owned();
        return Err(ArgError { message, exit: Exit::Success });
    }
    let Arguments { view, root, command } =
        Arguments::try_parse_from(arguments).map_err(|error| refusal(&error))?;
    let wrong = |message: String| ArgError {
        message: format!("blkstat: {}\n", sanitize(&message)),
        exit: Exit::Error,
    };
    let (name, arguments) = match command {
        None => return Ok(Plan::View(Box::new(view.plan(root, environment).map_err(wrong)?))),
        Some(Command::Analyze(analyze)) => {
            return Ok(Plan::Analyze(Box::new(analyze.plan(root).map_err(wrong)?)));
        }
        Some(Command::Record(record)) => {
            return Ok(Plan::Record(Box::new(record.plan(root, environment).map_err(wrong)?)));
        }
        Some(Command::Devices { json, all, from }) => {
            return Ok(Plan::Devices(Devices { json, all, root, from }));
        }
        Some(Command::Completions { shell }) => return Ok(Plan::Print(completions(shell))),
        Some(Command::Man) => return Ok(Plan::Print(manual())),
        Some(Command::Iostat { arguments }) => ("iostat", arguments),
        Some(Command::PtDiskstats { arguments }) => ("pt-diskstats", arguments),
    };
    let plan = dialect(OsStr::new(name), &arguments, &root, environment);
    plan.unwrap_or_else(|| Err(ArgError { message: String::new(), exit: Exit::Error }))
}

/// What clap has to say, wrong usage in one line.
fn refusal(error: &clap::Error) -> ArgError {
    let text = error.to_string();
    if !error.use_stderr() {
        return ArgError { message: text, exit: Exit::Success };
    }
    let said: Vec<&str> =
        text.lines().take_while(|line| !line.starts_with("Usage:")).map(str::trim).collect();
    let said = said.iter().filter(|line| !line.is_empty() && !line.starts_with("For more")).copied();
    let line = said.collect::<Vec<_>>().join("; ");
    let line = line.strip_prefix("error: ").unwrap_or(&line).replace("; tip: ", "; ").replace(":; ", ": ");
    ArgError { message: format!("blkstat: {}; see blkstat --help\n", sanitize(&line)), exit: Exit::Error }
}

/// The script that has a shell complete blkstat's words.
fn completions(shell: Shell) -> Vec<u8> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "blkstat", &mut text);
    text
}

/// The manual page.
fn manual() -> Vec<u8> {
    let mut text = Vec::new();
    // Writing to a Vec cannot fail.
    let _ = clap_mangen::Man::new(Arguments::command()).render(&mut text);
    text
}

/// What is asked of the old tool of this name; `None` when it is none.
fn dialect(
    name: &OsStr,
    words: &[OsString],
    root: &Path,
    environment: &dyn Fn(&str) -> Option<OsString>,
) -> Option<Result<Plan, ArgError>> {
    match name.to_str()? {
        "iostat" => {
            let options = iostat::parse(words, root, environment);
            Some(options.map(|options| Plan::Iostat(Box::new(options))))
        }
        "pt-diskstats" => {
            let options = pt_diskstats::parse(words, root, environment, &read_text_file);
            Some(options.map(|options| Plan::PtDiskstats(Box::new(options))))
        }
        _ => None,
    }
}
