//! Time: the one room that asks what time it is, and that waits.

use std::cell::Cell;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use jiff::Timestamp;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::time::{ClockId, clock_gettime};

use crate::signals::Signals;

/// How a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitOutcome {
    /// The deadline is reached.
    Due,
    /// This signal came first.
    Signal(u8),
    /// There is something to read.
    Input,
}

/// A clock that can be read and waited on.
pub trait Clock {
    /// A time that never goes back; only differences mean anything.
    fn monotonic(&self) -> Duration;
    /// The time of day.
    fn wall(&self) -> Timestamp;
    /// The signal that asked to end, if one did.
    fn signal(&self) -> Option<u8> {
        None
    }
    /// Waits until [`Clock::monotonic`] reaches `deadline`, or a signal asks to end.
    fn wait_until(&self, deadline: Duration) -> WaitOutcome;
    /// The same, or until there is something to read from `input`; without a deadline as long as it takes.
    fn wait_for_input(&self, deadline: Option<Duration>, _input: BorrowedFd<'_>) -> WaitOutcome {
        deadline.map_or(WaitOutcome::Input, |deadline| self.wait_until(deadline))
    }
}

/// The machine's clock.
pub struct RealClock<'a> {
    signals: Option<&'a Signals>,
}

impl<'a> RealClock<'a> {
    /// A clock whose waits the given signals cut short.
    pub fn new(signals: Option<&'a Signals>) -> Self {
        Self { signals }
    }
}

impl Clock for RealClock<'_> {
    fn monotonic(&self) -> Duration {
        let now = clock_gettime(ClockId::Monotonic);
        // The kernel's monotonic clock is never below zero.
        Duration::new(now.tv_sec.unsigned_abs(), u32::try_from(now.tv_nsec).unwrap_or_default())
    }

    #[allow(clippy::disallowed_methods)] // This is the room that knows the real time.
    fn wall(&self) -> Timestamp {
        Timestamp::now()
    }

    fn signal(&self) -> Option<u8> {
        self.signals.and_then(Signals::received)
    }

    fn wait_until(&self, deadline: Duration) -> WaitOutcome {
        self.wait(Some(deadline), None)
    }

    fn wait_for_input(&self, deadline: Option<Duration>, input: BorrowedFd<'_>) -> WaitOutcome {
        self.wait(deadline, Some(input))
    }
}

impl RealClock<'_> {
    fn wait(&self, deadline: Option<Duration>, input: Option<BorrowedFd<'_>>) -> WaitOutcome {
        loop {
            if let Some(signal) = self.signal() {
                return WaitOutcome::Signal(signal);
            }
            let left = deadline.map(|deadline| deadline.saturating_sub(self.monotonic()));
            if left.is_some_and(|left| left.is_zero()) {
                return WaitOutcome::Due;
            }
            let timeout = left.and_then(|left| Timespec::try_from(left).ok());
            let signals = self.signals.map(|signals| PollFd::new(signals, PollFlags::IN));
            let input = input.map(|input| PollFd::from_borrowed_fd(input, PollFlags::IN));
            let has_input = input.is_some();
            let mut watched: Vec<PollFd<'_>> = input.into_iter().chain(signals).collect();
            // Whatever else ends the poll, a signal or an error: the loop looks at the clock again.
            let _ = poll(&mut watched, timeout.as_ref());
            // A terminal that was closed has an end to be read.
            if has_input && watched.first().is_some_and(|input| !input.revents().is_empty()) {
                return WaitOutcome::Input;
            }
        }
    }
}

/// A clock that moves only when it is waited on, for tests.
pub struct ManualClock<'a> {
    now: Cell<Duration>,
    start: Timestamp,
    on_wait: Box<dyn Fn(u64) -> WaitOutcome + 'a>,
    waits: Cell<u64>,
}

impl<'a> ManualClock<'a> {
    /// A clock at `start`. Each wait, counted from 1, is over at once and calls `on_wait`, which may change the
    /// world and says how the wait ended.
    pub fn new(start: Timestamp, on_wait: impl Fn(u64) -> WaitOutcome + 'a) -> Self {
        Self { now: Cell::new(Duration::ZERO), start, on_wait: Box::new(on_wait), waits: Cell::new(0) }
    }
}

impl Clock for ManualClock<'_> {
    fn monotonic(&self) -> Duration {
        self.now.get()
    }

    fn wall(&self) -> Timestamp {
        self.start.checked_add(self.now.get()).unwrap_or(self.start)
    }

    fn wait_until(&self, deadline: Duration) -> WaitOutcome {
        self.now.set(deadline.max(self.now.get()));
        self.waits.set(self.waits.get() + 1);
        (self.on_wait)(self.waits.get())
    }
}
