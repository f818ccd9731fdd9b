//! Logs of other programs, which hold rates instead of counters. A sample of a log has the rates of the time before it, as
//! they were printed; what a log lacks is `None`, not zero.
//!
//! A log is recognized by its content. How long its intervals are is decided once, before its first report is handed out, by
//! [`LogScan`]. To add a format, implement `LogFormat` in a file of its own and name it in `format_of`.

mod contents;
mod iostat;
mod json;
mod length;
mod report;
mod sadf;
mod sar;
mod scan;
mod text;
mod timed_rows;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

pub use self::contents::LogFacts;
use self::report::Report;
pub(super) use self::scan::LogScan;
pub(super) use self::text::LogText;
use super::MAX_DEVICES_PER_SAMPLE;
use super::annotation::RecordingHeader;
use crate::counters::{Counters, Device, LoggedInterval, LoggedRates, Sample};
use crate::units::SampleTime;

/// Makes samples of the reports in a log of any kind.
pub(super) struct Logs {
    text: LogText,
    /// The stated length of its intervals.
    every: Option<Duration>,
    /// The devices so far: a report may leave out idle ones.
    devices: Vec<Device>,
    indexes: HashMap<String, usize>,
    latest: Option<Timestamp>,
    /// The next report has no report before it.
    pub(super) begins: bool,
    lacks_times: bool,
    has_note: bool,
}

/// The length of intervals that is assumed if nothing shows it: most logs have it.
const DEFAULT_LENGTH: Duration = Duration::from_secs(1);

impl Logs {
    /// Begins with the text of a log, of which this is known before its first line is read.
    pub(super) fn new(mut text: LogText, facts: LogFacts, every: Option<Duration>) -> Self {
        text.contents.facts = facts;
        Self {
            text,
            every,
            devices: Vec::new(),
            indexes: HashMap::new(),
            latest: None,
            begins: true,
            lacks_times: false,
            has_note: false,
        }
    }

    /// Takes a line, which a newline ended. Returns what is wrong with it.
    pub(super) fn read(&mut self, line: &[u8]) -> Vec<String> {
        let outcome = self.text.read(line);
        self.begins |= outcome.is_err() || std::mem::take(&mut self.text.is_other);
        let mut wrong = Vec::from_iter(outcome.err());
        wrong.append(&mut self.text.contents.warnings);
        wrong
    }

    /// Takes the end of the log. Returns whether it completes a report.
    pub(super) fn finish(&mut self) -> bool {
        self.text.finish();
        !self.text.contents.reports.is_empty()
    }

    /// Makes a sample of the next report; returns whether no interval ends there. `None` without a complete report.
    pub(super) fn next(&mut self, sample: &mut Sample) -> Option<bool> {
        let mut report = self.text.contents.reports.pop_front()?;
        while self.lists_nothing() && report.devices.is_empty() {
            report = self.text.contents.reports.pop_front()?;
        }
        let facts = &self.text.contents.facts;
        let is_single = report.begins && !report.is_cut && facts.has_single_intervals;
        if std::mem::take(&mut report.has_length) || is_single {
            let is_guess = is_single || report.at.or(report.midnight).is_none();
            self.lacks_times |= is_guess;
            let length = match self.length() {
                None if is_guess => Some(DEFAULT_LENGTH),
                length => length,
            };
            if let Some(length) = length {
                let begin = match report.at {
                    Some(at) => at.checked_sub(signed(length)).ok(),
                    None => report.midnight.take(),
                };
                self.begin_at(begin, &report, sample);
                report.begins = false;
                self.text.contents.reports.push_front(report);
                return Some(true);
            }
        }
        let begins = report.begins | std::mem::take(&mut self.begins);
        self.lacks_times |= report.midnight.is_some();
        let at = self.time_of(report.at.or(report.midnight));
        let lists_all = self.text.contents.facts.lists_idle && !report.has_lost_lines;
        let is_listed = self.take_rates(report);
        sample.devices.clone_from(&self.devices);
        if lists_all {
            let mut is_listed = is_listed.into_iter();
            sample.devices.retain(|_| is_listed.next() == Some(true));
        }
        sample.at = at;
        Some(begins)
    }

