//! Pairs of samples: of the running system at its deadlines, or of a capture.

use std::time::Duration;

use anyhow::{Result, bail};

use super::aggregate::Aggregate;
use super::options::Input;
use super::sample_pair::SamplePair;
use crate::capture::{CaptureWarning, CaptureWarningKind};
use crate::clock::{Clock, WaitOutcome};
use crate::counters::Sample;
use crate::metrics::DeviceMatch;
use crate::sanitize::sanitize;
use crate::schedule::{DEFAULT_INTERVAL, Deadlines};
use crate::source::{DeviceResolver, Live, Replay, read_topology};
use crate::topology::Topology;
use crate::units::{Elapsed, Interval, SampleTime};

/// The age at which the topology of the running system is read again although no device name changed.
const MAX_TOPOLOGY_AGE: Duration = Duration::from_secs(30);

/// Called for each warning about the input.
pub type OnWarning<'w> = &'w mut dyn FnMut(&CaptureWarning);

/// The next step of the source.
#[derive(Clone, Copy, Debug)]
pub(super) enum NextPair {
    /// Two samples with the time between them, and the sampling deadlines missed on the way.
    Pair { interval: Interval, missed_samples: u64 },
    /// A new segment began: no interval spans this point.
    Break,
    /// No more samples.
    End,
    /// A signal asks to end.
    Signal(u8),
}

/// Takes samples and pairs each with the one before, or, where a capture is aggregated, with the first of the
/// interval.
pub(super) struct IntervalSource<'a> {
    input: &'a Input,
    clock: &'a dyn Clock,
    source: SampleSource<'a>,
    /// The sample at the beginning of the interval.
    older: Sample,
    /// The sample at its end.
    newer: Sample,
    /// The buffer for the next sample.
    incoming: Sample,
    /// The devices of `newer` in `older`.
    device_match: DeviceMatch,
    /// Samples read so far.
    pub(super) samples: u64,
    /// The beginning of the segment, on the clock and in the samples; paces a replay.
    segment_start: Option<(Duration, SampleTime)>,
    /// `newer` is from the interval before: it was not read since.
    needs_read: bool,
    /// The time of the sample before the last.
    previous_time: SampleTime,
    /// The beginning of the aggregated intervals, and the multiple of the interval that comes next.
    aggregation_start: (SampleTime, f64),
    /// The samples within the interval, where there are more than two.
    aggregate: Option<Aggregate>,
    /// `incoming` begins a new segment; the interval that ended before it comes first.
    has_pending_break: bool,
}

