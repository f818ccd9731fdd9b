//! The queue between the thread that samples and the thread that writes. Adding a sample never waits for a disk.

use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;

use super::sample_queue::{SampleBlock, SampleQueue};
use crate::capture::DroppedSamples;

/// Samples that wait to be written.
pub struct WriteQueue {
    state: Mutex<State>,
    changed: Condvar,
    /// Closed by the writer when it fails.
    writer_end: Mutex<Option<UnixStream>>,
    /// Becomes readable when the writer fails.
    failure: UnixStream,
}

struct State {
    samples: SampleQueue,
    is_open: bool,
    is_ending: bool,
    is_done: bool,
    progress: WriteProgress,
    error: Option<anyhow::Error>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WriteProgress {
    pub samples: u64,
    pub bytes: u64,
    /// The number of samples that wait to be written, including the one being written.
    pub waiting: usize,
    /// The samples that were dropped because too many were waiting.
    pub dropped: DroppedSamples,
    /// The longest time that the destination took to accept or to sync samples.
    pub slowest: Duration,
    /// The time of the last sample written; `None` if there is none.
    pub last_at: Option<Timestamp>,
    /// The reason why nothing can be written at present, but perhaps later; `None` if there is none.
    pub obstacle: Option<String>,
    /// The number of times that another program deleted the file and it was created again.
    pub deletions: u64,
    /// The reason why an existing file was rotated instead of being appended to; `None` if it was not.
    pub damage: Option<String>,
}

/// The next thing for the writer to do.
pub(super) enum NextWrite {
    Sample(SampleBlock),
    TimedOut,
    End,
}

impl WriteQueue {
    /// Creates an empty queue of at most this many bytes. A single sample is accepted regardless of its size.
    ///
    /// # Errors
    /// If no file descriptors are left.
    pub fn new(max_bytes: usize) -> io::Result<Self> {
        let (failure, writer_end) = UnixStream::pair()?;
        let state = State {
            samples: SampleQueue::new(max_bytes),
            is_open: false,
            is_ending: false,
            is_done: false,
            progress: WriteProgress::default(),
            error: None,
        };
        Ok(Self {
            state: Mutex::new(state),
            changed: Condvar::new(),
            writer_end: Mutex::new(Some(writer_end)),
            failure,
        })
    }

    /// Adds a sample. If the queue is full, it is thinned out.
    pub fn push(&self, sample: SampleBlock) {
        let mut state = self.lock();
        if !state.is_done {
            state.progress.waiting += 1;
            let dropped = state.samples.push(sample);
            state.progress.waiting -= usize::try_from(dropped.count).unwrap_or_default();
            state.progress.dropped.extend(dropped);
            self.changed.notify_all();
        }
    }

    /// Returns the state of the recording.
    pub fn progress(&self) -> WriteProgress {
        self.lock().progress.clone()
    }

    /// Returns a file that becomes readable when the writer fails.
    pub fn failure(&self) -> BorrowedFd<'_> {
        self.failure.as_fd()
    }

    /// Waits until the writer has opened the destination or failed to, at most for `limit`. Returns whether it has.
    pub fn wait_until_open(&self, limit: Duration) -> bool {
        let is_opening = |state: &mut State| !state.is_open && !state.is_done;
        let waited = self.changed.wait_timeout_while(self.lock(), limit, is_opening);
        !is_opening(&mut waited.unwrap_or_else(PoisonError::into_inner).0)
    }

    /// Returns whether the writer has ended, because of an error or as requested.
    pub fn is_done(&self) -> bool {
        self.lock().is_done
    }

    /// Makes the writer end after the waiting samples.
    pub fn end(&self) {
        self.lock().is_ending = true;
        self.changed.notify_all();
    }

    /// Waits until the writer has ended, at most for `limit`. Returns whether it has.
    pub fn wait_until_done(&self, limit: Duration) -> bool {
        let state = self.lock();
        let waited = self.changed.wait_timeout_while(state, limit, |state| !state.is_done);
        waited.unwrap_or_else(PoisonError::into_inner).0.is_done
    }

    /// Takes the error that ended the writer; `None` if there was none.
    pub fn take_error(&self) -> Option<anyhow::Error> {
        self.lock().error.take()
    }

    /// Waits for the next sample, the end, or until `limit` has passed.
    pub(super) fn next(&self, limit: Option<Duration>) -> NextWrite {
        let is_waiting = |state: &mut State| state.samples.len() == 0 && !state.is_ending;
        let state = self.lock();
        let mut state = match limit {
            Some(limit) => {
                let waited = self.changed.wait_timeout_while(state, limit, is_waiting);
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
            None => self.changed.wait_while(state, is_waiting).unwrap_or_else(PoisonError::into_inner),
        };
        match state.samples.pop() {
            Some(sample) => NextWrite::Sample(sample),
            None if state.is_ending => NextWrite::End,
            None => NextWrite::TimedOut,
        }
    }

    /// Waits before a write is tried again. Returns whether the recording ends, so that it is the last attempt.
    pub(super) fn wait_to_retry(&self, limit: Duration) -> bool {
        let state = self.lock();
        let waited = self.changed.wait_timeout_while(state, limit, |state| !state.is_ending);
        waited.unwrap_or_else(PoisonError::into_inner).0.is_ending
    }

    /// Updates the state of the recording.
    pub(super) fn update(&self, update: impl FnOnce(&mut WriteProgress)) {
        update(&mut self.lock().progress);
    }

    /// Notes that the destination is open.
    pub(super) fn open(&self) {
        self.lock().is_open = true;
        self.changed.notify_all();
    }

    /// Notes that the writer has ended.
    pub(super) fn finish(&self, error: Option<anyhow::Error>) {
        let mut state = self.lock();
        state.is_done = true;
        if error.is_some() {
            // Closing this end makes the other end readable. An error would only delay the message.
            let writer_end = self.writer_end.lock().unwrap_or_else(PoisonError::into_inner).take();
            let _ = writer_end.map(|mut stream| stream.write(&[0]));
        }
        state.error = error;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic of one thread must not lose the samples of the other.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends the recording when it is dropped, so that the writer also ends after a panic.
pub struct EndOnDrop<'a>(pub &'a WriteQueue);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}
