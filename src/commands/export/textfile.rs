//! A file for node_exporter's textfile collector, which a thread of its own keeps up to date: its disk may not answer.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use anyhow::{Context, Result};

use super::published::Published;
use super::start_thread;
use crate::clock::{Clock, RealClock};
use crate::os_error::os_error_text;
use crate::sanitize::path_text;
use crate::schedule::Deadlines;
use crate::sink::{remove_file, replace_file};

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
        let name = path_text(path);
        let mut written_at = None;
        write_latest(path, published, &mut written_at)
            .with_context(|| format!("cannot write {name}"))?;
        let (stop, stopped) = channel();
        let (report, messages) = channel();
        let path = path.to_owned();
        let published = Arc::clone(published);
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
                let fails = written.is_err();
                if fails != is_failing {
                    is_failing = fails;
                    // Without a receiver, the program is ending.
                    let _ = report.send(match written {
                        Err(error) => format!(
                            "cannot write {name}: {}; trying again",
                            os_error_text(&error)
                        ),
                        Ok(()) => format!("writing {name} again"),
                    });
                }
            }
            // After an error, the file remains, as after a crash.
            let _ = remove_file(&path);
        })?;
        Ok(Self {
            messages,
            stop: Some(stop),
        })
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
) -> io::Result<()> {
    if let Some(latest) = published.latest()
        && *written_at != Some(latest.at)
    {
        replace_file(path, latest.text())?;
        *written_at = Some(latest.at);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs::{read, read_dir};

    use super::*;
    use crate::totals::MetricsSnapshot;

    #[test]
    #[allow(clippy::disallowed_methods)] // It reads what was written.
    fn the_file_is_replaced_as_a_whole_and_removed_at_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("blkstat.prom");
        let published = Arc::new(Published::new(Duration::from_secs(1)));
        let publish = |intervals: u64| {
            let snapshot = MetricsSnapshot {
                intervals,
                ..MetricsSnapshot::default()
            };
            published.publish(snapshot, Duration::from_secs(intervals));
        };
        publish(0);
        let file = TextfileWriter::start(&path, Duration::from_millis(1), &published).unwrap();
        for interval in 1..=50 {
            publish(interval);
            let newest = format!("\nblkstat_intervals_total {interval}\n");
            loop {
                let text = String::from_utf8(read(&path).unwrap()).unwrap();
                assert!(
                    text.starts_with("# HELP blkstat_build_info ") && text.ends_with('\n'),
                    "{text}"
                );
                let names = read_dir(folder.path()).unwrap();
                let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
                let read = names.filter(|name| name.ends_with(".prom")).count();
                assert_eq!(read, 1);
                if text.contains(&newest) {
                    break;
                }
            }
        }
        assert_eq!(file.take_message(), None);
        drop(file);
        assert_eq!(read_dir(folder.path()).unwrap().count(), 0);
    }
}
