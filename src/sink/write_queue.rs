//! The queue between the thread that samples and the thread that writes, the only one that waits for the disk, in bounded
//! memory.
//!
//! When the samples exceed the bound, the oldest detail is given up first: every second sample of the older half is
//! dropped. Counters only grow, so the remaining samples still count every request; only the distribution of requests
//! over the time in between is lost. The longer a disk does not accept anything, the coarser the beginning of that time
//! becomes, while the latest samples stay complete.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::{fmt, mem};

use anyhow::{Context, Result, anyhow};
use jiff::Timestamp;

use super::recording::{Loss, RecordingFile};
use crate::capture::{DroppedSamples, WriteStall, write_annotation};
use crate::clock::{Clock, RealClock};
use crate::os_error::{is_lack_of_descriptors, os_error_text};

/// A sample that is ready to be written.
#[derive(Clone, Debug, Default)]
pub struct SampleBlock {
    /// The header that describes this and the following samples; empty if the previous header still does.
    pub header: Vec<u8>,
    /// Notes about the time before the sample, which are kept even if the sample is dropped.
    pub notes: Vec<u8>,
    /// The scan of cgroups and processes, if there is a new one, and the sample.
    pub text: Vec<u8>,
    /// The time at which it was taken; `None` if it is not known.
    pub at: Option<Timestamp>,
    /// Seconds that local clocks were ahead of UTC, which decides when a day ends.
    pub utc_offset_s: i64,
    /// The dropped samples before it.
    pub dropped: DroppedSamples,
}

impl SampleBlock {
    fn bytes(&self) -> usize {
        size_of::<Self>() + self.header.len() + self.notes.len() + self.text.len()
    }

    /// Returns its text, as it stands in a recording where nothing was dropped.
    pub fn text(&self) -> Vec<u8> {
        [self.header.as_slice(), &self.notes, &self.text].concat()
    }

    /// Moves everything that must not be lost with this sample to the next one.
    fn drop_before(mut self, next: &mut Self) {
        self.dropped.add(self.at);
        self.dropped.extend(next.dropped);
        next.dropped = self.dropped;
        if next.header.is_empty() {
            next.header = self.header;
        }
        self.notes.append(&mut next.notes);
        next.notes = self.notes;
    }
}

/// Samples that wait to be written.
pub struct WriteQueue {
    state: Mutex<State>,
    changed: Condvar,
    /// Becomes readable when the writer fails.
    failure: UnixStream,
}

#[derive(Default)]
struct State {
    /// In the order in which they were taken.
    samples: VecDeque<SampleBlock>,
    bytes: usize,
    max_bytes: usize,
    is_open: bool,
    is_ending: bool,
    is_done: bool,
    progress: WriteProgress,
    error: Option<anyhow::Error>,
    /// Closed by the writer when it fails.
    writer_end: Option<UnixStream>,
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
    /// The number of times that the file was lost, or could not be rotated, and the recording went on, and what happened the last
    /// time.
    pub losses: u64,
    pub loss: String,
    /// The reason why an existing file was rotated instead of being appended to; `None` if it was not.
    pub damage: Option<String>,
}

