//! The latest metrics, which one thread publishes and others read, and the thread that keeps a file up to date with them for
//! node_exporter's textfile collector: its disk may not answer.

use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};

use crate::clock::{Clock, RealClock};
use crate::intervals::MetricsSnapshot;
use crate::os_error::os_error_text;
use crate::report::prometheus::metrics_text;
use crate::sanitize::sanitize;
use crate::schedule::Deadlines;
use crate::sink::{remove_file, replace_file};

/// The number of intervals, and below the additional time, after which a sample is late. A busy host may miss one
/// sample.
const MAX_LATE_INTERVALS: u32 = 2;
const MAX_LATE: Duration = Duration::from_secs(1);

pub(super) struct Published {
    pub(super) interval: Duration,
    latest: Mutex<Option<Latest>>,
}

/// Metrics with the monotonic time of their publication.
pub(super) type Latest = (Arc<MetricsSnapshot>, Duration);

impl Published {
    /// Creates a place for metrics that are published after each interval of this length.
    pub(super) fn new(interval: Duration) -> Self {
        Self { interval, latest: Mutex::new(None) }
    }

    pub(super) fn publish(&self, snapshot: MetricsSnapshot, at: Duration) {
        *self.latest.lock().unwrap_or_else(PoisonError::into_inner) = Some((Arc::new(snapshot), at));
    }

    /// Returns the latest metrics; `None` before the first.
    pub(super) fn latest(&self) -> Option<Latest> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the time since the latest metrics if they are late; `None` if they are not.
    pub(super) fn lateness(&self, now: Duration) -> Option<Duration> {
        let age = now.saturating_sub(self.latest()?.1);
        (age > self.interval * MAX_LATE_INTERVALS + MAX_LATE).then_some(age)
    }
}

/// The longest wait for the removal of the file at the end: its disk may not answer.
const MAX_REMOVAL_WAIT: Duration = Duration::from_secs(1);

/// Writes the file until this is dropped, and then removes it: otherwise node_exporter would go on showing metrics that
/// no longer change.
pub(super) struct TextfileWriter {
    /// Messages that have not been printed yet; disconnected when the thread has ended.
    messages: Receiver<String>,
    /// The thread ends when this is gone.
    stop: Option<Sender<()>>,
}

impl Drop for TextfileWriter {
    fn drop(&mut self) {
        self.stop = None;
        // If it takes longer, nothing can be done.
        while self.messages.recv_timeout(MAX_REMOVAL_WAIT).is_ok() {}
    }
}

impl TextfileWriter {
    /// Writes the file once, and from then on in a thread.
    ///
    /// # Errors
    /// If the file cannot be written, or the system has no more threads.
    pub(super) fn start(path: &Path, every: Duration, published: &Arc<Published>) -> Result<Self> {
        let name = sanitize(&path.display().to_string()).into_owned();
        let mut written_at = None;
        write_latest(path, published, &mut written_at).with_context(|| format!("cannot write {name}"))?;
        let (stop, stopped) = channel();
        let (report, messages) = channel();
        let (path, published) = (path.to_owned(), Arc::clone(published));
        start_thread("textfile", move || {
            let clock = RealClock::new(None);
            let mut deadlines = Deadlines::new(clock.monotonic(), every);
            let mut is_failing = false;
            loop {
                let (due, _) = deadlines.next(clock.monotonic());
                let wait = due.saturating_sub(clock.monotonic());
                if stopped.recv_timeout(wait) != Err(RecvTimeoutError::Timeout) {
                    break;
                }
                let written = write_latest(&path, &published, &mut written_at);
                if written.is_err() != std::mem::replace(&mut is_failing, written.is_err()) {
                    // Without a receiver, the program is ending.
                    let _ = report.send(match written {
                        Err(error) => format!("cannot write {name}: {}; trying again", os_error_text(&error)),
                        Ok(()) => format!("writing {name} again"),
                    });
                }
            }
            // After an error, the file remains, as after a crash.
            let _ = remove_file(&path);
        })?;
        Ok(Self { messages, stop: Some(stop) })
    }

    /// Returns a message about the file; `None` if there is no new one.
    pub(super) fn take_message(&self) -> Option<String> {
        self.messages.try_recv().ok()
    }
}

/// Writes the latest metrics unless they have been written already: the age of the file shows when no samples are
/// taken.
fn write_latest(
    path: &Path,
    published: &Published,
    written_at: &mut Option<Duration>,
) -> std::io::Result<()> {
    if let Some((snapshot, at)) = published.latest().filter(|(_, at)| Some(*at) != *written_at) {
        replace_file(path, &metrics_text(&snapshot, published.interval))?;
        *written_at = Some(at);
    }
    Ok(())
}

/// The size of the stack of each further thread, all of which is locked in memory.
const STACK_BYTES: usize = 256 * 1024;

/// Starts a thread with a small stack.
///
/// # Errors
/// If the system has no more threads.
pub(super) fn start_thread(
    name: &str,
    run: impl FnOnce() + Send + 'static,
) -> Result<std::thread::JoinHandle<()>> {
    let builder = std::thread::Builder::new().name(name.to_owned()).stack_size(STACK_BYTES);
    builder.spawn(run).with_context(|| format!("cannot start the thread {name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_are_late_after_two_intervals_and_a_second() {
        let s = Duration::from_secs;
        let published = Published::new(s(5));
        assert!(published.latest().is_none() && published.lateness(s(99)).is_none());
        published.publish(MetricsSnapshot::default(), s(100));
        assert_eq!((published.lateness(s(111)), published.lateness(s(112))), (None, Some(s(12))));
        published.publish(MetricsSnapshot::default(), s(112));
        assert_eq!((published.lateness(s(112)), published.latest().map(|(_, at)| at)), (None, Some(s(112))));
    }
}
