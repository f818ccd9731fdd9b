//! The columns of pt-diskstats, as data, and the layout of its lines.

use std::io::Write;

use crate::pt_diskstats::options::GroupBy;
use crate::pt_diskstats::rates::PtRates;
use crate::report::layout::fixed_decimal::push_fixed;
use crate::sanitize::sanitize;

struct Column {
    /// The title, with its leading blanks.
    title: &'static str,
    width: usize,
    decimals: usize,
    is_percentage: bool,
    value: fn(&PtRates) -> f64,
}

/// A column with one decimal.
const fn tenths(title: &'static str, width: usize, value: fn(&PtRates) -> f64) -> Column {
    Column { title, width, decimals: 1, is_percentage: false, value }
}

/// A column of whole percent.
const fn percent(title: &'static str, width: usize, value: fn(&PtRates) -> f64) -> Column {
    Column { title, width, decimals: 0, is_percentage: true, value }
}

/// A column of whole numbers.
const fn whole(title: &'static str, width: usize, value: fn(&PtRates) -> f64) -> Column {
    Column { title, width, decimals: 0, is_percentage: false, value }
}

const COLUMNS: [Column; 17] = [
    tenths("   rd_s", 7, |r| r.reads.per_s),
    tenths("rd_avkb", 7, |r| r.reads.size_kib),
    tenths("rd_mb_s", 7, |r| r.reads.mib_per_s),
    percent("rd_mrg", 5, |r| r.reads.merge_pct),
    tenths("rd_cnc", 6, |r| r.reads.concurrency),
    tenths("  rd_rt", 7, |r| r.reads.response_ms),
    tenths("   wr_s", 7, |r| r.writes.per_s),
    tenths("wr_avkb", 7, |r| r.writes.size_kib),
    tenths("wr_mb_s", 7, |r| r.writes.mib_per_s),
    percent("wr_mrg", 5, |r| r.writes.merge_pct),
    tenths("wr_cnc", 6, |r| r.writes.concurrency),
    tenths("  wr_rt", 7, |r| r.writes.response_ms),
    percent("busy", 3, |r| r.busy_pct),
    whole("in_prg", 6, |r| r.in_progress),
    tenths("   io_s", 7, |r| r.per_s),
    tenths(" qtime", 6, |r| r.queue_ms),
    tenths("stime", 5, |r| r.service_ms),
];

/// The width of the device column, unless a name is longer.
const DEVICE_WIDTH: usize = 6;

/// The layout of lines: the selected columns, and the widths of the first two.
pub(crate) struct Table {
    columns: Vec<&'static Column>,
    /// Their titles, as in the header line.
    titles: String,
    /// The first column is the time of day.
    has_timestamps: bool,
    device_width: usize,
}

pub(crate) struct Row<'a> {
    /// The text of the first column.
    pub(crate) time: &'a str,
    /// The name of the device, or the number of devices in braces.
    pub(crate) device: &'a str,
    pub(crate) rates: &'a PtRates,
}

impl Table {
    /// Returns the layout with all columns, and with or without times of day.
    pub(crate) fn new(has_timestamps: bool) -> Self {
        let mut table =
            Self { columns: Vec::new(), titles: String::new(), has_timestamps, device_width: DEVICE_WIDTH };
        table.select_columns(|_| true);
        table
    }

    /// Selects the columns whose titles match, with or without their leading blanks.
    pub(crate) fn select_columns(&mut self, matches: impl Fn(&str) -> bool) {
        let is_selected = |column: &&Column| matches(column.title) || matches(column.title.trim_start());
        self.columns = COLUMNS.iter().filter(is_selected).collect();
        self.titles = self.columns.iter().map(|column| column.title).collect::<Vec<_>>().join(" ");
    }

    /// Widens the device column permanently if a name does not fit.
    pub(crate) fn widen_for(&mut self, name: &str) {
        self.device_width = self.device_width.max(name.len());
    }

    /// Appends the header line. When grouping by sample its device column is not widened; the header that a key
    /// requests is instead not widened when grouping by disk.
    pub(crate) fn push_header(&self, group_by: GroupBy, by_key: bool, out: &mut Vec<u8>) {
        let narrow = if by_key { GroupBy::Disk } else { GroupBy::Sample };
        let width = if group_by == narrow { DEVICE_WIDTH } else { self.device_width };
        // Writing to a Vec cannot fail.
        let (time, titles) = (self.time_width(), &self.titles);
        let _ = writeln!(out, "{:>time$} {:<width$} {titles}", "#ts", "device");
    }

    pub(crate) fn push_row(&self, group_by: GroupBy, row: &Row<'_>, out: &mut Vec<u8>) {
        let width = if group_by == GroupBy::Sample { DEVICE_WIDTH } else { self.device_width };
        let name = sanitize(row.device);
        // A time has only characters of one byte. pt-diskstats counts the bytes of a name as its width, too.
        out.resize(out.len() + self.time_width().saturating_sub(row.time.len()), b' ');
        out.extend_from_slice(row.time.as_bytes());
        out.push(b' ');
        out.extend_from_slice(name.as_bytes());
        out.resize(out.len() + width.saturating_sub(name.len()), b' ');
        if self.columns.is_empty() {
            out.push(b' ');
        }
        for column in &self.columns {
            out.push(b' ');
            push_fixed(out, (column.value)(row.rates), column.width, column.decimals);
            if column.is_percentage {
                out.push(b'%');
            }
        }
        out.push(b'\n');
    }

    fn time_width(&self) -> usize {
        if self.has_timestamps { 8 } else { 5 }
    }
}
