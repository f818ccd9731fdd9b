//! The lines of the list: the choice and order of the devices.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::app::App;
use super::history::{CoarseSpan, DeviceId, Frame, Moment, is_event, is_trouble};
use super::sort::Sort;
use crate::analysis::{Assessment, Verdict};
use crate::intervals::{DeviceActivity, DeviceInterval, DeviceNames, DeviceState, OngoingIncident};
use crate::topology::Topology;

#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) id: DeviceId,
    /// The device in the interval under the cursor.
    pub(crate) device: DeviceInterval,
    /// Seconds for which its incident has lasted, 0 without one; `None` if only means are known.
    pub(crate) lasted_s: Option<f64>,
    /// The number of devices above it in the tree.
    pub(crate) depth: usize,
}

/// The lines of the list, and the number of devices that are not listed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rows {
    pub(crate) listed: Vec<Row>,
    /// Devices that are folded: those that are ok, and those that are idle.
    pub(crate) folded: (usize, usize),
    /// Devices that the filter leaves out.
    pub(crate) filtered: usize,
}

/// The seconds for which a device that was in trouble stays in the list, so that it does not appear and disappear
/// repeatedly.
const STAYS_S: f64 = 30.0;

impl App {
    /// Returns the lines of the list at the cursor.
    pub(crate) fn rows(&self) -> Rows {
        let mut rows = match self.moment() {
            Some(Moment::Exact(frame)) => exact_rows(frame),
            Some(Moment::Coarse(span)) => coarse_rows(span),
            None => return Rows::default(),
        };
        let total = rows.len();
        if let Some((_, regex)) = &self.filter {
            rows.retain(|row| regex.is_match(row.device.label()) || regex.is_match(row.device.device()));
        }
        let filtered = total - rows.len();
        let folded = if self.folds { self.fold(&mut rows) } else { (0, 0) };
        // The devices of an incident follow the one that suffers; of equally severe ones, the longest comes first.
        let incident_of: fn(&Row) -> Option<&OngoingIncident> =
            if self.sort == Sort::Severity { |row| row.device.incident() } else { |_| None };
        let victims: HashMap<u64, f64> = (rows.iter())
            .filter_map(|row| Some((row, incident_of(row).filter(|ongoing| ongoing.is_victim)?)))
            .map(|(row, ongoing)| (ongoing.incident.id, self.sort.value(&row.device)))
            .collect();
        let key = |row: &Row| {
            let ongoing = incident_of(row);
            let of_victim = ongoing.and_then(|ongoing| victims.get(&ongoing.incident.id).copied());
            let incident = ongoing
                .map(|ongoing| (row.lasted_s, std::cmp::Reverse(ongoing.incident.id), ongoing.is_victim));
            (of_victim.unwrap_or_else(|| self.sort.value(&row.device)), incident)
        };
        rows.sort_by(|a, b| key(b).partial_cmp(&key(a)).unwrap_or(Ordering::Equal));
        if self.is_tree
            && let Some(topology) = self.topology()
        {
            sort_as_tree(&mut rows, topology);
        }
        Rows { listed: rows, folded, filtered }
    }

    /// Returns the devices of the list in their order.
    pub(crate) fn listed_ids(&self) -> Vec<DeviceId> {
        self.rows().listed.iter().map(|row| row.id).collect()
    }

    /// The devices of the moment under the cursor and how they are stacked; `None` before the first interval.
    pub(crate) fn topology(&self) -> Option<&Topology> {
        match self.moment()? {
            Moment::Exact(frame) => Some(&frame.topology),
            Moment::Coarse(_) => self.history.frames().front().map(|frame| &*frame.topology),
        }
    }

