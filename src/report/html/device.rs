//! The section of a device, with the stack that it is part of as a picture: a box for each device with its queue and
//! latency, and a mark where requests wait.

use super::Page;
use super::chart::{Area, Chart, Line, push_areas, push_chart};
use super::data::Group;
use super::escape::{escape, list, name};
use super::host::push_cgroup_table;
use super::incidents::{self, PlacedIncident};
use super::overview::{push_band, tags};
use super::scale::Unit;
use super::time_axis::TimeAxis;
use super::xy_chart::{push_concurrency_charts, push_heat_map};
use crate::analysis::{
    DeviceReport, DirectionReport, Layer, LayerLink, QueueByLayer, RateUnit, WaitLocation,
};
use crate::intervals::series::Extent;
use crate::intervals::{DEVICE_QUANTITIES, DeviceHistory, UsageHistory};
use crate::report::analysis::{
    capacity_sentences, cause_sentences, link_text, verdict_sentence, worse_verdict,
};
use crate::report::layout::sentence_numbers::{multiple, number, per_second, queue, time as time_text};

/// The charts over time.
const CHARTS: [Chart<'_>; 8] = [
    ("Latency", "How long do requests take? ", Unit::Milliseconds),
    ("Operations", "How many operations? ", Unit::PerSecond),
    ("Queue", "How many requests wait or are served? ", Unit::Count("requests")),
    ("Bandwidth", "How many bytes? ", Unit::Bandwidth),
    ("Saturation", "How much slower than unloaded? ", Unit::Multiple),
    ("Utilization", "How often is there any request? ", Unit::Percent),
    ("I/O size", "How large are requests? ", Unit::Size),
    ("Merged requests", "Is the load sequential? ", Unit::Percent),
];
const LINES: [Line; 22] = [
    ("Latency", "read", "read_await_ms", "read"),
    ("Latency", "write", "write_await_ms", "write"),
    ("Latency", "flush", "flush_await_ms", "flush"),
    ("Operations", "reads", "reads_per_s", "read"),
    ("Operations", "writes", "writes_per_s", "write"),
    ("Operations", "flushes", "flushes_per_s", "flush"),
    ("Operations", "discards", "discards_per_s", "bound"),
    ("Queue", "in flight, sampled", "in_flight", "dots"),
    ("Queue", "mean queue", "queue", "all"),
    ("Bandwidth", "read", "read_kib_per_s", "read"),
    ("Bandwidth", "written", "write_kib_per_s", "write"),
    ("Bandwidth", "discarded", "discard_kib_per_s", "bound"),
    ("Saturation", "reads", "read_saturation", "read"),
    ("Saturation", "writes", "write_saturation", "write"),
    ("Saturation", "flushes", "flush_saturation", "flush"),
    ("Utilization", "util", "util_pct", "all"),
    ("Utilization", "? cannot be true", "doubtful_util_pct", "doubt"),
    ("Utilization", "upper bound", "util_upper_bound_pct", "bound"),
    ("I/O size", "reads", "read_size_kib", "read"),
    ("I/O size", "writes", "write_size_kib", "write"),
    ("Merged requests", "reads", "read_merge_pct", "read"),
    ("Merged requests", "writes", "write_merge_pct", "write"),
];

/// The fewest busy intervals of a device with charts.
const MIN_CHARTED_INTERVALS: u64 = 3;

/// A device with its own section.
pub(super) struct Section<'a> {
    pub(super) page: &'a Page<'a>,
    /// Its index among the sections.
    pub(super) index: usize,
    pub(super) report: &'a DeviceReport,
    /// Its history; `None` if it was in no interval.
    pub(super) history: Option<&'a DeviceHistory>,
    pub(super) incidents: Vec<&'a PlacedIncident<'a>>,
    /// The use by cgroups of this device, or of the device below; `None` without attribution.
    pub(super) usage: Option<&'a UsageHistory>,
    /// The shares of the cgroups.
    pub(super) areas: Vec<Area>,
}

