//! Decompresses and parses a capture on a separate thread, while the main thread still works on earlier samples.
//!
//! The main thread reads the input in chunks and hands them to this thread, so that a signal can still interrupt a
//! read. The parsing thread answers each chunk with the samples that end in it. The main thread reads the next chunk
//! before it has the last answer only if the read does not have to wait, so that samples from a pipe are shown as soon
//! as they are complete. Memory is bounded by a few chunks and their samples.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use super::decompress::decompress;
use crate::capture::{CaptureWarning, Reader, RecordingHeader};
use crate::counters::Sample;

/// The size of a chunk in bytes. Larger ones are not parsed faster, but need more memory.
const CHUNK_BYTES: usize = 64 * 1024;

/// The most chunks that have been read but not answered.
const MAX_CHUNKS: usize = 4;

/// More chunks are read when at most this many are unanswered, rather than after each answer: each time, the thread
/// usually has to be woken, which takes long.
const MIN_CHUNKS: usize = 1;

/// The most samples of a chunk that are parsed before the first of them are used: tiny samples take more memory than
/// their text.
const MAX_SAMPLES: usize = 512;

/// The input of a capture.
pub(super) trait ChunkInput: Read {
    /// Returns whether a read would not have to wait.
    fn is_ready(&self) -> bool;
}

/// The state of a reader after a sample, or at the end.
#[derive(Default)]
pub(super) struct ReaderState {
    /// The header of the recording; `None` for any other capture.
    pub(super) header: Option<Arc<RecordingHeader>>,
    /// The number of headers so far.
    pub(super) header_count: u64,
    /// True if the capture ends within a sample or within its compressed data.
    pub(super) is_truncated: bool,
    /// True if the stream is not text and has no `TS` line.
    pub(super) is_not_text: bool,
    /// The warnings since the last sample.
    pub(super) warnings: Vec<CaptureWarning>,
}

/// The samples of a capture that another thread parses.
pub(super) struct ParseAhead {
    messages: Sender<Message>,
    answers: Receiver<Answer>,
    /// The number of chunks that have not been answered.
    unanswered: usize,
    has_input_ended: bool,
    is_started: bool,
    /// Samples to hand out, starting at the index `taken`.
    samples: Vec<ParsedSample>,
    taken: usize,
    /// Samples that were handed out and whose memory the thread can reuse.
    used_samples: Vec<ParsedSample>,
    /// The thread waits until `samples` are taken.
    is_waited_for: bool,
    /// The end, once the thread has answered with it. Its contents are handed out once.
    end: Option<(Option<Box<ReaderState>>, io::Result<()>)>,
    spare_chunks: Vec<Vec<u8>>,
    state: ReaderState,
}

/// A message to the thread.
enum Message {
    /// Begin to parse. Chunks sent before are only decompressed.
    Start { keeps_truncated_sample: bool },
    /// The first `length` bytes of a buffer, and samples whose memory can be reused.
    Chunk { bytes: Vec<u8>, length: usize, used_samples: Vec<ParsedSample> },
    /// Parse the rest of the chunk, after [`Answer::Many`].
    Continue { used_samples: Vec<ParsedSample> },
    /// The end of the input, or the error of reading it.
    End(io::Result<()>),
}

/// An answer of the thread.
enum Answer {
    /// The result of opening the data for decompression. Does not count as the answer to a chunk.
    Opened(io::Result<()>),
    /// The most samples allowed at a time, from a chunk that has more. Does not count as the answer to the chunk.
    Many { samples: Vec<ParsedSample> },
    /// The samples that end in a chunk, or the rest of them, and the buffer of the chunk.
    Parsed { samples: Vec<ParsedSample>, chunk: Vec<u8> },
    /// The last samples, and the end of the capture.
    Ended { samples: Vec<ParsedSample>, state: Box<ReaderState>, end: io::Result<()> },
}

#[derive(Default)]
struct ParsedSample {
    sample: Sample,
    state: ReaderState,
}

