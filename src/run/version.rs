//! `blkstat version --verbose`: finds the sources of the host and prints them.

use std::path::Path;

use anyhow::Result;

use super::{RunContext, emit};
use crate::exit::Exit;
use crate::report::version::version;
use crate::source::read_host_sources;

pub(super) fn run(root: &Path, context: &mut RunContext<'_>) -> Result<Exit> {
    emit(context.out, &mut version(&read_host_sources(root)).into_bytes())?;
    Ok(Exit::Success)
}
