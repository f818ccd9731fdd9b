//! The selected device in words: its verdict, evidence, layers, limits, cgroups and tasks.

use jiff::tz::TimeZone;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::{Modifier, Style};
use unicode_width::UnicodeWidthStr;

use super::{TextLine, put_in, put_line, put_right};
use crate::intervals::{DeviceInterval, IntervalRows};
use crate::judge::Verdict;
use crate::report::evidence::{
    host_texts, incident_parts, sign_of_begin, timed_evidence_sentences,
};
use crate::report::layout::sentence_numbers::duration;
use crate::report::layout::{ellipsize, time_of_day, wrap};
use crate::report::native::{Emphasis, TableOptions, TableWriter, cell, see_text, who_line};
use crate::report::who::{WhoInterval, push_tables};
use crate::sanitize::sanitize;
use crate::screen::app::{App, Source};
use crate::screen::history::{Frame, is_trouble, lasted_s};
use crate::screen::regions::Regions;
use crate::screen::theme::BOLD;

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
        let rule = "─".repeat(usize::from(area.width));
        put_in(buffer, area, &rule, self.options.theme.dim());
        let rest = Rect {
            y: area.y + 1,
            height: area.height - 1,
            ..area
        };
        // However many lines there are, so that the charts stay in place.
        let text_height = match rest.height.checked_sub(MIN_PANE_CHARTS) {
            Some(most) if most >= 2 => (rest.height / 4)
                .clamp(MIN_PANE_LINES, MAX_PANE_LINES)
                .min(most),
            _ => rest.height,
        };
        let lines = self.text_lines(usize::from(area.width), false);
        self.draw_text_and_charts(buffer, rest, &lines, text_height, regions);
    }

    /// Draws the selected device on a page of its own.
    pub(super) fn draw_detail(&self, buffer: &mut Buffer, area: Rect, regions: &mut Regions) {
        let lines = self.text_lines(usize::from(area.width), true);
        let most = (area.height * MAX_TEXT_PCT / 100).max(4);
        let text_height = (lines.len() as u16).min(most);
        self.draw_text_and_charts(buffer, area, &lines, text_height, regions);
    }

    fn draw_text_and_charts(
        &self,
        buffer: &mut Buffer,
        area: Rect,
        lines: &[TextLine],
        text_height: u16,
        regions: &mut Regions,
    ) {
        let text = Rect {
            height: text_height,
            ..area
        };
        self.draw_lines(buffer, text, lines);
        if let Some(device) = &self.selected {
            let charts = Rect {
                y: text.bottom(),
                height: area.height - text_height,
                ..area
            };
            self.draw_charts(buffer, charts, device, regions);
        }
    }

    fn draw_lines(&self, buffer: &mut Buffer, area: Rect, lines: &[TextLine]) {
        for (line, row) in lines.iter().zip(area.rows()) {
            put_line(buffer, row, line);
        }
        let more = lines.len().saturating_sub(usize::from(area.height));
        if more > 0 && area.height > 0 {
            let text = format!(" +{more} lines");
            let dim = self.options.theme.dim();
            put_right(buffer, area.right(), area.bottom() - 1, &text, dim);
        }
    }

    fn dim_line(&self, text: &str) -> TextLine {
        vec![(text.to_owned(), self.options.theme.dim())]
    }

    /// Returns the text about the selected device at the cursor; all of it on a page of its own.
    fn text_lines(&self, width: usize, is_page: bool) -> Vec<TextLine> {
        let Some(name) = &self.selected else {
            return vec![self.dim_line("no device")];
        };
        let Some(frame) = self.moment() else {
            return Vec::new();
        };
        if !frame.is_exact() {
            let text = match self.options.source {
                Source::Live => {
                    "only averages are kept for this time; evidence is kept for the last hour"
                }
                Source::Capture(_) => {
                    "only averages are kept for the early part of a long capture; --begin and --end show it exactly"
                }
            };
            return vec![self.dim_line(text)];
        }
        let Some(device) = frame.device(name) else {
            return vec![self.dim_line("this device is not listed in this interval")];
        };

        let shown = Shown {
            device,
            frame,
            width,
            is_page,
        };
        let mut lines = vec![self.title_line(device, width)];
        self.push_sentences(&shown, &mut lines);
        if is_page {
            push_table_lines(&shown, &self.options.time_zone, &mut lines);
        }
        self.push_layers(&shown, &mut lines);
        self.push_usage(&shown, &mut lines);
        lines
    }

    /// Returns the name, the verdict and its duration, and the mount points of the device.
    fn title_line(&self, device: &DeviceInterval, width: usize) -> TextLine {
        let mut name = sanitize(device.label()).into_owned();
        if device.label() != device.device() {
            name += &format!(" ({})", sanitize(device.device()));
        }

        let verdict = self.verdict_text(device, "no verdict");
        let mut for_s = String::new();
        if verdict.is_trouble {
            let sign = device
                .incident()
                .map_or("", |ongoing| sign_of_begin(&ongoing.told));
            for_s = format!(" for {sign}{}", duration(lasted_s(device).round()));
        }

        let used = name.width() + verdict.text.len() + for_s.len() + 6;
        let mut mounts = String::new();
        if !device.names.mountpoints.is_empty() && used + 10 <= width {
            let text = ellipsize(&sanitize(&device.names.mountpoints), width - used);
            mounts = format!("    {text}");
        }

        let theme = self.options.theme;
        vec![
            (name, BOLD),
            (": ".to_owned(), Style::new()),
            (verdict.text, verdict.style.add_modifier(Modifier::BOLD)),
            (for_s, Style::new()),
            (mounts, theme.dim()),
        ]
    }

    fn push_sentences(&self, shown: &Shown<'_>, lines: &mut Vec<TextLine>) {
        let Some(activity) = shown.device.activity() else {
            return;
        };
        if let Some(ongoing) = &activity.incident {
            let mut parts = Vec::new();
            if !ongoing.is_victim {
                parts.push(see_text(ongoing));
            }
            parts.extend(incident_parts(&ongoing.told));
            let style = self.options.theme.emphasis(Emphasis::Warning);
            push_wrapped(&parts.join("; "), shown.width, style, lines);
        }

        let time_zone = &self.options.time_zone;
        let mut sentences = timed_evidence_sentences(activity, |at| time_of_day(at, time_zone));
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
        let layers = layers(shown.frame, shown.device.device());
        let is_wanted = shown.is_page || is_trouble(shown.device.shown_verdict());
        if layers.len() < 2 || !is_wanted {
            return;
        }

        let theme = self.options.theme;
        let mut titles = self.dim_line(&format!("  {:<16}{:<11}", "layer", "verdict"));
        for (title, width) in NUMBERS {
            titles.push((format!("{title:>width$}"), theme.dim()));
        }
        lines.push(titles);

        let longest_queue = longest_queue(shown.frame, &layers);
        for (depth, layer) in &layers {
            let Some(activity) = layer.activity() else {
                continue;
            };
            let name = format!("{}{}", " ".repeat(*depth), sanitize(layer.label()));
            let name = format!("  {:<16}", ellipsize(&name, 15));
            let verdict = layer.shown_verdict();
            let verdict_text = format!("{:<11}", verdict.map_or("-", Verdict::name));
            let mut line = vec![(name, Style::new()), (verdict_text, theme.verdict(verdict))];
            for (title, width) in NUMBERS {
                let (text, _) = cell(title, activity);
                line.push((format!("{text:>width$}"), Style::new()));
            }
            if longest_queue == Some(layer.device()) && shown.width > 80 {
                line.push(("  ◀ requests wait here".to_owned(), theme.verdict(verdict)));
            }
            lines.push(line);
        }
    }

    /// Appends the cgroups with their limits, and the tasks that wait.
    fn push_usage(&self, shown: &Shown<'_>, lines: &mut Vec<TextLine>) {
        let Some(attribution) = &shown.frame.rows.attribution else {
            if self.options.source == Source::Live && self.follows() {
                lines.push(self.dim_line("  who: cgroups and processes are being read ..."));
            } else if shown.is_page {
                let text = "  who: cgroups and processes of this interval are not known";
                lines.push(self.dim_line(text));
            }
            return;
        };
        // Cgroups are counted for whole devices.
        let device = shown.device.device();
        let name = shown.frame.topology.disk_of(device).unwrap_or(device);
        if !shown.is_page {
            if let Some(text) = who_line(name, attribution) {
                push_wrapped(&text, shown.width, Style::new(), lines);
            }
            return;
        }

        let mut devices = Vec::new();
        if let Some(usage) = attribution.device(name)
            && !usage.cgroups.is_empty()
        {
            devices.push((usage, Vec::new()));
        }
        if devices.is_empty() && attribution.blocked.is_empty() {
            lines.push(self.dim_line("  who: no cgroup used this device"));
            return;
        }
        let interval = WhoInterval {
            header: &shown.frame.rows.header,
            attribution: Some(attribution),
            devices,
            sort: "MiB/s",
            top: MAX_CGROUPS,
        };
        let mut text = Vec::new();
        push_tables(&interval, shown.width.saturating_sub(2), &mut text);
        for line in String::from_utf8_lossy(&text).lines() {
            lines.push(vec![(format!("  {line}"), Style::new())]);
        }
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
    let mut below = 0.0;
    for name in frame.topology.backing_devices(device.device()) {
        below += frame.device(name).map_or(0.0, requests);
    }
    requests(device) - below
}

