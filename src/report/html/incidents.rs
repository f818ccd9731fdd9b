//! The incidents, the worst first, placed on the axis of time: in the first sentences of a page, in its table, and as shades in charts.

use super::escape::{escape, link, name};
use super::scale::HEIGHT;
use super::time_axis::TimeAxis;
use crate::intervals::{History, IncidentSummary};
use crate::report::analysis::{AnalysisReport, incidents_worst_first};
use crate::report::evidence::{
    incident_heading, incident_length_text, incident_parts, incident_time_text, sign_of_begin,
};
use crate::report::layout::sentence_numbers::{counted, duration};
use std::collections::HashSet;

/// An incident with its place in the charts.
pub(super) struct PlacedIncident<'a> {
    pub(super) summary: &'a IncidentSummary,
    begin_s: f64,
    end_s: f64,
}

impl PlacedIncident<'_> {
    /// The times of its beginning and its end.
    fn times(&self, time_of: &TimeAxis<'_>) -> [String; 2] {
        [time_of.moment(self.begin_s), time_of.end_moment(self.begin_s, self.end_s)]
    }
}

/// Returns the incidents, the worst first.
pub(super) fn place_incidents<'a>(
    analysis: &'a AnalysisReport,
    history: &History,
) -> Vec<PlacedIncident<'a>> {
    let placed = |summary: &'a IncidentSummary| {
        let begin_s = history.clock.axis_s(summary.incident.begin.run_s);
        let end_s = history.clock.axis_end_s(summary.end.run_s).max(begin_s);
        PlacedIncident { summary, begin_s, end_s }
    };
    incidents_worst_first(analysis).into_iter().map(placed).collect()
}

/// The most other incidents that are named.
const MAX_NAMED: usize = 3;

/// Appends the sentences on the incidents, the first of which is the main one.
pub(super) fn push_headline(
    main: &PlacedIncident<'_>,
    others: &[PlacedIncident<'_>],
    time_of: &TimeAxis<'_>,
    out: &mut String,
) {
    let victim = name(&main.summary.incident.victim.label);
    let heading = incident_heading(main.summary, &main.times(time_of));
    *out += &format!("<h1>{victim} {}.</h1>", escape(&heading));
    let parts = incident_parts(&main.summary.incident, &main.summary.harm);
    if !parts.is_empty() {
        *out += &format!("<p class=\"main\">{}.</p>", escape(&parts.join("; ")));
    }
    let layers: Vec<String> = main.summary.devices[1..].iter().map(|one| name(&one.names.label)).collect();
    if !layers.is_empty() {
        *out += &format!("<p class=\"main\">Same incident: {}.</p>", layers.join(", "));
    }
    if !others.is_empty() {
        let named: Vec<String> = others.iter().take(MAX_NAMED).map(|one| short(one, time_of)).collect();
        let devices: HashSet<&str> = others.iter().map(|one| &*one.summary.incident.victim.device).collect();
        let on_devices = match devices.len() {
            1 => String::new(),
            several => format!(" on {several} devices"),
        };
        let more = others.len().saturating_sub(MAX_NAMED);
        let more = if more > 0 { format!("; {more} more") } else { String::new() };
        *out += &format!(
            "<p class=\"main\"><a href=\"#events\">{}</a>{on_devices}: {}{more}.</p>",
            counted(others.len() as u64, "other incident"),
            named.join("; ")
        );
    }
}

/// Another incident in a few words: `sdb stalled at 16:04:02 (1.0 s)`.
fn short(placed: &PlacedIncident<'_>, time_of: &TimeAxis<'_>) -> String {
    let incident = &placed.summary.incident;
    let before = if incident.begin_is_known { "at" } else { "before" };
    format!(
        "{} {} {before} {} ({})",
        name(&incident.victim.label),
        placed.summary.verdict.name(),
        time_of.moment(placed.begin_s),
        escape(&incident_length_text(placed.summary))
    )
}

/// The number of incidents in the table that are not folded, and the most in the table.
const OPEN_INCIDENTS: usize = 10;
const MAX_ROWS: usize = 300;
/// The beginning of the table, with its titles.
const TITLES: &str = "<div class=\"scroll\"><table class=\"events\"><thead><tr><th>#<th>device<th>verdict<th>time<th class=\"n\">for<th>why</tr></thead><tbody>";

/// Appends the table of incidents. `anchor` returns the anchor of a device's section on the page.
pub(super) fn push_table(
    incidents: &[PlacedIncident<'_>],
    anchor: &dyn Fn(&str) -> Option<usize>,
    time_of: &TimeAxis<'_>,
    out: &mut String,
) {
    if incidents.is_empty() {
        return;
    }
    *out += &format!("<h2 id=\"events\">Incidents</h2>{TITLES}");
    let shown = incidents.len().min(MAX_ROWS);
    for (index, placed) in incidents[..shown].iter().enumerate() {
        if index == OPEN_INCIDENTS {
            let count = counted((incidents.len() - index) as u64, "smaller incident");
            *out += &format!("</tbody></table></div><details><summary>{count}</summary>{TITLES}");
        }
        let PlacedIncident { summary, begin_s, end_s } = placed;
        let devices = summary.devices.iter().map(|one| link(&one.names.label, anchor(&one.names.device)));
        let devices: Vec<String> = devices.collect();
        let others = match devices.len() {
            1 => String::new(),
            _ => format!(" <small>also {}</small>", devices[1..].join(", ")),
        };
        let verdict = summary.verdict.name();
        let sign = escape(sign_of_begin(&summary.incident));
        *out += &format!(
            "<tr data-from=\"{begin_s:.3}\" data-to=\"{end_s:.3}\"><td>{}<td class=\"device\">{}{others}<td><span class=\"tag {verdict}\">{verdict}</span><td class=\"time\">{}<td class=\"l n\" data-l=\"for\">{sign}{}<td class=\"l long\" data-l=\"why\">{}</tr>",
            index + 1,
            devices[0],
            escape(&incident_time_text(summary, &placed.times(time_of))),
            duration(summary.duration_s()),
            escape(&incident_parts(&summary.incident, &summary.harm).join("; ")),
        );
    }
    out.push_str("</tbody></table></div>");
    if shown > OPEN_INCIDENTS {
        out.push_str("</details>");
    }
    if incidents.len() > shown {
        *out += &format!("<p class=\"note\">and {} smaller incidents</p>", incidents.len() - shown);
    }
}

/// Returns the shades of a device's incidents, which its charts refer to by `id`.
pub(super) fn shades(incidents: &[&PlacedIncident<'_>], id: &str, time: &TimeAxis<'_>) -> String {
    let shade = |placed: &&PlacedIncident<'_>| {
        let (x, end) = (time.x(placed.begin_s), time.x(placed.end_s));
        let width = (end - x).max(1);
        let verdict = placed.summary.verdict.name();
        let has_begin = placed.summary.incident.begin_is_known && placed.begin_s >= time.span().start_s;
        let begin = if has_begin { format!("M{x} 0v{HEIGHT}") } else { String::new() };
        format!(
            "<rect class=\"shade {verdict}\" x=\"{x}\" y=\"0\" width=\"{width}\" height=\"{HEIGHT}\"/><path class=\"edge {verdict}\" d=\"{begin}M{end} 0v{HEIGHT}\"/>"
        )
    };
    let shades: String = incidents.iter().map(shade).collect();
    format!("<svg class=\"defs\" aria-hidden=\"true\"><g id=\"{id}\">{shades}</g></svg>")
}
