//! Reads the samples of a capture one after the other: each begins with a `TS` line.
//!
//! A recording made by blkstat contains more: each sample ends with an end mark and has a monotonic time. If a line has
//! lost its end and a recording was appended to the file, the first line of that recording continues it. Such a line is
//! split, and both parts are read as separate lines.

mod look_alike;
mod state;

#[cfg(test)]
mod tests;

use std::io::{self, ErrorKind, Read};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use self::look_alike::{NO_DEVICES, is_of_other_system, look_alike};
pub use self::state::CaptureState;
use self::state::{Continuity, OpenSample, Position, SampleDevices, SegmentTracker};
use super::annotation::{Annotation, EndOfSample, HealthLine, RecordingHeader, bounded};
use super::diskstats_line::{LineError, excerpt, is_of_linux_2_4, parse_line};
use super::line_kind::{LineKind, TimestampLine, find_embedded_line};
use super::logs::{LogFacts, LogScan, LogText, Logs};
use super::normal::clock::Clock;
use super::normal::copies::{ForeignLine, ForeignLines, collectl_time};
use super::normal::first_copies::{FirstCopies, Known};
use super::normal::lines::{Ahead, LineReader, NextLine};
use super::normal::time_form::{LocalTimes, TimeForm};
use super::recorded_scan::ScanReader;
use super::stated::Stated;
use super::{CaptureWarning, MAX_DEVICES_PER_SAMPLE, MAX_LINE_BYTES, WarningClass};
use crate::compression::{TrailingData, is_end_of_text};
use crate::counters::{Device, HealthFacts, HostState, Sample};

