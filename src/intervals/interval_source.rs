//! Pairs of samples: of the running system at its deadlines, or of a capture.

use std::time::Duration;

use anyhow::Result;

use super::aggregate::Aggregate;
use super::options::Input;
use super::sample_pair::SamplePair;
use super::sample_source::{OnWarning, SampleSource};
use crate::clock::{Clock, WaitOutcome};
use crate::counters::Sample;
use crate::metrics::DeviceMatch;
use crate::topology::Topology;
use crate::units::{Elapsed, SampleTime, Span};

/// The next step of the source.
#[derive(Clone, Copy, Debug)]
pub(super) enum NextPair {
    /// A sample, with the time since the one before it.
    Step(Span),
    /// The end of an interval, whose first and last samples are now paired, with the number of samples missed. If `is_preceding`,
    /// it is before the range of time that is shown.
    Pair { interval: Span, missed_samples: u64, is_preceding: bool },
    /// A new segment began: no interval spans this point.
    Break,
    /// No more samples.
    End,
    /// A signal requests the end.
    Signal(u8),
}

/// The part of an interval that has passed.
#[derive(Clone, Copy, Debug)]
enum Progress {
    /// The next sample begins a new interval.
    Ended,
    /// Samples of the interval have been read, but not its last one.
    Within,
    /// The interval ends with the last sample.
    AtEnd { interval: Span, is_preceding: bool },
}

/// Takes samples and pairs each with the one before it, and the last of an interval with the first.
pub(super) struct IntervalSource<'a> {
    input: &'a Input,
    clock: &'a dyn Clock,
    pub(super) samples: SampleSource<'a>,
    /// True if samples of the running system are also taken within long intervals.
    subdivides: bool,
    progress: Progress,
    missed_samples: u64,
    /// The sample at the beginning of the interval.
    older: Sample,
    /// The sample at its end.
    newer: Sample,
    /// The buffer for the next sample. After a step within an interval, the sample before `newer`.
    incoming: Sample,
    /// The devices of `newer` in `older`.
    device_match: DeviceMatch,
    /// The devices of `newer` in the sample before it.
    step_match: DeviceMatch,
    /// True if the sample before `newer` is `older`.
    is_first_step: bool,
    /// The number of samples read so far.
    pub(super) sample_count: u64,
    /// The beginning of the segment, on the clock and in the samples; paces a replay.
    segment_start: Option<(Duration, SampleTime)>,
    /// True if `newer` is from the interval before and a new sample has yet to be read.
    needs_read: bool,
    /// The time of the sample before the last.
    previous_time: SampleTime,
    /// The beginning of the aggregated intervals, and the multiple of the interval that comes next.
    aggregation_start: (SampleTime, f64),
    /// The steps of an interval of several samples; `None` if the first ends it.
    aggregate: Option<Aggregate>,
    /// True if `incoming` begins a new segment that must wait until the interval before it is returned.
    has_pending_break: bool,
    /// True until the first sample of the range of time that is shown is read.
    is_preceding: bool,
}

