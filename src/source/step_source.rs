//! Steps from one sample to the next: of the running system at its deadlines, or of a capture.

use std::io;

use anyhow::Result;

use super::Replay;
use super::input::Input;
use super::sample_source::{OnWarning, SampleSource};
use crate::capture::{CaptureWarning, WarningClass};
use crate::clock::{Clock, WaitOutcome};
use crate::counters::Sample;
use crate::metrics::DeviceMatch;
use crate::os_error::os_error_text;
use crate::schedule::Resampling;
use crate::topology::Topology;
use crate::units::{SampleTime, Span};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// A sample follows. `ends`: it ends an interval. `is_preceding`: it is before the range of time that is shown.
    Step { ends: bool, is_preceding: bool },
    /// The interval ends with the last sample, because none follows it.
    Rest,
    /// A new segment began: no interval spans this point.
    Break,
    /// No more samples.
    End,
    /// A signal requests the end.
    Signal(u8),
}

/// Two samples, one right after the other.
pub struct Step<'a> {
    pub older: &'a Sample,
    pub newer: &'a Sample,
    pub span: Span,
    /// The devices of `newer` in `older`.
    pub device_match: DeviceMatch,
}

/// Samples of the running system that cannot be read, as while too many files are open: they are missed, and that is said once.
#[derive(Default)]
pub struct ReadFailure {
    missed: u64,
}

impl ReadFailure {
    /// Takes the error of a sample, or none. Returns what to say about the file that it is read from.
    pub fn observe(&mut self, error: Option<&anyhow::Error>) -> Option<String> {
        let Some(error) = error else {
            return match std::mem::take(&mut self.missed) {
                0 => None,
                1 => Some("can be read again; 1 sample missed".to_owned()),
                missed => Some(format!("can be read again; {missed} samples missed")),
            };
        };
        self.missed += 1;
        if self.missed > 1 {
            return None;
        }
        let cause = error.root_cause();
        let text = match cause.downcast_ref::<io::Error>() {
            Some(error) => os_error_text(error),
            None => cause.to_string(),
        };
        Some(format!(
            "cannot be read: {text}; samples are missed until it can"
        ))
    }
}

/// Takes samples, and says which of them end an interval.
pub struct StepSource<'a> {
    input: &'a Input,
    pub(crate) clock: &'a dyn Clock,
    pub samples: SampleSource<'a>,
    /// True if samples of the running system are also taken within long intervals.
    subdivides: bool,
    /// The first sample of the interval, if that has more than one step.
    first: Sample,
    /// The sample before the newest.
    previous: Sample,
    pub newest: Sample,
    /// The buffer for the next sample.
    incoming: Sample,
    /// True if `incoming` begins a new segment, but the interval before it had to be returned first.
    has_break: bool,
    /// The number of steps of the interval so far.
    steps: u64,
    /// The samples missed in the interval so far.
    pub missed_samples: u64,
    /// The samples of the interval so far that have no scan of their own although one was requested.
    pub missed_scans: u64,
    /// True if the next step begins a new interval.
    begins_interval: bool,
    /// The number of samples read so far.
    pub sample_count: u64,
    /// The source ends after this many samples; one more is read, so that an error there is still reported. `None` for all.
    pub max_samples: Option<u64>,
    resampling: Resampling,
    /// True until the first sample of the range of time that is shown is read.
    is_preceding: bool,
}

impl<'a> StepSource<'a> {
    /// Takes samples from a source. If it `subdivides`, samples of the running system are at most a second apart,
    /// however long the interval.
    pub fn new(
        input: &'a Input,
        samples: SampleSource<'a>,
        clock: &'a dyn Clock,
        subdivides: bool,
    ) -> Self {
        Self {
            input,
            clock,
            samples,
            subdivides,
            first: Sample::default(),
            previous: Sample::default(),
            newest: Sample::default(),
            incoming: Sample::default(),
            has_break: false,
            steps: 0,
            missed_samples: 0,
            missed_scans: 0,
            begins_interval: false,
            sample_count: 0,
            max_samples: None,
            resampling: Resampling::new(input.interval, SampleTime::default()),
            is_preceding: false,
        }
    }

    /// Steps through a capture, of which the range and the length of intervals are those of `input`.
    ///
    /// # Errors
    /// If the capture lacks the range.
    pub fn of_capture(input: &'a Input, replay: Replay<'a>, clock: &'a dyn Clock) -> Result<Self> {
        Ok(Self::new(
            input,
            SampleSource::of_capture(input, replay)?,
            clock,
            false,
        ))
    }

    /// The first sample of the interval.
    pub fn first(&self) -> &Sample {
        match self.steps {
            0 => &self.newest,
            1 => &self.previous,
            _ => &self.first,
        }
    }

    /// Returns whether the last step is the first of its interval.
    pub fn is_first_step(&self) -> bool {
        self.steps == 1
    }

    /// The time from the first sample of the interval to the last.
    pub fn span(&self) -> Span {
        elapsed(self.first(), &self.newest).unwrap_or(Span::HUNDREDTH)
    }

