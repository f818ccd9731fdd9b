//! The usage, the help and the error messages of pt-diskstats.

use crate::console::ArgError;
use crate::exit::Exit;

const VERSION: &str = concat!("pt-diskstats 3.2.1 (blkstat ", env!("CARGO_PKG_VERSION"), ")\n");

const USAGE: &str = "Usage: pt-diskstats [OPTIONS] [FILES]\n";

const HELP: &str = "\
Options:

  --columns-regex=s    Print only columns whose names match (default .)
  --config=A           Read these comma-separated configuration files; must be
                       the first option
  --devices-regex=s    Print only devices whose names match
  --group-by=s         One line per device and interval (all), per device
                       (disk) or per interval (sample) (default all)
  --headers=H          Blank lines between groups (group), a header on every
                       screen (scroll) (default group,scroll)
  --help               Show this help
  --interval=i         Seconds between live samples (default 1)
  --iterations=i       Stop after this many live samples
  --root=s             Read DIR/proc instead of /proc
  --sample-time=i      Seconds per line with --group-by sample (default 1)
  --save-samples=s     Save live samples to a file
  --show-inactive      Show inactive devices, too
  --show-timestamps    Show the time of day in the #ts column
  --version            Show the version
  --[no]version-check  No effect: blkstat never connects to the network

FILE holds saved samples; without it, the live system is sampled.
";

/// Returns the version, as requested text.
pub(super) fn version() -> ArgError {
    ArgError { message: VERSION.to_owned(), exit: Exit::Success }
}

/// Returns the help, as requested text.
pub(super) fn help() -> ArgError {
    ArgError { message: format!("{USAGE}\n{HELP}"), exit: Exit::Success }
}

/// Returns a usage error with this message.
pub(super) fn usage_error(message: &str) -> ArgError {
    let message =
        format!("{message}\n{USAGE}\nErrors in command-line arguments:\n  * Error parsing options\n");
    ArgError { message, exit: Exit::PtUsage }
}

/// Returns the error for an option without its value.
pub(super) fn missing_value(name: &str) -> ArgError {
    usage_error(&format!("Option {name} requires an argument"))
}
