//! Converts between text and samples: the lines of /proc/diskstats of every kernel, and captures of many samples.
//!
//! One parser serves live reading, replay and recording. This module opens no files and reads no clock: a capture comes
//! from any [`std::io::Read`], and warnings are returned to the caller.

mod annotation;
mod diskstats_line;
mod fields;
mod header_writer;
mod limits;
mod line_cache;
mod line_kind;
mod line_layout;
mod line_reader;
pub mod proc_files;
mod range_copy;
mod reader;
mod recorded_scan;
mod recorder_notes;
mod recording_header;
mod segments;
mod time_scan;
mod timestamp;
pub mod trace_hist;
mod warning;
mod writer;

pub use diskstats_line::{LineError, parse_line};
pub use header_writer::write_header;
pub use range_copy::copy_range;
pub use reader::Reader;
pub use recorded_scan::{ScanGrowth, ScanWriter};
pub use recorder_notes::{
    ClockChange, DroppedSamples, WriteStall, write_clock_change, write_dropped_samples, write_stall,
};
pub use recording_header::RecordingHeader;
pub use time_scan::scan_times;
pub use warning::{CaptureWarning, CaptureWarningKind};
pub use writer::{RecordFilter, SampleText, write_sample};

use self::line_cache::LineCache;
use crate::counters::{Device, Sample};

/// Parses the text of /proc/diskstats into the devices of `sample`, reusing its memory.
///
/// Skips invalid lines and calls `on_error` for each, with its line number from 1.
pub fn parse_diskstats(text: &[u8], sample: &mut Sample, on_error: impl FnMut(usize, LineError)) {
    parse_lines(text, &mut sample.devices, None, on_error);
}

/// Parses the text of /proc/diskstats repeatedly, and spends less time on lines that are like those of the previous
/// time.
#[derive(Default)]
pub struct DiskstatsParser {
    cache: LineCache,
    is_repeated: bool,
}

impl DiskstatsParser {
    /// Parses a text as [`parse_diskstats`] does.
    pub fn parse(&mut self, text: &[u8], sample: &mut Sample, on_error: impl FnMut(usize, LineError)) {
        // The cache is not needed if only one text is parsed.
        let is_repeated = std::mem::replace(&mut self.is_repeated, true);
        parse_lines(text, &mut sample.devices, is_repeated.then_some(&mut self.cache), on_error);
    }
}

/// Parses lines, with a cache if there is one.
fn parse_lines(
    text: &[u8],
    devices: &mut Vec<Device>,
    mut cache: Option<&mut LineCache>,
    mut on_error: impl FnMut(usize, LineError),
) {
    let (mut count, mut number, mut rest) = (0, 0, text);
    while !rest.is_empty() {
        number += 1;
        // The slot still has the device of an earlier sample, whose memory is reused.
        let previous = devices.get(count).map(|device| device.counters);
        if let Some(cache) = &mut cache
            && let Some(length) = cache.parse_again(count, rest, devices, previous.as_ref())
        {
            (count, rest) = (count + 1, &rest[length..]);
            continue;
        }
        let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        let line = &rest[..end];
        rest = rest.get(end + 1..).unwrap_or_default();
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let device = slot(devices, count);
        let parsed = match &mut cache {
            Some(cache) => cache.parse(count, line, device, previous.as_ref()),
            None => parse_line(line, device),
        };
        match parsed {
            Ok(()) => count += 1,
            Err(error) => on_error(number, error),
        }
    }
    devices.truncate(count);
}

/// Returns the device at `index`, which is added if the list ends there. Devices are overwritten to reuse their memory.
fn slot(devices: &mut Vec<Device>, index: usize) -> &mut Device {
    if index == devices.len() {
        devices.push(Device::default());
    }
    &mut devices[index]
}
