//! The selected device: evidence, layers, limits, cgroups and tasks, and its charts on one time axis: lines over time in dots
//! of braille characters, and times of day below.

use std::ops::Range;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::{Modifier, Style};
use unicode_width::UnicodeWidthStr;

use super::{TextLine, put, put_line, put_right};
use crate::intervals::series::Extent;
use crate::intervals::{DeviceActivity, DeviceInterval, IntervalRows};
use crate::judge::{BaselineSource, Verdict};
use crate::quantities::Quantity;
use crate::quantities::device::*;
use crate::report::evidence::{
    host_texts, incident_parts, present_harm, sign_of_begin, timed_evidence_sentences,
};
use crate::report::layout::number_format::{number, percent, time};
use crate::report::layout::{ellipsize, time_of_day, wrap};
use crate::report::native::{Emphasis, TableOptions, TableWriter, cell, who_line};
use crate::report::scale::{Scale, top_below_burst, usual_max, without_zeros};
use crate::report::who::{WhoInterval, push_tables};
use crate::sanitize::sanitize;
use crate::screen::app::{App, Source};
use crate::screen::history::{Column, Frame, is_trouble, lasted_s};
use crate::screen::regions::Regions;
use crate::screen::theme::{BOLD, READS, REFERENCE, REVERSED, Stroke, THIRD, Theme, WRITES};
use crate::screen::time_axis::Columns;

/// The selected device at the cursor, and the space for its text.
struct Shown<'a> {
    device: &'a DeviceInterval,
    frame: &'a Frame,
    width: usize,
    /// True on a page of its own.
    is_page: bool,
}

/// The largest share of a page with charts that text takes, in percent.
const MAX_TEXT_PCT: u16 = 50;
/// The least height of the charts below the list.
const MIN_PANE_CHARTS: u16 = 5;
/// The least and the largest number of lines of text above them.
const MIN_PANE_LINES: u16 = 5;
const MAX_PANE_LINES: u16 = 8;
/// The most cgroups that are named on a page.
const MAX_CGROUPS: usize = 6;

/// The most devices of a stack that are listed.
const MAX_LAYERS: usize = 10;
/// The columns with numbers, and their widths.
const NUMBERS: [(&str, usize); 5] = [
    ("queue", 7),
    ("inflt", 7),
    ("r_await", 9),
    ("w_await", 9),
    ("util", 7),
];
/// The mean number of requests waiting at a layer from which the layer is marked.
const MIN_WAITING: f64 = 1.0;

impl App {
    /// Draws the selected device below the list.
    pub(super) fn draw_pane(&self, buffer: &mut Buffer, area: Rect, regions: &mut Regions) {
        let theme = self.options.theme;
        let line = "─".repeat(usize::from(area.width));
        put(buffer, area.x, area.y, area.width, &line, theme.dim());
        let rest = Rect {
            y: area.y + 1,
            height: area.height - 1,
            ..area
        };
        let lines = self.text_lines(usize::from(area.width), false);
        let charts = if rest.height >= MIN_PANE_CHARTS + 2 {
            MIN_PANE_CHARTS
        } else {
            0
        };
        // However many lines there are, so that the charts stay in place.
        let text_height = match charts {
            0 => rest.height,
            _ => (rest.height / 4)
                .clamp(MIN_PANE_LINES, MAX_PANE_LINES)
                .min(rest.height - charts),
        };
        self.draw_lines(
            buffer,
            Rect {
                height: text_height,
                ..rest
            },
            &lines,
        );
        if let Some(device) = self.selected.as_ref().filter(|_| charts > 0) {
            let charts = Rect {
                y: rest.y + text_height,
                height: rest.height - text_height,
                ..rest
            };
            self.draw_charts(buffer, charts, device, regions);
        }
    }

    /// Draws the selected device on a page of its own.
    pub(super) fn draw_detail(&self, buffer: &mut Buffer, area: Rect, regions: &mut Regions) {
        let lines = self.text_lines(usize::from(area.width), true);
        let most = (area.height * MAX_TEXT_PCT / 100).max(4);
        let text_height = (lines.len() as u16).min(most);
        self.draw_lines(
            buffer,
            Rect {
                height: text_height,
                ..area
            },
            &lines,
        );
        if let Some(device) = &self.selected {
            let charts = Rect {
                y: area.y + text_height,
                height: area.height - text_height,
                ..area
            };
            self.draw_charts(buffer, charts, device, regions);
        }
    }

