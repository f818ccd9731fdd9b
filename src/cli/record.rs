//! The grammar of `blkstat record`.

use std::ffi::OsString;
use std::io::{IsTerminal, stderr};
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::operands::schedule;
use crate::plan::Record;

/// What `record` takes.
#[derive(Args)]
pub(super) struct RecordArguments {
    /// The file to write, compressed where its name ends in .gz; - is standard output
    file: PathBuf,
    /// How often: 1, 0.5, 100ms, 2s, 1m; 1 s unless told
    #[arg(allow_negative_numbers = true)]
    interval: Option<String>,
    /// How many intervals; there is one sample more
    #[arg(allow_negative_numbers = true)]
    count: Option<String>,
    /// Only this device, by any of its names; may be given several times
    #[arg(long, value_name = "DEVICE")]
    device: Vec<String>,
    /// Columns of a line: 14 for an old pt-diskstats
    #[arg(long, value_name = "N", default_value = "all")]
    columns: Columns,
    /// Go on behind what FILE holds
    #[arg(long, conflicts_with = "force")]
    append: bool,
    /// Write FILE anew if it exists, and with --rotate let FILE.1, ... give way that were there before
    #[arg(long)]
    force: bool,
    /// Begin a new file before this one passes SIZE (10M, 1G), and call the old ones FILE.1, FILE.2, ...
    #[arg(long, value_name = "SIZE", value_parser = size)]
    rotate: Option<u64>,
    /// With --rotate: keep so many old files
    #[arg(long, value_name = "N", requires = "rotate")]
    keep: Option<u32>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Columns {
    #[value(name = "14")]
    Fourteen,
    All,
}

impl RecordArguments {
    /// What they ask for.
    pub(super) fn plan(
        self,
        root: PathBuf,
        environment: &dyn Fn(&str) -> Option<OsString>,
    ) -> Result<Record, String> {
        Ok(Record {
            schedule: schedule(self.interval.as_ref(), self.count.as_ref())?,
            devices: self.device,
            file: self.file,
            legacy_14_columns: self.columns == Columns::Fourteen,
            append: self.append,
            force: self.force,
            rotate: self.rotate,
            keep: self.keep,
            root,
            stderr_is_tty: stderr().is_terminal(),
            time_zone: environment("TZ"),
        })
    }
}

/// Bytes, with `k`, `M` or `G` for powers of 1024.
fn size(word: &str) -> Result<u64, String> {
    const HOW: &str = "a size is 64k or more, as in 10M or 1G";
    const LEAST: u64 = 64 * 1024;
    let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit: u64 = match &word[digits.len()..] {
        "" => 1,
        "k" | "K" => 1 << 10,
        "m" | "M" => 1 << 20,
        "g" | "G" => 1 << 30,
        _ => return Err(HOW.to_owned()),
    };
    let bytes = digits.parse::<u64>().ok().and_then(|count| count.checked_mul(unit));
    bytes.filter(|bytes| *bytes >= LEAST).ok_or_else(|| HOW.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        assert_eq!((size("10M"), size("65536"), size("1G")), (Ok(10 << 20), Ok(65536), Ok(1 << 30)));
        for word in ["", "M", "1k", "10x", "-5M", "99999999999G"] {
            assert!(size(word).is_err(), "{word}");
        }
    }
}
