//! Invariants of any command line: the result is a plan, or an error with a message.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use blkstat::commands::{Plan, plan};
use blkstat::console::ArgError;
use blkstat::exit::Exit;

/// Splits the input into arguments, one per line.
pub fn split(bytes: &[u8]) -> impl Iterator<Item = OsString> {
    bytes
        .split(|byte| *byte == b'\n')
        .map(|argument| OsString::from_vec(argument.to_vec()))
}

/// Parses a command line and checks an error.
pub fn check_plan(
    program: &str,
    arguments: impl Iterator<Item = OsString>,
    environment: &dyn Fn(&str) -> Option<OsString>,
) -> Result<Plan, ArgError> {
    let all: Vec<OsString> = std::iter::once(program.into()).chain(arguments).collect();
    let result = plan(all.clone(), environment);
    if let Err(error) = &result {
        assert!(!error.message.is_empty(), "{all:?}");
        assert!(
            !matches!(error.exit, Exit::NoData | Exit::Signal(_)),
            "{all:?}: {error:?}"
        );
    }
    result
}
