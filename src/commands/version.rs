//! `blkstat version`, `-V` and `--version`: prints the version, or all facts for the report of a bug.

use anyhow::Result;
use clap::Args;

use super::options::Host;
use crate::console::RunContext;
use crate::exit::Exit;
use crate::report::version::version;
use crate::source::read_host_sources;

#[derive(Args, Clone, Debug)]
#[command(override_usage = "blkstat version [OPTIONS]")]
pub struct Version {
    /// Also print how blkstat was built and which sources of this host it can read, for bug reports
    #[arg(short, long)]
    pub(super) verbose: bool,
}

impl Version {
    pub(super) fn run(&self, host: &Host, context: &mut RunContext<'_>) -> Result<Exit> {
        let text = match self.verbose {
            true => version(&read_host_sources(&host.root)),
            false => concat!("blkstat ", env!("CARGO_PKG_VERSION"), "\n").to_owned(),
        };
        context.emit(&mut text.into_bytes())?;
        Ok(Exit::Success)
    }
}
