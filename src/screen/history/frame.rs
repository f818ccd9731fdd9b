//! One interval as stored in the history.

use std::collections::HashMap;
use std::sync::Arc;

use super::point::Point;
use crate::analysis::Verdict;
use crate::attribution::Attribution;
use crate::intervals::{
    DeviceEvent, DeviceInterval, DeviceNames, DeviceState, EventTracker, Events, IntervalHeader, IntervalRows,
};
use crate::metrics::Interval;
use crate::topology::Topology;

/// The number of a device: the same for all intervals in which the kernel gave it the same name.
pub(crate) type DeviceId = u32;

#[derive(Clone, Debug)]
pub(crate) struct ListedDevice {
    pub(crate) id: DeviceId,
    pub(crate) names: Arc<DeviceNames>,
}

/// The devices of an interval, in their order.
#[derive(Debug, Default)]
struct Layout {
    /// The numbers of all devices so far, by the kernel's names.
    ids: HashMap<String, DeviceId>,
    devices: Vec<ListedDevice>,
    rows: HashMap<DeviceId, usize>,
}

#[derive(Clone, Debug)]
pub(crate) struct Frame {
    /// The values that all devices share.
    pub(crate) header: IntervalHeader,
    /// The total seconds of all intervals up to its end.
    pub(crate) end_s: f64,
    /// The cgroups that used each device, and the tasks that waited, without processes, which the screen does not show.
    attribution: Option<Box<Attribution>>,
    /// The devices and how they are stacked.
    pub(crate) topology: Arc<Topology>,
    layout: Arc<Layout>,
    states: Box<[DeviceState]>,
    /// Seconds for which each device has had its verdict, or has been in trouble.
    lasted_s: Box<[f32]>,
    events: Vec<DeviceEvent>,
}

impl Frame {
    /// Its beginning: seconds of all intervals before it.
    pub(crate) fn begin_s(&self) -> f64 {
        self.end_s - self.header.elapsed_s
    }

    pub(crate) fn len(&self) -> usize {
        self.layout.devices.len()
    }

    /// Returns the number of a device by the kernel's name; `None` if no interval so far has it.
    pub(crate) fn id_of(&self, device: &str) -> Option<DeviceId> {
        self.layout.ids.get(device).copied()
    }

    pub(crate) fn listed(&self, row: usize) -> &ListedDevice {
        &self.layout.devices[row]
    }

    /// Returns the row of a device; `None` if the interval lacks it.
    pub(crate) fn row_of(&self, id: DeviceId) -> Option<usize> {
        self.layout.rows.get(&id).copied()
    }

    /// Returns the verdict of the device in a row.
    pub(crate) fn verdict(&self, row: usize) -> Option<Verdict> {
        match &self.states[row] {
            DeviceState::Active(activity) => activity.assessment.verdict,
            DeviceState::AccountingOff(_) => Some(Verdict::AccountingOff),
            _ => None,
        }
    }

    /// Returns the seconds for which the device in a row has had its verdict, or has been in trouble.
    pub(crate) fn lasted_s(&self, row: usize) -> f64 {
        f64::from(self.lasted_s.get(row).copied().unwrap_or(0.0))
    }

    /// Returns the device in a row as it was when the interval ended.
    pub(crate) fn device(&self, row: usize) -> DeviceInterval {
        DeviceInterval { names: Arc::clone(&self.listed(row).names), state: self.states[row].clone() }
    }

    /// Returns the statistics of the device in a row; `None` without activity.
    pub(crate) fn stats(&self, row: usize) -> Option<Interval> {
        match &self.states[row] {
            DeviceState::Active(activity) => Some(activity.stats),
            _ => None,
        }
    }

    /// Returns the device in a row as a point of a chart, with its names.
    pub(crate) fn point(&self, row: usize) -> (ListedDevice, Point) {
        let point = Point::of(self.verdict(row), self.stats(row).as_ref());
        (self.listed(row).clone(), point)
    }

    /// Returns the tasks that waited, and the cgroups of one device or, without a name, of all; `None` if they are not
    /// known.
    pub(crate) fn attribution(&self) -> Option<&Attribution> {
        self.attribution.as_deref()
    }

    #[cfg(test)]
    /// Returns the whole interval as it was.
    pub(crate) fn to_rows(&self) -> IntervalRows {
        IntervalRows {
            header: self.header,
            devices: (0..self.len()).map(|row| self.device(row)).collect(),
            total: None,
            events: self.events.clone(),
            attribution: self.attribution().cloned(),
            has_found_any: true,
        }
    }

    /// The devices that appeared or disappeared.
    pub(crate) fn events(&self) -> &[DeviceEvent] {
        &self.events
    }

    /// An estimate of its memory, without the parts that it shares with other intervals.
    pub(super) fn memory(&self) -> usize {
        let states = self.states.iter().map(DeviceState::memory);
        size_of::<Self>()
            + states.sum::<usize>()
            + self.lasted_s.len() * size_of::<f32>()
            + self
                .events
                .iter()
                .map(|event| 64 + event.names.device.len() + event.names.label.len())
                .sum::<usize>()
            + self.attribution.as_ref().map_or(0, |attribution| attribution.memory())
    }
}

#[derive(Debug, Default)]
pub(crate) struct FrameEncoder {
    layout: Arc<Layout>,
    tracker: EventTracker,
    run_s: f64,
}

impl FrameEncoder {
    /// Notes a break in time.
    pub(crate) fn interrupt(&mut self) {
        self.tracker.note_break();
    }

    /// Returns the events so far, including ongoing ones.
    pub(crate) fn events(&self) -> Events {
        self.tracker.events()
    }

    /// Returns the frame of the next interval; `topology` is that of its devices.
    pub(crate) fn encode(&mut self, rows: IntervalRows, topology: Arc<Topology>) -> Frame {
        self.tracker.observe(&rows);
        self.run_s += rows.header.elapsed_s;
        let IntervalRows { header, devices, events, attribution, .. } = rows;
        self.update_layout(&devices);
        let lasted_s = |device: &DeviceInterval| {
            self.tracker.since(device.device()).map_or(0.0, |since| since.lasted_s as f32)
        };
        let lasted_s = devices.iter().map(lasted_s).collect();
        Frame {
            header,
            end_s: self.run_s,
            attribution: attribution.map(|all| Box::new(Attribution { processes: None, ..all })),
            topology,
            layout: Arc::clone(&self.layout),
            states: devices.into_iter().map(|device| device.state).collect(),
            lasted_s,
            events,
        }
    }

    /// Updates the layout to these devices. It rarely changes.
    fn update_layout(&mut self, devices: &[DeviceInterval]) {
        if self.layout.devices.iter().map(|one| &one.names).eq(devices.iter().map(|device| &device.names)) {
            return;
        }
        let mut ids = self.layout.ids.clone();
        let listed = |device: &DeviceInterval| {
            let next = u32::try_from(ids.len()).unwrap_or(u32::MAX);
            let id = *ids.entry(device.device().to_owned()).or_insert(next);
            ListedDevice { id, names: Arc::clone(&device.names) }
        };
        let devices: Vec<ListedDevice> = devices.iter().map(listed).collect();
        let rows = devices.iter().enumerate().map(|(row, device)| (device.id, row)).collect();
        self.layout = Arc::new(Layout { ids, devices, rows });
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
