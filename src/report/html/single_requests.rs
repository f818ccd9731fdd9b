//! Single requests: the lines of their percentiles, and the threads that submitted them.

use std::fmt::Write;

use super::chart::{Chart, ChartTime, Line, Look, ScaleKind};
use super::data::Values;
use super::escape::{escape, name};
use super::scale::Unit;
use crate::attribution::cgroup_name;
use crate::counters::{RequestKind, TraceProblem};
use crate::intervals::series::{Extent, LatencyCounts};
use crate::intervals::{RequestHistory, ThreadHistory, TraceSummary, TracedThread};
use crate::metrics::LatencyStats;
use crate::report::layout::sentence_numbers::{counted, duration, number, percent};
use crate::report::who::role_name;

/// The most threads in the table of a device.
const MAX_SHOWN: usize = 10;
const BYTES_PER_MIB: f64 = 1_048_576.0;

/// A percentile, or the maximum, of single requests.
struct Percentile {
    /// Its name in the legend.
    label: &'static str,
    /// Its name in the data, without the kind of request: that of `latency --json`.
    key: &'static str,
    /// Returns its value in milliseconds.
    value: fn(&LatencyStats) -> f64,
}

const PERCENTILES: [Percentile; 3] = [
    Percentile { label: "p50", key: "p50_ms", value: |stats| stats.percentiles_ms[0] },
    Percentile { label: "p99", key: "p99_ms", value: |stats| stats.percentiles_ms[2] },
    Percentile { label: "max", key: "max_ms", value: |stats| stats.max_ms },
];

/// The percentiles of the requests of a kind in each point.
pub(super) struct PercentileLines {
    kind: RequestKind,
    /// The name of each series in the data, with its values.
    series: [(String, Vec<Extent>); PERCENTILES.len()],
}

impl PercentileLines {
    /// Returns the percentiles of each kind of request that was traced.
    pub(super) fn all(requests: &RequestHistory) -> Vec<Self> {
        let traced = RequestKind::ALL.into_iter().filter(|kind| requests.traced(*kind) > 0);
        traced.map(|kind| Self::of(requests, kind)).collect()
    }

    fn of(requests: &RequestHistory, kind: RequestKind) -> Self {
        let stats: Vec<Option<LatencyStats>> =
            requests.latencies(kind).iter().map(|point| point.stats()).collect();
        let series = PERCENTILES.map(|percentile| {
            let value = |stats: &Option<LatencyStats>| {
                let mut extent = Extent::default();
                stats.iter().for_each(|stats| extent.observe((percentile.value)(stats), 1.0));
                extent
            };
            (format!("{}_{}", word(kind), percentile.key), stats.iter().map(value).collect())
        });
        Self { kind, series }
    }

    /// Appends the chart.
    pub(super) fn push(&self, shades: &str, time: ChartTime<'_>, out: &mut String) {
        let title = match self.kind {
            RequestKind::Read => "Latency of single reads",
            RequestKind::Write => "Latency of single writes",
            RequestKind::Discard => "Latency of single discards",
            RequestKind::Flush => "Latency of single flushes",
        };
        let classes = match self.kind {
            RequestKind::Read => ["read p50", "read p99", "read slowest"],
            RequestKind::Write => ["write p50", "write p99", "write slowest"],
            RequestKind::Discard => ["bound p50", "bound p99", "bound slowest"],
            RequestKind::Flush => ["flush p50", "flush p99", "flush slowest"],
        };
        let lines = PERCENTILES.iter().zip(&self.series).zip(classes);
        let lines = lines
            .map(|((percentile, (key, values)), class)| {
                Line::new(percentile.label, key, Look::Class(class), values)
            })
            .collect();
        let question = "How slow are the slowest? ";
        let chart = Chart::new(title, question, Unit::Milliseconds, ScaleKind::Log, lines);
        Chart { shades, ..chart }.push(time, out);
    }

    /// The data of the lines.
    pub(super) fn data(&self) -> impl Iterator<Item = (String, Values<'_>)> {
        self.series.iter().map(|(key, values)| (key.clone(), Values::Extents(values)))
    }
}

fn word(kind: RequestKind) -> &'static str {
    match kind {
        RequestKind::Read => "read",
        RequestKind::Write => "write",
        RequestKind::Discard => "discard",
        RequestKind::Flush => "flush",
    }
}