impl<'a> Section<'a> {
    /// The alias of the device, or the kernel's name.
    pub(super) fn label(&self) -> &str {
        self.history.map_or(&self.report.device, |history| &history.names.label)
    }

    fn values(&self, name: &str) -> &'a [Extent] {
        self.history.map_or(&[], |history| history.values(name))
    }

    pub(super) fn push(&self, time: &TimeAxis<'_>, out: &mut String) {
        let analysis = &self.page.analysis;
        let kernel_name = Some(&self.report.device).filter(|device| *device != self.label());
        let mountpoints = self.history.map(|history| &history.names.mountpoints);
        let facts = kernel_name.into_iter().chain(mountpoints.filter(|text| !text.is_empty()));
        let facts = facts.map(|text| name(text)).collect::<Vec<_>>().join(", ");
        let facts = if facts.is_empty() { facts } else { format!(" <small>{facts}</small>") };
        *out += &format!(
            "<section class=\"device\" id=\"d{0}\" data-g=\"{0}\"><h2>{1} {2}{facts}</h2><p class=\"why\">{3}</p>",
            self.index,
            name(self.label()),
            tags(self.report.verdict, worse_verdict(analysis, self.report)),
            escape(&verdict_sentence(analysis, self.report))
        );
        if let Some(history) = self.history {
            push_band(history.verdicts.values(), time, out);
        }
        let shades = format!("e{}", self.index);
        *out += &incidents::shades(&self.incidents, &shades, time);
        out.push_str("<div class=\"panels\">");
        // A chart of one or two intervals shows no more than the table.
        if let Some(history) = self.history.filter(|_| self.report.busy_intervals >= MIN_CHARTED_INTERVALS) {
            self.push_charts(history, &shades, time, out);
            push_concurrency_charts(history, self.report, out);
            push_heat_map(history.latencies.values(), time, out);
        }
        if let Some(usage) = self.usage {
            let title = match usage.device == self.report.device {
                true => "Who: share of the bytes by cgroup".to_owned(),
                false => format!("Who: share of the bytes of {} below", escape(&usage.device)),
            };
            push_areas(&title, "Who causes it? ", &self.areas, &shades, time, out);
        }
        out.push_str("</div><div class=\"details\">");
        if let Some(queues) = &analysis.queue_by_layer {
            push_stack(queues, &self.report.device, out);
        }
        self.usage.into_iter().for_each(|usage| push_cgroup_table(usage, out));
        let sentences = [capacity_sentences(analysis, self.report), cause_sentences(self.report)].concat();
        out.push_str(&list(&sentences));
        *out += &format!(
            "<p class=\"script\"><button type=\"button\" class=\"csv\" data-g=\"{}\">Save the data of {} as CSV</button></p></div></section>",
            self.index,
            name(self.label())
        );
    }

    /// Appends the charts over time, that of latency first.
    fn push_charts(&self, history: &DeviceHistory, shades: &str, time: &TimeAxis<'_>, out: &mut String) {
        // Live values are compared with the mean since boot if the analysis finds no unloaded latency at all.
        let is_known = |name: &str| match name {
            "read_saturation" => self.report.read.saturation.max.is_some(),
            "write_saturation" => self.report.write.saturation.max.is_some(),
            _ => true,
        };
        let values = |name: &str| if is_known(name) { history.values(name) } else { &[] };
        let threshold = self.page.saturation_threshold;
        for chart in CHARTS {
            let references = match chart.0 {
                "Latency" => self.latency_references(threshold),
                "Saturation" => vec![(threshold, format!("threshold {}", multiple(threshold)))],
                "Operations" => self.limits(RateUnit::Requests),
                "Bandwidth" => self.limits(RateUnit::Kib),
                _ => Vec::new(),
            };
            push_chart(chart, &LINES, values, &references, shades, time, out);
        }
    }

    /// The limits that caused incidents of the device, in requests or MiB per second.
    fn limits(&self, unit: RateUnit) -> Vec<(f64, String)> {
        let limits =
            self.incidents.iter().filter_map(|placed| Some(placed.summary.incident.known_limit()?.0));
        let mut found: Vec<(f64, String)> = Vec::new();
        for limit in limits.filter(|limit| limit.unit == unit) {
            let value = if unit == RateUnit::Kib { limit.per_second / 1024.0 } else { limit.per_second };
            let label = format!("limit {}", number(value));
            if !found.iter().any(|(_, known)| *known == label) {
                found.push((value, label));
            }
        }
        found
    }

    /// The unloaded latency and the saturation threshold of the direction with more requests, or of both.
    fn latency_references(&self, saturation_threshold: f64) -> Vec<(f64, String)> {
        let directions = [("read", &self.report.read), ("write", &self.report.write)];
        let known = directions.into_iter().filter(|(_, of)| of.has_requests());
        let known = known.filter_map(|(word, of)| Some((word, of, of.baseline_await_ms?)));
        let rate = |of: &DirectionReport| of.iops.mean.unwrap_or(0.0);
        let main = known.max_by(|a, b| rate(a.1).total_cmp(&rate(b.1)));
        let Some((word, of, baseline_ms)) = main else { return Vec::new() };
        let bound = if of.baseline_is_upper_bound { "at most " } else { "" };
        let reference = |label: &str, value| (value, format!("{label} {bound}{}", time_text(value)));
        let mut references = vec![reference(&format!("{word} baseline"), baseline_ms)];
        // A baseline measured under load is not a basis for a threshold.
        if of.saturation.max.is_some() {
            references.push(reference("saturated from", baseline_ms * saturation_threshold));
        }
        references
    }

    pub(super) fn data(&self) -> Group<'_> {
        let names = DEVICE_QUANTITIES.iter().map(|(name, _)| *name);
        let drawn = names.filter(|name| {
            !matches!(*name, "iops" | "await_ms" | "concurrency")
                && self.values(name).iter().any(|extent| extent.max().is_some_and(|max| max > 0.0))
        });
        let drawn = drawn.map(|name| (name, self.values(name)));
        let areas = self.areas.iter().map(|area| (&*area.key, &*area.values));
        Group {
            name: self.label(),
            verdicts: self.history.map_or(&[], |history| history.verdicts.values()),
            series: drawn.chain(areas).collect(),
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
    out.push_str("<figure class=\"stack\"><figcaption><b>Where requests wait</b> <span class=\"q\">At which layer? Mean queue and latency; filled: requests wait there. </span></figcaption><div class=\"layers\">");
    let mut drawn: Vec<&str> = Vec::new();
    for link in links_of(queues, device) {
        if !drawn.contains(&link.above.as_str()) {
            let is_waiting = link.waiting == WaitLocation::Between;
            push_layer(queues, &link.above, is_waiting, device, out);
            drawn.push(&link.above);
        }
        let (class, text) = match link.waiting {
            WaitLocation::Between => ("held", format!("{} wait here", queue(link.queued_between()))),
            WaitLocation::Below => ("passed", "requests pass".to_owned()),
            WaitLocation::Nowhere => ("passed", "hardly any waits".to_owned()),
        };
        *out += &format!("<div class=\"link {class}\"><span>{text}</span></div><div class=\"row\">");
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

fn push_layer(queues: &QueueByLayer, device: &str, is_waiting: bool, shown: &str, out: &mut String) {
    let Some(layer) = queues.layers.iter().find(|layer| layer.device == device) else {
        *out += &format!("<div class=\"layer\"><b>{}</b></div>", name(device));
        return;
    };
    let max_queue = queues.layers.iter().filter_map(|layer| layer.queue).fold(0.0, f64::max);
    let share = layer.queue.filter(|_| max_queue > 0.0).map_or(0.0, |queue| 100.0 * queue / max_queue);
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
    let parts = [
        layer.queue.map(|mean| format!("queue {}", queue(mean))),
        layer.await_ms.map(time_text),
        layer.iops.map(|iops| per_second(iops, "requests")),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}
