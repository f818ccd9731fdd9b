//! The positions of what is drawn, for the mouse.

use std::ops::Range;

use ratatui_core::layout::Rect;

use super::time_axis::Columns;

/// The positions of the parts of the screen, for the mouse and for anything that depends on the size.
#[derive(Clone, Debug, Default)]
pub(crate) struct Regions {
    /// The first line that is shown.
    pub(crate) scroll: usize,
    pub(crate) list_rows: usize,
    pub(crate) list_top: u16,
    pub(crate) devices: Vec<String>,
    /// The columns of each title, and the order for which it stands.
    pub(crate) titles: Vec<(Range<u16>, &'static str)>,
    pub(crate) titles_row: u16,
    pub(crate) names_width: u16,
    /// The charts: the area of each, and its columns.
    pub(crate) charts: Vec<(Rect, Columns)>,
}

impl Regions {
    /// Returns the time at a position on the screen; `None` outside charts.
    pub(crate) fn chart_at(&self, column: u16, row: u16) -> Option<f64> {
        for (area, columns) in &self.charts {
            if area.contains((column, row).into()) {
                return Some(columns.time_at(column - area.x));
            }
        }
        None
    }

    /// Returns the device of a line of the list; `None` outside it.
    pub(crate) fn device_at(&self, row: u16) -> Option<&String> {
        self.devices
            .get(usize::from(row.checked_sub(self.list_top)?))
    }

    /// Returns the sort order for the column title at a position; `None` elsewhere.
    pub(crate) fn title_at(&self, column: u16, row: u16) -> Option<&'static str> {
        if row != self.titles_row {
            return None;
        }
        for (columns, order) in &self.titles {
            if columns.contains(&column) {
                return Some(order);
            }
        }
        None
    }
}
