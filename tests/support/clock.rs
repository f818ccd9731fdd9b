//! A clock for tests of the running system, which need not wait.

use std::cell::Cell;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use blkstat::clock::{Clock, WaitOutcome};
use jiff::Timestamp;

/// A clock that advances only while waiting.
pub(crate) struct ManualClock<'a> {
    now: Cell<Duration>,
    start: Timestamp,
    on_wait: Box<dyn Fn(u64) -> WaitOutcome + 'a>,
    waits: Cell<u64>,
}

impl<'a> ManualClock<'a> {
    /// Creates a clock at `start`. Each wait, numbered from 1, returns at once with the outcome of `on_wait`, which may
    /// change the files that are read next.
    pub(crate) fn new(start: Timestamp, on_wait: impl Fn(u64) -> WaitOutcome + 'a) -> Self {
        Self {
            now: Cell::new(Duration::ZERO),
            start,
            on_wait: Box::new(on_wait),
            waits: Cell::new(0),
        }
    }
}

impl Clock for ManualClock<'_> {
    fn monotonic(&self) -> Duration {
        self.now.get()
    }

    fn is_manual(&self) -> bool {
        true
    }

    fn wall(&self) -> Timestamp {
        self.start.checked_add(self.now.get()).unwrap_or(self.start)
    }

    fn wait(&self, deadline: Option<Duration>, _input: Option<BorrowedFd<'_>>) -> WaitOutcome {
        let Some(deadline) = deadline else {
            return WaitOutcome::Input;
        };
        self.now.set(deadline.max(self.now.get()));
        self.waits.set(self.waits.get() + 1);
        (self.on_wait)(self.waits.get())
    }
}