impl ParseAhead {
    /// Starts the thread and reads the start of the input. `None` if no thread can be started.
    ///
    /// # Errors
    /// If the input cannot be read, or is compressed and not valid.
    pub(super) fn open(input: &mut dyn ChunkInput) -> io::Result<Option<Self>> {
        let (messages, received) = channel();
        let (sender, answers) = channel();
        let parse = move || parse(Exchange::new(received, sender));
        if thread::Builder::new().name("blkstat-parse".to_owned()).spawn(parse).is_err() {
            return Ok(None);
        }
        let mut ahead = Self {
            messages,
            answers,
            unanswered: 0,
            has_input_ended: false,
            is_started: false,
            samples: Vec::new(),
            taken: 0,
            used_samples: Vec::new(),
            is_waited_for: false,
            end: None,
            spare_chunks: Vec::new(),
            state: ReaderState::default(),
        };
        loop {
            if ahead.unanswered == 0 {
                ahead.read_chunk(input)?;
            }
            match ahead.answers.recv() {
                Ok(Answer::Opened(opened)) => return opened.map(|()| Some(ahead)),
                Ok(answer) => ahead.take_answer(answer),
                Err(_) => return Err(thread_ended()),
            }
        }
    }

    /// Reads the next sample into `sample`, reusing its memory. Returns `false` at the end of the capture.
    /// `keeps_truncated_sample` must be the same in each call; see [`Reader::keep_truncated_sample`].
    ///
    /// # Errors
    /// Those of [`Reader::next`].
    pub(super) fn next(
        &mut self,
        input: &mut dyn ChunkInput,
        keeps_truncated_sample: bool,
        sample: &mut Sample,
    ) -> io::Result<bool> {
        if !std::mem::replace(&mut self.is_started, true) {
            self.send(Message::Start { keeps_truncated_sample });
        }
        loop {
            if let Some(parsed) = self.samples.get_mut(self.taken) {
                self.taken += 1;
                std::mem::swap(sample, &mut parsed.sample);
                let state = std::mem::take(&mut parsed.state);
                self.set_state(state);
                return Ok(true);
            }
            if let Some((state, end)) = &mut self.end {
                let end = std::mem::replace(end, Ok(()));
                if let Some(state) = state.take() {
                    self.set_state(*state);
                }
                return end.map(|()| false);
            }
            self.taken = 0;
            self.used_samples.append(&mut self.samples);
            if std::mem::take(&mut self.is_waited_for) {
                let used_samples = std::mem::take(&mut self.used_samples);
                self.send(Message::Continue { used_samples });
            }
            let max_chunks = if self.unanswered > MIN_CHUNKS { 0 } else { MAX_CHUNKS };
            while !self.has_input_ended
                && (self.unanswered == 0 || self.unanswered < max_chunks && input.is_ready())
            {
                if let Err(error) = self.read_chunk(input) {
                    // The samples before it come first.
                    self.end_input(Err(error));
                }
            }
            match self.answers.recv() {
                Ok(answer) => self.take_answer(answer),
                Err(_) => return Err(thread_ended()),
            }
        }
    }

    /// Returns the state of the reader after the sample that was handed out last.
    pub(super) fn state(&self) -> &ReaderState {
        &self.state
    }

    /// Takes the warnings since the last call.
    pub(super) fn take_warnings(&mut self) -> Vec<CaptureWarning> {
        std::mem::take(&mut self.state.warnings)
    }

    fn set_state(&mut self, mut state: ReaderState) {
        let mut warnings = self.take_warnings();
        warnings.append(&mut state.warnings);
        self.state = ReaderState { warnings, ..state };
    }

