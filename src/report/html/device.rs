//! The section of a device: its charts over time, those against concurrency (a point for each point of time, colored by time,
//! and the means of the levels), the heat map (requests by time and by latency), and the stack that it is part of as a
//! picture: a box for each device with its queue and latency, and a mark where requests wait.

use super::chart::{
    Area, HEIGHT, LineChart, MAX_LOG_TICKS, MAX_TICK_INTERVALS, Panel, Path, Unit, push_areas,
    push_chart,
};
use super::tables::{
    PlacedIncident, label_of, push_band, push_cgroup_table, push_program_table, shades, tags,
};
use super::time_axis::{TimeAxis, WIDTH};
use super::{Group, Page, escape, list, name};
use crate::attribution::cgroup_name;
use crate::intervals::series::{Extent, Fold, LatencyCounts, TimeSpan};
use crate::intervals::{DeviceHistory, UsageHistory};
use crate::judge::{
    CapacityReport, DeviceReport, Layer, LayerLink, QueueByLayer, RateUnit, SATURATED, WaitLocation,
};
use crate::quantities::Quantity;
use crate::quantities::device::*;
use crate::report::analysis::{capacity_sentences, cause_sentences, link_text, verdict_sentence};
use crate::report::layout::sentence_numbers::{
    multiple, number, per_second, queue, time as time_text,
};
use crate::report::scale::Scale;

/// The charts over time.
static CHARTS: &[LineChart<Quantity>] = &[
    (
        ("Latency", "How long do requests take? ", Unit::Milliseconds),
        &[
            ("read", &READ_AWAIT_MS, "read"),
            ("write", &WRITE_AWAIT_MS, "write"),
            ("flush", &FLUSH_AWAIT_MS, "flush"),
        ],
    ),
    (
        ("Operations", "How many operations? ", Unit::PerSecond),
        &[
            ("reads", &READS_PER_S, "read"),
            ("writes", &WRITES_PER_S, "write"),
            ("flushes", &FLUSHES_PER_S, "flush"),
            ("discards", &DISCARDS_PER_S, "bound"),
        ],
    ),
    (
        (
            "Queue",
            "How many requests wait or are served? ",
            Unit::Count("requests"),
        ),
        &[
            ("in flight, sampled", &IN_FLIGHT, "dots"),
            ("mean queue", &QUEUE, "all"),
        ],
    ),
    (
        ("Bandwidth", "How many bytes? ", Unit::Bandwidth),
        &[
            ("read", &READ_KIB_PER_S, "read"),
            ("written", &WRITE_KIB_PER_S, "write"),
            ("discarded", &DISCARD_KIB_PER_S, "bound"),
        ],
    ),
    (
        (
            "Saturation",
            "How much slower than unloaded? ",
            Unit::Multiple,
        ),
        &[
            ("reads", &READ_SATURATION, "read"),
            ("writes", &WRITE_SATURATION, "write"),
            ("flushes", &FLUSH_SATURATION, "flush"),
        ],
    ),
    (
        (
            "Utilization",
            "How often is there any request? ",
            Unit::Percent,
        ),
        &[
            ("util", &PLAUSIBLE_UTIL_PCT, "all"),
            ("? cannot be true", &DOUBTFUL_UTIL_PCT, "doubt"),
            ("upper bound", &UTIL_UPPER_BOUND_PCT, "bound"),
        ],
    ),
    (
        ("I/O size", "How large are requests? ", Unit::Size),
        &[
            ("reads", &READ_SIZE_KIB, "read"),
            ("writes", &WRITE_SIZE_KIB, "write"),
        ],
    ),
    (
        ("Merged requests", "Is the load sequential? ", Unit::Percent),
        &[
            ("reads", &READ_MERGE_PCT, "read"),
            ("writes", &WRITE_MERGE_PCT, "write"),
        ],
    ),
];

/// The charts before the fold: latency, rates and queue.
const FIRST_CHARTS: usize = 4;

