//! The lines of the list: the choice and order of the devices.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use super::app::{App, BY_VERDICT};
use super::history::is_trouble;
use crate::analysis::Verdict;
use crate::intervals::{DeviceInterval, DeviceState, OngoingIncident};
use crate::topology::Topology;

#[derive(Clone, Debug)]
pub(crate) struct Row<'a> {
    /// The device in the interval under the cursor.
    pub(crate) device: &'a DeviceInterval,
    /// The number of devices above it in the tree.
    pub(crate) depth: usize,
}

/// The lines of the list, and the number of devices that are not listed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rows<'a> {
    pub(crate) listed: Vec<Row<'a>>,
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
    pub(crate) fn rows(&self) -> Rows<'_> {
        let Some(frame) = self.moment() else { return Rows::default() };
        let mut rows: Vec<Row<'_>> =
            frame.rows.devices.iter().map(|device| Row { device, depth: 0 }).collect();
        let total = rows.len();
        if let Some((_, regex)) = &self.filter {
            rows.retain(|row| regex.is_match(row.device.label()) || regex.is_match(row.device.device()));
        }
        let filtered = total - rows.len();
        let folded = if self.options.folds { self.fold(&mut rows, &frame.topology) } else { (0, 0) };
        // The devices of an incident follow the one that suffers; of equally severe ones, the longest comes first.
        let incident_of: for<'b> fn(&Row<'b>) -> Option<&'b OngoingIncident> =
            if self.options.sort == BY_VERDICT { |row| row.device.incident() } else { |_| None };
        let victims: HashMap<u64, f64> = (rows.iter())
            .filter_map(|row| Some((row, incident_of(row).filter(|ongoing| ongoing.is_victim)?)))
            .map(|(row, ongoing)| (ongoing.incident.id, self.sort_value(row.device)))
            .collect();
        let key = |row: &Row<'_>| {
            let ongoing = incident_of(row);
            let of_victim = ongoing.and_then(|ongoing| victims.get(&ongoing.incident.id).copied());
            let incident = ongoing
                .map(|ongoing| (ongoing.lasted_s, std::cmp::Reverse(ongoing.incident.id), ongoing.is_victim));
            (of_victim.unwrap_or_else(|| self.sort_value(row.device)), incident)
        };
        rows.sort_by(|a, b| key(b).partial_cmp(&key(a)).unwrap_or(Ordering::Equal));
        if self.is_tree {
            sort_as_tree(&mut rows, &frame.topology);
        }
        Rows { listed: rows, folded, filtered }
    }

    /// Returns the kernel's names of the devices of the list in their order.
    pub(crate) fn listed_names(&self) -> Vec<String> {
        self.rows().listed.iter().map(|row| row.device.device().to_owned()).collect()
    }

    /// Removes the devices that are ok or idle, and returns their numbers. A device that was in trouble shortly before
    /// stays, as do devices on which others in trouble are stacked. If no device is in trouble, the devices that are ok
    /// stay.
    fn fold(&self, rows: &mut Vec<Row<'_>>, topology: &Topology) -> (usize, usize) {
        let recent = self.recently_in_trouble();
        let matters = |row: &&Row<'_>| {
            let is_calm = matches!(row.device.verdict(), Some(Verdict::Ok | Verdict::Idle));
            let is_event = matches!(row.device.state, DeviceState::Event(_));
            !is_calm || is_event || recent.contains(row.device.device())
        };
        let mut kept: HashSet<String> =
            rows.iter().filter(matters).map(|row| row.device.device().to_owned()).collect();
        let is_ok = |row: &&Row<'_>| row.device.verdict() == Some(Verdict::Ok);
        if kept.is_empty() {
            kept.extend(rows.iter().filter(is_ok).map(|row| row.device.device().to_owned()));
        } else {
            let in_trouble = rows.iter().filter(|row| is_trouble(row.device.verdict()));
            kept.extend(in_trouble.flat_map(|row| topology.backing_devices(row.device.device())).cloned());
        }
        let mut folded = (0, 0);
        rows.retain(|row| {
            let name = row.device.device();
            let stays = kept.contains(name) || self.has_selected && self.selected.as_deref() == Some(name);
            *(if is_ok(&row) { &mut folded.0 } else { &mut folded.1 }) += usize::from(!stays);
            stays
        });
        folded
    }

    /// Returns the devices that were in trouble shortly before the time under the cursor.
    fn recently_in_trouble(&self) -> HashSet<&str> {
        let cursor_s = self.cursor_s();
        let recent = self.history.within(cursor_s - STAYS_S + 1e-6, cursor_s - 1e-6);
        let devices = recent.flat_map(|frame| &frame.rows.devices);
        devices.filter(|device| is_trouble(device.verdict())).map(DeviceInterval::device).collect()
    }
}

/// Sorts the rows as a tree: devices are below those that they are stacked on. The tree of the most severe device
/// comes first: the order is that of the first device of each tree.
fn sort_as_tree(rows: &mut [Row<'_>], topology: &Topology) {
    let order: Vec<&str> = rows.iter().map(|row| row.device.device()).collect();
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
    let place = |row: &Row<'_>| places.get(row.device.device()).copied().unwrap_or((usize::MAX, 0));
    rows.iter_mut().for_each(|row| row.depth = place(row).1);
    rows.sort_by_key(|row| place(row).0);
}