    /// Reads a chunk, or the end of the input, and sends it.
    fn read_chunk(&mut self, input: &mut dyn ChunkInput) -> io::Result<()> {
        let mut bytes = self.spare_chunks.pop().unwrap_or_else(|| vec![0; CHUNK_BYTES]);
        let length = loop {
            match input.read(&mut bytes) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                read => break read?,
            }
        };
        if length == 0 {
            self.end_input(Ok(()));
        } else {
            let used_samples = std::mem::take(&mut self.used_samples);
            self.unanswered += 1;
            self.send(Message::Chunk { bytes, length, used_samples });
        }
        Ok(())
    }

    fn end_input(&mut self, end: io::Result<()>) {
        self.has_input_ended = true;
        self.unanswered += 1;
        self.send(Message::End(end));
    }

    /// Sends a message. If the thread has ended, its last answer shows it.
    fn send(&self, message: Message) {
        let _ = self.messages.send(message);
    }

    fn take_answer(&mut self, answer: Answer) {
        self.unanswered -= usize::from(!matches!(answer, Answer::Opened(_) | Answer::Many { .. }));
        match answer {
            Answer::Opened(_) => {}
            Answer::Many { samples } => {
                (self.samples, self.taken) = (samples, 0);
                self.is_waited_for = true;
            }
            Answer::Parsed { samples, chunk } => {
                self.spare_chunks.push(chunk);
                (self.samples, self.taken) = (samples, 0);
            }
            Answer::Ended { samples, state, end } => {
                (self.samples, self.taken) = (samples, 0);
                self.end = Some((Some(state), end));
            }
        }
    }
}

/// Returns the error for a thread that has ended without an answer, as after a panic.
fn thread_ended() -> io::Error {
    io::Error::other("the thread that parses it has ended")
}

/// The parsing thread. It also ends when the other end of the channels is dropped.
fn parse(exchange: Exchange) {
    let exchange = Rc::new(exchange);
    let input = match decompress(Box::new(ChunkReader(Rc::clone(&exchange)))) {
        Ok(input) => input,
        Err(error) => return exchange.answer(Answer::Opened(Err(error))),
    };
    exchange.answer(Answer::Opened(Ok(())));
    let Some(keeps_truncated_sample) = exchange.wait_for_start() else { return };
    let mut reader = Reader::new(input);
    if keeps_truncated_sample {
        reader.keep_truncated_sample();
    }
    let mut header = None;
    let mut header_revision = 0;
    loop {
        let mut sample = exchange.unused_sample();
        let read = reader.next(&exchange.last_sample.borrow(), &mut sample);
        // A header is copied only when it has changed, which is rare.
        if std::mem::replace(&mut header_revision, reader.header_revision()) != reader.header_revision() {
            header = reader.header().cloned().map(Arc::new);
        }
        let state = ReaderState {
            header: header.clone(),
            header_count: reader.header_count(),
            is_truncated: reader.is_truncated(),
            is_not_text: reader.is_not_text(),
            warnings: reader.take_warnings(),
        };
        match read {
            Ok(true) => exchange.add(sample, state),
            Ok(false) => return exchange.end(state, Ok(())),
            Err(error) => return exchange.end(state, Err(error)),
        }
    }
}

/// The thread's end of the channels, with the chunk that is being parsed.
struct Exchange {
    messages: Receiver<Message>,
    /// Messages that came before [`Message::Continue`].
    pending: RefCell<VecDeque<Message>>,
    answers: Sender<Answer>,
    chunk: RefCell<Chunk>,
    /// True once the end of the input was read. No message follows it.
    has_ended: Cell<bool>,
    /// The samples that ended in the chunk, except for the last one.
    samples: RefCell<Vec<ParsedSample>>,
    /// The last sample, with which the next one is compared.
    last_sample: RefCell<Sample>,
    /// The state after the last sample; `None` if that sample was handed over.
    last_state: Cell<Option<ReaderState>>,
    unused: RefCell<Vec<ParsedSample>>,
}

/// A chunk and the part of it that has not been read yet.
#[derive(Default)]
struct Chunk {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
}

impl Exchange {
    fn new(messages: Receiver<Message>, answers: Sender<Answer>) -> Self {
        Self {
            messages,
            pending: RefCell::default(),
            answers,
            chunk: RefCell::default(),
            has_ended: Cell::default(),
            samples: RefCell::default(),
            last_sample: RefCell::default(),
            last_state: Cell::default(),
            unused: RefCell::default(),
        }
    }

    /// Sends an answer, unless the run has ended.
    fn answer(&self, answer: Answer) {
        let _ = self.answers.send(answer);
    }

