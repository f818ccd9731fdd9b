//! The state of the screen: the history, the time that the user looks at, and the choice and the order of the devices.
//!
//! Pure: it takes events and intervals, and asks the rest of the program for [`Action`]s.

use std::cmp::{Ordering, Reverse};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use jiff::tz::TimeZone;
use regex_lite::Regex;

use super::history::{Frame, History, is_trouble};
use super::regions::Regions;
use super::theme::Theme;
use super::time_axis::TimeAxis;
use crate::incidents::Told;
use crate::intervals::{DeviceInterval, DeviceState, IntervalRows, OngoingIncident};
use crate::judge::Verdict;
use crate::os_error::without_error_numbers;
use crate::report::layout::number_format::duration;
use crate::report::native::{event_text, sort_value};
use crate::sanitize::sanitize;
use crate::topology::Topology;

/// The seconds by which a sample may be late; if an interval is longer, that is allowed instead.
const LATE_TOLERANCE_S: f64 = 0.75;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Live,
    Capture(String),
}

/// The page that the screen shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Page {
    /// The devices, with the selected one below if there is space.
    List,
    Detail,
    Help,
}

/// Something that the program should do.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Action {
    Quit,
    /// Quit as at SIGINT.
    Interrupt,
    /// Stop until the shell continues it.
    Suspend,
    /// Redraw everything, because the terminal may show something else.
    Redraw,
    /// Take samples of the running system at another interval.
    ChangeInterval(Duration),
}

/// The order of the list with the most severe verdict first; devices with equal ones are in the order of the table.
pub(crate) const BY_VERDICT: &str = "verdict";
/// The order by name, like that of the table.
pub(crate) const BY_NAME: &str = "device";
/// The orders of the list, by the titles of their columns from left to right. The others are by a quantity, the largest
/// first.
pub(crate) const ORDERS: [&str; 11] = [
    BY_NAME, BY_VERDICT, "r/s", "w/s", "MiB/s", "r_await", "w_await", "queue", "inflt", "util",
    "sat",
];

/// The question that the line answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Question {
    Filter,
    /// A time to go to.
    Time,
}

/// A line that is being typed.
pub(crate) struct Prompt {
    pub(crate) question: Question,
    pub(crate) text: String,
    /// The text before, which Esc restores.
    pub(crate) before: String,
}

impl Prompt {
    /// Creates a line with an initial text.
    pub(crate) fn new(question: Question, text: &str) -> Self {
        Self {
            question,
            text: text.to_owned(),
            before: text.to_owned(),
        }
    }
}

/// How the screen was started.
pub(crate) struct AppOptions {
    pub(crate) source: Source,
    /// The name of the host; empty if it is not known.
    pub(crate) host: String,
    /// The requested length of an interval in seconds; `None` for a capture that does not record it.
    pub(crate) interval_s: Option<f64>,
    /// The time zone of the times shown.
    pub(crate) time_zone: TimeZone,
    /// Colors and characters.
    pub(crate) theme: Theme,
    pub(crate) sort: &'static str,
    /// True if devices that are ok or idle are not listed.
    pub(crate) folds: bool,
    /// The memory for intervals, in bytes, and the seconds for which they are kept.
    pub(crate) history: (usize, f64),
}

pub(crate) struct App {
    pub(crate) options: AppOptions,
    pub(crate) history: History,
    /// The end of the interval that the user looks at, in seconds of all intervals so far; `None` for always the newest.
    pub(crate) cursor: Option<f64>,
    pub(crate) page: Page,
    pub(crate) axis: TimeAxis,
    /// The kernel's name of the selected device.
    pub(crate) selected: Option<String>,
    /// The first line of the list, or of a page of text, that is shown.
    pub(crate) scroll: usize,
    pub(crate) is_tree: bool,
    pub(crate) filter: Option<(String, Regex)>,
    pub(crate) prompt: Option<Prompt>,
    /// The incidents so far, in the order in which they began.
    pub(crate) incidents: Vec<Told>,
    /// The number of earlier incidents that are no longer kept.
    pub(crate) dropped_incidents: u64,
    /// A message, and the time until which it is shown.
    pub(crate) message: Option<(String, f64)>,
    /// The fraction of a capture that has been read; `None` when all of it has.
    pub(crate) progress: Option<f64>,
    /// The reason why there are no more samples; `None` while there are.
    pub(crate) ended: Option<String>,
    /// The time on the monotonic clock, and that of the last interval.
    pub(crate) now_s: f64,
    pub(crate) arrived_s: Option<f64>,
    /// True if the user has moved in time or selected a device, so that the screen no longer does so by itself.
    pub(crate) has_moved: bool,
    pub(crate) has_selected: bool,
    pub(crate) size: (u16, u16),
    pub(crate) regions: Regions,
}

