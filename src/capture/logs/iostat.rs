//! Text and JSON of sysstat's `iostat`, of any version since 9: columns are known by their names.

use jiff::Timestamp;
use serde_json::Value;

use super::json::{JsonElements, JsonPart};
use super::{LogContents, LogFormat, LoggedDevice, Report, head_line, host_of_json, number};
use crate::capture::time_form::find_time;

/// A log of iostat.
#[derive(Default)]
pub(super) struct IostatLog {
    /// No report has the date in the head line yet.
    has_date: bool,
    /// The line with a time before the report that is being read.
    time: Option<String>,
    /// The next report is not the first of a run, which has averages since boot.
    follows: bool,
    open: OpenReport,
    /// The first report of the run.
    shape: Option<Shape>,
    /// True if the devices were not the same in each report, as with `iostat -z`.
    names_vary: bool,
    json: JsonElements,
    /// The line before was the header of the averages of CPUs.
    is_after_cpu_header: bool,
    /// The empty lines right behind the head line: another one stands for the report since boot that `-y` leaves out.
    lines_behind_head: Option<usize>,
    is_boot_left_out: bool,
}

/// The tables of the report that is being read.
#[derive(Default)]
struct OpenReport {
    tables: Vec<Vec<String>>,
    /// The prefix of its first line.
    prefix: String,
    devices: Vec<LoggedDevice>,
    /// The columns of the table that is being read; empty after its end.
    columns: Vec<String>,
    /// The lines of that table so far.
    rows: usize,
    /// The name on a line of its own, before its numbers.
    name: Option<String>,
    is_name_last: bool,
    is_damaged: bool,
}

/// The properties that all reports of a run share.
#[derive(PartialEq)]
struct Shape {
    tables: usize,
    names: Vec<String>,
}

impl IostatLog {
    /// Takes a line of text.
    fn read_text(&mut self, line: &str, contents: &mut LogContents) -> Result<(), String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        if words.is_empty() {
            self.lines_behind_head = self.lines_behind_head.map(|lines| lines + 1);
            self.open.columns.clear();
            // Of the first report it is not known how many tables it has.
            let tables = self.open.tables.len();
            if self
                .shape
                .as_ref()
                .is_some_and(|shape| shape.tables == tables)
            {
                self.end_report(contents);
            }
            return Ok(());
        }
        if let Some((host, rest)) = head_line(line) {
            self.end_report(contents);
            contents.times.begin(rest);
            (
                contents.host,
                self.has_date,
                self.follows,
                self.time,
                self.shape,
            ) = (host, true, false, None, None);
            (self.lines_behind_head, self.is_boot_left_out) = (Some(0), false);
            return Ok(());
        }
        self.is_boot_left_out |= self.lines_behind_head.take() == Some(2);
        if std::mem::take(&mut self.is_after_cpu_header) {
            return Ok(());
        }
        if words.contains(&"%iowait") {
            self.end_report(contents);
            self.is_after_cpu_header = true;
            return Ok(());
        }
        if let Some((columns, is_name_last)) = header(&words) {
            if self.open.tables.contains(&columns) {
                self.end_report(contents);
            }
            if self.open.tables.is_empty() {
                self.open.prefix.clone_from(&contents.prefix);
            }
            self.open.tables.push(columns.clone());
            self.open.rows = 0;
            (self.open.columns, self.open.is_name_last, self.open.name) =
                (columns, is_name_last, None);
            return Ok(());
        }
        // Collectors of logs leave out the empty line before a time.
        let columns = self.open.columns.len();
        let is_time = (columns == 0 || words.len() != columns + 1) && find_time(line).is_some();
        if columns > 0 && !is_time {
            // The total of a group is indented.
            let is_total =
                line.starts_with(' ') && !self.open.is_name_last && self.open.name.is_none();
            let read = if is_total {
                Ok(())
            } else {
                self.read_row(&words, contents)
            };
            self.open.is_damaged |= read.is_err();
            return read;
        }
        if is_time {
            self.end_report(contents);
            self.time = Some(line.to_owned());
        }
        Ok(())
    }

    /// Takes a line of a table.
    fn read_row(&mut self, words: &[&str], contents: &mut LogContents) -> Result<(), String> {
        let open = &mut self.open;
        let (name, numbers) = match (words, open.name.take()) {
            // A long name has a line of its own.
            ([name], _) if open.columns.len() > 1 => {
                open.name = Some((*name).to_owned());
                return Ok(());
            }
            (numbers, Some(name)) if numbers.len() == open.columns.len() => (name, numbers),
            ([numbers @ .., name], _) if open.is_name_last => ((*name).to_owned(), numbers),
            ([name, numbers @ ..], _) => ((*name).to_owned(), numbers),
            ([], _) => return Ok(()),
        };
        if numbers.len() != open.columns.len() {
            let (found, expected) = (numbers.len(), open.columns.len());
            return Err(format!(
                "{found} numbers after the device, expected {expected}"
            ));
        }
        let device = match open
            .devices
            .iter_mut()
            .position(|device| device.name == name)
        {
            Some(at) => &mut open.devices[at],
            None => {
                open.devices.push(LoggedDevice {
                    name,
                    ..LoggedDevice::default()
                });
                let last = open.devices.len() - 1;
                &mut open.devices[last]
            }
        };
        for (column, word) in open.columns.iter().zip(numbers) {
            contents.times.observe_number(word);
            device.set_text(column, word, &mut contents.rounding)?;
        }
        open.rows += 1;
        Ok(())
    }

    /// Returns the time in a text; without one, the first report is at the midnight of the date in the head line.
    fn find_time(&mut self, text: &str, contents: &mut LogContents) -> Option<Timestamp> {
        let is_first = std::mem::take(&mut self.has_date);
        contents
            .times
            .find(text)
            .or_else(|| contents.times.midnight().filter(|_| is_first))
    }

    /// Ends the report that is being read, if there is one, and hands it out if it is complete.
    fn end_report(&mut self, contents: &mut LogContents) {
        let open = std::mem::take(&mut self.open);
        if open.tables.is_empty() {
            return;
        }
        let shape = Shape {
            tables: open.tables.len(),
            names: open
                .devices
                .iter()
                .map(|device| device.name.clone())
                .collect(),
        };
        let is_ended = open.columns.is_empty();
        let is_like_first = self.shape.as_ref().is_some_and(|first| *first == shape);
        let has_tables = self
            .shape
            .as_ref()
            .is_none_or(|first| first.tables == shape.tables);
        let is_full =
            is_like_first && !self.names_vary && open.rows > 0 && open.rows == open.devices.len();
        let is_complete = has_tables && (is_ended || is_full) && !open.is_damaged;
        self.names_vary |= is_ended && self.shape.is_some() && !is_like_first;
        let time = self.time.take().unwrap_or(open.prefix);
        let begins = !std::mem::replace(&mut self.follows, true);
        let at = self.find_time(&time, contents);
        contents.reports.push_back(Report {
            at,
            begins: begins || !is_complete,
            has_length: begins && is_complete && self.is_boot_left_out,
            devices: open.devices,
        });
        if self.shape.is_none() {
            self.shape = Some(shape);
        }
    }

    /// Takes an element of the list of reports in JSON.
    fn read_element(&mut self, element: &Value, contents: &mut LogContents) {
        let Some(disks) = element["disk"].as_array() else {
            return;
        };
        let devices = disks.iter().filter_map(|disk| {
            let name = disk["disk_device"].as_str()?.to_owned();
            let mut device = LoggedDevice {
                name,
                ..LoggedDevice::default()
            };
            for (column, value) in disk.as_object()? {
                // Other columns, and those whose counters went backwards, do not matter.
                let _ = device.set_text(column, &value.to_string(), &mut contents.rounding);
            }
            Some(device)
        });
        let devices = devices.collect();
        let prefix = std::mem::take(&mut contents.prefix);
        let at = self.find_time(element["timestamp"].as_str().unwrap_or(&prefix), contents);
        let begins = !std::mem::replace(&mut self.follows, true);
        contents.reports.push_back(Report {
            at,
            begins,
            has_length: begins && self.is_boot_left_out,
            devices,
        });
    }

    /// Reads the part of the JSON document before its list of reports.
    fn read_json_head(&mut self, host: &Value, contents: &mut LogContents) {
        contents.host = host_of_json(host);
        // JSON leaves out zeros at the end.
        contents.rounding.digits = 2;
        contents
            .times
            .begin(host["date"].as_str().unwrap_or_default());
        (self.follows, self.has_date) = (false, true);
    }
}

