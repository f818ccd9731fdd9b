//! Replays a capture from a file or standard input, plain or compressed.

use std::cell::Cell;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, FileTypeExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use super::decompress::{NeedsProgram, Text, decompress};
use super::parse_ahead::ParseAhead;
use super::{find_time_zone, local_time_zone};
use crate::capture::{
    CaptureState, CaptureWarning, LocalTimes, Reader, RecordingHeader, copy_range, scan_times,
};
use crate::clock::{Clock, WaitOutcome};
use crate::counters::Sample;
use crate::sanitize::sanitize;
use crate::time_range::{CaptureTimes, RangeFilter, TimeRange};

pub struct Replay<'a> {
    /// The name of the capture.
    name: String,
    /// The name of the file that is read.
    file_name: String,
    samples: Samples<'a>,
    has_ended: bool,
    /// Another reader of each of its files that is opened; `None` for a pipe.
    whole: Option<WholeFile>,
    /// The files that follow, the last one first.
    following: Vec<PathBuf>,
    /// The distance of samples without times.
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
        let file_bytes = file.metadata().ok().filter(|file| file.is_file()).map(|file| file.len());
        if has_cpus && file_bytes.is_some_and(|bytes| bytes >= MIN_PARSE_AHEAD_BYTES) {
            return Self::new(name, file, every, clock, |input| {
                let local = local_times(&input, clock);
                let reader = Reader::with_times(decompress(input)?, local, every);
                Ok(Samples::Ahead(ParseAhead::start(reader)?))
            });
        }
        Self::in_turn(name, file, every, clock, |reader| {
            if file_bytes.is_none() {
                reader.hand_out_promptly();
            }
        })
    }

    /// Opens a capture that consists of a file and of `more` files, which are read in the order of their first samples.
    ///
    /// # Errors
    /// Those of [`Self::open`], for each of the files.
    pub fn open_all(
        first: &Path,
        more: &[PathBuf],
        every: Option<Duration>,
        clock: &'a dyn Clock,
    ) -> Result<Self> {
        if more.is_empty() {
            return Self::open(first, every, clock);
        }
        let mut files = Vec::new();
        for path in std::iter::once(first).chain(more.iter().map(PathBuf::as_path)) {
            let (name, file) = open_capture(path)?;
            let mut sample = Sample::default();
            let mut reader = Self::in_turn(name, file, every, clock, |_| {})?;
            if !reader.next(&Sample::default(), &mut sample)? {
                bail!("no samples found in {}, one of several files", reader.name);
            }
            files.push((sample.at.wall, path.to_owned()));
        }
        // Those that begin at the same time keep their order.
        files.sort_by_key(|(first, _)| *first);
        let mut following: Vec<PathBuf> = files.into_iter().rev().map(|(_, path)| path).collect();
        let (name, file) = open_capture(&following.pop().unwrap_or_else(|| first.to_owned()))?;
        let replay = Self::in_turn(name.clone(), file, every, clock, |reader| reader.begin_file(name))?;
        let name = format!("{} and {} more", replay.name, following.len());
        Ok(Self { name, following, ..replay })
    }

    /// Opens a capture like [`Self::open`], and also hands out the complete lines of a sample that is truncated at the
    /// end of the file. It is not parsed on a separate thread: pt-diskstats does less with a sample than handing it over
    /// would take.
    ///
    /// # Errors
    /// Those of [`Self::open`].
    pub fn open_with_truncated_sample(
        path: &Path,
        every: Option<Duration>,
        clock: &'a dyn Clock,
    ) -> Result<Self> {
        let (name, file) = open_capture(path)?;
        Self::in_turn(name, file, every, clock, Reader::keep_truncated_sample)
    }

    fn in_turn(
        name: String,
        file: File,
        every: Option<Duration>,
        clock: &'a dyn Clock,
        set_up: impl FnOnce(&mut Reader<Text<UntilSignal<'a>>>),
    ) -> Result<Self> {
        Self::new(name, file, every, clock, |input| {
            let local = local_times(&input, clock);
            let mut reader = Reader::with_times(decompress(UntilSignal { input, clock })?, local, every);
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
        let file_name = name.clone();
        let following = Vec::new();
        Ok(Self { name, file_name, samples, has_ended: false, whole, following, every, clock })
    }

    /// Reads the times of the whole capture before its samples are read; `None` for a pipe, which cannot be read ahead,
    /// and for a capture without samples.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn scan_times(&self) -> Result<Option<CaptureTimes>> {
        let Some(file) = &self.whole else { return Ok(None) };
        let mut times = None;
        let failed = |error| read_error(&self.name, error);
        file.scan_times(self.clock, self.every, &mut times).map_err(failed)?;
        for path in self.following.iter().rev() {
            let Some(file) = WholeFile::of(&open_capture(path)?.1) else { return Ok(None) };
            file.scan_times(self.clock, self.every, &mut times).map_err(failed)?;
        }
        Ok(times)
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
            Samples::InTurn(reader) => loop {
                let found = reader.next(previous, sample);
                if !matches!(found, Ok(false)) {
                    break found;
                }
                let Some(path) = self.following.pop() else { break found };
                let (name, input) = open_capture(&path)?;
                self.whole = WholeFile::of(&input);
                let text = decompress(UntilSignal { input, clock: self.clock });
                reader.continue_with(text.with_context(|| format!("cannot read {name}"))?, name.clone());
                self.file_name = name;
            },
            Samples::Ahead(ahead) => match self.clock.signal() {
                Some(signal) => Err(interruption(signal)),
                None => ahead.next(sample),
            },
        };
        self.has_ended = !matches!(found, Ok(true));
        found.map_err(|error| read_error(&self.file_name, error))
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

    /// Returns why the capture has no samples.
    pub fn no_samples_reason(&self) -> String {
        let reason = match self.state() {
            CaptureState { is_truncated: true, .. } => {
                "the capture is truncated before the end of its first sample; two samples are needed"
            }
            CaptureState { lacks_times: true, .. } => {
                "copies of /proc/diskstats without times; state their distance: --every 1s"
            }
            CaptureState { look_alike: Some((line, what)), .. } => {
                return format!("no samples found; line {line} {what}");
            }
            _ => {
                "no samples found; a capture holds copies of /proc/diskstats, each after a line with its time, such as \
                 'TS <seconds>' or that of 'date'"
            }
        };
        reason.to_owned()
    }

    /// Returns the header of the recording that contains the last sample; `None` for any other capture.
    pub fn header(&self) -> Option<&RecordingHeader> {
        self.state().header.as_deref()
    }
}

/// Returns whether a word names a recording: `-`, or a file or pipe that exists, unless a device has this name.
pub fn is_recording(word: &str, root: &Path) -> bool {
    // The kernel's files show up as regular ones.
    let is_of_kernel = word.starts_with("/proc/") || word.starts_with("/sys/");
    let is_stream = |path: &Path| {
        path.metadata()
            .is_ok_and(|metadata| metadata.is_file() && !is_of_kernel || metadata.file_type().is_fifo())
    };
    word == "-" || is_stream(Path::new(word)) && !is_device_name(word, root)
}

/// Returns whether the running system has a device of this name.
pub fn is_device_name(word: &str, root: &Path) -> bool {
    !word.contains('/') && !word.is_empty() && root.join("sys/class/block").join(word).exists()
}

/// Returns the filter of a range of a capture.
///
/// # Errors
/// When the time zone is not known, the capture cannot be read, or a point before its end is not known in a pipe.
pub fn open_range(range: &TimeRange, replay: &Replay<'_>) -> Result<RangeFilter> {
    let tz = range.time_zone.as_deref();
    let zone = match find_time_zone(tz) {
        Some(zone) => zone,
        None if range.points().all(|(_, point)| !point.needs_time_zone()) => TimeZone::UTC,
        None => bail!(
            "unknown time zone '{}' in TZ; give times with their UTC offset, such as 2026-11-20T16:04Z",
            sanitize(&tz.unwrap_or_default().to_string_lossy())
        ),
    };
    let name = || sanitize(replay.name()).into_owned();
    if let Some((option, point)) =
        range.points().find(|(_, point)| point.before_end().is_some() && !replay.is_file())
    {
        bail!(
            "{option} {point} is not known while {} is read from a pipe; save the capture to a file first",
            name()
        );
    }
    // Whether a local time occurs again is known only from the last time.
    let needs_whole =
        range.points().any(|(_, point)| point.before_end().is_some() || point.needs_time_zone());
    let whole = if needs_whole { replay.scan_times()? } else { None };
    Ok(RangeFilter::new(range.clone(), zone, whole))
}

/// Returns the zone and the latest date for the times of a capture: a file ends before it was last changed.
fn local_times(file: &File, clock: &dyn Clock) -> LocalTimes {
    // It may be in another zone, or be a pipe that is written meanwhile.
    let (zone_slack, pipe_slack) = (SignedDuration::from_hours(24), SignedDuration::from_hours(31 * 24));
    let changed =
        file.metadata().ok().filter(std::fs::Metadata::is_file).and_then(|file| file.modified().ok());
    let changed = changed.and_then(|time| Timestamp::try_from(time).ok()).map(|time| (time, zone_slack));
    let (end, slack) = changed.unwrap_or_else(|| (clock.wall(), pipe_slack));
    let zone = local_time_zone(std::env::var_os("TZ").as_deref());
    LocalTimes { zone, latest: end.saturating_add(slack).unwrap_or(end) }
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

    /// Adds its times to those of the files before it.
    ///
    /// # Errors
    /// If it cannot be read.
    pub(super) fn scan_times(
        &self,
        clock: &dyn Clock,
        every: Option<Duration>,
        times: &mut Option<CaptureTimes>,
    ) -> io::Result<()> {
        let file = || decompress(FileReader { file: &self.file, position: self.start, clock });
        let has_times = Cell::new(false);
        let mut observe = |at| {
            has_times.set(true);
            match times {
                Some(times) => times.observe(at),
                None => *times = Some(CaptureTimes::new(at)),
            }
        };
        scan_times(file()?, &mut observe)?;
        if !has_times.get() {
            // The times of other captures, and of logs, are known only with their samples.
            let mut reader = Reader::with_times(file()?, local_times(&self.file, clock), every);
            let (mut previous, mut sample) = (Sample::default(), Sample::default());
            while reader.next(&previous, &mut sample)? {
                reader.take_warnings();
                sample.at.wall.into_iter().for_each(&mut observe);
                std::mem::swap(&mut previous, &mut sample);
            }
        }
        Ok(())
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
            assert!(!is_ahead(Replay::open_with_truncated_sample(&path, None, &clock)));
        }
    }
}
