//! Converts between text and samples: the lines of /proc/diskstats of every kernel, and captures of many samples.
//!
//! One parser serves live reading, replay and recording. What other programs put around the lines of a capture or a log is taken
//! off before it, in `normal`: times, hosts, indents, colors, objects of JSON. This module opens no files and reads no clock: a
//! capture comes from any [`std::io::Read`], and warnings are returned to the caller.

mod annotation;
mod anonymous;
mod diskstats_line;
mod excerpt;
mod line_kind;
mod logs;
mod normal;
pub mod proc_files;
mod reader;
mod recorded_scan;
mod sample_times;
mod scan_growth;

use std::collections::HashSet;

use crate::counters::{Device, Sample};

pub use self::annotation::{ClockChange, DroppedSamples, RecordFilter, WriteStall};
pub use self::annotation::{RecordingHeader, write_annotation, write_header, write_health};
pub use self::anonymous::Anonymizer;
pub use self::diskstats_line::{LineError, parse_line, write_line};
pub use self::excerpt::Excerpt;
pub use self::logs::LogFacts;
pub use self::normal::time_form::LocalTimes;
pub use self::reader::{CaptureState, Reader};
pub use self::recorded_scan::ScanWriter;
pub use self::sample_times::scan_times;

/// Parses the text of /proc/diskstats into the devices of `sample`, reusing its memory.
///
/// Skips invalid lines and calls `on_error` for each, with its line number from 1.
pub fn parse_diskstats(
    text: &[u8],
    sample: &mut Sample,
    mut on_error: impl FnMut(usize, LineError),
) {
    let devices = &mut sample.devices;
    let mut names = NamesInSample::default();
    let mut count = 0;
    for (number, line) in (1..).zip(text.split(|byte| *byte == b'\n')) {
        if line.trim_ascii().is_empty() {
            continue;
        }
        let parsed = parse_line(line, slot(devices, count));
        match parsed.and_then(|()| names.add(&devices[..=count], None)) {
            Ok(is_kept) => count += usize::from(is_kept),
            Err(error) => on_error(number, error),
        }
    }
    devices.truncate(count);
}

/// The names of the devices in a sample. The kernel lists each once, and everything behind the parser relies on that: a device
/// that a damaged file lists again is left out.
#[derive(Default)]
struct NamesInSample {
    /// All names, once they are not those of the sample before in the same order. That they nearly always are saves the time.
    known: Option<HashSet<String>>,
    /// The names in all samples so far, up to [`MAX_DEVICES_PER_CAPTURE`].
    all: HashSet<String>,
    /// True once a device was left out because there were so many.
    are_too_many: bool,
}

impl NamesInSample {
    /// Begins the next sample.
    fn clear(&mut self) {
        self.known = None;
    }

    /// Adds the last of the devices so far. `before` is the device at this place in the sample before. Returns whether it is
    /// kept; it is not if the capture has too many devices, which is an error once.
    ///
    /// # Errors
    /// If the device is listed already, or is the first of too many.
    fn add(&mut self, devices: &[Device], before: Option<&Device>) -> Result<bool, LineError> {
        let Some((last, earlier)) = devices.split_last() else {
            return Ok(true);
        };
        if self.known.is_none() && before.is_some_and(|before| before.name == last.name) {
            return Ok(true);
        }
        let names_of =
            |devices: &[Device]| devices.iter().map(|device| device.name.clone()).collect();
        let known = self.known.get_or_insert_with(|| names_of(earlier));
        if !known.insert(last.name.clone()) {
            return Err(LineError::listed_again(&last.name));
        }
        if self.all.len() < MAX_DEVICES_PER_CAPTURE || self.all.contains(&last.name) {
            self.all.insert(last.name.clone());
            return Ok(true);
        }
        match std::mem::replace(&mut self.are_too_many, true) {
            true => Ok(false),
            false => Err(LineError::too_many_names()),
        }
    }
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
/// the memory. `analyze` takes 25 KB for each device that is busy in a few intervals.
pub(super) const MAX_DEVICES_PER_SAMPLE: usize = 40_000;

/// The maximum number of devices in all samples of a capture: some kilobytes are kept of each that is gone.
pub(super) const MAX_DEVICES_PER_CAPTURE: usize = 40_000;

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
