//! `blkstat top`: the full screen.

#[cfg(feature = "top")]
mod sampler;
#[cfg(feature = "top")]
mod session;

use anyhow::Result;
use clap::Args;

use super::options::{
    ANY_FIRST, Host, SelectionOptions, SourceOptions, VerdictOptions, sort_key, usage_error,
};
use crate::console::RunContext;
use crate::exit::Exit;
use crate::intervals::DeviceSelection;
use crate::source::Input;

#[derive(Args, Clone, Debug)]
#[command(
    override_usage = "blkstat top [OPTIONS] [DEVICE]... [INTERVAL]",
    after_help = "The key ? shows the keys. NO_COLOR turns colors off; COLORFGBG can indicate a light background."
)]
pub struct Top {
    #[command(flatten)]
    source: SourceOptions,
    #[command(flatten)]
    selection: SelectionOptions,
    /// Sort by a column, by its title or name (default: most severe verdict first)
    #[arg(short, long, value_name = "KEY", value_parser = sort_key)]
    sort: Option<&'static str>,
    #[command(flatten)]
    verdicts: VerdictOptions,
}

impl Top {
    /// Shows the screen until the user quits.
    ///
    /// # Errors
    /// If an argument is invalid, there is no terminal, or the source cannot be read.
    pub(super) fn run(&self, host: &Host, context: &mut RunContext<'_>) -> Result<Exit> {
        #[cfg(feature = "top")]
        return session::run(
            self,
            self.input_and_selection(host, context)?,
            host,
            context,
        );
        #[cfg(not(feature = "top"))]
        self.input_and_selection(host, context)?;
        #[cfg(not(feature = "top"))]
        anyhow::bail!("this build leaves out 'blkstat top' (cargo feature 'top')");
    }

    fn input_and_selection(
        &self,
        host: &Host,
        context: &RunContext<'_>,
    ) -> Result<(Input, DeviceSelection)> {
        let (input, devices) = self.source.source(ANY_FIRST, host, context)?;
        if input.count.is_some() {
            return Err(usage_error("top takes no COUNT; it runs until q"));
        }
        if input
            .from
            .as_ref()
            .is_some_and(|file| file.as_os_str() == "-")
        {
            return Err(usage_error(
                "top cannot replay standard input, which is the keyboard; save the capture to a file",
            ));
        }
        Ok((input, self.selection.of(devices)))
    }
}
