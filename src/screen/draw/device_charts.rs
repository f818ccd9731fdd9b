//! The charts of the selected device on one time axis, with times of day below.

use std::ops::Range;

use jiff::Timestamp;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;

use super::chart::{Chart, DOTS_PER_CELL, GUTTER, Line, plot_area};
use super::put;
use crate::intervals::{DeviceActivity, DeviceInterval};
use crate::judge::{BaselineSource, Judged};
use crate::quantities::Quantity;
use crate::quantities::device::*;
use crate::report::layout::number_format::{number, percent, time};
use crate::report::layout::{format_time, time_of_day};
use crate::report::scale::Scale;
use crate::screen::app::App;
use crate::screen::history::Frame;
use crate::screen::regions::Regions;
use crate::screen::theme::{BOLD, READS, REVERSED, Stroke, THIRD, WRITES};
use crate::screen::time_axis::Columns;

static LATENCIES: &[Line] = &[
    line(&READ_AWAIT_MS, &READS, "reads"),
    line(&WRITE_AWAIT_MS, &WRITES, "writes"),
    line(&FLUSH_AWAIT_MS, &THIRD, "flushes"),
];
static QUEUES: &[Line] = &[
    line(&QUEUE, &READS, "queue"),
    line(&IN_FLIGHT, &THIRD, "in flight"),
];
static RATES: &[Line] = &[
    line(&READS_PER_S, &READS, "reads"),
    line(&WRITES_PER_S, &WRITES, "writes"),
];
static THROUGHPUT: &[Line] = &[
    line(&READ_KIB_PER_S, &READS, "reads"),
    line(&WRITE_KIB_PER_S, &WRITES, "writes"),
];
static SIZES: &[Line] = &[
    line(&READ_SIZE_KIB, &READS, "reads"),
    line(&WRITE_SIZE_KIB, &WRITES, "writes"),
];
static UTIL: &[Line] = &[
    line(&PLAUSIBLE_UTIL_PCT, &READS, "util"),
    line(&DOUBTFUL_UTIL_PCT, &THIRD, "? cannot be true"),
];

const fn line(quantity: &'static Quantity, stroke: &'static Stroke, name: &'static str) -> Line {
    Line {
        quantity,
        stroke,
        name,
    }
}

/// The least height of a chart: another chart is shown once each has this height.
const MIN_CHART_HEIGHT: u16 = 4;
/// The width from which charts are in two columns.
const MIN_WIDTH_OF_TWO: u16 = 150;

/// Round steps between labels, in seconds.
const STEPS_S: [i64; 17] = [
    1, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 21_600, 43_200, 86_400,
];
/// The least distance between labels, in cells.
const MIN_DISTANCE: f64 = 12.0;

impl App {
    /// Draws as many charts of a device as fit, the most important first, with a common time axis below.
    pub(super) fn draw_charts(
        &self,
        buffer: &mut Buffer,
        area: Rect,
        device: &str,
        regions: &mut Regions,
    ) {
        if area.height < MIN_CHART_HEIGHT {
            return;
        }
        let across = if area.width >= MIN_WIDTH_OF_TWO { 2 } else { 1 };
        let width = area.width / across - (across - 1);
        let plot_width = width.saturating_sub(GUTTER);
        let columns = self.axis.columns(
            self.options.interval_s,
            usize::from(plot_width),
            DOTS_PER_CELL.0,
        );
        let numbers = columns.numbers();
        let shown: Vec<_> = numbers
            .map(|number| self.history.column(device, columns.seconds, number))
            .collect();

        let mut charts = self.charts(device);
        if charts.iter().any(|chart| chart.exceeds(0.0, &shown)) {
            charts.retain(|chart| chart.exceeds(0.0, &shown));
        }
        let heights = area.height - 1;
        let most = (charts.len() as u16).div_ceil(across);
        let down = (heights / MIN_CHART_HEIGHT).clamp(1, most);
        let rows = charts.chunks(usize::from(across)).take(usize::from(down));
        let mut y = area.y;
        for (row, charts) in (0..).zip(rows) {
            // The first charts get the remaining rows.
            let height = heights / down + u16::from(row < heights % down);
            let mut x = area.x;
            for chart in charts {
                let chart_area = Rect {
                    x,
                    y,
                    width,
                    height,
                };
                chart.draw(buffer, chart_area, &shown, self.options.theme);
                let plot = plot_area(chart_area);
                self.draw_cursor(buffer, plot, &columns);
                regions.charts.push((plot, columns));
                x += width + 2;
            }
            y += height;
        }

        for column in 0..across {
            let labels = Rect {
                x: area.x + column * (width + 2) + GUTTER,
                y,
                width: plot_width,
                height: 1,
            };
            self.draw_time_labels(buffer, labels, &columns);
        }
    }

    /// Returns the charts of a device in the order of their importance.
    fn charts(&self, device: &str) -> Vec<Chart> {
        let now = self.activity_at_cursor(device);
        vec![
            Chart {
                scale: Scale::log,
                format: time,
                cuts: false,
                reference: self.reference_latency(device),
                ..linear_chart("latency", LATENCIES, now)
            },
            linear_chart("queue", QUEUES, now),
            linear_chart("requests/s", RATES, now),
            Chart {
                factor: 1.0 / 1024.0,
                ..linear_chart("MiB/s", THROUGHPUT, now)
            },
            Chart {
                scale: |_, max| Scale::percent(max),
                format: percent,
                cuts: false,
                ..linear_chart("util", UTIL, now)
            },
            linear_chart("KiB per request", SIZES, now),
        ]
    }

    fn activity_at_cursor(&self, device: &str) -> Option<&DeviceActivity> {
        self.moment()?.device(device)?.activity()
    }

