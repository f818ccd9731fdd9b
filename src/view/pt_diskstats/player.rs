//! From readings to the lines of pt-diskstats.

use std::collections::HashMap;

use super::Settings;
use crate::counters::{Counters, Sample};
use crate::metrics::PtDelta;
use crate::report::pt_diskstats::{GroupBy, Line, Pages, Table};

/// A sample as pt-diskstats sees it.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// When, in seconds; pt-diskstats computes with a number of 53 bits.
    pub seconds: f64,
    /// The time of day to show for it.
    pub time_of_day: String,
    /// That time was in the capture, not only its seconds.
    pub has_written_time: bool,
    /// The devices that were there, by their rank, in its order.
    devices: Vec<(usize, Counters)>,
}

/// Shows one reading after the other.
pub struct PtEngine {
    /// What is shown.
    pub settings: Settings,
    timestamps: bool,
    live: bool,
    table: Table,
    pages: Pages,
    /// DeviceResolver in the order in which they came.
    names: Vec<String>,
    ranks: HashMap<String, usize>,
    /// By rank, whether a device's counters have differed from those of the first reading.
    active: Vec<bool>,
    /// The very first reading.
    first: Option<Reading>,
    /// What the next reading is compared with.
    base: Option<Reading>,
    /// Where the current segment of time began.
    segment_start: f64,
    disk: PerDiskTotals,
    /// Live, the reading before the base, which a change to lines by samples goes back to.
    before_base: Option<Reading>,
    /// Live, the next reading is counted but not shown: a change to lines by disks swallows it.
    swallows_next: bool,
    /// The time of day of the reading before.
    previous_time: String,
    /// A header before every interval, as long as no key was pressed.
    header_always: bool,
    /// What has to be said beside the lines.
    notices: Vec<String>,
}

/// What `disk` adds up.
#[derive(Default)]
struct PerDiskTotals {
    intervals: usize,
    seconds_before_segment: f64,
    /// By rank, the work of a device and its last counters; `None` for one that was not there at the beginning.
    devices: Vec<Option<(PtDelta, Counters)>>,
}

impl PerDiskTotals {
    fn begin(&mut self, reading: &Reading) {
        let room = reading.devices.last().map_or(0, |(rank, _)| rank + 1);
        self.devices = vec![None; room];
        for (rank, counters) in &reading.devices {
            self.devices[*rank] = Some((PtDelta::default(), *counters));
        }
    }

    fn device(&mut self, rank: usize) -> Option<&mut (PtDelta, Counters)> {
        self.devices.get_mut(rank)?.as_mut()
    }
}

impl PtEngine {
    /// A player of readings that come live, or of those of a file.
    pub fn new(settings: Settings, timestamps: bool, live: bool, pages: Pages) -> Self {
        let mut player = Self {
            settings,
            timestamps,
            live,
            table: Table::new(timestamps),
            pages,
            names: Vec::new(),
            ranks: HashMap::new(),
            active: Vec::new(),
            first: None,
            base: None,
            segment_start: 0.0,
            disk: PerDiskTotals::default(),
            before_base: None,
            swallows_next: false,
            previous_time: String::new(),
            header_always: !live,
            notices: Vec::new(),
        };
        player.take_columns();
        player
    }

    /// Looks again which columns are asked for.
    pub fn take_columns(&mut self) {
        let columns = self.settings.columns.clone();
        self.table.keep(&|name| columns.is_match(name));
    }

