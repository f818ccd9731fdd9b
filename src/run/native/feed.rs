//! Where the intervals come from: pairs of samples of a live machine, or of a capture.

use std::time::Duration;

use anyhow::{Result, bail};

use super::together::Together;
use crate::clock::{Clock, WaitOutcome};
use crate::counters::{Device, Sample};
use crate::deadlines::Deadlines;
use crate::metrics::{CounterDelta, DeviceMatch, IntervalStats, in_flight};
use crate::plan::Input;
use crate::run::warnings::Warnings;
use crate::run::{RunContext, refuse_other_than_text};
use crate::sanitize::sanitize;
use crate::source::{DeviceResolver, Live, Replay, read_topology, topology_from_names};
use crate::topology::Topology;
use crate::units::{Elapsed, Interval, SampleTime};

/// The time between two samples of a live machine where nothing is said of it.
const EVERY: Duration = Duration::from_secs(1);
/// How often what /sys says is read again where no name changed.
const STACK_AGE: Duration = Duration::from_secs(30);

/// What came next.
pub(in crate::run) enum Step {
    /// Two samples, and the time between them; so many deadlines were missed before it.
    Interval { interval: Interval, missed: u64 },
    /// There is no interval to the sample before: time went back, or the machine was rebooted.
    Break,
    /// No more samples.
    End,
    /// A signal asks to end.
    Signal(u8),
}

/// Intervals, one after the other.
pub(in crate::run) struct Feed<'a> {
    input: &'a Input,
    source: Source<'a>,
    /// The sample that begins the interval.
    pub(in crate::run) older: Sample,
    /// The sample that ends it.
    pub(in crate::run) newer: Sample,
    /// Samples so far.
    pub(in crate::run) samples: u64,
    /// Where the next sample is read to.
    incoming: Sample,
    warnings: Warnings,
    /// Where the segment of time began: on the clock, and of the samples.
    start: Option<(Duration, SampleTime)>,
    /// `newer` is still what it was one interval ago: nothing was read since.
    is_stale: bool,
    /// When the sample before the last was taken.
    last: SampleTime,
    /// Where the samples of a capture that are put together began, and at which multiple of the interval they are.
    begun: (SampleTime, f64),
    /// What those of this interval tell, where there are more than two.
    together: Option<Together>,
    /// `incoming` is the first sample after a break; what was put together before it comes first.
    is_held: bool,
}

