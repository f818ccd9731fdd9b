//! When pt-diskstats prints a header or a blank line: it counts the lines of a screen, in its own way.

use super::GroupBy;
use super::columns::{Line, Table};

/// Counts lines, and puts headers and blank lines between blocks of lines.
pub struct Pages {
    /// `--headers group`: a blank line before a block of several lines.
    group: bool,
    /// `--headers scroll`: a header when the last one has left the screen.
    scroll: bool,
    /// Lines of the screen.
    rows: usize,
    /// Lines since the top of the page.
    count: usize,
    /// Headers that are due because a page is full.
    due: usize,
    /// A header is due for another reason.
    forced: bool,
    last_was_header: bool,
}

impl Pages {
    /// Pages of a screen of so many lines.
    pub fn new(group: bool, scroll: bool, rows: usize) -> Self {
        Self { group, scroll, rows: rows.max(1), count: 0, due: 0, forced: true, last_was_header: false }
    }

    /// Has the next block begin with a header.
    pub fn force_header(&mut self) {
        self.forced = true;
    }

    /// Forgets that a header came last.
    pub fn forget_header(&mut self) {
        self.last_was_header = false;
    }

    /// A header that a key asked for.
    pub fn push_header(&mut self, table: &Table, group_by: GroupBy, out: &mut Vec<u8>) {
        table.push_header(group_by, true, out);
        self.count += 1;
        self.last_was_header = true;
    }

    /// The lines of one interval, or of all.
    pub fn push_block(&mut self, table: &Table, group_by: GroupBy, lines: &[Line], out: &mut Vec<u8>) {
        if lines.is_empty() {
            // Nothing to show: at most a header that is due whatever comes.
            if self.forced {
                self.forced = false;
                table.push_header(group_by, false, out);
                self.count += 1;
                self.last_was_header = true;
            }
            return;
        }
        let has_blank = self.group && lines.len() > 1 && !self.last_was_header;
        let mut page_is_full = false;
        let mut count = 0;
        if self.scroll {
            count = self.count % self.rows + usize::from(has_blank);
            if count + 1 == self.rows {
                self.due += 1;
                count += lines.len();
            } else if count + lines.len() >= self.rows {
                self.due += 1;
                page_is_full = true;
            } else {
                count += lines.len();
            }
        }
        let has_header = self.forced || self.due > 0;
        if self.due > 0 {
            self.due -= 1;
        } else {
            self.forced = false;
        }
        count += usize::from(has_header);
        self.count = if page_is_full { 0 } else { count };
        if has_blank {
            out.push(b'\n');
        }
        if has_header {
            table.push_header(group_by, false, out);
            self.last_was_header = true;
        }
        for line in lines {
            table.push_line(group_by, line, out);
            self.last_was_header = false;
        }
    }
}
