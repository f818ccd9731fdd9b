//! The output of `sadf -d`, whose rows have semicolons, and of `sadf -j`, which is JSON, about the data of `sar -d`.

use std::collections::HashSet;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::json::{JsonElements, JsonPart};
use super::sar::TimedRows;
use super::{LogContents, LogFormat, LoggedDevice, excerpt, host_of_json};
use crate::capture::time_form::{LocalTimes, find_time};

/// The words of a head before the columns.
const HEAD: [&str; 3] = ["# hostname", "interval", "timestamp"];

#[derive(Default)]
pub(super) struct SadfLog {
    /// The columns of the devices; `None` in rows about anything else.
    columns: Option<Vec<String>>,
    json: JsonElements,
    rows: TimedRows,
}

fn time(text: &str, local: &LocalTimes) -> Option<Timestamp> {
    find_time(text).map(|found| local.timestamp(&found))
}

/// The beginning of an interval of whole seconds, some of which end after less than half of one.
fn start_of(at: Timestamp, seconds: i64) -> Option<Timestamp> {
    at.checked_sub(SignedDuration::from_secs(seconds.max(0))).ok()
}

impl SadfLog {
    fn read_row(&mut self, words: &[&str], columns: &[String], contents: &mut LogContents) -> Option<()> {
        let [host, interval, at, values @ ..] = words else { return None };
        let at = time(at, &contents.times.local)?;
        let start = start_of(at, interval.parse().ok()?)?;
        let names: HashSet<&str> = values.chunks(columns.len()).map(|values| values[0]).collect();
        if values.is_empty() || values.len() != columns.len() * names.len() {
            return None;
        }
        contents.host.host = Some((*host).to_owned());
        // One device per row, or all of them with `-h`.
        for values in values.chunks(columns.len()) {
            let mut device = LoggedDevice { name: values[0].to_owned(), ..LoggedDevice::default() };
            for (column, text) in columns.iter().zip(values).skip(1) {
                device.set_text(column, text, &mut contents.rounding).ok()?;
            }
            self.rows.add(Some(start), at, device, &mut contents.reports);
        }
        Some(())
    }

    /// Takes a report in JSON. Returns whether it has devices.
    fn read_report(&mut self, report: &Value, contents: &mut LogContents) -> Option<bool> {
        let Some(devices) = report["disk"].as_array() else { return Some(false) };
        let time = &report["timestamp"];
        let found = find_time(&format!("{} {}", time["date"].as_str()?, time["time"].as_str()?))?;
        let at = if time["utc"] == 1 { found.time } else { contents.times.local.timestamp(&found) };
        let start = start_of(at, time["interval"].as_i64()?)?;
        for object in devices {
            let name = object["disk-device"].as_str()?.replace(char::is_whitespace, "_");
            let mut device = LoggedDevice { name, ..LoggedDevice::default() };
            for (key, number) in object.as_object()?.iter().filter(|(key, _)| *key != "disk-device") {
                let column = match key.as_str() {
                    "rkB" | "wkB" | "dkB" | "rd_sec" | "wr_sec" | "dc_sec" => format!("{key}/s"),
                    "util-percent" => "%util".to_owned(),
                    key => key.to_owned(),
                };
                device.set_text(&column, &number.to_string(), &mut contents.rounding).ok()?;
            }
            self.rows.add(Some(start), at, device, &mut contents.reports);
        }
        self.rows.close(&mut contents.reports);
        Some(true)
    }

    fn read_json(&mut self, line: &str, contents: &mut LogContents) -> Result<bool, String> {
        let mut has_devices = false;
        for part in self.json.read(line)? {
            match part {
                JsonPart::Host(host, _) => {
                    contents.host = host_of_json(&host);
                    self.rows.restart(&mut contents.reports);
                }
                JsonPart::Element(report) => match self.read_report(&report, contents) {
                    Some(is_found) => has_devices |= is_found,
                    None => {
                        self.rows = TimedRows::default();
                        return Err("no report of sadf -j".to_owned());
                    }
                },
            }
        }
        Ok(has_devices)
    }
}

impl LogFormat for SadfLog {
    fn origin(&self) -> &'static str {
        "the data of sar -d"
    }

    fn read(&mut self, line: &str, contents: &mut LogContents) -> Result<bool, String> {
        if self.json.is_json(line) {
            return self.read_json(line, contents);
        }
        let words: Vec<&str> = line.trim().split(';').collect();
        if words.len() > HEAD.len() && words[..HEAD.len()] == HEAD {
            self.rows.close(&mut contents.reports);
            let columns = words[HEAD.len()..].iter().map(|word| word.trim_end_matches("[...]").to_owned());
            self.columns = Some(columns.collect()).filter(|columns: &Vec<_>| columns[0] == "DEV");
            return Ok(self.columns.is_some());
        }
        if line.contains(";LINUX-RESTART") {
            self.rows.restart(&mut contents.reports);
        }
        let is_row = !words[0].starts_with('#') && words.get(1).is_none_or(|interval| *interval != "-1");
        let Some(columns) = self.columns.take_if(|_| is_row && !line.trim().is_empty()) else {
            return Ok(false);
        };
        let row = self.read_row(&words, &columns, contents);
        self.columns = Some(columns);
        if row.is_none() {
            let at = words.get(2).and_then(|at| time(at, &contents.times.local));
            self.rows.reject(at, &mut contents.reports);
            return Err(format!("no row of sadf -d: '{}'", excerpt(line.as_bytes())));
        }
        Ok(true)
    }

    fn finish(&mut self, contents: &mut LogContents) {
        self.rows.finish(&mut contents.reports);
    }
}