enum Source<'a> {
    Live { live: Box<Live<'a>>, deadlines: Option<Deadlines>, stack_read: Duration },
    Replay(Box<Replay<'a>>),
}

impl<'a> Feed<'a> {
    /// Opens the source.
    ///
    /// # Errors
    /// When a capture cannot be opened.
    pub(in crate::run) fn open(input: &'a Input, clock: &'a dyn Clock) -> Result<Self> {
        let source = match &input.from {
            Some(path) => Source::Replay(Box::new(Replay::open(path, clock)?)),
            None => {
                let live = Box::new(Live::new(&input.root, clock).with_host_state());
                Source::Live { live, deadlines: None, stack_read: Duration::ZERO }
            }
        };
        let name = match &source {
            Source::Live { live, .. } => live.name(),
            Source::Replay(replay) => replay.name().to_owned(),
        };
        Ok(Self {
            input,
            source,
            older: Sample::default(),
            newer: Sample::default(),
            incoming: Sample::default(),
            samples: 0,
            warnings: Warnings::about(&name),
            start: None,
            is_stale: false,
            last: SampleTime::default(),
            begun: (SampleTime::default(), 1.0),
            together: None,
            is_held: false,
        })
    }

    /// What the source is called in messages.
    pub(in crate::run) fn name(&self) -> String {
        match &self.source {
            Source::Live { live, .. } => live.name(),
            Source::Replay(replay) => replay.name().to_owned(),
        }
    }

    /// Whether the samples are of a live machine.
    pub(in crate::run) fn is_live(&self) -> bool {
        matches!(self.source, Source::Live { .. })
    }

    /// The time between samples that was asked for, where that is known: of a recording, by who made it.
    pub(in crate::run) fn every(&self) -> Option<Duration> {
        match &self.source {
            Source::Live { .. } => Some(self.input.pace.every.unwrap_or(EVERY)),
            // Samples that are put together are farther apart, and never less far.
            Source::Replay(replay) => Some(replay.header()?.interval?).max(self.input.pace.every),
        }
    }

    /// Takes the first sample as `newer`. `false` where there is none.
    ///
    /// # Errors
    /// When the source cannot be read.
    pub(in crate::run) fn first(&mut self, world: &mut RunContext<'_>) -> Result<bool> {
        let found = self.read(world)?;
        if found {
            self.start = Some((world.clock.monotonic(), self.newer.at));
            self.begun = (self.newer.at, 1.0);
            if let Source::Live { deadlines, .. } = &mut self.source {
                let start = self.newer.at.monotonic.unwrap_or_default();
                *deadlines = Some(Deadlines::new(start, self.input.pace.every.unwrap_or(EVERY)));
            }
        }
        Ok(found)
    }

    /// Waits for the next sample and pairs it with the one before.
    ///
    /// # Errors
    /// When the source cannot be read, and under `--strict` when there was something wrong with it.
    pub(in crate::run) fn next(&mut self, world: &mut RunContext<'_>) -> Result<Step> {
        let mut missed = 0;
        if let Source::Live { deadlines: Some(deadlines), .. } = &mut self.source {
            let (due, skipped) = deadlines.next(world.clock.monotonic());
            missed = skipped;
            if let WaitOutcome::Signal(signal) = world.clock.wait_until(due) {
                return Ok(Step::Signal(signal));
            }
        }
        std::mem::swap(&mut self.older, &mut self.newer);
        self.is_stale = true;
        self.together = None;
        if std::mem::take(&mut self.is_held) {
            std::mem::swap(&mut self.newer, &mut self.incoming);
            return Ok(self.after_break(world));
        }
        loop {
            let is_first = self.is_stale;
            match self.read(world) {
                Ok(true) => {}
                Ok(false) => {
                    return Ok(self.rest().map_or(Step::End, |interval| Step::Interval { interval, missed }));
                }
                // Whatever it says: what is no more read is no fault of the capture.
                Err(error) => return world.clock.signal().map(Step::Signal).ok_or(error),
            }
            let Some(interval) = self.passed() else {
                if is_first {
                    return Ok(self.after_break(world));
                }
                std::mem::swap(&mut self.newer, &mut self.incoming);
                self.is_held = true;
                return Ok(self.passed().map_or(Step::Break, |interval| Step::Interval { interval, missed }));
            };
            missed = missed.saturating_add(self.newer.missed_samples);
            if let Some(signal) = self.keep_pace(world) {
                return Ok(Step::Signal(signal));
            }
            if !is_first {
                // What was read before is where the next is read to.
                let before = &self.incoming;
                self.together
                    .get_or_insert_with(|| Together::between(&self.older, before))
                    .then(before, &self.newer);
            }
            if self.is_due() {
                return Ok(Step::Interval { interval, missed });
            }
        }
    }

    /// The last sample begins a new segment of time.
    fn after_break(&mut self, world: &RunContext<'_>) -> Step {
        self.is_stale = false;
        self.begun = (self.newer.at, 1.0);
        self.keep_pace(world).map_or(Step::Break, Step::Signal)
    }

    /// Where each device was at the beginning of the interval, if it was there all the time.
    pub(in crate::run) fn pairs(&self) -> DeviceMatch {
        match &self.together {
            Some(together) => together.pairs(self.older.devices.len()),
            None => DeviceMatch::between(&self.older.devices, &self.newer.devices),
        }
    }

    /// Devices that came and went within the interval: neither of its samples has them.
    pub(in crate::run) fn passed_by(&self) -> impl Iterator<Item = &str> {
        let names = self.together.iter().flat_map(Together::passed_by);
        names.filter(|name| self.older.device(name).is_none() && self.newer.device(name).is_none())
    }

    /// How far the counters of the device at the place `newer`, which was at the place `older`, went in the
    /// interval; `None` when they started anew.
    pub(in crate::run) fn advance(
        &self,
        older: usize,
        newer: usize,
        interval: Interval,
    ) -> Option<CounterDelta> {
        let (older, last) = (&self.older.devices[older].counters, &self.newer.devices[newer].counters);
        match &self.together {
            Some(together) => together.advance(newer),
            None => CounterDelta::between(older, last, interval),
        }
    }

    /// The figures of that device.
    pub(in crate::run) fn figures(
        &self,
        older: usize,
        newer: usize,
        interval: Interval,
    ) -> Option<IntervalStats> {
        let in_flight = |device: &Device| in_flight(&device.counters);
        let (first, last) = (in_flight(&self.older.devices[older]), in_flight(&self.newer.devices[newer]));
        Some(IntervalStats::of(&self.advance(older, newer, interval)?, first, last, interval))
    }

    /// The most requests that any sample of the interval saw in flight at that device.
    pub(in crate::run) fn most_in_flight(&self, newer: usize) -> u64 {
        self.together.as_ref().map_or(0, |together| together.most_in_flight(newer))
    }

    /// Whether that device did nothing: its counters stood still.
    pub(in crate::run) fn stood_still(&self, older: usize, newer: usize) -> bool {
        self.newer.devices[newer].counters == self.older.devices[older].counters
            && self.together.as_ref().is_none_or(|together| together.advance(newer).is_some())
    }

    /// The time between the two samples, unless there is a break between them.
    fn passed(&self) -> Option<Interval> {
        match self.newer.at.since(&self.older.at) {
            Elapsed::Forward(interval) if self.newer.segment == self.older.segment => Some(interval),
            Elapsed::Forward(_) | Elapsed::Unknown => None,
        }
    }

    /// What is left at the end of a capture whose samples are put together: it is shorter than was asked for.
    fn rest(&self) -> Option<Interval> {
        if self.is_stale { None } else { self.passed() }
    }

    /// Whether the sample ends an interval: always, but where samples of a capture are put together, only the one
    /// that is nearest to the next multiple of the interval. Samples are never quite on time.
    fn is_due(&mut self) -> bool {
        let Some(every) = self.input.pace.every.filter(|_| !self.is_live()) else { return true };
        let (begin, next) = self.begun;
        let seconds = |from: &SampleTime| match self.newer.at.since(from) {
            Elapsed::Forward(interval) => interval.seconds(),
            Elapsed::Unknown => 0.0,
        };
        // The next sample is about as far away as the last was, unless that was behind a gap.
        let every = every.as_secs_f64();
        let (passed, step) = (seconds(&begin), seconds(&self.last).min(every));
        let multiples = (passed + step / 2.0) / every;
        if multiples < next {
            return false;
        }
        self.begun.1 = multiples.floor() + 1.0;
        true
    }

    /// Reads the next sample into `newer`.
    fn read(&mut self, world: &mut RunContext<'_>) -> Result<bool> {
        let found = match &mut self.source {
            Source::Live { live, .. } => {
                let warnings = &mut self.warnings;
                live.read(&mut self.incoming, |line, error| {
                    warnings.warn_line(line as u64, &error, world.err)
                })?;
                true
            }
            Source::Replay(replay) => {
                let before = if self.is_stale { &self.older } else { &self.newer };
                let more = replay.next(before, &mut self.incoming);
                let faults = replay.take_warnings();
                if let Some(fault) = faults.first().filter(|_| self.input.strict) {
                    bail!("{}:{}: {}", sanitize(replay.name()), fault.line, fault.kind);
                }
                faults.iter().for_each(|fault| self.warnings.warn_capture(fault, world.err));
                more?
            }
        };
        if found {
            self.last = if self.is_stale { self.older.at } else { self.newer.at };
            self.is_stale = false;
            std::mem::swap(&mut self.newer, &mut self.incoming);
            self.samples += 1;
        }
        Ok(found)
    }

    /// Under `--pace`, waits as long as it took when it was recorded; across a break nobody knows how long that was.
    fn keep_pace(&mut self, world: &RunContext<'_>) -> Option<u8> {
        if self.passed().is_none() {
            self.start = Some((world.clock.monotonic(), self.newer.at));
        }
        let (began, first) = self.start.filter(|_| self.input.paced)?;
        let Elapsed::Forward(passed) = self.newer.at.since(&first) else { return None };
        match world.clock.wait_until(began + Duration::from_secs_f64(passed.seconds())) {
            WaitOutcome::Signal(signal) => Some(signal),
            WaitOutcome::Due | WaitOutcome::Input => None,
        }
    }

    /// What the devices of the last sample are.
    pub(in crate::run) fn stack(&mut self) -> Topology {
        match &mut self.source {
            Source::Live { stack_read, .. } => {
                *stack_read = self.newer.at.monotonic.unwrap_or_default();
                read_topology(&self.input.root)
            }
            Source::Replay(replay) => match replay.header() {
                Some(header) if !header.topology.nodes().is_empty() => header.topology.clone(),
                _ => topology_from_names(&self.newer.devices),
            },
        }
    }

    /// Whether what is known of the devices has grown old.
    pub(in crate::run) fn stack_is_old(&self) -> bool {
        match &self.source {
            Source::Live { stack_read, .. } => {
                self.newer.at.monotonic.is_some_and(|now| now > *stack_read + STACK_AGE)
            }
            Source::Replay(_) => false,
        }
    }

    /// The names that a word may stand for on a live machine.
    pub(in crate::run) fn names(&self) -> Option<DeviceResolver> {
        self.is_live().then(|| DeviceResolver::new(&self.input.root, &self.input.root.join("sys")))
    }

    /// The devices of the last sample.
    pub(in crate::run) fn devices(&self) -> &[Device] {
        &self.newer.devices
    }

    /// Why there is nothing to report.
    ///
    /// # Errors
    /// When the file is no text at all.
    pub(in crate::run) fn nothing(&self) -> Result<String> {
        if let Source::Replay(replay) = &self.source {
            refuse_other_than_text(replay)?;
        }
        Ok(match self.samples {
            0 => "no sample was found: a capture is readings of /proc/diskstats, each after a line 'TS <seconds>'",
            1 => "only one complete sample; two are needed",
            _ => "no two samples follow one another in time",
        }
        .to_owned())
    }

    /// Whether what is stacked on what is known, and not only guessed by the names.
    pub(in crate::run) fn knows_stack(&self) -> bool {
        match &self.source {
            Source::Live { .. } => true,
            Source::Replay(replay) => {
                replay.header().is_some_and(|header| !header.topology.nodes().is_empty())
            }
        }
    }

    /// Says how many warnings were not printed.
    pub(in crate::run) fn finish(&self, world: &mut RunContext<'_>) {
        self.warnings.finish(world.err);
    }
}
