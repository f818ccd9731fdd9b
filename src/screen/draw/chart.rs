//! A chart: lines over time, in dots of braille characters or in letters.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::Style;
use unicode_width::UnicodeWidthStr;

use super::{put, put_right};
use crate::intervals::series::Extent;
use crate::report::scale::Scale;
use crate::screen::history::Point;
use crate::screen::theme::{BOLD, REFERENCE, Stroke, Theme};

/// The width of the labels at the left of a chart.
pub(super) const GUTTER: u16 = 8;

#[derive(Clone, Copy)]
pub(super) struct Line {
    /// The name of its quantity.
    pub(super) quantity: &'static str,
    pub(super) stroke: &'static Stroke,
    /// Its name in the legend.
    pub(super) name: &'static str,
    /// The factor by which values are multiplied.
    pub(super) factor: f64,
}

pub(super) struct Chart<'a> {
    pub(super) title: String,
    pub(super) lines: &'a [Line],
    /// The axis for values above zero, given the least and the largest.
    pub(super) scale: fn(f64, f64) -> Scale,
    pub(super) format: fn(f64) -> String,
    /// A line to compare with, and its name.
    pub(super) reference: Option<(f64, String)>,
    /// The values of the lines under the cursor.
    pub(super) values: Vec<Option<f64>>,
}

/// The columns and rows of dots in a cell: those of braille.
pub(super) const DOTS_PER_CELL: (usize, usize) = (2, 4);

/// A canvas of cells, each with the bits of its dots.
struct Canvas {
    area: Rect,
    cells: Vec<(u8, Style)>,
}

impl Canvas {
    fn new(area: Rect) -> Self {
        let cells = vec![(0, Style::new()); usize::from(area.width) * usize::from(area.height)];
        Self { area, cells }
    }

    /// Returns the row of dots at a height from 0 to 1.
    fn row_at(&self, height: f64) -> usize {
        let last = (usize::from(self.area.height) * DOTS_PER_CELL.1).saturating_sub(1);
        last - (height * last as f64).round() as usize
    }

    /// Draws a vertical line of dots in a column of dots, from one row of dots to another.
    fn draw(&mut self, column: usize, rows: (usize, usize), style: Style) {
        const DOTS: [[u8; 4]; 2] = [[0x01, 0x02, 0x04, 0x40], [0x08, 0x10, 0x20, 0x80]];
        let (across, down) = DOTS_PER_CELL;
        for row in rows.0.min(rows.1)..=rows.0.max(rows.1) {
            let at = (row / down) * usize::from(self.area.width) + column / across;
            let Some(cell) = self.cells.get_mut(at) else { continue };
            *cell = (cell.0 | DOTS[column % across][row % down], style);
        }
    }

    fn write(&self, buffer: &mut Buffer) {
        for ((dots, style), position) in self.cells.iter().zip(self.area.positions()) {
            if let Some(symbol) = char::from_u32(0x2800 + u32::from(*dots)).filter(|_| *dots > 0) {
                buffer[position].set_char(symbol).set_style(*style);
            }
        }
    }
}

