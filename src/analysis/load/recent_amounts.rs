//! Lengths and completions of the latest loads of a device, in little memory.

use super::recent::MAX_RECENT_LOADS;
use super::sample::{IoDirection, LoadSample, RateUnit};

/// The kinds of rate that a cap can hold, in the order of their columns.
pub(crate) const RATE_KINDS: [(IoDirection, RateUnit); 6] = [
    (IoDirection::Both, RateUnit::Requests),
    (IoDirection::Both, RateUnit::Kib),
    (IoDirection::Reads, RateUnit::Requests),
    (IoDirection::Reads, RateUnit::Kib),
    (IoDirection::Writes, RateUnit::Requests),
    (IoDirection::Writes, RateUnit::Kib),
];

/// Columns with a number for each load: its seconds and the amount of each kind. Reading columns takes far less time
/// than reading the loads, most of whose memory is not in a CPU cache.
///
/// Numbers are rounded by at most [`Self::ROUNDING`]. Each column is a ring buffer: the latest number replaces the
/// oldest.
#[derive(Clone, Debug, Default)]
pub(crate) struct RecentAmounts {
    columns: [Vec<f32>; 1 + RATE_KINDS.len()],
    /// The number of loads so far.
    count: usize,
}

impl RecentAmounts {
    /// An upper bound of the relative error of a number, or of a result computed from a few of them.
    pub(crate) const ROUNDING: f32 = 1e-5;

    pub(super) fn push(&mut self, load: &LoadSample) {
        let amounts = RATE_KINDS.map(|(direction, unit)| load.amount(direction, unit));
        let place = self.count % MAX_RECENT_LOADS;
        for (column, value) in self.columns.iter_mut().zip(std::iter::once(load.seconds).chain(amounts)) {
            match column.get_mut(place) {
                Some(oldest) => *oldest = value as f32,
                None => {
                    if column.len() == column.capacity() {
                        // Most devices of a large host never have more than a few loads in a row.
                        column.reserve_exact(column.len().max(4));
                    }
                    column.push(value as f32);
                }
            }
        }
        self.count += 1;
    }

    pub(super) fn clear(&mut self) {
        self.columns.iter_mut().for_each(Vec::clear);
        self.count = 0;
    }

    /// The index of the latest load in each column; `None` without loads.
    pub(crate) fn latest(&self) -> Option<usize> {
        Some(self.count.checked_sub(1)? % MAX_RECENT_LOADS)
    }

    pub(crate) fn seconds(&self) -> &[f32] {
        &self.columns[0]
    }

    /// The requests or KiB of one of [`RATE_KINDS`], by its index there.
    pub(crate) fn of_kind(&self, kind: usize) -> &[f32] {
        &self.columns[1 + kind]
    }
}