/// The fewest busy intervals of a device with charts.
const MIN_CHARTED_INTERVALS: u64 = 3;

/// A device with its own section.
pub(super) struct Section<'a> {
    pub(super) page: &'a Page<'a>,
    /// Its index among the sections.
    pub(super) index: usize,
    pub(super) report: &'a DeviceReport,
    /// Its history; `None` if it was always idle.
    pub(super) history: Option<DeviceHistory<'a>>,
    pub(super) incidents: Vec<&'a PlacedIncident<'a>>,
    /// The use by cgroups of this device, or of the device below; `None` without attribution.
    pub(super) usage: Option<UsageHistory>,
    /// The shares of the cgroups.
    pub(super) areas: Vec<Area>,
}

impl<'a> Section<'a> {
    /// The alias of the device, or the kernel's name.
    pub(super) fn label(&self) -> &str {
        label_of(self.report, &self.page.analysis.history)
    }

    pub(super) fn push(&self, time: &TimeAxis, out: &mut String) {
        let analysis = &self.page.analysis;
        let mut facts = Vec::new();
        if self.label() != self.report.device {
            facts.push(name(&self.report.device));
        }
        if let Some(history) = &self.history
            && let Some(names) = history.names()
            && !names.mountpoints.is_empty()
        {
            facts.push(name(&names.mountpoints));
        }
        let facts = match &*facts.join(", ") {
            "" => String::new(),
            facts => format!(" <small>{facts}</small>"),
        };
        *out += &format!(
            "<section class=\"device\" id=\"d{0}\" data-g=\"{0}\"><h2>{1} {2}{facts}</h2><p class=\"why\">{3}</p>",
            self.index,
            name(self.label()),
            tags(analysis, self.report),
            escape(&verdict_sentence(analysis, self.report))
        );
        if let Some(history) = &self.history {
            push_band(&history.verdicts(), time, out);
        }
        let id = format!("e{}", self.index);
        *out += &shades(&self.incidents, &id, time);
        out.push_str("<div class=\"panels\">");
        // A chart of one or two intervals shows no more than the table.
        if let Some(history) = &self.history
            && self.report.busy_intervals >= MIN_CHARTED_INTERVALS
        {
            self.push_charts(history, &id, time, out);
            push_concurrency_charts(history, self.report, out);
            push_heat_map(&history.latencies(), time, out);
            out.push_str("</div></details><div class=\"panels\">");
        }
        if let Some(usage) = &self.usage {
            let title = match usage.device == self.report.device {
                true => "Who: share of the bytes by cgroup".to_owned(),
                false => format!("Who: share of the bytes of {} below", escape(&usage.device)),
            };
            push_areas(&title, "Who causes it? ", &self.areas, &id, time, out);
        }
        out.push_str("</div><div class=\"details\">");
        if let Some(queues) = &analysis.queue_by_layer {
            push_stack(queues, &self.report.device, out);
        }
        if let Some(usage) = &self.usage {
            push_cgroup_table(usage, out);
            push_program_table(usage, out);
        }
        let mut sentences = capacity_sentences(analysis, self.report);
        sentences.extend(cause_sentences(self.report));
        out.push_str(&list(&sentences));
        *out += &format!(
            "<p class=\"script\"><button type=\"button\" class=\"csv\" data-g=\"{}\">Save the data of {} as CSV</button></p></div></section>",
            self.index,
            name(self.label())
        );
    }

    /// Appends the charts over time, that of latency first.
    fn push_charts(
        &self,
        history: &DeviceHistory<'_>,
        shades: &str,
        time: &TimeAxis,
        out: &mut String,
    ) {
        for (at, chart) in CHARTS.iter().enumerate() {
            let ((title, ..), _) = chart;
            if at == FIRST_CHARTS {
                out.push_str("</div><details class=\"more\"><summary>More charts: saturation, utilization, sizes, against concurrency, heat map</summary><div class=\"panels\">");
            }
            let references = match *title {
                "Latency" => self.latency_references(),
                "Saturation" => vec![(SATURATED, format!("threshold {}", multiple(SATURATED)))],
                "Operations" => self.limits(RateUnit::Requests),
                "Bandwidth" => self.limits(RateUnit::Kib),
                _ => Vec::new(),
            };
            push_chart(
                chart,
                |one| (one.name, history.values(one)),
                &references,
                shades,
                time,
                out,
            );
        }
    }

