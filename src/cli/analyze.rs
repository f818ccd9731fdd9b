//! The arguments of `blkstat analyze`.

use std::ffi::OsString;
use std::io::{IsTerminal, stderr};
use std::path::{Path, PathBuf};

use clap::Args;

use super::command::Operand;
use super::native::VerdictArguments;
use super::operands::devices_and_schedule;
use super::range::{RangeArguments, file_with_range};
use super::shared_arguments::StrictArguments;
use crate::intervals::{BaselineOption, DeviceSelection, Input};
use crate::plan::{Analyze, AnalyzeFormat};
use crate::time_range::TimeRange;

/// The operands of `analyze`, for the help.
pub(super) const OPERANDS: &[Operand] = &[
    ("[FILE]", "Capture to analyze; - is standard input (default: the running system)"),
    ("[DEVICE]...", "Devices to analyze, by any of their names (default: all)"),
    (
        "[INTERVAL]",
        "Length of an interval: 1, 0.5, 100ms, 2s, 1m (default 1 s; in a capture, one per sample)",
    ),
    ("[COUNT]", "Number of intervals (default: until Ctrl-C or the end of the capture)"),
];

#[derive(Args)]
#[command(
    override_usage = "blkstat analyze [OPTIONS] [FILE] [DEVICE]... [INTERVAL [COUNT]]\n       blkstat analyze --compare BEFORE AFTER [DEVICE]...   (each FILE or FILE@BEGIN..END)"
)]
pub(super) struct AnalyzeArguments {
    // Completion scripts show these words; --help shows OPERANDS.
    /// Capture, devices, interval and number of intervals
    #[arg(value_name = "FILE", hide = true, allow_negative_numbers = true)]
    operands: Vec<String>,
    /// Capture to analyze, if its name could be taken for a device
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    #[command(flatten)]
    range: RangeArguments,
    /// Compare two captures or ranges of time: load, latency at similar queue and size, limits and verdict
    #[arg(long, conflicts_with_all = ["fio", "save_baseline", "from"])]
    compare: bool,
    /// Show workload, queue levels and capacity of each device (default if a device is named)
    #[arg(long, conflicts_with_all = ["json", "fio", "compare"])]
    details: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    /// Print a fio job file that reproduces the observed load on a file of your choice
    #[arg(long, conflicts_with = "json")]
    fio: bool,
    /// Analyze only devices whose name matches REGEX
    #[arg(long, value_name = "REGEX")]
    devices_regex: Option<String>,
    /// Save the learned unloaded latencies, for --baseline or as /var/lib/blkstat/baseline.json for every live view
    #[arg(long, value_name = "FILE")]
    save_baseline: Option<PathBuf>,
    #[command(flatten)]
    strict: StrictArguments,
    #[command(flatten)]
    verdicts: VerdictArguments,
}

impl AnalyzeArguments {
    /// Returns the analysis that the arguments request.
    ///
    /// # Errors
    /// A message about an invalid operand.
    pub(super) fn plan(
        self,
        root: PathBuf,
        environment: &dyn Fn(&str) -> Option<OsString>,
    ) -> Result<Analyze, String> {
        let (from, range, compare_with, operands) = if self.compare {
            let (before, after, operands) = compared_captures(&self.operands, self.range, environment)?;
            (Some(before.0), before.1, Some(after), operands)
        } else {
            let (from, operands) = file_and_operands(self.from, &self.operands);
            let range = self.range.range(from.is_some(), environment)?;
            (from, range, None, operands)
        };
        let (devices, schedule) = devices_and_schedule(operands)?;
        if let Some(word) = devices.iter().find(|word| is_file(word)) {
            let taken = if self.compare {
                "third FILE; --compare takes two"
            } else {
                "second FILE; analyze takes one"
            };
            return Err(format!("'{word}' is a {taken}"));
        }
        let input = Input {
            // A limit of a cgroup is not visible in the counters of a device.
            scans_io: from.is_none(),
            range,
            from,
            root,
            interval: schedule.interval,
            count: schedule.count,
            strict: self.strict.strict,
            ..Input::default()
        };
        let mut verdicts = self.verdicts.options(&input, environment);
        if self.save_baseline.is_some() && matches!(verdicts.baseline, BaselineOption::Saved(_)) {
            // A baseline must not be learned from the one that it replaces.
            verdicts.baseline = BaselineOption::Learned;
        }
        let selection = DeviceSelection { devices, regex: self.devices_regex, ..DeviceSelection::default() };
        let compare_with =
            compare_with.map(|(file, range)| Input { from: Some(file), range, ..input.clone() });
        Ok(Analyze {
            compare_with,
            verdicts,
            input,
            has_details: self.details || selection.names_devices(),
            selection,
            is_unicode: is_unicode(environment),
            time_zone: environment("TZ"),
            format: match (self.json, self.fio) {
                (true, _) => AnalyzeFormat::Json,
                (_, true) => AnalyzeFormat::Fio,
                _ => AnalyzeFormat::Text,
            },
            save_baseline: self.save_baseline,
            stderr_is_tty: stderr().is_terminal(),
        })
    }
}

