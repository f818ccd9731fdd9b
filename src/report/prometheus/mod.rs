//! Metrics for Prometheus: text to scrape, text of a recording to import, a dashboard and alert rules.
//!
//! All text is in Prometheus' text format 0.0.4, which every Prometheus scrapes and node_exporter's textfile collector
//! reads. `promtool` imports a recording only as OpenMetrics, with timestamps in seconds and a last line `# EOF`, but
//! accepts everything else in the form of the text format. The text is written here rather than by `prometheus-client`,
//! which has neither timestamps nor the text format. A test lets a real Prometheus read all of it. All metrics are in
//! the table of `families`.

mod families;
#[cfg(test)]
mod tests;

use std::io::Write;
use std::time::Duration;

use jiff::Timestamp;

use self::families::{FAMILIES, Family};
use crate::intervals::{Buckets, MetricsSnapshot};
use crate::sanitize::sanitize;

/// The value of the header `Content-Type`.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

pub const ALERT_RULES: &str = include_str!("alert_rules.yml");

/// Unit tests of the alert rules, for `promtool test rules`. They expect the rules in a file called
/// `blkstat-alerts.yml`.
pub const ALERT_TESTS: &str = include_str!("alert_tests.yml");

/// Rules that compare each disk with its peers, and each host with the others.
pub const PEER_RULES: &str = include_str!("peer_rules.yml");

/// Returns the rules of [`PEER_RULES`] for the metrics of node_exporter, where no blkstat runs. It says nothing of what a
/// device is, so that disks are told by their names.
pub fn node_exporter_rules() -> String {
    const NO_DISKS: &str = "(dm-|md|loop|zram|ram|sr|nbd|drbd|bcache).*";
    // What blkstat finds by itself has no counterpart.
    let (rules, _) = PEER_RULES.split_once("\n  # What each blkstat finds").unwrap_or((PEER_RULES, ""));
    rules
        .replace("blkstat_disk_info{role=\"physical\"}", &format!("node_disk_info{{device!~\"{NO_DISKS}\"}}"))
        .replace("blkstat_disk_", "node_disk_")
        .replace("blkstat-", "node-")
        .replace("alert: Blkstat", "alert: Node")
}

/// Returns the families of metrics with their meanings, for the manual.
pub(in crate::report) fn metrics() -> Vec<(&'static str, &'static str)> {
    FAMILIES.iter().map(|family| (family.name, family.help)).collect()
}

/// Returns the metrics for a scrape; `interval` is the time between samples.
pub fn metrics_text(snapshot: &MetricsSnapshot, interval: Duration) -> Vec<u8> {
    let mut out = Vec::new();
    let mut metrics = Metrics::new(None, "", &mut out);
    for family in FAMILIES.iter() {
        metrics.push_metadata(family);
        family.write(snapshot, Some(interval), &mut metrics);
    }
    out
}

/// Returns labels for every metric of a recording, given by their names and values: it lacks those that Prometheus adds
/// when it scrapes, such as `instance`.
pub fn common_labels(labels: &[(String, String)]) -> String {
    let labels = labels.iter().map(|(name, value)| label(name, value)).collect::<Vec<_>>();
    labels.join(",")
}

/// Writes all metadata, which precede the metrics of a recording, for `promtool tsdb create-blocks-from openmetrics`.
///
/// The metrics of one point in time after another follow, so that a recording of any length takes little memory.
/// Prometheus accepts this, although OpenMetrics requires all points of a metric to be together, which would take memory
/// for the whole recording. The last line is [`END`].
pub fn push_metadata(out: &mut Vec<u8>) {
    let mut metrics = Metrics::new(None, "", out);
    FAMILIES.iter().for_each(|family| metrics.push_metadata(family));
}

/// Writes the metrics at one point in time with these labels; nothing if that time is not known.
pub fn push_metrics(snapshot: &MetricsSnapshot, labels: &str, out: &mut Vec<u8>) {
    let mut metrics = Metrics::new(snapshot.at, labels, out);
    let families = FAMILIES.iter().filter(|_| snapshot.at.is_some());
    families.for_each(|family| family.write(snapshot, None, &mut metrics));
}