    /// Removes the devices that are ok or idle, and returns their numbers. A device that was in trouble shortly before
    /// stays, as do devices on which others in trouble are stacked. If no device is in trouble, the devices that are ok
    /// stay.
    fn fold(&self, rows: &mut Vec<Row>) -> (usize, usize) {
        let recent = self.recently_in_trouble();
        let matters = |row: &Row| {
            let is_calm = matches!(row.device.verdict(), Some(Verdict::Ok | Verdict::Idle));
            !is_calm || is_event(&row.device.state) || recent.contains(&row.id)
        };
        let mut kept: HashSet<DeviceId> = rows.iter().filter(|row| matters(row)).map(|row| row.id).collect();
        if kept.is_empty() {
            let ok = rows.iter().filter(|row| row.device.verdict() == Some(Verdict::Ok));
            kept.extend(ok.map(|row| row.id));
        } else if let Some(topology) = self.topology() {
            let ids: HashMap<&str, DeviceId> = rows.iter().map(|row| (row.device.device(), row.id)).collect();
            let in_trouble = rows.iter().filter(|row| is_trouble(row.device.verdict()));
            for row in in_trouble {
                let below = topology.backing_devices(row.device.device());
                kept.extend(below.iter().filter_map(|name| ids.get(name.as_str())));
            }
        }
        let mut folded = (0, 0);
        rows.retain(|row| {
            let stays = kept.contains(&row.id) || self.has_selected && self.selected == Some(row.id);
            let is_ok = row.device.verdict() == Some(Verdict::Ok);
            *(if is_ok { &mut folded.0 } else { &mut folded.1 }) += usize::from(!stays);
            stays
        });
        folded
    }

    /// Returns the devices that were in trouble shortly before the time under the cursor.
    fn recently_in_trouble(&self) -> HashSet<DeviceId> {
        let cursor_s = self.cursor_s();
        let frames = self.history.frames();
        let first = frames.partition_point(|frame| frame.end_s <= cursor_s - STAYS_S);
        let mut found = HashSet::new();
        for frame in frames.range(first..).take_while(|frame| frame.end_s <= cursor_s + 1e-9) {
            let in_trouble = frame.devices().filter(|(.., device)| is_trouble(device.verdict()));
            found.extend(in_trouble.map(|(_, id, _)| id));
        }
        found
    }
}

fn exact_rows(frame: &Frame) -> Vec<Row> {
    let row = |(row, id, device): (usize, DeviceId, &DeviceInterval)| {
        let lasted_s = Some(frame.lasted_s(row));
        Row { id, device: device.clone(), lasted_s, depth: 0 }
    };
    frame.devices().map(row).collect()
}

fn coarse_rows(span: &CoarseSpan) -> Vec<Row> {
    let rows = span.points.iter().map(|(id, (names, point))| {
        let assessment = Assessment { verdict: point.verdict(), ..Assessment::default() };
        let activity = DeviceActivity { stats: *point.sum(), assessment, ..DeviceActivity::default() };
        let state = DeviceState::Active(Box::new(activity));
        let device = DeviceInterval { names: Arc::clone(names), state };
        Row { id: *id, device, lasted_s: None, depth: 0 }
    });
    rows.collect()
}

/// Sorts the rows as a tree: devices are below those that they are stacked on. The tree of the most severe device
/// comes first: the order is that of the first device of each tree.
fn sort_as_tree(rows: &mut [Row], topology: &Topology) {
    let names: Vec<Arc<DeviceNames>> = rows.iter().map(|row| Arc::clone(&row.device.names)).collect();
    let order: Vec<&str> = names.iter().map(|names| names.device.as_str()).collect();
    let listed: HashSet<&str> = order.iter().copied().collect();
    let parent = |name: &str| {
        let mut below = topology.backing_devices(name).iter();
        below.find_map(|below| listed.get(below.as_str()).copied().filter(|below| *below != name))
    };
    let mut children: HashMap<&str, Vec<&str>> = HashMap::new();
    for name in order.iter().rev() {
        children.entry(parent(name).unwrap_or_default()).or_default().push(name);
    }
    let mut places: HashMap<&str, (usize, usize)> = HashMap::new();
    for name in &order {
        let root = (0..order.len()).try_fold(*name, |name, _| parent(name).ok_or(name));
        // Devices without a root are stacked in a circle, which a hostile capture may describe.
        let mut pending: Vec<(&str, usize)> = root.err().map(|root| (root, 0)).into_iter().collect();
        while let Some((name, depth)) = pending.pop().filter(|(name, _)| !places.contains_key(name)) {
            places.insert(name, (places.len(), depth));
            let above = children.get(name).into_iter().flatten();
            pending.extend(above.map(|child| (*child, depth + 1)));
        }
    }
    let place = |row: &Row| places.get(row.device.device()).copied().unwrap_or((usize::MAX, 0));
    rows.iter_mut().for_each(|row| row.depth = place(row).1);
    rows.sort_by_key(|row| place(row).0);
}