    fn draw_lines(&self, buffer: &mut Buffer, area: Rect, lines: &[TextLine]) {
        let is_cut = lines.len() > usize::from(area.height);
        for (at, line) in lines.iter().take(usize::from(area.height)).enumerate() {
            let y = area.y + at as u16;
            put_line(buffer, Rect { y, ..area }, line);
            if is_cut && at + 1 == usize::from(area.height) {
                super::put_right(
                    buffer,
                    area.right(),
                    y,
                    &format!(" +{} lines", lines.len() - at - 1),
                    self.options.theme.dim(),
                );
            }
        }
    }

    /// Returns the text about the selected device at the cursor; all of it on a page of its own.
    fn text_lines(&self, width: usize, is_page: bool) -> Vec<TextLine> {
        let theme = self.options.theme;
        let dim = |text: &str| vec![vec![(text.to_owned(), theme.dim())]];
        let Some(name) = &self.selected else {
            return dim("no device");
        };
        let Some(frame) = self.moment() else {
            return Vec::new();
        };
        if !frame.is_exact() {
            return dim(match self.options.source {
                Source::Live => {
                    "only averages are kept for this time; evidence is kept for the last hour"
                }
                Source::Capture(_) => {
                    "only averages are kept for the early part of a long capture; --begin and --end show it exactly"
                }
            });
        }
        let Some(device) = frame.device(name) else {
            return dim("this device is not listed in this interval");
        };
        let shown = Shown {
            device,
            frame,
            width,
            is_page,
        };
        let mut lines = vec![self.title_line(device, lasted_s(device), width)];
        self.push_sentences(&shown, &mut lines);
        if is_page {
            push_table_lines(&shown, &self.options.time_zone, &mut lines);
        }
        self.push_layers(&shown, &mut lines);
        self.push_usage(&shown, &mut lines);
        lines
    }

    /// Returns the name, the verdict and its duration, and the mount points of the device.
    fn title_line(&self, device: &DeviceInterval, lasted_s: f64, width: usize) -> TextLine {
        let verdict = device.shown_verdict();
        let mut name = sanitize(device.label()).into_owned();
        if device.label() != device.device() {
            name += &format!(" ({})", sanitize(device.device()));
        }
        let for_s = if is_trouble(verdict) {
            let sign = device
                .incident()
                .map_or("", |ongoing| sign_of_begin(&ongoing.incident));
            format!(
                " for {sign}{}",
                crate::report::layout::sentence_numbers::duration(lasted_s.round())
            )
        } else {
            String::new()
        };
        let verdict_text = verdict.map_or("no verdict", Verdict::name);
        let used = name.width() + verdict_text.len() + for_s.len() + 6;
        let mounts = if device.names.mountpoints.is_empty() || used + 10 > width {
            String::new()
        } else {
            format!(
                "    {}",
                ellipsize(&sanitize(&device.names.mountpoints), width - used)
            )
        };
        vec![
            (name, BOLD),
            (": ".to_owned(), Style::new()),
            (
                verdict_text.to_owned(),
                self.options
                    .theme
                    .verdict(verdict)
                    .add_modifier(Modifier::BOLD),
            ),
            (for_s, Style::new()),
            (mounts, self.options.theme.dim()),
        ]
    }

    fn push_sentences(&self, shown: &Shown<'_>, lines: &mut Vec<TextLine>) {
        let Some(activity) = shown.device.activity() else {
            return;
        };
        if let Some(ongoing) = &activity.incident {
            let stats = Some(&activity.judged.interval).filter(|_| ongoing.is_victim);
            let parts = incident_parts(&ongoing.incident, &present_harm(&ongoing.incident, stats));
            let style = self.options.theme.emphasis(Emphasis::Warning);
            let victim = sanitize(&ongoing.incident.victim.label);
            let see = (!ongoing.is_victim).then(|| format!("see {victim}"));
            let text = see.into_iter().chain(parts).collect::<Vec<_>>().join("; ");
            push_wrapped(&text, shown.width, style, lines);
        }
        let mut sentences =
            timed_evidence_sentences(activity, |at| time_of_day(at, &self.options.time_zone));
        let rows = &shown.frame.rows;
        for (_, text) in host_texts(&rows.header, rows.attribution.as_ref()) {
            sentences.push(text);
        }
        for sentence in sentences {
            push_wrapped(&sanitize(&sentence), shown.width, Style::new(), lines);
        }
    }

