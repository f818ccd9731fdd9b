//! The use of the devices as a table.

use jiff::tz::TimeZone;
use unicode_width::UnicodeWidthStr;

use super::WhoInterval;
use super::notes::interval_notes;
use super::table_rows::{CgroupRow, ProcessRow, cgroup_rows, process_rows, thread_rows};
use crate::report::latency::push_note;
use crate::report::layout::{Align, Spacing, ellipsize, plain_table};

const SPACING: Spacing = Spacing { gap: 2, indent: 0 };
/// The least width of the name of a cgroup.
const MIN_NAME_WIDTH: usize = 12;

/// Appends the table of an interval. Its lines are at most `width` columns wide, unless the numbers alone are wider:
/// names of cgroups, and then those of threads, are shortened in the middle.
pub(super) fn table(interval: &WhoInterval<'_>, width: usize, time_zone: &TimeZone, out: &mut Vec<u8>) {
    let header = interval.header;
    let time = header.end.map(|end| end.to_zoned(time_zone.clone()).strftime("%H:%M:%S").to_string());
    let title = format!("{}  {:.3}s\n", time.unwrap_or_else(|| "--:--:--".to_owned()), header.elapsed_s);
    out.extend_from_slice(title.as_bytes());
    let cgroups: Vec<CgroupRow> = interval.devices.iter().flat_map(cgroup_rows).collect();
    if !cgroups.is_empty() {
        let titles = ["device, cgroup", "r/s", "w/s", "rMB/s", "wMB/s", "share", "limit"];
        let numbers = cgroups.iter().map(|row| row.cells.clone());
        // The first column gets the width that the others leave.
        let taken = width_of(&titles[1..], numbers.clone());
        let name_width = width.saturating_sub(taken).max(MIN_NAME_WIDTH);
        let names = cgroups.iter().map(|row| {
            let indent = if row.is_device { 0 } else { 2 };
            format!("{:indent$}{}", "", ellipsize(&row.name, name_width - indent))
        });
        let rows = names.zip(numbers).map(|(name, cells)| [name].into_iter().chain(cells).collect());
        let right = Align::Right;
        let aligns = [Align::Left, right, right, right, right, right, Align::Left];
        plain_table(&titles, &aligns, rows, SPACING, out);
    }
    threads(interval, width, out);
    processes(interval, width, out);
    for note in interval_notes(interval) {
        push_note(&note, width, "", "", out);
    }
    out.push(b'\n');
}

/// Appends the threads that submitted I/O.
fn threads(interval: &WhoInterval<'_>, width: usize, out: &mut Vec<u8>) {
    let rows: Vec<ProcessRow> = thread_rows(interval);
    if rows.is_empty() {
        return;
    }
    let titles = ["process", "device", "pid", "r/s", "w/s", "rMB/s", "wMB/s", "cgroup"];
    let cells = |row: &ProcessRow| row.cells.clone();
    let taken = width_of(&titles[..7], rows.iter().map(cells));
    // Threads that have ended, and those of the kernel, have no cgroup.
    let cgroups = rows.iter().map(|row| row.cgroup.width()).max().unwrap_or(0).max(titles[7].width());
    let min_cgroup_width = cgroups.min(MIN_NAME_WIDTH);
    let cgroup_width = width.saturating_sub(taken).max(min_cgroup_width);
    // Names of threads may be long if the kernel's work is appended.
    let names = rows.iter().map(|row| row.cells[0].width()).max().unwrap_or(0);
    let excess = (taken + min_cgroup_width).saturating_sub(width);
    let name_width = names.saturating_sub(excess).max(MIN_NAME_WIDTH);
    let rows = rows.iter().map(|row| {
        let name = ellipsize(&row.cells[0], name_width);
        let numbers = row.cells[1..].iter().cloned();
        [name]
            .into_iter()
            .chain(numbers)
            .chain([ellipsize(&row.cgroup, cgroup_width)])
            .collect::<Vec<String>>()
    });
    let right = Align::Right;
    let aligns = [Align::Left, Align::Left, right, right, right, right, right, Align::Left];
    plain_table(&titles, &aligns, rows, SPACING, out);
}

fn processes(interval: &WhoInterval<'_>, width: usize, out: &mut Vec<u8>) {
    let rows: Vec<ProcessRow> = process_rows(interval);
    if rows.is_empty() {
        return;
    }
    let titles = ["process, all devices", "pid", "state", "rMB/s", "wMB/s", "delay", "cgroup"];
    let cells = |row: &ProcessRow| row.cells.clone();
    let taken = width_of(&titles[..6], rows.iter().map(cells));
    let name_width = width.saturating_sub(taken).max(MIN_NAME_WIDTH);
    let rows = rows.iter().map(|row| {
        row.cells.iter().cloned().chain([ellipsize(&row.cgroup, name_width)]).collect::<Vec<String>>()
    });
    let right = Align::Right;
    let aligns = [Align::Left, right, Align::Left, right, right, right, Align::Left];
    plain_table(&titles, &aligns, rows, SPACING, out);
}

/// Returns the width of columns with the gap next to each.
fn width_of(titles: &[&str], rows: impl Iterator<Item = Vec<String>>) -> usize {
    let mut widths: Vec<usize> = titles.iter().map(|title| title.width()).collect();
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.width());
        }
    }
    widths.iter().map(|width| width + usize::from(SPACING.gap)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::intervals::{IntervalHeader, TracedThread};
    use crate::report::who::{WhoFormat, WhoWriter};

    #[test]
    fn threads_are_shown_by_device_in_the_width() {
        let thread = |comm: &str, tid, cgroup: Option<&str>| TracedThread {
            device: "dm-0".to_owned(),
            tid,
            comm: comm.into(),
            cgroup: cgroup.map(Into::into),
            writes: 10,
            write_bytes: 40_960,
            ..TracedThread::default()
        };
        let threads = [
            thread("fio", 812, Some("/system.slice/a-service-with-a-long-name.service")),
            thread("kworker/u8:1", 41, None),
        ];
        let header = IntervalHeader::default();
        let interval = WhoInterval {
            header: &header,
            attribution: None,
            unread_s: 0.0,
            devices: Vec::new(),
            processes: Vec::new(),
            threads: Some((threads.iter().collect(), 1.0)),
        };
        let printed = |format| {
            let mut out = Vec::new();
            WhoWriter::new(format, 80, TimeZone::UTC).push(&interval, &mut out);
            String::from_utf8(out).unwrap()
        };
        for width in [70, 90] {
            let table = printed(WhoFormat::Table(Some(width)));
            assert!(table.contains(" device ") && !table.contains("process, all devices"), "{table}");
            assert!(table.lines().all(|line| line.width() <= width), "{table}");
            assert_eq!(table.contains("\nkworker/u8:1 (writeback) "), width == 90, "{table}");
        }
        let json = printed(WhoFormat::Json);
        assert!(json.contains("\"device\":\"dm-0\"") && json.contains("\"comm\":\"fio\""), "{json}");
    }
}
