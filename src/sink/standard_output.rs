//! Standard output, whose reader may be slow or stopped.

use std::fmt;
use std::fs::File;
use std::io::{self, Write};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::stdio::stdout;

use crate::signals::Signals;

/// As many bytes never wait once there is room in a pipe (pipe(7), PIPE_BUF).
const MAX_BYTES: usize = 4096;
/// The time that a reader has after a signal.
const GRACE: Duration = Duration::from_millis(500);

/// Writes to standard output without a buffer, so that each report is seen at once. A signal ends the wait for a pipe or a
/// terminal that takes no more.
pub struct StandardOutput<'a> {
    file: File,
    /// A regular file takes everything.
    may_wait: bool,
    signals: Option<&'a Signals>,
}

/// Why a write failed: a signal came, and nobody read what was written before.
#[derive(Debug)]
pub struct Unread;

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("nobody reads it")
    }
}

impl std::error::Error for Unread {}

impl<'a> StandardOutput<'a> {
    /// Opens it; `signals` end a wait.
    ///
    /// # Errors
    /// If no file descriptors are left.
    pub fn open(signals: Option<&'a Signals>) -> io::Result<Self> {
        let file = File::from(stdout().try_clone_to_owned()?);
        let may_wait = !file.metadata()?.is_file();
        Ok(Self {
            file,
            may_wait,
            signals,
        })
    }

    /// Waits until something can be written, or the file is closed.
    ///
    /// # Errors
    /// [`Unread`] if a signal came and nothing could be written for [`GRACE`] more.
    fn wait_for_room(&self, signals: &Signals) -> io::Result<()> {
        while signals.received().is_none() {
            let mut watched = [
                PollFd::new(&self.file, PollFlags::OUT),
                PollFd::new(signals, PollFlags::IN),
            ];
            // After a signal or an error, the signals are looked at again.
            let _ = poll(&mut watched, None);
            if !watched[0].revents().is_empty() {
                return Ok(());
            }
        }
        let mut watched = [PollFd::new(&self.file, PollFlags::OUT)];
        let limit = Timespec::try_from(GRACE).ok();
        let _ = poll(&mut watched, limit.as_ref());
        if watched[0].revents().is_empty() {
            return Err(io::Error::other(Unread));
        }
        Ok(())
    }
}

impl Write for StandardOutput<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.signals {
            Some(signals) if self.may_wait => {
                self.wait_for_room(signals)?;
                self.file.write(&bytes[..bytes.len().min(MAX_BYTES)])
            }
            _ => self.file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
