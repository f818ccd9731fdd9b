//! Logs of other programs, which hold rates instead of counters. A sample of a log has the rates of the time before it, as
//! they were printed; what a log lacks is `None`, not zero.
//!
//! A log is recognized by its content. How long its intervals are is decided once, before its first report is handed out, by
//! [`LogScan`]. To add a format, implement [`LogFormat`] in a file of its own and name it in
//! [`format_of`].

mod iostat;
mod json;
mod length;
mod sar;

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use self::length::Lengths;
use super::MAX_DEVICES_PER_SAMPLE;
use super::annotation::RecordingHeader;
use super::diskstats_line::excerpt;
use super::normal::clock::Clock;
use super::normal::first_lines::{Printed, TableHead, head_line, log_start, number};
use super::normal::time_form::find_time;
use crate::counters::{Counters, Device, LoggedInterval, Sample};
use crate::units::SampleTime;

/// A kind of log.
pub(super) trait LogFormat: Send {
    /// Takes the next line, and adds what it tells.
    ///
    /// # Errors
    /// If the line is damaged; says how.
    fn read(&mut self, line: &str, contents: &mut LogContents) -> Result<(), String>;

    /// Adds the last report at the end of the log, if it is complete.
    fn finish(&mut self, contents: &mut LogContents);
}

