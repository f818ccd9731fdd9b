//! The file of a capture: standard input or a named one, plain or compressed; and the temporary file that keeps one that
//! cannot be read twice.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use jiff::{SignedDuration, Timestamp};

use super::decompress::{STANDARD_INPUT, Text, decompress};
use super::local_time_zone;
use super::until_signal::{UntilSignal, open_without_waiting};
use crate::capture::{LocalTimes, LogFacts, Reader, scan_times};
use crate::clock::Clock;
use crate::compression::{MIN_LOST_ZEROS, length_without_zeros};
use crate::counters::Sample;
use crate::time_range::CaptureTimes;

/// The file of a capture.
pub(super) struct CaptureFile<'a> {
    /// Its name for messages.
    pub(super) name: String,
    pub(super) file: File,
    /// The position at which the capture begins: standard input may have been read in part.
    pub(super) start: u64,
    /// The length of the file; `None` for a pipe or a device, which cannot be read at any position.
    pub(super) length: Option<u64>,
    pub(super) every: Option<Duration>,
    pub(super) clock: &'a dyn Clock,
}

impl<'a> CaptureFile<'a> {
    /// Opens a file; `-` is standard input.
    pub(super) fn open(path: &Path, every: Option<Duration>, clock: &'a dyn Clock) -> Result<Self> {
        let (name, mut file) = if path.as_os_str() == "-" {
            // Bypasses the buffer of the standard library: poll(2) does not see data in it.
            let input = io::stdin()
                .as_fd()
                .try_clone_to_owned()
                .context("cannot read standard input")?;
            (STANDARD_INPUT.to_owned(), File::from(input))
        } else {
            let name = path.display().to_string();
            let file = open_without_waiting(path);
            (
                name.clone(),
                file.with_context(|| format!("cannot open {name}"))?,
            )
        };
        let metadata = file
            .metadata()
            .with_context(|| format!("cannot read {name}"))?;
        if metadata.is_dir() {
            bail!("{name} is a directory, not a capture");
        }
        let length = metadata.is_file().then_some(metadata.len());
        let start = file.stream_position().unwrap_or(0);
        Ok(Self {
            name,
            file,
            start,
            length,
            every,
            clock,
        })
    }

    /// The file, which is read at its own position if there is none. A signal ends a read.
    pub(super) fn interruptible(&self, position: Option<u64>) -> Result<UntilSignal<'a>> {
        let file = self.file.try_clone().map_err(|error| self.error(error))?;
        Ok(UntilSignal {
            file,
            position,
            clock: self.clock,
        })
    }

    /// Returns the text of the capture, which `input` reads.
    pub(super) fn text<R: Read>(&self, input: R) -> Result<Text<R>> {
        // A file without zeros at its end may still grow.
        let mut data = u64::MAX;
        if let Some(length) = self.length
            && let Ok(end) = length_without_zeros(&self.file, MIN_LOST_ZEROS)
            && end < length
        {
            data = end.saturating_sub(self.start);
        }
        decompress(input, data, &self.name).map_err(|error| self.error(error))
    }

    pub(super) fn reader<R: Read>(&self, input: R) -> Result<Reader<Text<R>>> {
        let mut reader = self.reader_without_log_facts(input)?;
        reader.set_log_facts(self.log_facts()?);
        Ok(reader)
    }

    fn reader_without_log_facts<R: Read>(&self, input: R) -> Result<Reader<Text<R>>> {
        Ok(Reader::with_times(
            self.text(input)?,
            local_times(&self.file, self.clock),
            self.every,
        ))
    }

    /// Returns what the whole file shows if it is a log; `None` for other captures and for pipes.
    ///
    /// # Errors
    /// If it has lines of several hosts. What else is wrong with it is said when it is read.
    pub(super) fn log_facts(&self) -> Result<Option<LogFacts>> {
        if self.length.is_none() {
            return Ok(None);
        }
        let reader = self.reader_without_log_facts(self.interruptible(Some(self.start))?)?;
        match reader.scan_log() {
            Err(error) if error.kind() == io::ErrorKind::InvalidData => Err(self.error(error)),
            facts => Ok(facts.unwrap_or_default()),
        }
    }

    pub(super) fn error(&self, error: io::Error) -> anyhow::Error {
        anyhow::Error::from(error).context(format!("cannot read {}", self.name))
    }

    /// Adds its times to those of the files before it; none if it is a pipe.
    ///
    /// # Errors
    /// If it cannot be read.
    pub(super) fn scan_times(&self, times: &mut Option<CaptureTimes>) -> Result<()> {
        if self.length.is_none() {
            return Ok(());
        }
        let mut has_times = false;
        scan_times(self.whole_text()?, |at| {
            has_times = true;
            observe(times, at);
        })
        .map_err(|error| self.error(error))?;
        if has_times {
            return Ok(());
        }
        // The times of other captures and of logs are known only with their samples.
        let mut reader = self.reader(self.interruptible(Some(self.start))?)?;
        let mut previous = Sample::default();
        let mut sample = Sample::default();
        while reader
            .next(&previous, &mut sample)
            .map_err(|error| self.error(error))?
        {
            reader.take_warnings();
            if let Some(at) = sample.at.wall {
                observe(times, at);
            }
            std::mem::swap(&mut previous, &mut sample);
        }
        Ok(())
    }

    /// The text of the capture from its beginning. Its reader has a position of its own.
    pub(super) fn whole_text(&self) -> Result<Text<UntilSignal<'a>>> {
        self.text(self.interruptible(Some(self.start))?)
    }
}

