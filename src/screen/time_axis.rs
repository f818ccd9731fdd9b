//! The time that charts show, and its columns.

use std::ops::Range;

/// The spans of time that the user can choose, in seconds.
const SPANS_S: [u32; 13] = [
    30, 60, 180, 600, 1800, 3600, 7200, 14_400, 28_800, 86_400, 259_200, 604_800, 2_592_000,
];
/// The least span while there are few intervals.
const MIN_SPAN_S: f64 = 5.0;
/// The index of the default span: three minutes.
const DEFAULT_SPAN: usize = 2;

pub(crate) struct TimeAxis {
    span: usize,
    /// The end of the time shown while the cursor is in the past, so that the charts do not move; `None` while they
    /// follow.
    pinned_end_s: Option<f64>,
    /// The seconds of all intervals, which are not exceeded without need.
    all_s: f64,
}

impl Default for TimeAxis {
    fn default() -> Self {
        Self {
            span: DEFAULT_SPAN,
            pinned_end_s: None,
            all_s: 0.0,
        }
    }
}

impl TimeAxis {
    /// The length of the time shown, in seconds: the chosen one, or that of all intervals if there are fewer.
    pub(crate) fn span_s(&self) -> f64 {
        f64::from(SPANS_S[self.span]).min(self.all_s.max(MIN_SPAN_S))
    }

    /// Shows less time or more.
    pub(crate) fn zoom(&mut self, into: bool) {
        // A span that exceeds all intervals looks like that of all.
        while into && self.span > 0 && f64::from(SPANS_S[self.span - 1]) >= self.span_s() {
            self.span -= 1;
        }
        self.span = if into {
            self.span.saturating_sub(1)
        } else {
            (self.span + 1).min(SPANS_S.len() - 1)
        };
        self.pinned_end_s = None;
    }

    /// Shows at least these seconds.
    pub(crate) fn show_at_least(&mut self, seconds: f64) {
        self.span = SPANS_S
            .iter()
            .position(|span| f64::from(*span) >= seconds)
            .unwrap_or(SPANS_S.len() - 1);
        self.pinned_end_s = None;
    }

    /// Keeps the cursor within the time shown. Must be called before drawing.
    pub(crate) fn follow(&mut self, cursor_s: f64, newest_s: f64, follows: bool) {
        self.all_s = newest_s;
        let span_s = self.span_s();
        if follows {
            self.pinned_end_s = None;
            return;
        }
        let mut end_s = self.pinned_end_s.unwrap_or(newest_s);
        let is_visible = cursor_s <= end_s + 1e-9 && cursor_s > end_s - span_s;
        if !is_visible {
            end_s = (cursor_s + span_s / 2.0).min(newest_s.max(cursor_s));
        }
        self.pinned_end_s = Some(end_s);
    }

    /// The beginning and the end of the time shown, in seconds of all intervals so far.
    pub(crate) fn window(&self) -> (f64, f64) {
        let end_s = self.pinned_end_s.unwrap_or(self.all_s);
        (end_s - self.span_s(), end_s)
    }

    /// The columns of a chart of this width in cells, which have this number of columns each. The length of a column is a
    /// multiple of the interval if the interval is shorter.
    pub(crate) fn columns(
        &self,
        interval_s: Option<f64>,
        cells: usize,
        per_cell: usize,
    ) -> Columns {
        let width = (cells * per_cell).max(1);
        let interval_s = interval_s.unwrap_or(1.0).max(0.01);
        let wanted_s = self.span_s() / width as f64;
        let seconds = if wanted_s > interval_s {
            (wanted_s / interval_s).ceil() * interval_s
        } else {
            wanted_s
        };
        let (_, end_s) = self.window();
        let last = ((end_s - 1e-6) / seconds).floor() as i64;
        Columns {
            seconds,
            first: last + 1 - width as i64,
            width,
            per_cell,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Columns {
    pub(crate) seconds: f64,
    /// The number of the first column: column 0 begins with the first interval.
    first: i64,
    width: usize,
    /// The number of columns in a cell of the screen.
    per_cell: usize,
}

impl Columns {
    /// The numbers of the columns.
    pub(crate) fn numbers(&self) -> Range<i64> {
        self.first..self.first + self.width as i64
    }

    /// Returns the cell that contains the end of an interval; `None` outside the chart.
    pub(crate) fn cell_at(&self, end_s: f64) -> Option<usize> {
        let number = ((end_s - 1e-6) / self.seconds).floor() as i64;
        if !self.numbers().contains(&number) {
            return None;
        }
        Some((number - self.first) as usize / self.per_cell)
    }

    /// Returns the time in the middle of the first column of a cell.
    pub(crate) fn time_at(&self, cell: u16) -> f64 {
        (self.first as f64 + f64::from(cell) * self.per_cell as f64 + 0.5) * self.seconds
    }

    /// The length of a cell in seconds.
    pub(crate) fn cell_s(&self) -> f64 {
        self.seconds * self.per_cell as f64
    }
}