/// A reader for a kind of log, and where its numbers come from.
type KnownFormat = (Box<dyn LogFormat>, &'static str);

/// Returns a reader for the kind of log that a line shows: the head of a table of devices, or a device in JSON.
fn format_of(line: &str) -> Option<KnownFormat> {
    let words: Vec<&str> = line.split_whitespace().collect();
    if TableHead::of_iostat(&words).is_some() || line.contains("\"disk_device\"") {
        Some((Box::<iostat::IostatLog>::default(), "an iostat log"))
    } else if sar::head(&words).is_some() {
        Some((Box::<sar::SarLog>::default(), "a log of sar -d"))
    } else if sar::columns_of_sadf(line).is_some_and(|columns| columns[0] == sar::DEVICE)
        || line.contains("\"disk-device\"")
    {
        Some((Box::<sar::SadfLog>::default(), "the data of sar -d"))
    } else {
        None
    }
}

/// The contents of a log that have been read so far.
#[derive(Default)]
pub(super) struct LogContents {
    /// The complete reports that were not taken yet.
    pub(super) reports: VecDeque<Report>,
    /// The host named in the first lines.
    pub(super) host: RecordingHeader,
    pub(super) rounding: Rounding,
    /// What is wrong with single values; the rest of their lines is read.
    pub(super) warnings: Vec<String>,
    facts: LogFacts,
    clock: Clock,
    /// The prefix of the line, which a collector of logs added. It may contain a time.
    pub(super) prefix: String,
}

impl LogContents {
    /// Returns whether a device is in the report so far, with a warning about its second line.
    fn is_repeated(&mut self, devices: &[LoggedDevice], name: &str) -> bool {
        let is_repeated = devices.iter().any(|device| device.name == name);
        if is_repeated {
            self.warn_of_repeated(name);
        }
        is_repeated
    }

    fn warn_of_repeated(&mut self, name: &str) {
        let name = excerpt(name.as_bytes());
        self.warnings
            .push(format!("{name} is in the same report twice; skipped"));
    }
}

/// The rates of the devices over the time since the report before.
#[derive(Debug, Default)]
pub(super) struct Report {
    /// The time at its end; `None` if the log has no times.
    pub(super) at: Option<Timestamp>,
    /// The midnight at which the first report of a log with a date, but without times, is taken to be.
    pub(super) midnight: Option<Timestamp>,
    /// No interval ends here: its rates are averages since boot, or reports before it are missing.
    pub(super) begins: bool,
    /// It is the first of a run, but its rates are those of an interval, whose beginning follows from its length.
    pub(super) has_length: bool,
    /// Its end is missing: no interval ends here.
    pub(super) is_cut: bool,
    /// Lines of devices that it does not name were damaged.
    pub(super) has_lost_lines: bool,
    pub(super) devices: Vec<LoggedDevice>,
}

/// A device in a report.
#[derive(Debug, Default, Clone)]
pub(super) struct LoggedDevice {
    pub(super) name: String,
    pub(super) rates: LoggedInterval,
    /// The amounts of data in the report and per second, in the same unit.
    pub(super) amount: [f64; 2],
}

/// Returns the host in the JSON of `iostat` and `sadf`.
fn host_of_json(host: &serde_json::Value) -> RecordingHeader {
    let text = |name: &str| host[name].as_str().map(str::to_owned);
    let cpus = host["number-of-cpus"]
        .as_u64()
        .and_then(|cpus| usize::try_from(cpus).ok());
    RecordingHeader {
        host: text("nodename"),
        kernel: text("release"),
        cpus,
        ..RecordingHeader::default()
    }
}

impl LoggedDevice {
    fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            ..Self::default()
        }
    }

    /// Returns the rates of requests of each kind, as far as they are known.
    fn ios(&self) -> impl Iterator<Item = f64> {
        self.rates.kinds().into_iter().filter_map(|rates| rates.ios)
    }

    /// Returns whether it is listed with nothing to do.
    fn is_idle(&self) -> bool {
        let is_zero = |value: Option<f64>| value.unwrap_or(0.0) == 0.0;
        let is_known = self.ios().next().is_some();
        is_known
            && self.ios().all(|per_s| per_s == 0.0)
            && is_zero(self.rates.queue)
            && is_zero(self.rates.util_pct)
    }

    /// Sets the value in a column of sysstat's tables: of `iostat`, `sar -d` and their JSON, of all versions. Others are
    /// ignored: they follow from these.
    pub(super) fn set(&mut self, column: &str, value: f64) {
        let is_of = |letter: char, end: &str| {
            column.starts_with(letter) && column != "rqm/s"
                || column.trim_end_matches("/s").ends_with(end)
        };
        let rates = if is_of('r', "_read") {
            &mut self.rates.reads
        } else if is_of('w', "_wrtn") {
            &mut self.rates.writes
        } else if is_of('d', "_dscd") {
            &mut self.rates.discards
        } else if column.starts_with('f') {
            &mut self.rates.flushes
        } else {
            &mut self.rates.unsplit
        };
        if ["_read", "_wrtn", "_dscd"]
            .iter()
            .any(|end| column.trim_end_matches("/s").ends_with(end))
        {
            self.amount[usize::from(column.ends_with("/s"))] += value;
        }
        match column {
            "tps" | "r/s" | "w/s" | "d/s" | "f/s" => rates.ios = Some(value),
            _ if column.ends_with("rqm/s") => rates.merges = Some(value),
            _ if column.ends_with("await") => rates.await_ms = Some(value),
            _ if column.ends_with("/s") => {
                let sectors = [("kB", 2.0), ("MB", 2048.0), ("sec", 1.0), ("Blk", 1.0)];
                let unit = sectors.into_iter().find(|(unit, _)| column.contains(unit));
                rates.sectors = unit.map(|(_, sectors)| value * sectors).or(rates.sectors);
            }
            "aqu-sz" | "avgqu-sz" => self.rates.queue = Some(value),
            "%util" | "util" => self.rates.util_pct = Some(value),
            _ => {}
        }
    }

    /// Sets the value in a column from its text. What is no possible value is not known, with a warning.
    fn set_text(&mut self, column: &str, text: &str, contents: &mut LogContents) {
        let Some(Printed {
            value,
            digits,
            unit_kib,
        }) = number(text).filter(|printed| is_possible(column, printed.value))
        else {
            if is_read(column) {
                let [text, column, name] =
                    [text, column, &self.name].map(|text| excerpt(text.as_bytes()));
                contents.warnings.push(format!(
                    "'{text}' in column {column} of {name} is no possible value; it is not known"
                ));
            }
            return;
        };
        // More come from JSON, whose numbers are binary fractions.
        let rounding = &mut contents.rounding;
        rounding.digits = rounding.digits.max(digits.min(2));
        rounding.has_units |= unit_kib.is_some();
        match unit_kib {
            None => self.set(column, value),
            // A letter is the unit, whatever the header says.
            Some(kib) => {
                let units = ["MB", "Blk", "sec"];
                self.set(
                    &units
                        .iter()
                        .fold(column.to_owned(), |name, unit| name.replace(unit, "kB")),
                    value * kib,
                );
            }
        }
    }
}

/// Returns whether a column holds a value that is read. Others follow from these, or were removed from the tools because they
/// were wrong.
fn is_read(column: &str) -> bool {
    column.ends_with("/s")
        || column.ends_with("await")
        || matches!(column, "tps" | "aqu-sz" | "avgqu-sz" | "%util" | "util")
}

