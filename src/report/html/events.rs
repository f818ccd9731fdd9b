//! The table of events, and their shades in charts.

use std::fmt::Write;

use super::chart::ChartTime;
use super::escape::{escape, name};
use super::incidents::{PlacedEvent, PlacedIncident};
use super::scale::HEIGHT;
use crate::report::evidence::{
    event_latency_text, event_limit_text, event_queue_text, event_rate_text, top_cgroup_text,
};
use crate::report::layout::sentence_numbers::{counted, duration};

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
