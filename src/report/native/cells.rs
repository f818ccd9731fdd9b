//! Single cells and lines of the table, for outputs that arrange them differently.

use jiff::tz::TimeZone;

use super::columns::{COLUMNS, Column};
use super::header_line::header_line;
use super::messages::Message;
use super::sort_key::MORE_KEYS;
use super::style::Emphasis;
use super::who_line::who_line;
use crate::attribution::Attribution;
use crate::intervals::{DeviceActivity, DeviceState, IntervalHeader};
use crate::report::layout::number_format::{multiple, number};

pub(crate) type Cell = (String, Emphasis);

/// Returns the cell of a column, by its title or by the name of a sort key: as in the table, `-` without a value.
/// Latencies are emphasized from `saturation_threshold`, a multiple of unloaded latency.
pub(crate) fn cell(title: &str, activity: &DeviceActivity, saturation_threshold: f64) -> Cell {
    let column = COLUMNS.iter().find(|column| column.title == title);
    let text = match column {
        Some(column) => text_of(column, activity),
        None => MORE_KEYS.iter().find(|(name, _)| *name == title).and_then(|(name, quantity)| {
            quantity(activity).map(|value| match *name {
                "MB/s" => number(value / 1024.0),
                "sat" => multiple(value),
                _ => number(value),
            })
        }),
    };
    match (text, column) {
        (None, _) => ("-".to_owned(), Emphasis::Dim),
        (Some(zero), _) if zero == "0" || zero == "0%" => (zero, Emphasis::Dim),
        (Some(text), Some(column)) => (text, (column.emphasis)(activity, saturation_threshold)),
        (Some(text), None) => (text, Emphasis::Plain),
    }
}

fn text_of(column: &Column, activity: &DeviceActivity) -> Option<String> {
    let mut text = Vec::new();
    column.push_cell(&mut text, activity, usize::MAX)?;
    // Digits, units and the names of verdicts are always valid UTF-8.
    String::from_utf8(text).ok()
}

/// Returns the text that replaces the cells of a device without any, in at most `width` columns if one of its variants
/// is that short; `None` for a device with cells.
pub(crate) fn state_message(state: &DeviceState, width: usize) -> Option<Cell> {
    let Message { texts, emphasis } = Message::for_state(state)?;
    let fitting = texts.iter().find(|text| text.chars().count() <= width).or(texts.last())?;
    Some((fitting.clone(), emphasis))
}

/// Returns the segments of the line above the devices: the time of day with the length of the interval, and as much of
/// the host as fits into `width`.
pub(crate) fn host_segments(header: &IntervalHeader, time_zone: &TimeZone, width: usize) -> Vec<Cell> {
    header_line(header, time_zone, width)
}

/// Returns the line about the cgroups that use a device, by the kernel's name, and the tasks that are blocked; `None`
/// if neither is known.
pub(crate) fn usage_line(device: &str, attribution: &Attribution) -> Option<String> {
    who_line(device, attribution)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::{Completed, Interval};

    #[test]
    fn cells_are_those_of_the_table_and_of_the_sort_keys() {
        let reads = Completed::example(1.0, 2000, 1.5);
        let writes = Completed { sectors: 4480, ..Completed::example(1.0, 0, 0.0) };
        let stats = Interval { reads, writes, ..Interval::default() };
        let activity = DeviceActivity { stats, ..DeviceActivity::default() };
        let text = |title: &str| cell(title, &activity, 3.0).0;
        assert_eq!(text("r/s"), "2000");
        assert_eq!(text("w/s"), "0");
        assert_eq!(text("MB/s"), "10.0");
        assert_eq!(text("r_await"), "1.50ms");
        assert_eq!(text("w_await"), "-");
        assert_eq!(text("no such column"), "-");
    }
}
