//! A capture that is replayed, from a file or standard input, plain or compressed.

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Cursor, Read};
use std::os::fd::AsFd;
use std::path::Path;

use anyhow::{Context, Result, bail};
use flate2::read::MultiGzDecoder;
use ruzstd::decoding::StreamingDecoder;

use crate::capture::{CaptureWarning, Reader, RecordingHeader};
use crate::clock::{Clock, WaitOutcome};
use crate::counters::Sample;

/// The samples of a capture.
pub struct Replay<'a> {
    name: String,
    reader: Reader<Box<dyn Read + 'a>>,
}

/// Reads until a signal asks to end, which it may do while nothing comes, as from a pipe.
struct UntilSignal<'a, R> {
    input: R,
    clock: &'a dyn Clock,
}

impl<R: Read + AsFd> Read for UntilSignal<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self.clock.wait_for_input(None, self.input.as_fd()) {
            WaitOutcome::Signal(signal) => Err(io::Error::other(format!("signal {signal} came first"))),
            WaitOutcome::Due | WaitOutcome::Input => self.input.read(into),
        }
    }
}

impl<'a> Replay<'a> {
    /// Opens a capture; `-` is standard input. Gzip and zstd are told by their first bytes.
    ///
    /// # Errors
    /// When the file cannot be opened or is a directory, or a signal came before its first bytes. Once the clock
    /// knows of a signal, reading ends with an error too.
    pub fn open(path: &Path, clock: &'a dyn Clock) -> Result<Self> {
        if path.as_os_str() == "-" {
            // Without the buffer of the standard library: what stands in there, nobody could wait for.
            let input = io::stdin().as_fd().try_clone_to_owned().context("cannot read standard input")?;
            return Self::new("standard input", UntilSignal { input: File::from(input), clock });
        }
        let name = path.display().to_string();
        let file = OpenOptions::new().read(true).open(path).with_context(|| format!("cannot open {name}"))?;
        if file.metadata().is_ok_and(|about| about.is_dir()) {
            bail!("{name} is a directory, not a capture");
        }
        Self::new(&name, UntilSignal { input: file, clock })
    }

    fn new(name: &str, input: impl Read + 'a) -> Result<Self> {
        let input = decompressed(Box::new(input)).with_context(|| format!("cannot read {name}"))?;
        Ok(Self { name: name.to_owned(), reader: Reader::new(input) })
    }

    /// The same with the whole lines of a sample that was cut off at the end of the file.
    pub fn with_cut_sample(mut self) -> Self {
        self.reader.keep_cut_sample();
        self
    }

    /// What the capture is called in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Reads the next sample into `sample`, reusing its memory; `before` is the one read before it. `false` at
    /// the end.
    ///
    /// # Errors
    /// When the file cannot be read, or its compressed data is damaged. The samples before that were read.
    pub fn next(&mut self, before: &Sample, sample: &mut Sample) -> Result<bool> {
        self.reader.next(before, sample).with_context(|| format!("cannot read {}", self.name))
    }

    /// What was found wrong since the last call.
    pub fn take_warnings(&mut self) -> Vec<CaptureWarning> {
        self.reader.take_warnings()
    }

    /// Whether nothing but something else than text was read.
    pub fn is_not_text(&self) -> bool {
        self.reader.is_not_text()
    }

    /// What a recording of our own says of the machine at the time of the last sample; `None` for any other
    /// capture.
    pub fn recorded(&self) -> Option<&RecordingHeader> {
        self.reader.recorded()
    }
}

fn decompressed<'a>(mut input: Box<dyn Read + 'a>) -> io::Result<Box<dyn Read + 'a>> {
    const GZIP: [u8; 2] = [0x1f, 0x8b];
    const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
    let mut start = Vec::with_capacity(ZSTD.len());
    input.by_ref().take(ZSTD.len() as u64).read_to_end(&mut start)?;
    let (gzip, zstd) = (start.starts_with(&GZIP), start.starts_with(&ZSTD));
    let whole = Cursor::new(start).chain(input);
    if gzip {
        Ok(Box::new(MultiGzDecoder::new(BufReader::with_capacity(64 * 1024, whole))))
    } else if zstd {
        Ok(Box::new(StreamingDecoder::new(BufReader::new(whole)).map_err(io::Error::other)?))
    } else {
        Ok(Box::new(whole))
    }
}
