//! The charts of a device, on one time axis.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;

use super::Regions;
use super::chart::{Chart, DOTS_PER_CELL, GUTTER, Line, plot_area};
use crate::analysis::BaselineSource;
use crate::report::layout::number_format::{number, percent, time};
use crate::report::scale::Scale;
use crate::screen::app::App;
use crate::screen::history::Point;
use crate::screen::theme::{READS, REVERSED, Stroke, THIRD, WRITES};
use crate::screen::time_axis::Columns;

const fn line(quantity: &'static str, stroke: &'static Stroke, name: &'static str, factor: f64) -> Line {
    Line { quantity, stroke, name, factor }
}

const LATENCIES: [Line; 3] = [
    line("read_await_ms", &READS, "reads", 1.0),
    line("write_await_ms", &WRITES, "writes", 1.0),
    line("flush_await_ms", &THIRD, "flushes", 1.0),
];
const QUEUES: [Line; 2] = [line("queue", &READS, "queue", 1.0), line("in_flight", &THIRD, "in flight", 1.0)];
const RATES: [Line; 2] =
    [line("reads_per_s", &READS, "reads", 1.0), line("writes_per_s", &WRITES, "writes", 1.0)];
const UTIL: [Line; 2] =
    [line("util_pct", &READS, "util", 1.0), line("doubtful_util_pct", &THIRD, "? cannot be true", 1.0)];

/// Returns an axis that begins at zero.
fn from_zero(_min: f64, max: f64) -> Scale {
    Scale::linear(max.max(1.0))
}

/// The least height of a chart: another chart is shown once each has this height.
const MIN_CHART_HEIGHT: u16 = 4;
/// The width from which charts are in two columns.
const MIN_WIDTH_OF_TWO: u16 = 150;
const CHARTS: u16 = 5;

impl App {
    /// Draws as many charts of a device as fit, the most important first, with a common time axis below.
    pub(super) fn draw_charts(&self, buffer: &mut Buffer, area: Rect, device: &str, regions: &mut Regions) {
        if area.height < MIN_CHART_HEIGHT {
            return;
        }
        let across = if area.width >= MIN_WIDTH_OF_TWO { 2 } else { 1 };
        let heights = area.height - 1;
        let down = (heights / MIN_CHART_HEIGHT).clamp(1, CHARTS.div_ceil(across));
        let width = area.width / across - if across > 1 { 1 } else { 0 };
        let plot_width = usize::from(width.saturating_sub(GUTTER));
        let columns = self.axis.columns(self.options.interval_s, plot_width, DOTS_PER_CELL.0);
        let points: Vec<Option<Point>> = (0..columns.width)
            .map(|column| self.history.column(device, columns.seconds, columns.first + column as i64))
            .collect();
        let point = self.moment().and_then(|moment| moment.point(device));
        let throughput = self.throughput_lines();
        let mut y = area.y;
        for row in 0..down {
            // The first charts get the remaining rows.
            let height = heights / down + u16::from(row < heights % down);
            for column in 0..across {
                let chart_area = Rect { x: area.x + column * (width + 2), y, width, height };
                let at = row * across + column;
                if at >= CHARTS {
                    continue;
                }
                let chart = self.chart(at, &throughput, point, device);
                chart.draw(buffer, chart_area, &points, self.options.theme);
                let plot = plot_area(chart_area);
                self.draw_cursor(buffer, plot, &columns);
                regions.charts.push((plot, columns));
            }
            y += height;
        }
        for column in 0..across {
            let x = area.x + column * (width + 2);
            let labels = Rect { x: x + GUTTER, y, width: width.saturating_sub(GUTTER), height: 1 };
            self.draw_time_labels(buffer, labels, &columns);
        }
    }

    /// Returns the chart of this number, in the order of their importance.
    fn chart<'a>(&self, at: u16, throughput: &'a [Line; 2], point: Option<Point>, device: &str) -> Chart<'a> {
        let chart = |title: &str, lines: &'a [Line], scale, format| Chart {
            title: title.to_owned(),
            lines,
            scale,
            format,
            reference: None,
            values: lines
                .iter()
                .map(|line| point.and_then(|point| point.extent(line.quantity).mean()))
                .collect(),
        };
        match at {
            0 => Chart {
                reference: self.reference_latency(device),
                ..chart("latency", &LATENCIES, Scale::log, time)
            },
            1 => chart("queue", &QUEUES, from_zero, number),
            2 => chart("requests/s", &RATES, from_zero, number),
            3 => chart(self.throughput_unit().0, throughput, from_zero, number),
            _ => chart("util", &UTIL, |_, max| Scale::percent(max), percent),
        }
    }

    fn throughput_lines(&self) -> [Line; 2] {
        let factor = self.throughput_unit().1;
        [line("read_kib_per_s", &READS, "reads", factor), line("write_kib_per_s", &WRITES, "writes", factor)]
    }

    /// The latency in milliseconds that a device is compared with at the cursor, or was compared with shortly before,
    /// and its name; `None` without one.
    fn reference_latency(&self, device: &str) -> Option<(f64, String)> {
        const SEARCHED: usize = 30;
        let cursor_s = self.cursor_s();
        let frames = self.history.frames();
        let end = frames.partition_point(|frame| frame.end_s <= cursor_s + 1e-9);
        let before = frames.range(end.saturating_sub(SEARCHED)..end).rev();
        let mut found = before.filter_map(|frame| {
            let activity = frame.device(device)?.activity()?;
            let assessment = &activity.assessment;
            let of = |await_ms: Option<f64>, saturation: Option<f64>| {
                await_ms.zip(saturation).map(|(await_ms, times)| await_ms / times).filter(|ms| ms.is_finite())
            };
            let ms = of(activity.stats.reads.await_ms(), assessment.read_saturation)
                .or_else(|| of(activity.stats.writes.await_ms(), assessment.write_saturation))?;
            let name = match assessment.baseline_source {
                Some(BaselineSource::SinceBoot) => "mean since boot",
                _ => "unloaded",
            };
            Some((ms, format!("{name} {}", time(ms))))
        });
        found.next()
    }

    /// Marks the column under the cursor.
    fn draw_cursor(&self, buffer: &mut Buffer, plot: Rect, columns: &Columns) {
        if let Some(cell) = columns.cell_at(self.cursor_s()).filter(|_| !self.follows()) {
            buffer.set_style(Rect { x: plot.x + cell as u16, width: 1, ..plot }, REVERSED);
        }
    }
}
