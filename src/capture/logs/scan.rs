//! Looks at a log before it is read: how long its intervals are, and what its reports are.

use jiff::Timestamp;

use super::contents::LogFacts;
use super::length::Lengths;
use super::report::{LoggedDevice, Report};
use super::text::LogText;

/// Looks at a log before it is read.
pub(crate) struct LogScan {
    text: LogText,
    lengths: Lengths,
    /// The same of the first reports of runs, if each run has one.
    single_lengths: Lengths,
    /// The time of the report before.
    latest: Option<Timestamp>,
    runs: u64,
    reports: u64,
    has_times: bool,
    lists_idle: bool,
    /// The devices of the report before, and how many reports had others, or the same.
    names: Vec<String>,
    other_names: u64,
    same_names: u64,
    /// The rates of the report of the run before, and how many were about the same in the next run, or not.
    single: Vec<f64>,
    same_rates: u64,
    other_rates: u64,
}

/// The reports of a stream that are looked at before the first is shown.
const REPORTS_OF_STREAM: u64 = 20;

impl LogScan {
    pub(crate) fn new(text: LogText) -> Self {
        Self {
            text,
            lengths: Lengths::default(),
            single_lengths: Lengths::default(),
            latest: None,
            runs: 0,
            reports: 0,
            has_times: false,
            lists_idle: false,
            names: Vec::new(),
            other_names: 0,
            same_names: 0,
            single: Vec::new(),
            same_rates: 0,
            other_rates: 0,
        }
    }

    /// Takes the next line. Returns whether a stream has shown enough.
    pub(crate) fn read(&mut self, line: &[u8]) -> bool {
        // The warning comes when the line is read.
        let _ = self.text.read(line);
        self.text.contents.warnings.clear();
        self.take_reports();
        self.has_times || self.lengths.is_sure() || self.reports >= REPORTS_OF_STREAM
    }

    fn take_reports(&mut self) {
        while let Some(report) = self.text.contents.reports.pop_front() {
            self.reports += 1;
            self.has_times |= report.at.is_some() && self.reports > 1;
            self.runs += u64::from(report.begins && !report.has_length);
            self.lists_idle |= report.devices.iter().any(LoggedDevice::is_idle);
            self.compare_names(&report);
            let latest = std::mem::replace(&mut self.latest, report.at);
            let digits = self.text.contents.rounding.digits;
            if report.begins && !report.has_length {
                self.single_lengths.observe(&report, digits);
                self.compare_rates(&report);
                continue;
            }
            self.lengths.observe(&report, digits);
            if !report.begins
                && let (Some(at), Some(latest)) = (report.at, latest)
            {
                self.lengths.observe_step(at.duration_since(latest));
            }
        }
    }

    fn compare_names(&mut self, report: &Report) {
        let devices = &report.devices;
        let names: Vec<String> = devices.iter().map(|device| device.name.clone()).collect();
        if self.reports > 1 {
            let is_same = names == self.names;
            self.same_names += u64::from(is_same);
            self.other_names += u64::from(!is_same);
        }
        self.names = names;
    }

    fn compare_rates(&mut self, report: &Report) {
        let rates = report.devices.iter().flat_map(LoggedDevice::ios).collect();
        let before = std::mem::replace(&mut self.single, rates);
        for (before, now) in before.iter().zip(&self.single) {
            let is_other = (before - now).abs() > 0.1 * before.max(*now);
            self.same_rates += u64::from(!is_other);
            self.other_rates += u64::from(is_other);
        }
    }

    pub(crate) fn finish(mut self) -> LogFacts {
        self.text.finish();
        self.take_reports();
        let has_single_intervals =
            self.runs > 1 && self.runs == self.reports && self.other_rates >= self.same_rates;
        let lengths = if has_single_intervals {
            &self.single_lengths
        } else {
            &self.lengths
        };
        LogFacts {
            length: lengths.decide(),
            has_one_head: self.text.heads == 1,
            has_single_intervals,
            lists_idle: self.lists_idle
                || self.other_names <= 2
                || self.same_names > self.other_names,
        }
    }
}
