//! Replays a capture from a file or standard input, plain or compressed.

use std::io::Seek;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use anyhow::{Result, bail, ensure};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::capture_file::{CaptureFile, KeptPlace};
use super::decompress::Text;
use super::find_time_zone;
use super::parse_ahead::ParseAhead;
use super::until_signal::{UntilSignal, interruption};
use crate::capture::{CaptureState, CaptureWarning, Excerpt, Reader, RecordingHeader};
use crate::clock::Clock;
use crate::counters::Sample;
use crate::sanitize::sanitize;
use crate::time_range::{CaptureTimes, Place, RangeFilter, TimeRange};

/// The size in bytes from which a file is parsed on a separate thread. Parsing a smaller one takes some milliseconds.
const MIN_PARSE_AHEAD_BYTES: u64 = 1 << 20;
/// The least number of bytes of an excerpt that are handed over at a time.
const BLOCK_BYTES: usize = 256 * 1024;

pub struct Replay<'a> {
    /// The name of the capture.
    name: String,
    /// The file that is read.
    file: CaptureFile<'a>,
    samples: Samples<'a>,
    has_ended: bool,
    /// The files that follow, the last one first.
    following: Vec<PathBuf>,
}

enum Samples<'a> {
    /// Parses a sample when it is requested.
    InTurn(Box<Reader<Text<UntilSignal<'a>>>>),
    /// Parses ahead on a separate thread.
    Ahead(ParseAhead),
}

impl<'a> Replay<'a> {
    /// Opens a capture; `-` is standard input. Gzip and zstd are recognized by their first bytes. A large file is parsed
    /// on a separate thread if there is a second CPU.
    ///
    /// # Errors
    /// If the file cannot be opened or is a directory, or if a signal is received before its first bytes. A signal
    /// received later makes [`Self::next`] fail.
    pub fn open(path: &Path, every: Option<Duration>, clock: &'a dyn Clock) -> Result<Self> {
        Self::of_file(CaptureFile::open(path, every, clock)?)
    }

    /// Opens a file that was kept.
    ///
    /// # Errors
    /// Those of [`Self::open`].
    pub fn open_kept(
        kept: &KeptPlace,
        every: Option<Duration>,
        clock: &'a dyn Clock,
    ) -> Result<Self> {
        Self::of_file(CaptureFile {
            name: kept.name.clone(),
            ..CaptureFile::open(&kept.path, every, clock)?
        })
    }

