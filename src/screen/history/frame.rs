//! One interval as stored in the history.

use std::collections::HashMap;
use std::sync::Arc;

use crate::analysis::Verdict;
use crate::attribution::Attribution;
use crate::intervals::{DeviceInterval, DeviceState, IntervalRows};
use crate::topology::Topology;

/// The number of a device: the same for all intervals in which the kernel gave it the same name.
pub(crate) type DeviceId = u32;

/// The numbers of devices.
#[derive(Debug, Default)]
struct Layout {
    /// Those of all devices so far, by the kernel's names.
    ids: HashMap<String, DeviceId>,
    /// Those of the devices of an interval, in their order.
    order: Vec<DeviceId>,
    rows: HashMap<DeviceId, usize>,
}

#[derive(Clone, Debug)]
pub(crate) struct Frame {
    /// The interval as it was, without processes and a total, which the screen does not show.
    pub(crate) rows: IntervalRows,
    /// The total seconds of all intervals up to its end.
    pub(crate) end_s: f64,
    /// The devices and how they are stacked.
    pub(crate) topology: Arc<Topology>,
    layout: Arc<Layout>,
}

impl Frame {
    /// Its beginning: seconds of all intervals before it.
    pub(crate) fn begin_s(&self) -> f64 {
        self.end_s - self.rows.header.elapsed_s
    }

    /// The devices, each with its row and its number.
    pub(crate) fn devices(&self) -> impl Iterator<Item = (usize, DeviceId, &DeviceInterval)> {
        let numbered = self.layout.order.iter().zip(&self.rows.devices).enumerate();
        numbered.map(|(row, (id, device))| (row, *id, device))
    }

    /// Returns the device in a row.
    pub(crate) fn device(&self, row: usize) -> &DeviceInterval {
        &self.rows.devices[row]
    }

    /// Returns the number of a device by the kernel's name; `None` if no interval so far has it.
    pub(crate) fn id_of(&self, device: &str) -> Option<DeviceId> {
        self.layout.ids.get(device).copied()
    }

    /// Returns the row of a device; `None` if the interval lacks it.
    pub(crate) fn row_of(&self, id: DeviceId) -> Option<usize> {
        self.layout.rows.get(&id).copied()
    }

    /// Returns the row of a device by the kernel's name; `None` if the interval lacks it.
    pub(crate) fn row_named(&self, device: &str) -> Option<usize> {
        self.row_of(self.id_of(device)?)
    }

    /// Returns the seconds for which the incident of the device in a row has lasted; 0 without one.
    pub(crate) fn lasted_s(&self, row: usize) -> f64 {
        self.rows.devices[row].incident().map_or(0.0, |ongoing| ongoing.lasted_s)
    }

    /// An estimate of its memory, without the parts that it shares with other intervals.
    pub(super) fn memory(&self) -> usize {
        let devices = self.rows.devices.iter().map(|device| size_of::<usize>() + device.state.memory());
        let events =
            self.rows.events.iter().map(|event| 64 + event.names.device.len() + event.names.label.len());
        size_of::<Self>()
            + devices.sum::<usize>()
            + events.sum::<usize>()
            + self.rows.attribution.as_ref().map_or(0, |attribution| attribution.memory())
    }
}

#[derive(Debug, Default)]
pub(crate) struct FrameEncoder {
    layout: Arc<Layout>,
    run_s: f64,
}

impl FrameEncoder {
    /// Returns the frame of the next interval; `topology` is that of its devices.
    pub(crate) fn encode(&mut self, rows: IntervalRows, topology: Arc<Topology>) -> Frame {
        self.run_s += rows.header.elapsed_s;
        self.update_layout(&rows.devices);
        let attribution = rows.attribution.map(|all| Attribution { processes: None, ..all });
        Frame {
            rows: IntervalRows { total: None, attribution, has_found_any: true, ..rows },
            end_s: self.run_s,
            topology,
            layout: Arc::clone(&self.layout),
        }
    }

    /// Updates the layout to these devices. It rarely changes.
    fn update_layout(&mut self, devices: &[DeviceInterval]) {
        let known = devices.iter().map(|device| self.layout.ids.get(device.device()));
        if known.eq(self.layout.order.iter().map(Some)) {
            return;
        }
        let mut ids = self.layout.ids.clone();
        let id = |device: &DeviceInterval| {
            let next = u32::try_from(ids.len()).unwrap_or(u32::MAX);
            *ids.entry(device.device().to_owned()).or_insert(next)
        };
        let order: Vec<DeviceId> = devices.iter().map(id).collect();
        let rows = order.iter().enumerate().map(|(row, id)| (*id, row)).collect();
        self.layout = Arc::new(Layout { ids, order, rows });
    }
}

/// Returns whether a device is in trouble: not ok, not idle, and known.
pub(crate) fn is_trouble(verdict: Option<Verdict>) -> bool {
    verdict.is_some_and(|verdict| verdict.severity() >= Verdict::Queueing.severity())
}

/// Returns the rank of a verdict for sorting: an unknown verdict ranks above ok and below every trouble.
pub(crate) fn severity(verdict: Option<Verdict>) -> u8 {
    verdict.unwrap_or(Verdict::AccountingOff).severity()
}

/// Returns whether a state has no cells.
pub(crate) fn is_event(state: &DeviceState) -> bool {
    matches!(state, DeviceState::Event(_))
}