    /// Appends the devices below and above, and marks where requests wait.
    fn push_layers(&self, shown: &Shown<'_>, lines: &mut Vec<TextLine>) {
        let Shown { device, frame, .. } = shown;
        let layers = layers(frame, device.device());
        if layers.len() < 2 || !shown.is_page && !is_trouble(device.shown_verdict()) {
            return;
        }
        let theme = self.options.theme;
        let mut titles = vec![(format!("  {:<16}{:<11}", "layer", "verdict"), theme.dim())];
        titles.extend(NUMBERS.map(|(title, width)| (format!("{title:>width$}"), theme.dim())));
        lines.push(titles);
        let waiting = layers
            .iter()
            .map(|(_, layer)| (layer.device(), waiting(frame, layer)));
        let longest = waiting.max_by(|(_, a), (_, b)| a.total_cmp(b));
        let longest = longest
            .filter(|(_, waiting)| *waiting >= MIN_WAITING)
            .map(|(name, _)| name);
        for (depth, layer) in &layers {
            let Some(activity) = layer.activity() else {
                continue;
            };
            let text = |title: &str| cell(title, activity, self.options.saturation_threshold).0;
            let name = format!("{}{}", " ".repeat(*depth), sanitize(layer.label()));
            let verdict = layer.shown_verdict();
            let mut line = vec![
                (format!("  {:<16}", ellipsize(&name, 15)), Style::new()),
                (
                    format!("{:<11}", verdict.map_or("-", Verdict::name)),
                    theme.verdict(verdict),
                ),
            ];
            line.extend(
                NUMBERS.map(|(title, width)| (format!("{:>width$}", text(title)), Style::new())),
            );
            if longest == Some(layer.device()) && shown.width > 80 {
                line.push(("  ◀ requests wait here".to_owned(), theme.verdict(verdict)));
            }
            lines.push(line);
        }
    }

    /// Appends the cgroups with their limits, and the tasks that wait.
    fn push_usage(&self, shown: &Shown<'_>, lines: &mut Vec<TextLine>) {
        let Shown {
            device,
            frame,
            width,
            is_page,
        } = shown;
        let (width, is_page) = (*width, *is_page);
        let theme = self.options.theme;
        // Cgroups are counted for whole devices.
        let name = frame
            .topology
            .disk_of(device.device())
            .unwrap_or(device.device());
        let Some(attribution) = &frame.rows.attribution else {
            let text = if self.options.source == Source::Live && self.follows() {
                "who: cgroups and processes are being read ..."
            } else if is_page {
                "who: cgroups and processes of this interval are not known"
            } else {
                return;
            };
            lines.push(vec![(format!("  {text}"), theme.dim())]);
            return;
        };
        if !is_page {
            if let Some(text) = who_line(name, attribution) {
                push_wrapped(&text, width, Style::new(), lines);
            }
            return;
        }
        let usage = attribution
            .device(name)
            .filter(|usage| !usage.cgroups.is_empty());
        if usage.is_none() && attribution.blocked.is_empty() {
            lines.push(vec![(
                "  who: no cgroup used this device".to_owned(),
                theme.dim(),
            )]);
            return;
        }
        let interval = WhoInterval {
            header: &frame.rows.header,
            attribution: Some(attribution),
            unread_s: 0.0,
            devices: usage.map(|usage| (usage, Vec::new())).into_iter().collect(),
            sort: "MiB/s",
            top: MAX_CGROUPS,
        };
        let mut text = Vec::new();
        push_tables(&interval, width.saturating_sub(2), &mut text);
        let text = String::from_utf8_lossy(&text);
        lines.extend(
            text.lines()
                .map(|line| vec![(format!("  {line}"), Style::new())]),
        );
    }
}

/// Returns the mean number of requests at a device or below it. While no request completes, the kernel counts no
/// queue time, so those in flight are used.
fn requests(device: &DeviceInterval) -> f64 {
    let Some(stats) = device.stats() else {
        return 0.0;
    };
    let queue = stats.queue().unwrap_or(0.0);
    match device.shown_verdict() {
        Some(Verdict::Stalled) => queue.max(stats.in_flight.unwrap_or(0) as f64),
        _ => queue,
    }
}

