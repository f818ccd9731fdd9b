//! Text and JSON of sysstat's `iostat`, of any version since 9: columns are known by their names.

use jiff::Timestamp;
use serde_json::Value;

use super::json::{JsonElements, JsonPart};
use super::{LogContents, LogFormat, LoggedDevice, Report, host_of_json};
use crate::capture::normal::first_lines::{TableHead, head_line};
use crate::capture::normal::time_form::find_time;

/// A log of iostat.
#[derive(Default)]
pub(super) struct IostatLog {
    /// No report has the date in the head line yet.
    has_date: bool,
    /// The line with a time before the report that is being read.
    time: Option<String>,
    /// The time before the head line, at which the run began.
    run_at: Option<Timestamp>,
    /// The next report is not the first of a run, which has averages since boot.
    follows: bool,
    open: OpenReport,
    /// The first report of the run.
    shape: Option<Shape>,
    /// The first report of the run before.
    shape_before: Option<Shape>,
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
    /// The devices of that table so far.
    rows: Vec<String>,
    /// The name on a line of its own, before its numbers.
    name: Option<String>,
    is_name_last: bool,
    /// A line has no device that is known.
    has_lost_lines: bool,
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
        // The last line of a run that was killed has no end.
        let head = line
            .find("Linux ")
            .filter(|at| head_line(&line[*at..]).is_some());
        if let Some(at) = head.filter(|at| *at > 0) {
            self.open.has_lost_lines = true;
            return self.read_text(&line[at..], contents);
        }
        if let Some((host, rest)) = head_line(line) {
            self.end_report(contents);
            contents.clock.begin(rest);
            let time = self.time.take();
            self.run_at = time.and_then(|time| contents.clock.read(&time));
            self.shape_before = self.shape.take().or(self.shape_before.take());
            (contents.host, self.has_date, self.follows) = (host, true, false);
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
        if let Some(TableHead {
            columns,
            is_name_last,
        }) = TableHead::of_iostat(&words)
        {
            // A doubled line.
            if self.open.columns == columns && self.open.rows.is_empty() {
                return Ok(());
            }
            if self.open.tables.contains(&columns) {
                self.end_report(contents);
            }
            if self.open.tables.is_empty() {
                self.open.prefix.clone_from(&contents.prefix);
            }
            self.open.tables.push(columns.clone());
            self.open.rows.clear();
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
            if !is_total {
                self.read_row(&words, contents);
            }
            return Ok(());
        }
        if is_time {
            self.end_report(contents);
            self.time = Some(line.to_owned());
        }
        Ok(())
    }

    /// Takes a line of a table.
    fn read_row(&mut self, words: &[&str], contents: &mut LogContents) {
        let open = &mut self.open;
        let (name, numbers) = match (words, open.name.take()) {
            // A long name has a line of its own.
            ([name], _) if open.columns.len() > 1 => {
                open.name = Some((*name).to_owned());
                return;
            }
            (numbers, Some(name)) if numbers.len() == open.columns.len() => (name, numbers),
            ([numbers @ .., name], _) if open.is_name_last => ((*name).to_owned(), numbers),
            ([name, numbers @ ..], _) => ((*name).to_owned(), numbers),
            ([], _) => return,
        };
        let (found, expected) = (numbers.len(), open.columns.len());
        if found != expected {
            let is_known = |shape: &Shape| shape.names.contains(&name);
            let is_device = self.shape.as_ref().is_some_and(is_known);
            open.has_lost_lines |= !is_device;
            contents.warnings.push(format!(
                "{found} numbers after the device, expected {expected}; its values are not known"
            ));
            if is_device && !open.rows.contains(&name) {
                open.rows.push(name.clone());
                open.devices.push(LoggedDevice::new(name));
            }
            return;
        }
        if open.rows.contains(&name) {
            if !contents.facts.has_one_head || open.rows.first() != Some(&name) {
                contents.warn_of_repeated(&name);
                return;
            }
            // The head stands for all reports.
            let columns = std::mem::take(&mut open.columns);
            let (tables, is_name_last) = (open.tables.clone(), open.is_name_last);
            self.end_report(contents);
            self.open = OpenReport {
                tables,
                columns,
                is_name_last,
                prefix: contents.prefix.clone(),
                ..OpenReport::default()
            };
        }
        let open = &mut self.open;
        open.rows.push(name.clone());
        let device = match open
            .devices
            .iter_mut()
            .position(|device| device.name == name)
        {
            Some(at) => &mut open.devices[at],
            None => {
                open.devices.push(LoggedDevice::new(name));
                let last = open.devices.len() - 1;
                &mut open.devices[last]
            }
        };
        for (column, word) in open.columns.iter().zip(numbers) {
            contents.clock.observe_number(word);
            device.set_text(column, word, contents);
        }
    }

    /// Returns the time of a report in a text or before the head line; otherwise for the first report of a log, the midnight of
    /// its date.
    fn find_time(&mut self, text: &str, contents: &mut LogContents) -> [Option<Timestamp>; 2] {
        let is_first = std::mem::take(&mut self.has_date);
        let run_at = self.run_at.take();
        let at = contents.clock.read(text).or(run_at);
        let has_midnight = is_first && at.is_none();
        [
            at,
            has_midnight.then(|| contents.clock.midnight()).flatten(),
        ]
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
        let first = self.shape.as_ref().or(self.shape_before.as_ref());
        let is_like_first = first.is_some_and(|first| *first == shape);
        let has_tables = self
            .shape
            .as_ref()
            .is_none_or(|first| first.tables == shape.tables);
        let is_full = is_like_first
            && !self.names_vary
            && !open.rows.is_empty()
            && open.rows.len() == open.devices.len();
        let is_complete = has_tables && (is_ended || is_full);
        self.names_vary |= is_ended && self.shape.is_some() && !is_like_first;
        let time = self.time.take().unwrap_or(open.prefix);
        let begins = !std::mem::replace(&mut self.follows, true);
        let [at, midnight] = self.find_time(&time, contents);
        contents.reports.push_back(Report {
            at,
            midnight,
            begins: begins || !is_complete,
            has_length: begins && is_complete && self.is_boot_left_out,
            is_cut: !is_complete,
            has_lost_lines: open.has_lost_lines,
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
        let mut devices: Vec<LoggedDevice> = Vec::new();
        for disk in disks {
            let (Some(name), Some(values)) = (disk["disk_device"].as_str(), disk.as_object())
            else {
                continue;
            };
            if contents.is_repeated(&devices, name) {
                continue;
            }
            let mut device = LoggedDevice::new(name);
            for (column, value) in values.iter().filter(|(_, value)| !value.is_string()) {
                device.set_text(column, &value.to_string(), contents);
            }
            devices.push(device);
        }
        let prefix = std::mem::take(&mut contents.prefix);
        let [at, midnight] =
            self.find_time(element["timestamp"].as_str().unwrap_or(&prefix), contents);
        let begins = !std::mem::replace(&mut self.follows, true);
        contents.reports.push_back(Report {
            at,
            midnight,
            begins,
            has_length: begins && self.is_boot_left_out,
            devices,
            ..Report::default()
        });
    }

    /// Reads the part of the JSON document before its list of reports.
    fn read_json_head(&mut self, host: &Value, contents: &mut LogContents) {
        contents.host = host_of_json(host);
        // JSON leaves out zeros at the end.
        contents.rounding.digits = 2;
        contents
            .clock
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
        let has_single = contents.facts.has_single_intervals;
        contents
            .reports
            .retain(|report| !report.is_cut && (!report.begins || report.has_length || has_single));
    }
}
