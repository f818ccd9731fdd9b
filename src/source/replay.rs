//! Replays a capture from a file or standard input, plain or compressed.

use std::cell::Cell;
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::rc::Rc;
use std::thread;

use anyhow::{Context, Result, bail};
use jiff::Timestamp;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::capture::{CaptureWarning, Reader, RecordingHeader, copy_range};
use crate::clock::{Clock, WaitOutcome};
use crate::compression::Compression;
use crate::counters::Sample;
use crate::source::decompress::decompress;
use crate::source::parse_ahead::{ChunkInput, ParseAhead};
use crate::source::whole_file::WholeFile;
use crate::time_range::CaptureTimes;

/// The samples of a capture.
pub struct Replay<'a> {
    name: String,
    /// The bytes of the file read so far, and its length; `None` if the length is not known.
    position: Option<(Rc<Cell<u64>>, u64)>,
    samples: Samples<'a>,
    keeps_truncated_sample: bool,
    /// Another reader of the capture; `None` for a pipe.
    whole: Option<WholeFile>,
    clock: &'a dyn Clock,
}

/// The size in bytes from which a file is parsed on a separate thread. Parsing a smaller one takes less than a
/// millisecond.
const MIN_PARSE_AHEAD_BYTES: u64 = 1 << 20;

/// The captures that are parsed on a separate thread.
#[derive(Clone, Copy)]
enum ParsesAhead {
    /// Large files, and pipes.
    WhereLarge,
    /// Large files that are compressed.
    WhereCompressed,
    Never,
}

/// The parser of a capture.
enum Samples<'a> {
    /// Parses a sample when it is requested.
    InTurn(Box<Reader<Box<dyn Read + 'a>>>),
    /// Parses ahead on a separate thread.
    Ahead(Box<ParseAhead>, UntilSignal<'a, File>),
}

/// A reader whose reads fail once a signal is received, even while a read waits for data from a pipe.
struct UntilSignal<'a, R> {
    input: R,
    /// The bytes read so far.
    position: Rc<Cell<u64>>,
    clock: &'a dyn Clock,
    /// True for a regular file, whose reads never wait.
    is_file: bool,
}

impl ChunkInput for UntilSignal<'_, File> {
    fn is_ready(&self) -> bool {
        let now = Timespec::default();
        self.is_file
            || poll(&mut [PollFd::new(&self.input, PollFlags::IN)], Some(&now)).is_ok_and(|ready| ready > 0)
    }
}

impl<R: Read + AsFd> Read for UntilSignal<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self.clock.wait_for_input(None, self.input.as_fd()) {
            WaitOutcome::Signal(signal) => Err(io::Error::other(format!("interrupted by signal {signal}"))),
            WaitOutcome::Due | WaitOutcome::Input => {
                let length = self.input.read(into)?;
                self.position.set(self.position.get() + length as u64);
                Ok(length)
            }
        }
    }
}

impl<'a> Replay<'a> {
    /// Opens a capture; `-` is standard input. Gzip and zstd are recognized by their first bytes. A large capture, or
    /// one from a pipe, is parsed on a separate thread if there is a second CPU.
    ///
    /// # Errors
    /// If the file cannot be opened or is a directory, or if a signal is received before its first bytes. A signal
    /// received later makes [`Self::next`] fail.
    pub fn open(path: &Path, clock: &'a dyn Clock) -> Result<Self> {
        Self::open_with(path, clock, ParsesAhead::WhereLarge)
    }

    /// Opens a capture like [`Self::open`], for a caller that does little with a sample: only a compressed file is
    /// worth a thread then. Handing over the samples of a plain file takes half as much CPU time as parsing them.
    ///
    /// # Errors
    /// Those of [`Self::open`].
    pub fn open_in_turn_unless_compressed(path: &Path, clock: &'a dyn Clock) -> Result<Self> {
        Self::open_with(path, clock, ParsesAhead::WhereCompressed)
    }

