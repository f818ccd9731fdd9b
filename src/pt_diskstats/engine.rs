//! Turns samples into the lines of the report.

use std::collections::HashMap;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::options::{GroupBy, Options};
use super::rates::{PtDelta, PtRates};
use super::text::{HeaderPager, Row, Table};
use crate::counters::{Counters, Device, Sample};
use crate::units::epoch_text;

/// Takes the samples one by one and appends the lines to print.
pub(super) struct PtEngine {
    pub(super) settings: Options,
    /// True if samples come from a live system, not from a file.
    pub(super) is_live: bool,
    /// True if the first column is the time of day.
    pub(super) has_timestamps: bool,
    time_zone: TimeZone,
    pub(super) table: Table,
    pub(super) pager: HeaderPager,
    pub(super) ranks: DeviceRanks,
    /// The first reading, with which later ones are compared.
    first: Option<Reading>,
    /// By rank, true if the counters have ever differed from those of the first reading.
    active: Vec<bool>,
    pub(super) totals: PerDiskTotals,
    /// The reading that the next one is compared with.
    pub(super) base: Option<Reading>,
    /// In a live run, the reading before the base. Switching to `--group-by sample` returns to it.
    pub(super) before_base: Option<Reading>,
    /// True if, in a live run, the next reading is counted but not shown, as after switching to `--group-by disk`.
    pub(super) skip_next: bool,
    /// The time of day in the first sample since the last reading, if that sample has one; `None` if no sample followed
    /// the reading. A sample without devices passes its time on to the next one.
    pending_time: Option<Option<String>>,
    /// The time of day of the previous reading.
    pub(super) previous_time: String,
    /// True if every interval of a file begins with a header, until a key is pressed.
    pub(super) header_always: bool,
    /// Warnings that were not printed yet.
    pub(super) notices: Vec<String>,
}

impl PtEngine {
    /// Returns an engine for a screen of `screen_rows` rows.
    pub(super) fn new(options: &Options, screen_rows: usize, time_zone: TimeZone) -> Self {
        let is_live = options.file.is_none();
        let mut engine = Self {
            settings: options.clone(),
            is_live,
            has_timestamps: options.show_timestamps,
            time_zone,
            table: Table::new(options.show_timestamps),
            pager: HeaderPager::new(options.group_headers, options.scroll_headers, screen_rows),
            ranks: DeviceRanks::default(),
            first: None,
            active: Vec::new(),
            totals: PerDiskTotals::default(),
            base: None,
            before_base: None,
            skip_next: false,
            pending_time: None,
            previous_time: String::new(),
            header_always: !is_live,
            notices: Vec::new(),
        };
        engine.apply_columns();
        engine
    }

    /// Takes the next sample and appends the lines to print. A sample without a time or without devices is skipped.
    pub(super) fn push(&mut self, sample: &Sample, out: &mut Vec<u8>) {
        if let Some(reading) = self.take_reading(sample) {
            self.push_reading(reading, out);
        }
    }

    /// Appends the lines that come after the last sample of a file.
    pub(super) fn finish(&mut self, out: &mut Vec<u8>) {
        if self.settings.group_by == GroupBy::Disk
            && self.totals.intervals > 0
            && let Some(last) = self.base.clone()
        {
            self.push_disk_rows(&last, out);
        }
    }

    /// Returns to the start of a file.
    pub(super) fn rewind(&mut self) {
        // Devices stay active.
        self.first = None;
        self.base = None;
        self.totals = PerDiskTotals::default();
        self.pending_time = None;
    }

    /// Selects the columns that match the pattern of the settings.
    pub(super) fn apply_columns(&mut self) {
        let columns = &self.settings.columns;
        self.table.select_columns(|name| columns.is_match(name));
    }

    fn take_reading(&mut self, sample: &Sample) -> Option<Reading> {
        let wall = sample.at.wall?;
        let written = self
            .pending_time
            .get_or_insert_with(|| sample.written_time.clone());
        let time_of_day = match written {
            _ if !self.has_timestamps => String::new(),
            Some(time) => time.clone(),
            None => rounded(wall)
                .to_zoned(self.time_zone.clone())
                .strftime("%H:%M:%S")
                .to_string(),
        };
        let devices = self.ranks.rank_devices(&sample.devices, self.base.as_ref());
        let seconds = epoch_seconds(wall);
        if devices.is_empty() || seconds == 0.0 {
            return None;
        }
        self.pending_time = None;
        Some(Reading {
            seconds,
            time_of_day,
            has_written_time: sample.written_time.is_some(),
            devices,
        })
    }

