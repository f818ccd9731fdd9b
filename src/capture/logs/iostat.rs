//! Text and JSON of sysstat's `iostat`, of any version since 9: columns are known by their names.

use jiff::Timestamp;
use serde_json::Value;

use super::contents::{LogContents, LogFormat};
use super::json::{JsonElements, JsonPart, host_of};
use super::report::{LoggedDevice, Report};
use crate::capture::normal::first_lines::{TableHead, head_line};
use crate::capture::normal::log_lines::LogLine;

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
    /// The text before its first line.
    before: String,
    devices: Vec<LoggedDevice>,
    /// The head of the table that is being read; without columns after its end.
    head: TableHead,
    /// The devices of that table so far.
    rows: Vec<String>,
    /// The name on a line of its own, before its numbers.
    name: Option<String>,
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
    fn read_text(&mut self, line: &LogLine<'_>, contents: &mut LogContents) {
        let text = &*line.text;
        let words: Vec<&str> = text.split_whitespace().collect();
        if words.is_empty() {
            return self.read_empty(contents);
        }
        if self.read_head(text, contents) {
            return;
        }
        self.is_boot_left_out |= self.lines_behind_head.take() == Some(2);
        if std::mem::take(&mut self.is_after_cpu_header) {
            return;
        }
        if words.contains(&"%iowait") {
            self.end_report(contents);
            self.is_after_cpu_header = true;
            return;
        }
        if let Some(head) = TableHead::of_iostat(&words) {
            return self.begin_table(head, line, contents);
        }
        // Collectors of logs leave out the empty line before a time.
        let columns = self.open.head.columns.len();
        if (columns == 0 || words.len() != columns + 1) && line.has_time() {
            self.end_report(contents);
            self.time = Some(text.to_owned());
            return;
        }
        // The total of a group is indented.
        let is_total =
            text.starts_with(' ') && !self.open.head.is_name_last && self.open.name.is_none();
        if columns > 0 && !is_total {
            self.read_row(&words, line, contents);
        }
    }

    fn read_empty(&mut self, contents: &mut LogContents) {
        self.lines_behind_head = self.lines_behind_head.map(|lines| lines + 1);
        self.open.head.columns.clear();
        // Of the first report it is not known how many tables it has.
        if let Some(shape) = &self.shape
            && shape.tables == self.open.tables.len()
        {
            self.end_report(contents);
        }
    }

    /// Takes a line if it is the first of a run; the last line of one that was killed has no end. Returns whether it is.
    fn read_head(&mut self, text: &str, contents: &mut LogContents) -> bool {
        let Some(at) = text.find("Linux ") else {
            return false;
        };
        let Some((host, rest)) = head_line(&text[at..]) else {
            return false;
        };
        self.open.has_lost_lines |= at > 0;
        self.end_report(contents);
        contents.clock.begin(rest);
        let time = self.time.take();
        self.run_at = time.and_then(|time| contents.clock.read(&time));
        self.shape_before = self.shape.take().or(self.shape_before.take());
        (contents.host, self.has_date, self.follows) = (host, true, false);
        (self.lines_behind_head, self.is_boot_left_out) = (Some(0), false);
        true
    }

    fn begin_table(&mut self, head: TableHead, line: &LogLine<'_>, contents: &mut LogContents) {
        // A doubled line.
        if self.open.head.columns == head.columns && self.open.rows.is_empty() {
            return;
        }
        if self.open.tables.contains(&head.columns) {
            self.end_report(contents);
        }
        let open = &mut self.open;
        if open.tables.is_empty() {
            open.before = line.before.to_string();
        }
        open.tables.push(head.columns.clone());
        open.rows.clear();
        (open.head, open.name) = (head, None);
    }

    /// Takes a line of a table.
    fn read_row(&mut self, words: &[&str], line: &LogLine<'_>, contents: &mut LogContents) {
        let open = &mut self.open;
        let expected = open.head.columns.len();
        let (name, numbers) = match (words, open.name.take()) {
            // A long name has a line of its own.
            ([name], _) if expected > 1 => {
                open.name = Some((*name).to_owned());
                return;
            }
            (numbers, Some(name)) if numbers.len() == expected => (name, numbers),
            ([numbers @ .., name], _) if open.head.is_name_last => ((*name).to_owned(), numbers),
            ([name, numbers @ ..], _) => ((*name).to_owned(), numbers),
            ([], _) => return,
        };
        if numbers.len() != expected {
            return self.read_damaged_row(name, numbers.len(), contents);
        }
        if open.rows.contains(&name) {
            if !contents.facts.has_one_head || open.rows.first() != Some(&name) {
                contents.warn_of_repeated(&name);
                return;
            }
            // The head stands for all reports.
            let next = OpenReport {
                tables: open.tables.clone(),
                head: std::mem::take(&mut open.head),
                ..OpenReport::default()
            };
            self.end_report(contents);
            self.open = next;
        }
        let open = &mut self.open;
        if contents.facts.has_one_head && open.rows.is_empty() {
            open.before = line.before.to_string();
        }
        open.rows.push(name.clone());
        // Another table may have had it.
        let known = open.devices.iter().position(|device| device.name == name);
        let index = known.unwrap_or(open.devices.len());
        if known.is_none() {
            open.devices.push(LoggedDevice::new(name));
        }
        for (column, word) in open.head.columns.iter().zip(numbers) {
            contents.clock.observe_number(word);
            contents.set(&mut open.devices[index], column, word);
        }
    }

    fn read_damaged_row(&mut self, name: String, found: usize, contents: &mut LogContents) {
        let open = &mut self.open;
        let is_device = self
            .shape
            .as_ref()
            .is_some_and(|shape| shape.names.contains(&name));
        open.has_lost_lines |= !is_device;
        contents.warnings.push(format!(
            "{found} numbers after the device, expected {}; its values are not known",
            open.head.columns.len()
        ));
        if is_device && !open.rows.contains(&name) {
            open.rows.push(name.clone());
            open.devices.push(LoggedDevice::new(name));
        }
    }

    /// Adds a report, whose time is in a text, or before the head line; otherwise the first report of a log has the midnight of
    /// its date.
    fn add(&mut self, time: &str, mut report: Report, contents: &mut LogContents) {
        let is_first = std::mem::take(&mut self.has_date);
        let run_at = self.run_at.take();
        report.at = contents.clock.read(time).or(run_at);
        if is_first && report.at.is_none() {
            report.midnight = contents.clock.midnight();
        }
        let begins = !std::mem::replace(&mut self.follows, true);
        report.begins = begins || report.is_cut;
        report.has_length = begins && !report.is_cut && self.is_boot_left_out;
        contents.reports.push_back(report);
    }

    /// Ends the report that is being read, if there is one, and hands it out if it is complete.
    fn end_report(&mut self, contents: &mut LogContents) {
        let open = std::mem::take(&mut self.open);
        if open.tables.is_empty() {
            return;
        }
        let mut shape = Shape {
            tables: open.tables.len(),
            names: Vec::new(),
        };
        for device in &open.devices {
            shape.names.push(device.name.clone());
        }
        let is_ended = open.head.columns.is_empty();
        let first = self.shape.as_ref().or(self.shape_before.as_ref());
        let is_like_first = first == Some(&shape);
        let has_tables = match &self.shape {
            Some(first) => first.tables == shape.tables,
            None => true,
        };
        let is_full = is_like_first
            && !self.names_vary
            && !open.rows.is_empty()
            && open.rows.len() == open.devices.len();
        self.names_vary |= is_ended && self.shape.is_some() && !is_like_first;
        let time = self.time.take().unwrap_or(open.before);
        let report = Report {
            is_cut: !(has_tables && (is_ended || is_full)),
            has_lost_lines: open.has_lost_lines,
            devices: open.devices,
            ..Report::default()
        };
        self.add(&time, report, contents);
        self.shape.get_or_insert(shape);
    }

    /// Takes an element of the list of reports in JSON.
    fn read_element(&mut self, element: &Value, before: &str, contents: &mut LogContents) {
        let Some(disks) = element["disk"].as_array() else {
            return;
        };
        let mut report = Report::default();
        for disk in disks {
            let (Some(name), Some(values)) = (disk["disk_device"].as_str(), disk.as_object())
            else {
                continue;
            };
            if contents.is_repeated(&report.devices, name) {
                continue;
            }
            let mut device = LoggedDevice::new(name);
            for (column, value) in values {
                if !value.is_string() {
                    contents.set(&mut device, column, &value.to_string());
                }
            }
            report.devices.push(device);
        }
        let time = element["timestamp"].as_str().unwrap_or(before);
        self.add(time, report, contents);
    }

    /// Reads the part of the JSON document before its list of reports.
    fn read_json_head(&mut self, document: &Value, contents: &mut LogContents) {
        contents.host = host_of(document);
        // JSON leaves out zeros at the end.
        contents.rounding.digits = 2;
        contents
            .clock
            .begin(document["date"].as_str().unwrap_or_default());
        (self.follows, self.has_date) = (false, true);
    }
}

impl LogFormat for IostatLog {
    fn read(&mut self, line: &LogLine<'_>, contents: &mut LogContents) -> Result<(), String> {
        if !self.json.is_json(&line.text) {
            self.read_text(line, contents);
            return Ok(());
        }
        for part in self.json.read(&line.text)? {
            match part {
                JsonPart::Host(document, is_boot_left_out) => {
                    self.read_json_head(&document, contents);
                    self.is_boot_left_out = is_boot_left_out;
                }
                JsonPart::Element(element) => self.read_element(&element, &line.before, contents),
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