impl Chart<'_> {
    /// Draws the chart with its title; the points are those of the columns of dots.
    pub(super) fn draw(&self, buffer: &mut Buffer, area: Rect, points: &[Option<Point>], theme: Theme) {
        self.draw_legend(buffer, area, theme);
        let plot = plot_area(area);
        if plot.height == 0 || plot.width == 0 {
            return;
        }
        let values = self.lines.iter().flat_map(|line| {
            let extents = points.iter().flatten().map(|point| point.extent(line.quantity));
            let ends = extents.flat_map(|extent| [extent.min(), extent.max()]).flatten();
            ends.map(|value| value * line.factor)
        });
        let reference = self.reference.as_ref().map(|(value, _)| *value);
        let above_zero = values.chain(reference).filter(|value| *value > 0.0);
        let (min, max) =
            above_zero.fold((f64::INFINITY, 0.0f64), |(min, max), value| (min.min(value), max.max(value)));
        let axis = (self.scale)(min, max);
        let mut canvas = Canvas::new(plot);
        if let Some(value) = reference {
            let row = canvas.row_at(axis.position(value));
            let columns = usize::from(plot.width) * DOTS_PER_CELL.0;
            for column in (0..columns).filter(|column| REFERENCE.is_dash(*column)) {
                canvas.draw(column, (row, row), theme.stroke(&REFERENCE));
            }
        }
        for line in self.lines.iter().rev() {
            draw_line(&mut canvas, line, points, &axis, theme);
        }
        canvas.write(buffer);
        for value in axis.ticks(usize::from(plot.height / 2), usize::from(plot.height)) {
            let row = canvas.row_at(axis.position(value)) / DOTS_PER_CELL.1;
            let text = without_zeros(&(self.format)(value));
            put_right(buffer, plot.x - 1, plot.y + row as u16, &text, theme.dim());
        }
        for y in plot.y..plot.bottom() {
            put(buffer, plot.x - 1, y, 1, "│", theme.dim());
        }
    }

    /// Writes the title, and the lines with their values under the cursor.
    fn draw_legend(&self, buffer: &mut Buffer, area: Rect, theme: Theme) {
        let mut x = put(buffer, area.x, area.y, area.width, &self.title, BOLD) + 2;
        let mut add = |text: &str, style: Style| {
            let width = text.width() as u16;
            if x + width <= area.right() {
                x = put(buffer, x, area.y, width, text, style);
            }
        };
        for (line, value) in self.lines.iter().zip(&self.values) {
            add(&format!("{} {} ", line.stroke.mark, line.name), theme.stroke(line.stroke));
            let value = value.map_or("-".to_owned(), |value| (self.format)(value * line.factor));
            add(&format!("{value}  "), Style::new());
        }
        if let Some((_, name)) = &self.reference {
            add(&format!("{} {name}", REFERENCE.mark), theme.stroke(&REFERENCE));
        }
    }
}

/// Returns a number without the zeros after its decimal point: `10ms` for `10.0ms`.
fn without_zeros(text: &str) -> String {
    let is_number = |c: char| c.is_ascii_digit() || c == '.';
    let unit = text.find(|c| !is_number(c)).unwrap_or(text.len());
    let (number, unit) = text.split_at(unit);
    match number.contains('.') {
        true => format!("{}{unit}", number.trim_end_matches('0').trim_end_matches('.')),
        false => text.to_owned(),
    }
}

/// Returns the area of the lines of a chart.
pub(super) fn plot_area(area: Rect) -> Rect {
    Rect {
        x: area.x + GUTTER,
        y: area.y + 1,
        width: area.width.saturating_sub(GUTTER),
        height: area.height.saturating_sub(1),
    }
}

/// Draws a line: in each column from the minimum to the maximum, joined to the column before.
fn draw_line(canvas: &mut Canvas, line: &Line, points: &[Option<Point>], axis: &Scale, theme: Theme) {
    let style = theme.stroke(line.stroke);
    let mut last: Option<usize> = None;
    for (column, point) in points.iter().enumerate() {
        let extent = point.map(|point| point.extent(line.quantity)).unwrap_or_default();
        let row = |value: f64| canvas.row_at(axis.position(value * line.factor));
        let rows = [Extent::max, Extent::min, Extent::mean].map(|value| value(&extent).map(row));
        let [Some(mut top), Some(mut bottom), Some(middle)] = rows else {
            last = None;
            continue;
        };
        if let Some(last) = last {
            (top, bottom) = (top.min(last), bottom.max(last));
        }
        if line.stroke.is_dash(column) || bottom - top > 1 {
            canvas.draw(column, (top, bottom), style);
        }
        last = Some(middle);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_have_no_needless_zeros() {
        assert_eq!(["10.0ms", "0", "2.50", "100%"].map(without_zeros), ["10ms", "0", "2.5", "100%"]);
    }

    #[test]
    fn dots_are_where_the_values_are() {
        let area = Rect { x: 0, y: 0, width: 2, height: 1 };
        let mut canvas = Canvas::new(area);
        canvas.draw(0, (3, 3), Style::new());
        canvas.draw(3, (0, 0), Style::new());
        let mut buffer = Buffer::empty(area);
        canvas.write(&mut buffer);
        assert_eq!(buffer[(0, 0)].symbol(), "⡀");
        assert_eq!(buffer[(1, 0)].symbol(), "⠈");
    }
}