    fn push_reading(&mut self, reading: Reading, out: &mut Vec<u8>) {
        let Some(base) = self.base.take() else {
            self.totals.start(&reading);
            self.first.get_or_insert_with(|| reading.clone());
            self.widen_for(&reading);
            self.previous_time.clone_from(&reading.time_of_day);
            self.base = Some(reading);
            return;
        };
        if reading.seconds <= base.seconds {
            // The caller warns about the clock, because it has the line number.
            self.totals.start_segment(base.seconds, &reading);
            self.base = Some(reading);
            return;
        }
        self.widen_for(&reading);
        self.add_to_totals(&reading);
        let time_of_day = reading.time_of_day.clone();
        if self.is_live {
            self.before_base = Some(base.clone());
        }
        self.base = Some(if std::mem::take(&mut self.skip_next) {
            self.totals.intervals = 0;
            reading
        } else {
            self.push_interval(base, reading, out)
        });
        self.previous_time = time_of_day;
    }

    fn widen_for(&mut self, reading: &Reading) {
        for (rank, _) in &reading.devices {
            self.table.widen_for(self.ranks.name(*rank));
        }
    }

    fn add_to_totals(&mut self, reading: &Reading) {
        let is_by_disk = self.settings.group_by == GroupBy::Disk;
        if !self.is_live && !is_by_disk {
            // Switching to totals reads a file again.
            return;
        }
        let (ranks, notices) = (&self.ranks, &mut self.notices);
        self.totals.add(reading, |rank| {
            if is_by_disk {
                notices.push(reset_notice(ranks.name(rank)));
            }
        });
    }
}

/// Returns the full second in which pt-diskstats sees a time, because it reads it as a 53-bit number: the nanoseconds
/// just before a full second round up to it.
fn rounded(at: Timestamp) -> Timestamp {
    Timestamp::from_second(epoch_seconds(at) as i64).unwrap_or(at)
}

/// Returns the warning about a device whose counters went backwards.
pub(super) fn reset_notice(name: &str) -> String {
    format!("{name}: counters went backwards; reported as zero")
}

impl PtEngine {
    /// Appends the lines of the interval between two readings. Returns the reading that the next one is compared
    /// with.
    pub(super) fn push_interval(
        &mut self,
        base: Reading,
        reading: Reading,
        out: &mut Vec<u8>,
    ) -> Reading {
        match self.settings.group_by {
            GroupBy::All => self.push_device_rows(&base, &reading, out),
            GroupBy::Disk if self.is_live => self.push_disk_rows(&reading, out),
            GroupBy::Disk => {}
            GroupBy::Sample => {
                if !self.push_sample_row(&base, &reading, out) {
                    return base;
                }
            }
        }
        reading
    }

    /// `--group-by all`: a line for each device.
    fn push_device_rows(&mut self, base: &Reading, reading: &Reading, out: &mut Vec<u8>) {
        let elapsed = reading.seconds - base.seconds;
        let start = if self.is_live {
            base.seconds
        } else {
            self.totals.segment_start
        };
        let time = self.time_column(tenths(reading.seconds - start), reading);
        let mut rates = Vec::with_capacity(reading.devices.len());
        for (index, (rank, now)) in reading.devices.iter().enumerate() {
            let Some(before) = base.find(*rank, index) else {
                continue;
            };
            if self.is_shown(*rank, now) {
                rates.push((
                    *rank,
                    self.delta(*rank, before, now)
                        .rates(elapsed, 1, i128::from(now.in_flight)),
                ));
            }
        }
        if self.header_always {
            self.pager.is_header_forced = true;
        }
        self.push_block(GroupBy::All, &time, &rates, out);
    }

    /// `--group-by disk`: a line for each device, with its totals until now.
    pub(super) fn push_disk_rows(&mut self, latest: &Reading, out: &mut Vec<u8>) {
        let seconds = self.totals.seconds_at(latest);
        let time = self.time_column(format!("{{{}}}", self.totals.intervals), latest);
        let mut rates = Vec::with_capacity(latest.devices.len());
        for (rank, now) in &latest.devices {
            let Some(total) = self.totals.total(*rank) else {
                continue;
            };
            if self.is_shown(*rank, now) {
                rates.push((*rank, total.rates(seconds, 1, 0)));
            }
        }
        self.push_block(GroupBy::Disk, &time, &rates, out);
    }

