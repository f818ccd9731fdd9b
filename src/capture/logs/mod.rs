//! Logs of other programs, which hold rates instead of counters. Counters are rebuilt from them: each grows by the rate
//! times the seconds, as a whole number. What a log lacks is missing in its counters, not zero.
//!
//! A log is recognized by its content. To add a format, implement [`LogFormat`] in a file of its own and name it in
//! [`format_of`].

mod iostat;
mod json;
mod sar;
mod sysstat_times;

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use self::sysstat_times::SysstatTimes;
use super::MAX_DEVICES_PER_SAMPLE;
use super::annotation::RecordingHeader;
use super::diskstats_line::excerpt;
use super::time_form::LocalTimes;
use crate::counters::{Columns, Counters, Device, Missing, Requests, Sample};
use crate::units::SampleTime;

/// A kind of log.
pub(super) trait LogFormat: Send {
    /// Takes the next line, and adds what it tells.
    ///
    /// # Errors
    /// If the line is damaged; says how. The report that it belongs to must not be handed out.
    fn read(&mut self, line: &str, contents: &mut LogContents) -> Result<(), String>;

    /// Adds the last report at the end of the log, if it is complete.
    fn finish(&mut self, contents: &mut LogContents);
}

/// A reader for a kind of log, and where its numbers come from.
type KnownFormat = (Box<dyn LogFormat>, &'static str);

/// Returns a reader for the kind of log that a line shows: the head of a table of devices, or a device in JSON.
fn format_of(line: &str) -> Option<KnownFormat> {
    let words: Vec<&str> = line.split_whitespace().collect();
    if iostat::header(&words).is_some() || line.contains("\"disk_device\"") {
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
    times: SysstatTimes,
    /// The prefix of the line, which a collector of logs added. It may contain a time.
    pub(super) prefix: String,
}

/// The rates of few requests that are kept, at most.
const MAX_FEW_RATES: usize = 256;

/// The rates of the devices over the time since the report before.
#[derive(Debug, Default)]
pub(super) struct Report {
    /// The time at its end; `None` if the log has no times.
    pub(super) at: Option<Timestamp>,
    /// No interval ends here: its rates are averages since boot, or reports before it are missing.
    pub(super) begins: bool,
    /// It is the first of a run, but its rates are those of an interval, whose beginning follows from its length.
    pub(super) has_length: bool,
    pub(super) devices: Vec<LoggedDevice>,
}

impl Report {
    /// Returns the whole seconds that its amounts show; `None` if they are too small.
    fn length(&self) -> Option<Duration> {
        const MIN_AMOUNT: f64 = 100.0;
        let [amount, rate] = [0, 1].map(|at| {
            self.devices
                .iter()
                .map(|device| device.amount[at])
                .sum::<f64>()
        });
        let seconds = (amount / rate).round();
        let is_exact = amount >= MIN_AMOUNT && (amount / rate - seconds).abs() <= 0.05 * seconds;
        (is_exact && seconds >= 1.0).then(|| Duration::try_from_secs_f64(seconds).ok())?
    }

    /// Returns the rates of its devices with less than two requests per second.
    fn few_rates(&self) -> impl Iterator<Item = f64> {
        let devices = self
            .devices
            .iter()
            .filter(|device| device.amount == [0.0; 2]);
        let rates =
            devices.flat_map(|one| [one.reads, one.writes, one.discards, one.flushes, one.all]);
        rates.filter_map(|rates| rates.ios.filter(|per_s| *per_s > 0.0 && *per_s < 2.0))
    }
}

/// Returns the whole seconds in which nearly all of these rates of few requests are whole numbers of them, unless most are in
/// about one second: 0.40 per second are 2 in 5 s. `None` if there are hardly any rates, or it takes longer than a minute.
fn length_of_few(rates: &[f64]) -> Option<Duration> {
    let share = |seconds: u64, jitter: f64| {
        // Rates are rounded to hundredths.
        let is_whole = |count: &f64| {
            count.round() >= 1.0
                && (count - count.round()).abs() <= 0.00501 * seconds as f64 + jitter * count
        };
        rates
            .iter()
            .map(|per_s| per_s * seconds as f64)
            .filter(is_whole)
            .count() as f64
            / rates.len() as f64
    };
    let is_possible = rates.len() > 1 && share(1, 0.05) < 0.5;
    (2..=60)
        .find(|seconds| is_possible && share(*seconds, 0.01) >= 0.9)
        .map(Duration::from_secs)
}

/// A device in a report. What the log lacks is `None`.
#[derive(Debug, Default, Clone)]
pub(super) struct LoggedDevice {
    pub(super) name: String,
    pub(super) reads: Rates,
    pub(super) writes: Rates,
    pub(super) discards: Rates,
    pub(super) flushes: Rates,
    /// The requests of all kinds together, if the log does not tell reads and writes apart.
    pub(super) all: Rates,
    pub(super) queue: Option<f64>,
    pub(super) util_pct: Option<f64>,
    /// The amounts of data in the report and per second, in the same unit.
    pub(super) amount: [f64; 2],
}

/// Per second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Rates {
    pub(super) ios: Option<f64>,
    pub(super) merges: Option<f64>,
    pub(super) sectors: Option<f64>,
    /// Milliseconds per request.
    pub(super) await_ms: Option<f64>,
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
    /// Sets the value in a column of sysstat's tables: of `iostat`, `sar -d` and their JSON, of all versions. Others are
    /// ignored: they follow from these.
    pub(super) fn set(&mut self, column: &str, value: f64) {
        let is_of = |letter: char, end: &str| {
            column.starts_with(letter) && column != "rqm/s"
                || column.trim_end_matches("/s").ends_with(end)
        };
        let rates = if is_of('r', "_read") {
            &mut self.reads
        } else if is_of('w', "_wrtn") {
            &mut self.writes
        } else if is_of('d', "_dscd") {
            &mut self.discards
        } else if column.starts_with('f') {
            &mut self.flushes
        } else {
            &mut self.all
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
            "aqu-sz" | "avgqu-sz" => self.queue = Some(value),
            "%util" | "util" => self.util_pct = Some(value),
            _ => {}
        }
    }

    /// Sets the value in a column from its text.
    ///
    /// # Errors
    /// If it is not a rate; says so.
    fn set_text(
        &mut self,
        column: &str,
        text: &str,
        rounding: &mut Rounding,
    ) -> Result<(), String> {
        let Some((value, digits, unit_kib)) = number(text) else {
            let [text, column] = [text, column].map(|text| excerpt(text.as_bytes()));
            return Err(format!("'{text}' in column {column}, expected a rate"));
        };
        // More come from JSON, whose numbers are binary fractions.
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
        Ok(())
    }

    /// Returns whether [`Self::set`] knows a column that every table of devices has one of.
    pub(super) fn is_rate(column: &str) -> bool {
        matches!(
            column,
            "tps" | "r/s" | "w/s" | "d/s" | "f/s" | "aqu-sz" | "%util"
        )
    }

    fn missing(&self) -> Missing {
        let lacks =
            |of: fn(&Rates) -> Option<f64>| of(&self.reads).is_none() || of(&self.writes).is_none();
        Missing {
            in_flight: true,
            ios: lacks(|rates| rates.ios),
            merges: lacks(|rates| rates.merges),
            sectors: lacks(|rates| rates.sectors),
            ms: lacks(|rates| rates.await_ms),
            busy_ms: self.util_pct.is_none(),
            weighted_ms: self.queue.is_none(),
        }
    }

    /// Adds what happened in the time since the report before.
    fn add_to(&self, counters: &mut Counters, seconds: f64) {
        let whole = |value: f64| (value * seconds).round_ties_even() as u64;
        let count = |rate: Option<f64>| whole(rate.unwrap_or(0.0));
        let requests = |rates: &Rates| {
            let ios = count(rates.ios);
            let ms = (rates.await_ms.unwrap_or(0.0) * ios as f64).round_ties_even() as u64;
            Requests {
                ios,
                merges: count(rates.merges),
                sectors: count(rates.sectors),
                ms,
            }
        };
        let missing = self.missing();
        let (mut reads, writes, all) = (
            requests(&self.reads),
            requests(&self.writes),
            requests(&self.all),
        );
        if missing.ios {
            reads.ios = all.ios;
        }
        if missing.ms {
            let ios = reads.ios + writes.ios;
            reads.ms = (self.all.await_ms.unwrap_or(0.0) * ios as f64).round_ties_even() as u64;
        }
        if missing.merges {
            reads.merges = all.merges;
        }
        if missing.sectors {
            reads.sectors = all.sectors;
        }
        let grow = |counter: &mut u64, by: u64| *counter = counter.wrapping_add(by);
        counters.missing = missing;
        counters.columns = match (
            self.flushes.ios,
            self.discards.ios.or(self.discards.sectors),
        ) {
            (Some(_), _) => Columns::Flushes,
            (None, Some(_)) => Columns::Discards,
            (None, None) => Columns::Basic,
        };
        counters.reads = counters.reads.plus(&reads);
        counters.writes = counters.writes.plus(&writes);
        counters.discards = counters.discards.plus(&requests(&self.discards));
        let flushes = requests(&self.flushes);
        grow(&mut counters.flushes, flushes.ios);
        grow(&mut counters.flush_ms, flushes.ms);
        grow(
            &mut counters.busy_ms,
            whole(self.util_pct.unwrap_or(0.0) * 10.0),
        );
        grow(
            &mut counters.weighted_ms,
            whole(self.queue.unwrap_or(0.0) * 1000.0),
        );
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

/// Parses a number with a point or a comma, `12.5`, `12,5%`, `12.5k`. Returns it with the digits after the point, and for a
/// unit of bytes, how many KiB that is.
fn number(word: &str) -> Option<(f64, usize, Option<f64>)> {
    let word = word.strip_suffix('%').unwrap_or(word);
    let unit = match word.bytes().last()? {
        b'k' => Some(1.0),
        b'M' => Some(1024.0),
        b'G' => Some(1024.0 * 1024.0),
        b'T' => Some(1024.0 * 1024.0 * 1024.0),
        _ => None,
    };
    let text = if unit.is_some() {
        &word[..word.len() - 1]
    } else {
        word
    }
    .replace(',', ".");
    let is_plain = text
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.');
    // Larger ones come from counters that went backwards.
    let value = text
        .parse()
        .ok()
        .filter(|value| is_plain && (0.0..1e12).contains(value))?;
    Some((
        value,
        text.split_once('.').map_or(0, |(_, digits)| digits.len()),
        unit,
    ))
}

/// Reads a log of any kind.
#[derive(Default)]
pub(super) struct Logs {
    /// `None` before it is recognized.
    format: Option<KnownFormat>,
    contents: LogContents,
    /// The stated distance of reports without times.
    every: Option<Duration>,
    /// The distance that the numbers of reports show.
    step: Option<Duration>,
    /// The rates of few requests in reports without times and amounts.
    few_rates: Vec<f64>,
    prefix: Option<Prefix>,
    /// The devices so far, with their counters: a report may leave out idle ones.
    devices: Vec<Device>,
    indexes: HashMap<String, usize>,
    latest: Option<Timestamp>,
    /// The next report has no report before it.
    pub(super) begins: bool,
    lacks_times: bool,
    has_note: bool,
}

impl Logs {
    pub(super) fn new(local: &LocalTimes, every: Option<Duration>) -> Self {
        let contents = LogContents {
            times: SysstatTimes::new(local.clone()),
            ..LogContents::default()
        };
        Self {
            contents,
            every,
            begins: true,
            ..Self::default()
        }
    }

    /// Looks at a line of a capture that may be a log. Returns whether it shows that it is; all lines are then to be read.
    pub(super) fn recognize(&mut self, line: &str) -> bool {
        self.prefix = self
            .prefix
            .take()
            .or_else(|| Prefix::before_first_line(line));
        let line = self
            .prefix
            .as_ref()
            .map_or(Some(line), |prefix| Some(prefix.split(line)?.1));
        self.format = line.and_then(format_of);
        self.format.is_some()
    }

    /// Takes a line of a log, which a newline ended.
    ///
    /// # Errors
    /// If it is damaged; says how.
    pub(super) fn read(&mut self, line: &[u8]) -> Result<(), String> {
        let Some((format, _)) = &mut self.format else {
            return Ok(());
        };
        let Ok(line) = std::str::from_utf8(line) else {
            self.begins = true;
            return Err(format!("not text: '{}'; skipped", excerpt(line)));
        };
        let prefix = self
            .prefix
            .as_ref()
            .map_or(Some(("", line)), |prefix| prefix.split(line));
        let Some((prefix, line)) = prefix else {
            return Ok(());
        };
        prefix.clone_into(&mut self.contents.prefix);
        let outcome = format.read(line, &mut self.contents);
        self.begins |= outcome.is_err();
        outcome.map_err(|error| format!("{error}; the report is skipped"))
    }

    /// Takes the end of the log. Returns whether it completes a report.
    pub(super) fn finish(&mut self) -> bool {
        self.format
            .iter_mut()
            .for_each(|(format, _)| format.finish(&mut self.contents));
        !self.contents.reports.is_empty()
    }

    /// Makes a sample of the next report; returns whether no interval ends there. `None` without a complete report.
    pub(super) fn next(&mut self, sample: &mut Sample) -> Option<bool> {
        let mut report = self.contents.reports.pop_front()?;
        if std::mem::take(&mut report.has_length) {
            let length = self
                .every
                .or(report.length())
                .or(Some(self.step()).filter(|_| report.at.is_none()));
            if let Some(length) = length.and_then(|length| SignedDuration::try_from(length).ok()) {
                self.step = self.step.or(report.length());
                let start = report.at.and_then(|at| at.checked_sub(length).ok());
                let before = Report {
                    at: start,
                    begins: true,
                    devices: report.devices.clone(),
                    has_length: false,
                };
                report.begins = false;
                self.contents.reports.push_front(report);
                report = before;
            }
        }
        let begins = report.begins | std::mem::take(&mut self.begins);
        if !begins && self.every.is_none() {
            let known = self.few_rates.len();
            if report.at.is_none() {
                self.few_rates
                    .extend(report.few_rates().take(MAX_FEW_RATES - known));
            }
            let step = if self.few_rates.len() > known {
                length_of_few(&self.few_rates)
            } else {
                self.step
            };
            self.step = report.length().or(step);
        }
        let step = SignedDuration::try_from(self.step()).unwrap_or_default();
        self.lacks_times |= report.at.is_none();
        let next = |latest: Timestamp| latest.saturating_add(step).unwrap_or(latest);
        let at = match (report.at, self.latest) {
            // Times are whole seconds, and two reports may be in the same.
            (Some(at), Some(latest)) if at == latest => next(latest),
            (Some(at), _) => at,
            (None, latest) => latest.map_or(Timestamp::UNIX_EPOCH, next),
        };
        let seconds = self
            .latest
            .map_or(0.0, |latest| at.duration_since(latest).as_secs_f64());
        let seconds = if begins { 0.0 } else { seconds.max(0.0) };
        for logged in &report.devices {
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
                    });
                    index
                }
            };
            logged.add_to(&mut self.devices[index].counters, seconds);
        }
        self.latest = Some(at);
        sample.devices.clone_from(&self.devices);
        sample.at = SampleTime {
            wall: Some(at),
            ..SampleTime::default()
        };
        Some(begins)
    }

    /// Returns what the log says of its host, as the header of a recording.
    pub(super) fn header(&self) -> Arc<RecordingHeader> {
        Arc::new(self.contents.host.clone())
    }

    /// The distance of reports without times.
    fn step(&self) -> Duration {
        self.every.or(self.step).unwrap_or(Duration::from_secs(1))
    }

    fn missing(&self) -> Missing {
        self.devices.iter().fold(Missing::default(), |sum, device| {
            sum.or(device.counters.missing)
        })
    }

    /// Says once, after the first interval, what the log is and what it lacks.
    pub(super) fn take_note(&mut self) -> Option<String> {
        if self.devices.is_empty() || std::mem::replace(&mut self.has_note, true) {
            return None;
        }
        let missing = self.missing();
        let lacking = [
            (missing.in_flight, "requests in flight"),
            (missing.ios, "reads and writes apart"),
            (missing.sectors, "bytes read and written apart"),
            (missing.ms, "the latency of reads and of writes"),
            (missing.merges, "merges"),
            (missing.busy_ms, "util"),
            (missing.weighted_ms, "the queue"),
        ];
        let lacking: Vec<&str> = lacking
            .iter()
            .filter(|(is, _)| *is)
            .map(|(_, name)| *name)
            .collect();
        let LogContents {
            rounding, times, ..
        } = &self.contents;
        let ((_, origin), lacking) = (self.format.as_ref()?, lacking.join(", "));
        let mut note = format!("from {origin}: {rounding}{times}; not known: {lacking}");
        if self.lacks_times {
            let seconds = self.step().as_secs_f64();
            let are = if self.step.is_some() {
                "are, as their numbers show,"
            } else {
                "are taken to be"
            };
            note += &format!("; its reports have no times and {are} {seconds} s apart");
            if self.every.or(self.step).is_none() {
                note += " (--every 2s states another distance)";
            }
        }
        Some(note)
    }
}

