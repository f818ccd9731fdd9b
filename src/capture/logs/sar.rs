//! The text of `sar -d`: tables of devices, each row with its time, in any version of sysstat since 9.
//!
//! The head of a table has the time at which its first interval begins.
//!
//! The same data is in the output of `sadf -d`, whose rows have semicolons, and of `sadf -j`, which is JSON.

use std::collections::{HashSet, VecDeque};

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::json::{JsonElements, JsonPart};
use super::{LogContents, LogFormat, LoggedDevice, Report, excerpt, host_of_json};
use crate::capture::normal::clock::Clock;
use crate::capture::normal::first_lines::{head_line, number};
use crate::capture::normal::time_form::find_time;

/// The reports of a log in which every row has a time, as they become complete.
#[derive(Default)]
struct TimedRows {
    /// The time of the last complete report in this boot of the host.
    latest: Option<Timestamp>,
    /// The number of devices in it, and the last of them.
    last: Option<(usize, String)>,
    /// The beginning and the end of the report so far.
    open: Option<(Timestamp, Timestamp)>,
    devices: Vec<LoggedDevice>,
    /// The devices of all reports.
    names: HashSet<String>,
    /// Lines of the report so far, or right behind it, have no device that is known.
    has_lost_lines: bool,
}

impl TimedRows {
    /// Adds a device to the report from `start`, or from the one before, to `at`.
    fn add(
        &mut self,
        start: Option<Timestamp>,
        at: Timestamp,
        device: LoggedDevice,
        contents: &mut LogContents,
    ) {
        let is_open = self.open.is_some_and(|(_, open)| open == at);
        let known = self.devices.iter().find(|known| known.name == device.name);
        if let Some(known) = known.filter(|_| is_open) {
            // Times are whole seconds, and two reports may be in the same.
            let is_first = self.devices.first().map(|first| &first.name) == Some(&device.name);
            let is_whole = self.last.as_ref().is_some_and(|last| self.is_like(last));
            if !is_first || !is_whole || known.rates == device.rates {
                contents.warn_of_repeated(&device.name);
                return;
            }
        }
        if !is_open || known.is_some() {
            self.close(&mut contents.reports);
        }
        self.open
            .get_or_insert((start.or(self.latest).unwrap_or(at), at));
        self.names.insert(device.name.clone());
        self.devices.push(device);
    }

    /// Returns whether the report so far has as many devices as one before, and the same one last.
    fn is_like(&self, (count, last): &(usize, String)) -> bool {
        self.devices.len() == *count && self.devices.last().is_some_and(|one| one.name == *last)
    }

    /// Hands out the report so far, which is complete.
    fn close(&mut self, out: &mut VecDeque<Report>) {
        let Some((start, at)) = self.open.take() else {
            return;
        };
        let devices = std::mem::take(&mut self.devices);
        // The next interval begins where this one ends, but times are whole seconds.
        let follows = self.latest.is_some_and(|latest| {
            start.duration_since(latest).as_secs().abs() <= 1 && latest <= at
        });
        if !follows {
            out.push_back(Report {
                at: Some(start),
                begins: true,
                devices: devices.clone(),
                ..Report::default()
            });
        }
        self.latest = Some(at);
        self.last = devices
            .last()
            .map(|last| (devices.len(), last.name.clone()));
        out.push_back(Report {
            at: Some(at),
            has_lost_lines: std::mem::take(&mut self.has_lost_lines),
            devices,
            ..Report::default()
        });
    }

    /// Hands out the report so far at the end of the log, if it has the devices of the one before it.
    fn finish(&mut self, out: &mut VecDeque<Report>) {
        if self.last.as_ref().is_some_and(|last| self.is_like(last)) {
            self.close(out);
        }
        *self = Self::default();
    }

    /// Begins the reports of another boot.
    fn restart(&mut self, out: &mut VecDeque<Report>) {
        self.close(out);
        self.latest = None;
    }
}

/// The table whose rows are read.
pub(super) struct Table {
    /// The number of words of a time.
    time_words: usize,
    /// The words of the head after the time.
    columns: Vec<String>,
    /// The text of the time in the head, until the first row shows its order, and the time.
    head: Option<String>,
    start: Option<Timestamp>,
}

