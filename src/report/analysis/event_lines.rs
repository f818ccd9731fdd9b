//! The events, one per line, each with its time, so that a line found by a search shows when it was.

use super::AnalysisReport;
use super::times::Times;
use super::worst_first::incidents_worst_first;
use crate::intervals::{Event, Incident};
use crate::report::evidence::{
    event_latency_text, event_length_text, event_limit_text, event_queue_text, event_rate_text,
    other_device_texts, top_cgroup_text,
};
use crate::sanitize::sanitize;

/// The most incidents that are listed without `--details`.
const MAX_LISTED: usize = 20;

/// The most devices of an incident that are named besides the leading one, and the most other times.
const MAX_OTHERS: usize = 4;

/// Appends the incidents in the order of time, and the number of those not listed.
pub(super) fn push_events(report: &AnalysisReport<'_>, times: &Times<'_>, out: &mut Vec<u8>) {
    if report.incidents.is_empty() {
        return;
    }
    let events = &report.events.list;
    let worst = incidents_worst_first(report);
    let listed_count = if report.has_details { worst.len() } else { MAX_LISTED.min(worst.len()) };
    let is_listed =
        |incident: &&Incident| worst[..listed_count].iter().any(|one| std::ptr::eq(*one, *incident));
    let listed = report.incidents.iter().filter(is_listed);
    push_line("Events", out);
    for incident in listed {
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
        event_latency_text(event),
        event_queue_text(event),
        event.hung_requests.map(|requests| format!("{requests} hung")),
        event.limit.as_ref().map(|limit| format!("limit {}", event_limit_text(limit))),
        (!event.queued_above.is_empty()).then(|| format!("waiting above {}", held_above(event))),
        event.top_cgroup.as_ref().map(top_cgroup_text),
        again_text(event, others, times),
        also_text(event, others),
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

/// The time of an event: `16:04:47-16:05:12`, or `since before 16:04:14, until 16:05:12` if its beginning is not known.
fn time_range(event: &Event, times: &Times<'_>) -> String {
    if event.begin_is_known {
        return times.range(event.begin, event.end);
    }
    let [begin, end] = times.both(event.begin, event.end);
    format!("since before {begin}, until {end}")
}

/// The other times of the device that leads an incident: `again 14:39:00-14:39:07`.
fn again_text(event: &Event, others: &[&Event], times: &Times<'_>) -> Option<String> {
    let again: Vec<String> = others
        .iter()
        .filter(|other| other.device == event.device)
        .map(|other| time_range(other, times))
        .collect();
    (!again.is_empty()).then(|| format!("again {}", shortened(again)))
}

/// The other devices of an incident: `also vda throttled for 21 s (limit 400 reads/s of db.service on vda)`.
fn also_text(event: &Event, others: &[&Event]) -> Option<String> {
    let also: Vec<String> = other_device_texts(event, others)
        .into_iter()
        .map(|(first, text)| format!("{} {text}", sanitize(&first.label)))
        .collect();
    (!also.is_empty()).then(|| format!("also {}", shortened(also)))
}

/// The devices above which the requests of an event waited.
fn held_above(event: &Event) -> String {
    let mut names: Vec<String> = event.queued_above.iter().map(|name| sanitize(name).into_owned()).collect();
    names.sort();
    names.dedup();
    shortened(names)
}

/// The first texts of a list, and the number of the others.
fn shortened(mut texts: Vec<String>) -> String {
    let more = texts.len().saturating_sub(MAX_OTHERS);
    texts.truncate(MAX_OTHERS);
    if more > 0 { format!("{} +{more}", texts.join(", ")) } else { texts.join(", ") }
}