    /// Opens a capture like [`Self::open`], for a caller whose work on a sample takes less time than parsing it:
    /// another thread would only cost CPU time.
    ///
    /// # Errors
    /// Those of [`Self::open`].
    pub fn open_in_turn(path: &Path, clock: &'a dyn Clock) -> Result<Self> {
        Self::open_with(path, clock, ParsesAhead::Never)
    }

    fn open_with(path: &Path, clock: &'a dyn Clock, parses_ahead: ParsesAhead) -> Result<Self> {
        if path.as_os_str() == "-" {
            // Bypasses the buffer of the standard library: poll(2) does not see data in it.
            let input = io::stdin().as_fd().try_clone_to_owned().context("cannot read standard input")?;
            return Self::new("standard input", File::from(input), clock, parses_ahead);
        }
        let name = path.display().to_string();
        let file = OpenOptions::new().read(true).open(path).with_context(|| format!("cannot open {name}"))?;
        if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
            bail!("{name} is a directory, not a capture");
        }
        Self::new(&name, file, clock, parses_ahead)
    }

    fn new(name: &str, input: File, clock: &'a dyn Clock, parses_ahead: ParsesAhead) -> Result<Self> {
        let whole = WholeFile::of(&input);
        let length = input.metadata().ok().filter(std::fs::Metadata::is_file).map(|metadata| metadata.len());
        let position: Rc<Cell<u64>> = Rc::default();
        let mut input =
            UntilSignal { input, position: Rc::clone(&position), clock, is_file: length.is_some() };
        let position = length.map(|length| (position, length));
        let is_long = length.is_none_or(|length| length >= MIN_PARSE_AHEAD_BYTES);
        let has_cpus = || thread::available_parallelism().is_ok_and(|cpus| cpus.get() > 1);
        let may_parse_ahead = match parses_ahead {
            ParsesAhead::WhereLarge => true,
            ParsesAhead::WhereCompressed => is_compressed(&input.input),
            ParsesAhead::Never => false,
        };
        let parses_ahead = may_parse_ahead && is_long && has_cpus();
        let open = || -> io::Result<Samples<'a>> {
            if parses_ahead && let Some(ahead) = ParseAhead::open(&mut input)? {
                return Ok(Samples::Ahead(Box::new(ahead), input));
            }
            Ok(Samples::InTurn(Box::new(Reader::new(decompress(Box::new(input))?))))
        };
        let samples = open().with_context(|| format!("cannot read {name}"))?;
        Ok(Self { name: name.to_owned(), position, samples, keeps_truncated_sample: false, whole, clock })
    }

    /// Reads the times of the whole capture before its samples are read; `None` for a pipe, which cannot be read ahead,
    /// and for a capture without samples.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn scan_times(&self) -> Result<Option<CaptureTimes>> {
        self.whole.as_ref().map_or(Ok(None), |file| file.scan_times(self.clock))
    }

    /// Returns whether the capture is in a file, which has an end.
    pub fn is_file(&self) -> bool {
        self.whole.is_some()
    }

    /// Also hands out the complete lines of a sample that is truncated at the end of the file.
    pub fn with_truncated_sample(mut self) -> Self {
        self.keeps_truncated_sample = true;
        if let Samples::InTurn(reader) = &mut self.samples {
            reader.keep_truncated_sample();
        }
        self
    }

    /// Returns the fraction of the file that has been read, from 0 to 1; `None` if its length is not known.
    pub fn progress(&self) -> Option<f64> {
        let (position, length) = self.position.as_ref()?;
        Some((position.get() as f64 / (*length).max(1) as f64).min(1.0))
    }

    /// Returns the name of the capture for messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Reads the next sample into `sample`, reusing its memory; `previous` is the one read before it. Returns
    /// `false` at the end.
    ///
    /// # Errors
    /// If the file cannot be read, or its compressed data is damaged. The samples before that point have been read.
    pub fn next(&mut self, previous: &Sample, sample: &mut Sample) -> Result<bool> {
        let has_sample = match &mut self.samples {
            Samples::InTurn(reader) => reader.next(previous, sample),
            Samples::Ahead(ahead, input) => ahead.next(input, self.keeps_truncated_sample, sample),
        };
        has_sample.with_context(|| format!("cannot read {}", self.name))
    }

    /// Takes the warnings since the last call.
    pub fn take_warnings(&mut self) -> Vec<CaptureWarning> {
        match &mut self.samples {
            Samples::InTurn(reader) => reader.take_warnings(),
            Samples::Ahead(ahead, _) => ahead.take_warnings(),
        }
    }

    /// Returns whether the file so far is not text and has no `TS` line.
    pub fn is_not_text(&self) -> bool {
        match &self.samples {
            Samples::InTurn(reader) => reader.is_not_text(),
            Samples::Ahead(ahead, _) => ahead.state().is_not_text,
        }
    }

    /// Returns whether the file was found to end within a sample or within its compressed data.
    pub fn is_truncated(&self) -> bool {
        match &self.samples {
            Samples::InTurn(reader) => reader.is_truncated(),
            Samples::Ahead(ahead, _) => ahead.state().is_truncated,
        }
    }

    /// Returns the header of the recording that contains the last sample; `None` for any other capture.
    pub fn header(&self) -> Option<&RecordingHeader> {
        match &self.samples {
            Samples::InTurn(reader) => reader.header(),
            Samples::Ahead(ahead, _) => ahead.state().header.as_deref(),
        }
    }

    /// Returns the number of headers so far: a recording repeats its header when its devices change.
    pub fn header_count(&self) -> u64 {
        match &self.samples {
            Samples::InTurn(reader) => reader.header_count(),
            Samples::Ahead(ahead, _) => ahead.state().header_count,
        }
    }
}

