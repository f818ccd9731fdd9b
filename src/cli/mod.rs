//! Arguments and environment into a [`Plan`]: one grammar a file. Nothing else knows clap.

mod iostat;

use std::ffi::OsString;
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
    let is_link = called == "iostat";
    // The plain form goes past clap too: building its grammar takes longer than a report.
    if is_link || arguments.get(1).is_some_and(|word| word == "iostat") {
        let words = if is_link { 1 } else { 2 };
        return iostat::plan(&arguments[words..], Path::new("/"), environment)
            .map(|plan| Plan::Iostat(Box::new(plan)));
    }
    let Arguments { root, command } = Arguments::try_parse_from(arguments).map_err(|error| {
        let exit = if error.use_stderr() { Exit::Error } else { Exit::Done };
        Refusal { message: error.to_string(), exit }
    })?;
    match command {
        Command::Iostat { arguments } => {
            iostat::plan(&arguments, &root, environment).map(|plan| Plan::Iostat(Box::new(plan)))
        }
    }
}