/// Returns the table that a line begins; `None` for another line.
pub(super) fn head(words: &[&str]) -> Option<Table> {
    let time_words = words
        .iter()
        .position(|word| ["DEV", "tps"].contains(word))?;
    let columns = words[time_words..]
        .iter()
        .map(|word| (*word).to_owned())
        .collect::<Vec<_>>();
    let time = words[..time_words].join(" ");
    let is_head =
        ["DEV", "tps"].iter().all(|name| words.contains(name)) && find_time(&time).is_some();
    is_head.then_some(Table {
        time_words,
        columns,
        head: Some(time),
        start: None,
    })
}

#[derive(Default)]
pub(super) struct SarLog {
    table: Option<Table>,
    rows: TimedRows,
}

/// Returns the time in the first words of a line; `None` if they are none.
fn time(words: &[&str], clock: &mut Clock) -> Option<Timestamp> {
    let is_time = words.first()?.starts_with(|c: char| c.is_ascii_digit());
    is_time.then(|| clock.read(&words.join(" ")))?
}

impl Table {
    /// Takes a row of the table. Returns whether it is one.
    fn read_row(
        &mut self,
        words: &[&str],
        rows: &mut TimedRows,
        contents: &mut LogContents,
    ) -> Result<bool, String> {
        words
            .iter()
            .for_each(|word| contents.clock.observe_number(word));
        if let Some(start) = self.head.take() {
            self.start = contents.clock.read(&start);
        }
        let Some(at) = words
            .get(..self.time_words)
            .and_then(|words| time(words, &mut contents.clock))
        else {
            // The averages follow the rows.
            let rates = self.columns.len() - 1;
            let is_average = words.len() > rates
                && words[1..]
                    .iter()
                    .filter(|word| number(word).is_some())
                    .count()
                    >= rates;
            return if is_average {
                Ok(false)
            } else {
                Err(wrong_row(words))
            };
        };
        let values = &words[self.time_words..];
        let (found, expected) = (values.len(), self.columns.len());
        let mut device = LoggedDevice::default();
        if found == expected {
            for (column, word) in self.columns.iter().zip(values) {
                match column.as_str() {
                    DEVICE => device.name = (*word).to_owned(),
                    column => device.set_text(column, word, contents),
                }
            }
        } else {
            let is_first = self.columns.first().is_some_and(|first| first == DEVICE);
            let name = values.first().filter(|_| is_first);
            let known = name.filter(|name| rows.names.contains(**name));
            device.name = (**known.ok_or_else(|| wrong_row(words))?).to_owned();
            contents.warnings.push(format!(
                "{found} words after the time, expected {expected}; the values of the device are not known"
            ));
        }
        // The next report follows this one.
        rows.add(self.start.take(), at, device, contents);
        Ok(true)
    }
}

fn wrong_row(words: &[&str]) -> String {
    format!(
        "no row of sar -d: '{}'; skipped",
        excerpt(words.join(" ").as_bytes())
    )
}

impl LogFormat for SarLog {
    fn read(&mut self, line: &str, contents: &mut LogContents) -> Result<(), String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let Some((host, rest)) = head_line(line) {
            self.rows.finish(&mut contents.reports);
            contents.clock.begin(rest);
            (contents.host, self.table) = (host, None);
        } else if words.is_empty() {
            self.rows.close(&mut contents.reports);
            self.table = None;
        } else if words.contains(&"RESTART") {
            self.rows.restart(&mut contents.reports);
            self.table = None;
        } else if words.contains(&"DEV") && words.contains(&"tps") {
            self.rows.close(&mut contents.reports);
            self.table = head(&words);
        } else if let Some(table) = &mut self.table {
            match table.read_row(&words, &mut self.rows, contents) {
                Ok(true) => {}
                Ok(false) => {
                    self.rows.close(&mut contents.reports);
                    self.table = None;
                }
                Err(error) => {
                    self.rows.has_lost_lines = true;
                    contents.warnings.push(error);
                }
            }
        }
        Ok(())
    }

    fn finish(&mut self, contents: &mut LogContents) {
        self.rows.finish(&mut contents.reports);
    }
}

/// The first column of the devices.
pub(super) const DEVICE: &str = "DEV";

/// Returns the columns in a head of `sadf -d`; `None` for another line.
pub(super) fn columns_of_sadf(line: &str) -> Option<Vec<String>> {
    let columns = line
        .trim()
        .strip_prefix("# hostname;interval;timestamp;")?
        .split(';');
    Some(
        columns
            .map(|word| word.trim_end_matches("[...]").to_owned())
            .collect(),
    )
}