    /// The last two samples. Across a break, no time is known to be between them.
    pub fn step(&self) -> Step<'_> {
        let (older, newer) = (&self.previous, &self.newest);
        Step {
            older,
            newer,
            span: elapsed(older, newer).unwrap_or(Span::HUNDREDTH),
            device_match: DeviceMatch::between(&older.devices, &newer.devices),
        }
    }

    /// Takes the first sample. `false` if there is none.
    ///
    /// # Errors
    /// When the source cannot be read.
    pub fn start(&mut self, on_warning: OnWarning<'_>) -> Result<bool> {
        let found = self
            .samples
            .read(&self.newest, &mut self.incoming, on_warning)?;
        if found {
            self.accept();
            self.sample_count += 1;
            self.begin_segment();
            self.samples.start_deadlines(&self.newest, self.subdivides);
            self.is_preceding = self.samples.is_preceding();
        }
        Ok(found)
    }

    /// Waits for the next sample.
    ///
    /// # Errors
    /// When the source cannot be read; with `strict` also on a warning about a capture.
    pub fn next(&mut self, on_warning: OnWarning<'_>) -> Result<Next> {
        if std::mem::take(&mut self.begins_interval) {
            self.steps = 0;
            self.missed_samples = 0;
            self.missed_scans = 0;
        }
        if std::mem::take(&mut self.has_break) {
            return Ok(self.take_break());
        }
        if let Some(next) = self.read(on_warning)? {
            return Ok(next);
        }
        if elapsed(&self.newest, &self.incoming).is_some()
            && elapsed(self.first(), &self.incoming).is_some()
        {
            return Ok(self.advance());
        }
        if self.steps > 0 {
            self.has_break = true;
            self.begins_interval = true;
            return Ok(Next::Rest);
        }
        Ok(self.take_break())
    }

    /// Begins a segment with the sample that was read.
    fn take_break(&mut self) -> Next {
        self.accept();
        self.begin_segment();
        self.is_preceding &= self.samples.is_preceding();
        Next::Break
    }

    /// Waits until the next sample is due, and reads it into `incoming`. Returns what is next if there is none.
    ///
    /// # Errors
    /// When a capture cannot be read. A sample of the running system that cannot be read is missed.
    fn read(&mut self, on_warning: OnWarning<'_>) -> Result<Option<Next>> {
        let mut failure = ReadFailure::default();
        while let Some((due, missed)) = self.samples.next_deadline(self.clock.monotonic()) {
            if let WaitOutcome::Signal(signal) = self.clock.wait_until(due) {
                return Ok(Some(Next::Signal(signal)));
            }
            let missed = missed + self.samples.skip_passed(self.clock.monotonic());
            self.missed_samples = self.missed_samples.saturating_add(missed);
            let read = self
                .samples
                .read(&self.newest, &mut self.incoming, on_warning);
            if let Some(text) = failure.observe(read.as_ref().err()) {
                on_warning(&CaptureWarning::new(WarningClass::Capture, 0, text));
            }
            if read.is_ok() {
                self.sample_count += 1;
                return Ok(None);
            }
            if self.samples.ends_interval_at(self.clock.monotonic()) {
                self.missed_samples = self.missed_samples.saturating_add(1);
            }
        }
        // A capture has no deadlines.
        let has_enough = self.max_samples.is_some_and(|max| self.sample_count >= max);
        let found = self
            .samples
            .read(&self.newest, &mut self.incoming, on_warning);
        match found {
            Ok(true) if !has_enough => {
                self.sample_count += 1;
                Ok(None)
            }
            // A shorter interval may be left at the end of an aggregated capture.
            Ok(_) if self.steps > 0 => {
                self.begins_interval = true;
                Ok(Some(Next::Rest))
            }
            Ok(_) => Ok(Some(Next::End)),
            // A signal interrupts a read; that is not the capture's fault.
            Err(error) => match self.clock.signal() {
                Some(signal) => Ok(Some(Next::Signal(signal))),
                None => Err(error),
            },
        }
    }

    /// Makes the sample that was read the newest.
    fn accept(&mut self) {
        if self.steps == 1 {
            std::mem::swap(&mut self.first, &mut self.previous);
        }
        std::mem::swap(&mut self.previous, &mut self.newest);
        std::mem::swap(&mut self.newest, &mut self.incoming);
    }

    /// Goes on to the sample that was read.
    fn advance(&mut self) -> Next {
        self.accept();
        self.steps += 1;
        self.missed_samples = self
            .missed_samples
            .saturating_add(self.newest.missed_samples);
        self.missed_scans += u64::from(self.newest.missed_scan.is_some());
        // Before the range, each sample ends an interval, however long the intervals in the range are.
        let is_preceding = self.samples.is_preceding();
        if !is_preceding && std::mem::take(&mut self.is_preceding) {
            self.resampling = Resampling::new(self.input.interval, self.first().at);
        }
        self.begins_interval = is_preceding || self.is_due();
        Next::Step {
            ends: self.begins_interval,
            is_preceding,
        }
    }

    /// Begins a new segment with the newest sample.
    fn begin_segment(&mut self) {
        self.resampling = Resampling::new(self.input.interval, self.newest.at);
    }

    /// Returns whether the last sample ends an interval.
    fn is_due(&mut self) -> bool {
        match self.samples.ends_interval(&self.newest) {
            Some(is_end) => is_end,
            None => self.resampling.is_due(&self.previous.at, &self.newest.at),
        }
    }

    /// Returns the topology of the devices of the last sample. `previous` is the one returned before, or empty.
    pub fn topology(&mut self, previous: &Topology) -> Topology {
        self.samples.topology(&self.newest, previous)
    }

    /// Returns whether the topology should be read again. Before a break that waits, it would already be that of the next
    /// segment.
    pub fn is_topology_stale(&self) -> bool {
        !self.has_break && self.samples.is_topology_stale(&self.newest)
    }
}

/// The time between two samples; `None` across a break.
fn elapsed(older: &Sample, newer: &Sample) -> Option<Span> {
    if newer.segment != older.segment {
        return None;
    }
    newer.at.since(&older.at)
}
