//! The columns of pt-diskstats, as data, and the layout of its lines.

use std::io::Write;

use crate::pt_diskstats::options::GroupBy;
use crate::pt_diskstats::rates::PtRates;
use crate::report::layout::fixed_decimal::push_fixed;
use crate::sanitize::sanitize;

/// The format of the numbers in a column, with their width.
#[derive(Clone, Copy)]
enum NumberFormat {
    /// One decimal.
    Tenths(usize),
    /// Whole percent, followed by a percent sign.
    Percent(usize),
    /// A whole number.
    Whole(usize),
}

struct Column {
    /// The title, with its leading blanks.
    title: &'static str,
    format: NumberFormat,
    value: fn(&PtRates) -> f64,
}

const fn column(title: &'static str, format: NumberFormat, value: fn(&PtRates) -> f64) -> Column {
    Column { title, format, value }
}

use NumberFormat::{Percent, Tenths, Whole};

const COLUMNS: [Column; 17] = [
    column("   rd_s", Tenths(7), |r| r.reads.per_s),
    column("rd_avkb", Tenths(7), |r| r.reads.size_kib),
    column("rd_mb_s", Tenths(7), |r| r.reads.mib_per_s),
    column("rd_mrg", Percent(5), |r| r.reads.merge_pct),
    column("rd_cnc", Tenths(6), |r| r.reads.concurrency),
    column("  rd_rt", Tenths(7), |r| r.reads.response_ms),
    column("   wr_s", Tenths(7), |r| r.writes.per_s),
    column("wr_avkb", Tenths(7), |r| r.writes.size_kib),
    column("wr_mb_s", Tenths(7), |r| r.writes.mib_per_s),
    column("wr_mrg", Percent(5), |r| r.writes.merge_pct),
    column("wr_cnc", Tenths(6), |r| r.writes.concurrency),
    column("  wr_rt", Tenths(7), |r| r.writes.response_ms),
    column("busy", Percent(3), |r| r.busy_pct),
    column("in_prg", Whole(6), |r| r.in_progress),
    column("   io_s", Tenths(7), |r| r.per_s),
    column(" qtime", Tenths(6), |r| r.queue_ms),
    column("stime", Tenths(5), |r| r.service_ms),
];

/// Width of the device column, unless a longer name was seen.
const DEVICE_WIDTH: usize = 6;

/// The layout of lines: the selected columns, and the widths of the first two.
pub(crate) struct Table {
    columns: Vec<&'static Column>,
    /// The first column is the time of day.
    has_timestamps: bool,
    device_width: usize,
}

/// One line of numbers.
pub(crate) struct Row<'a> {
    /// The text of the first column.
    pub(crate) time: &'a str,
    /// The name of the device, or the number of devices in braces.
    pub(crate) device: &'a str,
    /// The numbers.
    pub(crate) rates: PtRates,
}

impl Table {
    /// Returns the layout with all columns, and with or without times of day.
    pub(crate) fn new(has_timestamps: bool) -> Self {
        Self { columns: COLUMNS.iter().collect(), has_timestamps, device_width: DEVICE_WIDTH }
    }

    /// Selects the columns whose titles match, with or without their leading blanks.
    pub(crate) fn select_columns(&mut self, matches: impl Fn(&str) -> bool) {
        let is_selected = |column: &&Column| matches(column.title) || matches(column.title.trim_start());
        self.columns = COLUMNS.iter().filter(is_selected).collect();
    }

    /// Widens the device column for good if a name does not fit.
    pub(crate) fn widen_for(&mut self, name: &str) {
        self.device_width = self.device_width.max(name.len());
    }

    /// Appends the header line. When grouping by sample its device column is not widened; the header that a key
    /// requests is instead not widened when grouping by disk.
    pub(crate) fn push_header(&self, group_by: GroupBy, by_key: bool, out: &mut Vec<u8>) {
        let narrow = if by_key { GroupBy::Disk } else { GroupBy::Sample };
        let width = if group_by == narrow { DEVICE_WIDTH } else { self.device_width };
        // Writing to a Vec cannot fail, here and below.
        let _ = write!(out, "{:>time$} {:<width$} ", "#ts", "device", time = self.time_width());
        for (index, column) in self.columns.iter().enumerate() {
            let _ = write!(out, "{}{}", if index > 0 { " " } else { "" }, column.title);
        }
        out.push(b'\n');
    }

    /// Appends a line of numbers.
    pub(crate) fn push_row(&self, group_by: GroupBy, row: &Row<'_>, out: &mut Vec<u8>) {
        let width = if group_by == GroupBy::Sample { DEVICE_WIDTH } else { self.device_width };
        let name = sanitize(row.device);
        // A time has only characters of one byte. pt-diskstats counts the bytes of a name as its width, too.
        out.resize(out.len() + self.time_width().saturating_sub(row.time.len()), b' ');
        out.extend_from_slice(row.time.as_bytes());
        out.push(b' ');
        out.extend_from_slice(name.as_bytes());
        out.resize(out.len() + width.saturating_sub(name.len()) + 1, b' ');
        for (index, column) in self.columns.iter().enumerate() {
            if index > 0 {
                out.push(b' ');
            }
            let value = (column.value)(&row.rates);
            match column.format {
                Tenths(width) => push_fixed(out, value, width, 1),
                Whole(width) => push_fixed(out, value, width, 0),
                Percent(width) => {
                    push_fixed(out, value, width, 0);
                    out.push(b'%');
                }
            }
        }
        out.push(b'\n');
    }

    fn time_width(&self) -> usize {
        if self.has_timestamps { 8 } else { 5 }
    }
}