impl App {
    /// Creates the state before the first interval.
    pub(crate) fn new(options: AppOptions) -> Self {
        let (max_bytes, max_seconds) = options.history;
        Self {
            history: History::new(max_seconds, max_bytes),
            cursor: None,
            page: Page::List,
            axis: TimeAxis::default(),
            selected: None,
            scroll: 0,
            is_tree: false,
            filter: None,
            prompt: None,
            incidents: Vec::new(),
            dropped_incidents: 0,
            message: None,
            progress: (options.source != Source::Live).then_some(0.0),
            ended: None,
            now_s: 0.0,
            arrived_s: None,
            has_moved: false,
            has_selected: false,
            size: (80, 24),
            regions: Regions::default(),
            options,
        }
    }

    /// Takes an interval; `topology` is that of its devices.
    pub(crate) fn push(&mut self, rows: IntervalRows, topology: Arc<Topology>) {
        self.arrived_s = Some(self.now_s);
        self.history.push(rows, topology);
        let Some(frame) = self.history.newest() else {
            return;
        };
        let mut message = None;
        if self.options.source == Source::Live {
            message = self.late_text(frame);
        }
        if message.is_none() && self.progress.is_none() {
            message = frame.rows.events.last().map(event_text);
        }
        if let Some(message) = message
            && self.follows()
        {
            self.say(message);
        }
    }

    /// The moment under the cursor; `None` before the first interval.
    pub(crate) fn moment(&self) -> Option<&Frame> {
        match self.cursor {
            Some(end_s) => self.history.at(end_s),
            None => self.history.newest(),
        }
    }

    /// The end of the interval under the cursor, in seconds of all intervals so far.
    pub(crate) fn cursor_s(&self) -> f64 {
        self.moment().map_or(0.0, |moment| moment.span.end_s)
    }

    /// Returns whether the page of the device is shown.
    pub(crate) fn is_on_page(&self) -> bool {
        self.page == Page::Detail
    }

    /// Returns whether the screen follows the newest interval.
    pub(crate) fn follows(&self) -> bool {
        self.cursor.is_none()
    }

    /// Returns the value by which the list is sorted: the device with the largest comes first.
    pub(crate) fn sort_value(&self, device: &DeviceInterval) -> f64 {
        match self.options.sort {
            BY_NAME => 0.0,
            BY_VERDICT => device
                .shown_verdict()
                .map_or(-1.0, |verdict| f64::from(verdict as u8)),
            key => sort_value(key, device),
        }
    }

    /// Shows a message for some seconds.
    pub(crate) fn say(&mut self, text: impl AsRef<str>) {
        const SHOWN_S: f64 = 6.0;
        let text = without_error_numbers(text.as_ref());
        self.message = Some((text, self.now_s + SHOWN_S));
    }

    /// The seconds by which the next interval is late; `None` while it is not.
    pub(crate) fn late_s(&self) -> Option<f64> {
        let interval_s = self.options.interval_s.unwrap_or(1.0);
        let waited = self.now_s - self.arrived_s?;
        let is_live = self.options.source == Source::Live && self.ended.is_none();
        (is_live && waited > interval_s + interval_s.max(LATE_TOLERANCE_S)).then_some(waited)
    }

    /// Returns by how much a sample was late; `None` if it was not late or the requested interval is not known.
    pub(crate) fn late_text(&self, frame: &Frame) -> Option<String> {
        let interval_s = frame.rows.header.requested_s?;
        let late_s = frame.rows.header.elapsed_s - interval_s;
        if late_s <= interval_s.max(LATE_TOLERANCE_S) {
            return None;
        }
        Some(format!("sample late by {}", duration(late_s)))
    }