impl<'a> IntervalSource<'a> {
    /// Takes samples from a source. If it `subdivides`, samples of the running system are at most a second apart,
    /// however long the interval.
    pub(super) fn new(
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
            progress: Progress::Ended,
            missed_samples: 0,
            older: Sample::default(),
            newer: Sample::default(),
            incoming: Sample::default(),
            device_match: DeviceMatch::Identical,
            step_match: DeviceMatch::Identical,
            is_first_step: true,
            sample_count: 0,
            segment_start: None,
            needs_read: false,
            previous_time: SampleTime::default(),
            aggregation_start: (SampleTime::default(), 1.0),
            aggregate: None,
            has_pending_break: false,
            is_preceding: false,
        }
    }

    pub(super) fn newest(&self) -> &Sample {
        &self.newer
    }

    /// The sample before the last.
    fn previous(&self) -> &Sample {
        if self.is_first_step { &self.older } else { &self.incoming }
    }

    pub(super) fn pair(&self, span: Span) -> SamplePair<'_> {
        SamplePair {
            older: &self.older,
            newer: &self.newer,
            span,
            device_match: &self.device_match,
            aggregate: self.aggregate.as_ref(),
        }
    }

    /// The last sample and the one before it.
    pub(super) fn step(&self, span: Span) -> SamplePair<'_> {
        let older = self.previous();
        SamplePair { older, newer: &self.newer, span, device_match: &self.step_match, aggregate: None }
    }

    /// Takes the first sample. `false` if there is none.
    ///
    /// # Errors
    /// When the source cannot be read.
    pub(super) fn start(&mut self, on_warning: OnWarning<'_>) -> Result<bool> {
        let found = self.read(on_warning)?;
        if found {
            self.segment_start = Some((self.clock.monotonic(), self.newer.at));
            self.aggregation_start = (self.newer.at, 1.0);
            self.samples.start_deadlines(&self.newer, self.subdivides);
            self.is_preceding = self.samples.is_preceding();
        }
        Ok(found)
    }

    /// Waits for the next sample and pairs it. The steps of an interval of several samples come before its pair.
    ///
    /// # Errors
    /// When the source cannot be read; with `strict` also on a warning about a capture.
    pub(super) fn next(&mut self, on_warning: OnWarning<'_>) -> Result<NextPair> {
        let next = self.advance(on_warning)?;
        if matches!(next, NextPair::Pair { .. } | NextPair::Break) {
            self.progress = Progress::Ended;
            self.device_match = match &self.aggregate {
                Some(aggregate) => aggregate.device_match(self.older.devices.len()),
                None => DeviceMatch::between(&self.older.devices, &self.newer.devices),
            };
        }
        Ok(next)
    }

    fn advance(&mut self, on_warning: OnWarning<'_>) -> Result<NextPair> {
        if let Progress::AtEnd { interval, is_preceding } = self.progress {
            return Ok(NextPair::Pair { interval, missed_samples: self.missed_samples, is_preceding });
        }
        let deadline = self.samples.next_deadline(self.clock.monotonic());
        if let Some((due, _)) = deadline
            && let WaitOutcome::Signal(signal) = self.clock.wait_until(due)
        {
            return Ok(NextPair::Signal(signal));
        }
        if matches!(self.progress, Progress::Ended) {
            std::mem::swap(&mut self.older, &mut self.newer);
            self.needs_read = true;
            self.aggregate = None;
            self.missed_samples = 0;
            if std::mem::take(&mut self.has_pending_break) {
                std::mem::swap(&mut self.newer, &mut self.incoming);
                return Ok(self.begin_segment());
            }
        }
        let missed =
            deadline.map_or(0, |(_, missed)| missed + self.samples.skip_passed(self.clock.monotonic()));
        self.missed_samples = self.missed_samples.saturating_add(missed);
        self.read_step(on_warning)
    }

    /// Reads the next sample of an interval.
    fn read_step(&mut self, on_warning: OnWarning<'_>) -> Result<NextPair> {
        self.is_first_step = self.needs_read;
        let pair =
            |interval, missed_samples| NextPair::Pair { interval, missed_samples, is_preceding: false };
        match self.read(on_warning) {
            Ok(true) => {}
            // A shorter interval may be left at the end of an aggregated capture.
            Ok(false) => {
                let rest = if self.needs_read { None } else { self.elapsed() };
                if self.needs_read {
                    // The last sample stays the newest.
                    std::mem::swap(&mut self.older, &mut self.newer);
                }
                return Ok(rest.map_or(NextPair::End, |interval| pair(interval, self.missed_samples)));
            }
            // A signal interrupts a read; that is not the capture's fault.
            Err(error) => return self.clock.signal().map(NextPair::Signal).ok_or(error),
        }
        let Some((interval, step)) = self.elapsed().zip(elapsed(self.previous(), &self.newer)) else {
            if self.is_first_step {
                return Ok(self.begin_segment());
            }
            std::mem::swap(&mut self.newer, &mut self.incoming);
            self.has_pending_break = true;
            return Ok(self
                .elapsed()
                .map_or(NextPair::Break, |interval| pair(interval, self.missed_samples)));
        };
        self.missed_samples = self.missed_samples.saturating_add(self.newer.missed_samples);
        // The samples before the range are assessed one by one, however long the intervals of the range are.
        let is_preceding = self.samples.is_preceding();
        if !is_preceding {
            if std::mem::take(&mut self.is_preceding) {
                self.aggregation_start = (self.older.at, 1.0);
                self.segment_start = Some((self.clock.monotonic(), self.older.at));
            }
            if let Some(signal) = self.wait_for_recorded_time() {
                return Ok(NextPair::Signal(signal));
            }
        }
        let is_end = is_preceding || self.is_due();
        self.progress = if is_end { Progress::AtEnd { interval, is_preceding } } else { Progress::Within };
        let step_match = DeviceMatch::between(&self.previous().devices, &self.newer.devices);
        let previous_match = std::mem::replace(&mut self.step_match, step_match);
        // The only step of an interval is the interval.
        if !self.is_first_step {
            let (older, newer) = (&self.older, &self.incoming);
            let first =
                |span| SamplePair { older, newer, span, device_match: &previous_match, aggregate: None };
            let begin = || Aggregate::between(&first(elapsed(older, newer).unwrap_or(step)));
            let mut aggregate = self.aggregate.take().unwrap_or_else(begin);
            aggregate.extend(&self.step(step));
            self.aggregate = Some(aggregate);
        }
        Ok(NextPair::Step(step))
    }

    /// Begins a new segment with the last sample.
    fn begin_segment(&mut self) -> NextPair {
        self.needs_read = false;
        self.aggregation_start = (self.newer.at, 1.0);
        self.is_preceding &= self.samples.is_preceding();
        self.wait_for_recorded_time().map_or(NextPair::Break, NextPair::Signal)
    }

    /// The time from the first sample of the interval to the last; `None` across a break.
    fn elapsed(&self) -> Option<Span> {
        elapsed(&self.older, &self.newer)
    }

    /// Returns whether the last sample ends an interval. If a capture is aggregated, the sample nearest to the next
    /// multiple of the interval does, because samples are never exactly on time; otherwise every sample of a capture
    /// does.
    fn is_due(&mut self) -> bool {
        if let Some(is_end) = self.samples.ends_interval(&self.newer) {
            return is_end;
        }
        let Some(interval) = self.input.interval else { return true };
        let (start, next) = self.aggregation_start;
        let seconds_since = |from: &SampleTime| match self.newer.at.since(from) {
            Elapsed::Forward(elapsed) => elapsed.seconds(),
            Elapsed::Unknown => 0.0,
        };
        // The next sample is expected after about as long as the last one, unless that followed a gap.
        let interval_s = interval.as_secs_f64();
        let step_s = seconds_since(&self.previous_time).min(interval_s);
        let multiples = (seconds_since(&start) + step_s / 2.0) / interval_s;
        if multiples < next {
            return false;
        }
        self.aggregation_start.1 = multiples.floor() + 1.0;
        true
    }

    /// Reads the next sample into `newer`. `false` at the end of a capture.
    fn read(&mut self, on_warning: OnWarning<'_>) -> Result<bool> {
        let previous = if self.needs_read { &self.older } else { &self.newer };
        let previous_time = previous.at;
        let found = self.samples.read(previous, &mut self.incoming, on_warning)?;
        if found {
            self.previous_time = previous_time;
            self.needs_read = false;
            std::mem::swap(&mut self.newer, &mut self.incoming);
            self.sample_count += 1;
        }
        Ok(found)
    }

    /// With `realtime`, waits until as much time has passed as in the recording. A break has no known length.
    fn wait_for_recorded_time(&mut self) -> Option<u8> {
        if self.elapsed().is_none() {
            self.segment_start = Some((self.clock.monotonic(), self.newer.at));
        }
        let (started_at, first) = self.segment_start.filter(|_| self.input.realtime)?;
        let Elapsed::Forward(recorded) = self.newer.at.since(&first) else { return None };
        match self.clock.wait_until(started_at + Duration::from_secs_f64(recorded.seconds())) {
            WaitOutcome::Signal(signal) => Some(signal),
            WaitOutcome::Due | WaitOutcome::Input => None,
        }
    }

    /// Returns the topology of the devices of the last sample. `previous` is the one returned before, or empty.
    pub(super) fn topology(&mut self, previous: &Topology) -> Topology {
        self.samples.topology(&self.newer, previous)
    }

    /// Returns whether the topology should be read again. Before a pending break, the topology would already be that of
    /// the next segment.
    pub(super) fn is_topology_stale(&self) -> bool {
        !self.has_pending_break && self.samples.is_topology_stale(&self.newer)
    }
}

/// The time between two samples; `None` across a break.
fn elapsed(older: &Sample, newer: &Sample) -> Option<Span> {
    match newer.at.since(&older.at) {
        Elapsed::Forward(interval) if newer.segment == older.segment => Some(interval),
        Elapsed::Forward(_) | Elapsed::Unknown => None,
    }
}
