//! The grammar of `blkstat analyze`.

use std::io::{IsTerminal, stderr};
use std::path::{Path, PathBuf};

use clap::Args;

use super::native::{JudgingArguments, two_numbers};
use super::words::devices_and_pace;
use crate::analysis::StatedCap;
use crate::plan::{Analyze, AnalyzeFormat, DeviceSelection, Input};

/// What `analyze` takes.
#[derive(Args)]
pub(super) struct AnalyzeArguments {
    /// A capture (- is standard input), or devices, how often and how many times, of this machine
    #[arg(value_name = "FILE | DEVICE]... [INTERVAL [COUNT", allow_negative_numbers = true)]
    words: Vec<String>,
    /// The capture, where its name could be taken for a device
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    /// One JSON document
    #[arg(long)]
    json: bool,
    /// A fio job file that repeats the observed load, on a file that you name
    #[arg(long, conflicts_with = "json")]
    fio: bool,
    /// Only devices whose name matches
    #[arg(long, value_name = "REGEX")]
    devices_regex: Option<String>,
    /// A cap that is known, of reads and writes together
    #[arg(long, value_name = "IOPS[,MiB/s]", value_parser = cap)]
    cap: Option<StatedCap>,
    /// Save the unloaded response times that were learnt, for --baseline
    #[arg(long, value_name = "FILE")]
    save_baseline: Option<PathBuf>,
    /// Warnings about a capture are errors
    #[arg(long)]
    strict: bool,
    #[command(flatten)]
    judging: JudgingArguments,
}

fn cap(word: &str) -> Result<StatedCap, String> {
    let (iops, mib_per_s) = two_numbers(word).ok_or("a cap is IOPS[,MiB/s], as in 3000 or 3000,125")?;
    Ok(StatedCap { iops, mib_per_s })
}

impl AnalyzeArguments {
    /// What they ask for.
    pub(super) fn plan(self, root: PathBuf) -> Result<Analyze, String> {
        let (file, words) = match (&self.from, self.words.first()) {
            (Some(file), _) => (Some(file.clone()), &self.words[..]),
            (None, Some(word)) if is_file(word) => (Some(PathBuf::from(word)), &self.words[1..]),
            (None, _) => (None, &self.words[..]),
        };
        let (devices, pace) = devices_and_pace(words)?;
        if let Some(word) = devices.iter().find(|word| is_file(word)) {
            return Err(format!("'{word}' is a second FILE; one is analyzed at a time"));
        }
        Ok(Analyze {
            input: Input { from: file, root, pace, strict: self.strict, ..Input::default() },
            choice: DeviceSelection { devices, regex: self.devices_regex, ..DeviceSelection::default() },
            judging: self.judging.plan(self.cap),
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

/// `-`, a path outside /dev, or the name of a regular file here.
fn is_file(word: &str) -> bool {
    word == "-"
        || (word.contains('/') && !word.starts_with("/dev/") && !word.starts_with("mapper/"))
        || Path::new(word).is_file()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_capture_is_told_from_a_device() {
        for word in ["-", "a/b", "./x", "/tmp/x", "Cargo.toml"] {
            assert!(is_file(word), "{word}");
        }
        for word in ["vda", "/dev/vda", "/dev/mapper/vg0-root", "mapper/vg0-root", "src"] {
            assert!(!is_file(word), "{word}");
        }
    }
}