    /// Sets the filter of device names; an empty text lists all. A text that is not a regular expression is searched
    /// literally.
    pub(crate) fn set_filter(&mut self, text: &str) {
        self.scroll = 0;
        self.filter = None;
        if text.is_empty() {
            return;
        }
        let literal = regex_lite::escape(text);
        if let Ok(regex) = ignoring_case(text).or_else(|_| ignoring_case(&literal)) {
            self.filter = Some((text.to_owned(), regex));
        }
    }

    /// Returns that the filter is not a regular expression, and why; `None` if it is one.
    pub(crate) fn filter_error(&self) -> Option<String> {
        let (text, _) = self.filter.as_ref()?;
        let error = Regex::new(text).err()?;
        Some(format!(
            "'{}' is not a regular expression: {error}",
            sanitize(text)
        ))
    }
}

fn ignoring_case(pattern: &str) -> Result<Regex, regex_lite::Error> {
    Regex::new(&format!("(?i){pattern}"))
}

pub(crate) struct Row<'a> {
    /// The device in the interval under the cursor.
    pub(crate) device: &'a DeviceInterval,
    /// The number of devices above it in the tree.
    pub(crate) depth: usize,
}

/// The lines of the list, and the number of devices that are not listed.
#[derive(Default)]
pub(crate) struct Rows<'a> {
    pub(crate) listed: Vec<Row<'a>>,
    /// Devices that are folded: those that are ok, and those that are idle.
    pub(crate) folded: (usize, usize),
    /// Devices that the filter leaves out.
    pub(crate) filtered: usize,
}

/// The place of a device in the list, in which larger ones come first. The devices of an incident follow the one that
/// suffers; of equally severe incidents, the longest comes first.
#[derive(PartialEq, PartialOrd)]
struct Place {
    value: f64,
    /// Of the incident; `None` without one, or where the list is not sorted by verdict.
    lasted_s: Option<f64>,
    id: Option<Reverse<u64>>,
    is_victim: bool,
}

/// The seconds for which a device that was in trouble stays in the list, so that it does not appear and disappear
/// repeatedly.
const STAYS_S: f64 = 30.0;

impl App {
    /// Returns the lines of the list at the cursor.
    pub(crate) fn rows(&self) -> Rows<'_> {
        let Some(frame) = self.moment() else {
            return Rows::default();
        };
        let devices = &frame.rows.devices;
        let mut listed = Vec::new();
        for device in devices {
            if let Some((_, regex)) = &self.filter
                && !regex.is_match(device.label())
                && !regex.is_match(device.device())
            {
                continue;
            }
            listed.push(Row { device, depth: 0 });
        }
        let filtered = devices.len() - listed.len();
        let folded = match self.options.folds {
            true => self.fold(&mut listed, &frame.topology),
            false => (0, 0),
        };

