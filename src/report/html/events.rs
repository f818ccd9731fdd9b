//! The events: the verdict sentence, the table, and the shades in charts.

use std::fmt::Write;

use super::chart::ChartTime;
use super::escape::{escape, name};
use super::scale::HEIGHT;
use crate::attribution::cgroup_name;
use crate::intervals::{Event, History};
use crate::report::evidence::{event_limit_text, event_queue_text, event_rate_text, top_cgroup_text};
use crate::report::layout::sentence_numbers::{counted, duration, percent, queue, time};

/// The rows of the table that are not folded, and all its rows.
const OPEN_ROWS: usize = 15;
const MAX_ROWS: usize = 300;
/// The beginning of the table, with its titles.
const TITLES: &str = "<div class=\"scroll\"><table class=\"events\"><thead><tr><th class=\"n\">#<th>device<th>verdict<th>begin<th>end\
    <th class=\"n\">for<th class=\"n\">rate<th class=\"n\">peak latency<th class=\"n\">queue<th>limit<th>who</tr></thead><tbody>";

/// An event with its place in the charts.
pub(super) struct PlacedEvent<'a> {
    /// The event.
    pub(super) event: &'a Event,
    /// Its beginning on the axis of time.
    pub(super) begin_s: f64,
    /// Its end.
    pub(super) end_s: f64,
}

impl<'a> PlacedEvent<'a> {
    /// Finds the place of an event.
    pub(super) fn new(event: &'a Event, history: &History) -> Self {
        let begin_s = history.clock().axis_s(event.begin.run_s);
        let end_s = history.clock().axis_end_s(event.end.run_s);
        Self { event, begin_s, end_s: end_s.max(begin_s) }
    }
}

/// The first sentence of the page, on the worst event: `loop0 was capped from 16:04:47 to 16:05:12 (25 s): 2,000 reads/s,
/// latency up to 11.9 ms, queue 24.`
pub(super) fn headline(placed: &PlacedEvent<'_>, time_of: ChartTime<'_>) -> String {
    let event = placed.event;
    let end = if event.is_ongoing {
        "to the end".to_owned()
    } else {
        format!("to {}", time_of.axis.clock(placed.end_s))
    };
    let details = [
        event.rate.as_ref().map(event_rate_text),
        event.peak_latency.map(|peak| format!("latency up to {}", time(peak.await_ms))),
        event_queue_text(event),
        event.limit.as_ref().map(|limit| format!("limit {}", event_limit_text(limit))),
        event
            .top_cgroup
            .as_ref()
            .map(|top| format!("{} of the bytes by {}", percent(top.share_pct), cgroup_name(&top.path))),
    ];
    let details: Vec<String> = details.into_iter().flatten().collect();
    let colon = if details.is_empty() { "" } else { ": " };
    format!(
        "{} was {} from {} {end} ({}){colon}{}.",
        name(&event.label),
        event.verdict.name(),
        time_of.axis.clock(placed.begin_s),
        duration(event.duration_s),
        escape(&details.join(", "))
    )
}

/// Appends the table of all events. `anchor` returns the place of a device on the page.
pub(super) fn push_table(
    events: &[PlacedEvent<'_>],
    anchor: &dyn Fn(&str) -> Option<usize>,
    time_of: ChartTime<'_>,
    out: &mut String,
) {
    if events.is_empty() {
        return;
    }
    let _ = write!(out, "<h2 id=\"events\">Events</h2>{TITLES}");
    for (index, placed) in events.iter().enumerate().take(MAX_ROWS) {
        if index == OPEN_ROWS {
            let count = counted((events.len().min(MAX_ROWS) - OPEN_ROWS) as u64, "more event");
            let _ = write!(out, "</tbody></table></div><details><summary>{count}</summary>{TITLES}");
        }
        push_row(index, placed, anchor, time_of, out);
    }
    out.push_str("</tbody></table></div>");
    if events.len() > OPEN_ROWS {
        out.push_str("</details>");
    }
    if events.len() > MAX_ROWS {
        let _ = write!(out, "<p class=\"note\">and {} more events</p>", events.len() - MAX_ROWS);
    }
}

fn push_row(
    index: usize,
    placed: &PlacedEvent<'_>,
    anchor: &dyn Fn(&str) -> Option<usize>,
    time_of: ChartTime<'_>,
    out: &mut String,
) {
    let event = placed.event;
    let text = |text: Option<String>| text.map(|text| escape(&text)).unwrap_or_default();
    let label = name(&event.label);
    let device = match anchor(&event.device) {
        Some(anchor) => format!("<a href=\"#d{anchor}\">{label}</a>"),
        None => label,
    };
    let end = if event.is_ongoing { "to the end".to_owned() } else { clock(placed.end_s, time_of) };
    let who = event.top_cgroup.as_ref().map(top_cgroup_text);
    let verdict = event.verdict.name();
    let _ = write!(
        out,
        "<tr data-from=\"{:.3}\" data-to=\"{:.3}\"><td class=\"n\">{}<td>{device}<td><span class=\"tag {verdict}\">{verdict}</span><td>{}<td>{end}<td class=\"n\">{}<td class=\"n\">{}<td class=\"n\">{}<td class=\"n\">{}<td>{}<td>{}</tr>",
        placed.begin_s,
        placed.end_s,
        index + 1,
        clock(placed.begin_s, time_of),
        duration(event.duration_s),
        text(event.rate.as_ref().map(event_rate_text)),
        event.peak_latency.map(|peak| time(peak.await_ms)).unwrap_or_default(),
        event.mean_queue.map(queue).unwrap_or_default(),
        text(event.limit.as_ref().map(event_limit_text)),
        text(who),
    );
}

/// The time of day, with its date where the page spans several days.
fn clock(seconds: f64, time: ChartTime<'_>) -> String {
    if time.axis.spans_days() { time.axis.date_and_clock(seconds) } else { time.axis.clock(seconds) }
}

/// Appends the shades of a device's events, which its charts refer to by `id`.
pub(super) fn push_shades(events: &[&PlacedEvent<'_>], id: &str, time: ChartTime<'_>, out: &mut String) {
    let _ = write!(out, "<svg class=\"defs\" aria-hidden=\"true\"><g id=\"{id}\">");
    for placed in events {
        let (x, end) = (time.axis.x(placed.begin_s), time.axis.x(placed.end_s));
        let width = (end - x).max(1);
        let verdict = placed.event.verdict.name();
        let _ = write!(
            out,
            "<rect class=\"shade {verdict}\" x=\"{x}\" y=\"0\" width=\"{width}\" height=\"{HEIGHT}\"/><path class=\"edge {verdict}\" d=\"M{x} 0v{HEIGHT}M{end} 0v{HEIGHT}\"/>"
        );
    }
    out.push_str("</g></svg>");
}
