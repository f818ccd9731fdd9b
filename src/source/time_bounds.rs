//! Finds a range of time in a capture before its samples are read. Only `TS` lines are parsed, and a plain file is read
//! only as far as needed: `-10m` reads its last minutes.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::ops::ControlFlow;
use std::os::unix::fs::FileExt;
use std::time::Duration;

use anyhow::{Result, anyhow, bail};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use super::decompress::decompress;
use crate::capture::{scan_times, scan_times_backward};
use crate::clock::Clock;
use crate::compression::Compression;
use crate::time_range::{Occurrence, TimePoint, TimeRange, TimeSearch, is_before_middle, outside_message};

/// An end of a range of time in a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeBound {
    /// At this time, found in the capture. Positions are those of `TS` lines in bytes.
    Found(Occurrence),
    /// This long after the first sample.
    AfterStart(Duration),
}

/// Both ends of a range; `None` for an end that is that of the capture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeBounds {
    /// The beginning.
    pub begin: Option<TimeBound>,
    /// The end.
    pub end: Option<TimeBound>,
}

/// A capture in a file, which can be read at any position.
pub(super) struct SeekableCapture {
    file: File,
    /// The position at which the capture begins: standard input may have been read in part.
    start: u64,
    length: u64,
    is_compressed: bool,
}

impl SeekableCapture {
    /// The capture in a file before it is read; `None` for a pipe or a device.
    pub(super) fn of(file: &File) -> Option<Self> {
        let metadata = file.metadata().ok().filter(std::fs::Metadata::is_file)?;
        let mut file = file.try_clone().ok()?;
        let start = file.stream_position().ok()?;
        let mut magic = Vec::new();
        FileReader { file: &file, position: start, clock: None }
            .take(Compression::MAGIC_BYTES as u64)
            .read_to_end(&mut magic)
            .ok()?;
        let is_compressed = Compression::detect(&magic).is_some();
        Some(Self { file, start, length: metadata.len().saturating_sub(start), is_compressed })
    }
}

/// Reads a file without moving the position of another reader.
struct FileReader<'a> {
    file: &'a File,
    position: u64,
    /// Its signals end reads; `None` if they do not.
    clock: Option<&'a dyn Clock>,
}

impl Read for FileReader<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if let Some(signal) = self.clock.and_then(Clock::signal) {
            return Err(io::Error::other(format!("interrupted by signal {signal}")));
        }
        let read = self.file.read_at(into, self.position)?;
        self.position += read as u64;
        Ok(read)
    }
}

/// Finds both ends of a range.
///
/// # Errors
/// A message if a point is outside the capture or occurs more than once, or if the file cannot be read.
pub(super) fn find_bounds(
    capture: &SeekableCapture,
    range: &TimeRange,
    zone: &TimeZone,
    clock: &dyn Clock,
) -> Result<TimeBounds> {
    let points: Vec<(&'static str, &TimePoint)> = range.points().collect();
    let is_from_tail = |point: &TimePoint| point.before_end().is_some() && !capture.is_compressed;
    let searched: Vec<_> = points.iter().filter(|(_, point)| !is_from_tail(point)).collect();
    let needs_end = searched.iter().any(|(_, point)| point.after_start().is_none());
    let new_search = |(option, point): &(&'static str, &TimePoint)| (*option, TimeSearch::new(point, zone));
    let mut searches: Vec<_> = searched.into_iter().map(new_search).collect();
    if !searches.is_empty() {
        scan(capture, &mut searches, needs_end, clock)?;
    }
    let bound = |option: &'static str, point: &Option<TimePoint>| -> Result<Option<TimeBound>> {
        let Some(point) = point else { return Ok(None) };
        let search = searches.iter().find(|(of, _)| *of == option).map(|(_, search)| search);
        let found = match (point.before_end(), search) {
            (Some(duration), None) => {
                TimeBound::Found(find_before_end(capture, option, point, duration, zone, clock)?)
            }
            (Some(duration), Some(search)) => {
                let after_start = search.elapsed().checked_sub(duration).filter(|_| search.span().is_some());
                let outside = || anyhow!(outside_message(option, point, search.span(), zone));
                TimeBound::AfterStart(after_start.ok_or_else(outside)?)
            }
            (None, search) => {
                let only =
                    search.map(|search| search.only(option)).transpose().map_err(|error| anyhow!(error))?;
                let Some(only) = only else { return Ok(None) };
                TimeBound::Found(only)
            }
        };
        Ok(Some(found))
    };
    let bounds = TimeBounds { begin: bound("--begin", &range.begin)?, end: bound("--end", &range.end)? };
    if let (Some(TimeBound::Found(begin)), Some(TimeBound::Found(end))) = (bounds.begin, bounds.end) {
        let is_after = begin.next_position > end.next_position
            || begin.next_position == end.next_position && begin.at >= end.at;
        if is_after && let [(_, begin), (_, end)] = points[..] {
            bail!("--begin {begin} is not before --end {end}");
        }
    }
    Ok(bounds)
}

/// Passes the times of the capture to the searches: all of them if `needs_end`, otherwise until every search has found
/// its time.
fn scan(
    capture: &SeekableCapture,
    searches: &mut [(&str, TimeSearch)],
    needs_end: bool,
    clock: &dyn Clock,
) -> Result<()> {
    let file = FileReader { file: &capture.file, position: capture.start, clock: Some(clock) };
    let text = decompress(Box::new(file))?;
    scan_times(text, &mut |at, position| {
        searches.iter_mut().for_each(|(_, search)| search.observe(at, position));
        let is_done = !needs_end && searches.iter().all(|(_, search)| search.is_found());
        if is_done { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    searches.iter_mut().for_each(|(_, search)| search.finish());
    Ok(())
}

/// Finds the time `duration` before the last sample of a plain file, from its end. As in a search from the start, no
/// time passes while the clock is set back.
fn find_before_end(
    capture: &SeekableCapture,
    option: &str,
    point: &TimePoint,
    duration: Duration,
    zone: &TimeZone,
    clock: &dyn Clock,
) -> Result<Occurrence> {
    let duration = SignedDuration::try_from(duration)?;
    let read_at = |into: &mut [u8], position: u64| {
        let mut file =
            FileReader { file: &capture.file, position: capture.start + position, clock: Some(clock) };
        file.read_exact(into)
    };
    let mut span: Option<(Timestamp, Timestamp)> = None;
    let mut elapsed = SignedDuration::ZERO;
    // The earliest time so far, and the position of the sample after it.
    let mut earlier: Option<Timestamp> = None;
    let mut next_position = u64::MAX;
    let mut found = None;
    scan_times_backward(capture.length, read_at, &mut |at, position| {
        let (earliest, latest) = span.unwrap_or((at, at));
        span = Some((earliest.min(at), latest.max(at)));
        let later = earlier.replace(at);
        elapsed +=
            later.map_or(SignedDuration::ZERO, |later| later.duration_since(at)).max(SignedDuration::ZERO);
        if elapsed >= duration {
            let time = at.checked_add(elapsed - duration).unwrap_or(at);
            let is_before = is_before_middle(time, at, later.unwrap_or(at));
            let next_position = if is_before { next_position } else { next_position.saturating_add(1) };
            found = Some(Occurrence { at: time, next_position });
            return ControlFlow::Break(());
        }
        next_position = position;
        ControlFlow::Continue(())
    })?;
    found.ok_or_else(|| anyhow!(outside_message(option, point, span, zone)))
}
