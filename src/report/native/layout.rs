//! The layout of the table.

use jiff::tz::TimeZone;

use crate::report::layout::DEFAULT_WIDTH;

/// The minimum width of the device column.
pub(super) const MIN_NAME_WIDTH: usize = 10;
/// The maximum width of mount points on lines of limited width.
const MAX_MOUNTS_WIDTH: usize = 24;

/// The line width from which seconds of verdicts have their space: it would take narrower lines too much else.
const MIN_WIDTH_WITH_VERDICT_SECONDS: usize = 80;

#[derive(Clone, Debug)]
pub(super) struct Layout {
    /// The width of a line in terminal columns; `None` shows all columns, however wide.
    pub(super) width: Option<usize>,
    /// Show the evidence below every verdict except idle and ok.
    pub(super) explain: bool,
    /// Show the cgroups and blocked tasks below every verdict except idle and ok.
    pub(super) who: bool,
    /// The lines of the screen, after which the column titles are repeated.
    pub(super) rows: usize,
    /// True if lines go to a terminal: the column titles are then repeated even within a block before they scroll off.
    /// Otherwise a block is one table, for programs that read it.
    pub(super) is_screen: bool,
    /// Show discards and flushes even if the kernel does not count them.
    pub(super) all_columns: bool,
    /// Intervals may have several samples, and verdicts hold for a part of them.
    pub(super) verdict_seconds: bool,
    /// Show mount points at the end of the lines.
    pub(super) mounts: bool,
    pub(super) colors: bool,
    /// Latency, as a multiple of unloaded latency, from which it is colored as an alert.
    pub(super) saturation_threshold: f64,
    /// The time zone of the times shown.
    pub(super) time_zone: TimeZone,
}

impl Layout {
    /// The width of a line; without a limit, the largest number.
    pub(super) fn line_width(&self) -> usize {
        self.width.unwrap_or(usize::MAX)
    }

    /// The width at which sentences are wrapped.
    pub(super) fn text_width(&self) -> usize {
        self.width.unwrap_or(DEFAULT_WIDTH)
    }

    /// Returns whether the column of the verdict has space for seconds.
    pub(super) fn has_verdict_seconds(&self) -> bool {
        self.verdict_seconds && self.line_width() >= MIN_WIDTH_WITH_VERDICT_SECONDS
    }

    /// The maximum width of mount points.
    pub(super) fn max_mounts_width(&self) -> usize {
        if self.width.is_some() { MAX_MOUNTS_WIDTH } else { usize::MAX }
    }
}

/// Returns the maximum width of names on lines of `width` columns.
pub(super) fn max_name_width(width: usize) -> usize {
    (width / 5).max(MIN_NAME_WIDTH).min(width)
}