    /// The limits that caused incidents of the device, in requests or MiB per second.
    fn limits(&self, unit: RateUnit) -> Vec<(f64, String)> {
        let mut found: Vec<(f64, String)> = Vec::new();
        for placed in &self.incidents {
            let Some(limit) = placed.told.limit() else {
                continue;
            };
            if limit.unit != unit {
                continue;
            }
            let value = match unit {
                RateUnit::Requests => limit.value,
                RateUnit::Kib => limit.value / 1024.0,
            };
            let label = match &limit.owner {
                Some(owner) => format!("limit of {}: {}", cgroup_name(owner), number(value)),
                None => format!("limit {}", number(value)),
            };
            if !found.iter().any(|(_, known)| *known == label) {
                found.push((value, label));
            }
        }
        found
    }

    /// The highest unloaded latency known and the saturation threshold of the direction with more requests.
    fn latency_references(&self) -> Vec<(f64, String)> {
        let mut references = Vec::new();
        let mut highest = 0.0;
        for (word, of) in [("read", &self.report.read), ("write", &self.report.write)] {
            let rate = of.iops.mean.unwrap_or(0.0);
            if let Some(baseline_ms) = of.baseline_await_ms
                && of.has_requests()
                && rate >= highest
            {
                highest = rate;
                let saturated_ms = baseline_ms * SATURATED;
                let (baseline, saturated) = (time_text(baseline_ms), time_text(saturated_ms));
                references = vec![
                    (baseline_ms, format!("unloaded {word} {baseline}")),
                    (saturated_ms, format!("saturated from {saturated}")),
                ];
            }
        }
        references
    }

    pub(super) fn data(&self) -> Group<'_> {
        let mut series = Vec::new();
        if let Some(history) = &self.history {
            let over_concurrency = [IOPS, AWAIT_MS, CONCURRENCY].map(|quantity| quantity.name);
            for quantity in &CHARTED {
                let values = history.values(quantity);
                let mut maxima = values.iter().filter_map(Extent::max);
                if !over_concurrency.contains(&quantity.name) && maxima.any(|max| max > 0.0) {
                    series.push((quantity.name, values));
                }
            }
        }
        for area in &self.areas {
            series.push((&*area.key, area.values.clone()));
        }
        let history = self.history.as_ref();
        Group {
            name: self.label(),
            verdicts: history.map(DeviceHistory::verdicts).unwrap_or_default(),
            series,
        }
    }
}

/// The links that a device is part of, from the top down.
fn links_of<'a>(queues: &'a QueueByLayer, device: &'a str) -> impl Iterator<Item = &'a LayerLink> {
    queues
        .links
        .iter()
        .filter(move |link| link.above == device || link.below.iter().any(|below| below == device))
}

/// Appends the stacks that a device is part of; nothing without any.
fn push_stack(queues: &QueueByLayer, device: &str, out: &mut String) {
    if links_of(queues, device).next().is_none() {
        return;
    }
    out.push_str("<figure class=\"stack\"><figcaption><b>Where requests wait</b> <span class=\"q\">At which layer? Mean queue and latency of the whole time; filled: requests wait there. </span></figcaption><div class=\"layers\">");
    let mut drawn: Vec<&str> = Vec::new();
    for link in links_of(queues, device) {
        if !drawn.contains(&link.above.as_str()) {
            let is_waiting = link.waiting == WaitLocation::Between;
            push_layer(queues, &link.above, is_waiting, device, out);
            drawn.push(&link.above);
        }
        let (class, text) = match link.waiting {
            WaitLocation::Between => (
                "held",
                format!("{} wait here", queue(link.queued_between())),
            ),
            WaitLocation::Below => ("passed", "requests pass".to_owned()),
            WaitLocation::Nowhere => ("passed", "hardly any waits".to_owned()),
        };
        *out +=
            &format!("<div class=\"link {class}\"><span>{text}</span></div><div class=\"row\">");
        for below in &link.below {
            push_layer(queues, below, false, device, out);
            drawn.push(below);
        }
        out.push_str("</div>");
    }
    out.push_str("</div>");
    for link in links_of(queues, device) {
        *out += &format!("<p>{}.</p>", escape(&link_text(link)));
    }
    out.push_str("</figure>");
}

