//! Reads the lines of copies of /proc/diskstats, and begins their samples.

use std::io::{self, Read};

use jiff::Timestamp;

use super::state::{OpenSample, Position};
use super::warnings::{LAST_TRUNCATED, linux_2_4, recording_of_log};
use super::{Kind, Reader};
use crate::capture::WarningClass;
use crate::capture::diskstats_line::{is_of_linux_2_4, parse_line};
use crate::capture::line_kind::{LineKind, TimestampLine, find_embedded_line};
use crate::capture::normal::copies::ForeignLine;
use crate::capture::normal::lines::NextLine;
use crate::capture::normal::time_form::TimeForm;
use crate::counters::{Device, Sample};

impl<R: Read> Reader<R> {
    /// Reads the next sample of a copy of /proc/diskstats.
    pub(super) fn next_copy(
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
    pub(super) fn read_foreign_line(
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

    /// Begins a sample without a `TS` line. Returns whether the sample before it is handed out.
    pub(super) fn begin_foreign_sample(
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

    /// Processes a line that is not a device line. Returns whether a sample is handed out.
    pub(super) fn read_other_line(
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
    pub(super) fn skip_line(&mut self, is_blank: bool, is_text: bool) {
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

    /// Processes a `TS` line, which begins a sample. Returns whether the sample before it is handed out.
    pub(super) fn begin_sample(&mut self, line: TimestampLine, sample: &mut Sample) -> bool {
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
}