    /// Appends a line for each device, by its rank.
    fn push_block(
        &mut self,
        group_by: GroupBy,
        time: &str,
        rates: &[(usize, PtRates)],
        out: &mut Vec<u8>,
    ) {
        let ranks = &self.ranks;
        let rows = rates.iter().map(|(rank, rates)| Row {
            time,
            device: ranks.name(*rank),
            rates,
        });
        self.pager.push_block(&self.table, group_by, rows, out);
    }

    /// `--group-by sample`: a line for all devices together, once the sample time has elapsed. Returns whether the next
    /// interval begins with this reading: false if the sample time has not elapsed, or if no device is in both
    /// readings.
    fn push_sample_row(&mut self, base: &Reading, reading: &Reading, out: &mut Vec<u8>) -> bool {
        let elapsed = reading.seconds - base.seconds;
        if elapsed.ceil() < self.settings.sample_time {
            return false;
        }
        let (mut sum, mut in_progress, mut devices, mut has_base) =
            (PtDelta::default(), 0_i128, 0, false);
        let mut shown = None;
        for (index, (rank, now)) in reading.devices.iter().enumerate() {
            if !self.is_shown(*rank, now) {
                continue;
            }
            devices += 1;
            shown.get_or_insert(*rank);
            if let Some(before) = base.find(*rank, index) {
                has_base = true;
                sum.add(&self.delta(*rank, before, now));
                in_progress += i128::from(now.in_flight);
            }
        }
        if !has_base {
            self.pager
                .push_block(&self.table, GroupBy::Sample, std::iter::empty(), out);
            return false;
        }
        let device = match devices {
            1 => {
                let rank = self.first_shown().or(shown);
                rank.map_or_else(String::new, |rank| self.ranks.name(rank).to_owned())
            }
            _ => format!("{{{devices}}}"),
        };
        // In a capture without times of day, the time is that of the first reading.
        let timed = self
            .first
            .as_ref()
            .filter(|_| !reading.has_written_time)
            .unwrap_or(reading);
        let time = self.time_column(tenths(reading.seconds - self.totals.segment_start), timed);
        let rates = sum
            .with_in_flight(in_progress)
            .rates(elapsed, devices, in_progress);
        let row = Row {
            time: &time,
            device: &device,
            rates: &rates,
        };
        self.pager
            .push_block(&self.table, GroupBy::Sample, std::iter::once(row), out);
        true
    }

    /// Changes the grouping of a live run: prints a header at once, and reproduces how pt-diskstats treats the next
    /// readings.
    pub(super) fn switch_group_by_live(&mut self, group_by: GroupBy, out: &mut Vec<u8>) {
        if self.settings.group_by == group_by {
            return;
        }
        self.settings.group_by = group_by;
        self.pager.was_header_last = false;
        self.pager.is_header_forced = true;
        self.pager
            .push_block(&self.table, group_by, std::iter::empty(), out);
        match group_by {
            GroupBy::All => {}
            GroupBy::Disk => {
                self.totals.intervals = 0;
                self.skip_next = true;
            }
            GroupBy::Sample => self.base = self.before_base.take().or(self.base.take()),
        }
    }

    /// Changes the grouping of a file. Returns whether the file must be shown again: if it was already grouped by
    /// sample, pt-diskstats continues at its end, where there are no more lines.
    pub(super) fn switch_group_by(&mut self, group_by: GroupBy) -> bool {
        let is_same = self.settings.group_by == group_by;
        let forces_header = match group_by {
            GroupBy::All => true,
            GroupBy::Disk => !is_same,
            GroupBy::Sample => !is_same || !self.header_always,
        };
        if forces_header {
            self.pager.is_header_forced = true;
        }
        if !is_same {
            self.pager.was_header_last = false;
            self.active.clear();
        }
        self.header_always = false;
        self.settings.group_by = group_by;
        !(is_same && group_by == GroupBy::Sample)
    }

    /// Returns whether a device with these counters is shown: if it matches the pattern, or, without one, was active. If
    /// they have changed, marks the device as active.
    fn is_shown(&mut self, rank: usize, now: &Counters) -> bool {
        if let Some(pattern) = &self.settings.devices {
            return pattern.is_match(self.ranks.name(rank));
        }
        if self.is_active(rank) {
            return true;
        }
        let first = self.first.as_ref().and_then(|first| first.find(rank, rank));
        let has_changed = first.is_some_and(|first| !first.basic_columns_equal(now));
        if has_changed {
            self.active.resize(self.ranks.names.len(), false);
            self.active[rank] = true;
        }
        has_changed || self.settings.show_inactive
    }

