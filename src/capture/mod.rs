//! Converts between text and samples: the lines of /proc/diskstats of every kernel, and captures of many samples.
//!
//! One parser serves live reading, replay and recording. This module opens no files and reads no clock: a capture comes
//! from any [`std::io::Read`], and warnings are returned to the caller.

mod annotation;
mod diskstats_line;
mod hosts;
mod line_kind;
mod line_reader;
mod logs;
pub mod proc_files;
mod range_copy;
mod reader;
mod recorded_scan;
mod scan_growth;
mod stated;
mod time_form;
pub mod trace_hist;

use crate::counters::{Device, Sample};

pub use self::annotation::{ClockChange, DroppedSamples, RecordFilter, WriteStall};
pub use self::annotation::{RecordingHeader, write_annotation, write_header, write_health};
pub use self::diskstats_line::{LineError, parse_line, write_line};
pub use self::logs::LogFacts;
pub use self::range_copy::{copy_range, scan_times};
pub use self::reader::{CaptureState, Reader};
pub use self::recorded_scan::ScanWriter;
pub use self::stated::Stated;
pub use self::time_form::LocalTimes;

/// Parses the text of /proc/diskstats into the devices of `sample`, reusing its memory.
///
/// Skips invalid lines and calls `on_error` for each, with its line number from 1.
pub fn parse_diskstats(
    text: &[u8],
    sample: &mut Sample,
    mut on_error: impl FnMut(usize, LineError),
) {
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

/// The longest line that is read; longer ones are skipped. The kernel's lines are at most a tenth as long.
pub(super) const MAX_LINE_BYTES: usize = 64 * 1024;

/// The maximum number of devices in a sample, far more than hosts have: a few bytes of compressed data must not fill
/// the memory.
pub(super) const MAX_DEVICES_PER_SAMPLE: usize = 100_000;

/// The longest name of a device with a recorded baseline; the kernel's names have at most 32 bytes.
pub(super) const MAX_BASELINE_NAME_BYTES: usize = 256;

/// The maximum number of baselines of a recording.
pub(super) const MAX_BASELINES: usize = 10_000;

/// The maximum number of bytes in the device lines of a sample, because names may be as long as a line.
pub(super) const MAX_SAMPLE_BYTES: usize = 32 * 1024 * 1024;

/// A part of a capture that was skipped, or a point where time breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaptureWarning {
    pub class: WarningClass,
    /// The line number, from 1.
    pub line: u64,
    pub text: String,
    /// The number of further warnings that were counted but not kept, because an endless stream of invalid lines must
    /// not exhaust the memory.
    pub omitted: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarningClass {
    /// Lines are skipped.
    Lines,
    /// The clock did not advance, which breaks time for every reader of the capture.
    Clock,
    /// It tells how the capture was read, and nothing is wrong.
    Note,
    /// The capture continues in the file of this name.
    NextFile,
    /// It is about the capture as a whole, not about a line.
    Capture,
    /// About time, or a missing part of the capture.
    Other,
}

impl CaptureWarning {
    pub fn new(class: WarningClass, line: u64, text: impl Into<String>) -> Self {
        Self {
            class,
            line,
            text: text.into(),
            omitted: 0,
        }
    }

    /// Returns whether it tells how the capture was read, and nothing is wrong.
    pub fn is_note(&self) -> bool {
        matches!(self.class, WarningClass::Note | WarningClass::NextFile)
    }
}
