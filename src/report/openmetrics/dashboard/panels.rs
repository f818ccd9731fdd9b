//! The panels of the dashboard: those of Percona's Disk Details, verdicts, limits, and the fleet.

use crate::analysis::Verdict;

/// A panel.
pub(super) struct Panel {
    pub(super) title: &'static str,
    pub(super) description: &'static str,
    /// Grafana's name of the unit.
    pub(super) unit: &'static str,
    pub(super) kind: PanelKind,
    pub(super) queries: &'static [Query],
}

/// The ways to show data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PanelKind {
    /// A heading for the panels below it.
    Row,
    /// Lines.
    Graph,
    /// Points on a logarithmic scale.
    LogGraph,
    /// The verdict of each device over time.
    VerdictTimeline,
    /// A table of the present values.
    Table,
    /// The buckets of a histogram over time.
    Heatmap,
}

/// A query with the text of its legend.
pub(super) struct Query {
    pub(super) expression: fn() -> String,
    pub(super) legend: &'static str,
}

/// Replaces the abbreviations in an expression: `SEL` selects the chosen hosts and devices, `INT` is the interval of
/// rates, `BAD` the verdicts that mean trouble.
fn expand(expression: &str) -> String {
    expression
        .replace("SEL", "instance=~\"$instance\",device=~\"$device\"")
        .replace("HOST", "instance=~\"$instance\"")
        .replace("INT", "$__rate_interval")
        .replace("BAD", "verdict=~\"stalled|throttled|capped|saturated|slow\"")
        .replace("DISK", "blkstat_disk")
}

macro_rules! query {
    ($expression:expr, $legend:expr) => {
        Query { expression: || expand($expression), legend: $legend }
    };
}

/// A query for each chosen device, with more text in its legend.
macro_rules! by_device {
    ($expression:expr $(, $more:literal)?) => {
        query!($expression, concat!("{{instance}} {{device}}" $(, " ", $more)?))
    };
}

/// The rate of a counter of the chosen devices, as an expression.
macro_rules! rate {
    ($counter:literal) => {
        concat!("rate(DISK_", $counter, "_total{SEL}[INT])")
    };
}

/// The rate of a counter divided by that of another one, as an expression.
macro_rules! ratio {
    ($counter:literal, $other:literal) => {
        concat!(rate!($counter), " / ", rate!($other))
    };
}

/// The sum of the rates of a counter over the physical devices of the chosen hosts, as an expression.
macro_rules! physical {
    ($counter:literal) => {
        concat!(
            "sum(rate(DISK_",
            $counter,
            "_total{HOST}[INT]) * on (instance, device) group_left () DISK_info{role=\"physical\"})"
        )
    };
}

macro_rules! panel {
    ($kind:ident, $title:literal, $unit:literal, $description:literal, [$($query:expr),* $(,)?]) => {
        Panel { title: $title, description: $description, unit: $unit, kind: PanelKind::$kind, queries: &[$($query),*] }
    };
}

/// Returns the level of each verdict in the timeline with its name and color, the most severe first; the last stands
/// for no verdict.
pub(super) fn verdict_levels() -> Vec<(u8, &'static str, &'static str)> {
    let color = |verdict| match verdict {
        Verdict::Stalled => "dark-red",
        Verdict::Throttled => "dark-purple",
        Verdict::Capped => "purple",
        Verdict::Saturated => "red",
        Verdict::Slow => "orange",
        Verdict::Queueing => "yellow",
        Verdict::AccountingOff => "blue",
        Verdict::Ok => "green",
        Verdict::Idle => "dark-green",
    };
    let named = Verdict::ALL.into_iter().map(|verdict| (level(verdict), verdict.name(), color(verdict)));
    named.chain([(0, "unknown", "gray")]).collect()
}

/// Returns the level of a verdict: the more severe, the higher. It is above 0, which stands for no verdict.
fn level(verdict: Verdict) -> u8 {
    verdict.severity() + 1
}

/// Returns the expression of the worst verdict in each interval of the graph, as its level.
fn worst_verdict() -> String {
    let one = |(level, name, _): (u8, &str, &str)| {
        expand(&format!(
            "{level} * (rate(DISK_verdict_seconds_total{{SEL,verdict=\"{name}\"}}[INT]) > bool 0)"
        ))
    };
    let all: Vec<String> = verdict_levels().into_iter().map(one).collect();
    format!("max by (instance, device) ({})", all.join(" or "))
}

