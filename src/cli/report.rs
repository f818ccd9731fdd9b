//! The arguments of `blkstat report`.

use std::ffi::OsString;
use std::io::{IsTerminal, stderr};
use std::path::PathBuf;

use clap::Args;

use super::analyze::{file_and_operands, is_file};
use super::command::Operand;
use super::native::VerdictArguments;
use super::operands::devices_and_schedule;
use super::range::RangeArguments;
use super::shared_arguments::StrictArguments;
use crate::intervals::{DeviceSelection, Input};
use crate::plan::Report;

/// The operands of `report`, for the help.
pub(super) const OPERANDS: &[Operand] = &[
    ("[FILE]", "Capture to report on; - is standard input (default: the running system)"),
    ("[DEVICE]...", "Devices to chart, by any of their names (default: those that are not ok)"),
    (
        "[INTERVAL]",
        "Length of an interval: 1, 0.5, 100ms, 2s, 1m (default 1 s; in a capture, one per sample)",
    ),
    ("[COUNT]", "Number of intervals (default: until Ctrl-C or the end of the capture)"),
];

#[derive(Args)]
#[command(override_usage = "blkstat report [OPTIONS] [FILE] [DEVICE]... [INTERVAL [COUNT]] -o OUT.html")]
pub(super) struct ReportArguments {
    // Completion scripts show these words; --help shows OPERANDS.
    /// Capture, devices, interval and number of intervals
    #[arg(value_name = "FILE", hide = true, allow_negative_numbers = true)]
    operands: Vec<String>,
    /// Page to write; - is standard output
    #[arg(short, long, value_name = "OUT.html", required = true)]
    output: PathBuf,
    /// Overwrite the page if it exists
    #[arg(long)]
    force: bool,
    /// Leave out cgroups and processes, for pages that leave the company
    #[arg(long)]
    no_who: bool,
    /// Capture to report on, if its name could be taken for a device
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    /// Chart only devices whose name matches REGEX
    #[arg(long, value_name = "REGEX")]
    devices_regex: Option<String>,
    #[command(flatten)]
    strict: StrictArguments,
    #[command(flatten)]
    range: RangeArguments,
    #[command(flatten)]
    verdicts: VerdictArguments,
}

impl ReportArguments {
    /// Returns the report that the arguments request.
    ///
    /// # Errors
    /// A message about an invalid operand.
    pub(super) fn plan(
        self,
        root: PathBuf,
        environment: &dyn Fn(&str) -> Option<OsString>,
    ) -> Result<Report, String> {
        let (from, operands) = file_and_operands(self.from, &self.operands);
        let (devices, schedule) = devices_and_schedule(operands)?;
        if let Some(word) = devices.iter().find(|word| is_file(word)) {
            return Err(format!("'{word}' is a second FILE; report takes one"));
        }
        let input = Input {
            scans_io: from.is_none() && !self.no_who,
            // The names of cgroups are also in verdicts, so the scans are ignored altogether.
            ignores_scans: self.no_who,
            range: self.range.range(from.is_some(), environment)?,
            from,
            root,
            interval: schedule.interval,
            count: schedule.count,
            strict: self.strict.strict,
            ..Input::default()
        };
        Ok(Report {
            verdicts: self.verdicts.options(&input, environment),
            input,
            selection: DeviceSelection { devices, regex: self.devices_regex, ..DeviceSelection::default() },
            output: self.output,
            force: self.force,
            has_who: !self.no_who,
            stderr_is_tty: stderr().is_terminal(),
            time_zone: environment("TZ"),
        })
    }
}
