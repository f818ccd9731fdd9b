//! Writes the samples of a queue in a separate thread, the only one that waits for the disk.

use std::fmt;
use std::io::{self, ErrorKind, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use anyhow::{Context, Result, anyhow};

use super::recording::RecordingFile;
use super::write_queue::{NextWrite, SampleBlock, WriteQueue};
use crate::capture::{WriteStall, write_annotation};
use crate::clock::{Clock, RealClock};
use crate::os_error::os_error_text;

/// The shortest time between the beginnings of two syncs. A power failure loses data written since the last one.
const SYNC_INTERVAL: Duration = Duration::from_secs(5);
/// The time between attempts to write to a full disk.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);
/// A write or a sync that takes this long is noted in the recording.
const MIN_STALL: Duration = Duration::from_secs(1);

pub enum Destination<'a> {
    File(Box<RecordingFile>),
    /// Standard output.
    Output(&'a mut (dyn Write + Send)),
}

/// Marks an error that occurred while writing to standard output.
#[derive(Debug)]
pub struct OutputError;

impl fmt::Display for OutputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot write to standard output")
    }
}

/// Opens the destination, and writes the samples of `queue` until the recording ends. Also returns after an error,
/// which is then stored in the queue.
pub fn write_recording<'a>(queue: &'a WriteQueue, open: impl FnOnce() -> Result<Destination<'a>>) {
    let result = catch_unwind(AssertUnwindSafe(|| {
        let destination = open()?;
        if let Destination::File(file) = &destination {
            queue.update(|progress| progress.damage = file.damage().map(str::to_owned));
        }
        queue.open();
        Writer::new(queue, destination).run()
    }));
    let result = result.unwrap_or_else(|_| Err(anyhow!("the thread that writes the recording failed")));
    queue.finish(result.err());
}

struct Writer<'a> {
    queue: &'a WriteQueue,
    destination: Destination<'a>,
    /// The last header, with which a rotated file begins.
    header: Vec<u8>,
    clock: RealClock<'static>,
    /// The beginning of the last sync.
    last_sync: Duration,
    /// The last time in which the destination did not accept anything, until it is noted in the recording.
    stall: Option<WriteStall>,
}

impl<'a> Writer<'a> {
    fn new(queue: &'a WriteQueue, destination: Destination<'a>) -> Self {
        let clock = RealClock::new(None);
        let last_sync = clock.monotonic();
        Self { queue, destination, header: Vec::new(), clock, last_sync, stall: None }
    }

    /// Writes samples to the end, and closes the destination. A file to which nothing could be written is removed.
    fn run(mut self) -> Result<()> {
        let result = self.write_samples();
        if let (Err(_), Destination::File(file)) = (&result, &self.destination) {
            file.remove_if_empty();
        }
        result
    }

    fn write_samples(&mut self) -> Result<()> {
        loop {
            match self.queue.next(self.time_to_sync()) {
                NextWrite::Sample(sample) => self.write_sample(sample)?,
                NextWrite::TimedOut => {}
                NextWrite::End => break,
            }
            if self.time_to_sync().is_some_and(|time| time.is_zero()) {
                self.sync()?;
            }
        }
        self.on_file(RecordingFile::finish)?;
        self.sync()
    }

    /// Returns the time until the next sync; `None` if there is nothing to sync.
    fn time_to_sync(&self) -> Option<Duration> {
        match &self.destination {
            Destination::File(file) if file.needs_sync() => {
                Some((self.last_sync + SYNC_INTERVAL).saturating_sub(self.clock.monotonic()))
            }
            Destination::File(_) | Destination::Output(_) => None,
        }
    }

    fn sync(&mut self) -> Result<()> {
        let Destination::File(file) = &mut self.destination else { return Ok(()) };
        self.last_sync = self.clock.monotonic();
        let result = file.sync();
        self.note_duration(self.last_sync, None);
        result
    }

