//! `blkstat version`, `-V` and `--version`: prints the version, or all facts for the report of a bug.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;

use super::options::Host;
use crate::console::{ArgError, RunContext};
use crate::exit::Exit;
use crate::report::version::version;
use crate::source::read_host_sources;

/// The name and the version of the program.
const LINE: &str = concat!("blkstat ", env!("CARGO_PKG_VERSION"), "\n");

#[derive(Args, Clone, Debug)]
#[command(override_usage = "blkstat version [OPTIONS]")]
pub struct Version {
    /// Also print how blkstat was built and which sources of this host it can read, for bug reports
    #[arg(short, long)]
    verbose: bool,
}

impl Version {
    pub(super) fn run(&self, host: &Host, context: &mut RunContext<'_>) -> Result<Exit> {
        if self.verbose {
            return print_facts(&host.root, context);
        }
        context.emit(&mut LINE.into())?;
        Ok(Exit::Success)
    }
}

/// Prints how the program was built, and which sources of the host it can read.
pub(super) fn print_facts(root: &Path, context: &mut RunContext<'_>) -> Result<Exit> {
    context.emit(&mut version(&read_host_sources(root)).into_bytes())?;
    Ok(Exit::Success)
}

/// Returns the outcome for arguments that only ask for the version, with `-V` or `--version`: once for only the
/// version; twice, or with `--verbose`, for all facts on the host below the root
/// that is returned. `None` for other arguments. `arguments` begins with the name of the program.
pub(super) fn version_flags(arguments: &[OsString]) -> Option<Result<PathBuf, ArgError>> {
    let mut flags = 0;
    let mut is_verbose = false;
    let mut root = PathBuf::from("/");
    let mut rest = arguments.iter().skip(1);
    while let Some(argument) = rest.next() {
        match argument.to_str()? {
            "-V" | "--version" => flags += 1,
            "-VV" => flags += 2,
            "--verbose" => is_verbose = true,
            "--root" => root = rest.next()?.into(),
            word => root = OsStr::new(word.strip_prefix("--root=")?).into(),
        }
    }
    match flags {
        0 => None,
        1 if !is_verbose => Some(Err(ArgError { message: LINE.to_owned(), exit: Exit::Success })),
        _ => Some(Ok(root)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(words: &str) -> Option<Result<PathBuf, ArgError>> {
        let arguments: Vec<OsString> = words.split_whitespace().map(OsString::from).collect();
        version_flags(&arguments)
    }

    #[test]
    fn the_flag_asks_for_the_version_and_twice_for_all_facts() {
        for once in ["blkstat -V", "blkstat --version", "blkstat -V --root /host"] {
            let Some(Err(text)) = flags(once) else { unreachable!("{once}") };
            assert_eq!((text.message.as_str(), text.exit), (LINE, Exit::Success), "{once}");
        }
        for twice in ["-VV", "-V -V", "--version --version", "-V --version", "--version --verbose"] {
            let asked = |root: &str| Some(Ok(PathBuf::from(root)));
            assert_eq!(flags(&format!("blkstat {twice}")), asked("/"), "{twice}");
            assert_eq!(flags(&format!("blkstat {twice} --root=/host")), asked("/host"), "{twice}");
            assert_eq!(flags(&format!("blkstat --root /host {twice}")), asked("/host"), "{twice}");
        }
        for other in ["blkstat", "blkstat --verbose", "blkstat -V sda", "blkstat --root /host", "blkstat 1"] {
            assert_eq!(flags(other), None, "{other}");
        }
    }
}