fn push_layer(
    queues: &QueueByLayer,
    device: &str,
    is_waiting: bool,
    shown: &str,
    out: &mut String,
) {
    let Some(layer) = queues.layers.iter().find(|layer| layer.device == device) else {
        *out += &format!("<div class=\"layer\"><b>{}</b></div>", name(device));
        return;
    };
    let mut max_queue: f64 = 0.0;
    for layer in &queues.layers {
        max_queue = max_queue.max(layer.queue.unwrap_or(0.0));
    }
    let mut share = 0.0;
    if let Some(queue) = layer.queue
        && max_queue > 0.0
    {
        share = 100.0 * queue / max_queue;
    }
    let class = if is_waiting { " waiting" } else { "" };
    let current = if device == shown { " current" } else { "" };
    *out += &format!(
        "<div class=\"layer{class}{current}\"><b>{}</b><span>{}</span><i style=\"width:{share:.0}%\"></i></div>",
        name(device),
        escape(&layer_text(layer))
    );
}

/// The numbers of a layer: `queue 23.9, 11.9 ms, 2,000 requests/s`.
fn layer_text(layer: &Layer) -> String {
    let mut parts = Vec::new();
    if let Some(mean) = layer.queue {
        parts.push(format!("queue {}", queue(mean)));
    }
    if let Some(ms) = layer.await_ms {
        parts.push(time_text(ms));
    }
    if let Some(iops) = layer.iops {
        parts.push(per_second(iops, "requests"));
    }
    parts.join(", ")
}

/// The shades of the points by time, from the first to the last.
const TIME_CLASSES: usize = 5;
/// The lowest concurrency on the axis: below it, two requests are hardly ever in flight together.
const MIN_CONCURRENCY: f64 = 0.01;

/// What a device did in a point of time.
struct Dot {
    concurrency: f64,
    value: f64,
    shade: usize,
}

/// The points of a quantity; `None` if there are too few for a chart.
fn dots_of(history: &DeviceHistory<'_>, quantity: &Quantity) -> Option<Vec<Dot>> {
    let concurrency = history.values(&CONCURRENCY);
    let mut dots = Vec::new();
    for (index, (queue, value)) in concurrency.iter().zip(history.values(quantity)).enumerate() {
        let shade = index * TIME_CLASSES / concurrency.len();
        if let (Some(queue), Some(value)) = (queue.mean(), value.mean())
            && queue > 0.0
            && value > 0.0
        {
            dots.push(Dot {
                concurrency: queue.max(MIN_CONCURRENCY),
                value,
                shade,
            });
        }
    }
    (dots.len() >= 3).then_some(dots)
}

/// The least and the greatest of some values.
fn range(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    (
        values.clone().fold(f64::INFINITY, f64::min),
        values.fold(0.0, f64::max),
    )
}

