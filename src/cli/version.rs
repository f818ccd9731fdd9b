//! The arguments that ask for the version: `-V`, `--version` and `blkstat version`.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use super::ArgError;
use crate::exit::Exit;
use crate::plan::Plan;

/// The name and the version of the program.
const LINE: &str = concat!("blkstat ", env!("CARGO_PKG_VERSION"), "\n");

/// Returns the plan for `blkstat version`.
pub(super) fn plan(is_verbose: bool, root: PathBuf) -> Plan {
    if is_verbose { Plan::Version { root } } else { Plan::Print(LINE.into()) }
}

/// Returns the outcome for arguments that only ask for the version, with `-V` or `--version`: once for only the
/// version; twice, or with `--verbose`, for all facts. `None` for other arguments. `arguments` begins with the name of
/// the program.
pub(super) fn version_flags(arguments: &[OsString]) -> Option<Result<Plan, ArgError>> {
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
        _ => Some(Ok(plan(true, root))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(words: &str) -> Option<Result<Plan, ArgError>> {
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
            let asked = |root: &str| Some(Ok(Plan::Version { root: root.into() }));
            assert_eq!(flags(&format!("blkstat {twice}")), asked("/"), "{twice}");
            assert_eq!(flags(&format!("blkstat {twice} --root=/host")), asked("/host"), "{twice}");
            assert_eq!(flags(&format!("blkstat --root /host {twice}")), asked("/host"), "{twice}");
        }
        for other in ["blkstat", "blkstat --verbose", "blkstat -V sda", "blkstat --root /host", "blkstat 1"] {
            assert_eq!(flags(other), None, "{other}");
        }
    }
}
