//! The text of `sar -d`: tables of devices, each row with its time, in any version of sysstat since 9.
//!
//! The head of a table has the time at which its first interval begins.

use jiff::Timestamp;

use super::report::LoggedDevice;
use super::text::{LogContents, LogFormat};
use super::timed_rows::TimedRows;
use crate::capture::diskstats_line::excerpt;
use crate::capture::normal::clock::Clock;
use crate::capture::normal::first_lines::{head_line, number};
use crate::capture::normal::log_lines::LogLine;
use crate::capture::normal::time_form::find_time;

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
                    column => contents.set(&mut device, column, word),
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
