//! The arguments of `blkstat record`.

use std::ffi::OsString;
use std::io::{IsTerminal, stderr};
use std::path::{PathBuf, absolute};

use clap::{Args, ValueEnum};

use super::baselines::{BaselineArguments, saved_files};
use super::command::Operand;
use super::operands::{is_number_or_interval, parse_schedule};
use super::rotation::{KeptFiles, RotationLimits, kept_files, rotation, rotation_limits};
use crate::plan::Record;

/// The operands of `record`, for the help.
pub(super) const OPERANDS: &[Operand] = &[
    ("FILE", "File to write, compressed if its name ends in .gz; - is standard output"),
    ("[INTERVAL]", "Time between samples: 1, 0.5, 100ms, 2s, 1m (default 1 s)"),
    ("[COUNT]", "Number of intervals; one more sample is taken (default: until Ctrl-C)"),
];

#[derive(Args)]
#[command(override_usage = "blkstat record [OPTIONS] FILE [INTERVAL [COUNT]]")]
pub(super) struct RecordArguments {
    // Completion scripts show these words; --help shows OPERANDS.
    /// File to write
    #[arg(hide = true)]
    file: PathBuf,
    /// Time between samples
    #[arg(hide = true, allow_negative_numbers = true)]
    interval: Option<String>,
    /// Number of intervals
    #[arg(hide = true, allow_negative_numbers = true)]
    count: Option<String>,
    /// Record only this device, by any of its names, with the cgroups that use it or a device below; repeatable
    #[arg(long, value_name = "DEVICE")]
    device: Vec<String>,
    /// Columns per device line; 14 for old versions of pt-diskstats
    #[arg(long, value_name = "N", default_value = "all")]
    columns: ColumnCount,
    /// Do not record cgroups and processes
    #[arg(long)]
    no_who: bool,
    /// Append to FILE
    #[arg(long, conflicts_with = "force")]
    append: bool,
    /// Overwrite FILE, and with --rotate rename or delete existing FILE.1, ...
    #[arg(long)]
    force: bool,
    /// Start a new file before FILE exceeds SIZE (10M, 1G) or after TIME (30min, 1h, 1d), or both (1G,1d), renaming older
    /// ones to FILE.1, FILE.2, ...
    #[arg(long, value_name = "SIZE|TIME", value_parser = rotation_limits)]
    rotate: Option<RotationLimits>,
    /// Keep at most N older files, or as many as fit in SIZE, or both (30,2G; with --rotate; default all)
    #[arg(long, value_name = "N|SIZE", requires = "rotate", value_parser = kept_files)]
    keep: Option<KeptFiles>,
    /// Keep unloaded latencies in FILE up to date, for --baseline or as /var/lib/blkstat/baseline.json for every live view
    #[arg(long, value_name = "FILE")]
    learn_baseline: Option<PathBuf>,
    #[command(flatten)]
    baseline: BaselineArguments,
}

/// The values of `--columns`.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ColumnCount {
    #[value(name = "14")]
    Fourteen,
    All,
}

impl RecordArguments {
    /// Returns the recording that the arguments request.
    ///
    /// # Errors
    /// A message about an invalid interval or count, a missing file name before them, or limits that contradict.
    pub(super) fn plan(
        self,
        root: PathBuf,
        environment: &dyn Fn(&str) -> Option<OsString>,
    ) -> Result<Record, String> {
        if let Some(word) = self.file.to_str().filter(|word| is_number_or_interval(word)) {
            return Err(format!(
                "missing FILE before '{word}'; usage: blkstat record FILE [INTERVAL [COUNT]] \
                 (./{word} for a file of that name)"
            ));
        }
        let learns_in_file = |learned: &PathBuf| absolute(learned).ok() == absolute(&self.file).ok();
        if self.learn_baseline.as_ref().is_some_and(learns_in_file) {
            return Err("--learn-baseline needs a different file than the recording".to_owned());
        }
        Ok(Record {
            schedule: parse_schedule(self.interval.as_ref(), self.count.as_ref())?,
            devices: self.device,
            baseline: self.baseline.option(saved_files(&root, environment)),
            learn_baseline: self.learn_baseline,
            file: self.file,
            legacy_14_columns: self.columns == ColumnCount::Fourteen,
            scans_io: !self.no_who,
            append: self.append,
            force: self.force,
            rotation: self.rotate.map(|limits| rotation(limits, self.keep)).transpose()?,
            root,
            stderr_is_tty: stderr().is_terminal(),
            time_zone: environment("TZ"),
        })
    }
}