/// Passes the text of the samples of a capture from one time to another to `write`, and returns their number.
///
/// # Errors
/// If the file cannot be read, and those of `write`.
pub fn copy_capture_range(
    path: &Path,
    range: (Timestamp, Timestamp),
    mut write: impl FnMut(&[u8]) -> Result<()>,
) -> Result<u64> {
    let name = path.display();
    let file = OpenOptions::new().read(true).open(path).with_context(|| format!("cannot open {name}"))?;
    let text = decompress(Box::new(file)).with_context(|| format!("cannot read {name}"))?;
    copy_range(text, range.0..=range.1, |bytes| -> Result<()> { write(bytes) })
        .with_context(|| format!("cannot copy from {name}"))
}

/// Returns whether the first bytes of a file show that it is compressed; `false` for a pipe.
fn is_compressed(file: &File) -> bool {
    let mut start = [0; Compression::MAGIC_BYTES];
    file.read_exact_at(&mut start, 0).is_ok_and(|()| Compression::detect(&start).is_some())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::write::GzEncoder;

    use super::*;
    use crate::clock::RealClock;

    #[test]
    fn a_compressed_file_is_parsed_ahead_even_where_a_plain_one_is_not() {
        let directory = tempfile::tempdir().unwrap();
        let [plain, compressed] = ["plain", "compressed"].map(|name| directory.path().join(name));
        let text = b"TS 1.0\n".repeat(300_000);
        std::fs::write(&plain, &text).unwrap();
        let mut encoder = GzEncoder::new(File::create(&compressed).unwrap(), flate2::Compression::none());
        encoder.write_all(&text).unwrap();
        encoder.finish().unwrap();
        let clock = RealClock::new(None);
        let is_ahead = |replay: Result<Replay<'_>>| matches!(replay.unwrap().samples, Samples::Ahead(..));
        let has_cpus = thread::available_parallelism().is_ok_and(|cpus| cpus.get() > 1);
        for (path, is_worth_it) in [(&plain, false), (&compressed, true)] {
            assert_eq!(is_ahead(Replay::open(path, &clock)), has_cpus);
            assert_eq!(
                is_ahead(Replay::open_in_turn_unless_compressed(path, &clock)),
                has_cpus && is_worth_it
            );
            assert!(!is_ahead(Replay::open_in_turn(path, &clock)));
        }
    }
}
