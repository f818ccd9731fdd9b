//! `blkstat top`: the full screen.

#[cfg(feature = "top")]
mod export;
#[cfg(feature = "top")]
mod recording;
#[cfg(feature = "top")]
mod sampler;
#[cfg(feature = "top")]
mod session;

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;

use super::help_template::Operand;
use super::operands::Operands;
use super::options::{
    CaptureOptions, DEVICE_OPERAND, FILE_OPERAND, Host, INTERVAL_OPERAND, NO_REALTIME, RangeOptions,
    SelectionOptions, VerdictOptions, sort_key, usage_error,
};
use crate::console::RunContext;
use crate::exit::Exit;
use crate::intervals::{DeviceSelection, Input};
use crate::report::native::SortKey;

/// The operands of `top`, for the help.
pub(super) const OPERANDS: &[Operand] = &[FILE_OPERAND, DEVICE_OPERAND, INTERVAL_OPERAND];

#[derive(Args, Clone, Debug)]
#[command(
    override_usage = "blkstat top [OPTIONS] [DEVICE]... [INTERVAL]",
    after_help = "The key ? shows the keys. NO_COLOR turns colors off; COLORFGBG can indicate a light background."
)]
pub struct Top {
    // Completion scripts show these words; --help shows OPERANDS.
    /// Devices and interval
    #[arg(value_name = "DEVICE", hide = true, allow_negative_numbers = true)]
    operands: Vec<String>,
    /// Replay a capture, plain or compressed, beginning at its main event
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    #[command(flatten)]
    range: RangeOptions,
    /// Play the capture at the recorded speed from its beginning
    #[arg(long)]
    realtime: bool,
    #[command(flatten)]
    selection: SelectionOptions,
    /// Sort by KEY, descending: a column title, or iops, await, MB/s (default: most severe verdict first)
    #[arg(long, value_name = "KEY", value_parser = sort_key)]
    sort: Option<SortKey>,
    /// Use only ASCII characters
    #[arg(long)]
    ascii: bool,
    /// Leave the mouse to the terminal
    #[arg(long)]
    no_mouse: bool,
    #[command(flatten)]
    capture: CaptureOptions,
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
        return session::run(self, self.input_and_selection(host, context)?, host, context);
        #[cfg(not(feature = "top"))]
        self.input_and_selection(host, context)?;
        #[cfg(not(feature = "top"))]
        anyhow::bail!("this build leaves out 'blkstat top' (cargo feature 'top')");
    }

    fn input_and_selection(&self, host: &Host, context: &RunContext<'_>) -> Result<(Input, DeviceSelection)> {
        let operands = Operands::split(&self.operands, self.from.as_ref(), &host.root);
        let Operands { files, devices, schedule } = operands.map_err(usage_error)?;
        if schedule.count.is_some() {
            return Err(usage_error("top takes no COUNT; it runs until q"));
        }
        if self.realtime && files.is_empty() {
            return Err(usage_error(NO_REALTIME));
        }
        if files.iter().any(|file| file.as_os_str() == "-") {
            return Err(usage_error(
                "top cannot replay standard input, which is the keyboard; save the capture to a file",
            ));
        }
        let range = self.range.range(!files.is_empty(), context)?;
        let input = host.input(&files, range, schedule, &self.capture)?;
        Ok((Input { scans_io: files.is_empty(), ..input }, self.selection.of(devices)))
    }
}