/// Returns whether a device can have such a value. Those of counters that went backwards are far larger.
fn is_possible(column: &str, value: f64) -> bool {
    /// More requests at a time than any device holds, and more percent than the members of a group have together.
    const MAX_COUNT: f64 = 1e6;
    /// Milliseconds: more than a day.
    const MAX_LATENCY_MS: f64 = 1e8;
    value
        < match column {
            "aqu-sz" | "avgqu-sz" | "%util" | "util" => MAX_COUNT,
            _ if column.ends_with("await") => MAX_LATENCY_MS,
            _ => 1e9,
        }
}

/// How the numbers of a log are rounded.
#[derive(Debug, Default)]
pub(super) struct Rounding {
    /// The most digits after the point.
    digits: usize,
    /// Numbers of bytes have a letter for their unit, as with `iostat -h`.
    has_units: bool,
}

impl fmt::Display for Rounding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("rates rounded to ")?;
        match self.digits {
            0 => write!(f, "1")?,
            digits => write!(f, "0.{:0>digits$}", 1)?,
        }
        if self.has_units {
            write!(f, ", bytes to 0.1 of the printed unit")
        } else {
            Ok(())
        }
    }
}

/// What the whole log shows, or the beginning of a stream, before its first report is handed out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LogFacts {
    /// The length of its intervals; `None` if nothing shows it.
    length: Option<Duration>,
    /// It has one head of a table: the same device again begins a report.
    has_one_head: bool,
    /// Each run has a single report, and these differ too much to be averages since boot.
    has_single_intervals: bool,
    /// It lists devices that do nothing, so that one that is not listed was removed, or its line was lost.
    lists_idle: bool,
}

/// Looks at a log before it is read.
pub(crate) struct LogScan {
    logs: Logs,
    lengths: Lengths,
    /// The same of the first reports of runs, if each run has one.
    single_lengths: Lengths,
    /// The time of the report before.
    latest: Option<Timestamp>,
    /// The heads of tables so far.
    heads: u64,
    runs: u64,
    reports: u64,
    has_times: bool,
    lists_idle: bool,
    /// The devices of the report before, and how many reports had others, or the same.
    names: Vec<String>,
    same_names: [u64; 2],
    /// The rates of the report of the run before, and how many were about the same in the next run, or not.
    single: Vec<f64>,
    changes: [u64; 2],
}

/// The reports of a stream that are looked at before the first is shown.
const REPORTS_OF_STREAM: u64 = 20;

impl LogScan {
    pub(super) fn new(logs: Logs) -> Self {
        Self {
            logs,
            lengths: Lengths::default(),
            single_lengths: Lengths::default(),
            latest: None,
            heads: 0,
            runs: 0,
            reports: 0,
            has_times: false,
            lists_idle: false,
            names: Vec::new(),
            same_names: [0; 2],
            single: Vec::new(),
            changes: [0; 2],
        }
    }

    /// Takes the next line. Returns whether a stream has shown enough.
    pub(super) fn read(&mut self, line: &[u8]) -> bool {
        if let Ok(text) = std::str::from_utf8(line) {
            self.heads += u64::from(self.logs.is_head(text));
        }
        let _ = self.logs.read(line);
        self.logs.contents.warnings.clear();
        self.take_reports();
        self.has_times || self.lengths.is_sure() || self.reports >= REPORTS_OF_STREAM
    }

    fn take_reports(&mut self) {
        while let Some(report) = self.logs.contents.reports.pop_front() {
            self.reports += 1;
            self.has_times |= report.at.is_some() && self.reports > 1;
            self.runs += u64::from(report.begins && !report.has_length);
            self.lists_idle |= report.devices.iter().any(LoggedDevice::is_idle);
            let names: Vec<String> = report
                .devices
                .iter()
                .map(|device| device.name.clone())
                .collect();
            if self.reports > 1 {
                self.same_names[usize::from(names == self.names)] += 1;
            }
            self.names = names;
            let digits = self.logs.contents.rounding.digits;
            let latest = std::mem::replace(&mut self.latest, report.at);
            if !report.begins || report.has_length {
                self.lengths.observe(&report, digits);
                let step = report
                    .at
                    .zip(latest)
                    .map(|(at, latest)| at.duration_since(latest));
                if let Some(step) = step.filter(|_| !report.begins) {
                    self.lengths.observe_step(step);
                }
                continue;
            }
            self.single_lengths.observe(&report, digits);
            let rates: Vec<f64> = report.devices.iter().flat_map(LoggedDevice::ios).collect();
            let before = std::mem::replace(&mut self.single, rates);
            for (before, now) in before.iter().zip(&self.single) {
                let is_other = (before - now).abs() > 0.1 * before.max(*now);
                self.changes[usize::from(is_other)] += 1;
            }
        }
    }

