//! The selected device: evidence, layers, limits, cgroups and tasks, and charts.

use jiff::tz::TimeZone;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::{Modifier, Style};
use unicode_width::UnicodeWidthStr;

use super::{Regions, TextLine, put, put_line};
use crate::analysis::Verdict;
use crate::intervals::{DeviceInterval, IntervalRows};
use crate::report::IntervalWriter;
use crate::report::evidence::{
    hidden_io_wait_text, incident_parts, present_harm, sign_of_begin, timed_evidence_sentences,
};
use crate::report::layout::{ellipsize, time_of_day, wrap};
use crate::report::native::{Emphasis, TableOptions, TableWriter, cell, who_line};
use crate::report::who::{WhoInterval, push_tables};
use crate::sanitize::sanitize;
use crate::screen::app::{App, Page, Source};
use crate::screen::history::{Frame, is_trouble, lasted_s};
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
const NUMBERS: [(&str, usize); 5] = [("queue", 7), ("inflt", 7), ("r_await", 9), ("w_await", 9), ("util", 7)];
/// The mean number of requests waiting at a layer from which the layer is marked.
const MIN_WAITING: f64 = 1.0;

impl App {
    /// Draws the selected device below the list.
    pub(super) fn draw_pane(&self, buffer: &mut Buffer, area: Rect, regions: &mut Regions) {
        let theme = self.options.theme;
        let line = "─".repeat(usize::from(area.width));
        put(buffer, area.x, area.y, area.width, &line, theme.dim());
        let rest = Rect { y: area.y + 1, height: area.height - 1, ..area };
        let lines = self.text_lines(usize::from(area.width), false);
        let charts = if rest.height >= MIN_PANE_CHARTS + 2 { MIN_PANE_CHARTS } else { 0 };
        // However many lines there are, so that the charts stay in place.
        let text_height = match charts {
            0 => rest.height,
            _ => (rest.height / 4).clamp(MIN_PANE_LINES, MAX_PANE_LINES).min(rest.height - charts),
        };
        self.draw_lines(buffer, Rect { height: text_height, ..rest }, &lines);
        if let Some(device) = self.selected.as_ref().filter(|_| charts > 0) {
            let charts = Rect { y: rest.y + text_height, height: rest.height - text_height, ..rest };
            self.draw_charts(buffer, charts, device, regions);
        }
    }

