//! The text of `sar -d`: tables of devices, each row with its time, in any version of sysstat since 9.
//!
//! The head of a table has the time at which its first interval begins.

use jiff::Timestamp;

use super::contents::{LogContents, LogFormat};
use super::report::LoggedDevice;
use super::timed_rows::TimedRows;
use crate::capture::diskstats_line::excerpt;
use crate::capture::normal::clock::Clock;
use crate::capture::normal::first_lines::{head_line, number, words_before_table_of_sar};
use crate::capture::normal::log_lines::LogLine;

/// The table whose rows are read.
struct Table {
    /// The number of words of a time.
    time_words: usize,
    /// The words of the head after the time.
    columns: Vec<String>,
    /// The text of the time in the head, until the first row shows its order, and the time.
    head: Option<String>,
    start: Option<Timestamp>,
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
    /// Returns the table that a line begins.
    fn new(words: &[&str]) -> Option<Self> {
        let time_words = words_before_table_of_sar(words)?;
        let (time, names) = words.split_at(time_words);
        let mut columns = Vec::new();
        for name in names {
            columns.push((*name).to_owned());
        }
        Some(Self {
            time_words,
            columns,
            head: Some(time.join(" ")),
            start: None,
        })
    }

    /// Takes a row of the table. Returns whether it is one.
    fn read_row(
        &mut self,
        words: &[&str],
        rows: &mut TimedRows,
        contents: &mut LogContents,
    ) -> Result<bool, String> {
        for word in words {
            contents.clock.observe_number(word);
        }
        if let Some(start) = self.head.take() {
            self.start = contents.clock.read(&start);
        }
        let before = words.get(..self.time_words).unwrap_or_default();
        let Some(at) = time(before, &mut contents.clock) else {
            // The averages follow the rows.
            let rates = self.columns.len() - 1;
            let numbers = words.iter().skip(1).filter(|word| number(word).is_some());
            if numbers.count() < rates {
                return Err(wrong_row(words));
            }
            return Ok(false);
        };
        let values = &words[self.time_words..];
        let (found, expected) = (values.len(), self.columns.len());
        let mut device = LoggedDevice::default();
        if found == expected {
            for (column, word) in self.columns.iter().zip(values) {
                match column.as_str() {
                    DEVICE => device.name = (*word).to_owned(),
                    column => contents.set(&mut device, column, word),
                }
            }
        } else {
            let (Some(DEVICE), Some(name)) =
                (self.columns.first().map(|name| &**name), values.first())
            else {
                return Err(wrong_row(words));
            };
            if !rows.names.contains(*name) {
                return Err(wrong_row(words));
            }
            device.name = (*name).to_owned();
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
    fn read(&mut self, line: &LogLine<'_>, contents: &mut LogContents) -> Result<(), String> {
        let line = &*line.text;
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
            self.table = Table::new(&words);
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
