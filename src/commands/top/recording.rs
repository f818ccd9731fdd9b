//! Recordings that begin with the history.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context, Result};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::super::report::base_name;
use super::sampler::Shared;
use crate::screen::{RecordingStatus, SampleTexts};
use crate::sink::{Destination, IfExists, RecordingFile, WriteQueue, write_recording};

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
    pub(super) fn start(shared: &Shared, host: &str, now: Timestamp, zone: &TimeZone) -> Result<Self> {
        let queue = Arc::new(WriteQueue::new(MAX_QUEUE_BYTES).context("cannot start to write")?);
        let path = new_path(&base_name(host, now, zone), "gz", &[])?;
        // No sample may be lost between the history and the queue.
        let history = {
            let texts = shared.texts();
            shared.set_queue(Some(Arc::clone(&queue)));
            texts.clone()
        };
        let samples_before = history.len();
        let (thread_queue, thread_path) = (Arc::clone(&queue), path.clone());
        let write = move || {
            write_recording(&thread_queue, || {
                Ok(Destination::File(Box::new(write_history(&thread_path, &history)?)))
            });
        };
        let writer = thread::Builder::new().name("blkstat-record".to_owned()).spawn(write);
        let writer = Some(writer.context("cannot start to write")?);
        Ok(Self { path, queue, samples_before, writer })
    }

    pub(super) fn status(&self) -> RecordingStatus {
        let progress = self.queue.progress();
        RecordingStatus {
            name: self.path.display().to_string(),
            samples: self.samples_before + progress.samples,
            problem: progress.obstacle,
        }
    }

    /// Returns the error that ended the recording; `None` while it is in progress.
    pub(super) fn take_failure(&self) -> Option<anyhow::Error> {
        self.queue.is_done().then(|| self.queue.take_error()).flatten()
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
        let name = self.path.display().to_string();
        let samples = self.samples_before + self.queue.progress().samples;
        match self.queue.take_error() {
            Some(error) => format!("{name}: {error:#}"),
            None if !is_done => format!("{name}: the disk does not answer; the last samples may be lost"),
            None => format!("{samples} samples recorded in {name}"),
        }
    }
}

/// Writes samples to a new file.
///
/// # Errors
/// If the file exists or cannot be written.
pub(super) fn write_history(path: &Path, history: &SampleTexts) -> Result<RecordingFile> {
    let mut file = RecordingFile::open(path, &path.display().to_string(), IfExists::Refuse, None)?;
    history.try_for_each(|text| file.write(text).map(drop))?;
    Ok(file)
}

/// Returns the path of a file that does not exist yet and is not among `pending`, the files about to be written.
///
/// # Errors
/// If files of all names exist.
pub(super) fn new_path(base_name: &str, extension: &str, pending: &[PathBuf]) -> Result<PathBuf> {
    let name = |number: usize| match number {
        1 => format!("{base_name}.{extension}"),
        number => format!("{base_name}-{number}.{extension}"),
    };
    let mut paths = (1..=MAX_NAMES).map(|number| PathBuf::from(name(number)));
    paths
        .find(|path| !path.exists() && !path.is_symlink() && !pending.contains(path))
        .with_context(|| format!("{base_name}.{extension} exists"))
}