    /// The latency in milliseconds that a device is compared with at the cursor, or was compared with shortly before,
    /// and its name; `None` without one.
    fn reference_latency(&self, device: &str) -> Option<(f64, String)> {
        const SEARCHED: usize = 30;
        let cursor_s = self.cursor_s();
        let frames = self.history.frames();
        let end = frames.partition_point(|frame| frame.span.end_s <= cursor_s + 1e-9);
        for frame in frames.range(end.saturating_sub(SEARCHED)..end).rev() {
            let Some(activity) = frame.device(device).and_then(DeviceInterval::activity) else {
                continue;
            };
            let judged = &activity.judged;
            let Some(ms) = unloaded_ms(judged, &READ_AWAIT_MS)
                .or_else(|| unloaded_ms(judged, &WRITE_AWAIT_MS))
            else {
                continue;
            };
            let name = match judged.assessment().baseline_source {
                Some(BaselineSource::SinceBoot) => "mean since boot",
                _ => "unloaded",
            };
            return Some((ms, format!("{name} {}", time(ms))));
        }
        None
    }

    /// Marks the column under the cursor.
    pub(super) fn draw_cursor(&self, buffer: &mut Buffer, plot: Rect, columns: &Columns) {
        if self.follows() {
            return;
        }
        if let Some(cell) = columns.cell_at(self.cursor_s()) {
            let x = plot.x + cell as u16;
            buffer.set_style(
                Rect {
                    x,
                    width: 1,
                    ..plot
                },
                REVERSED,
            );
        }
    }

    /// Writes round times of day below a chart, and the time under the cursor.
    fn draw_time_labels(&self, buffer: &mut Buffer, area: Rect, columns: &Columns) {
        let theme = self.options.theme;
        let step = STEPS_S
            .into_iter()
            .find(|step| *step as f64 >= columns.cell_s() * MIN_DISTANCE)
            .unwrap_or(86_400);
        let format = match step {
            86_400.. => "╵%m-%d",
            60.. => "╵%H:%M",
            _ => "╵%H:%M:%S",
        };
        let taken = self.draw_cursor_time(buffer, area, columns);
        let mut free_from = area.x;
        let mut tick_before: Option<i64> = None;
        for x in area.x..area.right() {
            let Some(wall) = self.wall_at(columns.time_at(x - area.x)) else {
                continue;
            };
            let time_zone = &self.options.time_zone;
            let offset_s = i64::from(time_zone.to_offset(wall).seconds());
            let tick = (wall.as_second() + offset_s).div_euclid(step);
            let is_new = tick_before.is_some_and(|before| before != tick);
            tick_before = Some(tick);
            if !is_new || x < free_from {
                continue;
            }

            let at = Timestamp::from_second(tick * step - offset_s).unwrap_or(wall);
            let text = format_time(at, time_zone, format);
            let end = x + text.chars().count() as u16;
            if end <= area.right() && (end < taken.start || taken.end <= x) {
                free_from = put(buffer, x, area.y, area.right() - x, &text, theme.dim()) + 1;
            }
        }
    }

    /// Writes the time under the cursor, and returns the columns that it takes.
    fn draw_cursor_time(&self, buffer: &mut Buffer, area: Rect, columns: &Columns) -> Range<u16> {
        const WIDTH: u16 = 10;
        let Some(end) = self.moment().and_then(Frame::end) else {
            return 0..0;
        };
        let Some(cell) = columns.cell_at(self.cursor_s()) else {
            return 0..0;
        };
        let time = time_of_day(end, &self.options.time_zone);
        let cursor = area.x + cell as u16;
        let (begin, text) = match cursor + WIDTH > area.right() {
            true => ((cursor + 1).saturating_sub(WIDTH), format!("{time} ▲")),
            false => (cursor, format!("▲ {time}")),
        };
        let x = begin.max(area.x);
        x..put(buffer, x, area.y, WIDTH, &text, BOLD)
    }

    /// Returns the time of day at a time of the run; `None` outside the run, or without a wall clock.
    fn wall_at(&self, time_s: f64) -> Option<Timestamp> {
        let newest_s = self.history.newest()?.span.end_s;
        if time_s < 0.0 || time_s > newest_s {
            return None;
        }
        let moment = self.history.at(time_s)?;
        let before = jiff::SignedDuration::try_from_secs_f64(moment.span.end_s - time_s).ok()?;
        moment.end()?.checked_sub(before).ok()
    }
}

/// Returns a chart of numbers on an axis that begins at zero.
fn linear_chart(
    title: &'static str,
    lines: &'static [Line],
    now: Option<&DeviceActivity>,
) -> Chart {
    let values = lines
        .iter()
        .map(|line| now?.extent(line.quantity).mean())
        .collect();
    Chart {
        title,
        lines,
        factor: 1.0,
        scale: |_, max| Scale::linear(max),
        format: number,
        cuts: true,
        reference: None,
        values,
    }
}

/// Returns the latency that the unloaded device had in this interval; `None` if it is not known.
fn unloaded_ms(judged: &Judged, latency: &Quantity) -> Option<f64> {
    let ms = latency.value(judged)? / latency.requests.saturation(judged)?;
    ms.is_finite().then_some(ms)
}

#[cfg(test)]
mod device_charts_tests {
    use super::*;

    #[test]
    fn what_is_drawn_is_kept() {
        let charts = [LATENCIES, QUEUES, RATES, THROUGHPUT, UTIL, SIZES];
        for line in charts.into_iter().flatten() {
            let is_kept = CHARTED.iter().any(|kept| kept.name == line.quantity.name);
            assert!(is_kept, "{}", line.quantity.name);
        }
    }
}
