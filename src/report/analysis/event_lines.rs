//! The events, one per line, each with its time: a line that is found by searching says when.

use std::borrow::Cow;

use super::AnalysisReport;
use super::times::Times;
use crate::intervals::Event;
use crate::report::evidence::{
    event_length_text, event_limit_text, event_queue_text, event_rate_text, top_cgroup_text,
};
use crate::report::layout::sentence_numbers::time;
use crate::sanitize::sanitize;

/// The incidents that are listed without `--details`.
const MAX_LISTED: usize = 20;

/// The devices of an incident that are named beside the one that leads it.
const MAX_OTHERS: usize = 4;

/// Appends the incidents in the order of time, and how many are not listed.
pub(super) fn push_events(report: &AnalysisReport<'_>, times: &Times<'_>, out: &mut Vec<u8>) {
    if report.incidents.is_empty() {
        return;
    }
    let events = &report.events.list;
    let mut worst: Vec<usize> = (0..report.incidents.len()).collect();
    worst.sort_by(|a, b| {
        let lead = |index: &usize| &events[report.incidents[*index].lead];
        lead(a).worst_first(lead(b))
    });
    let listed_count = if report.has_details { worst.len() } else { MAX_LISTED.min(worst.len()) };
    let mut listed = worst[..listed_count].to_vec();
    listed.sort_unstable();
    push_line("Events", out);
    for index in listed {
        let incident = &report.incidents[index];
        let others: Vec<&Event> = incident.others.iter().map(|other| &events[*other]).collect();
        push_line(&event_line(&events[incident.lead], &others, times), out);
    }
    let milder = worst.len() - listed_count;
    if milder > 0 {
        push_line(&format!("+ {milder} milder or shorter ones (--details lists all)"), out);
    }
    if report.events.dropped > 0 {
        push_line(&format!("+ {} more were too many to keep", report.events.dropped), out);
    }
}

fn push_line(text: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(text.as_bytes());
    out.push(b'\n');
}

/// An event with the devices that were in trouble with it:
/// `loop0 capped 16:04:47-16:05:12 (25 s) 2,000 reads/s, 11.9 ms, queue 24, limit 2,000 reads/s`.
fn event_line(event: &Event, others: &[&Event], times: &Times<'_>) -> String {
    let numbers = [
        event.rate.as_ref().map(event_rate_text),
        peak_latency_text(event),
        event_queue_text(event),
        event.hung_requests.map(|requests| format!("{requests} hung")),
        event.limit.as_ref().map(|limit| format!("limit {}", event_limit_text(limit))),
        (!event.queued_above.is_empty()).then(|| format!("waiting above {}", held_above(event))),
        event.top_cgroup.as_ref().map(top_cgroup_text),
        (!others.is_empty()).then(|| format!("also {}", names(others))),
    ];
    let numbers: Vec<String> = numbers.into_iter().flatten().collect();
    format!(
        "{} {} {} ({}) {}",
        sanitize(&event.label),
        event.verdict.name(),
        time_range(event, times),
        event_length_text(event),
        numbers.join(", ")
    )
}

/// The highest latency of an event, with its direction where that is not the one of the rate: `27.5 ms of writes`.
fn peak_latency_text(event: &Event) -> Option<String> {
    let peak = event.peak_latency?;
    let is_other = event.rate.is_some_and(|rate| rate.direction != peak.direction);
    let direction = if is_other { format!(" of {}", peak.direction.noun()) } else { String::new() };
    Some(format!("{}{direction}", time(peak.await_ms)))
}

/// The time of an event: `16:04:47-16:05:12`, or `since before 16:04:14, until 16:05:12` where its begin is not known.
fn time_range(event: &Event, times: &Times<'_>) -> String {
    if event.begin_is_known {
        return times.range(event.begin, event.end);
    }
    let [begin, end] = times.both(event.begin, event.end);
    format!("since before {begin}, until {end}")
}

/// The devices of other events.
fn names(events: &[&Event]) -> String {
    listed(events.iter().map(|event| event.label.as_str()))
}

/// The devices above which the requests of an event waited.
fn held_above(event: &Event) -> String {
    listed(event.queued_above.iter().map(String::as_str))
}

/// Names of devices, each once.
fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let mut names: Vec<Cow<'_, str>> = names.map(sanitize).collect();
    names.sort();
    names.dedup();
    let more = names.len().saturating_sub(MAX_OTHERS);
    names.truncate(MAX_OTHERS);
    if more > 0 { format!("{} +{more}", names.join(", ")) } else { names.join(", ") }
}