    /// Waits until the run begins; `None` if it ends instead.
    fn wait_for_start(&self) -> Option<bool> {
        match self.messages.recv() {
            Ok(Message::Start { keeps_truncated_sample }) => Some(keeps_truncated_sample),
            Ok(Message::Chunk { .. } | Message::Continue { .. } | Message::End(_)) | Err(_) => None,
        }
    }

    fn unused_sample(&self) -> Sample {
        self.unused.borrow_mut().pop().unwrap_or_default().sample
    }

    /// Adds a sample, to be handed over with the others of the chunk.
    fn add(&self, sample: Sample, state: ReaderState) {
        let before = self.last_sample.replace(sample);
        match self.last_state.replace(Some(state)) {
            Some(state) => {
                self.samples.borrow_mut().push(ParsedSample { sample: before, state });
                if self.samples.borrow().len() >= MAX_SAMPLES {
                    self.answer(Answer::Many { samples: self.samples.take() });
                    self.wait_to_continue();
                }
            }
            None => self.unused.borrow_mut().push(ParsedSample { sample: before, ..ParsedSample::default() }),
        }
    }

    /// Waits until the samples handed over are used, or the run has ended.
    fn wait_to_continue(&self) {
        loop {
            match self.messages.recv() {
                Ok(Message::Continue { used_samples }) => {
                    return self.unused.borrow_mut().extend(used_samples);
                }
                Ok(message) => self.pending.borrow_mut().push_back(message),
                Err(_) => return,
            }
        }
    }

    /// Returns the next message; `None` if the run has ended.
    fn receive(&self) -> Option<Message> {
        let pending = self.pending.borrow_mut().pop_front();
        pending.or_else(|| self.messages.recv().ok())
    }

    /// Takes the samples to hand over at the end of a chunk. If another chunk has already been sent, the last sample is
    /// kept and handed over with the samples of that chunk, so that it need not be copied.
    fn take_parsed_samples(&self) -> Vec<ParsedSample> {
        if self.pending.borrow().is_empty() {
            match self.messages.try_recv() {
                Ok(message) => self.pending.borrow_mut().push_back(message),
                Err(_) => return self.take_samples(),
            }
        }
        self.samples.take()
    }

    /// Takes all samples. The last one is copied, because the next one is compared with it.
    fn take_samples(&self) -> Vec<ParsedSample> {
        let mut samples = self.samples.take();
        if let Some(state) = self.last_state.take() {
            // The copy reuses the memory of an unused sample; otherwise each chunk would add one.
            let mut sample = self.unused_sample();
            sample.clone_from(&self.last_sample.borrow());
            samples.push(ParsedSample { sample, state });
        }
        samples
    }

    fn end(&self, state: ReaderState, end: io::Result<()>) {
        self.answer(Answer::Ended { samples: self.take_samples(), state: Box::new(state), end });
    }
}

/// Reads the bytes of the chunks that are sent to the thread.
struct ChunkReader(Rc<Exchange>);

impl Read for ChunkReader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let exchange = &self.0;
        let mut chunk = exchange.chunk.borrow_mut();
        if chunk.start == chunk.end {
            if exchange.has_ended.get() {
                return Ok(0);
            }
            if !chunk.bytes.is_empty() {
                let bytes = std::mem::take(&mut chunk.bytes);
                exchange.answer(Answer::Parsed { samples: exchange.take_parsed_samples(), chunk: bytes });
            }
            match exchange.receive() {
                Some(Message::Chunk { bytes, length, used_samples }) => {
                    *chunk = Chunk { bytes, start: 0, end: length };
                    exchange.unused.borrow_mut().extend(used_samples);
                }
                Some(Message::End(end)) => {
                    exchange.has_ended.set(true);
                    return end.map(|()| 0);
                }
                // The run has ended.
                Some(Message::Start { .. } | Message::Continue { .. }) | None => return Ok(0),
            }
        }
        let length = into.len().min(chunk.end - chunk.start);
        let from = chunk.start;
        into[..length].copy_from_slice(&chunk.bytes[from..from + length]);
        chunk.start += length;
        Ok(length)
    }
}

#[cfg(test)]
mod tests;
