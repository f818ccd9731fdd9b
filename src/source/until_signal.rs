//! Reads a file that the user names, which may be a pipe, until a signal requests the end of the program.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::{OFlags, fcntl_setfl};

use crate::clock::{Clock, WaitOutcome};

/// Opens a file for reading. A FIFO without a writer is open at once, too: open(2) would wait for one and be deaf to signals,
/// but [`UntilSignal`] waits for its first bytes and is not.
pub(super) fn open_without_waiting(path: &Path) -> io::Result<File> {
    let file = open_unblocked(path)?;
    fcntl_setfl(&file, OFlags::empty())?;
    Ok(file)
}

/// Opens a file whose reads do not wait for data.
pub(super) fn open_unblocked(path: &Path) -> io::Result<File> {
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

/// A reader whose reads fail once a signal is received, even while a read waits for data from a pipe.
pub(super) struct UntilSignal<'a> {
    pub(super) file: File,
    /// The position of the next read of a file, if the position of another reader must not move.
    pub(super) position: Option<u64>,
    pub(super) clock: &'a dyn Clock,
}

impl Read for UntilSignal<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if let WaitOutcome::Signal(signal) = self.clock.wait(None, Some(self.file.as_fd())) {
            return Err(interruption(signal));
        }
        let Some(position) = &mut self.position else {
            return self.file.read(into);
        };
        let read = self.file.read_at(into, *position)?;
        *position += read as u64;
        Ok(read)
    }
}

/// Returns the error of a read that a signal ended.
pub(super) fn interruption(signal: u8) -> io::Error {
    io::Error::other(format!("interrupted by signal {signal}"))
}