impl LogFormat for IostatLog {
    fn read(&mut self, line: &str, contents: &mut LogContents) -> Result<(), String> {
        if !self.json.is_json(line) {
            return self.read_text(line, contents);
        }
        for part in self.json.read(line)? {
            match part {
                JsonPart::Host(host, is_boot_left_out) => {
                    self.read_json_head(&host, contents);
                    self.is_boot_left_out = is_boot_left_out;
                }
                JsonPart::Element(element) => self.read_element(&element, contents),
            }
        }
        Ok(())
    }

    fn finish(&mut self, contents: &mut LogContents) {
        self.end_report(contents);
        // Only a complete report ends an interval, and none follows.
        contents
            .reports
            .retain(|report| !report.begins || report.has_length);
    }
}

/// Returns the columns of a line that begins a table of devices, without that of the names, and whether that is the last.
pub(super) fn header(words: &[&str]) -> Option<(Vec<String>, bool)> {
    let (first, last) = (words.first()?, words.last()?);
    let is_name_last = last.starts_with("Device");
    let is_name_first =
        !is_name_last && number(first).is_none() && !first.contains('/') && !first.contains(':')
            || first.trim_end_matches(':') == "Device";
    let columns = if is_name_last {
        &words[..words.len() - 1]
    } else {
        &words[1..]
    };
    let has_rates = columns.iter().any(|column| LoggedDevice::is_rate(column));
    let has_numbers = columns.iter().any(|word| number(word).is_some());
    // The tables of sar look similar.
    let is_of_sar = words.contains(&"DEV");
    let is_header = (is_name_first || is_name_last) && has_rates && !has_numbers && !is_of_sar;
    is_header.then(|| {
        (
            columns.iter().map(|column| (*column).to_owned()).collect(),
            is_name_last,
        )
    })
}