/// The text after the last point in time.
pub const END: &[u8] = b"# EOF\n";

/// The dashboard as JSON. Grafana asks for the data source when the dashboard is imported.
pub const DASHBOARD: &str = include_str!("dashboard.json");

#[derive(Clone, Copy, Debug, PartialEq)]
enum Value {
    Whole(u64),
    Real(f64),
}

/// A label: its name and its value.
type Label<'a> = (&'a str, &'a str);

/// Writes metrics at the end of a text.
struct Metrics<'a> {
    /// The name of the family whose metrics are written.
    family: &'static str,
    /// The labels of the device or cgroup.
    labels: Vec<Label<'a>>,
    /// The labels of every metric.
    common_labels: &'a str,
    /// The timestamp of every metric, with the blank before it; empty for none.
    timestamp: String,
    out: &'a mut Vec<u8>,
}

impl<'a> Metrics<'a> {
    /// Creates a writer of metrics at one point in time, or without timestamps, all with these labels.
    fn new(at: Option<Timestamp>, common_labels: &'a str, out: &'a mut Vec<u8>) -> Self {
        // Prometheus stores milliseconds.
        let timestamp = at.map(|at| format!(" {:.3}", at.as_millisecond() as f64 / 1e3)).unwrap_or_default();
        Self { family: "", labels: Vec::new(), common_labels, timestamp, out }
    }

