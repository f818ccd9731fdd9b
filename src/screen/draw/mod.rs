//! Draws the state into a buffer of cells.

mod bars;
mod charts;
mod detail;
mod list;

use ratatui_core::buffer::{Buffer, Cell};
use ratatui_core::layout::Rect;
use ratatui_core::style::Style;

use super::app::{App, Page};
use super::navigation::Columns;
use crate::report::layout::to_ascii;

pub(crate) const MIN_SIZE: (u16, u16) = (60, 15);

/// The positions of the parts of the screen, for the mouse and for anything that depends on the size.
#[derive(Clone, Debug, Default)]
pub(crate) struct Regions {
    /// The first line that is shown.
    scroll: usize,
    pub(crate) list_rows: usize,
    list_top: u16,
    devices: Vec<String>,
    titles: Vec<(u16, u16, &'static str)>,
    titles_row: u16,
    pub(crate) names_width: u16,
    /// The charts: the area of each, and its columns.
    charts: Vec<(Rect, Columns)>,
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
        self.devices.get(usize::from(row.checked_sub(self.list_top)?))
    }

    /// Returns the sort order for the column title at a position; `None` elsewhere.
    pub(crate) fn title_at(&self, column: u16, row: u16) -> Option<&'static str> {
        let is_at = |(begin, end, _): &&(u16, u16, &str)| (*begin..*end).contains(&column);
        self.titles.iter().find(is_at).filter(|_| row == self.titles_row).map(|(_, _, sort)| *sort)
    }
}

impl App {
    pub(crate) fn draw(&mut self, buffer: &mut Buffer) {
        let area = buffer.area;
        self.size = (area.width, area.height);
        if area.width < MIN_SIZE.0 || area.height < MIN_SIZE.1 {
            let text =
                format!("{}x{} is too small: {}x{} needed", area.width, area.height, MIN_SIZE.0, MIN_SIZE.1);
            put(buffer, 0, 0, area.width, &text, Style::new());
            return;
        }
        self.select_default();
        let (cursor_s, follows) = (self.cursor_s(), self.follows());
        self.axis.follow(cursor_s, self.history.end_s(), follows);
        let mut regions = Regions { scroll: self.scroll, ..Regions::default() };
        self.draw_head(buffer, Rect { height: 1, ..area });
        let body = Rect { y: area.y + 1, height: area.height - 2, ..area };
        match self.page {
            Page::Help => self.draw_help(buffer, body, &mut regions),
            Page::Detail => self.draw_detail(buffer, body, &mut regions),
            Page::List => {
                let pane = self.draw_list(buffer, body, &mut regions);
                if pane.height > 0 {
                    self.draw_pane(buffer, pane, &mut regions);
                }
            }
        }
        self.draw_status(buffer, Rect { y: area.y + area.height - 1, height: 1, ..area });
        if self.options.theme.is_ascii {
            buffer.content.iter_mut().for_each(make_ascii);
        }
        self.scroll = regions.scroll;
        self.regions = regions;
    }

    /// Selects the first device of the list, unless the user has selected one.
    fn select_default(&mut self) {
        let names = self.listed_names();
        let is_listed = self.selected.as_ref().is_some_and(|name| names.contains(name));
        // If the cursor is in the past, the incident there has selected its device.
        if !is_listed && self.page == Page::List
            || self.selected.is_none()
            || !self.has_selected && self.follows()
        {
            self.selected = names.first().cloned().or(self.selected.take());
        }
    }
}

/// Replaces what a terminal without UTF-8 cannot show. The dots of a chart become a point at their height.
fn make_ascii(cell: &mut Cell) {
    let dots = |c: char| (u32::from(c) & 0x1b > 0, u32::from(c) & 0xe4 > 0);
    let symbol = match cell.symbol().chars().next() {
        Some(c @ '\u{2801}'..='\u{28ff}') => match dots(c) {
            (true, false) => "'",
            (false, _) => ".",
            (true, true) => ":",
        },
        Some('▲') => "^",
        Some('╵') => "'",
        Some('←' | '◀') => "<",
        Some('→') => ">",
        Some('━' | '╍' | '┉') => "-",
        _ if cell.symbol().is_ascii() => return,
        _ => &to_ascii(cell.symbol())[..1],
    };
    let symbol = symbol.to_owned();
    cell.set_symbol(&symbol);
}

/// Writes a text in at most `width` columns, and returns the column after it.
fn put(buffer: &mut Buffer, x: u16, y: u16, width: u16, text: &str, style: Style) -> u16 {
    if y >= buffer.area.bottom() || x >= buffer.area.right() {
        return x;
    }
    let (x, _) = buffer.set_stringn(x, y, text, usize::from(width), style);
    x
}

/// A line of text: parts with their styles.
type TextLine = Vec<(String, Style)>;

/// Writes a line of text in the first line of an area.
fn put_line(buffer: &mut Buffer, area: Rect, line: &TextLine) {
    let mut x = area.x;
    for (text, style) in line {
        x = put(buffer, x, area.y, area.right() - x, text, *style);
    }
}

/// Writes a text that ends at a column.
fn put_right(buffer: &mut Buffer, end: u16, y: u16, text: &str, style: Style) {
    let width = u16::try_from(unicode_width::UnicodeWidthStr::width(text)).unwrap_or(u16::MAX);
    put(buffer, end.saturating_sub(width), y, width, text, style);
}
