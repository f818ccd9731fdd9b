//! Decompresses and parses a capture on a thread of its own, some samples ahead of the one that is in use: analyzing
//! takes longer than parsing, but not by so much that parsing would not count.

use std::io::{self, Read};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use crate::capture::{CaptureState, CaptureWarning, Reader};
use crate::counters::Sample;

/// The samples that are handed over at a time, because each time a thread usually has to be woken.
const BATCH_SAMPLES: usize = 8;

/// The samples of a capture that another thread parses.
pub(super) struct ParseAhead {
    batches: Receiver<Vec<Parsed>>,
    batch: std::vec::IntoIter<Parsed>,
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
        thread::Builder::new()
            .name("blkstat-parse".to_owned())
            .spawn(move || parse(reader, &sender))?;
        Ok(Self {
            batches,
            batch: Vec::new().into_iter(),
            state: CaptureState::default(),
        })
    }

    /// Reads the next sample into `sample`. Must not be called after the end.
    ///
    /// # Errors
    /// Those of [`Reader::next`].
    pub(super) fn next(&mut self, sample: &mut Sample) -> io::Result<bool> {
        if self.batch.len() == 0 {
            self.batch = self.batches.recv().unwrap_or_default().into_iter();
        }
        let Some(parsed) = self.batch.next() else {
            return Err(io::Error::other("the thread that parses it has ended"));
        };
        *sample = parsed.sample;
        let earlier = std::mem::replace(&mut self.state, parsed.state).warnings;
        self.state.warnings.splice(..0, earlier);
        parsed.found
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
fn parse(mut reader: Reader<impl Read>, batches: &SyncSender<Vec<Parsed>>) {
    let mut previous = Sample::default();
    let mut has_ended = false;
    while !has_ended {
        let mut batch = Vec::with_capacity(BATCH_SAMPLES);
        while batch.len() < BATCH_SAMPLES && !has_ended {
            let mut sample = Sample::default();
            let found = reader.next(&previous, &mut sample);
            has_ended = !matches!(found, Ok(true));
            previous.devices.clone_from(&sample.devices);
            batch.push(Parsed {
                sample,
                state: reader.take_state(),
                found,
            });
        }
        has_ended |= batches.send(batch).is_err();
    }
}

#[cfg(test)]
mod tests;