/// A capture and the range of it.
type CaptureRange = (PathBuf, TimeRange);

/// Splits the operands of a comparison into both captures and the rest. `range` applies to both, unless they have their
/// own ranges.
///
/// # Errors
/// A message if there are not two captures, or two ranges for one.
fn compared_captures<'a>(
    operands: &'a [String],
    range: RangeArguments,
    environment: &dyn Fn(&str) -> Option<OsString>,
) -> Result<(CaptureRange, CaptureRange, &'a [String]), String> {
    let range = range.range(true, environment)?;
    let capture = |word: &String| -> Result<Option<CaptureRange>, String> {
        match file_with_range(word, environment)? {
            Some((file, _)) if !is_file(&file.to_string_lossy()) => {
                Err(format!("no such file '{}' in '{word}'", file.display()))
            }
            Some(_) if !range.is_everything() => {
                Err(format!("'{word}' already has a range; omit --begin and --end"))
            }
            Some(found) => Ok(Some(found)),
            None => Ok(is_file(word).then(|| (PathBuf::from(word), range.clone()))),
        }
    };
    let too_few =
        || "--compare needs two captures: --compare BEFORE AFTER, each FILE or FILE@BEGIN..END".to_owned();
    let [before, after, rest @ ..] = operands else { return Err(too_few()) };
    let (before, after) = capture(before)?.zip(capture(after)?).ok_or_else(too_few)?;
    if before.0.as_os_str() == "-" && after.0.as_os_str() == "-" {
        return Err("only one capture can be standard input".to_owned());
    }
    Ok((before, after, rest))
}

/// Returns whether the locale uses UTF-8 (setlocale(3)).
fn is_unicode(environment: &dyn Fn(&str) -> Option<OsString>) -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .find_map(|name| environment(name).filter(|value| !value.is_empty()))
        .map(|value| value.to_string_lossy().to_ascii_lowercase());
    locale.is_some_and(|locale| locale.contains("utf-8") || locale.contains("utf8"))
}

/// Splits `[FILE] [DEVICE]... [INTERVAL [COUNT]]` into the capture, which may be given as `from`, and the other operands.
pub(super) fn file_and_operands(from: Option<PathBuf>, operands: &[String]) -> (Option<PathBuf>, &[String]) {
    match (from, operands) {
        (None, [word, rest @ ..]) if is_file(word) => (Some(PathBuf::from(word)), rest),
        (from, operands) => (from, operands),
    }
}

/// Returns whether a word names a capture rather than a device: `-`, a path outside /dev, or a regular file in the
/// current directory.
pub(super) fn is_file(word: &str) -> bool {
    word == "-"
        || (word.contains('/') && !word.starts_with("/dev/") && !word.starts_with("mapper/"))
        || Path::new(word).is_file()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn captures_and_devices_are_distinguished() {
        for word in ["-", "a/b", "./x", "/tmp/x", "Cargo.toml"] {
            assert!(is_file(word), "{word}");
        }
        for word in ["vda", "/dev/vda", "/dev/mapper/vg0-root", "mapper/vg0-root", "src"] {
            assert!(!is_file(word), "{word}");
        }
    }
}
