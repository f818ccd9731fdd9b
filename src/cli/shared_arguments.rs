//! Arguments that several commands share.

use clap::Args;

use super::command::Operand;
use super::operands::devices_and_schedule;
use crate::intervals::DeviceSelection;
use crate::schedule::Schedule;

/// The operands of a view of intervals, for the help.
pub(super) const VIEW_OPERANDS: &[Operand] =
    &[DEVICE_OPERAND, INTERVAL_OPERAND, ("[COUNT]", "Number of intervals (default: until Ctrl-C)")];
pub(super) const DEVICE_OPERAND: Operand =
    ("[DEVICE]...", "Devices to show, by any of their names (default: all active ones)");
/// The interval of the running system, for the help.
pub(super) const INTERVAL_OPERAND: Operand =
    ("[INTERVAL]", "Length of an interval: 1, 0.5, 100ms, 2s, 1m (default 1 s)");

/// The operands of a view of intervals: `[DEVICE]... [INTERVAL [COUNT]]`.
#[derive(Args)]
pub(super) struct ViewOperands {
    // Completion scripts show these words; --help shows VIEW_OPERANDS.
    /// Devices, interval and number of intervals
    #[arg(value_name = "DEVICE", hide = true, allow_negative_numbers = true)]
    operands: Vec<String>,
}

impl ViewOperands {
    /// Returns the devices, and the interval with the count.
    ///
    /// # Errors
    /// A message about an invalid operand.
    pub(super) fn parse(&self) -> Result<(Vec<String>, Schedule), String> {
        devices_and_schedule(&self.operands)
    }
}

/// The options that select devices of a table.
#[derive(Args)]
pub(super) struct SelectionArguments {
    /// Show only devices whose name matches REGEX
    #[arg(long, value_name = "REGEX")]
    devices_regex: Option<String>,
    /// Show partitions, even idle ones
    #[arg(long)]
    partitions: bool,
    /// Show all devices, even idle ones
    #[arg(long)]
    all: bool,
}

impl SelectionArguments {
    /// Returns the selection of these devices, without a total.
    pub(super) fn selection(self, devices: Vec<String>) -> DeviceSelection {
        DeviceSelection {
            devices,
            regex: self.devices_regex,
            partitions: self.partitions,
            all: self.all,
            total: false,
        }
    }
}

/// The option of everything that reads captures.
#[derive(Args)]
pub(super) struct StrictArguments {
    /// Treat warnings about a capture as errors
    #[arg(long)]
    pub(super) strict: bool,
}
