//! All devices at a glance: a verdict band each, and a table of those that were ok.

use super::Page;
use super::chart::time_labels;
use super::escape::{link, name, verdict_class as class, verdict_word as word};
use super::time_axis::TimeAxis;
use crate::analysis::{DeviceReport, Distribution, Verdict};
use crate::intervals::History;
use crate::intervals::series::{TimeSpan, WorstVerdict};
use crate::report::analysis::worse_verdict;
use crate::report::evidence::verdict_mark;
use crate::report::layout::sentence_numbers::{counted, number, percent, queue, time as time_text};

/// Appends a verdict band for each device that was not idle. `anchor` returns the section of a device.
pub(super) fn push_overview(
    page: &Page<'_>,
    reports: &[&DeviceReport],
    anchor: &dyn Fn(&str) -> Option<usize>,
    time: &TimeAxis<'_>,
    out: &mut String,
) {
    if reports.is_empty() {
        return;
    }
    out.push_str("<h2>All devices</h2><div class=\"overview\">");
    for report in reports {
        let Some(device) = page.history.device(&report.device) else { continue };
        let link = link(&device.names.label, anchor(&report.device));
        let tags = tags(report.verdict, worse_verdict(page.analysis, report));
        *out += &format!("<div class=\"name\">{link}</div><div class=\"verdict\">{tags}</div>");
        push_band(device.verdicts.values(), time, out);
    }
    *out += &format!("<div class=\"axis-cell\">{}</div></div>", time_labels(time));
}

/// Appends the folded table of the devices without a section.
pub(super) fn push_ok_devices(reports: &[&DeviceReport], history: &History, out: &mut String) {
    if reports.is_empty() {
        return;
    }
    *out += &format!(
        "<details id=\"others\"><summary>{} that {} ok</summary><div class=\"scroll\"><table><thead><tr><th>device<th>verdict<th class=\"n\">reads/s, mean<th class=\"n\">writes/s, mean<th class=\"n\">read latency, median<th class=\"n\">p99<th class=\"n\">write latency, median<th class=\"n\">p99<th class=\"n\">queue, mean<th class=\"n\">util, mean</tr></thead><tbody>",
        counted(reports.len() as u64, "device"),
        if reports.len() == 1 { "was" } else { "were" }
    );
    for report in reports {
        let label =
            history.device(&report.device).map_or(report.device.as_str(), |device| &device.names.label);
        let rate = |of: &Distribution| of.mean.map(number).unwrap_or_default();
        let latency = |value: Option<f64>| value.map(time_text).unwrap_or_default();
        *out += &format!(
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

/// The verdict on a device, and that of its worst event if it is worse.
pub(super) fn tags(own: Option<Verdict>, worse: Option<Verdict>) -> String {
    let tag =
        |verdict: Option<Verdict>| format!("<span class=\"tag {}\">{}</span>", class(verdict), word(verdict));
    match (own, worse) {
        (None, Some(_)) => tag(worse),
        (Some(_), Some(_)) => format!("{} {}", tag(own), tag(worse)),
        (_, None) => tag(own),
    }
}

/// Appends the band. Each part shows the word for its verdict if it fits, otherwise its mark.
pub(super) fn push_band(verdicts: &[WorstVerdict], time: &TimeAxis<'_>, out: &mut String) {
    out.push_str("<div class=\"band\"><div class=\"inner\">");
    for (verdict, TimeSpan { start_s, end_s }) in parts(verdicts, time) {
        let (begin, end) = (time.position(start_s), time.position(end_s));
        let (left, width) = (begin * 100.0, (end - begin) * 100.0);
        let (start, end) = (time.moment(start_s), time.end_moment(start_s, end_s));
        let label = word(verdict);
        // A word that does not fit wraps to a second line, which is hidden; then the mark must be visible alone.
        let text = match width {
            6.0.. => format!("<b>{label}</b>"),
            0.8.. => format!("<s>{}</s>", verdict_mark(verdict)),
            _ => String::new(),
        };
        *out += &format!(
            "<i class=\"v {}\" style=\"left:{left:.2}%;width:{width:.2}%\" title=\"{label} {} to {}\">{text}</i>",
            class(verdict),
            start,
            end
        );
    }
    out.push_str("</div></div>");
}

/// Returns the parts of the band with one verdict each.
fn parts(verdicts: &[WorstVerdict], time: &TimeAxis<'_>) -> Vec<(Option<Verdict>, TimeSpan)> {
    let mut parts: Vec<(Option<Verdict>, TimeSpan)> = Vec::new();
    let mut is_continued = false;
    for (index, (verdict, span)) in verdicts.iter().zip(time.timeline.points()).enumerate() {
        let Some(verdict) = verdict.get().filter(|verdict| *verdict != Some(Verdict::Idle)) else {
            is_continued = false;
            continue;
        };
        match parts.last_mut() {
            Some((last, part)) if is_continued && *last == verdict && !time.timeline.is_after_gap(index) => {
                part.end_s = span.end_s;
            }
            _ => parts.push((verdict, *span)),
        }
        is_continued = true;
    }
    parts
}