        let mut victims = HashMap::new();
        for row in &listed {
            if let Some(ongoing) = self.incident_to_sort_by(row.device)
                && ongoing.is_victim
            {
                victims.insert(ongoing.told.id, self.sort_value(row.device));
            }
        }
        listed.sort_by(|a, b| {
            let [a, b] = [a, b].map(|row| self.place(row.device, &victims));
            b.partial_cmp(&a).unwrap_or(Ordering::Equal)
        });
        if self.is_tree {
            sort_as_tree(&mut listed, &frame.topology);
        }
        Rows {
            listed,
            folded,
            filtered,
        }
    }

    /// Returns the place of a device in the list. `victims` has the value of the device that suffers of each incident.
    fn place(&self, device: &DeviceInterval, victims: &HashMap<u64, f64>) -> Place {
        let ongoing = self.incident_to_sort_by(device);
        let of_victim = ongoing.and_then(|one| victims.get(&one.told.id));
        Place {
            value: of_victim
                .copied()
                .unwrap_or_else(|| self.sort_value(device)),
            lasted_s: ongoing.map(|one| one.lasted_s),
            id: ongoing.map(|one| Reverse(one.told.id)),
            is_victim: ongoing.is_some_and(|one| one.is_victim),
        }
    }

    fn incident_to_sort_by<'a>(&self, device: &'a DeviceInterval) -> Option<&'a OngoingIncident> {
        if self.options.sort != BY_VERDICT {
            return None;
        }
        device.incident()
    }

    /// Returns the kernel's names of the devices of the list in their order.
    pub(crate) fn listed_names(&self) -> Vec<String> {
        self.rows()
            .listed
            .iter()
            .map(|row| row.device.device().to_owned())
            .collect()
    }

    /// Removes the devices that are ok or idle, and returns their numbers. A device that was in trouble shortly before
    /// stays, as do devices on which others in trouble are stacked. If no device is in trouble, the devices that are ok
    /// stay.
    fn fold<'a>(&'a self, rows: &mut Vec<Row<'a>>, topology: &'a Topology) -> (usize, usize) {
        let recent = self.recently_in_trouble();
        let mut kept: HashSet<&str> = HashSet::new();
        for Row { device, .. } in rows.iter() {
            let is_calm = matches!(device.shown_verdict(), Some(Verdict::Ok | Verdict::Idle));
            let is_event = matches!(device.state, DeviceState::Event(_));
            if !is_calm || is_event || recent.contains(device.device()) {
                kept.insert(device.device());
            }
        }
        let is_all_calm = kept.is_empty();
        for Row { device, .. } in rows.iter() {
            let verdict = device.shown_verdict();
            if is_all_calm && verdict == Some(Verdict::Ok) {
                kept.insert(device.device());
            }
            if is_trouble(verdict) {
                let below = topology.backing_devices(device.device());
                kept.extend(below.iter().map(String::as_str));
            }
        }
        if self.has_selected {
            kept.extend(self.selected.as_deref());
        }

        let mut folded = (0, 0);
        rows.retain(|row| {
            if kept.contains(row.device.device()) {
                return true;
            }
            match row.device.shown_verdict() {
                Some(Verdict::Ok) => folded.0 += 1,
                _ => folded.1 += 1,
            }
            false
        });
        folded
    }

    /// Returns the devices that were in trouble shortly before the time under the cursor.
    fn recently_in_trouble(&self) -> HashSet<&str> {
        let cursor_s = self.cursor_s();
        let mut names = HashSet::new();
        for frame in (self.history).within(cursor_s - STAYS_S + 1e-6, cursor_s - 1e-6) {
            for device in &frame.rows.devices {
                if is_trouble(device.shown_verdict()) {
                    names.insert(device.device());
                }
            }
        }
        names
    }
}

/// Sorts the rows as a tree: devices are below those that they are stacked on. The tree of the most severe device
/// comes first: the order is that of the first device of each tree.
fn sort_as_tree(rows: &mut [Row<'_>], topology: &Topology) {
    let names: Vec<&str> = rows.iter().map(|row| row.device.device()).collect();
    let tree = Tree {
        listed: names.iter().copied().collect(),
        topology,
    };
    let mut children: HashMap<&str, Vec<&str>> = HashMap::new();
    for name in names.iter().rev() {
        if let Some(parent) = tree.parent(name) {
            children.entry(parent).or_default().push(name);
        }
    }

    let mut places: HashMap<&str, (usize, usize)> = HashMap::new();
    for name in &names {
        let mut pending = Vec::new();
        if let Some(root) = tree.root(name)
            && !places.contains_key(root)
        {
            pending.push((root, 0));
        }
        while let Some((name, depth)) = pending.pop() {
            places.insert(name, (places.len(), depth));
            for child in children.get(name).into_iter().flatten() {
                pending.push((child, depth + 1));
            }
        }
    }
    for row in &mut *rows {
        row.depth = places.get(row.device.device()).map_or(0, |place| place.1);
    }
    rows.sort_by_key(|row| {
        let place = places.get(row.device.device());
        place.map_or(usize::MAX, |place| place.0)
    });
}

/// How the devices of the list are stacked.
struct Tree<'a> {
    listed: HashSet<&'a str>,
    topology: &'a Topology,
}

impl<'a> Tree<'a> {
    /// Returns the device below which a device is shown: the first that it is stacked on.
    fn parent(&self, name: &str) -> Option<&'a str> {
        let below = self.topology.backing_devices(name).iter();
        let mut listed = below.filter(|below| self.listed.contains(below.as_str()));
        listed.find(|below| *below != name).map(String::as_str)
    }

    /// Returns the device below all others that a device is stacked on; `None` if they are stacked in a circle, which a
    /// hostile capture may describe.
    fn root(&self, name: &'a str) -> Option<&'a str> {
        let mut root = name;
        for _ in 0..self.listed.len() {
            match self.parent(root) {
                Some(parent) => root = parent,
                None => return Some(root),
            }
        }
        None
    }
}
