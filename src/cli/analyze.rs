//! The grammar of `blkstat analyze`.

use std::io::{IsTerminal, stderr};
use std::path::{Path, PathBuf};

use clap::Args;

use super::native::{VerdictArguments, two_numbers};
use super::operands::devices_and_schedule;
use crate::analysis::StatedCap;
use crate::intervals::{DeviceSelection, Input};
use crate::plan::{Analyze, AnalyzeFormat};

/// The arguments of `analyze`.
#[derive(Args)]
pub(super) struct AnalyzeArguments {
    /// A capture (- is standard input); or devices, interval and count for the running system
    #[arg(value_name = "FILE | DEVICE]... [INTERVAL [COUNT", allow_negative_numbers = true)]
    words: Vec<String>,
    /// The capture, where its name could be mistaken for a device
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    /// Print a fio job file that repeats the observed load on a file that you name
    #[arg(long, conflicts_with = "json")]
    fio: bool,
    /// Analyze only devices whose name matches
    #[arg(long, value_name = "REGEX")]
    devices_regex: Option<String>,
    /// State a cap on reads and writes together
    #[arg(long, value_name = "IOPS[,MiB/s]", value_parser = cap)]
    cap: Option<StatedCap>,
    /// Save the learned unloaded latencies, for --baseline
    #[arg(long, value_name = "FILE")]
    save_baseline: Option<PathBuf>,
    /// Treat warnings about a capture as errors
    #[arg(long)]
    strict: bool,
    #[command(flatten)]
    verdicts: VerdictArguments,
}

fn cap(word: &str) -> Result<StatedCap, String> {
    let (iops, mib_per_s) = two_numbers(word).ok_or("expected IOPS[,MiB/s], such as 3000 or 3000,125")?;
    Ok(StatedCap { iops, mib_per_s })
}

impl AnalyzeArguments {
    /// Returns the analysis that the arguments ask for.
    pub(super) fn plan(self, root: PathBuf) -> Result<Analyze, String> {
        let (from, words) = match (&self.from, self.words.first()) {
            (Some(file), _) => (Some(file.clone()), &self.words[..]),
            (None, Some(word)) if is_file(word) => (Some(PathBuf::from(word)), &self.words[1..]),
            (None, _) => (None, &self.words[..]),
        };
        let (devices, schedule) = devices_and_schedule(words)?;
        if let Some(word) = devices.iter().find(|word| is_file(word)) {
            return Err(format!("'{word}' is a second FILE; analyze takes one"));
        }
        let input = Input {
            from,
            root,
            interval: schedule.interval,
            count: schedule.count,
            strict: self.strict,
            ..Input::default()
        };
        Ok(Analyze {
            input,
            selection: DeviceSelection { devices, regex: self.devices_regex, ..DeviceSelection::default() },
            verdicts: self.verdicts.options(self.cap),
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

/// Whether a word names a capture rather than a device: `-`, a path outside /dev, or a regular file in the current
/// directory.
fn is_file(word: &str) -> bool {
    word == "-"
        || (word.contains('/') && !word.starts_with("/dev/") && !word.starts_with("mapper/"))
        || Path::new(word).is_file()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn captures_and_devices_are_told_apart() {
        for word in ["-", "a/b", "./x", "/tmp/x", "Cargo.toml"] {
            assert!(is_file(word), "{word}");
        }
        for word in ["vda", "/dev/vda", "/dev/mapper/vg0-root", "mapper/vg0-root", "src"] {
            assert!(!is_file(word), "{word}");
        }
    }
}
