//! Disks that disappeared.

use super::event::Moment;
use crate::intervals::{EventKind, IntervalRows};
use crate::topology::{Kind, possible_disks};

const MAX_DEPARTURES: usize = 1000;

/// A disk that the kernel no longer listed, because it was removed or failed.
#[derive(Clone, Debug, PartialEq)]
pub struct Departure {
    /// The kernel's name.
    pub device: String,
    /// The end of the interval in which it disappeared.
    pub at: Moment,
    /// The end of the interval in which a device of this name appeared again; `None` if none did.
    pub back_at: Option<Moment>,
}

/// The disks that disappeared. Devices that people create and remove as they need them, such as volumes and loop
/// devices, are left out.
#[derive(Clone, Debug, Default)]
pub(super) struct Departures(Vec<Departure>);

impl Departures {
    /// Takes the next interval, which ends at `end`.
    pub(super) fn observe(&mut self, rows: &IntervalRows, end: Moment) {
        for event in &rows.events {
            let back_at = match event.kind {
                EventKind::Appeared | EventKind::AppearedBriefly => {
                    let is_same =
                        |one: &&mut Departure| one.device == event.names.device && one.back_at.is_none();
                    let gone = self.0.iter_mut().rev().find(is_same);
                    // Of thousands of devices that appear at once, hardly any was there before.
                    if let Some(gone) = gone.filter(|_| is_disk(&event.names.device, rows)) {
                        gone.back_at = Some(end);
                    }
                    continue;
                }
                EventKind::Disappeared => None,
                EventKind::Reappeared => Some(end),
            };
            if self.0.len() < MAX_DEPARTURES && is_disk(&event.names.device, rows) {
                self.0.push(Departure { device: event.names.device.clone(), at: end, back_at });
            }
        }
    }

    /// Returns those after these seconds of the run, which then count from there.
    pub(super) fn after(&self, begin_s: f64) -> Vec<Departure> {
        let shift = |moment: Moment| Moment { run_s: moment.run_s - begin_s, ..moment };
        let shifted = |departure: &Departure| Departure {
            at: shift(departure.at),
            back_at: departure.back_at.map(shift),
            ..departure.clone()
        };
        self.0.iter().filter(|departure| departure.at.run_s > begin_s).map(shifted).collect()
    }
}

/// Returns whether it is a disk rather than one of its partitions or a virtual device, by its name and those of the
/// interval.
fn is_disk(name: &str, rows: &IntervalRows) -> bool {
    let is_listed = |disk: &str| {
        let mut listed = rows.devices.iter().map(|row| row.device());
        listed.any(|one| one == disk) || rows.events.iter().any(|event| event.names.device == disk)
    };
    let is_partition = || possible_disks(name).into_iter().flatten().any(is_listed);
    Kind::from_name(name) == Kind::Disk && !is_partition()
}
