//! The devices that a device is stacked on, or that are stacked on it, with the one where requests wait.

use ratatui_core::style::Style;

use super::TextLine;
use super::detail::Shown;
use crate::analysis::Verdict;
use crate::intervals::DeviceInterval;
use crate::report::layout::ellipsize;
use crate::report::native::cell;
use crate::sanitize::sanitize;
use crate::screen::app::App;
use crate::screen::history::{Frame, is_trouble};

/// The most devices of a stack that are listed.
const MAX_LAYERS: usize = 10;
/// The columns with numbers, and their widths.
const NUMBERS: [(&str, usize); 5] = [("queue", 7), ("inflt", 7), ("r_await", 9), ("w_await", 9), ("util", 7)];
/// The mean number of requests waiting at a layer from which the layer is marked.
const MIN_WAITING: f64 = 1.0;

impl App {
    /// Appends the devices below and above, and marks where requests wait.
    pub(super) fn push_layers(&self, shown: &Shown<'_>, lines: &mut Vec<TextLine>) {
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
