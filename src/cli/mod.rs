//! Arguments and environment into a [`Plan`]: one grammar a file. Nothing else knows clap.

mod iostat;
mod pt_diskstats;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use clap::{Parser, Subcommand};

use crate::exit::Exit;
use crate::plan::Plan;

/// Why there is no plan: what to say, and how to end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The text to print.
    pub message: String,
    /// How to end; [`Exit::Done`] for a text that was asked for, which belongs on standard output.
    pub exit: Exit,
}

/// Linux block-device statistics.
#[derive(Parser)]
#[command(name = "blkstat", version, subcommand_required = true, arg_required_else_help = true)]
struct Arguments {
    /// Read DIR/proc and DIR/sys in place of /proc and /sys
    #[arg(long, value_name = "DIR", default_value = "/")]
    root: PathBuf,
    #[command(subcommand)]
    command: Command,
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
}

/// What the arguments ask for. `arguments` begins with the name that the program was called by; `environment`
/// looks a variable up.
///
/// # Errors
/// A text to print in place of a run: wrong usage, or help that was asked for.
pub fn plan(
    arguments: impl IntoIterator<Item = OsString>,
    environment: &dyn Fn(&str) -> Option<OsString>,
) -> Result<Plan, Refusal> {
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
    let Arguments { root, command } = Arguments::try_parse_from(arguments).map_err(|error| {
        let exit = if error.use_stderr() { Exit::Error } else { Exit::Done };
        Refusal { message: error.to_string(), exit }
    })?;
    let (name, arguments) = match &command {
        Command::Iostat { arguments } => ("iostat", arguments),
        Command::PtDiskstats { arguments } => ("pt-diskstats", arguments),
    };
    let plan = dialect(OsStr::new(name), arguments, &root, environment);
    plan.unwrap_or_else(|| Err(Refusal { message: String::new(), exit: Exit::Error }))
}

/// What is asked of the old tool of this name; `None` when it is none.
fn dialect(
    name: &OsStr,
    words: &[OsString],
    root: &Path,
    environment: &dyn Fn(&str) -> Option<OsString>,
) -> Option<Result<Plan, Refusal>> {
    match name.to_str()? {
        "iostat" => Some(iostat::plan(words, root, environment).map(|plan| Plan::Iostat(Box::new(plan)))),
        "pt-diskstats" => {
            // The one thing that a grammar reads.
            #[allow(clippy::disallowed_methods)]
            let read = |path: &Path| std::fs::read_to_string(path);
            let plan = pt_diskstats::plan(words, root, environment, &read);
            Some(plan.map(|plan| Plan::PtDiskstats(Box::new(plan))))
        }
        _ => None,
    }
}