    /// Returns the rank of the first device, in the order of first appearance, that would be shown.
    fn first_shown(&self) -> Option<usize> {
        (0..self.ranks.names.len()).find(|rank| match &self.settings.devices {
            Some(pattern) => pattern.is_match(self.ranks.name(*rank)),
            None => self.settings.show_inactive || self.is_active(*rank),
        })
    }

    fn is_active(&self, rank: usize) -> bool {
        self.active.get(rank).is_some_and(|is_active| *is_active)
    }

    /// Returns the change of a device's counters; zeros, with a warning, if they went backwards.
    fn delta(&mut self, rank: usize, before: &Counters, now: &Counters) -> PtDelta {
        PtDelta::between(before, now).unwrap_or_else(|| {
            self.notices.push(reset_notice(self.ranks.name(rank)));
            PtDelta::default()
        })
    }

    /// Returns the text of the first column: the time of day if it is shown (in a live run, that of the previous
    /// reading), otherwise `otherwise`.
    fn time_column(&self, otherwise: String, reading: &Reading) -> String {
        match (self.has_timestamps, self.is_live) {
            (false, _) => otherwise,
            (true, false) => reading.time_of_day.clone(),
            (true, true) => self.previous_time.clone(),
        }
    }
}

fn tenths(seconds: f64) -> String {
    format!("{seconds:>5.1}")
}

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
        let at = self
            .devices
            .binary_search_by_key(&rank, |(rank, _)| *rank)
            .ok()?;
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

    /// Returns the ranks and counters of the devices of a sample, sorted by rank. The partitions of old kernels, which
    /// have four columns, are skipped. `previous` is the previous reading, whose devices are nearly always the same.
    pub(super) fn rank_devices(
        &mut self,
        devices: &[Device],
        previous: Option<&Reading>,
    ) -> Vec<(usize, Counters)> {
        let mut ranked: Vec<(usize, Counters)> = Vec::with_capacity(devices.len());
        for device in devices
            .iter()
            .filter(|device| !device.counters.is_old_partition())
        {
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
pub(super) fn epoch_seconds(at: Timestamp) -> f64 {
    epoch_text(at).parse().unwrap_or(at.as_second() as f64)
}

/// Totals over the intervals so far. Only devices of the first reading have one.
#[derive(Default)]
pub(super) struct PerDiskTotals {
    pub(super) intervals: usize,
    /// Seconds of the segments that have ended.
    ended_segments_s: f64,
    /// The time at which the current segment began, in seconds since the epoch.
    segment_start: f64,
    /// By rank: the total of a device and its latest counters.
    devices: Vec<Option<(PtDelta, Counters)>>,
}

impl PerDiskTotals {
    pub(super) fn start(&mut self, reading: &Reading) {
        let len = reading.devices.last().map_or(0, |(rank, _)| rank + 1);
        self.segment_start = reading.seconds;
        self.devices = vec![None; len];
        for (rank, counters) in &reading.devices {
            self.devices[*rank] = Some((PtDelta::default(), *counters));
        }
    }

    /// Ends the current segment at `end` and starts the next one with a reading: no interval spans the two.
    pub(super) fn start_segment(&mut self, end: f64, reading: &Reading) {
        self.ended_segments_s += end - self.segment_start;
        self.segment_start = reading.seconds;
        for (rank, counters) in &reading.devices {
            if let Some((_, latest)) = self.device(*rank) {
                *latest = *counters;
            }
        }
    }

    /// Adds the interval that ends with this reading. A device whose counters went backwards adds nothing; its rank is
    /// passed to `on_reset`.
    pub(super) fn add(&mut self, reading: &Reading, mut on_reset: impl FnMut(usize)) {
        self.intervals += 1;
        for (rank, now) in &reading.devices {
            let Some((total, latest)) = self.device(*rank) else {
                continue;
            };
            match PtDelta::between(latest, now) {
                Some(delta) => total.add(&delta),
                None => on_reset(*rank),
            }
            *latest = *now;
        }
    }

    /// Returns the total of the device with this rank; `None` if the first reading does not have it.
    pub(super) fn total(&self, rank: usize) -> Option<PtDelta> {
        self.devices.get(rank)?.as_ref().map(|(total, _)| *total)
    }

    /// Returns the seconds that the totals cover at the time of this reading.
    pub(super) fn seconds_at(&self, reading: &Reading) -> f64 {
        self.ended_segments_s + (reading.seconds - self.segment_start)
    }

    fn device(&mut self, rank: usize) -> Option<&mut (PtDelta, Counters)> {
        self.devices.get_mut(rank)?.as_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::{Counters, Device, Requests};
    use crate::pt_diskstats::options::parse_pattern;
    use crate::time_range::TimeRange;
    use crate::units::SampleTime;

    fn engine(group_by: GroupBy) -> PtEngine {
        let options = Options {
            columns: parse_pattern("rd_s$").unwrap(),
            devices: None,
            group_by,
            group_headers: false,
            scroll_headers: false,
            interval: 1,
            iterations: None,
            sample_time: 1.0,
            save_samples: None,
            show_inactive: false,
            show_timestamps: false,
            is_from: false,
            range: TimeRange::default(),
            every: None,
            resample: None,
            count: None,
            file: Some("capture".into()),
            root: "/".into(),
        };
        PtEngine::new(&options, 24, TimeZone::UTC)
    }

    fn sample(second: i64, reads: u64) -> Sample {
        let counters = Counters {
            reads: Requests {
                ios: reads,
                ..Requests::default()
            },
            ..Counters::ZERO
        };
        let wall = jiff::Timestamp::from_second(second).ok();
        Sample {
            at: SampleTime {
                wall,
                ..SampleTime::default()
            },
            devices: vec![Device {
                name: "sda".into(),
                counters,
                ..Device::default()
            }],
            ..Sample::default()
        }
    }

    /// Returns the lines without headers for the seconds and reads of samples, and the warnings.
    fn lines(group_by: GroupBy, samples: &[(i64, u64)]) -> (Vec<String>, Vec<String>) {
        let (mut engine, mut out) = (engine(group_by), Vec::new());
        samples
            .iter()
            .for_each(|(second, reads)| engine.push(&sample(*second, *reads), &mut out));
        engine.finish(&mut out);
        let text = String::from_utf8(out).unwrap();
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        (
            text.lines()
                .map(words)
                .filter(|line| !line.starts_with('#'))
                .collect(),
            std::mem::take(&mut engine.notices),
        )
    }

    #[test]
    fn each_interval_is_divided_by_its_own_length() {
        let (lines, _) = lines(GroupBy::All, &[(100, 0), (101, 10), (103, 50)]);
        assert_eq!(lines, ["1.0 sda 10.0", "3.0 sda 20.0"]);
    }

    #[test]
    fn no_interval_spans_a_clock_that_went_back_but_totals_go_on() {
        let samples = [(100, 0), (101, 10), (50, 1000), (52, 1030)];
        assert_eq!(
            lines(GroupBy::All, &samples).0,
            ["1.0 sda 10.0", "2.0 sda 15.0"]
        );
        // 40 reads in 3 seconds.
        assert_eq!(lines(GroupBy::Disk, &samples).0, ["{2} sda 13.3"]);
    }

    #[test]
    fn counters_that_went_backwards_are_reported_as_zero_with_a_warning() {
        let (lines, notices) = lines(GroupBy::All, &[(100, 5), (101, 3), (102, 7)]);
        assert_eq!(lines, ["1.0 sda 0.0", "2.0 sda 4.0"]);
        assert_eq!(notices, ["sda: counters went backwards; reported as zero"]);
    }

    #[test]
    fn the_time_of_day_is_that_of_the_rounded_time() {
        let engine = || PtEngine {
            has_timestamps: true,
            ..engine(GroupBy::All)
        };
        let time_of_day = |nanoseconds: i32| {
            let wall = Timestamp::new(1_700_000_000, nanoseconds).ok();
            let at = SampleTime {
                wall,
                ..SampleTime::default()
            };
            engine()
                .take_reading(&Sample { at, ..sample(1, 1) })
                .unwrap()
                .time_of_day
        };
        assert_eq!(
            [0, 999_999_000, 999_999_999].map(time_of_day),
            ["22:13:20", "22:13:20", "22:13:21"]
        );
    }

    #[test]
    fn grouping_by_sample_waits_for_the_sample_time() {
        let mut engine = engine(GroupBy::Sample);
        engine.settings.sample_time = 2.0;
        let mut out = Vec::new();
        for (second, base) in [(100, 100.0), (101, 100.0), (102, 102.0)] {
            engine.push(&sample(second, 10 * second.unsigned_abs()), &mut out);
            assert_eq!(engine.base.as_ref().map(|base| base.seconds), Some(base));
        }
        assert!(
            String::from_utf8(out)
                .unwrap()
                .contains("  2.0 sda       10.0")
        );
    }
}