#[derive(Default)]
pub(super) struct SadfLog {
    /// The columns of the devices; `None` in rows about anything else.
    columns: Option<Vec<String>>,
    json: JsonElements,
    rows: TimedRows,
}

/// The beginning of an interval of whole seconds, some of which end after less than half of one.
fn start_of(at: Timestamp, seconds: i64) -> Option<Timestamp> {
    at.checked_sub(SignedDuration::from_secs(seconds.max(0)))
        .ok()
}

impl SadfLog {
    fn read_row(
        &mut self,
        words: &[&str],
        columns: &[String],
        contents: &mut LogContents,
    ) -> Option<()> {
        let [host, interval, at, values @ ..] = words else {
            return None;
        };
        let at = contents.clock.read(at)?;
        let start = start_of(at, interval.parse().ok()?)?;
        let names: HashSet<&str> = values
            .chunks(columns.len())
            .map(|values| values[0])
            .collect();
        if values.is_empty() || values.len() != columns.len() * names.len() {
            return None;
        }
        contents.host.host = Some((*host).to_owned());
        // One device per row, or all of them with `-h`.
        for values in values.chunks(columns.len()) {
            let mut device = LoggedDevice::new(values[0]);
            for (column, text) in columns.iter().zip(values).skip(1) {
                device.set_text(column, text, contents);
            }
            self.rows.add(Some(start), at, device, contents);
        }
        Some(())
    }

    /// Takes a report in JSON; `None` if it is another one.
    fn read_report(&mut self, report: &Value, contents: &mut LogContents) -> Option<()> {
        let Some(devices) = report["disk"].as_array() else {
            return Some(());
        };
        let time = &report["timestamp"];
        let zone = if time["utc"] == 1 { "Z" } else { "" };
        let (date, of_day) = (time["date"].as_str()?, time["time"].as_str()?);
        let at = contents.clock.read(&format!("{date} {of_day}{zone}"))?;
        let start = start_of(at, time["interval"].as_i64()?)?;
        for object in devices {
            let name = object["disk-device"]
                .as_str()?
                .replace(char::is_whitespace, "_");
            let mut device = LoggedDevice::new(name);
            for (key, number) in object
                .as_object()?
                .iter()
                .filter(|(key, _)| *key != "disk-device")
            {
                let column = match key.as_str() {
                    "rkB" | "wkB" | "dkB" | "rd_sec" | "wr_sec" | "dc_sec" => format!("{key}/s"),
                    "util-percent" => "%util".to_owned(),
                    key => key.to_owned(),
                };
                device.set_text(&column, &number.to_string(), contents);
            }
            self.rows.add(Some(start), at, device, contents);
        }
        self.rows.close(&mut contents.reports);
        Some(())
    }

    fn read_json(&mut self, line: &str, contents: &mut LogContents) -> Result<(), String> {
        for part in self.json.read(line)? {
            match part {
                JsonPart::Host(host, _) => {
                    contents.host = host_of_json(&host);
                    self.rows.restart(&mut contents.reports);
                }
                JsonPart::Element(report) => {
                    if self.read_report(&report, contents).is_none() {
                        self.rows = TimedRows::default();
                        return Err("no report of sadf -j".to_owned());
                    }
                }
            }
        }
        Ok(())
    }
}

impl LogFormat for SadfLog {
    fn read(&mut self, line: &str, contents: &mut LogContents) -> Result<(), String> {
        if self.json.is_json(line) {
            return self.read_json(line, contents);
        }
        if let Some(columns) = columns_of_sadf(line) {
            self.rows.close(&mut contents.reports);
            self.columns = Some(columns).filter(|columns| columns[0] == DEVICE);
            return Ok(());
        }
        let words: Vec<&str> = line.trim().split(';').collect();
        if line.contains(";LINUX-RESTART") {
            self.rows.restart(&mut contents.reports);
        }
        let is_row =
            !words[0].starts_with('#') && words.get(1).is_none_or(|interval| *interval != "-1");
        let Some(columns) = self.columns.take_if(|_| is_row && !line.trim().is_empty()) else {
            return Ok(());
        };
        let row = self.read_row(&words, &columns, contents);
        self.columns = Some(columns);
        if row.is_none() {
            self.rows.has_lost_lines = true;
            let row = excerpt(line.as_bytes());
            contents
                .warnings
                .push(format!("no row of sadf -d: '{row}'; skipped"));
        }
        Ok(())
    }

    fn finish(&mut self, contents: &mut LogContents) {
        self.rows.finish(&mut contents.reports);
    }
}
