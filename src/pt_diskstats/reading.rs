//! Samples in the form from which pt-diskstats computes its numbers.

use std::collections::HashMap;

use jiff::Timestamp;

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