    /// Writes the lines that precede the metrics of a family.
    fn push_metadata(&mut self, family: &Family) {
        let (Family { name, help, .. }, kind) = (family, family.kind());
        // Writing to a Vec cannot fail.
        let _ = write!(self.out, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    fn push(&mut self, labels: &[Label<'_>], value: Value) {
        self.push_line("", labels, value);
    }

    /// Writes a histogram, given the upper bounds of its buckets and the sum of all observations.
    fn push_histogram<const N: usize>(
        &mut self,
        labels: &[Label<'_>],
        bounds: &[f64; N],
        buckets: &Buckets<N>,
        sum: f64,
    ) {
        let mut cumulative = 0;
        for (bound, count) in bounds.iter().zip(buckets.within) {
            cumulative = count.saturating_add(cumulative);
            // OpenMetrics requires a decimal point in every bound.
            let bound = format!("{bound:?}");
            self.push_line("_bucket", &[labels, &[("le", &bound)]].concat(), Value::Whole(cumulative));
        }
        let count = Value::Whole(buckets.count);
        self.push_line("_bucket", &[labels, &[("le", "+Inf")]].concat(), count);
        self.push_line("_sum", labels, Value::Real(sum));
        self.push_line("_count", labels, count);
    }

    fn push_line(&mut self, suffix: &str, labels: &[Label<'_>], value: Value) {
        self.out.extend_from_slice(self.family.as_bytes());
        self.out.extend_from_slice(suffix.as_bytes());
        let mut separator = b'{';
        if !self.common_labels.is_empty() {
            self.out.push(std::mem::replace(&mut separator, b','));
            self.out.extend_from_slice(self.common_labels.as_bytes());
        }
        for (name, value) in self.labels.iter().chain(labels) {
            self.out.push(std::mem::replace(&mut separator, b','));
            push_label(name, value, self.out);
        }
        self.out.extend_from_slice(if separator == b',' { b"}" } else { b"" });
        // Writing to a Vec cannot fail.
        let _ = match value {
            Value::Whole(value) => writeln!(self.out, " {value}{}", self.timestamp),
            Value::Real(value) => writeln!(self.out, " {value}{}", self.timestamp),
        };
    }
}

fn label(name: &str, value: &str) -> String {
    let mut text = Vec::new();
    push_label(name, value, &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// Appends a label. Backslashes, quotes and line feeds are escaped as the format requires; characters that control a
/// terminal are replaced, because people also look at metrics on terminals.
fn push_label(name: &str, value: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"=\"");
    for byte in sanitize(value).bytes() {
        match byte {
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'"' => out.extend_from_slice(b"\\\""),
            byte => out.push(byte),
        }
    }
    out.push(b'"');
}

#[cfg(test)]
mod dashboard_tests {
    use serde_json::Value;

    use super::*;
    use crate::analysis::Verdict;
    use crate::report::prometheus::families::FAMILIES;

    /// The columns of Grafana's grid.
    const GRID_COLUMNS: u64 = 24;

    /// Returns the expressions of all panels.
    fn expressions() -> Vec<String> {
        let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
        let panels = dashboard["panels"].as_array().unwrap().iter();
        let queries = panels.flat_map(|panel| panel["targets"].as_array().unwrap());
        queries.map(|query| query["expr"].as_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn every_metric_of_the_dashboard_exists_and_most_metrics_are_on_it() {
        let mut known: Vec<String> = Vec::new();
        for family in FAMILIES.iter() {
            let (name, kind) = (family.name, family.kind());
            let suffixes: &[&str] = if kind == "histogram" { &["_bucket", "_sum", "_count"] } else { &[""] };
            known.extend(suffixes.iter().map(|suffix| format!("{name}{suffix}")));
        }
        let expressions = expressions().join(" ");
        let words = expressions.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let used: std::collections::BTreeSet<&str> =
            words.filter(|word| word.starts_with("blkstat_")).collect();
        for name in &used {
            assert!(known.iter().any(|known| known == name), "{name}");
        }
        assert!(used.len() > 25, "{used:?}");
    }

    #[test]
    fn panels_have_identifiers_of_their_own_and_units_that_grafana_knows() {
        let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
        let panels = dashboard["panels"].as_array().unwrap();
        let ids: std::collections::BTreeSet<u64> =
            panels.iter().map(|panel| panel["id"].as_u64().unwrap()).collect();
        assert_eq!(ids.len(), panels.len());
        // All units are in the list of @grafana/data 13.2.
        let units = ["none", "short", "s", "bytes", "Bps", "iops", "percentunit"];
        for panel in panels {
            let unit = panel["fieldConfig"]["defaults"]["unit"].as_str().unwrap();
            assert!(units.contains(&unit), "{}: {unit}", panel["title"]);
        }
    }

    #[test]
    fn panels_fill_the_grid_without_overlap() {
        let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
        let mut cells = std::collections::BTreeSet::new();
        for panel in dashboard["panels"].as_array().unwrap() {
            let at = |key: &str| panel["gridPos"][key].as_u64().unwrap();
            for x in at("x")..at("x") + at("w") {
                assert!(x < GRID_COLUMNS);
                for y in at("y")..at("y") + at("h") {
                    assert!(cells.insert((x, y)), "{}", panel["title"]);
                }
            }
        }
    }

    #[test]
    fn the_timeline_of_verdicts_has_all_of_them_by_severity() {
        let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
        let panels = dashboard["panels"].as_array().unwrap();
        let timeline = panels.iter().find(|panel| panel["type"] == "state-timeline").unwrap();
        let names = &timeline["fieldConfig"]["defaults"]["mappings"][0]["options"];
        let query = timeline["targets"][0]["expr"].as_str().unwrap();
        // Level 0 stands for no verdict.
        let verdicts = Verdict::ALL.map(|verdict| (verdict.severity() + 1, verdict.name()));
        assert_eq!(names.as_object().unwrap().len(), verdicts.len() + 1);
        for (level, name) in verdicts.into_iter().chain([(0, "unknown")]) {
            assert_eq!(names[level.to_string()]["text"], name);
            assert!(
                query.contains(&format!("{level} * (rate(blkstat_disk_verdict_seconds_total{{")),
                "{name}"
            );
            assert!(query.contains(&format!(",verdict=\"{name}\"}}[$__rate_interval])")), "{name}");
        }
    }
}