/// Returns the layer at which most requests wait; `None` where none or few do.
fn longest_queue<'a>(frame: &Frame, layers: &[(usize, &'a DeviceInterval)]) -> Option<&'a str> {
    let mut longest = None;
    let mut most = MIN_WAITING;
    for (_, layer) in layers {
        let waiting = waiting(frame, layer);
        if waiting >= most {
            longest = Some(layer.device());
            most = waiting;
        }
    }
    longest
}

/// Returns the devices that a device is stacked on or that are stacked on it, from the top to the bottom, each with its
/// depth. If several devices are stacked on one, the one with the most requests is used.
fn layers<'a>(frame: &'a Frame, name: &str) -> Vec<(usize, &'a DeviceInterval)> {
    let above = devices_above(frame, name);
    let mut found: Vec<(usize, &DeviceInterval)> =
        above.iter().rev().copied().enumerate().collect();
    let mut pending = vec![(above.len(), name)];
    while let Some((depth, name)) = pending.pop() {
        let Some(device) = frame.device(name) else {
            continue;
        };
        let is_known = found
            .iter()
            .any(|(_, known)| known.device() == device.device());
        if is_known || found.len() >= MAX_LAYERS {
            continue;
        }
        found.push((depth, device));
        for below in frame.topology.backing_devices(name).iter().rev() {
            pending.push((depth + 1, below));
        }
    }
    found
}

