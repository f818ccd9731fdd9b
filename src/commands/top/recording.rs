//! Recordings that begin with the history, and exports of the time that is shown.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::sampler::Shared;
use crate::clock::Clock;
use crate::commands::report::base_name;
use crate::report::layout::sentence_numbers::counted;
use crate::screen::{AppOptions, SampleTexts};
use crate::sink::{Destination, IfExists, RecordingFile, WriteQueue, write_recording};
use crate::source::copy_capture_range;

/// The memory in bytes for samples that wait to be written.
const MAX_QUEUE_BYTES: usize = 32 << 20;
/// The longest time that the end of a recording waits for the disk.
const END_PATIENCE: Duration = Duration::from_secs(5);
/// The number of file names that are tried if files exist.
const MAX_NAMES: usize = 100;

pub(super) struct Recording {
    path: PathBuf,
    queue: Arc<WriteQueue>,
    /// The number of samples from the history at its beginning.
    samples_before: u64,
    writer: Option<JoinHandle<()>>,
}

impl Recording {
    /// Starts a recording in a new file of the current directory.
    ///
    /// # Errors
    /// If no thread can be started.
    pub(super) fn start(
        shared: &Shared,
        host: &str,
        now: Timestamp,
        zone: &TimeZone,
    ) -> Result<Self> {
        let queue = Arc::new(WriteQueue::new(MAX_QUEUE_BYTES).context("cannot start to write")?);
        let path = new_path(&base_name(host, now, zone), &[])?;
        // No sample may be lost between the history and the queue.
        let history = {
            let history = shared.text_history();
            shared.set_queue(Some(Arc::clone(&queue)));
            history.texts.clone()
        };
        let samples_before = history.len();
        let (thread_queue, thread_path) = (Arc::clone(&queue), path.clone());
        let write = move || {
            write_recording(&thread_queue, || {
                Ok(Destination::File(Box::new(write_history(
                    &thread_path,
                    &history,
                )?)))
            });
        };
        let writer = thread::Builder::new()
            .name("blkstat-record".to_owned())
            .spawn(write);
        let writer = Some(writer.context("cannot start to write")?);
        Ok(Self {
            path,
            queue,
            samples_before,
            writer,
        })
    }

    pub(super) fn name(&self) -> String {
        self.path.display().to_string()
    }

    /// Returns its file, and the number of samples or the reason why nothing is written at present.
    pub(super) fn status(&self) -> String {
        let progress = self.queue.progress();
        match progress.obstacle {
            Some(problem) => format!("{}: {problem}", self.name()),
            None => format!(
                "{} {}",
                self.name(),
                counted(self.samples_before + progress.samples, "sample")
            ),
        }
    }

    /// Returns the error that ended the recording; `None` while it is in progress.
    pub(super) fn take_failure(&self) -> Option<anyhow::Error> {
        self.queue
            .is_done()
            .then(|| self.queue.take_error())
            .flatten()
    }

    /// Ends the recording and returns a message about it.
    pub(super) fn end(mut self, shared: &Shared) -> String {
        shared.set_queue(None);
        self.queue.end();
        let is_done = self.queue.wait_until_done(END_PATIENCE);
        if is_done && let Some(writer) = self.writer.take() {
            // A writer that failed has left its error.
            let _ = writer.join();
        }
        let name = self.name();
        let samples = self.samples_before + self.queue.progress().samples;
        match self.queue.take_error() {
            Some(error) => format!("{name}: {error:#}"),
            None if !is_done => {
                format!("{name}: the disk does not answer; the last samples may be lost")
            }
            None => format!("{samples} samples recorded in {name}"),
        }
    }
}

/// Writes samples to a new file.
///
/// # Errors
/// If the file exists or cannot be written.
fn write_history(path: &Path, history: &SampleTexts) -> Result<RecordingFile> {
    let mut file = RecordingFile::open(path, &path.display().to_string(), IfExists::Refuse, None)?;
    history.try_for_each(|text| file.write(text).map(drop))?;
    Ok(file)
}

