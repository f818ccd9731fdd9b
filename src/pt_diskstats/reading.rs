//! Samples in the form from which pt-diskstats computes its numbers.

use std::collections::HashMap;

use jiff::Timestamp;

use super::options::Settings;
use super::rates::PtDelta;
use crate::counters::{Counters, Device};

#[derive(Clone, Debug, Default)]
pub(super) struct Reading {
    /// Seconds since the epoch, as a 53-bit number like in pt-diskstats.
    pub(super) seconds: f64,
    /// The time of day to show; empty if times of day are not shown.
    pub(super) time_of_day: String,
    /// True if the sample's own `TS` line has a time of day, not only seconds.
    pub(super) has_written_time: bool,
    /// The ranks and counters of the devices, sorted by rank.
    pub(super) devices: Vec<(usize, Counters)>,
}

impl Reading {
    /// Returns the counters of the device with this rank, or `None` if it is absent. `hint` is the index where it
    /// nearly always is.
    pub(super) fn find(&self, rank: usize, hint: usize) -> Option<&Counters> {
        if let Some((_, counters)) = self.devices.get(hint).filter(|(at, _)| *at == rank) {
            return Some(counters);
        }
        let at = self.devices.binary_search_by_key(&rank, |(rank, _)| *rank).ok()?;
        Some(&self.devices[at].1)
    }
}

/// Device names, numbered in the order of their first appearance. The number is a device's rank.
#[derive(Default)]
pub(super) struct DeviceRanks {
    names: Vec<String>,
    ranks: HashMap<String, usize>,
}

impl DeviceRanks {
    /// Returns the name of a rank.
    pub(super) fn name(&self, rank: usize) -> &str {
        &self.names[rank]
    }

    pub(super) fn len(&self) -> usize {
        self.names.len()
    }

    /// Returns the ranks and counters of the devices of a sample, sorted by rank. The partitions of old kernels, which
    /// have four columns, are skipped. `previous` is the previous reading, whose devices are nearly always the same.
    pub(super) fn rank_devices(
        &mut self,
        devices: &[Device],
        previous: Option<&Reading>,
    ) -> Vec<(usize, Counters)> {
        let mut ranked: Vec<(usize, Counters)> = Vec::with_capacity(devices.len());
        for device in devices.iter().filter(|device| !device.counters.is_old_partition()) {
            let hint = previous.and_then(|previous| previous.devices.get(ranked.len()));
            let rank = match hint {
                Some((rank, _)) if self.names[*rank] == device.name => *rank,
                _ => self.rank(&device.name),
            };
            ranked.push((rank, device.counters));
        }
        if !ranked.is_sorted_by(|a, b| a.0 < b.0) {
            // The last line of a device wins.
            ranked.reverse();
            ranked.sort_by_key(|(rank, _)| *rank);
            ranked.dedup_by_key(|(rank, _)| *rank);
        }
        ranked
    }

    fn rank(&mut self, name: &str) -> usize {
        if let Some(rank) = self.ranks.get(name) {
            return *rank;
        }
        self.ranks.insert(name.to_owned(), self.names.len());
        self.names.push(name.to_owned());
        self.names.len() - 1
    }
}

/// Returns seconds since the epoch as pt-diskstats reads them: rounded to the nearest 53-bit number.
#[allow(clippy::cast_precision_loss)]
pub(super) fn epoch_seconds(at: Timestamp) -> f64 {
    let text = format!("{}.{:09}", at.as_second(), at.subsec_nanosecond());
    text.parse().unwrap_or(at.as_second() as f64)
}

/// Decides which devices are shown: those that match the pattern, or, without one, those that were active.
#[derive(Default)]
pub(super) struct ActivityFilter {
    /// The first reading, with which later ones are compared.
    pub(super) first: Option<Reading>,
    /// By rank, true if the counters have ever differed from those of the first reading.
    active: Vec<bool>,
}

impl ActivityFilter {
    /// Takes the first reading as the reference for activity; later ones are ignored.
    pub(super) fn set_reference(&mut self, reading: &Reading) {
        self.first.get_or_insert_with(|| reading.clone());
    }

    /// Forgets the first reading, so that a file can be read again. Devices stay active.
    pub(super) fn rewind(&mut self) {
        self.first = None;
    }

    /// Forgets which devices were active.
    pub(super) fn clear(&mut self) {
        self.active.clear();
    }

    /// Returns whether a device with these counters is shown. If they have changed, marks the device as active.
    pub(super) fn is_shown(
        &mut self,
        rank: usize,
        now: &Counters,
        settings: &Settings,
        ranks: &DeviceRanks,
    ) -> bool {
        if let Some(pattern) = &settings.devices {
            return pattern.is_match(ranks.name(rank));
        }
        if self.is_active(rank) {
            return true;
        }
        let first = self.first.as_ref().and_then(|first| first.find(rank, rank));
        let has_changed = first.is_some_and(|first| !first.basic_columns_equal(now));
        if has_changed {
            self.active.resize(ranks.len(), false);
            self.active[rank] = true;
        }
        has_changed || settings.show_inactive
    }

    /// Returns the rank of the first device, in the order of first appearance, that would be shown.
    pub(super) fn first_shown(&self, settings: &Settings, ranks: &DeviceRanks) -> Option<usize> {
        (0..ranks.len()).find(|rank| match &settings.devices {
            Some(pattern) => pattern.is_match(ranks.name(*rank)),
            None => settings.show_inactive || self.is_active(*rank),
        })
    }

    fn is_active(&self, rank: usize) -> bool {
        self.active.get(rank).is_some_and(|is_active| *is_active)
    }
}

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
