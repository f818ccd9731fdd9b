//! Clocks. Only this module reads the real time and waits.

use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use jiff::Timestamp;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::time::{ClockId, clock_gettime};

use crate::signals::Signals;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitOutcome {
    Due,
    Signal(u8),
    Input,
}

/// A clock that can be read and waited on.
pub trait Clock {
    /// Returns the monotonic time since an unspecified start; it never goes back.
    fn monotonic(&self) -> Duration;
    fn wall(&self) -> Timestamp;
    /// Returns the signal that requested the end of the program; `None` if none was received.
    fn signal(&self) -> Option<u8> {
        None
    }
    /// Forgets that signal, so that the next one can be noticed.
    fn clear_signal(&self) {}
    /// Lets the next signal end the program at once, because what follows does not look for one.
    fn end_at_next_signal(&self) {}
    /// Returns whether the clock advances only while waiting. A separate thread then has no time in which to work.
    fn is_manual(&self) -> bool {
        false
    }
    /// Waits until [`Clock::monotonic`] reaches `deadline`, indefinitely without one, until `input` can be read, or until a
    /// signal requests the end of the program.
    fn wait(&self, deadline: Option<Duration>, input: Option<BorrowedFd<'_>>) -> WaitOutcome;
    /// Waits until [`Clock::monotonic`] reaches `deadline`, or until a signal requests the end of the program.
    fn wait_until(&self, deadline: Duration) -> WaitOutcome {
        self.wait(Some(deadline), None)
    }
}

/// Returns the CPU time that the calling thread has used.
pub fn thread_cpu_time() -> Duration {
    read_clock(ClockId::ThreadCPUTime)
}

/// Reads a clock that is never negative.
fn read_clock(clock: ClockId) -> Duration {
    let now = clock_gettime(clock);
    Duration::new(
        now.tv_sec.unsigned_abs(),
        u32::try_from(now.tv_nsec).unwrap_or_default(),
    )
}

/// Returns a time, or the nearest in the calendar: a clock may be set to the year 10000 or later.
fn within_calendar(seconds: i64, nanoseconds: i64) -> Timestamp {
    let end = if seconds < 0 {
        Timestamp::MIN
    } else {
        Timestamp::MAX
    };
    let nanoseconds = i32::try_from(nanoseconds).unwrap_or_default();
    Timestamp::new(seconds, nanoseconds).unwrap_or(end)
}

pub struct RealClock<'a> {
    signals: Option<&'a Signals>,
}

impl<'a> RealClock<'a> {
    /// Creates a clock whose waits end early when one of `signals` is received.
    pub fn new(signals: Option<&'a Signals>) -> Self {
        Self { signals }
    }
}

impl Clock for RealClock<'_> {
    fn monotonic(&self) -> Duration {
        read_clock(ClockId::Monotonic)
    }

    fn wall(&self) -> Timestamp {
        let now = clock_gettime(ClockId::Realtime);
        within_calendar(now.tv_sec, now.tv_nsec)
    }

    fn signal(&self) -> Option<u8> {
        self.signals.and_then(Signals::received)
    }

    fn clear_signal(&self) {
        self.signals.into_iter().for_each(Signals::clear);
    }

    fn end_at_next_signal(&self) {
        self.signals.into_iter().for_each(Signals::end_at_next);
    }

    fn wait(&self, deadline: Option<Duration>, input: Option<BorrowedFd<'_>>) -> WaitOutcome {
        loop {
            if let Some(signal) = self.signal() {
                return WaitOutcome::Signal(signal);
            }
            let remaining = deadline.map(|deadline| deadline.saturating_sub(self.monotonic()));
            if remaining.is_some_and(|remaining| remaining.is_zero()) {
                return WaitOutcome::Due;
            }
            // After a signal or an error, the loop checks the signals and the clock again.
            let [has_input, _] = poll_inputs(remaining, &[input, self.signals.map(AsFd::as_fd)]);
            // A closed terminal counts as input: its end can be read.
            if has_input {
                return WaitOutcome::Input;
            }
        }
    }
}

/// Waits until one of these can be read or is closed, at most for `limit`. Returns for each whether it can.
pub fn poll_inputs<const N: usize>(
    limit: Option<Duration>,
    inputs: &[Option<BorrowedFd<'_>>; N],
) -> [bool; N] {
    let timeout = limit.and_then(|limit| Timespec::try_from(limit).ok());
    let mut watched: Vec<PollFd<'_>> = inputs
        .iter()
        .flatten()
        .map(|input| PollFd::from_borrowed_fd(*input, PollFlags::IN))
        .collect();
    // After a signal or an error, nothing is ready.
    let _ = poll(&mut watched, timeout.as_ref());
    let mut polled = watched.iter();
    inputs.each_ref().map(|input| {
        input.is_some()
            && polled
                .next()
                .is_some_and(|polled| !polled.revents().is_empty())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_beyond_the_calendar_is_at_its_end() {
        assert_eq!(within_calendar(1 << 40, 5), Timestamp::MAX);
        assert_eq!(within_calendar(-(1 << 40), 5), Timestamp::MIN);
        assert_eq!(within_calendar(7, 5).as_nanosecond(), 7_000_000_005);
    }
}