    fn of_file(file: CaptureFile<'a>) -> Result<Self> {
        if let Ok(cpus) = thread::available_parallelism()
            && cpus.get() > 1
            && file.length >= Some(MIN_PARSE_AHEAD_BYTES)
        {
            let started = ParseAhead::start(file.reader(file.interruptible(None)?.file)?);
            let ahead = started.map_err(|error| file.error(error))?;
            return Ok(Self::new(file, Samples::Ahead(ahead)));
        }
        let is_pipe = file.length.is_none();
        Self::in_turn(file, |reader| {
            if is_pipe {
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
        let mut paths = vec![first.to_owned()];
        paths.extend_from_slice(more);
        let mut files = Vec::new();
        for path in &paths {
            let mut sample = Sample::default();
            let mut reader = Self::in_turn(CaptureFile::open(path, every, clock)?, |_| {})?;
            if !reader.next(&Sample::default(), &mut sample)? {
                bail!("no samples found in {}, one of several files", reader.name);
            }
            files.push((sample.at.wall, path));
        }
        // Those that begin at the same time keep their order.
        files.sort_by_key(|(begin, _)| *begin);
        let mut following = Vec::new();
        for (_, path) in files[1..].iter().rev() {
            following.push(PathBuf::clone(path));
        }
        let file = CaptureFile::open(files[0].1, every, clock)?;
        let file_name = file.name.clone();
        let replay = Self::in_turn(file, |reader| reader.begin_file(file_name))?;
        let name = format!("{} and {} more", replay.name, following.len());
        Ok(Self {
            name,
            following,
            ..replay
        })
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
        Self::in_turn(
            CaptureFile::open(path, every, clock)?,
            Reader::keep_truncated_sample,
        )
    }

    fn in_turn(
        file: CaptureFile<'a>,
        set_up: impl FnOnce(&mut Reader<Text<UntilSignal<'a>>>),
    ) -> Result<Self> {
        let mut reader = file.reader(file.interruptible(None)?)?;
        set_up(&mut reader);
        Ok(Self::new(file, Samples::InTurn(Box::new(reader))))
    }

    fn new(file: CaptureFile<'a>, samples: Samples<'a>) -> Self {
        Self {
            name: file.name.clone(),
            file,
            samples,
            has_ended: false,
            following: Vec::new(),
        }
    }

    /// Reads the times of the whole capture before its samples are read; `None` for a pipe, which cannot be read ahead,
    /// and for a capture without samples.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn scan_times(&self) -> Result<Option<CaptureTimes>> {
        let mut times = None;
        self.file.scan_times(&mut times)?;
        let mut has_all = self.is_file();
        for path in self.following.iter().rev() {
            let file = CaptureFile::open(path, self.file.every, self.file.clock)?;
            has_all &= file.length.is_some();
            file.scan_times(&mut times)?;
        }
        if !has_all {
            return Ok(None);
        }
        Ok(times)
    }

    /// Passes the text of the samples of a recording to `write`, as far as `place_of` says of their times that they lie in
    /// the range, and returns the number of intervals in it. It begins at the beginning, whatever was read before.
    ///
    /// # Errors
    /// If the recording cannot be read, and those of `place_of` and `write`.
    pub fn copy_excerpt(
        &self,
        place_of: &mut dyn FnMut(Timestamp) -> Result<Place>,
        write: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<u64> {
        let mut excerpt = Excerpt::new(self.file.whole_text()?);
        let mut following = self.following.iter().rev();
        let mut next_file;
        let mut file = &self.file;
        let mut intervals = 0;
        let mut out = Vec::new();
        loop {
            let Some(at) = excerpt.read_sample().map_err(|error| file.error(error))? else {
                let Some(path) = following.next() else {
                    break;
                };
                next_file = CaptureFile::open(path, self.file.every, self.file.clock)?;
                file = &next_file;
                excerpt.continue_with(file.whole_text()?);
                continue;
            };
            match place_of(at)? {
                Place::Preceding => excerpt.skip(),
                Place::Within => {
                    excerpt.take(&mut out);
                    intervals += 1;
                }
                Place::Following => break,
            }
            if out.len() >= BLOCK_BYTES {
                write(&out)?;
                out.clear();
            }
        }
        write(&out)?;
        Ok(intervals)
    }

    /// Returns whether the capture is in a file, which has an end.
    pub fn is_file(&self) -> bool {
        self.file.length.is_some()
    }

    /// Returns the fraction of the file that has been read, from 0 to 1; `None` if its length is not known.
    pub fn progress(&self) -> Option<f64> {
        let read = (&self.file.file)
            .stream_position()
            .ok()?
            .saturating_sub(self.file.start);
        Some((read as f64 / self.file.length?.max(1) as f64).min(1.0))
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
        let found = self.next_of_files(previous, sample);
        self.has_ended = !matches!(found, Ok(true));
        found
    }

    /// Reads the next sample of the file, or of those that follow it.
    fn next_of_files(&mut self, previous: &Sample, sample: &mut Sample) -> Result<bool> {
        loop {
            let found = match &mut self.samples {
                Samples::InTurn(reader) => reader.next(previous, sample),
                Samples::Ahead(ahead) => match self.file.clock.signal() {
                    Some(signal) => Err(interruption(signal)),
                    None => ahead.next(sample),
                },
            };
            if found.map_err(|error| self.file.error(error))? {
                return Ok(true);
            }
            let (Samples::InTurn(reader), Some(path)) = (&mut self.samples, self.following.pop())
            else {
                return Ok(false);
            };
            self.file = CaptureFile::open(&path, self.file.every, self.file.clock)?;
            reader.continue_with(
                self.file.text(self.file.interruptible(None)?)?,
                self.file.log_facts()?,
                self.file.name.clone(),
            );
        }
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
            CaptureState {
                is_truncated: true, ..
            } => {
                "the capture is truncated before the end of its first sample; two samples are needed"
            }
            CaptureState {
                lacks_times: true, ..
            } => "copies of /proc/diskstats without times; state their distance: --every 1s",
            CaptureState {
                look_alike: Some((line, what)),
                ..
            } => {
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

/// Returns whether a capture can be read more than once.
pub fn is_rereadable(path: &Path) -> bool {
    path.as_os_str() != "-" && path.is_file()
}

/// Returns whether a word names a recording: `-`, or a file or pipe that exists, unless a device has this name.
pub fn is_recording(word: &str, root: &Path) -> bool {
    if word == "-" {
        return true;
    }
    let Ok(metadata) = Path::new(word).metadata() else {
        return false;
    };
    // The kernel's files show up as regular ones.
    let is_of_kernel = word.starts_with("/proc/") || word.starts_with("/sys/");
    let is_stream = metadata.is_file() && !is_of_kernel || metadata.file_type().is_fifo();
    is_stream && !is_device_name(word, root)
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
    let mut needs_whole = false;
    for (option, point) in range.points() {
        let is_before_end = point.before_end().is_some();
        ensure!(
            !is_before_end || replay.is_file(),
            "{option} {point} is not known while {} is read from a pipe; save the capture to a file first",
            sanitize(replay.name())
        );
        // Whether a local time occurs again is known only from the last time.
        needs_whole |= is_before_end || point.needs_time_zone();
    }
    let mut whole = None;
    if needs_whole {
        whole = replay.scan_times()?;
    }
    Ok(RangeFilter::new(range.clone(), zone, whole))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::RealClock;

    #[test]
    fn only_a_large_file_is_parsed_ahead() {
        let directory = tempfile::tempdir().unwrap();
        let clock = RealClock::new(None);
        let is_ahead =
            |replay: Result<Replay<'_>>| matches!(replay.unwrap().samples, Samples::Ahead(..));
        let has_cpus = thread::available_parallelism().is_ok_and(|cpus| cpus.get() > 1);
        for (lines, is_large) in [(300_000, true), (1, false)] {
            let path = directory.path().join("capture");
            std::fs::write(&path, b"TS 1.0\n".repeat(lines)).unwrap();
            assert_eq!(
                is_ahead(Replay::open(&path, None, &clock)),
                has_cpus && is_large
            );
            assert!(!is_ahead(Replay::open_with_truncated_sample(
                &path, None, &clock
            )));
        }
    }
}
