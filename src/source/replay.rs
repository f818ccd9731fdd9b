//! Replays a capture from a file or standard input, plain or compressed.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek};
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::decompress::{NeedsProgram, Text, decompress};
use super::local_time_zone;
use super::parse_ahead::ParseAhead;
use crate::capture::{CaptureState, CaptureWarning, Reader, RecordingHeader, copy_range, scan_times};
use crate::clock::{Clock, WaitOutcome};
use crate::counters::Sample;
use crate::time_range::CaptureTimes;

pub struct Replay<'a> {
    name: String,
    samples: Samples<'a>,
    has_ended: bool,
    /// Another reader of the capture; `None` for a pipe.
    whole: Option<WholeFile>,
    /// The distance of samples that have no times.
    every: Option<Duration>,
    clock: &'a dyn Clock,
}

/// The name of standard input in messages.
const STANDARD_INPUT: &str = "standard input";

/// The size in bytes from which a file is parsed on a separate thread. Parsing a smaller one takes some milliseconds.
const MIN_PARSE_AHEAD_BYTES: u64 = 1 << 20;

enum Samples<'a> {
    /// Parses a sample when it is requested.
    InTurn(Box<Reader<Text<UntilSignal<'a>>>>),
    /// Parses ahead on a separate thread.
    Ahead(ParseAhead),
}

/// A reader whose reads fail once a signal is received, even while a read waits for data from a pipe.
struct UntilSignal<'a> {
    input: File,
    clock: &'a dyn Clock,
}

impl Read for UntilSignal<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self.clock.wait_for_input(None, self.input.as_fd()) {
            WaitOutcome::Signal(signal) => Err(interruption(signal)),
            WaitOutcome::Due | WaitOutcome::Input => self.input.read(into),
        }
    }
}

/// Returns the error of a read that a signal ended.
fn interruption(signal: u8) -> io::Error {
    io::Error::other(format!("interrupted by signal {signal}"))
}

impl<'a> Replay<'a> {
    /// Opens a capture; `-` is standard input. Gzip and zstd are recognized by their first bytes. A large file is parsed
    /// on a separate thread if there is a second CPU.
    ///
    /// # Errors
    /// If the file cannot be opened or is a directory, or if a signal is received before its first bytes. A signal
    /// received later makes [`Self::next`] fail.
    pub fn open(path: &Path, every: Option<Duration>, clock: &'a dyn Clock) -> Result<Self> {
        let has_cpus = thread::available_parallelism().is_ok_and(|cpus| cpus.get() > 1);
        let (name, file) = open_capture(path)?;
        let is_large =
            file.metadata().is_ok_and(|file| file.is_file() && file.len() >= MIN_PARSE_AHEAD_BYTES);
        if is_large && has_cpus {
            return Self::new(name, file, every, clock, |input| {
                let reader = Reader::new(decompress(input)?).with_times(local_zone(), every);
                Ok(Samples::Ahead(ParseAhead::start(reader)?))
            });
        }
        let is_stream = !file.metadata().is_ok_and(|file| file.is_file());
        Self::in_turn(name, file, every, clock, |reader| {
            if is_stream {
                reader.hand_out_promptly();
            }
        })
    }

    /// Opens a capture like [`Self::open`], and also hands out the complete lines of a sample that is truncated at the
    /// end of the file. It is not parsed on a separate thread: pt-diskstats does less with a sample than handing it over
    /// would take.
    ///
    /// # Errors
    /// Those of [`Self::open`].
    pub fn open_with_truncated_sample(path: &Path, clock: &'a dyn Clock) -> Result<Self> {
        let (name, file) = open_capture(path)?;
        Self::in_turn(name, file, None, clock, Reader::keep_truncated_sample)
    }

    fn in_turn(
        name: String,
        file: File,
        every: Option<Duration>,
        clock: &'a dyn Clock,
        set_up: impl FnOnce(&mut Reader<Text<UntilSignal<'a>>>),
    ) -> Result<Self> {
        Self::new(name, file, every, clock, |input| {
            let mut reader =
                Reader::new(decompress(UntilSignal { input, clock })?).with_times(local_zone(), every);
            set_up(&mut reader);
            Ok(Samples::InTurn(Box::new(reader)))
        })
    }

    fn new(
        name: String,
        file: File,
        every: Option<Duration>,
        clock: &'a dyn Clock,
        parser: impl FnOnce(File) -> io::Result<Samples<'a>>,
    ) -> Result<Self> {
        let whole = WholeFile::of(&file);
        let samples = parser(file).map_err(|error| read_error(&name, error))?;
        Ok(Self { name, samples, has_ended: false, whole, every, clock })
    }

    /// Reads the times of the whole capture before its samples are read; `None` for a pipe, which cannot be read ahead,
    /// and for a capture without samples.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn scan_times(&self) -> Result<Option<CaptureTimes>> {
        let Some(whole) = &self.whole else { return Ok(None) };
        whole.scan_times(self.every, self.clock).map_err(|error| read_error(&self.name, error))
    }

    /// Returns whether the capture is in a file, which has an end.
    pub fn is_file(&self) -> bool {
        self.whole.is_some()
    }

    /// Returns the fraction of the file that has been read, from 0 to 1; `None` if its length is not known.
    pub fn progress(&self) -> Option<f64> {
        self.whole.as_ref()?.progress()
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
        if self.has_ended {
            return Ok(false);
        }
        let found = match &mut self.samples {
            Samples::InTurn(reader) => reader.next(previous, sample),
            Samples::Ahead(ahead) => match self.clock.signal() {
                Some(signal) => Err(interruption(signal)),
                None => ahead.next(sample),
            },
        };
        self.has_ended = !matches!(found, Ok(true));
        found.map_err(|error| read_error(&self.name, error))
    }