    /// What had to be said since the last call.
    pub fn take_notices(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notices)
    }

    /// Goes back to the start of a file.
    pub fn rewind(&mut self) {
        self.first = None;
        self.base = None;
        self.disk = PerDiskTotals::default();
    }

    /// Has a file, when it is shown again, begin with a header; only there does one come from now on. Live, a
    /// changed setting brings none.
    pub fn force_header(&mut self) {
        if !self.live {
            self.header_always = false;
            self.pages.force_header();
        }
    }

    /// Changes how readings that come live are put together: a header at once, and some quirks of what comes next.
    pub fn set_group_by_live(&mut self, group_by: GroupBy, out: &mut Vec<u8>) {
        if self.settings.group_by == group_by {
            return;
        }
        self.settings.group_by = group_by;
        self.pages.forget_header();
        self.pages.force_header();
        self.pages.push_block(&self.table, group_by, &[], out);
        match group_by {
            GroupBy::All => {}
            GroupBy::Disk => {
                self.disk.intervals = 0;
                self.swallows_next = true;
            }
            GroupBy::Sample => self.base = self.before_base.take().or(self.base.take()),
        }
    }

    /// Whether readings come live.
    pub fn is_live(&self) -> bool {
        self.live
    }

    /// Changes how readings are put together. Whether a file is to be shown again: by samples, pt-diskstats goes
    /// on from its end, where nothing is left.
    pub fn set_group_by(&mut self, group_by: GroupBy) -> bool {
        let is_same = self.settings.group_by == group_by;
        let forces = match group_by {
            GroupBy::All => true,
            GroupBy::Disk => !is_same,
            GroupBy::Sample => !is_same || !self.header_always,
        };
        if forces {
            self.pages.force_header();
        }
        if !is_same {
            self.pages.forget_header();
            self.active.clear();
        }
        self.header_always = false;
        self.settings.group_by = group_by;
        !(is_same && group_by == GroupBy::Sample)
    }

    /// A header that a key asked for.
    pub fn push_header(&mut self, out: &mut Vec<u8>) {
        self.pages.push_header(&self.table, self.settings.group_by, out);
    }

    /// The reading of a sample, or `None` when it has no devices: pt-diskstats passes such a sample over.
    pub fn reading(&mut self, sample: &Sample, seconds: f64, time_of_day: String) -> Option<Reading> {
        let has_written_time = sample.written_time.is_some();
        let mut devices: Vec<(usize, Counters)> = Vec::with_capacity(sample.devices.len());
        for device in sample.devices.iter().filter(|device| !device.counters.is_old_partition()) {
            let rank = self.rank(&device.name, devices.len());
            devices.push((rank, device.counters));
        }
        if devices.is_empty() || seconds == 0.0 {
            return None;
        }
        if !devices.is_sorted_by(|a, b| a.0 < b.0) {
            // The last of several lines of a device counts.
            devices.reverse();
            devices.sort_by_key(|(rank, _)| *rank);
            devices.dedup_by_key(|(rank, _)| *rank);
        }
        Some(Reading { seconds, time_of_day, has_written_time, devices })
    }

    /// The rank of a name, which nearly always stands where it stood before.
    fn rank(&mut self, name: &str, place: usize) -> usize {
        let before = self.base.as_ref().and_then(|base| base.devices.get(place));
        if let Some((rank, _)) = before.filter(|(rank, _)| self.names[*rank] == name) {
            return *rank;
        }
        if let Some(rank) = self.ranks.get(name) {
            return *rank;
        }
        self.ranks.insert(name.to_owned(), self.names.len());
        self.names.push(name.to_owned());
        self.names.len() - 1
    }

    /// The next reading; what is to be shown of it is appended.
    pub fn play(&mut self, reading: Reading, out: &mut Vec<u8>) {
        let Some(base) = self.base.take() else {
            self.segment_start = reading.seconds;
            self.disk.begin(&reading);
            self.make_room(&reading);
            self.first.get_or_insert_with(|| reading.clone());
            self.previous_time.clone_from(&reading.time_of_day);
            self.base = Some(reading);
            return;
        };
        if reading.seconds <= base.seconds {
            // No interval across this; the caller has the line to name.
            self.disk.seconds_before_segment += base.seconds - self.segment_start;
            self.segment_start = reading.seconds;
            for (rank, counters) in &reading.devices {
                if let Some((_, last)) = self.disk.device(*rank) {
                    *last = *counters;
                }
            }
            self.base = Some(reading);
            return;
        }
        self.make_room(&reading);
        self.add_to_disks(&reading);
        let time_of_day = reading.time_of_day.clone();
        if self.live {
            self.before_base = Some(base.clone());
        }
        if std::mem::take(&mut self.swallows_next) {
            self.disk.intervals = 0;
            self.base = Some(reading);
            self.previous_time = time_of_day;
            return;
        }
        self.base = Some(match self.settings.group_by {
            GroupBy::All => self.all(&base, reading, out),
            GroupBy::Disk => {
                if self.live {
                    self.disks(&reading, out);
                }
                reading
            }
            GroupBy::Sample => self.sample(base, reading, out),
        });
        self.previous_time = time_of_day;
    }

    /// The end of a file.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        if self.settings.group_by == GroupBy::Disk
            && self.disk.intervals > 0
            && let Some(last) = self.base.clone()
        {
            self.disks(&last, out);
        }
    }

    fn make_room(&mut self, reading: &Reading) {
        for (rank, _) in &reading.devices {
            self.table.make_room(&self.names[*rank]);
        }
    }

    /// Whether a device is shown; one that has changed since the first reading is active from now on.
    fn is_shown(&mut self, rank: usize, now: &Counters) -> bool {
        if let Some(pattern) = &self.settings.devices {
            return pattern.is_match(&self.names[rank]);
        }
        if self.is_active(rank) {
            return true;
        }
        let first = self.first.as_ref().and_then(|first| first.find(rank, rank));
        let is_active = first.is_some_and(|first| !first.basic_columns_equal(now));
        if is_active {
            self.active.resize(self.names.len(), false);
            self.active[rank] = true;
        }
        is_active || self.settings.show_inactive
    }

    fn is_active(&self, rank: usize) -> bool {
        self.active.get(rank).is_some_and(|is_active| *is_active)
    }

    /// What a device did; nothing when its counters went back, which is told.
    fn work(&mut self, rank: usize, older: &Counters, newer: &Counters) -> PtDelta {
        PtDelta::between(older, newer).unwrap_or_else(|| {
            self.notices.push(went_back(&self.names[rank]));
            PtDelta::default()
        })
    }

    /// The first column. Live, a time of day is that of the reading before.
    fn time(&self, otherwise: String, reading: &Reading) -> String {
        match (self.timestamps, self.live) {
            (false, _) => otherwise,
            (true, false) => reading.time_of_day.clone(),
            (true, true) => self.previous_time.clone(),
        }
    }

    fn all(&mut self, base: &Reading, reading: Reading, out: &mut Vec<u8>) -> Reading {
        let elapsed = reading.seconds - base.seconds;
        let since = if self.live { base.seconds } else { self.segment_start };
        let time = self.time(tenths(reading.seconds - since), &reading);
        let mut lines = Vec::new();
        for (place, (rank, now)) in reading.devices.iter().enumerate() {
            let Some(before) = base.find(*rank, place) else { continue };
            if self.is_shown(*rank, now) {
                let rates = self.work(*rank, before, now).rates(elapsed, 1, now.in_flight as f64);
                lines.push(Line { time: time.clone(), device: self.names[*rank].clone(), rates });
            }
        }
        if self.header_always {
            self.pages.force_header();
        }
        self.pages.push_block(&self.table, GroupBy::All, &lines, out);
        reading
    }

    fn add_to_disks(&mut self, reading: &Reading) {
        if !self.live && self.settings.group_by != GroupBy::Disk {
            // A file is read again when that changes.
            return;
        }
        self.disk.intervals += 1;
        let says_it = self.settings.group_by == GroupBy::Disk;
        for (rank, now) in &reading.devices {
            let Some((sum, last)) = self.disk.device(*rank) else { continue };
            match PtDelta::between(last, now) {
                Some(work) => sum.add(&work),
                None if says_it => self.notices.push(went_back(&self.names[*rank])),
                None => {}
            }
            *last = *now;
        }
    }

    fn disks(&mut self, last: &Reading, out: &mut Vec<u8>) {
        let seconds = self.disk.seconds_before_segment + (last.seconds - self.segment_start);
        let count = format!("{{{}}}", self.disk.intervals);
        let time = self.time(count, last);
        let mut lines = Vec::new();
        for (rank, now) in &last.devices {
            let Some((work, _)) = self.disk.device(*rank).copied() else { continue };
            if self.is_shown(*rank, now) {
                let rates = work.rates(seconds, 1, 0.0);
                lines.push(Line { time: time.clone(), device: self.names[*rank].clone(), rates });
            }
        }
        self.pages.push_block(&self.table, GroupBy::Disk, &lines, out);
    }

    fn sample(&mut self, base: Reading, reading: Reading, out: &mut Vec<u8>) -> Reading {
        let elapsed = reading.seconds - base.seconds;
        if elapsed.ceil() < self.settings.sample_time {
            return base;
        }
        let (mut sum, mut in_progress, mut devices, mut is_based) = (PtDelta::default(), 0.0, 0, false);
        let mut shown = None;
        for (place, (rank, now)) in reading.devices.iter().enumerate() {
            if !self.is_shown(*rank, now) {
                continue;
            }
            devices += 1;
            shown.get_or_insert(*rank);
            if let Some(before) = base.find(*rank, place) {
                is_based = true;
                sum.add(&self.work(*rank, before, now));
                in_progress += now.in_flight as f64;
            }
        }
        if !is_based {
            self.pages.push_block(&self.table, GroupBy::Sample, &[], out);
            return base;
        }
        let name = || self.first_shown().or(shown).map(|rank| self.names[rank].clone());
        let device = if devices == 1 { name().unwrap_or_default() } else { format!("{{{devices}}}") };
        // Where no capture writes a time of day, it is that of the first reading.
        let dated = self.first.as_ref().filter(|_| !reading.has_written_time).unwrap_or(&reading);
        let line = Line {
            time: self.time(tenths(reading.seconds - self.segment_start), dated),
            device,
            rates: sum.with_in_flight(in_progress).rates(elapsed, devices, in_progress),
        };
        self.pages.push_block(&self.table, GroupBy::Sample, &[line], out);
        reading
    }

    /// The first device that came of those that would be shown.
    fn first_shown(&self) -> Option<usize> {
        (0..self.names.len()).find(|rank| match &self.settings.devices {
            Some(pattern) => pattern.is_match(&self.names[*rank]),
            None => self.settings.show_inactive || self.is_active(*rank),
        })
    }
}

fn tenths(seconds: f64) -> String {
    format!("{seconds:>5.1}")
}

fn went_back(name: &str) -> String {
    format!("the counters of {name} went back; zeros stand for that interval")
}

impl Reading {
    /// The device of a rank, which nearly always stands at this place.
    fn find(&self, rank: usize, place: usize) -> Option<&Counters> {
        if let Some((_, counters)) = self.devices.get(place).filter(|(at, _)| *at == rank) {
            return Some(counters);
        }
        let at = self.devices.binary_search_by_key(&rank, |(rank, _)| *rank).ok()?;
        Some(&self.devices[at].1)
    }
}
