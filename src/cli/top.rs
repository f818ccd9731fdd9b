//! The arguments of `blkstat top`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

use super::command::Operand;
use super::native::{VerdictArguments, sort_key};
use super::operands::devices_and_schedule;
use super::range::RangeArguments;
use super::shared_arguments::{DEVICE_OPERAND, INTERVAL_OPERAND, SelectionArguments, StrictArguments};
use crate::intervals::Input;
use crate::plan::Top;
use crate::report::native::SortKey;

/// The operands of `top`, for the help.
pub(super) const OPERANDS: &[Operand] = &[DEVICE_OPERAND, INTERVAL_OPERAND];

#[derive(Args)]
#[command(
    override_usage = "blkstat top [OPTIONS] [DEVICE]... [INTERVAL]",
    after_help = "The key ? shows the keys. NO_COLOR turns colors off; COLORFGBG can indicate a light background."
)]
pub(super) struct TopArguments {
    // Completion scripts show these words; --help shows OPERANDS.
    /// Devices and interval
    #[arg(value_name = "DEVICE", hide = true, allow_negative_numbers = true)]
    operands: Vec<String>,
    /// Replay a capture, plain or compressed, beginning at its main event
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    #[command(flatten)]
    range: RangeArguments,
    /// Play the capture at the recorded speed from its beginning (with --from)
    #[arg(long, requires = "from")]
    realtime: bool,
    #[command(flatten)]
    selection: SelectionArguments,
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
    strict: StrictArguments,
    #[command(flatten)]
    verdicts: VerdictArguments,
}

impl TopArguments {
    /// Returns the screen that the arguments request.
    ///
    /// # Errors
    /// A message about an invalid operand.
    pub(super) fn plan(
        self,
        root: PathBuf,
        environment: &dyn Fn(&str) -> Option<OsString>,
    ) -> Result<Top, String> {
        let (devices, schedule) = devices_and_schedule(&self.operands)?;
        if schedule.count.is_some() {
            return Err("top takes no COUNT; it runs until q".to_owned());
        }
        if self.from.as_ref().is_some_and(|from| from.as_os_str() == "-") {
            return Err(
                "top cannot replay standard input, which is the keyboard; save the capture to a file"
                    .to_owned(),
            );
        }
        let input = Input {
            range: self.range.range(self.from.is_some(), environment)?,
            from: self.from,
            root,
            interval: schedule.interval,
            realtime: self.realtime,
            strict: self.strict.strict,
            ..Input::default()
        };
        let variables = Top::VARIABLES.into_iter().filter_map(|name| Some((name, environment(name)?)));
        Ok(Top {
            verdicts: self.verdicts.options(&input, environment),
            input,
            selection: self.selection.selection(devices),
            sort: self.sort,
            is_ascii: self.ascii,
            has_mouse: !self.no_mouse,
            environment: variables.collect(),
        })
    }
}
