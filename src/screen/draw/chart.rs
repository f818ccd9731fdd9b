//! A chart: lines over time in dots of braille characters, an axis at the left, and a legend above.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::Style;
use unicode_width::UnicodeWidthStr;

use super::{put, put_right};
use crate::intervals::series::Extent;
use crate::quantities::Quantity;
use crate::report::scale::{Scale, ValueRange, top_below_burst, without_zeros};
use crate::screen::history::Column;
use crate::screen::theme::{BOLD, REFERENCE, Stroke, Theme};

/// The width of the labels at the left of a chart.
pub(super) const GUTTER: u16 = 8;

/// The columns and rows of dots in a cell: those of braille.
pub(super) const DOTS_PER_CELL: (usize, usize) = (2, 4);

pub(super) struct Line {
    pub(super) quantity: &'static Quantity,
    pub(super) stroke: &'static Stroke,
    /// Its name in the legend.
    pub(super) name: &'static str,
}

pub(super) struct Chart {
    pub(super) title: &'static str,
    pub(super) lines: &'static [Line],
    /// The factor by which values are multiplied.
    pub(super) factor: f64,
    /// The axis for values above zero, given the least and the largest.
    pub(super) scale: fn(f64, f64) -> Scale,
    pub(super) format: fn(f64) -> String,
    /// True if a short burst is cut.
    pub(super) cuts: bool,
    /// A line to compare with, and its name.
    pub(super) reference: Option<(f64, String)>,
    /// The values of the lines under the cursor.
    pub(super) values: Vec<Option<f64>>,
}