/// Appends throughput and latency against concurrency.
pub(super) fn push_concurrency_charts(
    history: &DeviceHistory<'_>,
    report: &DeviceReport,
    out: &mut String,
) {
    let capacity = &report.capacity;
    let throughput = (
        "Throughput against concurrency",
        "How much more could it do? ",
        Unit::Count("r+w/s"),
    );
    let latency = (
        "Latency against concurrency",
        "Does latency grow with the load? ",
        Unit::Milliseconds,
    );
    for (chart, quantity) in [(throughput, &IOPS), (latency, &AWAIT_MS)] {
        let Some(dots) = dots_of(history, quantity) else {
            continue;
        };
        let is_throughput = chart == throughput;
        let known_max = match is_throughput && capacity.is_max_known {
            true => capacity.max_iops,
            false => None,
        };
        let (min, max) = range(dots.iter().map(|dot| dot.value));
        let scale = match is_throughput {
            true => Scale::linear(max.max(known_max.unwrap_or(0.0))),
            false => Scale::log(min, max),
        };
        let mut panel = Panel::new(chart, scale);
        let mut rings = Vec::new();
        for level in &report.levels {
            let value = if is_throughput {
                level.iops
            } else {
                level.await_ms
            };
            rings.push((level.queue, value));
        }
        let concurrency = draw_dots(&dots, rings, &mut panel);
        if is_throughput {
            draw_knee(&concurrency, capacity, &mut panel);
        }
        if let Some(max) = known_max {
            let word = if capacity.is_proven { "cap" } else { "maximum" };
            panel.draw_reference(max, &format!("{word} {}/s", number(max)));
        }
        push_over_concurrency(&panel, &concurrency, out);
    }
}

/// Returns the distance of a concurrency from the left of a chart of [`WIDTH`].
fn x_of(concurrency: &Scale, value: f64) -> i32 {
    (concurrency.position(value) * WIDTH).round() as i32
}

/// Draws the points, a path for each shade, and a ring for each level of concurrency; returns the scale of concurrency.
fn draw_dots(dots: &[Dot], rings: Vec<(f64, f64)>, panel: &mut Panel<'_>) -> Scale {
    let (min, max) = range(dots.iter().map(|dot| dot.concurrency));
    let concurrency = Scale::log(min, max);
    let mut swatches = Vec::new();
    for shade in 0..TIME_CLASSES {
        swatches.push(format!("class=\"dot t{shade}\" d=\"M4 4h0\""));
        let mut path = Path::default();
        for dot in dots {
            if dot.shade == shade {
                path.dot(
                    x_of(&concurrency, dot.concurrency),
                    panel.scale.y(dot.value),
                );
            }
        }
        panel.draw(&format!("dot t{shade}"), path.text());
    }
    panel.add_shades("earlier", "later", &swatches);
    if rings.len() >= 2 {
        let mut path = Path::default();
        for (queue, value) in rings {
            path.dot(x_of(&concurrency, queue), panel.scale.y(value));
        }
        panel.draw("level", path.text());
        panel.draw("level hole", path.text());
    }
    concurrency
}

/// Draws lines at the ends of the knee.
fn draw_knee(concurrency: &Scale, capacity: &CapacityReport, panel: &mut Panel<'_>) {
    for knee in capacity.knee_low.into_iter().chain(capacity.knee_high) {
        panel.draw("ref", &format!("M{} 0v{HEIGHT}", x_of(concurrency, knee)));
    }
    let Some(high) = capacity.knee_high else {
        return;
    };
    let queues = match capacity.knee_low {
        Some(low) => format!("{} to {}", queue(low), queue(high)),
        None => format!("{} or less", queue(high)),
    };
    panel.add_mark("knee", &format!("knee {queues}"));
}

fn push_over_concurrency(panel: &Panel<'_>, concurrency: &Scale, out: &mut String) {
    let ticks = concurrency.ticks(MAX_TICK_INTERVALS, MAX_LOG_TICKS);
    let (mut grid, mut labels) = (String::new(), String::new());
    for tick in ticks {
        grid += &format!("M{} 0v{HEIGHT}", x_of(concurrency, tick));
        let left = concurrency.position(tick) * 100.0;
        let label = escape(&Unit::Count("").label(tick));
        labels += &format!("<i style=\"left:{left:.1}%\">{label}</i>");
    }
    let below = format!(
        "<div class=\"xs\">{labels}</div><div class=\"axis\">concurrency: mean reads and writes in the queue or being served</div>"
    );
    panel.push("", &grid, &below, out);
}

