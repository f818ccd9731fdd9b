//! The text of pt-diskstats, byte for byte.

use std::io::Write;

use crate::fixed_decimal::push_fixed;
use crate::pt_diskstats::options::GroupBy;
use crate::pt_diskstats::rates::PtRates;
use crate::sanitize::sanitize;

/// Counts lines, and puts headers and blank lines between blocks of lines.
#[derive(Default)]
pub(crate) struct HeaderPager {
    /// `--headers group`: a blank line before a block of several lines.
    separates_groups: bool,
    /// `--headers scroll`: a header once the last one has scrolled off.
    follows_scrolling: bool,
    /// Rows of the screen, at least 1.
    screen_rows: usize,
    /// Lines on the current screen.
    lines: usize,
    /// Headers that are due because a screen is full.
    headers_due: usize,
    /// True if a header is due for another reason.
    pub(crate) is_header_forced: bool,
    pub(crate) was_header_last: bool,
}

impl HeaderPager {
    /// Returns a pager for a screen of this many rows, whose first block begins with a header.
    pub(crate) fn new(separates_groups: bool, follows_scrolling: bool, screen_rows: usize) -> Self {
        Self {
            separates_groups,
            follows_scrolling,
            screen_rows: screen_rows.max(1),
            is_header_forced: true,
            ..Self::default()
        }
    }

    /// Appends the header that a key requests.
    pub(crate) fn push_header(&mut self, table: &Table, group_by: GroupBy, out: &mut Vec<u8>) {
        table.push_header(group_by, true, out);
        self.lines += 1;
        self.was_header_last = true;
    }

    /// Appends the lines of one interval, or of all.
    pub(crate) fn push_block<'a>(
        &mut self,
        table: &Table,
        group_by: GroupBy,
        rows: impl ExactSizeIterator<Item = Row<'a>>,
        out: &mut Vec<u8>,
    ) {
        if rows.len() == 0 {
            // Only a forced header is printed without lines.
            if self.is_header_forced {
                self.is_header_forced = false;
                table.push_header(group_by, false, out);
                self.lines += 1;
                self.was_header_last = true;
            }
            return;
        }
        let has_blank = self.separates_groups && rows.len() > 1 && !self.was_header_last;
        let has_header = self.count(rows.len(), has_blank);
        if has_blank {
            out.push(b'\n');
        }
        if has_header {
            table.push_header(group_by, false, out);
        }
        for row in rows {
            table.push_row(group_by, &row, out);
        }
        self.was_header_last = false;
    }

    /// Counts a block of `rows` lines. Returns whether a header comes before it.
    fn count(&mut self, rows: usize, has_blank: bool) -> bool {
        let mut is_screen_full = false;
        let mut lines = 0;
        if self.follows_scrolling {
            lines = self.lines % self.screen_rows + usize::from(has_blank);
            if lines + 1 == self.screen_rows {
                self.headers_due += 1;
                lines += rows;
            } else if lines + rows >= self.screen_rows {
                self.headers_due += 1;
                is_screen_full = true;
            } else {
                lines += rows;
            }
        }
        let has_header = self.is_header_forced || self.headers_due > 0;
        if self.headers_due > 0 {
            self.headers_due -= 1;
        } else {
            self.is_header_forced = false;
        }
        lines += usize::from(has_header);
        self.lines = if is_screen_full { 0 } else { lines };
        has_header
    }
}

struct Column {
    /// The title, with its leading blanks.
    title: &'static str,
    width: usize,
    decimals: usize,
    is_percentage: bool,
    value: fn(&PtRates) -> f64,
}

const fn column(
    title: &'static str,
    width: usize,
    decimals: usize,
    is_percentage: bool,
    value: fn(&PtRates) -> f64,
) -> Column {
    Column {
        title,
        width,
        decimals,
        is_percentage,
        value,
    }
}

const COLUMNS: [Column; 17] = [
    column("   rd_s", 7, 1, false, |r| r.reads.per_s),
    column("rd_avkb", 7, 1, false, |r| r.reads.size_kib),
    column("rd_mb_s", 7, 1, false, |r| r.reads.mib_per_s),
    column("rd_mrg", 5, 0, true, |r| r.reads.merge_pct),
    column("rd_cnc", 6, 1, false, |r| r.reads.concurrency),
    column("  rd_rt", 7, 1, false, |r| r.reads.response_ms),
    column("   wr_s", 7, 1, false, |r| r.writes.per_s),
    column("wr_avkb", 7, 1, false, |r| r.writes.size_kib),
    column("wr_mb_s", 7, 1, false, |r| r.writes.mib_per_s),
    column("wr_mrg", 5, 0, true, |r| r.writes.merge_pct),
    column("wr_cnc", 6, 1, false, |r| r.writes.concurrency),
    column("  wr_rt", 7, 1, false, |r| r.writes.response_ms),
    column("busy", 3, 0, true, |r| r.busy_pct),
    column("in_prg", 6, 0, false, |r| r.in_progress),
    column("   io_s", 7, 1, false, |r| r.per_s),
    column(" qtime", 6, 1, false, |r| r.queue_ms),
    column("stime", 5, 1, false, |r| r.service_ms),
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
        let mut table = Self {
            columns: Vec::new(),
            titles: String::new(),
            has_timestamps,
            device_width: DEVICE_WIDTH,
        };
        table.select_columns(|_| true);
        table
    }

    /// Selects the columns whose titles match, with or without their leading blanks.
    pub(crate) fn select_columns(&mut self, matches: impl Fn(&str) -> bool) {
        let is_selected =
            |column: &&Column| matches(column.title) || matches(column.title.trim_start());
        self.columns = COLUMNS.iter().filter(is_selected).collect();
        self.titles = self
            .columns
            .iter()
            .map(|column| column.title)
            .collect::<Vec<_>>()
            .join(" ");
    }

    /// Widens the device column permanently if a name does not fit.
    pub(crate) fn widen_for(&mut self, name: &str) {
        self.device_width = self.device_width.max(name.len());
    }

    /// Appends the header line. When grouping by sample its device column is not widened; the header that a key
    /// requests is instead not widened when grouping by disk.
    pub(crate) fn push_header(&self, group_by: GroupBy, by_key: bool, out: &mut Vec<u8>) {
        let narrow = if by_key {
            GroupBy::Disk
        } else {
            GroupBy::Sample
        };
        let width = if group_by == narrow {
            DEVICE_WIDTH
        } else {
            self.device_width
        };
        // Writing to a Vec cannot fail.
        let (time, titles) = (self.time_width(), &self.titles);
        let _ = writeln!(out, "{:>time$} {:<width$} {titles}", "#ts", "device");
    }

    pub(crate) fn push_row(&self, group_by: GroupBy, row: &Row<'_>, out: &mut Vec<u8>) {
        let width = if group_by == GroupBy::Sample {
            DEVICE_WIDTH
        } else {
            self.device_width
        };
        let name = sanitize(row.device);
        // A time has only characters of one byte. pt-diskstats counts the bytes of a name as its width, too.
        out.resize(
            out.len() + self.time_width().saturating_sub(row.time.len()),
            b' ',
        );
        out.extend_from_slice(row.time.as_bytes());
        out.push(b' ');
        out.extend_from_slice(name.as_bytes());
        out.resize(out.len() + width.saturating_sub(name.len()), b' ');
        if self.columns.is_empty() {
            out.push(b' ');
        }
        for column in &self.columns {
            out.push(b' ');
            push_fixed(
                out,
                (column.value)(row.rates),
                column.width,
                column.decimals,
            );
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