enum SampleSource<'a> {
    Live { live: Box<Live<'a>>, deadlines: Option<Deadlines>, topology_read_at: Duration },
    Replay(Box<Replay<'a>>),
}

impl<'a> IntervalSource<'a> {
    /// Opens the source.
    ///
    /// # Errors
    /// When a capture cannot be opened.
    pub(super) fn open(input: &'a Input, clock: &'a dyn Clock) -> Result<Self> {
        let source = match &input.from {
            Some(path) => SampleSource::Replay(Box::new(Replay::open(path, clock)?)),
            None => {
                let live = Box::new(Live::new(&input.root, clock).with_host_state());
                SampleSource::Live { live, deadlines: None, topology_read_at: Duration::ZERO }
            }
        };
        Ok(Self {
            input,
            clock,
            source,
            older: Sample::default(),
            newer: Sample::default(),
            incoming: Sample::default(),
            device_match: DeviceMatch::Identical,
            samples: 0,
            segment_start: None,
            needs_read: false,
            previous_time: SampleTime::default(),
            aggregation_start: (SampleTime::default(), 1.0),
            aggregate: None,
            has_pending_break: false,
        })
    }

    /// The name of the source in messages.
    pub(super) fn name(&self) -> String {
        match &self.source {
            SampleSource::Live { live, .. } => live.name(),
            SampleSource::Replay(replay) => replay.name().to_owned(),
        }
    }

    /// Whether samples come from the running system.
    pub(super) fn is_live(&self) -> bool {
        matches!(self.source, SampleSource::Live { .. })
    }

    /// Whether a capture turned out not to be text.
    pub(super) fn is_not_text(&self) -> bool {
        matches!(&self.source, SampleSource::Replay(replay) if replay.is_not_text())
    }

    /// The requested time between the samples of a report; `None` for a capture that does not record it.
    pub(super) fn requested_interval(&self) -> Option<Duration> {
        match &self.source {
            SampleSource::Live { .. } => Some(self.input.interval.unwrap_or(DEFAULT_INTERVAL)),
            // Aggregated samples are farther apart, never closer.
            SampleSource::Replay(replay) => Some(replay.header()?.interval?).max(self.input.interval),
        }
    }

    /// The last sample.
    pub(super) fn newest(&self) -> &Sample {
        &self.newer
    }

    /// The current pair.
    pub(super) fn pair(&self, interval: Interval) -> SamplePair<'_> {
        SamplePair {
            older: &self.older,
            newer: &self.newer,
            interval,
            device_match: &self.device_match,
            aggregate: self.aggregate.as_ref(),
        }
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
            if let SampleSource::Live { deadlines, .. } = &mut self.source {
                let start = self.newer.at.monotonic.unwrap_or_default();
                *deadlines = Some(Deadlines::new(start, self.input.interval.unwrap_or(DEFAULT_INTERVAL)));
            }
        }
        Ok(found)
    }

    /// Waits for the next sample and pairs it.
    ///
    /// # Errors
    /// When the source cannot be read; with `strict` also on a warning about a capture.
    pub(super) fn next(&mut self, on_warning: OnWarning<'_>) -> Result<NextPair> {
        let next = self.advance(on_warning)?;
        self.device_match = match &self.aggregate {
            Some(aggregate) => aggregate.device_match(self.older.devices.len()),
            None => DeviceMatch::between(&self.older.devices, &self.newer.devices),
        };
        Ok(next)
    }

    fn advance(&mut self, on_warning: OnWarning<'_>) -> Result<NextPair> {
        let mut missed_samples = 0;
        if let SampleSource::Live { deadlines: Some(deadlines), .. } = &mut self.source {
            let (due, missed) = deadlines.next(self.clock.monotonic());
            missed_samples = missed;
            if let WaitOutcome::Signal(signal) = self.clock.wait_until(due) {
                return Ok(NextPair::Signal(signal));
            }
        }
        std::mem::swap(&mut self.older, &mut self.newer);
        self.needs_read = true;
        self.aggregate = None;
        if std::mem::take(&mut self.has_pending_break) {
            std::mem::swap(&mut self.newer, &mut self.incoming);
            return Ok(self.begin_segment());
        }
        loop {
            let is_first = self.needs_read;
            match self.read(on_warning) {
                Ok(true) => {}
                // A shorter interval may be left at the end of an aggregated capture.
                Ok(false) => {
                    let rest = if self.needs_read { None } else { self.elapsed() };
                    return Ok(
                        rest.map_or(NextPair::End, |interval| NextPair::Pair { interval, missed_samples })
                    );
                }
                // A signal interrupts a read; that is not the capture's fault.
                Err(error) => return self.clock.signal().map(NextPair::Signal).ok_or(error),
            }
            let Some(interval) = self.elapsed() else {
                if is_first {
                    return Ok(self.begin_segment());
                }
                std::mem::swap(&mut self.newer, &mut self.incoming);
                self.has_pending_break = true;
                let pair = |interval| NextPair::Pair { interval, missed_samples };
                return Ok(self.elapsed().map_or(NextPair::Break, pair));
            };
            missed_samples = missed_samples.saturating_add(self.newer.missed_samples);
            if let Some(signal) = self.wait_for_recorded_time() {
                return Ok(NextPair::Signal(signal));
            }
            if !is_first {
                // `incoming` holds the sample that was read before this one.
                let last = &self.incoming;
                let aggregate = self.aggregate.get_or_insert_with(|| Aggregate::between(&self.older, last));
                aggregate.extend(last, &self.newer);
            }
            if self.is_due() {
                return Ok(NextPair::Pair { interval, missed_samples });
            }
        }
    }

    /// The last sample begins a new segment.
    fn begin_segment(&mut self) -> NextPair {
        self.needs_read = false;
        self.aggregation_start = (self.newer.at, 1.0);
        self.wait_for_recorded_time().map_or(NextPair::Break, NextPair::Signal)
    }

    /// The time between the two samples; `None` across a break.
    fn elapsed(&self) -> Option<Interval> {
        match self.newer.at.since(&self.older.at) {
            Elapsed::Forward(interval) if self.newer.segment == self.older.segment => Some(interval),
            Elapsed::Forward(_) | Elapsed::Unknown => None,
        }
    }

    /// Whether the last sample ends an interval: always, except where a capture is aggregated. There it is the sample
    /// nearest to the next multiple of the interval, for samples are never exactly on time.
    fn is_due(&mut self) -> bool {
        let Some(interval) = self.input.interval.filter(|_| !self.is_live()) else { return true };
        let (start, next) = self.aggregation_start;
        let seconds_since = |from: &SampleTime| match self.newer.at.since(from) {
            Elapsed::Forward(elapsed) => elapsed.seconds(),
            Elapsed::Unknown => 0.0,
        };
        // The next sample will be about as far away as the last one, unless that followed a gap.
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
        let found = match &mut self.source {
            SampleSource::Live { live, .. } => {
                live.read(&mut self.incoming, |line, error| {
                    let kind = CaptureWarningKind::Line(error);
                    on_warning(&CaptureWarning { line: line as u64, kind, omitted: 0 });
                })?;
                true
            }
            SampleSource::Replay(replay) => {
                let before = if self.needs_read { &self.older } else { &self.newer };
                let more = replay.next(before, &mut self.incoming);
                let warnings = replay.take_warnings();
                if let Some(warning) = warnings.first().filter(|_| self.input.strict) {
                    bail!("{}:{}: {}", sanitize(replay.name()), warning.line, warning.kind);
                }
                warnings.iter().for_each(on_warning);
                more?
            }
        };
        if found {
            self.previous_time = if self.needs_read { self.older.at } else { self.newer.at };
            self.needs_read = false;
            std::mem::swap(&mut self.newer, &mut self.incoming);
            self.samples += 1;
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

    /// The topology of the devices of the last sample.
    pub(super) fn topology(&mut self) -> Topology {
        match &mut self.source {
            SampleSource::Live { topology_read_at, .. } => {
                *topology_read_at = self.newer.at.monotonic.unwrap_or_default();
                read_topology(&self.input.root)
            }
            SampleSource::Replay(replay) => match replay.header() {
                Some(header) if !header.topology.nodes().is_empty() => header.topology.clone(),
                _ => Topology::from_names(&self.newer.devices),
            },
        }
    }

    /// Whether the topology should be read again.
    pub(super) fn is_topology_stale(&self) -> bool {
        match &self.source {
            SampleSource::Live { topology_read_at, .. } => {
                self.newer.at.monotonic.is_some_and(|now| now > *topology_read_at + MAX_TOPOLOGY_AGE)
            }
            SampleSource::Replay(_) => false,
        }
    }

    /// Whether the topology is known rather than inferred from device names.
    pub(super) fn has_known_topology(&self) -> bool {
        match &self.source {
            SampleSource::Live { .. } => true,
            SampleSource::Replay(replay) => {
                replay.header().is_some_and(|header| !header.topology.nodes().is_empty())
            }
        }
    }

    /// Resolves names in /dev on the running system; `None` for a capture.
    pub(super) fn resolver(&self) -> Option<DeviceResolver> {
        self.is_live().then(|| DeviceResolver::new(&self.input.root, &self.input.root.join("sys")))
    }
}