/// Returns the mean number of requests that wait at a device: those that are not at the devices directly below it.
fn waiting(frame: &Frame, device: &DeviceInterval) -> f64 {
    let below = frame.topology.backing_devices(device.device()).iter();
    let below = below.filter_map(|name| frame.device(name));
    requests(device) - below.map(requests).sum::<f64>()
}

/// Returns the devices that a device is stacked on or that are stacked on it, from the top to the bottom, each with its
/// depth. If several devices are stacked on one, the one with the most requests is used.
fn layers<'a>(frame: &'a Frame, name: &str) -> Vec<(usize, &'a DeviceInterval)> {
    let mut above: Vec<&DeviceInterval> = Vec::new();
    let mut at = name;
    while above.len() < MAX_LAYERS {
        let holders = frame
            .topology
            .holders(at)
            .filter_map(|holder| frame.device(&holder.name));
        let is_new = |holder: &&DeviceInterval| {
            holder.device() != name && above.iter().all(|known| known.device() != holder.device())
        };
        // Among equals, the first one.
        let next = holders
            .filter(is_new)
            .min_by(|a, b| requests(b).total_cmp(&requests(a)));
        let Some(next) = next else { break };
        above.push(next);
        at = next.device();
    }
    let mut found: Vec<(usize, &DeviceInterval)> =
        above.iter().rev().copied().enumerate().collect();
    let mut pending = vec![(above.len(), name)];
    while let Some((depth, name)) = pending.pop() {
        let Some(device) = frame.device(name) else {
            continue;
        };
        if found.len() >= MAX_LAYERS
            || found
                .iter()
                .any(|(_, known)| known.device() == device.device())
        {
            continue;
        }
        found.push((depth, device));
        let below = frame.topology.backing_devices(name).iter().rev();
        pending.extend(below.map(|below| (depth + 1, below.as_str())));
    }
    found
}

/// Appends a text in lines, indented.
pub(super) fn push_wrapped(text: &str, width: usize, style: Style, lines: &mut Vec<TextLine>) {
    for line in wrap(text, width.saturating_sub(2).max(20)) {
        lines.push(vec![(format!("  {line}"), style)]);
    }
}

/// Appends the lines of the device as the scrolling view prints them: the titles and the cells.
fn push_table_lines(shown: &Shown<'_>, time_zone: &TimeZone, lines: &mut Vec<TextLine>) {
    let options = TableOptions {
        width: Some(shown.width),
        ..TableOptions::default()
    };
    let mut writer = TableWriter::new(&options, false, time_zone.clone());
    let (header, devices) = (shown.frame.rows.header.clone(), vec![shown.device.clone()]);
    let rows = IntervalRows {
        header,
        devices,
        has_found_any: true,
        ..IntervalRows::default()
    };
    let mut text = Vec::new();
    writer.push_interval(&rows, &mut text);
    let text = String::from_utf8_lossy(&text);
    let all: Vec<&str> = text.lines().collect();
    let titles = all
        .iter()
        .rposition(|line| line.starts_with("device"))
        .unwrap_or(all.len());
    let styles = [BOLD, Style::new()];
    lines.extend(
        all[titles..]
            .iter()
            .zip(styles)
            .map(|(line, style)| vec![((*line).to_owned(), style)]),
    );
}

static LATENCIES: &[Line] = &[
    (&READ_AWAIT_MS, &READS, "reads"),
    (&WRITE_AWAIT_MS, &WRITES, "writes"),
    (&FLUSH_AWAIT_MS, &THIRD, "flushes"),
];
static QUEUES: &[Line] = &[(&QUEUE, &READS, "queue"), (&IN_FLIGHT, &THIRD, "in flight")];
static RATES: &[Line] = &[
    (&READS_PER_S, &READS, "reads"),
    (&WRITES_PER_S, &WRITES, "writes"),
];
static THROUGHPUT: &[Line] = &[
    (&READ_KIB_PER_S, &READS, "reads"),
    (&WRITE_KIB_PER_S, &WRITES, "writes"),
];
static SIZES: &[Line] = &[
    (&READ_SIZE_KIB, &READS, "reads"),
    (&WRITE_SIZE_KIB, &WRITES, "writes"),
];
static UTIL: &[Line] = &[
    (&PLAUSIBLE_UTIL_PCT, &READS, "util"),
    (&DOUBTFUL_UTIL_PCT, &THIRD, "? cannot be true"),
];

