//! Metrics for Prometheus: text to scrape, text of a recording to import, a dashboard and alert rules.
//!
//! All text is in Prometheus' text format 0.0.4, which every Prometheus scrapes and node_exporter's textfile collector
//! reads. `promtool` imports a recording only as OpenMetrics, with timestamps in seconds and a last line `# EOF`, but
//! accepts everything else in the form of the text format. The text is written here rather than by `prometheus-client`,
//! which has neither timestamps nor the text format. A test lets a real Prometheus read all of it. All metrics are in
//! the tables of `host_families`, `device_families` and `cgroup_families`.

mod cgroup_families;
mod dashboard;
mod device_families;
mod family;
mod host_families;
mod text;

use std::time::Duration;

use self::cgroup_families::CGROUP_FAMILIES;
pub use self::dashboard::DASHBOARD;
use self::device_families::DEVICE_FAMILIES;
use self::family::Family;
use self::host_families::HOST_FAMILIES;
use self::text::TextWriter;
use crate::intervals::MetricsSnapshot;

/// The value of the header `Content-Type`.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

pub const ALERT_RULES: &str = include_str!("alert_rules.yml");

/// Unit tests of the alert rules, for `promtool test rules`. They expect the rules in a file called
/// `blkstat-alerts.yml`.
pub const ALERT_TESTS: &str = include_str!("alert_tests.yml");

/// Returns the metrics for a scrape; `interval` is the time between samples.
pub fn metrics_text(snapshot: &MetricsSnapshot, interval: Duration) -> Vec<u8> {
    let mut out = Vec::new();
    let mut text = TextWriter::new(None, "", &mut out);
    for family in HOST_FAMILIES {
        text.metadata(&family.family);
        family.write(snapshot, Some(interval), &mut text);
    }
    for family in DEVICE_FAMILIES {
        text.metadata(&family.family);
        snapshot.devices.iter().for_each(|device| family.write(device, &mut text));
    }
    for family in CGROUP_FAMILIES {
        text.metadata(&family.family);
        snapshot.cgroups.iter().for_each(|cgroup| family.write(cgroup, &mut text));
    }
    out
}

/// Writes the metrics of a recording with timestamps, for `promtool tsdb create-blocks-from openmetrics`.
///
/// All metadata come first, then the metrics of one point in time after another, so that a recording of any length
/// takes little memory. Prometheus accepts this, although OpenMetrics requires all points of a metric to be together,
/// which would take memory for the whole recording.
pub struct BackfillWriter {
    labels: String,
}

impl BackfillWriter {
    /// Creates a writer that adds these labels, by their names and values, to every metric. A recording lacks the
    /// labels that Prometheus adds when it scrapes, such as `instance`.
    pub fn new(labels: &[(String, String)]) -> Self {
        let labels = labels.iter().map(|(name, value)| text::label(name, value)).collect::<Vec<_>>();
        Self { labels: labels.join(",") }
    }

    /// Writes the text before the first point in time.
    pub fn begin(&self, out: &mut Vec<u8>) {
        let mut text = TextWriter::new(None, "", out);
        families().for_each(|family| text.metadata(family));
    }

    /// Writes the metrics at one point in time; nothing if that is not known.
    pub fn push(&self, snapshot: &MetricsSnapshot, out: &mut Vec<u8>) {
        if snapshot.at.is_none() {
            return;
        }
        let mut text = TextWriter::new(snapshot.at, &self.labels, out);
        for family in HOST_FAMILIES {
            family.write(snapshot, None, &mut text);
        }
        for family in DEVICE_FAMILIES {
            snapshot.devices.iter().for_each(|device| family.write(device, &mut text));
        }
        for family in CGROUP_FAMILIES {
            snapshot.cgroups.iter().for_each(|cgroup| family.write(cgroup, &mut text));
        }
    }

    /// Writes the text after the last point in time.
    pub fn end(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"# EOF\n");
    }
}

fn families() -> impl Iterator<Item = &'static Family> {
    let host = HOST_FAMILIES.iter().map(|family| &family.family);
    let device = DEVICE_FAMILIES.iter().map(|family| &family.family);
    host.chain(device).chain(CGROUP_FAMILIES.iter().map(|family| &family.family))
}

#[cfg(test)]
mod tests;
