//! The selection of the devices that are shown.

use super::reading::{DeviceRanks, Reading};
use super::settings::Settings;
use crate::counters::Counters;

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
