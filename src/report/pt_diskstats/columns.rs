//! The columns of pt-diskstats, as data, and its lines.

use std::io::Write;

use super::GroupBy;
use crate::metrics::PtRates;
use crate::report::layout::fixed_decimal::push_fixed;
use crate::sanitize::sanitize;

/// How a column is written.
#[derive(Clone, Copy)]
enum Form {
    /// With one decimal, in this width.
    Tenths(usize),
    /// Whole percent in this width, and a percent sign.
    Percent(usize),
    /// A whole number in this width.
    Whole(usize),
}

struct Column {
    /// Its title, with the blanks before it.
    title: &'static str,
    form: Form,
    value: fn(&PtRates) -> f64,
}

const fn column(title: &'static str, form: Form, value: fn(&PtRates) -> f64) -> Column {
    Column { title, form, value }
}

use Form::{Percent, Tenths, Whole};

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

/// Width of the column of devices, unless a longer name was seen.
const DEVICE_WIDTH: usize = 6;

/// Where lines are laid out: which columns, and how wide the first two are.
pub struct Table {
    columns: Vec<&'static Column>,
    /// Times of day stand in the first column.
    timestamps: bool,
    device_width: usize,
}

/// A line of numbers.
pub struct Line {
    /// The first column.
    pub time: String,
    /// The device, or the number of devices in braces.
    pub device: String,
    /// The numbers.
    pub rates: PtRates,
}

impl Table {
    /// A table with times of day, or without.
    pub fn new(timestamps: bool) -> Self {
        Self { columns: COLUMNS.iter().collect(), timestamps, device_width: DEVICE_WIDTH }
    }

    /// Leaves only the columns whose names match, with the blanks of their titles or without.
    pub fn keep(&mut self, matches: &dyn Fn(&str) -> bool) {
        let is_kept = |column: &&Column| matches(column.title) || matches(column.title.trim_start());
        self.columns = COLUMNS.iter().filter(is_kept).collect();
    }

    /// Makes room for a device's name; it stays.
    pub fn make_room(&mut self, name: &str) {
        self.device_width = self.device_width.max(name.len());
    }

    /// The header line. The one that a key asks for is as narrow in `disk` as lines are in `sample`.
    pub fn push_header(&self, group_by: GroupBy, by_key: bool, out: &mut Vec<u8>) {
        let narrow = if by_key { GroupBy::Disk } else { GroupBy::Sample };
        let width = if group_by == narrow { DEVICE_WIDTH } else { self.device_width };
        // Writing to a Vec cannot fail, here and below.
        let _ = write!(out, "{:>time$} {:<width$} ", "#ts", "device", time = self.time_width());
        for (number, column) in self.columns.iter().enumerate() {
            let _ = write!(out, "{}{}", if number > 0 { " " } else { "" }, column.title);
        }
        out.push(b'\n');
    }

    /// A line of numbers.
    pub fn push_line(&self, group_by: GroupBy, line: &Line, out: &mut Vec<u8>) {
        let width = if group_by == GroupBy::Sample { DEVICE_WIDTH } else { self.device_width };
        let name = sanitize(&line.device);
        let _ = write!(out, "{:>time$} {name}", line.time, time = self.time_width());
        // A name takes as many columns as it has bytes.
        out.resize(out.len() + width.saturating_sub(name.len()) + 1, b' ');
        for (number, column) in self.columns.iter().enumerate() {
            if number > 0 {
                out.push(b' ');
            }
            let value = (column.value)(&line.rates);
            match column.form {
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
        if self.timestamps { 8 } else { 5 }
    }
}