    pub(super) fn finish(mut self) -> LogFacts {
        self.logs.finish();
        self.take_reports();
        let [same, other] = self.changes;
        let [other_names, same_names] = self.same_names;
        let has_single_intervals = self.runs > 1 && self.runs == self.reports && other >= same;
        let lengths = if has_single_intervals {
            &self.single_lengths
        } else {
            &self.lengths
        };
        LogFacts {
            length: lengths.decide(),
            has_one_head: self.heads == 1,
            has_single_intervals,
            lists_idle: self.lists_idle || other_names <= 2 || same_names > other_names,
        }
    }
}

/// Reads a log of any kind.
#[derive(Default)]
pub(super) struct Logs {
    /// `None` before it is recognized.
    format: Option<KnownFormat>,
    contents: LogContents,
    /// The stated length of its intervals.
    every: Option<Duration>,
    prefix: Option<Prefix>,
    /// The line that showed what it is.
    head: String,
    /// The devices so far: a report may leave out idle ones.
    devices: Vec<Device>,
    indexes: HashMap<String, usize>,
    latest: Option<Timestamp>,
    /// The next report has no report before it.
    pub(super) begins: bool,
    lacks_times: bool,
    has_note: bool,
}

impl Logs {
    pub(super) fn new(clock: Clock, every: Option<Duration>) -> Self {
        let contents = LogContents {
            clock,
            ..LogContents::default()
        };
        Self {
            contents,
            every,
            begins: true,
            ..Self::default()
        }
    }

    /// Takes what the whole log shows, before its first line is read.
    pub(super) fn set_facts(&mut self, facts: LogFacts) {
        self.contents.facts = facts;
    }

    /// Returns a reader of the same log at its beginning.
    pub(super) fn again(&self) -> Self {
        Self {
            format: format_of(&self.head),
            prefix: self.prefix.clone(),
            ..Self::new(self.contents.clock.again(), self.every)
        }
    }

    /// Looks at a line of a capture that may be a log. Returns whether it shows that it is; all lines are then to be read.
    pub(super) fn recognize(&mut self, line: &str) -> bool {
        let line = without_glue(line);
        self.prefix = self
            .prefix
            .take()
            .or_else(|| Prefix::before_first_line(&line));
        let line = self
            .prefix
            .as_ref()
            .map_or(Some(&*line), |prefix| Some(prefix.split(&line)?.1));
        let Some(line) = line else {
            return false;
        };
        self.format = format_of(line);
        line.clone_into(&mut self.head);
        self.format.is_some()
    }

    /// Returns whether a line is the head of a table of devices.
    fn is_head(&self, line: &str) -> bool {
        let line = without_glue(line);
        let prefix = self.prefix.as_ref();
        let line = prefix.map_or(Some(&*line), |prefix| Some(prefix.split(&line)?.1));
        line.is_some_and(|line| format_of(line).is_some())
    }

    /// Takes a line of a log, which a newline ended.
    ///
    /// # Errors
    /// If it is damaged; says how.
    pub(super) fn read(&mut self, line: &[u8]) -> Result<(), String> {
        let Some((format, origin)) = &mut self.format else {
            return Ok(());
        };
        let Ok(line) = std::str::from_utf8(line) else {
            self.begins = true;
            return Err(format!("not text: '{}'; skipped", excerpt(line)));
        };
        let line = without_glue(line);
        // A logger that adds times to the tables may leave out the first line.
        let prefix = self.prefix.as_ref().filter(|_| head_line(&line).is_none());
        let prefix = prefix.map_or(Some(("", &*line)), |prefix| prefix.split(&line));
        let Some((prefix, line)) = prefix else {
            return Ok(());
        };
        prefix.clone_into(&mut self.contents.prefix);
        if let Some((other, other_origin)) = format_of(line)
            && *origin != other_origin
        {
            // The log of another tool follows.
            format.finish(&mut self.contents);
            (*format, *origin) = (other, other_origin);
            self.begins = true;
        }
        let outcome = format.read(line, &mut self.contents);
        self.begins |= outcome.is_err();
        outcome.map_err(|error| format!("{error}; the report is skipped"))
    }