/// Returns the path of a file that does not exist yet and is not among `pending`, the files about to be written.
///
/// # Errors
/// If files of all names exist.
fn new_path(base_name: &str, pending: &[PathBuf]) -> Result<PathBuf> {
    let name = |number: usize| match number {
        1 => format!("{base_name}.gz"),
        number => format!("{base_name}-{number}.gz"),
    };
    let mut paths = (1..=MAX_NAMES).map(|number| PathBuf::from(name(number)));
    paths
        .find(|path| !path.exists() && !path.is_symlink() && !pending.contains(path))
        .with_context(|| format!("{base_name}.gz exists"))
}

/// The time between checks of the exports that the end of the program waits for.
const END_TICK: Duration = Duration::from_millis(50);

/// A range of time: the times of its first and its last sample.
type Range = (Timestamp, Timestamp);

/// An export that has ended: its file, and a message.
type Ended = (PathBuf, String);

/// The exports in progress. Each is written in a thread, because it may take long.
pub(super) struct Exports {
    /// The files of the capture that is shown; none for the running system.
    files: Vec<PathBuf>,
    sender: Sender<Ended>,
    ended: Receiver<Ended>,
    /// The files that are being written.
    pending: Vec<PathBuf>,
}

impl Exports {
    pub(super) fn new(files: Vec<PathBuf>) -> Self {
        let (sender, ended) = channel();
        Self {
            files,
            sender,
            ended,
            pending: Vec::new(),
        }
    }

    /// Starts an export. Returns the name of its file.
    ///
    /// # Errors
    /// If the intervals have no time of day, files of all names exist, or no thread can be started.
    pub(super) fn start(
        &mut self,
        range: Option<Range>,
        history: SampleTexts,
        options: &AppOptions,
    ) -> Result<String> {
        let range = range.context("these intervals have no time of day")?;
        let base = base_name(&options.host, range.0, &options.time_zone);
        let path = new_path(&base, &self.pending)?;
        let name = path.display().to_string();
        self.pending.push(path.clone());
        let (files, sender) = (self.files.clone(), self.sender.clone());
        let write = move || {
            let written = write_samples(&path, range, history, &files);
            let message = written.unwrap_or_else(|error| format!("export failed: {error:#}"));
            // The receiver is gone if the program ended without waiting.
            let _ = sender.send((path, message));
        };
        let builder = thread::Builder::new().name("blkstat-export".to_owned());
        builder.spawn(write).context("cannot start to write")?;
        Ok(name)
    }

    /// Takes the message of an export that has ended; `None` if there is none.
    pub(super) fn take_message(&mut self) -> Option<String> {
        let (path, message) = self.ended.try_recv().ok()?;
        self.pending.retain(|pending| *pending != path);
        Some(message)
    }

    /// Waits for the exports in progress, until a signal comes, and prints their messages. Must be called after the
    /// screen is closed.
    pub(super) fn finish(&mut self, clock: &dyn Clock, print: &mut dyn FnMut(&str)) {
        let mut has_said = false;
        loop {
            while let Some(message) = self.take_message() {
                print(&message);
            }
            if self.pending.is_empty() || clock.signal().is_some() {
                return;
            }
            if !std::mem::replace(&mut has_said, true) {
                print("waiting for the export; Ctrl-C abandons it");
            }
            clock.wait_until(clock.monotonic() + END_TICK);
        }
    }
}

/// Writes the samples of a range of time to a new recording. Returns a message.
fn write_samples(
    path: &Path,
    range: Range,
    history: SampleTexts,
    files: &[PathBuf],
) -> Result<String> {
    let history = history.within(range);
    let mut samples = history.len();
    if files.is_empty() && samples < 2 {
        bail!("there are no samples of this time");
    }
    let mut file = write_history(path, &history)?;
    for capture in files {
        samples += copy_capture_range(capture, range.0..=range.1, |text| {
            file.write(text).map(drop)
        })?;
    }
    file.finish()?;
    file.sync()?;
    Ok(format!("exported {samples} samples to {}", path.display()))
}
