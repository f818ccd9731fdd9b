//! The range of time that is shown: decides for each sample whether it precedes the range, is in it, or follows it.

use anyhow::{Result, anyhow, bail};
use jiff::tz::TimeZone;

use crate::counters::Sample;
use crate::sanitize::sanitize;
use crate::source::{Replay, TimeBound, find_time_zone};
use crate::time_range::{TimePoint, TimeRange, TimeSearch, time_text};

/// The place of a sample relative to the range: that of the interval that it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Before the range.
    Preceding,
    /// In the range.
    Within,
    /// After the range.
    Following,
}

/// The range of time of a replay.
pub(super) struct RangeFilter {
    /// The name of the capture in messages.
    name: String,
    begin: Option<Bound>,
    end: Option<Bound>,
    has_begun: bool,
}

/// An end of the range.
struct Bound {
    option: &'static str,
    point: TimePoint,
    zone: TimeZone,
    kind: BoundKind,
}

enum BoundKind {
    /// The bound is before the sample at this position in bytes.
    Position(u64),
    /// The bound is searched for as the samples arrive.
    Search(Box<TimeSearch>),
}

impl RangeFilter {
    /// Finds the range in a capture.
    ///
    /// # Errors
    /// A message if a point is outside the capture, occurs more than once, or cannot be found in a pipe.
    pub(super) fn new(range: &TimeRange, replay: &Replay<'_>) -> Result<Self> {
        let tz = range.time_zone.as_deref();
        let zone = match find_time_zone(tz) {
            Some(zone) => zone,
            None if !range.needs_time_zone() => TimeZone::UTC,
            None => bail!(
                "unknown time zone '{}' in TZ; give times with their UTC offset, such as 2026-11-20T16:04Z",
                sanitize(&tz.unwrap_or_default().to_string_lossy())
            ),
        };
        let name = || sanitize(replay.name()).into_owned();
        let bounds = replay.find_range(range, &zone).map_err(|error| anyhow!("{}: {error:#}", name()))?;
        let bound = |option, point: &Option<TimePoint>, found: Option<TimeBound>| -> Result<Option<Bound>> {
            let Some(point) = point else { return Ok(None) };
            let kind = match found {
                Some(TimeBound::Found(occurrence)) => BoundKind::Position(occurrence.next_position),
                Some(TimeBound::AfterStart(duration)) => {
                    BoundKind::Search(Box::new(TimeSearch::after_start(point, duration, &zone)))
                }
                None if point.before_end().is_some() => bail!(
                    "{option} {point} is not known while {} is read from a pipe; save the capture to a file first",
                    name()
                ),
                None => BoundKind::Search(Box::new(TimeSearch::new(point, &zone))),
            };
            Ok(Some(Bound { option, point: point.clone(), zone: zone.clone(), kind }))
        };
        Ok(Self {
            name: name(),
            begin: bound("--begin", &range.begin, bounds.and_then(|bounds| bounds.begin))?,
            end: bound("--end", &range.end, bounds.and_then(|bounds| bounds.end))?,
            has_begun: range.begin.is_none(),
        })
    }

    /// Returns the place of the next sample, at this position of the capture.
    ///
    /// # Errors
    /// A message if a time of day occurs a second time, or can no longer occur.
    pub(super) fn place(&mut self, sample: &Sample, position: u64) -> Result<Place> {
        self.place_of(sample, position).map_err(|error| self.named(&error))
    }

    fn named(&self, error: &anyhow::Error) -> anyhow::Error {
        anyhow!("{}: {error:#}", self.name)
    }

    fn place_of(&mut self, sample: &Sample, position: u64) -> Result<Place> {
        let is_before_end = match &mut self.end {
            Some(end) => !end.is_passed(sample, position)?,
            None => true,
        };
        self.has_begun = match &mut self.begin {
            Some(begin) => begin.is_passed(sample, position)?,
            None => true,
        };
        match (self.has_begun, is_before_end) {
            (false, true) => Ok(Place::Preceding),
            (true, true) => Ok(Place::Within),
            (true, false) => Ok(Place::Following),
            (false, false) => match (&self.begin, &self.end) {
                (Some(begin), Some(end)) => {
                    bail!("--end {} comes before --begin {} in the capture", end.point, begin.point)
                }
                _ => Ok(Place::Following),
            },
        }
    }

    /// Takes the end of the capture.
    ///
    /// # Errors
    /// A message if the range was not reached.
    pub(super) fn finish(&mut self) -> Result<()> {
        let reached = self.begin.iter_mut().chain(&mut self.end).try_for_each(Bound::finish);
        reached.map_err(|error| self.named(&error))
    }
}

impl Bound {
    /// Returns whether a sample is after this end of the range.
    fn is_passed(&mut self, sample: &Sample, position: u64) -> Result<bool> {
        let search = match &mut self.kind {
            BoundKind::Position(first_after) => return Ok(position >= *first_after),
            BoundKind::Search(search) => search,
        };
        if let Some(at) = sample.at.wall {
            search.observe(at, position);
        }
        search.require_unique(self.option).map_err(|error| anyhow!(error))?;
        if search.is_before_capture() {
            let begins = search.span().map_or_else(String::new, |(first, _)| time_text(first, &self.zone));
            bail!("{} {} is outside the capture, which begins at {begins}", self.option, self.point);
        }
        Ok(search.is_passed_at(position))
    }

    fn finish(&mut self) -> Result<()> {
        match &mut self.kind {
            BoundKind::Position(_) => Ok(()),
            BoundKind::Search(search) => {
                search.finish();
                search.only(self.option).map(drop).map_err(|error| anyhow!(error))
            }
        }
    }
}
