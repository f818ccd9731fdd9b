//! The arguments of iostat. They are parsed by hand: clap supports neither `-p [DEV]` nor `+f`, and the usage text is
//! iostat's.

mod raw_args;
mod resolve;

use std::ffi::OsString;
use std::path::Path;

use self::raw_args::RawArgs;
use super::options::Options;
use crate::console::ArgError;
use crate::exit::Exit;

/// The text of `-V`, which is not iostat's.
const VERSION: &str =
    concat!("blkstat ", env!("CARGO_PKG_VERSION"), ", compatible with iostat of sysstat 12.7.9\n");

const USAGE: &str = "\
Usage: iostat [ options ] [ <interval> [ <count> ] ]
Options are:
[ -c ] [ -d ] [ -h ] [ -k | -m | -G ] [ -N ] [ -s ] [ -t ] [ -U ] [ -V ] [ -x ] [ -y ] [ -z ]
[ { -f | +f } <directory> ] [ -j { ID | LABEL | PATH | UUID | ... } ]
[ --compact ] [ --dec={ 0 | 1 | 2 } ] [ --human ] [ --pretty ] [ -o JSON ]
[ [ -H ] -g <group_name> ] [ -p [ <device> [,...] | ALL ] ]
[ --from <file> ] [ --root <directory> ] [ <device> [...] | ALL ]
";

/// Parses the arguments of iostat.
///
/// # Errors
/// The text to print instead of a run: the usage after an error, or the version that was requested.
pub fn parse(
    arguments: &[OsString],
    root: &Path,
    environment: &dyn Fn(&str) -> Option<OsString>,
) -> Result<Options, ArgError> {
    let mut raw = RawArgs::default();
    let arguments: Vec<String> =
        arguments.iter().map(|argument| argument.to_string_lossy().into_owned()).collect();
    let mut arguments = arguments.iter().map(String::as_str).peekable();
    while let Some(argument) = arguments.next() {
        match argument {
            "--from" => raw.from = Some(arguments.next().ok_or_else(usage)?.into()),
            "--root" => raw.root = Some(arguments.next().ok_or_else(usage)?.into()),
            "-p" => {
                raw.add_partitions(arguments.next_if(|next| !next.starts_with('-') && !is_number(next)));
            }
            "-g" => raw.add_group(arguments.next().ok_or_else(usage)?),
            "-o" if arguments.next() == Some("JSON") => raw.json = true,
            "-j" => raw.set_persistent_names(arguments.next().ok_or_else(usage)?, root)?,
            "-f" | "+f" => raw.set_device_files(argument, arguments.next().ok_or_else(usage)?)?,
            "--human" => raw.human = true,
            "--pretty" => raw.pretty = true,
            "--compact" => raw.compact = true,
            "--dec=0" => raw.decimals = Some(0),
            "--dec=1" => raw.decimals = Some(1),
            "--dec=2" => raw.decimals = Some(2),
            _ if argument.starts_with("--") || argument == "-o" => return Err(usage()),
            _ if argument.starts_with('-') => raw.set_letters(&argument[1..])?,
            _ => raw.add_operand(argument)?,
        }
    }
    raw.resolve(root, environment)
}

fn usage() -> ArgError {
    ArgError { message: USAGE.to_owned(), exit: Exit::IostatUsage }
}

/// Returns whether the argument is an interval or a count: digits, or digits with a fraction.
fn is_number(argument: &str) -> bool {
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    match argument.split_once('.') {
        Some((whole, fraction)) => {
            !whole.is_empty() && !fraction.is_empty() && is_digits(whole) && is_digits(fraction)
        }
        None => is_digits(argument),
    }
}