/// Returns the devices that are stacked on a device, from the bottom to the top.
fn devices_above<'a>(frame: &'a Frame, name: &str) -> Vec<&'a DeviceInterval> {
    let mut above: Vec<&DeviceInterval> = Vec::new();
    let mut top = name;
    while above.len() < MAX_LAYERS {
        let mut next: Option<&DeviceInterval> = None;
        for holder in frame.topology.holders(top) {
            let Some(device) = frame.device(&holder.name) else {
                continue;
            };
            let is_known = device.device() == name
                || above.iter().any(|known| known.device() == device.device());
            // Among equals, the first one.
            if !is_known && next.is_none_or(|first| requests(device) > requests(first)) {
                next = Some(device);
            }
        }
        let Some(device) = next else { break };
        above.push(device);
        top = device.device();
    }
    above
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
    let rows = IntervalRows {
        header: shown.frame.rows.header.clone(),
        devices: vec![shown.device.clone()],
        has_found_any: true,
        ..IntervalRows::default()
    };
    let mut text = Vec::new();
    TableWriter::new(&options, false, time_zone.clone()).push_interval(&rows, &mut text);

    let text = String::from_utf8_lossy(&text);
    let all: Vec<&str> = text.lines().collect();
    let titles = all.iter().rposition(|line| line.starts_with("device"));
    let table = &all[titles.unwrap_or(all.len())..];
    for (line, style) in table.iter().zip([BOLD, Style::new()]) {
        lines.push(vec![((*line).to_owned(), style)]);
    }
}
