//! All devices at a glance: a verdict band each, and a table of those that were ok.

use std::fmt::Write;

use super::chart::{ChartTime, push_time_labels};
use super::escape::name;
use super::verdict_band::{push_band, tags, word};
use crate::analysis::{DeviceReport, Distribution, Verdict};
use crate::intervals::History;
use crate::report::layout::sentence_numbers::{counted, number, percent, queue, time as time_text};

pub(super) struct OverviewRow<'a> {
    pub(super) report: &'a DeviceReport,
    /// The verdict of its worst event, if it is worse than the verdict on the whole run.
    pub(super) worse: Option<Verdict>,
    /// Its section; `None` if it has none.
    pub(super) section: Option<usize>,
}

/// Appends a verdict band for each device that was not idle.
pub(super) fn push_overview(
    rows: &[OverviewRow<'_>],
    history: &History,
    time: ChartTime<'_>,
    out: &mut String,
) {
    if rows.is_empty() {
        return;
    }
    out.push_str("<h2>All devices</h2><div class=\"overview\">");
    for row in rows {
        let Some(device) = history.device(&row.report.device) else { continue };
        let label = name(&device.names.label);
        let link = match row.section {
            Some(section) => format!("<a href=\"#d{section}\">{label}</a>"),
            None => label,
        };
        let tags = tags(row.report.verdict, row.worse);
        let _ = write!(out, "<div class=\"name\">{link}</div><div class=\"verdict\">{tags}</div>");
        push_band(device.verdicts.values(), time, out);
    }
    out.push_str("<div class=\"axis-cell\">");
    push_time_labels(time.axis, out);
    out.push_str("</div></div>");
}

/// Appends the folded table of the devices without a section.
pub(super) fn push_ok_devices(reports: &[&DeviceReport], history: &History, out: &mut String) {
    if reports.is_empty() {
        return;
    }
    let _ = write!(
        out,
        "<details id=\"others\"><summary>{} that {} ok</summary><div class=\"scroll\"><table><thead><tr><th>device<th>verdict<th class=\"n\">reads/s, mean<th class=\"n\">writes/s, mean<th class=\"n\">read latency, median<th class=\"n\">p99<th class=\"n\">write latency, median<th class=\"n\">p99<th class=\"n\">queue, mean<th class=\"n\">util, mean</tr></thead><tbody>",
        counted(reports.len() as u64, "device"),
        if reports.len() == 1 { "was" } else { "were" }
    );
    for report in reports {
        let label =
            history.device(&report.device).map_or(report.device.as_str(), |device| &device.names.label);
        let rate = |of: &Distribution| of.mean.map(number).unwrap_or_default();
        let latency = |value: Option<f64>| value.map(time_text).unwrap_or_default();
        let _ = write!(
            out,
            "<tr><td class=\"device\">{}<td>{}<td class=\"n\">{}<td class=\"n\">{}<td class=\"n\">{}<td class=\"n\">{}<td class=\"n\">{}<td class=\"n\">{}<td class=\"n\">{}<td class=\"n\">{}</tr>",
            name(label),
            word(report.verdict),
            rate(&report.read.iops),
            rate(&report.write.iops),
            latency(report.read.await_ms.p50),
            latency(report.read.await_ms.p99),
            latency(report.write.await_ms.p50),
            latency(report.write.await_ms.p99),
            report.all.queue.mean.map(queue).unwrap_or_default(),
            report.util_pct.mean.map(percent).unwrap_or_default(),
        );
    }
    out.push_str("</tbody></table></div></details>");
}