/// Parses the first line of a sysstat log, `Linux 6.8.0 (host) 03/12/2026 _x86_64_ (80 CPU)` with tabs. Returns the host, and
/// the text that has the date.
pub(super) fn head_line(line: &str) -> Option<(RecordingHeader, &str)> {
    let rest = line.strip_prefix("Linux ")?;
    let (kernel, rest) = rest.split_once(" (")?;
    let (name, rest) = rest.split_once(')')?;
    let cpus = rest
        .rsplit_once('(')
        .and_then(|(_, cpus)| cpus.split(' ').next()?.parse().ok());
    // blkstat writes a dash for what it does not know.
    let known = |text: &str| Some(text.trim().to_owned()).filter(|text| text != "-");
    let (host, kernel) = (known(name), known(kernel));
    Some((
        RecordingHeader {
            host,
            kernel,
            cpus,
            ..RecordingHeader::default()
        },
        rest,
    ))
}

/// The words before each line of a log, as `ts` and collectors of logs add them.
struct Prefix {
    words: usize,
    /// The name of the program at its end, with a colon: lines of other programs may be between.
    program: Option<String>,
}

impl Prefix {
    /// Returns the prefix of a line that begins a log of sysstat; `None` for other lines, and without a prefix.
    fn before_first_line(line: &str) -> Option<Self> {
        let begins = |rest: &&str| {
            ["avg-cpu: ", "# hostname;", "{\"sysstat\""]
                .iter()
                .any(|first| rest.starts_with(first))
                || head_line(rest).is_some() && rest.trim_end().ends_with(" CPU)")
                || rest.starts_with("Device")
                    && iostat::header(&rest.split_whitespace().collect::<Vec<_>>()).is_some()
        };
        let starts = line.match_indices([' ', '\t']).map(|(at, _)| at + 1);
        let at = starts
            .take(MAX_PREFIX_WORDS)
            .find(|at| begins(&&line[*at..]))?;
        let words = line[..at].split_whitespace();
        let program = words
            .clone()
            .last()
            .filter(|word| word.ends_with(':'))
            .map(str::to_owned);
        Some(Self {
            words: words.count(),
            program,
        })
    }

    /// Splits a line into its prefix and the line of the log; `None` if it is of another program.
    pub(super) fn split<'a>(&self, line: &'a str) -> Option<(&'a str, &'a str)> {
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

/// A prefix is in the first words of a line; the spaces between them count, too.
const MAX_PREFIX_WORDS: usize = 16;
