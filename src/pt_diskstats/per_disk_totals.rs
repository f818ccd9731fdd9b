//! The totals of each device over all intervals, for `--group-by disk`.

use super::rates::PtDelta;
use super::reading::Reading;
use crate::counters::Counters;

/// Totals over the intervals so far. Only devices of the first reading have one.
#[derive(Default)]
pub(super) struct PerDiskTotals {
    pub(super) intervals: usize,
    /// Seconds of the segments that have ended.
    ended_segments_s: f64,
    /// The time at which the current segment began, in seconds since the epoch.
    segment_start: f64,
    /// By rank: the total of a device and its latest counters.
    devices: Vec<Option<(PtDelta, Counters)>>,
}

impl PerDiskTotals {
    pub(super) fn start(&mut self, reading: &Reading) {
        let len = reading.devices.last().map_or(0, |(rank, _)| rank + 1);
        self.segment_start = reading.seconds;
        self.devices = vec![None; len];
        for (rank, counters) in &reading.devices {
            self.devices[*rank] = Some((PtDelta::default(), *counters));
        }
    }

    /// Ends the current segment at `end` and starts the next one with a reading: no interval spans the two.
    pub(super) fn start_segment(&mut self, end: f64, reading: &Reading) {
        self.ended_segments_s += end - self.segment_start;
        self.segment_start = reading.seconds;
        for (rank, counters) in &reading.devices {
            if let Some((_, latest)) = self.device(*rank) {
                *latest = *counters;
            }
        }
    }

    /// Returns the time at which the current segment began, in seconds since the epoch.
    pub(super) fn segment_start(&self) -> f64 {
        self.segment_start
    }

    /// Adds the interval that ends with this reading. A device whose counters went backwards adds nothing; its rank is
    /// passed to `on_reset`.
    pub(super) fn add(&mut self, reading: &Reading, mut on_reset: impl FnMut(usize)) {
        self.intervals += 1;
        for (rank, now) in &reading.devices {
            let Some((total, latest)) = self.device(*rank) else { continue };
            match PtDelta::between(latest, now) {
                Some(delta) => total.add(&delta),
                None => on_reset(*rank),
            }
            *latest = *now;
        }
    }

    /// Returns the total of the device with this rank; `None` if the first reading does not have it.
    pub(super) fn total(&self, rank: usize) -> Option<PtDelta> {
        self.devices.get(rank)?.as_ref().map(|(total, _)| *total)
    }

    /// Returns the seconds that the totals cover at the time of this reading.
    pub(super) fn seconds_at(&self, reading: &Reading) -> f64 {
        self.ended_segments_s + (reading.seconds - self.segment_start)
    }

    fn device(&mut self, rank: usize) -> Option<&mut (PtDelta, Counters)> {
        self.devices.get_mut(rank)?.as_mut()
    }
}