/// The next thing for the writer to do.
enum NextWrite {
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
            max_bytes,
            writer_end: Some(writer_end),
            ..State::default()
        };
        Ok(Self {
            state: Mutex::new(state),
            changed: Condvar::new(),
            failure,
        })
    }

    /// Adds a sample. If the queue is full, it is thinned out.
    pub fn push(&self, sample: SampleBlock) {
        let mut state = self.lock();
        if !state.is_done {
            state.progress.waiting += 1;
            state.bytes += sample.bytes();
            state.samples.push_back(sample);
            while state.bytes > state.max_bytes && state.samples.len() > 1 {
                state.thin();
            }
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
        let state = self.wait_while(limit, |state| !state.is_open && !state.is_done);
        state.is_open || state.is_done
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
        self.wait_while(limit, |state| !state.is_done).is_done
    }

    /// Takes the error that ended the writer; `None` if there was none.
    pub fn take_error(&self) -> Option<anyhow::Error> {
        self.lock().error.take()
    }

    /// Waits for the next sample, the end, or until `limit` has passed.
    fn next(&self, limit: Option<Duration>) -> NextWrite {
        let is_waiting = |state: &mut State| state.samples.is_empty() && !state.is_ending;
        let mut state = match limit {
            Some(limit) => self.wait_while(limit, is_waiting),
            None => self
                .changed
                .wait_while(self.lock(), is_waiting)
                .unwrap_or_else(PoisonError::into_inner),
        };
        match state.samples.pop_front() {
            Some(sample) => {
                state.bytes -= sample.bytes();
                NextWrite::Sample(sample)
            }
            None if state.is_ending => NextWrite::End,
            None => NextWrite::TimedOut,
        }
    }

    /// Updates the state of the recording.
    fn update(&self, update: impl FnOnce(&mut WriteProgress)) {
        update(&mut self.lock().progress);
    }

    /// Notes that the destination is open.
    fn open(&self) {
        self.lock().is_open = true;
        self.changed.notify_all();
    }

    /// Notes that the writer has ended.
    fn finish(&self, error: Option<anyhow::Error>) {
        let mut state = self.lock();
        state.is_done = true;
        if error.is_some() {
            // Closing this end makes the other end readable. An error would only delay the message.
            let _ = state.writer_end.take().map(|mut stream| stream.write(&[0]));
        }
        state.error = error;
        self.changed.notify_all();
    }

    /// Waits while a condition holds, at most for `limit`.
    fn wait_while(
        &self,
        limit: Duration,
        is_waiting: impl FnMut(&mut State) -> bool,
    ) -> MutexGuard<'_, State> {
        let waited = self
            .changed
            .wait_timeout_while(self.lock(), limit, is_waiting);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic of one thread must not lose the samples of the other.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Drops every second sample of the older half, at least one.
    fn thin(&mut self) {
        let older = (self.samples.len() / 2).max(2);
        let mut last: Option<SampleBlock> = None;
        for (index, mut sample) in mem::take(&mut self.samples).into_iter().enumerate() {
            match last.take() {
                Some(before) if index < older && index % 2 == 1 => {
                    self.progress.waiting -= 1;
                    self.progress.dropped.add(before.at);
                    before.drop_before(&mut sample);
                }
                before => self.samples.extend(before),
            }
            last = Some(sample);
        }
        self.samples.extend(last);
        self.bytes = self.samples.iter().map(SampleBlock::bytes).sum();
    }
}

/// Ends the recording when it is dropped, so that the writer also ends after a panic.
pub struct EndOnDrop<'a>(pub &'a WriteQueue);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

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

/// Opens the destination, and writes the samples of `queue` until the recording ends. Also returns after an error, which is
/// then stored in the queue; a file to which nothing could be written is removed.
pub fn write_recording<'a>(queue: &'a WriteQueue, open: impl FnOnce() -> Result<Destination<'a>>) {
    let result = catch_unwind(AssertUnwindSafe(|| {
        let destination = open()?;
        if let Destination::File(file) = &destination {
            queue.update(|progress| progress.damage.clone_from(&file.damage));
        }
        queue.open();
        let clock = RealClock::new(None);
        let last_sync = clock.monotonic();
        let mut writer = Writer {
            queue,
            destination,
            header: Vec::new(),
            clock,
            last_sync,
            stall: None,
            is_rotation_refused: false,
        };
        let written = writer.write_samples();
        if let (Err(_), Destination::File(file)) = (&written, &writer.destination) {
            file.remove_if_empty();
        }
        written
    }));
    let result =
        result.unwrap_or_else(|_| Err(anyhow!("the thread that writes the recording failed")));
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
    /// True while no new file can be started although it is due.
    is_rotation_refused: bool,
}