    /// Takes the warnings since the last call.
    pub fn take_warnings(&mut self) -> Vec<CaptureWarning> {
        match &mut self.samples {
            Samples::InTurn(reader) => reader.take_warnings(),
            Samples::Ahead(ahead) => ahead.take_warnings(),
        }
    }

    /// Returns what is known of the capture up to the last sample.
    pub fn state(&self) -> &CaptureState {
        match &self.samples {
            Samples::InTurn(reader) => reader.state(),
            Samples::Ahead(ahead) => ahead.state(),
        }
    }

    /// Returns the header of the recording that contains the last sample; `None` for any other capture.
    pub fn header(&self) -> Option<&RecordingHeader> {
        self.state().header.as_deref()
    }
}

/// The zone of times that name none.
fn local_zone() -> TimeZone {
    local_time_zone(std::env::var_os("TZ").as_deref())
}

/// The error of a capture that cannot be read, which names the command that can read it.
fn read_error(name: &str, error: io::Error) -> anyhow::Error {
    let message = error.get_ref().and_then(|inner| inner.downcast_ref()).map(|found: &NeedsProgram| {
        let file = Some(name).filter(|name| *name != STANDARD_INPUT);
        anyhow!("{}", found.message(file))
    });
    message.unwrap_or_else(|| error.into()).context(format!("cannot read {name}"))
}

/// Opens the file of a capture; returns it with its name for messages.
fn open_capture(path: &Path) -> Result<(String, File)> {
    if path.as_os_str() == "-" {
        // Bypasses the buffer of the standard library: poll(2) does not see data in it.
        let input = io::stdin().as_fd().try_clone_to_owned().context("cannot read standard input")?;
        return Ok((STANDARD_INPUT.to_owned(), File::from(input)));
    }
    let name = path.display().to_string();
    let file = OpenOptions::new().read(true).open(path).with_context(|| format!("cannot open {name}"))?;
    if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
        bail!("{name} is a directory, not a capture");
    }
    Ok((name, file))
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
    let text = decompress(file).with_context(|| format!("cannot read {name}"))?;
    copy_range(text, range.0..=range.1, |bytes| -> Result<()> { write(bytes) })
        .with_context(|| format!("cannot copy from {name}"))
}

/// A capture in a file, which can be read at any position.
struct WholeFile {
    file: File,
    /// The position at which the capture begins: standard input may have been read in part.
    start: u64,
    length: u64,
}

impl WholeFile {
    /// The capture in a file before it is read; `None` for a pipe or a device.
    pub(super) fn of(file: &File) -> Option<Self> {
        let length = file.metadata().ok().filter(std::fs::Metadata::is_file)?.len();
        let mut file = file.try_clone().ok()?;
        let start = file.stream_position().ok()?;
        Some(Self { file, start, length })
    }

    /// Returns the fraction of the file that the reader of its samples, which has the same position, has read.
    pub(super) fn progress(&self) -> Option<f64> {
        let read = (&self.file).stream_position().ok()?.saturating_sub(self.start);
        Some((read as f64 / self.length.max(1) as f64).min(1.0))
    }

    /// Reads its times; `None` without any.
    ///
    /// # Errors
    /// If it cannot be read.
    pub(super) fn scan_times(
        &self,
        every: Option<Duration>,
        clock: &dyn Clock,
    ) -> io::Result<Option<CaptureTimes>> {
        let mut times: Option<CaptureTimes> = None;
        let mut observe = |at| match &mut times {
            Some(times) => times.observe(at),
            None => times = Some(CaptureTimes::new(at)),
        };
        let text = || decompress(FileReader { file: &self.file, position: self.start, clock });
        let mut has_ts_lines = false;
        scan_times(text()?, |at| {
            has_ts_lines = true;
            observe(at);
        })?;
        if !has_ts_lines {
            // The times of other captures, and of logs, are known only with their samples.
            let mut reader = Reader::new(text()?).with_times(local_zone(), every);
            let (mut previous, mut sample) = (Sample::default(), Sample::default());
            while reader.next(&previous, &mut sample)? {
                reader.take_warnings();
                sample.at.wall.into_iter().for_each(&mut observe);
                std::mem::swap(&mut previous, &mut sample);
            }
        }
        Ok(times)
    }
}

/// Reads a file without moving the position of another reader, until a signal is received.
struct FileReader<'a> {
    file: &'a File,
    position: u64,
    clock: &'a dyn Clock,
}

impl Read for FileReader<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if let Some(signal) = self.clock.signal() {
            return Err(interruption(signal));
        }
        let read = self.file.read_at(into, self.position)?;
        self.position += read as u64;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::RealClock;

    #[test]
    fn only_a_large_file_is_parsed_ahead() {
        let directory = tempfile::tempdir().unwrap();
        let clock = RealClock::new(None);
        let is_ahead = |replay: Result<Replay<'_>>| matches!(replay.unwrap().samples, Samples::Ahead(..));
        let has_cpus = thread::available_parallelism().is_ok_and(|cpus| cpus.get() > 1);
        for (lines, is_large) in [(300_000, true), (1, false)] {
            let path = directory.path().join("capture");
            std::fs::write(&path, b"TS 1.0\n".repeat(lines)).unwrap();
            assert_eq!(is_ahead(Replay::open(&path, None, &clock)), has_cpus && is_large);
            assert!(!is_ahead(Replay::open_with_truncated_sample(&path, &clock)));
        }
    }
}