/// The panels, from left to right and from top to bottom.
pub(super) const PANELS: &[Panel] = &[
    panel!(Row, "Fleet", "none", "", []),
    panel!(
        Table,
        "Worst devices",
        "s",
        "The devices with most time at a limit, saturated, slow or stalled in the time range, by verdict.",
        [query!(
            "topk(20, sum by (instance, device, verdict) (increase(DISK_verdict_seconds_total{HOST,BAD}[$__range])) * on (instance, \
             device) group_left (name, model) DISK_info)",
            "Time"
        )]
    ),
    panel!(
        Graph,
        "Devices in trouble",
        "short",
        "The number of devices with each verdict, averaged over the interval.",
        [query!("sum by (verdict) (rate(DISK_verdict_seconds_total{HOST,BAD}[INT]))", "{{verdict}}")]
    ),
    panel!(
        Graph,
        "Requests of all hosts",
        "iops",
        "Physical devices only, so that no request counts twice.",
        [query!(physical!("reads_completed"), "reads"), query!(physical!("writes_completed"), "writes"),]
    ),
    panel!(Row, "Verdicts and limits", "none", "", []),
    panel!(
        VerdictTimeline,
        "Verdict",
        "none",
        "The worst verdict of each interval of the graph, even if it lasted a second.",
        [Query { expression: worst_verdict, legend: "{{instance}} {{device}}" }]
    ),
    panel!(
        Graph,
        "Requests against the limit",
        "iops",
        "The limits that are known: the given one, and the one that a device reached last, of a cgroup or inferred from a rate that stayed constant.",
        [
            by_device!(concat!(rate!("reads_completed"), " + ", rate!("writes_completed"))),
            by_device!("DISK_limit_iops{SEL}", "limit ({{direction}}, {{source}})"),
        ]
    ),
    panel!(
        Graph,
        "Bytes against the limit",
        "Bps",
        "The same in bytes per second.",
        [
            by_device!(concat!(rate!("read_bytes"), " + ", rate!("written_bytes"))),
            by_device!("DISK_limit_bytes_per_second{SEL}", "limit ({{direction}}, {{source}})"),
        ]
    ),
    panel!(
        Graph,
        "Cgroups at their limits",
        "percentunit",
        "The share of the time in which a cgroup was at one of its own limits on a device.",
        [by_device!("topk(10, rate(blkstat_cgroup_at_limit_seconds_total{SEL}[INT]))", "{{cgroup}}")]
    ),
    panel!(
        Graph,
        "Stalled",
        "percentunit",
        "The share of the time in which requests were in flight and none completed.",
        [by_device!(rate!("stalled_seconds"))]
    ),
    panel!(
        LogGraph,
        "Saturation",
        "none",
        "Latency as a multiple of the latency of the unloaded device, of requests for which that is known.",
        [by_device!(ratio!("compared_time_seconds", "unloaded_time_seconds"), "{{direction}}")]
    ),
    panel!(
        LogGraph,
        "Baseline",
        "s",
        "The unloaded latency that requests were compared with last.",
        [by_device!("DISK_unloaded_latency_seconds{SEL}", "{{direction}} ({{source}})")]
    ),
    panel!(Row, "Devices", "none", "", []),
    panel!(
        LogGraph,
        "Latency",
        "s",
        "Mean latency of the requests that completed in the interval.",
        [
            by_device!(ratio!("read_time_seconds", "reads_completed"), "reads"),
            by_device!(ratio!("write_time_seconds", "writes_completed"), "writes"),
            by_device!(ratio!("flush_requests_time_seconds", "flush_requests"), "flushes"),
        ]
    ),
    panel!(
        Heatmap,
        "Requests by latency of their second",
        "s",
        "Requests by the mean latency of the second in which they completed: not percentiles of requests.",
        [query!("sum by (le) (increase(DISK_interval_latency_seconds_bucket{SEL}[INT]))", "{{le}}")]
    ),
    panel!(
        Graph,
        "Operations",
        "iops",
        "Requests completed per second.",
        [
            by_device!(rate!("reads_completed"), "reads"),
            by_device!(rate!("writes_completed"), "writes"),
            by_device!(rate!("discards_completed"), "discards"),
            by_device!(rate!("flush_requests"), "flushes"),
        ]
    ),
    panel!(
        Graph,
        "Bandwidth",
        "Bps",
        "Bytes per second.",
        [by_device!(rate!("read_bytes"), "read"), by_device!(rate!("written_bytes"), "written"),]
    ),
    panel!(
        Graph,
        "Average queue",
        "short",
        "Mean number of requests waiting or being served.",
        [by_device!(rate!("io_time_weighted_seconds"))]
    ),
    panel!(
        Graph,
        "Seconds with a long queue",
        "percentunit",
        "The share of the seconds with a mean queue above 16: bursts that the average hides.",
        [by_device!(
            "1 - rate(DISK_interval_queue_bucket{SEL,le=\"16.0\"}[INT]) / ignoring (le) rate(DISK_interval_queue_count{SEL}[INT])"
        )]
    ),
    panel!(
        Graph,
        "I/O utilization",
        "percentunit",
        "The share of the time with a request in flight, as the kernel counts it. At 100%, most devices can do more.",
        [by_device!(rate!("io_time_seconds"))]
    ),
    panel!(
        Graph,
        "Load",
        "short",
        "Mean number of reads and of writes waiting or being served.",
        [by_device!(rate!("read_time_seconds"), "reads"), by_device!(rate!("write_time_seconds"), "writes"),]
    ),
    panel!(
        Graph,
        "I/O size",
        "bytes",
        "Mean size of a request.",
        [
            by_device!(ratio!("read_bytes", "reads_completed"), "reads"),
            by_device!(ratio!("written_bytes", "writes_completed"), "writes"),
        ]
    ),
    panel!(
        Graph,
        "Merge ratio",
        "none",
        "Requests that were issued by programs for each that the device got.",
        [
            by_device!(concat!("1 + ", ratio!("reads_merged", "reads_completed")), "reads"),
            by_device!(concat!("1 + ", ratio!("writes_merged", "writes_completed")), "writes"),
        ]
    ),
    panel!(Row, "Hosts", "none", "", []),
    panel!(
        Graph,
        "I/O pressure",
        "percentunit",
        "The share of the time in which some task, or every task with work, waited for I/O.",
        [
            query!("rate(blkstat_pressure_io_waiting_seconds_total{HOST}[INT])", "{{instance}} some"),
            query!("rate(blkstat_pressure_io_stalled_seconds_total{HOST}[INT])", "{{instance}} all"),
        ]
    ),
    panel!(
        Graph,
        "Missed samples",
        "short",
        "Samples that blkstat could not take in time, and how old its last one is.",
        [
            query!("increase(blkstat_missed_samples_total{HOST}[INT])", "{{instance}} missed"),
            query!("time() - blkstat_last_sample_timestamp_seconds{HOST}", "{{instance}} age in seconds"),
        ]
    ),
];
