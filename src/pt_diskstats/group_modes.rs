//! The three ways to group readings into lines, and switching between them.

use super::engine::{PtEngine, reset_notice};
use super::options::GroupBy;
use super::rates::{PtDelta, PtRates};
use super::reading::Reading;
use super::text::Row;
use crate::counters::Counters;

impl PtEngine {
    /// Appends the lines of the interval between two readings. Returns the reading that the next one is compared
    /// with.
    pub(super) fn push_interval(&mut self, base: Reading, reading: Reading, out: &mut Vec<u8>) -> Reading {
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
        let start = if self.is_live { base.seconds } else { self.totals.segment_start() };
        let time = self.time_column(tenths(reading.seconds - start), reading);
        let mut rates = Vec::with_capacity(reading.devices.len());
        for (index, (rank, now)) in reading.devices.iter().enumerate() {
            let Some(before) = base.find(*rank, index) else { continue };
            if self.is_shown(*rank, now) {
                rates.push((
                    *rank,
                    self.delta(*rank, before, now).rates(elapsed, 1, i128::from(now.in_flight)),
                ));
            }
        }
        if self.header_always {
            self.pager.force_header();
        }
        self.push_block(GroupBy::All, &time, &rates, out);
    }

    /// `--group-by disk`: a line for each device, with its totals until now.
    pub(super) fn push_disk_rows(&mut self, latest: &Reading, out: &mut Vec<u8>) {
        let seconds = self.totals.seconds_at(latest);
        let time = self.time_column(format!("{{{}}}", self.totals.intervals), latest);
        let mut rates = Vec::with_capacity(latest.devices.len());
        for (rank, now) in &latest.devices {
            let Some(total) = self.totals.total(*rank) else { continue };
            if self.is_shown(*rank, now) {
                rates.push((*rank, total.rates(seconds, 1, 0)));
            }
        }
        self.push_block(GroupBy::Disk, &time, &rates, out);
    }

    /// Appends a line for each device, by its rank.
    fn push_block(&mut self, group_by: GroupBy, time: &str, rates: &[(usize, PtRates)], out: &mut Vec<u8>) {
        let ranks = &self.ranks;
        let rows = rates.iter().map(|(rank, rates)| Row { time, device: ranks.name(*rank), rates });
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
        let (mut sum, mut in_progress, mut devices, mut has_base) = (PtDelta::default(), 0_i128, 0, false);
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
            self.pager.push_block(&self.table, GroupBy::Sample, std::iter::empty(), out);
            return false;
        }
        let device = match devices {
            1 => {
                let rank = self.filter.first_shown(&self.settings, &self.ranks).or(shown);
                rank.map_or_else(String::new, |rank| self.ranks.name(rank).to_owned())
            }
            _ => format!("{{{devices}}}"),
        };
        // In a capture without times of day, the time is that of the first reading.
        let timed = self.filter.first.as_ref().filter(|_| !reading.has_written_time).unwrap_or(reading);
        let time = self.time_column(tenths(reading.seconds - self.totals.segment_start()), timed);
        let rates = sum.with_in_flight(in_progress).rates(elapsed, devices, in_progress);
        let row = Row { time: &time, device: &device, rates: &rates };
        self.pager.push_block(&self.table, GroupBy::Sample, std::iter::once(row), out);
        true
    }

    /// Changes the grouping of a live run: prints a header at once, and reproduces how pt-diskstats treats the next
    /// readings.
    pub(super) fn switch_group_by_live(&mut self, group_by: GroupBy, out: &mut Vec<u8>) {
        if self.settings.group_by == group_by {
            return;
        }
        self.settings.group_by = group_by;
        self.pager.forget_header();
        self.pager.force_header();
        self.pager.push_block(&self.table, group_by, std::iter::empty(), out);
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
            self.pager.force_header();
        }
        if !is_same {
            self.pager.forget_header();
            self.filter.clear();
        }
        self.header_always = false;
        self.settings.group_by = group_by;
        !(is_same && group_by == GroupBy::Sample)
    }

    fn is_shown(&mut self, rank: usize, now: &Counters) -> bool {
        self.filter.is_shown(rank, now, &self.settings, &self.ranks)
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