impl Chart {
    /// Returns whether a value lies above this one.
    pub(super) fn exceeds(&self, value: f64, columns: &[Column<'_>]) -> bool {
        for line in self.lines {
            for column in columns {
                let max = column.extent(line.quantity).max().unwrap_or(0.0);
                if max * self.factor > value {
                    return true;
                }
            }
        }
        false
    }

    /// Draws the chart with its title; a column is one of dots.
    pub(super) fn draw(
        &self,
        buffer: &mut Buffer,
        area: Rect,
        columns: &[Column<'_>],
        theme: Theme,
    ) {
        self.draw_legend(buffer, area, columns, theme);
        let plot = plot_area(area);
        if plot.is_empty() {
            return;
        }

        let range = self.range(columns);
        let top = match self.cuts {
            true => top_below_burst(range.max, range.usual),
            false => None,
        };
        let axis = (self.scale)(range.min, top.unwrap_or(range.max));

        let mut canvas = Canvas::new(plot);
        if let Some((value, _)) = &self.reference {
            canvas.draw_reference(axis.position(*value), theme);
        }
        for line in self.lines.iter().rev() {
            self.draw_line(&mut canvas, line, columns, &axis, theme);
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

        if top.is_some() {
            for (number, column) in columns.chunks(DOTS_PER_CELL.0).enumerate() {
                if self.exceeds(axis.max, column) {
                    put(buffer, plot.x + number as u16, plot.y, 1, "▲", theme.dim());
                }
            }
            let text = format!("  ▲ up to {}", (self.format)(range.max));
            put_right(buffer, area.right(), area.y, &text, theme.dim());
        }
    }

    fn range(&self, columns: &[Column<'_>]) -> ValueRange {
        let mut range = ValueRange::new();
        for line in self.lines {
            let extents = columns.iter().map(|column| column.extent(line.quantity));
            range.add(extents, self.factor);
        }
        if let Some((value, _)) = &self.reference {
            range.min = range.min.min(*value);
            range.max = range.max.max(*value);
        }
        range
    }

    /// Draws a line: in each column from the minimum to the maximum, joined to the column before.
    fn draw_line(
        &self,
        canvas: &mut Canvas,
        line: &Line,
        columns: &[Column<'_>],
        axis: &Scale,
        theme: Theme,
    ) {
        let style = theme.stroke(line.stroke);
        let mut before: Option<usize> = None;
        for (number, column) in columns.iter().enumerate() {
            let extent = column.extent(line.quantity);
            let [Some(max), Some(min), Some(mean)] =
                [Extent::max, Extent::min, Extent::mean].map(|value| value(&extent))
            else {
                before = None;
                continue;
            };
            let [mut top, mut bottom, middle] =
                [max, min, mean].map(|value| canvas.row_at(axis.position(value * self.factor)));
            if let Some(before) = before {
                top = top.min(before);
                bottom = bottom.max(before);
            }
            if line.stroke.is_dash(number) || bottom - top > 1 {
                canvas.draw(number, (top, bottom), style);
            }
            before = Some(middle);
        }
    }

    /// Writes the title, and the lines with their values under the cursor.
    fn draw_legend(&self, buffer: &mut Buffer, area: Rect, columns: &[Column<'_>], theme: Theme) {
        let mut entries = Vec::new();
        for (line, value) in self.lines.iter().zip(&self.values) {
            let is_drawn = columns
                .iter()
                .any(|column| !column.extent(line.quantity).is_empty());
            if !is_drawn {
                continue;
            }
            let value = match value {
                Some(value) => (self.format)(value * self.factor),
                None => "-".to_owned(),
            };
            let mark = format!("{} {} ", line.stroke.mark, line.name);
            entries.push((mark, theme.stroke(line.stroke)));
            entries.push((format!("{value}  "), Style::new()));
        }
        if let Some((_, name)) = &self.reference {
            let mark = format!("{} {name}", REFERENCE.mark);
            entries.push((mark, theme.stroke(&REFERENCE)));
        }

        let mut x = put(buffer, area.x, area.y, area.width, self.title, BOLD) + 2;
        for (text, style) in entries {
            let width = text.width() as u16;
            if x + width <= area.right() {
                x = put(buffer, x, area.y, width, &text, style);
            }
        }
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

    /// Draws the line to compare with at a height from 0 to 1.
    fn draw_reference(&mut self, height: f64, theme: Theme) {
        let row = self.row_at(height);
        for column in 0..usize::from(self.area.width) * DOTS_PER_CELL.0 {
            if REFERENCE.is_dash(column) {
                self.draw(column, (row, row), theme.stroke(&REFERENCE));
            }
        }
    }

    /// Draws a vertical line of dots in a column of dots, from one row of dots to another.
    fn draw(&mut self, column: usize, rows: (usize, usize), style: Style) {
        const DOTS: [[u8; 4]; 2] = [[0x01, 0x02, 0x04, 0x40], [0x08, 0x10, 0x20, 0x80]];
        let (across, down) = DOTS_PER_CELL;
        for row in rows.0.min(rows.1)..=rows.0.max(rows.1) {
            let at = (row / down) * usize::from(self.area.width) + column / across;
            let Some(cell) = self.cells.get_mut(at) else {
                continue;
            };
            *cell = (cell.0 | DOTS[column % across][row % down], style);
        }
    }

    fn write(&self, buffer: &mut Buffer) {
        for ((dots, style), position) in self.cells.iter().zip(self.area.positions()) {
            if *dots > 0 {
                let symbol = char::from_u32(0x2800 + u32::from(*dots)).unwrap_or(' ');
                buffer[position].set_char(symbol).set_style(*style);
            }
        }
    }
}

#[cfg(test)]
mod chart_tests {
    use super::*;

    #[test]
    fn dots_are_where_the_values_are() {
        let area = Rect {
            x: 0,
            y: 0,
            width: 2,
            height: 1,
        };
        let mut canvas = Canvas::new(area);
        canvas.draw(0, (3, 3), Style::new());
        canvas.draw(3, (0, 0), Style::new());
        let mut buffer = Buffer::empty(area);
        canvas.write(&mut buffer);
        assert_eq!(buffer[(0, 0)].symbol(), "⡀");
        assert_eq!(buffer[(1, 0)].symbol(), "⠈");
    }
}
