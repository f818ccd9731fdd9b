//! The incidents, the worst first, placed on the axis of time: in the first sentences of a page, in its table, and as shades in charts.

use std::collections::HashSet;
use std::fmt::Write;

use super::chart::ChartTime;
use super::escape::{escape, name};
use super::scale::HEIGHT;
use super::time_axis::TimeAxis;
use crate::analysis::{DeviceReport, IoDirection, Verdict};
use crate::attribution::cgroup_name;
use crate::intervals::{Event, EventLimit, History, IncidentEvents};
use crate::report::analysis::{AnalysisReport, incidents_worst_first};
use crate::report::evidence::{
    event_health_text, event_latency_text, event_length_text, event_limit_text, event_queue_text,
    event_rate_text, other_device_texts, share_text, top_cgroup_text,
};
use crate::report::layout::sentence_numbers::{counted, duration, time};

/// An event with its place in the charts.
pub(super) struct PlacedEvent<'a> {
    pub(super) event: &'a Event,
    /// Its beginning on the axis of time, possibly before the time that the page shows.
    pub(super) begin_s: f64,
    pub(super) end_s: f64,
}

impl<'a> PlacedEvent<'a> {
    fn new(event: &'a Event, history: &History) -> Self {
        let begin_s = history.clock.axis_s(event.begin.run_s);
        let end_s = history.clock.axis_end_s(event.end.run_s);
        Self { event, begin_s, end_s: end_s.max(begin_s) }
    }

    /// Returns whether it began before the time that the page shows.
    pub(super) fn is_cut(&self, axis: &TimeAxis) -> bool {
        /// More than the rounding error of a time, less than any interval.
        const TOLERANCE_S: f64 = 1e-3;
        self.begin_s < axis.span().start_s - TOLERANCE_S
    }
}

pub(super) struct PlacedIncident<'a> {
    /// The event that leads it.
    pub(super) main: PlacedEvent<'a>,
    /// The others, in the order of time.
    pub(super) others: Vec<PlacedEvent<'a>>,
}

impl<'a> PlacedIncident<'a> {
    fn new(incident: &IncidentEvents, events: &'a [Event], history: &History) -> Self {
        let place = |index: usize| PlacedEvent::new(&events[index], history);
        Self { main: place(incident.lead), others: incident.others.iter().copied().map(place).collect() }
    }

    /// Its events, the main one first.
    pub(super) fn events(&self) -> impl Iterator<Item = &PlacedEvent<'a>> {
        std::iter::once(&self.main).chain(&self.others)
    }
}

/// Returns the incidents, the worst first.
pub(super) fn place_incidents<'a>(
    analysis: &AnalysisReport<'a>,
    history: &History,
) -> Vec<PlacedIncident<'a>> {
    let events: &'a [Event] = &analysis.events.list;
    let placed = |incident: &IncidentEvents| PlacedIncident::new(incident, events, history);
    incidents_worst_first(analysis).into_iter().map(placed).collect()
}

/// The most other incidents that are named.
const MAX_NAMED: usize = 3;
/// The rise of latency, as a factor, from which it is compared with that of the unloaded device.
const MIN_RISE: f64 = 1.5;