    fn write_sample(&mut self, mut sample: SampleBlock) -> Result<()> {
        let has_header = !sample.header.is_empty();
        if has_header {
            self.header = std::mem::take(&mut sample.header);
        }
        let mut block = self.block(&sample, has_header);
        let epoch_s = sample.at.map_or(0, |at| at.as_second());
        if let Destination::File(file) = &mut self.destination {
            if file.is_deleted() {
                self.on_file(RecordingFile::recreate)?;
                self.queue.update(|progress| progress.deletions += 1);
                block = self.block(&sample, true);
            } else if file.is_rotation_due(block.len(), epoch_s, sample.utc_offset_s) {
                self.on_file(RecordingFile::rotate)?;
                block = self.block(&sample, true);
            }
        }
        let bytes = self.write_block(&block)?;
        self.queue.update(|progress| {
            progress.samples += 1;
            progress.bytes += bytes;
            progress.waiting -= 1;
            progress.last_at = sample.at;
        });
        Ok(())
    }

    /// Returns the text of a sample, with the notes that precede it.
    fn block(&mut self, sample: &SampleBlock, has_header: bool) -> Vec<u8> {
        let mut block = Vec::new();
        if has_header {
            block.extend_from_slice(&self.header);
        }
        if let Some(stall) = &self.stall {
            write_annotation(stall, &mut block);
        }
        if sample.dropped.count > 0 {
            write_annotation(&sample.dropped, &mut block);
        }
        block.extend_from_slice(&sample.notes);
        if let Some(scan) = &sample.scan {
            scan.write(&mut block);
        }
        block.extend_from_slice(&sample.text);
        block
    }

    /// Writes a block and returns the number of bytes written.
    fn write_block(&mut self, block: &[u8]) -> Result<u64> {
        self.stall = None;
        if let Destination::Output(out) = &mut self.destination {
            let start = self.clock.monotonic();
            out.write_all(block).and_then(|()| out.flush()).context(OutputError)?;
            self.note_duration(start, None);
            return Ok(block.len() as u64);
        }
        let mut bytes = 0;
        let mut is_first = true;
        self.on_file(|file| {
            bytes = if std::mem::take(&mut is_first) { file.write(block)? } else { file.write_pending()? };
            Ok(())
        })?;
        Ok(bytes)
    }

    /// Applies an operation to the file, repeatedly while the disk is full. When the recording ends, a last attempt is
    /// made. If nothing was recorded yet, there is only one attempt.
    fn on_file(&mut self, mut operation: impl FnMut(&mut RecordingFile) -> Result<()>) -> Result<()> {
        let Destination::File(file) = &mut self.destination else { return Ok(()) };
        let start = self.clock.monotonic();
        let has_samples = self.queue.progress().samples > 0;
        let mut is_last = !has_samples || !file.can_retry();
        let mut obstacle = None;
        let result = loop {
            match operation(file) {
                Err(error) if !is_last && is_disk_full(&error) => {
                    let text = format!("{error:#}");
                    obstacle = error.downcast_ref().map(os_error_text);
                    self.queue.update(|progress| progress.obstacle = Some(text));
                    is_last = self.queue.wait_to_retry(RETRY_INTERVAL);
                }
                result => break result,
            }
        };
        if obstacle.is_some() && result.is_ok() {
            self.queue.update(|progress| progress.obstacle = None);
        }
        self.note_duration(start, obstacle);
        result
    }

    fn note_duration(&mut self, start: Duration, error: Option<String>) {
        let duration = self.clock.monotonic().saturating_sub(start);
        self.queue.update(|progress| progress.slowest = progress.slowest.max(duration));
        if duration >= MIN_STALL && self.stall.as_ref().is_none_or(|stall| stall.duration < duration) {
            self.stall = Some(WriteStall { duration, error });
        }
    }
}

/// Returns whether the error may go away when files are deleted.
fn is_disk_full(error: &anyhow::Error) -> bool {
    let kind = error.downcast_ref::<io::Error>().map(io::Error::kind);
    matches!(kind, Some(ErrorKind::StorageFull | ErrorKind::QuotaExceeded))
}