    /// Takes the warnings about single values.
    pub(super) fn take_warnings(&mut self) -> Vec<String> {
        std::mem::take(&mut self.contents.warnings)
    }

    /// Takes the end of the log. Returns whether it completes a report.
    pub(super) fn finish(&mut self) -> bool {
        if let Some((format, _)) = &mut self.format {
            format.finish(&mut self.contents);
        }
        !self.contents.reports.is_empty()
    }

    /// Makes a sample of the next report; returns whether no interval ends there. `None` without a complete report.
    pub(super) fn next(&mut self, sample: &mut Sample) -> Option<bool> {
        let mut report = self.contents.reports.pop_front()?;
        while self.lists_nothing() && report.devices.is_empty() {
            report = self.contents.reports.pop_front()?;
        }
        let facts = &self.contents.facts;
        let (has_single, lists_idle) = (facts.has_single_intervals, facts.lists_idle);
        let is_single = report.begins && !report.is_cut && has_single;
        if std::mem::take(&mut report.has_length) || is_single {
            let is_guess = is_single || report.at.or(report.midnight).is_none();
            self.lacks_times |= is_guess;
            let length = self.length().or(is_guess.then_some(DEFAULT_LENGTH));
            if let Some(length) = length.and_then(|length| SignedDuration::try_from(length).ok()) {
                let begin = report.at.and_then(|at| at.checked_sub(length).ok());
                let begin = begin.or(report.midnight.take());
                report.begins = false;
                self.contents.reports.push_front(report);
                self.begin_at(begin, sample);
                return Some(true);
            }
        }
        let begins = report.begins | std::mem::take(&mut self.begins);
        let at = self.time_of(report.at.or(report.midnight));
        self.lacks_times |= report.midnight.is_some();
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
            let index = match self.indexes.get(&logged.name) {
                Some(index) => *index,
                None if self.devices.len() == MAX_DEVICES_PER_SAMPLE => continue,
                None => {
                    let (index, name) = (self.devices.len(), logged.name.clone());
                    let number = u32::try_from(index).unwrap_or(u32::MAX);
                    self.indexes.insert(name.clone(), index);
                    self.devices.push(Device {
                        major: 0,
                        minor: number,
                        name,
                        counters: Counters::ZERO,
                        logged: None,
                    });
                    is_listed.push(false);
                    index
                }
            };
            is_listed[index] = true;
            self.devices[index].logged = Some(Box::new(logged.rates));
        }
        self.latest = Some(at);
        sample.devices.clone_from(&self.devices);
        if lists_idle && !report.has_lost_lines {
            let mut is_listed = is_listed.iter();
            sample.devices.retain(|_| is_listed.next() == Some(&true));
        }
        sample.at = SampleTime {
            wall: Some(at),
            ..SampleTime::default()
        };
        Some(begins)
    }

    /// Returns whether no report so far had a device.
    pub(super) fn lists_nothing(&self) -> bool {
        self.devices.is_empty()
    }

    /// Makes a sample of the beginning of the next report.
    fn begin_at(&mut self, begin: Option<Timestamp>, sample: &mut Sample) {
        let at = self.time_of(begin);
        self.latest = Some(at);
        self.begins = false;
        let next = self.contents.reports.front();
        sample.devices.clear();
        for device in next.into_iter().flat_map(|report| &report.devices) {
            sample.devices.push(Device {
                name: device.name.clone(),
                ..Device::default()
            });
        }
        sample.at = SampleTime {
            wall: Some(at),
            ..SampleTime::default()
        };
    }

    /// Returns the time of a report, which is that in the log if it has one.
    fn time_of(&mut self, written: Option<Timestamp>) -> Timestamp {
        self.lacks_times |= written.is_none();
        let length = self.length().unwrap_or(DEFAULT_LENGTH);
        let length = SignedDuration::try_from(length).unwrap_or_default();
        let next = |latest: Timestamp| latest.saturating_add(length).unwrap_or(latest);
        match (written, self.latest) {
            // Times are whole seconds, and two reports may be in the same.
            (Some(at), Some(latest)) if at == latest => next(latest),
            (Some(at), _) => at,
            (None, latest) => latest.map_or(Timestamp::UNIX_EPOCH, next),
        }
    }

    /// Returns what the log says of its host, as the header of a recording.
    pub(super) fn header(&self) -> Arc<RecordingHeader> {
        Arc::new(self.contents.host.clone())
    }

    /// The length of an interval of reports without times, as far as it is known.
    fn length(&self) -> Option<Duration> {
        self.every.or(self.contents.facts.length)
    }

    /// Says once, after the first interval, what the log is and what it lacks.
    pub(super) fn take_note(&mut self) -> Option<String> {
        if self.devices.is_empty() || std::mem::replace(&mut self.has_note, true) {
            return None;
        }
        let lacks = |is_known: fn(&LoggedInterval) -> bool| {
            let logged = self
                .devices
                .iter()
                .filter_map(|device| device.logged.as_ref());
            !logged.into_iter().any(|logged| is_known(logged))
        };
        let lacking = [
            (true, "requests in flight"),
            (
                lacks(|of| of.reads.ios.and(of.writes.ios).is_some()),
                "reads and writes apart",
            ),
            (
                lacks(|of| of.reads.sectors.and(of.writes.sectors).is_some()),
                "bytes read and written apart",
            ),
            (
                lacks(|of| of.reads.await_ms.and(of.writes.await_ms).is_some()),
                "the latency of reads and of writes",
            ),
            (
                lacks(|of| of.reads.merges.and(of.writes.merges).is_some()),
                "merges",
            ),
            (lacks(|of| of.util_pct.is_some()), "util"),
            (lacks(|of| of.queue.is_some()), "the queue"),
        ];
        let lacking: Vec<&str> = lacking
            .iter()
            .filter(|(is, _)| *is)
            .map(|(_, name)| *name)
            .collect();
        let LogContents {
            rounding, clock, ..
        } = &self.contents;
        let ((_, origin), lacking) = (self.format.as_ref()?, lacking.join(", "));
        let mut note = format!("from {origin}: {rounding}{clock}; not known: {lacking}");
        if self.lacks_times {
            let seconds = self.length().unwrap_or(DEFAULT_LENGTH).as_secs_f64();
            let are = match (self.every, self.contents.facts.length) {
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
}

/// The length of intervals of which nothing shows another one: that of most logs.
const DEFAULT_LENGTH: Duration = Duration::from_secs(1);

/// Parts a time in brackets from the word to which a logger has glued it: `[18:01:12]Device`.
fn without_glue(line: &str) -> Cow<'_, str> {
    let glued = line.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    match glued {
        Some((time, rest))
            if !rest.is_empty()
                && !rest.starts_with(char::is_whitespace)
                && find_time(time).is_some() =>
        {
            Cow::Owned(format!("[{time}] {rest}"))
        }
        _ => Cow::Borrowed(line),
    }
}

/// The words before each line of a log, as `ts` and collectors of logs add them.
#[derive(Clone)]
struct Prefix {
    words: usize,
    /// The blanks before them.
    indent: usize,
    /// The name of the program at its end, with a colon: lines of other programs may be between.
    program: Option<String>,
}

impl Prefix {
    /// Returns the prefix of a line that begins a log of sysstat; `None` for other lines, and without a prefix.
    fn before_first_line(line: &str) -> Option<Self> {
        let at = log_start(line).filter(|at| *at > 0)?;
        let words = line[..at].split_whitespace();
        let program = words
            .clone()
            .last()
            .filter(|word| word.ends_with(':'))
            .map(str::to_owned);
        Some(Self {
            words: words.count(),
            indent: line.len() - line.trim_start().len(),
            program,
        })
    }

    /// Splits a line into its prefix and the line of the log; `None` if it is of another program.
    pub(super) fn split<'a>(&self, line: &'a str) -> Option<(&'a str, &'a str)> {
        if self.words == 0 {
            let blanks = line.len() - line.trim_start().len();
            return Some(("", &line[blanks.min(self.indent)..]));
        }
        let (mut rest, mut last) = (line, "");
        for _ in 0..self.words {
            rest = rest.trim_start();
            (last, rest) = rest.split_at(rest.find(char::is_whitespace).unwrap_or(rest.len()));
        }
        let is_of_log =
            !last.is_empty() && self.program.as_ref().is_none_or(|program| program == last);
        let mut text = rest.chars();
        text.next();
        is_of_log.then(|| (&line[..line.len() - rest.len()], text.as_str()))
    }
}