    /// Draws the selected device on a page of its own.
    pub(super) fn draw_detail(&self, buffer: &mut Buffer, area: Rect, regions: &mut Regions) {
        let lines = self.text_lines(usize::from(area.width), true);
        let most = (area.height * MAX_TEXT_PCT / 100).max(4);
        let text_height = (lines.len() as u16).min(most);
        self.draw_lines(buffer, Rect { height: text_height, ..area }, &lines);
        if let Some(device) = &self.selected {
            let charts = Rect { y: area.y + text_height, height: area.height - text_height, ..area };
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
        let Some(name) = &self.selected else { return dim("no device") };
        let Some(frame) = self.moment() else { return Vec::new() };
        if !frame.is_exact() {
            return dim(match self.options.source {
                Source::Live => "only averages are kept for this time; evidence is kept for the last hour",
                Source::Capture(_) => {
                    "only averages are kept for the early part of a long capture; --begin and --end show it exactly"
                }
            });
        }
        let Some(device) = frame.device(name) else {
            return dim("this device is not listed in this interval");
        };
        let shown = Shown { device, frame, width, is_page };
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
        let verdict = device.verdict();
        let mut name = sanitize(device.label()).into_owned();
        if device.label() != device.device() {
            name += &format!(" ({})", sanitize(device.device()));
        }
        let for_s = if is_trouble(verdict) {
            let sign = device.incident().map_or("", |ongoing| sign_of_begin(&ongoing.incident));
            format!(" for {sign}{}", crate::report::layout::sentence_numbers::duration(lasted_s.round()))
        } else {
            String::new()
        };
        let verdict_text = verdict.map_or("no verdict", Verdict::name);
        let used = name.width() + verdict_text.len() + for_s.len() + 6;
        let mounts = if device.names.mountpoints.is_empty() || used + 10 > width {
            String::new()
        } else {
            format!("    {}", ellipsize(&sanitize(&device.names.mountpoints), width - used))
        };
        vec![
            (name, BOLD),
            (": ".to_owned(), Style::new()),
            (verdict_text.to_owned(), self.options.theme.verdict(verdict).add_modifier(Modifier::BOLD)),
            (for_s, Style::new()),
            (mounts, self.options.theme.dim()),
        ]
    }

    fn push_sentences(&self, shown: &Shown<'_>, lines: &mut Vec<TextLine>) {
        let Some(activity) = shown.device.activity() else { return };
        if let Some(ongoing) = &activity.incident {
            let stats = Some(&activity.stats).filter(|_| ongoing.is_victim);
            let parts = incident_parts(&ongoing.incident, &present_harm(&ongoing.incident, stats));
            let style = self.options.theme.emphasis(Emphasis::Warning);
            let victim = sanitize(&ongoing.incident.victim.label);
            let see = (!ongoing.is_victim).then(|| format!("see {victim}"));
            let text = see.into_iter().chain(parts).collect::<Vec<_>>().join("; ");
            push_wrapped(&text, shown.width, style, lines);
        }
        let mut sentences = timed_evidence_sentences(activity, |at| time_of_day(at, &self.options.time_zone));
        sentences.extend(hidden_io_wait_text(&shown.frame.rows.header));
        for sentence in sentences {
            push_wrapped(&sanitize(&sentence), shown.width, Style::new(), lines);
        }
    }

    /// Appends the devices below and above, and marks where requests wait.
    fn push_layers(&self, shown: &Shown<'_>, lines: &mut Vec<TextLine>) {
        let Shown { device, frame, .. } = shown;
        let layers = layers(frame, device.device());
        if layers.len() < 2 || !shown.is_page && !is_trouble(device.verdict()) {
            return;
        }
        let theme = self.options.theme;
        let mut titles = vec![(format!("  {:<16}{:<11}", "layer", "verdict"), theme.dim())];
        titles.extend(NUMBERS.map(|(title, width)| (format!("{title:>width$}"), theme.dim())));
        lines.push(titles);
        let waiting = layers.iter().map(|(_, layer)| (layer.device(), waiting(frame, layer)));
        let longest = waiting.max_by(|(_, a), (_, b)| a.total_cmp(b));
        let longest = longest.filter(|(_, waiting)| *waiting >= MIN_WAITING).map(|(name, _)| name);
        for (depth, layer) in &layers {
            let Some(activity) = layer.activity() else { continue };
            let text = |title: &str| cell(title, activity, self.options.saturation_threshold).0;
            let name = format!("{}{}", " ".repeat(*depth), sanitize(layer.label()));
            let verdict = layer.verdict();
            let mut line = vec![
                (format!("  {:<16}", ellipsize(&name, 15)), Style::new()),
                (format!("{:<11}", verdict.map_or("-", Verdict::name)), theme.verdict(verdict)),
            ];
            line.extend(NUMBERS.map(|(title, width)| (format!("{:>width$}", text(title)), Style::new())));
            if longest == Some(layer.device()) && shown.width > 80 {
                line.push(("  ◀ requests wait here".to_owned(), theme.verdict(verdict)));
            }
            lines.push(line);
        }
    }

    /// Appends the cgroups with their limits, and the tasks that wait.
    fn push_usage(&self, shown: &Shown<'_>, lines: &mut Vec<TextLine>) {
        let Shown { device, frame, width, is_page } = shown;
        let (width, is_page) = (*width, *is_page);
        let theme = self.options.theme;
        // Cgroups are counted for whole devices.
        let name = frame
            .topology
            .disk_of(device.device())
            .filter(|disk| !disk.is_empty())
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
        let usage = attribution.device(name).filter(|usage| !usage.cgroups.is_empty());
        if usage.is_none() && attribution.blocked.is_empty() {
            lines.push(vec![("  who: no cgroup used this device".to_owned(), theme.dim())]);
            return;
        }
        let interval = WhoInterval {
            header: &frame.rows.header,
            attribution: Some(attribution),
            unread_s: 0.0,
            devices: usage.map(|usage| (usage, Vec::new())).into_iter().collect(),
            threads: None,
            sort: "MB/s",
            top: MAX_CGROUPS,
        };
        let mut text = Vec::new();
        push_tables(&interval, width.saturating_sub(2), &mut text);
        let text = String::from_utf8_lossy(&text);
        lines.extend(text.lines().map(|line| vec![(format!("  {line}"), Style::new())]));
    }

    /// Returns whether the page of the device is shown.
    pub(super) fn is_on_page(&self) -> bool {
        self.page == Page::Detail
    }
}

/// Returns the mean number of requests at a device or below it. While no request completes, the kernel counts no
/// queue time, so those in flight are used.
fn requests(device: &DeviceInterval) -> f64 {
    let Some(stats) = device.stats() else { return 0.0 };
    let queue = stats.queue().unwrap_or(0.0);
    match device.verdict() {
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
        let holders = frame.topology.holders(at).filter_map(|holder| frame.device(&holder.name));
        let is_new = |holder: &&DeviceInterval| {
            holder.device() != name && above.iter().all(|known| known.device() != holder.device())
        };
        // Among equals, the first one.
        let next = holders.filter(is_new).min_by(|a, b| requests(b).total_cmp(&requests(a)));
        let Some(next) = next else { break };
        above.push(next);
        at = next.device();
    }
    let mut found: Vec<(usize, &DeviceInterval)> = above.iter().rev().copied().enumerate().collect();
    let mut pending = vec![(above.len(), name)];
    while let Some((depth, name)) = pending.pop() {
        let Some(device) = frame.device(name) else { continue };
        if found.len() >= MAX_LAYERS || found.iter().any(|(_, known)| known.device() == device.device()) {
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
    let options = TableOptions { width: Some(shown.width), ..TableOptions::default() };
    let mut writer = TableWriter::new(&options, false, time_zone.clone());
    let (header, devices) = (shown.frame.rows.header.clone(), vec![shown.device.clone()]);
    let rows = IntervalRows { header, devices, has_found_any: true, ..IntervalRows::default() };
    let mut text = Vec::new();
    writer.push_interval(&rows, &mut text);
    let text = String::from_utf8_lossy(&text);
    let all: Vec<&str> = text.lines().collect();
    let titles = all.iter().rposition(|line| line.starts_with("device")).unwrap_or(all.len());
    let styles = [BOLD, Style::new()];
    lines.extend(all[titles..].iter().zip(styles).map(|(line, style)| vec![((*line).to_owned(), style)]));
}
