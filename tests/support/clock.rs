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
    late_by: Box<dyn Fn(u64) -> Duration + 'a>,
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
            late_by: Box::new(|_| Duration::ZERO),
        }
    }

    /// Makes each wait last longer by what `late_by` returns for its number.
    pub(crate) fn late_by(self, late_by: impl Fn(u64) -> Duration + 'a) -> Self {
        Self {
            late_by: Box::new(late_by),
            ..self
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
        let wait = self.waits.get() + 1;
        self.waits.set(wait);
        self.now
            .set(deadline.max(self.now.get()) + (self.late_by)(wait));
        (self.on_wait)(wait)
    }
}
