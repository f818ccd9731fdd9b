//! Decides where headers and blank lines are printed. Lines of the screen are counted like in pt-diskstats.

use super::table::{Row, Table};
use crate::pt_diskstats::options::GroupBy;

/// Counts lines, and puts headers and blank lines between blocks of lines.
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
    is_header_forced: bool,
    was_header_last: bool,
}

impl HeaderPager {
    /// Returns a pager for a screen of this many rows, whose first block begins with a header.
    pub(crate) fn new(separates_groups: bool, follows_scrolling: bool, screen_rows: usize) -> Self {
        Self {
            separates_groups,
            follows_scrolling,
            screen_rows: screen_rows.max(1),
            lines: 0,
            headers_due: 0,
            is_header_forced: true,
            was_header_last: false,
        }
    }

    /// Starts the next block with a header.
    pub(crate) fn force_header(&mut self) {
        self.is_header_forced = true;
    }

    /// Forgets that the last line was a header.
    pub(crate) fn forget_header(&mut self) {
        self.was_header_last = false;
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