/// Returns the reads, writes and flushes of each point by latency.
pub(super) fn counts(requests: &RequestHistory) -> Vec<LatencyCounts> {
    let mut counts: Vec<LatencyCounts> = Vec::new();
    for kind in [RequestKind::Read, RequestKind::Write, RequestKind::Flush] {
        let points = requests.latencies(kind);
        counts.resize_with(counts.len().max(points.len()), LatencyCounts::default);
        points.iter().zip(&mut counts).for_each(|(point, counts)| point.add_to(counts));
    }
    counts
}

/// Appends the number of requests that were traced, and the reasons why some are missing.
pub(super) fn push_trace_note(requests: &RequestHistory, trace: TraceSummary, out: &mut String) {
    let kinds = RequestKind::ALL.into_iter().filter(|kind| requests.completed(*kind) > 0);
    let counts: Vec<String> = kinds
        .map(|kind| {
            // Requests that complete between the reading of counters and of histograms can make it slightly more than
            // 100.
            let pct = (requests.traced(kind) as f64 / requests.completed(kind) as f64 * 100.0).min(100.0);
            format!("{} ({})", counted(requests.traced(kind), word(kind)), percent(pct))
        })
        .collect();
    if counts.is_empty() {
        return;
    }
    let mut text = format!(
        "Single requests traced in {}, with the share of those completed: {}. Their latency is that of the device, \
         without the queue before it.",
        duration(trace.seconds),
        counts.join(", ")
    );
    match trace.problem {
        Some(TraceProblem::Overhead) => {
            text +=
                " Tracing was paused at times: it would have cost more CPU time than --max-overhead permits.";
        }
        Some(TraceProblem::Failed) => {
            text += " At times the kernel's tracing files could not be read or written.";
        }
        None => {}
    }
    if trace.dropped > 0 {
        let missing = counted(trace.dropped, "request");
        let _ = write!(text, " Missing because a kernel histogram was full: {missing} over all devices.");
    }
    let _ = write!(out, "<p class=\"note\">{}</p>", escape(&text));
}

/// Appends the table of the threads that submitted I/O to a device or to its partitions; nothing if they were not
/// traced.
pub(super) fn push_thread_table(histories: &[&ThreadHistory], trace: TraceSummary, out: &mut String) {
    let mut threads: Vec<&TracedThread> = histories.iter().flat_map(|history| history.threads()).collect();
    let others = histories.iter().map(|history| history.others());
    let all: u64 = threads.iter().copied().chain(others).map(TracedThread::bytes).sum();
    threads.retain(|thread| thread.bytes() > 0);
    if all == 0 || threads.is_empty() {
        return;
    }
    threads.sort_by(|a, b| b.bytes().cmp(&a.bytes()).then_with(|| a.tid.cmp(&b.tid)));
    out.push_str(
        "<div class=\"scroll\"><table class=\"threads\"><thead><tr><th>thread<th>cgroup<th class=\"n\">share<th class=\"n\">reads/s\
         <th class=\"n\">writes/s<th class=\"n\">MiB/s, mean</tr></thead><tbody>",
    );
    let has_partitions = threads.iter().any(|thread| thread.device != threads[0].device);
    let per_s = |amount: u64| amount as f64 / trace.seconds.max(f64::MIN_POSITIVE);
    for thread in threads.iter().take(MAX_SHOWN) {
        let id = match thread.pid {
            Some(pid) if pid != thread.tid => format!("{pid} (thread {})", thread.tid),
            _ => thread.tid.to_string(),
        };
        let role = thread.kernel_role().map(|role| format!(", {}", role_name(role))).unwrap_or_default();
        let on = if has_partitions { format!(" on {}", name(&thread.device)) } else { String::new() };
        let cgroup = thread.cgroup.as_deref().map(|path| name(&cgroup_name(path))).unwrap_or_default();
        let _ = write!(
            out,
            "<tr><td class=\"long\">{} {id}{role}{on}<td class=\"long\">{cgroup}<td class=\"n\">{}<td class=\"n\">{}<td class=\"n\">{}<td class=\"n\">{}</tr>",
            name(&thread.comm),
            percent(100.0 * thread.bytes() as f64 / all as f64),
            number(per_s(thread.reads)),
            number(per_s(thread.writes)),
            number(per_s(thread.bytes()) / BYTES_PER_MIB),
        );
    }
    out.push_str("</tbody></table></div>");
    let hidden = threads.len().saturating_sub(MAX_SHOWN);
    if hidden > 0 {
        let _ = write!(out, "<p class=\"note\">and at least {hidden} more threads</p>");
    }
}
