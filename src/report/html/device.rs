//! The section of a device.

use std::fmt::Write;

use super::chart::{Area, Chart, ChartTime, Line, Reference};
use super::data::{Group, Values};
use super::escape::{escape, name};
use super::host::{push_cgroup_table, push_usage};
use super::incidents::{PlacedIncident, push_shades};
use super::overview::{push_band, tags};
use super::scale::Unit;
use super::stack::{has_link, push_stack};
use super::xy_chart::push_concurrency_charts;
use super::xy_chart::push_heat_map;
use crate::analysis::{DeviceReport, DirectionReport, RateUnit};
use crate::intervals::{Cause, DeviceHistory, DeviceQuantity, UsageHistory};
use crate::report::analysis::{
    AnalysisReport, capacity_sentences, cause_sentences, verdict_sentence, worse_verdict,
};
use crate::report::json_csv::DeviceLimit;
use crate::report::layout::sentence_numbers::{multiple, number, time as time_text};

/// The fewest busy intervals of a device with charts.
const MIN_CHARTED_INTERVALS: u64 = 3;

/// A device with its own section.
pub(super) struct Section<'a> {
    /// Its index among the sections.
    pub(super) index: usize,
    pub(super) report: &'a DeviceReport,
    /// Its history; `None` if it was in no interval.
    pub(super) history: Option<&'a DeviceHistory>,
    pub(super) incidents: Vec<&'a PlacedIncident<'a>>,
    /// The use by cgroups of this device, or of the device below; `None` without attribution.
    pub(super) usage: Option<&'a UsageHistory>,
    /// The shares of the cgroups.
    pub(super) areas: Vec<Area<'a>>,
}

/// The values that the sections of all devices share.
#[derive(Clone, Copy)]
pub(super) struct SectionContext<'a> {
    pub(super) time: ChartTime<'a>,
    pub(super) analysis: &'a AnalysisReport<'a>,
    /// Latency, as a multiple of unloaded latency, at which a device counts as saturated.
    pub(super) saturation_threshold: f64,
}

impl<'a> Section<'a> {
    /// The alias of the device, or the kernel's name.
    pub(super) fn label(&self) -> &str {
        self.history.map_or(&self.report.device, |history| &history.names.label)
    }

