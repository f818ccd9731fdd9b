//! Reads the device lines of a sample.

use std::collections::HashSet;

use crate::capture::diskstats_line::{LineError, parse_line};
use crate::capture::slot;
use crate::capture::warning::CaptureWarningKind;
use crate::capture::{MAX_DEVICES_PER_SAMPLE, MAX_SAMPLE_BYTES};
use crate::counters::{Columns, Counters, Device, Sample};

/// The outcome of reading a device line.
pub(super) enum DeviceLine {
    /// The device was added, or exceeds the limits but is not the first to do so.
    Accepted,
    /// The line has lost its end.
    Truncated,
    /// The device is the first that exceeds the limits.
    TooMany,
    /// The line is not a valid line of a device.
    Invalid(LineError),
}

/// The devices of the sample that is being read.
#[derive(Default)]
pub(super) struct SampleDevices {
    count: usize,
    line_bytes: usize,
    has_too_many: bool,
}

impl SampleDevices {
    pub(super) fn clear(&mut self) {
        (self.count, self.line_bytes, self.has_too_many) = (0, 0, false);
    }

    /// Returns the number of devices that were added, and starts counting from zero.
    pub(super) fn take_count(&mut self) -> usize {
        std::mem::take(&mut self.count)
    }

    /// Returns a warning if the sample lacks the devices that the `previous` one lists last, as if the capture were cut
    /// off between two lines; `devices` are those of the sample. It looks the same if the last devices were removed.
    pub(super) fn find_missing_end(
        &self,
        previous: &Sample,
        devices: &[Device],
    ) -> Option<CaptureWarningKind> {
        let devices = &devices[..self.count];
        let present: HashSet<&str> = devices.iter().map(|device| device.name.as_str()).collect();
        let expected = previous.devices.len();
        let missing = match devices.last() {
            None => expected,
            Some(last) => {
                let position = previous.devices.iter().position(|device| device.name == last.name)?;
                let following = &previous.devices[position + 1..];
                if following.iter().any(|device| present.contains(device.name.as_str())) {
                    return None;
                }
                following.len()
            }
        };
        (missing > 0).then_some(CaptureWarningKind::LastSampleLacksDevices { missing, expected })
    }

    /// Adds the device of a line to `devices`. If it is not `is_complete`, the line may have lost its end and is
    /// compared with the `previous` sample.
    pub(super) fn read(
        &mut self,
        line: &[u8],
        is_complete: bool,
        previous: &Sample,
        devices: &mut Vec<Device>,
    ) -> DeviceLine {
        self.line_bytes += line.len();
        if self.count == MAX_DEVICES_PER_SAMPLE || self.line_bytes > MAX_SAMPLE_BYTES {
            let is_first = !std::mem::replace(&mut self.has_too_many, true);
            return if is_first { DeviceLine::TooMany } else { DeviceLine::Accepted };
        }
        let index = self.count;
        match parse_line(line, slot(devices, index)) {
            Ok(()) => {
                self.count += 1;
                if !is_complete && looks_truncated(&devices[index], &devices[..index], previous) {
                    return DeviceLine::Truncated;
                }
                DeviceLine::Accepted
            }
            Err(_) if line.trim_ascii().is_empty() => {
                if is_complete {
                    DeviceLine::Accepted
                } else {
                    DeviceLine::Truncated
                }
            }
            Err(LineError::ColumnCount(_) | LineError::InvalidNumber { .. }) if !is_complete => {
                DeviceLine::Truncated
            }
            Err(error) => DeviceLine::Invalid(error),
        }
    }
}

/// Returns whether a line without a newline has lost its end: it has fewer columns than before (or, for a new device,
/// than its neighbors), or its last number is smaller than before, like a number that has lost digits.
fn looks_truncated(device: &Device, neighbors: &[Device], previous: &Sample) -> bool {
    let counters = &device.counters;
    match previous.device(&device.name) {
        Some(Device { counters: previous, .. }) => {
            counters.columns < previous.columns || last_number(counters) < last_number(previous)
        }
        None => neighbors.iter().any(|other| other.counters.columns > counters.columns),
    }
}

/// Returns the number in the last column that the kernel printed.
fn last_number(counters: &Counters) -> u64 {
    match counters.columns {
        Columns::Partition => counters.writes.sectors,
        Columns::Basic => counters.weighted_ms,
        Columns::Discards => counters.discards.ms,
        Columns::Flushes => counters.flush_ms,
    }
}