/// The most warnings that are kept until they are taken; further ones are counted.
const MAX_WARNINGS: usize = 1000;
/// The samples after one that looks damaged, in which others that do are taken as they are: the kernel's counters are odd.
const MIN_UNDAMAGED_SAMPLES: u64 = 8;

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
    stated: Stated,
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
        Self::with_times(input, LocalTimes::default(), Stated::default())
    }

    /// Creates a reader at the start of a capture.
    pub fn with_times(input: R, local: LocalTimes, stated: Stated) -> Self {
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
            stated,
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

    /// Looks at the whole file, if it is a log; `None` if it is not.
    ///
    /// # Errors
    /// If it cannot be read, or is of Linux 2.4.
    pub fn scan_log(mut self) -> io::Result<Option<LogFacts>> {
        let Kind::NewLog(text) = self.find_kind()? else {
            return Ok(None);
        };
        let mut scan = LogScan::new(*text);
        loop {
            match self.lines.next() {
                Ok(NextLine::Line {
                    bytes, ended: true, ..
                }) => {
                    if LineKind::of(bytes, true, false, false).begins_capture() {
                        break;
                    }
                    scan.read(bytes);
                }
                Ok(NextLine::TooLong) => {}
                Ok(NextLine::Line { ended: false, .. } | NextLine::End) => break,
                Err(error) if is_end_of_text(&error) => break,
                Err(error) => return Err(error),
            }
        }
        Ok(Some(scan.finish()))
    }

    /// Looks at the first reports of a log.
    fn scan_ahead(&mut self, text: &LogText) -> io::Result<LogFacts> {
        let mut scan = LogScan::new(text.again());
        let mut ahead = Ahead::default();
        while let Some(line) = self.lines.look_ahead(&mut ahead)? {
            if LineKind::of(line, true, false, false).begins_capture() || scan.read(line) {
                break;
            }
        }
        Ok(scan.finish())
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
            kind = Kind::Log(Box::new(Logs::new(*text, facts, self.stated.every)));
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

    /// Notes that a capture follows a log, whose counters are rebuilt: no interval spans this point.
    fn end_log(&mut self) {
        self.segments.start_segment();
        (self.state.header, self.state.is_log) = (None, false);
    }

    /// Looks at the first lines of a file.
    ///
    /// # Errors
    /// If it is of Linux 2.4, or of several hosts of which none is chosen.
    fn find_kind(&mut self) -> io::Result<Kind> {
        let wanted = self.stated.host.as_deref();
        self.lines.find_hosts(wanted, self.is_prompt)?;
        let mut log = LogText::new(Clock::new(self.local.clone()));
        let mut copies = FirstCopies::new(self.local.clone());
        let before = self.lines.number;
        let mut ahead = Ahead::default();
        while let Some(line) = self.lines.look_ahead(&mut ahead)? {
            let number = before + ahead.lines;
            match LineKind::of(line, true, false, false) {
                LineKind::Timestamp(TimestampLine { time: Some(_), .. })
                | LineKind::Annotation(_)
                | LineKind::InvalidAnnotation(_) => return Ok(Kind::WithTimestamps),
                _ if line.len() > MAX_LINE_BYTES => continue,
                _ => {}
            }
            let Ok(text) = std::str::from_utf8(line) else {
                continue;
            };
            let known = self.state.look_alike;
            self.state.look_alike = known.or_else(|| Some((number, look_alike(text)?)));
            if collectl_time(text).is_some() {
                return Ok(Kind::Foreign(Box::new(ForeignLines::of_collectl())));
            }
            if !copies.has_devices() {
                if is_of_linux_2_4(line) {
                    return Err(linux_2_4(number));
                }
                if !is_of_other_system(text) && log.recognize(text) {
                    self.state.is_log = true;
                    return Ok(Kind::NewLog(Box::new(log)));
                }
            }
            match copies.add(text) {
                Known::Enough => break,
                Known::Likely if self.is_prompt => break,
                Known::Likely | Known::Nothing => {}
            }
        }
        Ok(if copies.has_devices() {
            Kind::Foreign(Box::new(ForeignLines::new(
                &copies,
                self.stated.every,
                self.latest,
            )))
        } else {
            Kind::WithTimestamps
        })
    }

    /// Reads the next sample of a log. Returns whether there is one; `None` if a capture of another kind follows.
    ///
    /// # Errors
    /// If the stream cannot be read.
    fn next_logged(&mut self, logs: &mut Logs, sample: &mut Sample) -> io::Result<Option<bool>> {
        loop {
            if let Some(begins) = logs.next(sample) {
                (self.state.header, self.state.is_log) = (Some(logs.header()), true);
                if begins && self.state.header_count > 0 {
                    self.segments.start_segment();
                }
                self.state.header_count += u64::from(begins);
                let (segment, clock_error) = self.segments.assign(sample.at);
                sample.segment = segment;
                clock_error
                    .into_iter()
                    .for_each(|text| self.warn(WarningClass::Clock, text));
                if !begins && let Some(note) = logs.take_note() {
                    self.warn(WarningClass::Note, note);
                }
                return Ok(Some(true));
            }
            match self.lines.next() {
                Ok(NextLine::Line {
                    bytes, ended: true, ..
                }) => {
                    if LineKind::of(bytes, true, false, false).begins_capture() {
                        self.lines.repeat_line();
                        if logs.finish() {
                            continue;
                        }
                        return Ok(None);
                    }
                    for reason in logs.read(bytes) {
                        self.warn(WarningClass::Lines, reason);
                    }
                }
                Ok(NextLine::Line { ended: false, .. }) => {
                    self.state.is_truncated = true;
                    self.warn(
                        WarningClass::Other,
                        "the last line has no end; its report is skipped",
                    );
                }
                Ok(NextLine::TooLong) => {
                    logs.begins = true;
                    self.warn_of_long_line();
                }
                Ok(NextLine::End) if logs.finish() => {}
                Ok(NextLine::End) => {
                    if logs.lists_nothing() {
                        self.state.look_alike = Some((self.lines.number, NO_DEVICES));
                    }
                    return Ok(Some(false));
                }
                Err(error) if is_end_of_text(&error) => {
                    self.state.is_truncated = true;
                    self.warn(WarningClass::Other, LAST_TRUNCATED);
                    return Ok(Some(false));
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Reads the next sample of a copy of /proc/diskstats.
    fn next_copy(
        &mut self,
        kind: &mut Kind,
        previous: &Sample,
        sample: &mut Sample,
    ) -> io::Result<bool> {
        // pt-diskstats finds a `TS` line only at the beginning of a line.
        let splits_samples = !self.keeps_truncated_sample;
        loop {
            let number = self.lines.number + 1;
            let (line, ended, is_newest) = match self.lines.next() {
                Ok(NextLine::Line {
                    bytes,
                    ended,
                    is_newest,
                }) => (bytes, ended, is_newest),
                Ok(NextLine::TooLong) => {
                    self.warn_of_long_line();
                    continue;
                }
                Ok(NextLine::End) => return Ok(self.finish_last(false, previous, sample)),
                Err(error) => return self.finish_with(error, previous, sample),
            };
            let is_in_sample = self.position.is_in_sample();
            let is_late = matches!(self.position, Position::Complete);
            let line_kind = LineKind::of(
                line,
                ended,
                self.keeps_truncated_sample,
                is_in_sample || is_late,
            );
            if line_kind.is_of_log() {
                return Err(recording_of_log(number));
            }
            if line_kind.begins_capture() {
                // Another capture may be appended.
                *kind = Kind::WithTimestamps;
            }
            let at = match kind {
                Kind::Foreign(foreign) => {
                    let (found, form) = (foreign.read(line, number), foreign.form());
                    let ForeignLine::Device(at) = found else {
                        if self.read_foreign_line(&found, form, ended, number, sample) {
                            return Ok(true);
                        }
                        continue;
                    };
                    at
                }
                Kind::WithTimestamps | Kind::NewLog(_) | Kind::Log(_) => {
                    // The line of a device is searched if it is invalid.
                    let is_device = matches!(line_kind, LineKind::Device);
                    let search = || line_kind.embedded_line(line, splits_samples);
                    if let Some(at) = (!is_device || !is_in_sample).then(search).flatten() {
                        self.lines.split_line(at);
                        continue;
                    }
                    if !is_device {
                        if self.read_other_line(line_kind, ended, previous, sample) {
                            return Ok(true);
                        }
                        continue;
                    }
                    // A recording was made from /proc/diskstats, so that such a line of it is damaged.
                    let may_be_of_2_4 =
                        self.state.header.is_none() && !self.had_devices && self.devices.is_empty();
                    if is_in_sample && may_be_of_2_4 && is_of_linux_2_4(line) {
                        return Err(linux_2_4(self.lines.number));
                    }
                    0
                }
            };
            let Position::InSample(open) = &mut self.position else {
                let is_blank = line.trim_ascii().is_empty();
                if is_late
                    && !is_blank
                    && let Err(error) = parse_line(&line[at..], &mut Device::default())
                {
                    self.warn_of_line(error);
                    continue;
                }
                let is_text = !line.contains(&0) && std::str::from_utf8(line).is_ok();
                self.skip_line(is_blank, is_text);
                continue;
            };
            let is_complete = ended || self.keeps_truncated_sample;
            match self.devices.read(
                &line[at..],
                ended,
                is_complete,
                self.keeps_truncated_sample,
                previous,
                &mut sample.devices,
            ) {
                Ok(has_end) => {
                    open.is_truncated |= !has_end;
                    let is_whole = !open.is_truncated && self.devices.are(&self.last_copy, sample);
                    if is_whole && is_newest && self.is_prompt && !self.is_blkstat_recording() {
                        return Ok(self.end_sample(Position::Complete, true, sample));
                    }
                }
                Err(error) => match find_embedded_line(line, splits_samples) {
                    Some(at) => self.lines.split_line(at),
                    None => self.warn_of_line(error),
                },
            }
        }
    }

    /// Processes a line of a capture without `TS` lines that is not one of a device in a sample. Returns whether a sample is
    /// handed out.
    fn read_foreign_line(
        &mut self,
        line: &ForeignLine,
        form: Option<(TimeForm, bool)>,
        ended: bool,
        number: u64,
        sample: &mut Sample,
    ) -> bool {
        match *line {
            ForeignLine::Time(time) if ended => {
                self.begin_foreign_sample(Some(time), number, form, sample)
            }
            ForeignLine::FirstDevice(time) => {
                self.lines.repeat_line();
                match time {
                    Some((time, line)) => self.begin_foreign_sample(time, line, form, sample),
                    None => {
                        self.state.lacks_times |= form.is_none();
                        self.end_sample(Position::Untimed, false, sample)
                    }
                }
            }
            ForeignLine::TimeOfCopyBefore(time) if ended => {
                let Position::InSample(open) = &mut self.position else {
                    return false;
                };
                (open.wall, open.is_truncated) = (time, false);
                self.end_sample(Position::Untimed, true, sample)
            }
            _ => false,
        }
    }

    /// Processes a line that is not a device line. Returns whether a sample is handed out.
    fn read_other_line(
        &mut self,
        kind: LineKind,
        ended: bool,
        previous: &Sample,
        sample: &mut Sample,
    ) -> bool {
        match kind {
            LineKind::Timestamp(line) => return self.begin_sample(line, sample),
            LineKind::Annotation(annotation) => {
                return self.read_annotation(annotation, previous, sample);
            }
            LineKind::Cpu(cpu) if self.position.is_in_sample() => sample.cpu = cpu.or(sample.cpu),
            LineKind::InvalidAnnotation(error) => self.reject_annotation(&error, ended),
            LineKind::Device | LineKind::Comment | LineKind::Cpu(_) => {}
        }
        false
    }

    /// Skips a line outside of samples, with a warning if one is due.
    fn skip_line(&mut self, is_blank: bool, is_text: bool) {
        match self.position {
            Position::BeforeFirstTimestamp => {
                self.state.is_not_text |= !is_text;
                if !is_blank {
                    self.first_line_before_timestamp
                        .get_or_insert(self.lines.number);
                }
            }
            Position::BetweenSamples if !is_blank => {
                self.position = Position::Untimed;
                self.warn(
                    WarningClass::Lines,
                    "lines between the end of a sample and the next 'TS' have no timestamp; skipped",
                );
            }
            // The next sample is complete only with this device.
            Position::Complete if !is_blank => self.last_copy = (self.last_copy.0 + 1, None),
            Position::BetweenSamples
            | Position::Untimed
            | Position::Complete
            | Position::InSample(_) => {}
        }
    }

    /// Begins a sample without a `TS` line. Returns whether the sample before it is handed out.
    fn begin_foreign_sample(
        &mut self,
        time: Option<Timestamp>,
        line: u64,
        form: Option<(TimeForm, bool)>,
        sample: &mut Sample,
    ) -> bool {
        self.state.is_not_text = false;
        let is_handed_out = self.end_sample(Position::Untimed, false, sample);
        // Without the time that follows it, the copy is not whole.
        let is_truncated = time.is_none();
        let open = OpenSample::new(time.unwrap_or_default(), None, line);
        self.position = Position::InSample(OpenSample {
            is_foreign: true,
            form,
            is_truncated,
            ..open
        });
        is_handed_out
    }

    /// Processes a `TS` line, which begins a sample. Returns whether the sample before it is handed out.
    fn begin_sample(&mut self, line: TimestampLine, sample: &mut Sample) -> bool {
        self.state.is_not_text = false;
        if let Some(first) = self.first_line_before_timestamp.take() {
            self.warn_at(
                WarningClass::Lines,
                first,
                "lines before the first 'TS' have no timestamp; skipped",
            );
        }
        let is_handed_out = self.end_sample(Position::Untimed, false, sample);
        let Some(time) = line.time else {
            // At the end of the file, the time in a `TS` line may be incomplete.
            if line.ended {
                self.warn(
                    WarningClass::Lines,
                    format!("invalid time '{}' after 'TS'; sample skipped", line.found),
                );
            } else {
                self.state.is_truncated = true;
                self.warn(WarningClass::Other, LAST_TRUNCATED);
            }
            return is_handed_out;
        };
        let mut open = OpenSample::new(time, line.written_time, self.lines.number);
        if !self.is_blkstat_recording() {
            open.segment = Some(self.assign_segment(&open));
        }
        self.position = Position::InSample(open);
        is_handed_out
    }

    /// Processes an annotation. Returns whether a sample is handed out.
    fn read_annotation(
        &mut self,
        annotation: Annotation,
        previous: &Sample,
        sample: &mut Sample,
    ) -> bool {
        match annotation {
            Annotation::Header(header) => return self.begin_recording(*header, previous, sample),
            Annotation::HeaderLists(lists) => {
                self.state.append_devices(bounded(lists.devices));
                self.state.append_baselines(lists.baselines);
            }
            Annotation::Health(line) => self.read_health(line),
            Annotation::IoScan(part) => self.scans.add(part),
            Annotation::DroppedSamples(dropped) if dropped.count > 0 => {
                self.dropped_samples = self.dropped_samples.saturating_add(dropped.count);
                self.warn(WarningClass::Other, dropped.to_string());
            }
            Annotation::DroppedSamples(_) => {}
            Annotation::ClockChange(change) => {
                if let Some(seconds) = change.suspended_s {
                    self.warn(
                        WarningClass::Other,
                        format!("host was suspended for {seconds:.0} s"),
                    );
                }
                if let Some(seconds) = change.step_s {
                    let direction = if seconds < 0.0 { "back" } else { "forward" };
                    let text = format!("wall clock was set {direction} by {:.1} s", seconds.abs());
                    self.warn(WarningClass::Other, text);
                }
            }
            Annotation::EndOfSample(end) => return self.read_end_of_sample(&end, sample),
        }
        false
    }

    /// Begins a recording, which ends the sample before it. Returns whether that is handed out.
    fn begin_recording(
        &mut self,
        header: RecordingHeader,
        previous: &Sample,
        sample: &mut Sample,
    ) -> bool {
        let lacks_devices = self
            .devices
            .find_missing_end(previous, &sample.devices)
            .is_some();
        if let Position::InSample(open) = &mut self.position {
            open.is_truncated |= lacks_devices;
        }
        let is_first_line = matches!(self.position, Position::BeforeFirstTimestamp);
        let next = if is_first_line {
            Position::BeforeFirstTimestamp
        } else {
            Position::BetweenSamples
        };
        let is_handed_out = self.end_sample(next, false, sample);
        self.state.header = self.state.header.take().or(self.header_before.take());
        self.health = None;
        if let Some(change) = self.state.begin_recording(header) {
            self.segments.start_segment();
            self.warn(WarningClass::Other, change);
        }
        is_handed_out
    }

    /// Takes facts about the health of devices, in place of earlier ones or in addition to them.
    fn read_health(&mut self, line: HealthLine) {
        let facts = Arc::make_mut(self.health.get_or_insert_default());
        if !line.continues {
            facts.clear();
        }
        let free = MAX_DEVICES_PER_SAMPLE.saturating_sub(facts.len());
        facts.extend(line.health.into_iter().take(free));
    }

    fn read_end_of_sample(&mut self, end: &EndOfSample, sample: &mut Sample) -> bool {
        let Position::InSample(open) = &mut self.position else {
            return false;
        };
        open.monotonic = end
            .monotonic_ns
            .map(Duration::from_nanos)
            .or(open.monotonic);
        open.uptime = end.uptime_cs.or(open.uptime);
        if !end.complete {
            return false;
        }
        sample.host = end.host;
        let dropped = std::mem::take(&mut self.dropped_samples);
        sample.missed_samples = end.missed_samples.unwrap_or(0).saturating_add(dropped);
        self.end_sample(Position::BetweenSamples, true, sample)
    }

    fn reject_annotation(&mut self, error: &serde_json::Error, ended: bool) {
        let in_recorded_sample = self.is_blkstat_recording() && self.position.is_in_sample();
        let reason = match error.is_eof() {
            // A warning about the truncated sample follows.
            true if !ended || in_recorded_sample => return,
            true => "truncated JSON".to_owned(),
            false => excerpt(error.to_string().as_bytes()),
        };
        if let Position::InSample(open) = &mut self.position {
            open.has_invalid_annotation = true;
        }
        self.warn(
            WarningClass::Lines,
            format!("invalid '#blkstat' line: {reason}; skipped"),
        );
    }

    /// Processes an error, behind which nothing can be read. Returns whether the last sample is handed out.
    ///
    /// # Errors
    /// The error, if it is not about the end of compressed data.
    fn finish_with(
        &mut self,
        error: io::Error,
        previous: &Sample,
        sample: &mut Sample,
    ) -> io::Result<bool> {
        let is_trailing_data = TrailingData::is(&error);
        if is_trailing_data {
            self.warn(
                WarningClass::Other,
                "compressed data ends here; the bytes after it are ignored",
            );
        } else if error.kind() != ErrorKind::UnexpectedEof {
            return Err(error);
        }
        Ok(self.finish_last(!is_trailing_data, previous, sample))
    }

    /// Processes the end of the stream. Returns whether its last sample is handed out.
    fn finish_last(
        &mut self,
        is_stream_truncated: bool,
        previous: &Sample,
        sample: &mut Sample,
    ) -> bool {
        self.state.is_truncated |= is_stream_truncated;
        if is_stream_truncated && !self.position.is_in_sample() && self.latest.is_some() {
            // Between two samples, nothing else shows that later ones are missing.
            self.warn(WarningClass::Other, self.cut_off(""));
        }
        let Position::InSample(open) = &self.position else {
            return false;
        };
        if open.is_foreign && self.devices.is_empty() && !is_stream_truncated {
            // The time at which it ended.
            self.position = Position::Untimed;
            return false;
        }
        let lacks_end_mark = self.is_blkstat_recording() && !open.has_invalid_annotation;
        let truncation = if is_stream_truncated {
            Some(self.cut_off("; last sample is truncated; skipped"))
        } else if open.is_truncated || lacks_end_mark {
            Some(LAST_TRUNCATED.to_owned())
        } else {
            self.devices.find_missing_end(previous, &sample.devices)
        };
        match truncation.filter(|_| !self.keeps_truncated_sample) {
            Some(text) => {
                self.state.is_truncated = true;
                self.position = Position::Untimed;
                self.warn(WarningClass::Other, text);
                false
            }
            None => self.end_sample(Position::Untimed, true, sample),
        }
    }

    /// Ends the open sample, if there is one, and returns whether it is handed out. A sample is not handed out if it is
    /// truncated, or if it lacks the end mark of a recording and is not known to be complete otherwise.
    fn end_sample(&mut self, next: Position, is_complete: bool, sample: &mut Sample) -> bool {
        let Position::InSample(open) = std::mem::replace(&mut self.position, next) else {
            return false;
        };
        let device_count = self.devices.take_count();
        if open.is_foreign && device_count == 0 {
            return false;
        }
        let is_recording = self.is_blkstat_recording();
        let lacks_end_mark = is_recording && !open.has_invalid_annotation && !is_complete;
        // Counters that look damaged again and again are as the kernel has them.
        let is_damaged = !is_recording
            && self.devices.are_damaged
            && self.undamaged_samples >= MIN_UNDAMAGED_SAMPLES;
        self.undamaged_samples = if is_damaged {
            0
        } else {
            self.undamaged_samples + 1
        };
        let is_truncated = open.is_truncated || lacks_end_mark || is_damaged;
        if is_truncated && !self.keeps_truncated_sample {
            self.warn_at(
                WarningClass::Other,
                open.line,
                "sample is truncated; skipped",
            );
            clear_optional_values(sample);
            return false;
        }
        if open.is_foreign
            && let Some((form, is_spread)) = open.form.filter(|_| !self.state.has_foreign_times)
        {
            self.state.has_foreign_times = true;
            let spread = if is_spread {
                "; spread evenly where several are the same"
            } else {
                ""
            };
            let text = format!("samples have no 'TS' lines; their times are {form}{spread}");
            self.warn_at(WarningClass::Note, open.line, text);
        }
        self.state.complete_topology();
        if device_count > 0 {
            self.had_devices = true;
            self.state.warnings.append(&mut self.warnings_of_lines);
        }
        let last = device_count
            .checked_sub(1)
            .map(|last| sample.devices[last].name.clone());
        self.last_copy = (device_count, last);
        sample.segment = open.segment.unwrap_or_else(|| self.assign_segment(&open));
        sample.at = open.time();
        sample.devices.truncate(device_count);
        sample.written_time = open.written_time;
        sample.io_scan = self.scans.take();
        sample.health.clone_from(&self.health);
        true
    }

    /// Assigns a sample that is handed out to a segment.
    fn assign_segment(&mut self, open: &OpenSample) -> u64 {
        let (segment, clock_error) = self.segments.assign(open.time());
        if let Some(text) = clock_error {
            self.warn_at(WarningClass::Clock, open.line, text);
        }
        segment
    }

    /// Returns whether complete samples are marked as such.
    fn is_blkstat_recording(&self) -> bool {
        self.state.header.is_some()
    }

    fn warn_of_line(&mut self, error: LineError) {
        let warning =
            CaptureWarning::new(WarningClass::Lines, self.lines.number, error.to_string());
        let is_of_capture =
            self.had_devices || !self.devices.is_empty() || self.state.header.is_some();
        if is_of_capture || self.keeps_truncated_sample {
            return add_warning(&mut self.state.warnings, warning);
        }
        self.first_wrong_line
            .get_or_insert((self.lines.number, error));
        add_warning(&mut self.warnings_of_lines, warning);
    }

    fn warn_of_long_line(&mut self) {
        self.warn(
            WarningClass::Lines,
            format!("line longer than {MAX_LINE_BYTES} bytes; skipped"),
        );
    }

    fn warn(&mut self, class: WarningClass, text: impl Into<String>) {
        self.warn_at(class, self.lines.number, text);
    }

    fn warn_at(&mut self, class: WarningClass, line: u64, text: impl Into<String>) {
        add_warning(
            &mut self.state.warnings,
            CaptureWarning::new(class, line, text),
        );
    }

    /// Says that compressed data ends early.
    fn cut_off(&self, and: &str) -> String {
        let readable = self
            .latest
            .map(|at| format!("; the readable part ends at {at}"))
            .unwrap_or_default();
        format!("compressed data is cut off{and}{readable}")
    }
}

const LAST_TRUNCATED: &str = "last sample is truncated; skipped";

fn add_warning(warnings: &mut Vec<CaptureWarning>, warning: CaptureWarning) {
    // Clock errors are at most one per sample, and the only warnings that pt-diskstats needs.
    let is_kept = warning.class == WarningClass::Clock || warnings.len() < MAX_WARNINGS;
    match warnings.last_mut() {
        Some(last) if !is_kept => last.omitted += 1,
        _ => warnings.push(warning),
    }
}

fn linux_2_4(line: u64) -> io::Error {
    let message =
        "holds /proc/partitions of Linux 2.4; blkstat reads /proc/diskstats of Linux 2.6 and later";
    io::Error::new(ErrorKind::InvalidData, format!("line {line} {message}"))
}

fn recording_of_log(line: u64) -> io::Error {
    let message = "begins a recording that blkstat 0.2.0 made of a log of another tool, with counters made up from its rates; \
                   read the log itself";
    io::Error::new(ErrorKind::InvalidData, format!("line {line} {message}"))
}

fn no_line_of_diskstats(line: u64, error: &LineError) -> io::Error {
    let message = format!(
        "no line is one of /proc/diskstats, with two numbers, the name of a device, and 4, 11, 15 or 17 numbers; line {line}, the \
         first wrong one: {}",
        error.reason
    );
    io::Error::new(ErrorKind::InvalidData, message)
}

/// Clears the values that some samples lack.
fn clear_optional_values(sample: &mut Sample) {
    sample.cpu = None;
    sample.host = HostState::default();
    sample.missed_samples = 0;
}