    /// Takes the rates of a report. Returns which of the devices so far it lists.
    fn take_rates(&mut self, report: Report) -> Vec<bool> {
        for device in &mut self.devices {
            if let Some(logged) = &mut device.logged {
                **logged = if report.has_lost_lines {
                    LoggedInterval::default()
                } else {
                    logged.idle()
                };
            }
        }
        let mut is_listed = vec![false; self.devices.len()];
        for logged in report.devices {
            let mut index = self.devices.len();
            if let Some(known) = self.indexes.get(&logged.name) {
                index = *known;
            } else if index == MAX_DEVICES_PER_SAMPLE {
                continue;
            } else {
                self.indexes.insert(logged.name.clone(), index);
                self.devices.push(Device {
                    major: 0,
                    minor: u32::try_from(index).unwrap_or(u32::MAX),
                    name: logged.name,
                    counters: Counters::ZERO,
                    logged: None,
                });
                is_listed.push(false);
            }
            is_listed[index] = true;
            self.devices[index].logged = Some(Box::new(logged.rates));
        }
        is_listed
    }

    /// Returns whether no report so far had a device.
    pub(super) fn lists_nothing(&self) -> bool {
        self.devices.is_empty()
    }

    /// Makes a sample of the beginning of a report.
    fn begin_at(&mut self, begin: Option<Timestamp>, report: &Report, sample: &mut Sample) {
        self.begins = false;
        sample.at = self.time_of(begin);
        sample.devices.clear();
        for device in &report.devices {
            sample.devices.push(Device {
                name: device.name.clone(),
                ..Device::default()
            });
        }
    }

    /// Returns the time of the next report, which is that in the log if it has one.
    fn time_of(&mut self, written: Option<Timestamp>) -> SampleTime {
        self.lacks_times |= written.is_none();
        let length = signed(self.length().unwrap_or(DEFAULT_LENGTH));
        let next = |latest: Timestamp| latest.saturating_add(length).unwrap_or(latest);
        let at = match (written, self.latest) {
            // Times are whole seconds, and two reports may be in the same.
            (Some(at), Some(latest)) if at == latest => next(latest),
            (Some(at), _) => at,
            (None, Some(latest)) => next(latest),
            (None, None) => Timestamp::UNIX_EPOCH,
        };
        self.latest = Some(at);
        SampleTime {
            wall: Some(at),
            ..SampleTime::default()
        }
    }

    /// Returns what the log says of its host, as the header of a recording.
    pub(super) fn header(&self) -> Arc<RecordingHeader> {
        Arc::new(self.text.contents.host.clone())
    }

    /// The length of an interval of reports without times, as far as it is known.
    fn length(&self) -> Option<Duration> {
        self.every.or(self.text.contents.facts.length)
    }

    /// Says once, after the first interval, what the log is and what it lacks.
    pub(super) fn take_note(&mut self) -> Option<String> {
        if self.devices.is_empty() || std::mem::replace(&mut self.has_note, true) {
            return None;
        }
        let (_, origin) = self.text.format.as_ref()?;
        let (rounding, clock) = (&self.text.contents.rounding, &self.text.contents.clock);
        let lacking = self.lacking().join(", ");
        let mut note = format!("from {origin}: {rounding}{clock}; not known: {lacking}");
        if self.lacks_times {
            let seconds = self.length().unwrap_or(DEFAULT_LENGTH).as_secs_f64();
            let are = match (self.every, self.length()) {
                (Some(_), _) => "are, as stated,",
                (None, Some(_)) => "are, as their numbers show,",
                (None, None) => "are taken to be",
            };
            note += &format!("; its reports have no times and {are} {seconds} s apart");
            if self.length().is_none() {
                note += " (--every 2s states another distance)";
            }
        }
        Some(note)
    }

    /// Returns what no device of the log has.
    fn lacking(&self) -> Vec<&'static str> {
        let mut lacking = vec!["requests in flight"];
        for (name, of) in SPLIT {
            if !self.has_any(|logged| of(&logged.reads).and(of(&logged.writes)).is_some()) {
                lacking.push(name);
            }
        }
        if !self.has_any(|logged| logged.util_pct.is_some()) {
            lacking.push("util");
        }
        if !self.has_any(|logged| logged.queue.is_some()) {
            lacking.push("the queue");
        }
        lacking
    }

    fn has_any(&self, has: impl Fn(&LoggedInterval) -> bool) -> bool {
        let mut logged = self
            .devices
            .iter()
            .filter_map(|device| device.logged.as_ref());
        logged.any(|logged| has(logged))
    }
}

/// A value of reads or of writes.
type Rate = fn(&LoggedRates) -> Option<f64>;

/// Values that a log may not give for reads and writes separately.
const SPLIT: [(&str, Rate); 4] = [
    ("reads and writes apart", |rates| rates.ios),
    ("bytes read and written apart", |rates| rates.sectors),
    ("the latency of reads and of writes", |rates| rates.await_ms),
    ("merges", |rates| rates.merges),
];

fn signed(length: Duration) -> SignedDuration {
    SignedDuration::try_from(length).unwrap_or_default()
}
