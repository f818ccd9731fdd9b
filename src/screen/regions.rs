//! The positions of what is drawn, for the mouse.

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
    pub(crate) titles: Vec<(u16, u16, &'static str)>,
    pub(crate) titles_row: u16,
    pub(crate) names_width: u16,
    /// The charts: the area of each, and its columns.
    pub(crate) charts: Vec<(Rect, Columns)>,
}

impl Regions {
    /// Returns the time at a position on the screen; `None` outside charts.
    pub(crate) fn chart_at(&self, column: u16, row: u16) -> Option<f64> {
        let contains = |area: &Rect| area.contains((column, row).into());
        let (area, columns) = self.charts.iter().find(|(area, _)| contains(area))?;
        Some(columns.time_at(column - area.x))
    }

    /// Returns the device of a line of the list; `None` outside it.
    pub(crate) fn device_at(&self, row: u16) -> Option<&String> {
        self.devices
            .get(usize::from(row.checked_sub(self.list_top)?))
    }

    /// Returns the sort order for the column title at a position; `None` elsewhere.
    pub(crate) fn title_at(&self, column: u16, row: u16) -> Option<&'static str> {
        let is_at = |(begin, end, _): &&(u16, u16, &str)| (*begin..*end).contains(&column);
        self.titles
            .iter()
            .find(is_at)
            .filter(|_| row == self.titles_row)
            .map(|(_, _, sort)| *sort)
    }
}