/// Appends the sentences on the incidents, the first of which is the main one.
pub(super) fn push_headline(
    incidents: &[PlacedIncident<'_>],
    reports: &[DeviceReport],
    time_of: ChartTime<'_>,
    out: &mut String,
) {
    let Some((main, others)) = incidents.split_first() else { return };
    let report = reports.iter().find(|report| report.device == main.main.event.device);
    let _ = write!(out, "<h1>{}.</h1>", main_sentence(&main.main, report, time_of));
    let details = details(main.main.event);
    if !details.is_empty() {
        let _ = write!(out, "<p class=\"main\">{}.</p>", escape(&details.join(", ")));
    }
    let layers = other_layers(main);
    if !layers.is_empty() {
        let _ = write!(out, "<p class=\"main\">Same incident: {}.</p>", layers.join("; "));
    }
    if !others.is_empty() {
        let named: Vec<String> =
            others.iter().take(MAX_NAMED).map(|incident| short(&incident.main, time_of)).collect();
        let devices: HashSet<&str> = others.iter().map(|incident| &*incident.main.event.device).collect();
        let on_devices = match devices.len() {
            1 => String::new(),
            several => format!(" on {several} devices"),
        };
        let more = others.len().saturating_sub(MAX_NAMED);
        let more = if more > 0 { format!("; {more} more") } else { String::new() };
        let _ = write!(
            out,
            "<p class=\"main\"><a href=\"#events\">{}</a>{on_devices}: {}{more}.</p>",
            counted(others.len() as u64, "other incident"),
            named.join("; ")
        );
    }
}

/// The first sentence, without its period: `loop0 was capped at 2,000 reads/s from 16:04:47 to 16:05:12 (25 s); latency
/// rose from 400 µs (unloaded) to 11.9 ms`.
fn main_sentence(placed: &PlacedEvent<'_>, report: Option<&DeviceReport>, time_of: ChartTime<'_>) -> String {
    let event = placed.event;
    let limit = match (&event.limit, event.verdict) {
        (Some(limit @ EventLimit::Cap(_)), Verdict::Capped) => format!(" at {}", event_limit_text(limit)),
        _ => String::new(),
    };
    let latency = latency_text(event, report).map(|text| format!("; {text}")).unwrap_or_default();
    format!(
        "{} was {}{} {} ({}){}",
        name(&event.label),
        event.verdict.name(),
        escape(&limit),
        range_text(placed, time_of),
        escape(&event_length_text(event)),
        escape(&latency)
    )
}

/// The time of an event: `from 16:04:47 to 16:05:12`, `from before 16:04:14 on`.
fn range_text(placed: &PlacedEvent<'_>, time_of: ChartTime<'_>) -> String {
    let before = if placed.event.begin_is_known { "" } else { "before " };
    let outside = if placed.is_cut(time_of.axis) { ", before the time shown," } else { "" };
    let end = match placed.event.is_ongoing {
        true => "on".to_owned(),
        false => format!("to {}", time_of.axis.end_moment(placed.begin_s, placed.end_s)),
    };
    format!("from {before}{}{outside} {end}", time_of.axis.moment(placed.begin_s))
}

/// The highest latency, compared with that of the unloaded device if it is known.
fn latency_text(event: &Event, report: Option<&DeviceReport>) -> Option<String> {
    let peak = event.peak_latency?;
    let direction = report.and_then(|report| match peak.direction {
        IoDirection::Reads => Some(&report.read),
        IoDirection::Writes => Some(&report.write),
        IoDirection::Both | IoDirection::Flushes => None,
    });
    // A baseline measured under load says nothing about the unloaded device.
    let direction = direction.filter(|direction| direction.saturation.max.is_some());
    let unloaded_ms = direction.and_then(|direction| direction.baseline_await_ms);
    let or_less =
        if direction.is_some_and(|direction| direction.baseline_is_upper_bound) { " or less" } else { "" };
    let rise = unloaded_ms.filter(|unloaded_ms| peak.await_ms >= MIN_RISE * unloaded_ms);
    Some(match rise {
        Some(unloaded_ms) => {
            format!("latency rose from {}{or_less} (unloaded) to {}", time(unloaded_ms), time(peak.await_ms))
        }
        None => format!("latency up to {}", time(peak.await_ms)),
    })
}

/// The rate, the queue, the limit and the cgroup of an event.
fn details(event: &Event) -> Vec<String> {
    let limit = event.limit.as_ref().filter(|limit| {
        // The first sentence contains the other limits.
        event.verdict != Verdict::Capped || matches!(limit, EventLimit::Cgroup(_))
    });
    let details = [
        event.rate.as_ref().map(event_rate_text),
        event_queue_text(event),
        limit.map(|limit| format!("limit {}", event_limit_text(limit))),
        event
            .top_cgroup
            .as_ref()
            .map(|top| format!("{} of the bytes by {}", share_text(top), cgroup_name(&top.path))),
        event_health_text(event),
    ];
    details.into_iter().flatten().collect()
}

/// The other devices of an incident, each once: `vda throttled for 32 s (limit 400 reads/s of db.service on vda)`.
fn other_layers(incident: &PlacedIncident<'_>) -> Vec<String> {
    let others: Vec<&Event> = incident.others.iter().map(|placed| placed.event).collect();
    let texts = other_device_texts(incident.main.event, &others).into_iter();
    texts.map(|(first, text)| format!("{} {}", name(&first.label), escape(&text))).collect()
}

/// Another incident in a few words: `sdb stalled at 16:04:02 (1.0 s)`.
fn short(placed: &PlacedEvent<'_>, time_of: ChartTime<'_>) -> String {
    let event = placed.event;
    let before = if event.begin_is_known { "at" } else { "before" };
    format!(
        "{} {} {before} {} ({})",
        name(&event.label),
        event.verdict.name(),
        time_of.axis.moment(placed.begin_s),
        escape(&event_length_text(event))
    )
}

/// The number of incidents in the table that are not folded.
const OPEN_INCIDENTS: usize = 10;
/// The most events in the table, and below in one incident.
const MAX_ROWS: usize = 300;
const MAX_ROWS_OF_INCIDENT: usize = 20;
/// The classes of cells with numbers, and of cells with names, which may be long.
const NUMBER: &str = " n";
const NAMES: &str = " long";
/// The beginning of the table, with its titles.
const TITLES: &str = "<div class=\"scroll\"><table class=\"events\"><thead><tr><th>#<th>device<th>verdict<th>time<th class=\"n\">for<th class=\"n\">rate\
    <th class=\"n\">peak latency<th class=\"n\">queue<th>limit<th>most bytes</tr></thead><tbody>";

/// Appends the table of all events, those of an incident together. `anchor` returns the anchor of a device's section on
/// the page.
pub(super) fn push_table(
    incidents: &[PlacedIncident<'_>],
    anchor: &dyn Fn(&str) -> Option<usize>,
    time_of: ChartTime<'_>,
    out: &mut String,
) {
    if incidents.is_empty() {
        return;
    }
    let _ = write!(out, "<h2 id=\"events\">Incidents</h2>{TITLES}");
    let (mut rows, mut shown) = (0, 0);
    for (index, incident) in incidents.iter().enumerate() {
        if rows >= MAX_ROWS {
            break;
        }
        if index == OPEN_INCIDENTS {
            let count = counted((incidents.len() - index) as u64, "smaller incident");
            let _ = write!(out, "</tbody></table></div><details><summary>{count}</summary>{TITLES}");
        }
        for (place, placed) in incident.events().take(MAX_ROWS_OF_INCIDENT).enumerate() {
            let number = (place == 0).then_some(index + 1);
            push_row(number, placed, anchor, time_of, out);
            rows += 1;
        }
        let more = incident.others.len() + 1;
        if more > MAX_ROWS_OF_INCIDENT {
            let count = counted((more - MAX_ROWS_OF_INCIDENT) as u64, "more event");
            let _ = write!(out, "<tr class=\"part\"><td><td colspan=\"9\">{count} of this incident</tr>");
        }
        shown += 1;
    }
    out.push_str("</tbody></table></div>");
    if shown > OPEN_INCIDENTS {
        out.push_str("</details>");
    }
    if incidents.len() > shown {
        let _ = write!(out, "<p class=\"note\">and {} smaller incidents</p>", incidents.len() - shown);
    }
}

/// Appends an event: `number` is that of the incident that it leads, `None` if it is part of the one above.
fn push_row(
    number: Option<usize>,
    placed: &PlacedEvent<'_>,
    anchor: &dyn Fn(&str) -> Option<usize>,
    time_of: ChartTime<'_>,
    out: &mut String,
) {
    let event = placed.event;
    let label = name(&event.label);
    let device = match anchor(&event.device) {
        Some(anchor) => format!("<a href=\"#d{anchor}\">{label}</a>"),
        None => label,
    };
    let (class, number) = match number {
        Some(number) => ("", number.to_string()),
        None => (" class=\"part\"", String::new()),
    };
    let verdict = event.verdict.name();
    let or_more = if event.begin_is_known { "" } else { " or more" };
    let _ = write!(
        out,
        "<tr{class} data-from=\"{:.3}\" data-to=\"{:.3}\"><td>{number}<td class=\"device\">{device}<td><span class=\"tag {verdict}\">{verdict}</span><td class=\"time\">{}",
        placed.begin_s,
        placed.end_s,
        keep_numbers_whole(&range(placed, time_of)),
    );
    let queue = event_queue_text(event);
    let cells = [
        ("for", NUMBER, Some(format!("{}{or_more}", duration(event.duration_s)))),
        ("rate", NUMBER, event.rate.as_ref().map(event_rate_text)),
        ("peak", NUMBER, event_latency_text(event)),
        ("queue", NUMBER, queue.map(|text| text.trim_start_matches("queue ").to_owned())),
        ("limit", NAMES, event.limit.as_ref().map(event_limit_text)),
        ("most bytes", NAMES, event.top_cgroup.as_ref().map(top_cgroup_text)),
    ];
    for (label, class, text) in cells {
        match text {
            // A narrow window shows the label instead of the column's title.
            Some(text) => {
                let text = escape(&text);
                let text = if class == NUMBER { keep_numbers_whole(&text) } else { text };
                let _ = write!(out, "<td class=\"l{class}\" data-l=\"{label}\">{text}");
            }
            None => out.push_str("<td>"),
        }
    }
    out.push_str("</tr>");
}

/// Returns the text with spaces that do not break a line, except before a further part: `27.5 ms|of writes`.
fn keep_numbers_whole(text: &str) -> String {
    const NO_BREAK_SPACE: char = '\u{a0}';
    let mut whole = String::with_capacity(2 * text.len());
    for (index, word) in text.split(' ').enumerate() {
        if index > 0 {
            whole.push(if matches!(word, "of" | "or" | "to" | "ongoing") { ' ' } else { NO_BREAK_SPACE });
        }
        whole.push_str(word);
    }
    whole
}

/// The time of an event: `16:04:47 to 16:05:12`, `before 16:04:14, ongoing`.
fn range(placed: &PlacedEvent<'_>, time_of: ChartTime<'_>) -> String {
    let before = if placed.event.begin_is_known { "" } else { "before " };
    let begin = time_of.axis.moment(placed.begin_s);
    match placed.event.is_ongoing {
        true => format!("{before}{begin}, ongoing"),
        false => format!("{before}{begin} to {}", time_of.axis.end_moment(placed.begin_s, placed.end_s)),
    }
}

/// Appends the shades of a device's events, which its charts refer to by `id`.
pub(super) fn push_shades(events: &[&PlacedEvent<'_>], id: &str, time: ChartTime<'_>, out: &mut String) {
    let _ = write!(out, "<svg class=\"defs\" aria-hidden=\"true\"><g id=\"{id}\">");
    for placed in events {
        let (x, end) = (time.axis.x(placed.begin_s), time.axis.x(placed.end_s));
        let width = (end - x).max(1);
        let verdict = placed.event.verdict.name();
        let has_begin = placed.event.begin_is_known && !placed.is_cut(time.axis);
        let begin = if has_begin { format!("M{x} 0v{HEIGHT}") } else { String::new() };
        let _ = write!(
            out,
            "<rect class=\"shade {verdict}\" x=\"{x}\" y=\"0\" width=\"{width}\" height=\"{HEIGHT}\"/><path class=\"edge {verdict}\" d=\"{begin}M{end} 0v{HEIGHT}\"/>"
        );
    }
    out.push_str("</g></svg>");
}
