//! A chart: lines over time, in dots of braille characters or in letters.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::Style;
use unicode_width::UnicodeWidthStr;

use super::{put, put_right};
use crate::screen::history::{Extent, Point, Quantity};
use crate::screen::theme::{BOLD, Series, Theme};

/// The width of the labels at the left of a chart.
pub(super) const GUTTER: u16 = 8;

#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    pub(super) quantity: Quantity,
    pub(super) series: Series,
    /// Its name in the legend.
    pub(super) name: &'static str,
    /// The factor by which values are multiplied.
    pub(super) factor: f64,
}

#[derive(Clone, Debug)]
pub(super) struct Chart<'a> {
    pub(super) title: String,
    pub(super) lines: &'a [Line],
    pub(super) is_logarithmic: bool,
    /// The lowest value allowed for the top of the axis.
    pub(super) least_top: f64,
    pub(super) format: fn(f64) -> String,
    /// A line to compare with, and its name.
    pub(super) reference: Option<(f64, String)>,
    /// The values of the lines under the cursor.
    pub(super) values: Vec<Option<f64>>,
}

/// The range of the vertical axis.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Axis {
    low: f64,
    high: f64,
    is_logarithmic: bool,
}

impl Axis {
    /// Returns an axis with round ends.
    fn new(values: impl Iterator<Item = f64>, least_top: f64, is_logarithmic: bool) -> Self {
        let (mut low, mut high) = (f64::INFINITY, 0.0f64);
        for value in values.filter(|value| value.is_finite() && *value > 0.0) {
            (low, high) = (low.min(value), high.max(value));
        }
        if is_logarithmic {
            let low = decade(if low.is_finite() { low } else { 0.1 });
            let mut top = low * 10.0;
            while top < high {
                top *= 10.0;
            }
            return Self { low, high: top, is_logarithmic };
        }
        Self { low: 0.0, high: round_up(high.max(least_top)), is_logarithmic }
    }

    /// Returns the height of a value, from 0 to 1.
    fn height(&self, value: f64) -> f64 {
        if self.is_logarithmic {
            let range = libm::log10(self.high / self.low);
            (libm::log10(value.max(self.low) / self.low) / range).clamp(0.0, 1.0)
        } else {
            (value / self.high).clamp(0.0, 1.0)
        }
    }

    /// Returns the values with labels, for a chart of this number of lines.
    fn labels(&self, lines: usize) -> Vec<f64> {
        if !self.is_logarithmic {
            return if lines >= 5 { vec![self.high, self.high / 2.0, 0.0] } else { vec![self.high, 0.0] };
        }
        let decades = libm::log10(self.high / self.low).round() as i32;
        let step = (decades as usize).div_ceil(lines.saturating_sub(1).max(1)).max(1);
        let values = (0..=decades).step_by(step).map(|decade| self.low * libm::pow(10.0, f64::from(decade)));
        let mut values: Vec<f64> = values.collect();
        values.reverse();
        values
    }
}

/// Returns the power of ten at or below a value.
fn decade(value: f64) -> f64 {
    libm::pow(10.0, libm::floor(libm::log10(value) + 1e-9))
}

/// The fraction of a value that the axis must reach: measured percentages of time are sometimes slightly above 100.
const MIN_TOP_FRACTION: f64 = 0.97;

/// Returns the next of 1, 2 and 5 times a power of ten.
fn round_up(value: f64) -> f64 {
    if value <= 0.0 {
        return 1.0;
    }
    let decade = decade(value);
    let steps = [1.0, 2.0, 5.0, 10.0];
    decade * steps.into_iter().find(|step| decade * step >= value * MIN_TOP_FRACTION).unwrap_or(10.0)
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
        let extents = self.lines.iter().flat_map(|line| {
            let known = points.iter().flatten().filter_map(|point| point.extent(line.quantity));
            known.map(|extent| (extent, line.factor))
        });
        let values = extents
            .flat_map(|(Extent { min, max, .. }, factor)| [min, max].map(|value| f64::from(value) * factor));
        let reference = self.reference.as_ref().map(|(value, _)| *value);
        let axis = Axis::new(values.chain(reference), self.least_top, self.is_logarithmic);
        let mut canvas = Canvas::new(plot);
        if let Some(value) = reference {
            let row = canvas.row_at(axis.height(value));
            let columns = usize::from(plot.width) * DOTS_PER_CELL.0;
            for column in (0..columns).filter(|column| column % 4 < 2) {
                canvas.draw(column, (row, row), theme.series(Series::Reference));
            }
        }
        for line in self.lines.iter().rev() {
            draw_line(&mut canvas, line, points, &axis, theme);
        }
        canvas.write(buffer);
        for value in axis.labels(usize::from(plot.height)) {
            let row = canvas.row_at(axis.height(value)) / DOTS_PER_CELL.1;
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
            add(&format!("{} {} ", legend_mark(line.series), line.name), theme.series(line.series));
            let value = value.map_or("-".to_owned(), |value| (self.format)(value * line.factor));
            add(&format!("{value}  "), Style::new());
        }
        if let Some((_, name)) = &self.reference {
            add(&format!("- - {name}"), theme.series(Series::Reference));
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

/// Returns whether a line is drawn in a column of dots. Without colors, lines differ by their dashes.
fn is_dash(series: Series, column: usize) -> bool {
    match series {
        Series::Reads => true,
        Series::Writes => column % 4 < 3,
        Series::Third | Series::Reference => column & 1 == 0,
    }
}

/// Returns the mark of a line in a legend, with its dashes.
fn legend_mark(series: Series) -> &'static str {
    match series {
        Series::Reads => "━",
        Series::Writes => "╍",
        Series::Third | Series::Reference => "┉",
    }
}

/// Draws a line: in each column from the minimum to the maximum, joined to the column before.
fn draw_line(canvas: &mut Canvas, line: &Line, points: &[Option<Point>], axis: &Axis, theme: Theme) {
    let style = theme.series(line.series);
    let mut last: Option<usize> = None;
    for (column, point) in points.iter().enumerate() {
        let extent = point.as_ref().and_then(|point| point.extent(line.quantity));
        let Some(Extent { min, mean, max }) = extent else {
            last = None;
            continue;
        };
        let row = |value: f32| canvas.row_at(axis.height(f64::from(value) * line.factor));
        let (mut top, mut bottom, middle) = (row(max), row(min), row(mean));
        if let Some(last) = last {
            (top, bottom) = (top.min(last), bottom.max(last));
        }
        if is_dash(line.series, column) || bottom - top > 1 {
            canvas.draw(column, (top, bottom), style);
        }
        last = Some(middle);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_end_at_round_values() {
        let linear = |values: &[f64]| Axis::new(values.iter().copied(), 1.0, false).high;
        assert_eq!(
            [linear(&[]), linear(&[0.3]), linear(&[17.0]), linear(&[2100.0])],
            [1.0, 1.0, 20.0, 5000.0]
        );
        let logarithmic = Axis::new([0.42, 15.9].into_iter(), 0.0, true);
        assert_eq!((logarithmic.low, logarithmic.high), (0.1, 100.0));
        assert_eq!(logarithmic.height(0.1), 0.0);
        assert!((logarithmic.height(10.0) - 2.0 / 3.0).abs() < 1e-9);
        assert_eq!(logarithmic.labels(4).len(), 4);
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