/// Adds the time of the next sample.
fn observe(times: &mut Option<CaptureTimes>, at: Timestamp) {
    match times {
        Some(times) => times.observe(at),
        None => *times = Some(CaptureTimes::new(at)),
    }
}

/// Returns the zone and the latest date for the times of a capture: a file ends before it was last changed.
fn local_times(file: &File, clock: &dyn Clock) -> LocalTimes {
    // It may be in another zone, or be a pipe that is written meanwhile.
    let (end, slack) = match changed(file) {
        Some(time) => (time, SignedDuration::from_hours(24)),
        None => (clock.wall(), SignedDuration::from_hours(31 * 24)),
    };
    let zone = local_time_zone(std::env::var_os("TZ").as_deref());
    LocalTimes {
        zone,
        latest: end.saturating_add(slack).unwrap_or(end),
    }
}

/// Returns the time at which a file was last changed; `None` for a pipe.
fn changed(file: &File) -> Option<Timestamp> {
    let metadata = file.metadata().ok()?;
    if !metadata.is_file() {
        return None;
    }
    Timestamp::try_from(metadata.modified().ok()?).ok()
}

/// Where a kept file is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptPlace {
    /// The path by which this process can open it again.
    pub(super) path: PathBuf,
    /// The name of its source in messages.
    pub(super) name: String,
}

/// A temporary file without a name, for what cannot be read twice: what comes from a pipe, or from the running system.
#[derive(Debug)]
pub struct KeptFile {
    pub file: File,
    pub place: KeptPlace,
}

impl KeptFile {
    /// Creates an empty one. Messages call its source `name`.
    ///
    /// # Errors
    /// If none can be created.
    pub fn create(name: String) -> Result<Self> {
        let file = tempfile::tempfile().context("cannot create a temporary file")?;
        let path = Path::new("/proc/self/fd").join(file.as_raw_fd().to_string());
        let place = KeptPlace { path, name };
        Ok(Self { file, place })
    }

    /// Copies a capture, `-` for standard input, until it ends or a signal is received. Also returns the signal.
    ///
    /// # Errors
    /// If it cannot be read, or the file cannot be written.
    pub fn copy_capture(path: &Path, clock: &dyn Clock) -> Result<(Self, Option<u8>)> {
        let capture = CaptureFile::open(path, None, clock)?;
        let mut input = capture.interruptible(None)?;
        let mut kept = Self::create(capture.name)?;
        let copied = io::copy(&mut input, &mut kept.file);
        let signal = clock.signal();
        if signal.is_none() {
            copied.with_context(|| format!("cannot keep {}, to read it twice", kept.place.name))?;
        }
        Ok((kept, signal))
    }
}
