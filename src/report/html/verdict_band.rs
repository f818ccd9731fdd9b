//! The verdicts on a device over time, as a band.

use std::fmt::Write;

use super::chart::ChartTime;
use crate::analysis::Verdict;
use crate::intervals::series::WorstVerdict;

/// The mark of a verdict, for readers who cannot see its color; `?` without a verdict.
pub(super) fn mark(verdict: Option<Verdict>) -> &'static str {
    match verdict {
        Some(Verdict::Idle) => "",
        Some(Verdict::Ok) => ".",
        Some(Verdict::Queueing) => "-",
        Some(Verdict::Saturated) => "=",
        Some(Verdict::Capped) => "C",
        Some(Verdict::Throttled) => "T",
        Some(Verdict::AccountingOff) => "x",
        Some(Verdict::Slow) => "s",
        Some(Verdict::Stalled) => "!",
        None => "?",
    }
}

pub(super) fn class(verdict: Option<Verdict>) -> &'static str {
    verdict.map_or("unknown", Verdict::name)
}

pub(super) fn word(verdict: Option<Verdict>) -> &'static str {
    verdict.map_or("no verdict", Verdict::name)
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
pub(super) fn push_band(verdicts: &[WorstVerdict], time: ChartTime<'_>, out: &mut String) {
    out.push_str("<div class=\"band\"><div class=\"inner\">");
    for part in parts(verdicts, time) {
        let (left, width) = (part.start * 100.0, (part.end - part.start) * 100.0);
        let (start, end) = (time.axis.moment(part.start_s), time.axis.end_moment(part.start_s, part.end_s));
        let label = word(part.verdict);
        // A word that does not fit wraps to a second line, which is hidden; then the mark must be visible alone.
        let text = match width {
            6.0.. => format!("<b>{label}</b>"),
            0.8.. => format!("<s>{}</s>", mark(part.verdict)),
            _ => String::new(),
        };
        let _ = write!(
            out,
            "<i class=\"v {}\" style=\"left:{left:.2}%;width:{width:.2}%\" title=\"{label} {} to {}\">{text}</i>",
            class(part.verdict),
            start,
            end
        );
    }
    out.push_str("</div></div>");
}

/// A part of the band with one verdict.
struct Part {
    verdict: Option<Verdict>,
    start: f64,
    end: f64,
    start_s: f64,
    end_s: f64,
}

fn parts(verdicts: &[WorstVerdict], time: ChartTime<'_>) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    let mut is_continued = false;
    for (index, (verdict, span)) in verdicts.iter().zip(time.timeline.points()).enumerate() {
        let Some(verdict) = verdict.get().filter(|verdict| *verdict != Some(Verdict::Idle)) else {
            is_continued = false;
            continue;
        };
        let (start, end) = (time.axis.position(span.start_s), time.axis.position(span.end_s));
        match parts.last_mut() {
            Some(last) if is_continued && last.verdict == verdict && !time.timeline.is_after_gap(index) => {
                (last.end, last.end_s) = (end, span.end_s);
            }
            _ => parts.push(Part { verdict, start, end, start_s: span.start_s, end_s: span.end_s }),
        }
        is_continued = true;
    }
    parts
}
