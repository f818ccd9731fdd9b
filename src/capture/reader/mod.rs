//! Reads the samples of a capture one after the other: each begins with a `TS` line.
//!
//! A recording made by blkstat contains more: each sample ends with an end mark and has a monotonic time. If a line has
//! lost its end and a recording was appended to the file, the first line of that recording continues it. Such a line is
//! split, and both parts are read as separate lines.

mod copies;
mod end;
mod kind;
mod logged;
mod look_alike;
mod recording;
mod state;
mod warnings;

#[cfg(test)]
mod tests;

use std::io::{self, Read};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use self::end::MIN_UNDAMAGED_SAMPLES;
pub use self::state::CaptureState;
use self::state::{Continuity, Position, SampleDevices, SegmentTracker};
use self::warnings::no_line_of_diskstats;
use super::annotation::RecordingHeader;
use super::diskstats_line::LineError;
use super::logs::{LogFacts, LogText, Logs};
use super::normal::copies::ForeignLines;
use super::normal::lines::LineReader;
use super::normal::time_form::LocalTimes;
use super::recorded_scan::ScanReader;
use super::{CaptureWarning, WarningClass};
use crate::counters::{HealthFacts, HostState, Sample};

/// The kinds of captures, which are read in different ways.
enum Kind {
    /// Samples begin with `TS` lines.
    WithTimestamps,
    Foreign(Box<ForeignLines>),
    /// A log of which nothing was read yet.
    NewLog(Box<LogText>),
    Log(Box<Logs>),
}

/// Reads the samples of a capture in memory bounded by the largest sample.
pub struct Reader<R> {
    lines: LineReader<R>,
    position: Position,
    devices: SampleDevices,
    segments: SegmentTracker,
    state: CaptureState,
    keeps_truncated_sample: bool,
    /// The number of the first line without a timestamp. A warning follows only if the file has a `TS` line.
    first_line_before_timestamp: Option<u64>,
    /// The number of samples that the recorder dropped before the next one.
    dropped_samples: u64,
    /// The facts about the health of devices; `None` if they are not recorded.
    health: Option<Arc<HealthFacts>>,
    /// The scans of cgroups and processes.
    scans: ScanReader,
    local: LocalTimes,
    every: Option<Duration>,
    /// The kind of the file; `None` before its first line is read.
    kind: Option<Kind>,
    /// What the whole file shows if it is a log; `None` if only its beginning can be looked at.
    log_facts: Option<LogFacts>,
    /// True to hand out a sample as soon as it has the devices of the one before, which may be wrong if devices change.
    is_prompt: bool,
    /// The number of devices in the sample before, and the last of them; `None` if it came late.
    last_copy: (usize, Option<String>),
    continuity: Continuity,
    /// The number of samples since the last one that was left out because it looked damaged.
    undamaged_samples: u64,
    /// True if any sample had a device.
    had_devices: bool,
    /// Warnings about lines before the first device. Without any device, the file is of another kind.
    warnings_of_lines: Vec<CaptureWarning>,
    /// The number of the first invalid line, and its error.
    first_wrong_line: Option<(u64, LineError)>,
    /// How many of them there were before the last sample.
    wrong_lines_before: usize,
    /// The header in the file before, if the capture is in several.
    header_before: Option<Arc<RecordingHeader>>,
    /// The time of the last sample.
    latest: Option<Timestamp>,
}

impl<R: Read> Reader<R> {
    /// Creates a reader at the start of a capture, whose times are in UTC if they name no zone.
    pub fn new(input: R) -> Self {
        Self::with_times(input, LocalTimes::default(), None)
    }

    /// Creates a reader at the start of a capture, whose samples are so far apart if they have no times.
    pub fn with_times(input: R, local: LocalTimes, every: Option<Duration>) -> Self {
        Self {
            lines: LineReader::new(input),
            position: Position::BeforeFirstTimestamp,
            devices: SampleDevices::default(),
            segments: SegmentTracker::default(),
            state: CaptureState::default(),
            keeps_truncated_sample: false,
            first_line_before_timestamp: None,
            dropped_samples: 0,
            health: None,
            scans: ScanReader::default(),
            local,
            every,
            kind: None,
            log_facts: None,
            is_prompt: false,
            last_copy: Default::default(),
            continuity: Continuity::default(),
            undamaged_samples: MIN_UNDAMAGED_SAMPLES,
            had_devices: false,
            warnings_of_lines: Vec::new(),
            first_wrong_line: None,
            wrong_lines_before: 0,
            header_before: None,
            latest: None,
        }
    }

    /// Says which file the next warnings are about.
    pub fn begin_file(&mut self, name: String) {
        self.warn(WarningClass::NextFile, name);
    }

