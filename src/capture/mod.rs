//! Converts between text and samples: the lines of /proc/diskstats of every kernel, and captures of many samples.
//!
//! One parser serves live reading, replay and recording. This module opens no files and reads no clock: a capture comes
//! from any [`std::io::Read`], and warnings are returned to the caller.

mod annotation;
mod diskstats_line;
mod limits;
mod line_kind;
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

pub use annotation::write_annotation;
pub use diskstats_line::{LineError, parse_line};
pub use range_copy::copy_range;
pub use reader::{CaptureState, Reader};
pub use recorded_scan::{ScanGrowth, ScanWriter};
pub use recorder_notes::{ClockChange, DroppedSamples, WriteStall, write_clock_change};
pub use recording_header::{RecordingHeader, write_header};
pub use time_scan::scan_times;
pub use warning::{CaptureWarning, CaptureWarningKind};
pub use writer::{RecordFilter, SampleText, write_sample};

use crate::counters::{Device, Sample};

/// Parses the text of /proc/diskstats into the devices of `sample`, reusing its memory.
///
/// Skips invalid lines and calls `on_error` for each, with its line number from 1.
pub fn parse_diskstats(text: &[u8], sample: &mut Sample, mut on_error: impl FnMut(usize, LineError)) {
    let devices = &mut sample.devices;
    let mut count = 0;
    for (number, line) in (1..).zip(text.split(|byte| *byte == b'\n')) {
        if line.trim_ascii().is_empty() {
            continue;
        }
        match parse_line(line, slot(devices, count)) {
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