/// The shades, from few to many requests.
const SHADES: usize = 5;
/// The most columns, apart from those that end at a gap.
const MAX_COLUMNS: usize = 120;

/// Appends a heat map; nothing without requests.
pub(super) fn push_heat_map(counts: &[LatencyCounts], time: &TimeAxis, out: &mut String) {
    let columns = columns(counts, time);
    let (mut first, mut last, mut max_count) = (u8::MAX, u8::MIN, 1.0_f64);
    for (_, counts) in &columns {
        for (class, count) in counts.counts() {
            first = first.min(class);
            last = last.max(class);
            max_count = max_count.max(count);
        }
    }
    if first > last {
        return;
    }
    let start_ms = LatencyCounts::class_start_ms;
    let scale = Scale::log(start_ms(first), start_ms(last.saturating_add(1)));
    let chart = (
        "Heat map of interval means",
        "One speed, or several? ",
        Unit::Milliseconds,
    );
    let mut panel = Panel::new(chart, scale);
    let swatches = [0, 1, 2, 3, 4].map(|shade| heat_path(shade, 8, "M4 0v8"));
    panel.add_shades("fewer", "more requests", &swatches);
    let mut paths = vec![Path::default(); SHADES];
    for (span, counts) in &columns {
        let (x, end) = time.ends(span);
        for (class, count) in counts.counts() {
            let (top, bottom) = (scale.y(start_ms(class + 1)), scale.y(start_ms(class)));
            paths[shade(count, max_count)].bar(i32::midpoint(x, end), top, bottom);
        }
    }
    let width = time.bar_width(columns.iter().map(|(span, _)| span));
    for (shade, drawn) in paths.iter().enumerate() {
        let attributes = heat_path(shade, width, drawn.text());
        panel.drawing += &format!("<path {attributes}/>");
    }
    panel.push_over_time(time, out);
}

/// The attributes of a path in a shade.
fn heat_path(shade: usize, width: i32, path: &str) -> String {
    format!("class=\"heat h{shade}\" stroke-width=\"{width}\" d=\"{path}\"")
}

/// The columns of the map: points that would be too narrow are merged, but not across a gap.
fn columns(counts: &[LatencyCounts], time: &TimeAxis) -> Vec<(TimeSpan, LatencyCounts)> {
    let points_of_column = time.points.len().div_ceil(MAX_COLUMNS);
    let mut columns: Vec<(TimeSpan, LatencyCounts)> = Vec::new();
    let mut points = 0;
    for (index, (counts, span)) in counts.iter().zip(&time.points).enumerate() {
        match columns.last_mut() {
            Some((last, merged)) if points < points_of_column && !time.is_after_gap(index) => {
                last.end_s = span.end_s;
                merged.add(counts.clone());
                points += 1;
            }
            _ => {
                columns.push((*span, counts.clone()));
                points = 1;
            }
        }
    }
    columns
}

/// The shade of a number of requests, on a logarithmic scale over the upper four decades.
fn shade(count: f64, max_count: f64) -> usize {
    const DECADES: f64 = 4.0;
    let position = 1.0 - (max_count / count.max(1e-9)).log10() / DECADES;
    ((position * SHADES as f64).floor().max(0.0) as usize).min(SHADES - 1)
}

#[cfg(test)]
mod xy_chart_tests {
    use super::*;

    #[test]
    fn more_requests_are_darker() {
        assert_eq!(
            [1e6, 1e5, 1e4, 1e3, 1e2, 1.0].map(|count| shade(count, 1e6)),
            [4, 3, 2, 1, 0, 0]
        );
    }

    #[test]
    fn what_is_drawn_is_kept() {
        for (_, quantity, _) in CHARTS.iter().flat_map(|(_, lines)| *lines) {
            let is_kept = CHARTED.iter().any(|kept| kept.name == quantity.name);
            assert!(is_kept, "{}", quantity.name);
        }
    }
}