    /// Takes what [`Self::scan_log`] found in the whole file.
    pub fn set_log_facts(&mut self, facts: Option<LogFacts>) {
        self.log_facts = facts;
    }

    /// Goes on with the next file of the same capture, after the end of the one before. `name` is its name for messages.
    pub fn continue_with(&mut self, input: R, log_facts: Option<LogFacts>, name: String) {
        self.lines = LineReader::new(input);
        self.log_facts = log_facts;
        self.position = Position::BeforeFirstTimestamp;
        self.first_line_before_timestamp = None;
        if let Some(Kind::Log(_)) = self.kind.take() {
            self.end_log();
        }
        // The end of a sample is marked only in a file with a header of its own.
        self.header_before = self.state.header.take().or(self.header_before.take());
        self.begin_file(name);
    }

    /// Makes the reader hand out each sample of a stream as soon as it seems complete, not when the next begins.
    pub fn hand_out_promptly(&mut self) {
        self.is_prompt = true;
    }

    /// Makes the reader hand out a truncated sample with the lines that are or seem complete, and the lines of a device that is
    /// listed again, as pt-diskstats does.
    pub fn keep_truncated_sample(&mut self) {
        self.keeps_truncated_sample = true;
    }

    /// Takes the warnings since the last call.
    pub fn take_warnings(&mut self) -> Vec<CaptureWarning> {
        std::mem::take(&mut self.state.warnings)
    }

    /// Returns what is known of the capture so far.
    pub fn state(&self) -> &CaptureState {
        &self.state
    }

    /// Returns what is known of the capture so far, and takes its warnings.
    pub fn take_state(&mut self) -> CaptureState {
        CaptureState {
            header: self.state.header.clone(),
            warnings: self.take_warnings(),
            more_devices: Vec::new(),
            ..self.state
        }
    }

    /// Returns the header of the recording that contains the last sample; `None` for any other capture.
    pub fn header(&self) -> Option<&RecordingHeader> {
        self.state.header.as_deref()
    }

    /// Reads the next sample into `sample`, reusing its memory. `previous` is the sample read before it; comparing with
    /// it shows whether the last sample of the file is complete. Returns `false` at the end of the capture.
    ///
    /// # Errors
    /// If the stream cannot be read. Compressed data that ends early is not an error but a truncated capture, and
    /// something else after it is ignored with a warning.
    pub fn next(&mut self, previous: &Sample, sample: &mut Sample) -> io::Result<bool> {
        let found = self.read_next(previous, sample)?;
        let has_more_wrong_lines = self.warnings_of_lines.len() > self.wrong_lines_before;
        if !self.had_devices
            && (!found || self.wrong_lines_before > 0 && has_more_wrong_lines)
            && let Some((line, error)) = &self.first_wrong_line
        {
            return Err(no_line_of_diskstats(*line, error));
        }
        self.wrong_lines_before = self.warnings_of_lines.len();
        if found {
            self.latest = sample.at.wall;
        }
        if found && (self.state.is_log || !self.is_blkstat_recording()) {
            // A log says where another run begins.
            let is_known =
                self.state.is_log && sample.segment + self.continuity.breaks != previous.segment;
            if let Some(text) = self
                .continuity
                .observe(previous, sample)
                .filter(|_| !is_known)
            {
                self.warn(WarningClass::Other, text);
            }
            sample.segment += self.continuity.breaks;
        }
        Ok(found)
    }

    fn read_next(&mut self, previous: &Sample, sample: &mut Sample) -> io::Result<bool> {
        self.devices.clear();
        clear_optional_values(sample);
        let mut kind = match self.kind.take() {
            Some(kind) => kind,
            None => self.find_kind()?,
        };
        if let Kind::NewLog(text) = kind {
            let facts = match self.log_facts.take() {
                Some(of_file) => of_file,
                None => self.scan_ahead(&text)?,
            };
            kind = Kind::Log(Box::new(Logs::new(*text, facts, self.every)));
        }
        let found = match &mut kind {
            Kind::Log(logs) => self.next_logged(logs, sample).transpose(),
            kind => Some(self.next_copy(kind, previous, sample)),
        };
        let found = found.unwrap_or_else(|| {
            self.end_log();
            kind = Kind::WithTimestamps;
            self.next_copy(&mut kind, previous, sample)
        });
        self.kind = Some(kind);
        found
    }
}

/// Clears the values that some samples lack.
fn clear_optional_values(sample: &mut Sample) {
    sample.cpu = None;
    sample.host = HostState::default();
    sample.missed_samples = 0;
    sample.missed_scan = None;
}
