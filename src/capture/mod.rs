//! Text into samples: the lines of /proc/diskstats of every kernel, and captures that hold many readings.
//!
//! One parser serves live reading, replay and recording. No files and no clock in here: a capture comes from
//! any [`std::io::Read`], and faults are handed to the caller.

mod cpu;
mod fault;
mod idle;
mod line;
mod lines;
mod machine;
mod note;
mod reader;
mod special;
mod stamp;
mod timeline;
mod write;

pub use cpu::parse_cpu_line;
pub use fault::{CaptureWarning, CaptureWarningKind};
pub use line::{LineError, parse_line};
pub use machine::{parse_blocked, parse_meminfo, parse_pressure};
pub use note::RecordingHeader;
pub use reader::Reader;
pub use write::{RecordFilter, SampleText, write_header, write_sample};

use crate::counters::{Device, Sample};

/// Reads the text of one /proc/diskstats into `sample`, reusing its memory.
///
/// Hands the faults of bad lines, with their line numbers, to `fault`; the good lines are kept.
pub fn parse_diskstats(text: &[u8], sample: &mut Sample, mut fault: impl FnMut(usize, LineError)) {
    let mut used = 0;
    for (number, line) in text.split(|byte| *byte == b'\n').enumerate() {
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        match parse_line(line, slot(&mut sample.devices, used)) {
            Ok(()) => used += 1,
            Err(found) => fault(number + 1, found),
        }
    }
    sample.devices.truncate(used);
}

/// The device at `index`, one past the end included: devices are overwritten to reuse their memory.
fn slot(devices: &mut Vec<Device>, index: usize) -> &mut Device {
    if index == devices.len() {
        devices.push(Device::default());
    }
    &mut devices[index]
}