    fn values(&self, quantity: DeviceQuantity) -> &'a [crate::intervals::series::Extent] {
        self.history.map_or(&[], |history| history.values(quantity))
    }

    pub(super) fn push(&self, context: SectionContext<'_>, out: &mut String) {
        let time = context.time;
        let _ = write!(
            out,
            "<section class=\"device\" id=\"d{0}\" data-g=\"{0}\"><h2>{1} {2}",
            self.index,
            name(self.label()),
            tags(self.report.verdict, worse_verdict(context.analysis, self.report))
        );
        let mut facts = Vec::new();
        if self.label() != self.report.device {
            facts.push(name(&self.report.device));
        }
        if let Some(mountpoints) =
            self.history.map(|history| &history.names.mountpoints).filter(|text| !text.is_empty())
        {
            facts.push(name(mountpoints));
        }
        if !facts.is_empty() {
            let _ = write!(out, " <small>{}</small>", facts.join(", "));
        }
        let sentence = escape(&verdict_sentence(context.analysis, self.report));
        let _ = write!(out, "</h2><p class=\"why\">{sentence}</p>");
        if let Some(history) = self.history {
            push_band(history.verdicts.values(), time, out);
        }
        let shades = format!("e{}", self.index);
        push_shades(&self.incidents, &shades, time, out);
        out.push_str("<div class=\"panels\">");
        // A chart of one or two intervals shows no more than the table.
        let has_charts = self.report.busy_intervals >= MIN_CHARTED_INTERVALS;
        let charts = self.charts(context.saturation_threshold, &shades);
        charts.iter().filter(|_| has_charts).for_each(|chart| chart.push(time, out));
        if let Some(history) = self.history.filter(|_| has_charts) {
            push_concurrency_charts(history, &self.report.levels, &self.report.capacity, out);
            let title = "Heat map of interval means";
            push_heat_map(title, "One speed, or several? ", history.latencies.values(), time, out);
        }
        if let Some(usage) = self.usage {
            push_usage(usage, &self.areas, usage.device != self.report.device, &shades, time, out);
        }
        out.push_str("</div><div class=\"details\">");
        if let Some(queues) =
            context.analysis.queue_by_layer.filter(|queues| has_link(queues, &self.report.device))
        {
            push_stack(queues, &self.report.device, out);
        }
        self.usage.into_iter().for_each(|usage| push_cgroup_table(usage, out));
        let sentences: Vec<String> = capacity_sentences(context.analysis, self.report)
            .into_iter()
            .chain(cause_sentences(self.report))
            .collect();
        if !sentences.is_empty() {
            out.push_str("<ul>");
            for sentence in sentences {
                let _ = write!(out, "<li>{}", escape(&sentence));
            }
            out.push_str("</ul>");
        }
        let _ = write!(
            out,
            "<p class=\"script\"><button type=\"button\" class=\"csv\" data-g=\"{}\">Save the data of {} as CSV</button></p></div></section>",
            self.index,
            name(self.label())
        );
    }

    /// The charts over time, that of latency first.
    fn charts<'b>(&'b self, saturation_threshold: f64, shades: &'b str) -> [Chart<'b>; 8] {
        use DeviceQuantity as Q;
        let lines = [
            ("Latency", "read", Q::ReadAwaitMs, "read"),
            ("Latency", "write", Q::WriteAwaitMs, "write"),
            ("Latency", "flush", Q::FlushAwaitMs, "flush"),
            ("Operations", "reads", Q::ReadsPerS, "read"),
            ("Operations", "writes", Q::WritesPerS, "write"),
            ("Operations", "flushes", Q::FlushesPerS, "flush"),
            ("Operations", "discards", Q::DiscardsPerS, "bound"),
            ("Queue", "in flight, sampled", Q::InFlight, "dots"),
            ("Queue", "mean queue", Q::Queue, "all"),
            ("Bandwidth", "read", Q::ReadKibPerS, "read"),
            ("Bandwidth", "written", Q::WriteKibPerS, "write"),
            ("Bandwidth", "discarded", Q::DiscardKibPerS, "bound"),
            ("Saturation", "reads", Q::ReadSaturation, "read"),
            ("Saturation", "writes", Q::WriteSaturation, "write"),
            ("Saturation", "flushes", Q::FlushSaturation, "flush"),
            ("Utilization", "util", Q::UtilPct, "all"),
            ("Utilization", "? cannot be true", Q::DoubtfulUtilPct, "doubt"),
            ("Utilization", "upper bound", Q::UtilUpperBoundPct, "bound"),
            ("I/O size", "reads", Q::ReadSizeKib, "read"),
            ("I/O size", "writes", Q::WriteSizeKib, "write"),
            ("Merged requests", "reads", Q::ReadMergePct, "read"),
            ("Merged requests", "writes", Q::WriteMergePct, "write"),
        ];
        // Live values are compared with the mean since boot if the analysis finds no unloaded latency at all.
        let is_known = |quantity: Q| match quantity {
            Q::ReadSaturation => self.report.read.saturation.max.is_some(),
            Q::WriteSaturation => self.report.write.saturation.max.is_some(),
            _ => true,
        };
        let charts = [
            ("Latency", "How long do requests take? ", Unit::Milliseconds),
            ("Operations", "How many operations? ", Unit::PerSecond),
            ("Queue", "How many requests wait or are served? ", Unit::Count("requests")),
            ("Bandwidth", "How many bytes? ", Unit::Bandwidth),
            ("Saturation", "How much slower than unloaded? ", Unit::Multiple),
            ("Utilization", "How often is there any request? ", Unit::Percent),
            ("I/O size", "How large are requests? ", Unit::Size),
            ("Merged requests", "Is the load sequential? ", Unit::Percent),
        ];
        charts.map(|(title, question, unit)| {
            let own = lines.iter().filter(|(chart, _, quantity, _)| *chart == title && is_known(*quantity));
            let line = |(_, label, quantity, class): &(_, &'static str, Q, &'static str)| Line {
                label,
                key: quantity.name(),
                class,
                values: self.values(*quantity),
            };
            let references = match title {
                "Latency" => self.latency_references(saturation_threshold),
                "Saturation" => vec![Reference {
                    label: format!("threshold {}", multiple(saturation_threshold)),
                    value: saturation_threshold,
                }],
                "Operations" => self.limits(RateUnit::Requests),
                "Bandwidth" => self.limits(RateUnit::Kib),
                _ => Vec::new(),
            };
            Chart { title, question, unit, lines: own.map(line).collect(), references, shades }
        })
    }

    /// The limits that caused incidents of the device, in requests or MiB per second.
    fn limits(&self, unit: RateUnit) -> Vec<Reference> {
        let limits = self.incidents.iter().filter_map(|placed| match &placed.summary.incident.cause {
            Some(Cause::Limit { limit, .. }) => DeviceLimit::of_event(limit),
            _ => None,
        });
        let mut found: Vec<Reference> = Vec::new();
        for limit in limits.filter(|limit| limit.unit == unit) {
            let value = if unit == RateUnit::Kib { limit.value / 1024.0 } else { limit.value };
            let label = format!("limit {}", number(value));
            if !found.iter().any(|known| known.label == label) {
                found.push(Reference { label, value });
            }
        }
        found
    }

    /// The unloaded latency and the saturation threshold of the direction with more requests, or of both.
    fn latency_references(&self, saturation_threshold: f64) -> Vec<Reference> {
        let directions = [("read", &self.report.read), ("write", &self.report.write)];
        let known = directions.into_iter().filter_map(|(word, of)| {
            let has_requests = of.iops.max.is_some_and(|rate| rate > 0.0);
            Some((word, of, of.baseline_await_ms.filter(|_| has_requests)?))
        });
        let rate = |of: &DirectionReport| of.iops.mean.unwrap_or(0.0);
        let main = known.max_by(|a, b| rate(a.1).total_cmp(&rate(b.1)));
        let Some((word, of, baseline_ms)) = main else { return Vec::new() };
        let bound = if of.baseline_is_upper_bound { "at most " } else { "" };
        let reference =
            |label: &str, value| Reference { label: format!("{label} {bound}{}", time_text(value)), value };
        let mut references = vec![reference(&format!("{word} baseline"), baseline_ms)];
        // A baseline measured under load is not a basis for a threshold.
        if of.saturation.max.is_some() {
            references.push(reference("saturated from", baseline_ms * saturation_threshold));
        }
        references
    }

    pub(super) fn data(&self) -> Group<'_> {
        let drawn = DeviceQuantity::all().filter(|quantity| {
            !matches!(quantity, DeviceQuantity::Iops | DeviceQuantity::AwaitMs | DeviceQuantity::Concurrency)
                && self.values(*quantity).iter().any(|extent| extent.max().is_some_and(|max| max > 0.0))
        });
        let mut series: Vec<(String, Values<'_>)> = drawn
            .map(|quantity| (quantity.name().to_owned(), Values::Extents(self.values(quantity))))
            .collect();
        series.extend(self.areas.iter().map(|area| (area.key.clone(), Values::Numbers(area.values.clone()))));
        Group {
            name: self.label(),
            verdicts: self.history.map_or(&[], |history| history.verdicts.values()),
            series,
        }
    }
}
