//! Decompresses and parses a capture on a thread of its own, some samples ahead of the one that is in use: analyzing
//! takes longer than parsing, but not by so much that parsing would not count.

use std::io::{self, Read};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread;

use crate::capture::{CaptureState, CaptureWarning, Reader};
use crate::counters::Sample;

/// The samples that are handed over at a time, because each time a thread usually has to be woken.
const BATCH_SAMPLES: usize = 8;

/// The samples of a capture that another thread parses.
pub(super) struct ParseAhead {
    batches: Receiver<Vec<Parsed>>,
    /// Takes batches whose memory the thread reuses.
    used: Sender<Vec<Parsed>>,
    batch: Vec<Parsed>,
    /// The number of samples of the batch that were handed out.
    taken: usize,
    state: CaptureState,
}

/// The outcome of [`Reader::next`].
struct Parsed {
    sample: Sample,
    state: CaptureState,
    found: io::Result<bool>,
}

impl ParseAhead {
    /// Starts the thread.
    ///
    /// # Errors
    /// If no thread can be started.
    pub(super) fn start(reader: Reader<impl Read + Send + 'static>) -> io::Result<Self> {
        // One batch waits, while one is parsed and one is used.
        let (sender, batches) = sync_channel(1);
        let (used, returned) = channel();
        let parse = move || parse(reader, &returned, &sender);
        thread::Builder::new().name("blkstat-parse".to_owned()).spawn(parse)?;
        Ok(Self { batches, used, batch: Vec::new(), taken: 0, state: CaptureState::default() })
    }

    /// Reads the next sample into `sample`, reusing its memory. Must not be called after the end.
    ///
    /// # Errors
    /// Those of [`Reader::next`].
    pub(super) fn next(&mut self, sample: &mut Sample) -> io::Result<bool> {
        if self.taken == self.batch.len() {
            let ended = |_| io::Error::other("the thread that parses it has ended");
            let used = std::mem::replace(&mut self.batch, self.batches.recv().map_err(ended)?);
            // After the last batch, no one reuses it.
            let _ = self.used.send(used);
            self.taken = 0;
        }
        let parsed = &mut self.batch[self.taken];
        self.taken += 1;
        std::mem::swap(sample, &mut parsed.sample);
        let earlier = std::mem::replace(&mut self.state, std::mem::take(&mut parsed.state)).warnings;
        self.state.warnings.splice(..0, earlier);
        std::mem::replace(&mut parsed.found, Ok(false))
    }

    /// Returns the state of the reader after the sample that was handed out last.
    pub(super) fn state(&self) -> &CaptureState {
        &self.state
    }

    /// Takes the warnings since the last call.
    pub(super) fn take_warnings(&mut self) -> Vec<CaptureWarning> {
        std::mem::take(&mut self.state.warnings)
    }
}

/// Parses a capture to its end, or until its samples are no longer needed.
fn parse(mut reader: Reader<impl Read>, returned: &Receiver<Vec<Parsed>>, batches: &SyncSender<Vec<Parsed>>) {
    let mut previous = Sample::default();
    let mut has_ended = false;
    while !has_ended {
        let mut batch = returned.try_recv().unwrap_or_default();
        batch.resize_with(BATCH_SAMPLES, || Parsed {
            sample: Sample::default(),
            state: CaptureState::default(),
            found: Ok(false),
        });
        let mut count = 0;
        while count < BATCH_SAMPLES && !has_ended {
            let parsed = &mut batch[count];
            parsed.found = reader.next(&previous, &mut parsed.sample);
            parsed.state = reader.take_state();
            has_ended = !matches!(parsed.found, Ok(true));
            previous.devices.clone_from(&parsed.sample.devices);
            count += 1;
        }
        batch.truncate(count);
        has_ended |= batches.send(batch).is_err();
    }
}

#[cfg(test)]
mod tests;
