//! The data of `sar -d` as `sadf -d` prints it, in rows with semicolons, and as `sadf -j` does, in JSON.

use std::collections::HashSet;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::contents::{LogContents, LogFormat};
use super::json::{JsonElements, JsonPart, host_of};
use super::report::LoggedDevice;
use super::sar::DEVICE;
use super::timed_rows::TimedRows;
use crate::capture::diskstats_line::excerpt;
use crate::capture::normal::log_lines::LogLine;

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
                contents.set(&mut device, column, text);
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
                contents.set(&mut device, &column, &number.to_string());
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
                    contents.host = host_of(&host);
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
    fn read(&mut self, line: &LogLine<'_>, contents: &mut LogContents) -> Result<(), String> {
        let line = &*line.text;
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