impl Writer<'_> {
    /// Writes samples to the end, and closes the destination.
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
        let Destination::File(file) = &mut self.destination else {
            return Ok(());
        };
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
            if let Some(loss) = file.loss() {
                self.recover(loss)?;
                block = self.block(&sample, true);
            } else if file.is_rotation_due(block.len(), epoch_s, sample.utc_offset_s) {
                self.rotate();
                block = self.block(&sample, true);
            }
        }
        let stall = self.stall.clone();
        let bytes = match self.write_block(&block) {
            Err(error) if is_kind(&error, &[ErrorKind::FileTooLarge]) && self.has_samples() => {
                self.recover(Loss::Full)?;
                self.stall = self.stall.take().or(stall);
                let block = self.block(&sample, true);
                self.write_block(&block)?
            }
            written => written?,
        };
        self.queue.update(|progress| {
            progress.samples += 1;
            progress.bytes += bytes;
            progress.waiting -= 1;
            progress.last_at = sample.at;
        });
        Ok(())
    }

    /// Starts the next file. Where the directory refuses that, the recording goes on in the present one, and each sample tries
    /// again.
    fn rotate(&mut self) {
        let rotated = self.on_file(RecordingFile::rotate);
        if let (Err(error), false) = (&rotated, self.is_rotation_refused) {
            self.note_loss(format!(
                "{error:#}; the recording goes on without a new file"
            ));
        }
        self.is_rotation_refused = rotated.is_err();
        if self.is_rotation_refused
            && let Destination::File(file) = &mut self.destination
        {
            file.go_on();
        }
    }

    fn has_samples(&self) -> bool {
        self.queue.progress().samples > 0
    }

    /// Goes on after the loss of the file.
    fn recover(&mut self, loss: Loss) -> Result<()> {
        let mut text = String::new();
        self.on_file(|file| {
            text = file.recover(loss)?;
            Ok(())
        })?;
        self.note_loss(text);
        Ok(())
    }

    fn note_loss(&self, text: String) {
        self.queue.update(|progress| {
            progress.losses += 1;
            progress.loss = text;
        });
    }

    /// Returns the text of a sample, with the notes that precede it.
    fn block(&self, sample: &SampleBlock, has_header: bool) -> Vec<u8> {
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
        block.extend_from_slice(&sample.text);
        block
    }

    /// Writes a block and returns the number of bytes written.
    fn write_block(&mut self, block: &[u8]) -> Result<u64> {
        self.stall = None;
        if let Destination::Output(out) = &mut self.destination {
            let start = self.clock.monotonic();
            out.write_all(block)
                .and_then(|()| out.flush())
                .context(OutputError)?;
            self.note_duration(start, None);
            return Ok(block.len() as u64);
        }
        let mut bytes = 0;
        let mut is_first = true;
        self.on_file(|file| {
            bytes = if std::mem::take(&mut is_first) {
                file.write(block)?
            } else {
                file.write_pending()?
            };
            Ok(())
        })?;
        Ok(bytes)
    }

    /// Applies an operation to the file, repeatedly while the disk is full, its directory is missing or no file can be opened. When the recording ends, a last attempt is
    /// made. If nothing was recorded yet, there is only one attempt.
    fn on_file(
        &mut self,
        mut operation: impl FnMut(&mut RecordingFile) -> Result<()>,
    ) -> Result<()> {
        let Destination::File(file) = &mut self.destination else {
            return Ok(());
        };
        let start = self.clock.monotonic();
        let has_samples = self.queue.progress().samples > 0;
        let mut is_last = !has_samples || !file.can_retry();
        let mut obstacle = None;
        let result = loop {
            match operation(file) {
                Err(error) if !is_last && may_go_away(&error) => {
                    let text = format!("{error:#}");
                    obstacle = error.downcast_ref().map(os_error_text);
                    self.queue.update(|progress| progress.obstacle = Some(text));
                    // When the recording ends, this is the last attempt.
                    is_last = self
                        .queue
                        .wait_while(RETRY_INTERVAL, |state| !state.is_ending)
                        .is_ending;
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
        self.queue
            .update(|progress| progress.slowest = progress.slowest.max(duration));
        if duration >= MIN_STALL
            && self
                .stall
                .as_ref()
                .is_none_or(|stall| stall.duration < duration)
        {
            self.stall = Some(WriteStall { duration, error });
        }
    }
}

/// Returns whether the error may go away when files are deleted or closed, or a directory is there again.
fn may_go_away(error: &anyhow::Error) -> bool {
    let kinds = [
        ErrorKind::StorageFull,
        ErrorKind::QuotaExceeded,
        ErrorKind::NotFound,
    ];
    is_kind(error, &kinds) || error.downcast_ref().is_some_and(is_lack_of_descriptors)
}

fn is_kind(error: &anyhow::Error, kinds: &[ErrorKind]) -> bool {
    let found = error.downcast_ref::<io::Error>().map(io::Error::kind);
    found.is_some_and(|kind| kinds.contains(&kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT_BYTES: usize = 1000;

    fn sample(second: i64) -> SampleBlock {
        let at = Timestamp::from_second(second).ok();
        SampleBlock {
            text: vec![b'x'; TEXT_BYTES],
            at,
            ..SampleBlock::default()
        }
    }

    fn drain(queue: &WriteQueue) -> Vec<SampleBlock> {
        let next = || match queue.next(Some(Duration::ZERO)) {
            NextWrite::Sample(sample) => Some(sample),
            NextWrite::TimedOut | NextWrite::End => None,
        };
        std::iter::from_fn(next).collect()
    }

    fn seconds(samples: &[SampleBlock]) -> Vec<i64> {
        samples
            .iter()
            .map(|sample| sample.at.unwrap().as_second())
            .collect()
    }

    #[test]
    fn nothing_is_dropped_below_the_bound() {
        let queue = WriteQueue::new(100 * 2 * TEXT_BYTES).unwrap();
        (0..100).for_each(|second| queue.push(sample(second)));
        assert_eq!(
            (queue.progress().dropped.count, queue.progress().waiting),
            (0, 100)
        );
        assert_eq!(seconds(&drain(&queue)), (0..100).collect::<Vec<_>>());
        let state = queue.lock();
        assert_eq!((state.bytes, state.samples.len()), (0, 0));
    }

    #[test]
    fn the_oldest_samples_become_coarser_and_the_latest_stay_complete() {
        let queue = WriteQueue::new(100 * (TEXT_BYTES + size_of::<SampleBlock>())).unwrap();
        for second in 0..2000 {
            queue.push(sample(second));
            let state = queue.lock();
            assert!(state.bytes <= state.max_bytes);
        }
        let dropped = queue.progress().dropped.count;
        let rest = drain(&queue);
        assert_eq!(rest.len() as u64 + dropped, 2000);
        let noted: u64 = rest.iter().map(|sample| sample.dropped.count).sum();
        assert_eq!(noted, dropped);
        let seconds = seconds(&rest);
        assert!(
            rest.len() > 50 && seconds.last() == Some(&1999),
            "{seconds:?}"
        );
        assert!(
            seconds[seconds.len() - 40..]
                .windows(2)
                .all(|pair| pair[1] == pair[0] + 1),
            "{seconds:?}"
        );
        let gaps: Vec<i64> = seconds.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(gaps[0] >= 8, "{gaps:?}");
        // Every sample states exactly which samples before it are missing.
        let mut before = -1;
        for sample in &rest {
            let at = sample.at.unwrap().as_second();
            let DroppedSamples { count, first, last } = sample.dropped;
            assert_eq!(count as i64, at - before - 1);
            if count > 0 {
                let range = [first, last].map(|at| at.unwrap().as_second());
                assert_eq!(range, [before + 1, at - 1]);
            }
            before = at;
        }
    }

    #[test]
    fn the_latest_header_and_all_notes_survive_a_dropped_sample() {
        let queue = WriteQueue::new(0).unwrap();
        let with = |header: &str, notes: &str, second| SampleBlock {
            header: header.into(),
            notes: notes.into(),
            ..sample(second)
        };
        let samples = [
            with("A", "1", 0),
            with("", "2", 1),
            with("B", "", 2),
            with("", "3", 3),
        ];
        samples.into_iter().for_each(|sample| queue.push(sample));
        assert_eq!(queue.progress().dropped.count, 3);
        let rest = drain(&queue);
        assert_eq!(
            (rest.len(), &rest[0].header[..], &rest[0].notes[..]),
            (1, &b"B"[..], &b"123"[..])
        );
        assert_eq!(rest[0].dropped.count, 3);
    }
}
