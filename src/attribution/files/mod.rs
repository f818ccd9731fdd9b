//! Parsers of the files of cgroups and processes. Each takes the bytes of a file. A line that it does not understand is
//! ignored without affecting other lines: the kernel's formats grow, and a file may end in the middle of a line.

mod blkio;
mod io_files;
mod process;

pub use self::blkio::{parse_blkio_counter, parse_blkio_limit};
pub use self::io_files::{parse_io_max, parse_io_stat};
pub use self::process::{ProcessStat, parse_process_cgroup, parse_process_io, parse_process_stat};

use crate::counters::DeviceNumber;

/// Splits a text into lines of words. Lines that are not UTF-8 are left out.
fn lines(text: &[u8]) -> impl Iterator<Item = std::str::SplitAsciiWhitespace<'_>> {
    let lines = text.split(|byte| *byte == b'\n');
    lines.filter_map(|line| Some(std::str::from_utf8(line).ok()?.split_ascii_whitespace()))
}

/// Parses a device number such as `8:16`.
fn device_number(word: &str) -> Option<DeviceNumber> {
    let (major, minor) = word.split_once(':')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
