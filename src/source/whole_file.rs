//! Reads the times of a whole capture in a file, beside the reader of its samples.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::unix::fs::FileExt;

use anyhow::Result;

use super::decompress::decompress;
use super::replay::interruption;
use crate::capture::scan_times;
use crate::clock::Clock;
use crate::time_range::CaptureTimes;

/// A capture in a file, which can be read at any position.
pub(super) struct WholeFile {
    file: File,
    /// The position at which the capture begins: standard input may have been read in part.
    start: u64,
    length: u64,
}

impl WholeFile {
    /// The capture in a file before it is read; `None` for a pipe or a device.
    pub(super) fn of(file: &File) -> Option<Self> {
        let length = file.metadata().ok().filter(std::fs::Metadata::is_file)?.len();
        let mut file = file.try_clone().ok()?;
        let start = file.stream_position().ok()?;
        Some(Self { file, start, length })
    }

    /// Returns the fraction of the file that the reader of its samples, which has the same position, has read.
    pub(super) fn progress(&self) -> Option<f64> {
        let read = (&self.file).stream_position().ok()?.saturating_sub(self.start);
        Some((read as f64 / self.length.max(1) as f64).min(1.0))
    }

    /// Reads its times; `None` without any.
    ///
    /// # Errors
    /// If it cannot be read.
    pub(super) fn scan_times(&self, clock: &dyn Clock) -> Result<Option<CaptureTimes>> {
        let mut times: Option<CaptureTimes> = None;
        let file = FileReader { file: &self.file, position: self.start, clock };
        scan_times(decompress(file)?, |at| match &mut times {
            Some(times) => times.observe(at),
            None => times = Some(CaptureTimes::new(at)),
        })?;
        Ok(times)
    }
}

/// Reads a file without moving the position of another reader, until a signal is received.
struct FileReader<'a> {
    file: &'a File,
    position: u64,
    clock: &'a dyn Clock,
}

impl Read for FileReader<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if let Some(signal) = self.clock.signal() {
            return Err(interruption(signal));
        }
        let read = self.file.read_at(into, self.position)?;
        self.position += read as u64;
        Ok(read)
    }
}