/// Returns an axis that begins at zero.
fn from_zero(_min: f64, max: f64) -> Scale {
    Scale::linear(max)
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

/// The width of the labels at the left of a chart.
const GUTTER: u16 = 8;

/// A line: its quantity, how it is drawn, and its name in the legend.
type Line = (&'static Quantity, &'static Stroke, &'static str);

struct Chart {
    title: &'static str,
    lines: &'static [Line],
    /// The factor by which values are multiplied.
    factor: f64,
    /// The axis for values above zero, given the least and the largest.
    scale: fn(f64, f64) -> Scale,
    format: fn(f64) -> String,
    /// True if a short burst is cut.
    cuts: bool,
    /// A line to compare with, and its name.
    reference: Option<(f64, String)>,
    /// The values of the lines under the cursor.
    values: Vec<Option<f64>>,
}

/// The columns and rows of dots in a cell: those of braille.
const DOTS_PER_CELL: (usize, usize) = (2, 4);

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
            let Some(cell) = self.cells.get_mut(at) else {
                continue;
            };
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

impl Chart {
    /// Draws the chart with its title; the points are those of the columns of dots.
    fn draw(&self, buffer: &mut Buffer, area: Rect, shown: &[Column<'_>], theme: Theme) {
        self.draw_legend(buffer, area, shown, theme);
        let plot = plot_area(area);
        if plot.height == 0 || plot.width == 0 {
            return;
        }
        let (mut min, mut max, mut usual) = (f64::INFINITY, 0.0_f64, 0.0_f64);
        for (quantity, ..) in self.lines {
            let mut maxima = Vec::new();
            for extent in shown.iter().map(|column| column.extent(quantity)) {
                let ends = [extent.min(), extent.max()].map(|end| end.map(|end| end * self.factor));
                maxima.extend(ends[1].filter(|end| *end > 0.0));
                min = ends[0]
                    .filter(|end| *end > 0.0)
                    .map_or(min, |end| min.min(end));
            }
            usual = usual.max(usual_max(&mut maxima));
            max = max.max(maxima.last().copied().unwrap_or(0.0));
        }
        let reference = self.reference.as_ref().map(|(value, _)| *value);
        if let Some(value) = reference {
            (min, max) = (min.min(value), max.max(value));
        }
        let top = top_below_burst(max, usual).filter(|_| self.cuts);
        let axis = (self.scale)(min, top.unwrap_or(max));
        let mut canvas = Canvas::new(plot);
        if let Some(value) = reference {
            let row = canvas.row_at(axis.position(value));
            let columns = usize::from(plot.width) * DOTS_PER_CELL.0;
            for column in (0..columns).filter(|column| REFERENCE.is_dash(*column)) {
                canvas.draw(column, (row, row), theme.stroke(&REFERENCE));
            }
        }
        for line in self.lines.iter().rev() {
            self.draw_line(&mut canvas, line, shown, &axis, theme);
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
        if top.is_none() {
            return;
        }
        for (number, column) in shown.iter().enumerate() {
            let is_above = |(quantity, ..): &Line| {
                let highest = column.extent(quantity).max();
                highest.is_some_and(|highest| highest * self.factor > axis.max)
            };
            if self.lines.iter().any(is_above) {
                let x = plot.x + (number / DOTS_PER_CELL.0) as u16;
                put(buffer, x, plot.y, 1, "▲", theme.dim());
            }
        }
        let text = format!("  ▲ up to {}", (self.format)(max));
        put_right(buffer, area.right(), area.y, &text, theme.dim());
    }

    /// Returns whether there is a value above zero.
    fn has_values(&self, shown: &[Column<'_>]) -> bool {
        self.lines.iter().any(|(quantity, ..)| {
            shown
                .iter()
                .any(|column| column.extent(quantity).max() > Some(0.0))
        })
    }

    /// Draws a line: in each column from the minimum to the maximum, joined to the column before.
    fn draw_line(
        &self,
        canvas: &mut Canvas,
        (quantity, stroke, _): &Line,
        shown: &[Column<'_>],
        axis: &Scale,
        theme: Theme,
    ) {
        let style = theme.stroke(stroke);
        let mut last: Option<usize> = None;
        for (column, shown) in shown.iter().enumerate() {
            let extent = shown.extent(quantity);
            let row = |value: f64| canvas.row_at(axis.position(value * self.factor));
            let rows =
                [Extent::max, Extent::min, Extent::mean].map(|value| value(&extent).map(row));
            let [Some(mut top), Some(mut bottom), Some(middle)] = rows else {
                last = None;
                continue;
            };
            if let Some(last) = last {
                (top, bottom) = (top.min(last), bottom.max(last));
            }
            if stroke.is_dash(column) || bottom - top > 1 {
                canvas.draw(column, (top, bottom), style);
            }
            last = Some(middle);
        }
    }

    /// Writes the title, and the lines with their values under the cursor.
    fn draw_legend(&self, buffer: &mut Buffer, area: Rect, shown: &[Column<'_>], theme: Theme) {
        let mut x = put(buffer, area.x, area.y, area.width, self.title, BOLD) + 2;
        let mut add = |text: &str, style: Style| {
            let width = text.width() as u16;
            if x + width <= area.right() {
                x = put(buffer, x, area.y, width, text, style);
            }
        };
        for ((quantity, stroke, name), value) in self.lines.iter().zip(&self.values) {
            // A line that is not drawn needs no entry.
            if shown
                .iter()
                .all(|column| column.extent(quantity).is_empty())
            {
                continue;
            }
            add(&format!("{} {name} ", stroke.mark), theme.stroke(stroke));
            let value = value.map_or("-".to_owned(), |value| (self.format)(value * self.factor));
            add(&format!("{value}  "), Style::new());
        }
        if let Some((_, name)) = &self.reference {
            add(
                &format!("{} {name}", REFERENCE.mark),
                theme.stroke(&REFERENCE),
            );
        }
    }
}

/// Returns the area of the lines of a chart.
fn plot_area(area: Rect) -> Rect {
    Rect {
        x: area.x + GUTTER,
        y: area.y + 1,
        width: area.width.saturating_sub(GUTTER),
        height: area.height.saturating_sub(1),
    }
}

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
        let heights = area.height - 1;
        let width = area.width / across - if across > 1 { 1 } else { 0 };
        let plot_width = usize::from(width.saturating_sub(GUTTER));
        let columns = self
            .axis
            .columns(self.options.interval_s, plot_width, DOTS_PER_CELL.0);
        let shown: Vec<Column<'_>> = (0..columns.width)
            .map(|column| {
                self.history
                    .column(device, columns.seconds, columns.first + column as i64)
            })
            .collect();
        let now = self.moment().and_then(|moment| moment.device(device));
        let now = now.and_then(DeviceInterval::activity);
        let mut charts = self.charts(now, device);
        if charts.iter().any(|chart| chart.has_values(&shown)) {
            charts.retain(|chart| chart.has_values(&shown));
        }
        let mut charts = charts.into_iter();
        let most = (charts.len() as u16).div_ceil(across);
        let down = (heights / MIN_CHART_HEIGHT).clamp(1, most);
        let mut y = area.y;
        for row in 0..down {
            // The first charts get the remaining rows.
            let height = heights / down + u16::from(row < heights % down);
            for column in 0..across {
                let chart_area = Rect {
                    x: area.x + column * (width + 2),
                    y,
                    width,
                    height,
                };
                let Some(chart) = charts.next() else {
                    continue;
                };
                chart.draw(buffer, chart_area, &shown, self.options.theme);
                let plot = plot_area(chart_area);
                self.draw_cursor(buffer, plot, &columns);
                regions.charts.push((plot, columns));
            }
            y += height;
        }
        for column in 0..across {
            let x = area.x + column * (width + 2);
            let labels = Rect {
                x: x + GUTTER,
                y,
                width: width.saturating_sub(GUTTER),
                height: 1,
            };
            self.draw_time_labels(buffer, labels, &columns);
        }
    }

    /// Returns the charts in the order of their importance.
    fn charts(&self, now: Option<&DeviceActivity>, device: &str) -> Vec<Chart> {
        let (throughput, factor) = self.throughput_unit();
        let chart = |title, lines: &'static [Line], scale, format| Chart {
            title,
            lines,
            factor: 1.0,
            scale,
            format,
            cuts: false,
            reference: None,
            values: lines
                .iter()
                .map(|(quantity, ..)| now?.extent(quantity).mean())
                .collect(),
        };
        let linear = |title, lines: &'static [Line]| Chart {
            cuts: true,
            ..chart(title, lines, from_zero, number)
        };
        vec![
            Chart {
                reference: self.reference_latency(device),
                ..chart("latency", LATENCIES, Scale::log, time)
            },
            linear("queue", QUEUES),
            linear("requests/s", RATES),
            Chart {
                factor,
                ..linear(throughput, THROUGHPUT)
            },
            chart("util", UTIL, |_, max| Scale::percent(max), percent),
            linear("KiB per request", SIZES),
        ]
    }

    /// The latency in milliseconds that a device is compared with at the cursor, or was compared with shortly before,
    /// and its name; `None` without one.
    fn reference_latency(&self, device: &str) -> Option<(f64, String)> {
        const SEARCHED: usize = 30;
        let cursor_s = self.cursor_s();
        let frames = self.history.frames();
        let end = frames.partition_point(|frame| frame.span.end_s <= cursor_s + 1e-9);
        let before = frames.range(end.saturating_sub(SEARCHED)..end).rev();
        let mut found = before.filter_map(|frame| {
            let activity = frame.device(device)?.activity()?;
            let assessment = activity.judged.assessment();
            let judged = &activity.judged;
            let mut unloaded = [READ_AWAIT_MS, WRITE_AWAIT_MS]
                .into_iter()
                .filter_map(|latency| {
                    Some(latency.value(judged)? / latency.requests.saturation(judged)?)
                });
            let ms = unloaded.find(|ms| ms.is_finite())?;
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
            buffer.set_style(
                Rect {
                    x: plot.x + cell as u16,
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
        let taken = self.draw_cursor_time(buffer, area, columns);
        let mut free_from = area.x;
        let mut last: Option<i64> = None;
        for x in area.x..area.right() {
            let time_s = columns.time_at(x - area.x);
            let Some(wall) = self.wall_at(time_s) else {
                continue;
            };
            let zoned = wall.to_zoned(self.options.time_zone.clone());
            let local_s = wall.as_second() + i64::from(zoned.offset().seconds());
            let tick = local_s.div_euclid(step);
            let is_new = last.replace(tick).is_some_and(|last| last != tick);
            if !is_new || x < free_from {
                continue;
            }
            let at = Timestamp::from_second(tick * step - i64::from(zoned.offset().seconds()))
                .unwrap_or(wall);
            let format = match step {
                86_400.. => "%m-%d",
                60.. => "%H:%M",
                _ => "%H:%M:%S",
            };
            let text = format!(
                "╵{}",
                at.to_zoned(self.options.time_zone.clone()).strftime(format)
            );
            let end = x + text.chars().count() as u16;
            if end <= area.right() && (end < taken.start || taken.end <= x) {
                free_from = put(buffer, x, area.y, area.right() - x, &text, theme.dim()) + 1;
            }
        }
    }

    /// Writes the time under the cursor, and returns the columns that it takes.
    fn draw_cursor_time(&self, buffer: &mut Buffer, area: Rect, columns: &Columns) -> Range<u16> {
        const WIDTH: u16 = 10;
        let cell = columns.cell_at(self.cursor_s());
        let Some((cell, end)) = cell.zip(self.moment().and_then(Frame::end)) else {
            return 0..0;
        };
        let time = time_of_day(end, &self.options.time_zone);
        let x = area.x + cell as u16;
        let is_left = x + WIDTH > area.right();
        let text = if is_left {
            format!("{time} ▲")
        } else {
            format!("▲ {time}")
        };
        let x = (if is_left {
            (x + 1).saturating_sub(WIDTH)
        } else {
            x
        })
        .max(area.x);
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

#[cfg(test)]
mod charts_tests {
    use super::*;

    #[test]
    fn what_is_drawn_is_kept() {
        let charts = [LATENCIES, QUEUES, RATES, THROUGHPUT, UTIL, SIZES];
        for (quantity, ..) in charts.iter().copied().flatten() {
            let is_kept = CHARTED.iter().any(|kept| kept.name == quantity.name);
            assert!(is_kept, "{}", quantity.name);
        }
    }

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
