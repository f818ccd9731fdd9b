//! What any words on a command line must come to: a plan, or a refusal that says something.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use blkstat::cli::{ArgError, plan};
use blkstat::exit::Exit;
use blkstat::plan::Plan;

/// One word a line; a word may hold anything else.
pub fn words(bytes: &[u8]) -> impl Iterator<Item = OsString> {
    bytes.split(|byte| *byte == b'\n').map(|word| OsString::from_vec(word.to_vec()))
}

/// Asks for a plan twice: the same words mean the same.
pub fn planned(
    called: &str,
    words: impl Iterator<Item = OsString>,
    environment: &dyn Fn(&str) -> Option<OsString>,
) -> Result<Plan, ArgError> {
    let all: Vec<OsString> = std::iter::once(called.into()).chain(words).collect();
    let result = plan(all.clone(), environment);
    if let Err(refusal) = &result {
        assert!(!refusal.message.is_empty(), "{all:?}");
        assert!(!matches!(refusal.exit, Exit::NoData | Exit::Signal(_)), "{all:?}: {refusal:?}");
    }
    result
}
