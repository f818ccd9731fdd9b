//! The events, one per line, each with its time, so that a line found by a search shows when it was; the order of incidents and devices, and the disks that disappeared.

use std::cmp::Reverse;

use super::AnalysisReport;
use super::times::Times;
use crate::analysis::{DeviceReport, Verdict};
use crate::intervals::{Event, IncidentEvents};
use crate::report::evidence::{
    event_health_text, event_latency_text, event_length_text, event_limit_text, event_queue_text,
    event_rate_text, other_device_texts, top_cgroup_text,
};
use crate::sanitize::sanitize;

/// The most incidents that are listed without `--details`.
const MAX_LISTED: usize = 20;

/// The most devices of an incident that are named besides the leading one, and the most other times.
const MAX_OTHERS: usize = 4;

/// Appends the incidents in the order of time, and the number of those not listed.
pub(super) fn push_events(report: &AnalysisReport<'_>, times: &Times<'_>, out: &mut Vec<u8>) {
    if report.events.incidents.is_empty() {
        return;
    }
    let events = &report.events.list;
    let worst = incidents_worst_first(report);
    let listed_count = if report.has_details { worst.len() } else { MAX_LISTED.min(worst.len()) };
    let is_listed =
        |incident: &&IncidentEvents| worst[..listed_count].iter().any(|one| std::ptr::eq(*one, *incident));
    let listed = report.events.incidents.iter().filter(is_listed);
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
        event_health_text(event),
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

/// The incidents, the worst first, by the events that lead them.
pub(in crate::report) fn incidents_worst_first<'a>(report: &AnalysisReport<'a>) -> Vec<&'a IncidentEvents> {
    let mut incidents: Vec<&IncidentEvents> = report.events.incidents.iter().collect();
    let lead = |incident: &IncidentEvents| &report.events.list[incident.lead];
    incidents.sort_by(|a, b| lead(a).worst_first(lead(b)));
    incidents
}

/// The indices of the devices, the worst first: those of the worst incident, the leading one before the others, then
/// those of the next incident; then those without an incident, by verdict, and by latency if they are not ok.
pub(in crate::report) fn devices_worst_first(report: &AnalysisReport<'_>) -> Vec<usize> {
    let in_order = |incident: &'_ IncidentEvents| {
        [incident.lead].into_iter().chain(incident.others.clone()).collect::<Vec<_>>()
    };
    let in_trouble: Vec<&str> = incidents_worst_first(report)
        .into_iter()
        .flat_map(in_order)
        .map(|event| &*report.events.list[event].device)
        .collect();
    // A device without a verdict may be in trouble.
    let rank = |verdict: Option<Verdict>| match verdict {
        Some(verdict) if verdict.severity() > Verdict::AccountingOff.severity() => verdict.severity() + 2,
        None => Verdict::AccountingOff.severity() + 2,
        Some(verdict) => verdict.severity(),
    };
    let is_well = |device: &DeviceReport| matches!(device.verdict, Some(Verdict::Idle | Verdict::Ok));
    let mut order: Vec<(usize, Reverse<u8>, usize)> = (0..report.devices.len())
        .map(|at| {
            let device = &report.devices[at];
            let incident = in_trouble.iter().position(|name| *name == device.device);
            (incident.unwrap_or(usize::MAX), Reverse(rank(device.verdict)), at)
        })
        .collect();
    // Devices that are ok keep their order.
    let latency = |at: usize| {
        let device = &report.devices[at];
        if is_well(device) { 0.0 } else { device.all.await_ms.max.unwrap_or(0.0) }
    };
    order.sort_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)).then(latency(b.2).total_cmp(&latency(a.2))));
    order.into_iter().map(|(_, _, at)| at).collect()
}

/// The worst verdict of a device's events, if it is worse than the verdict on the whole run.
pub(in crate::report) fn worse_event_verdict(
    report: &AnalysisReport<'_>,
    device: &DeviceReport,
) -> Option<Verdict> {
    let own = device.verdict.map(Verdict::severity);
    let of_device = |event: &&Event| event.device == device.device;
    let verdicts = report.events.list.iter().filter(of_device).map(|event| event.verdict);
    let worst = verdicts.max_by_key(|verdict| verdict.severity());
    worst.filter(|worst| own.is_none_or(|own| worst.severity() > own))
}

/// The most departures that are listed without `--details`.
const MAX_DEPARTURES: usize = 5;

/// `sda disappeared at 14:01:27 and was back at 14:02:03.`
pub(in crate::report) fn departure_sentences(report: &AnalysisReport<'_>) -> Vec<String> {
    let times = Times::new(report.clock, report.time_zone);
    let departures = &report.events.departures;
    let listed = if report.has_details { departures.len() } else { MAX_DEPARTURES.min(departures.len()) };
    let sentence = departures[..listed].iter().map(|departure| {
        let (device, at) = (sanitize(&departure.device), times.moment(departure.at));
        match departure.back_at {
            None => format!("{device} disappeared at {at}."),
            Some(back_at) if back_at == departure.at => {
                format!("{device} disappeared and was back at {at}.")
            }
            Some(back_at) => {
                format!("{device} disappeared at {at} and was back at {}.", times.moment(back_at))
            }
        }
    });
    let more = departures.len() - listed;
    let rest = (more > 0).then(|| format!("{more} more times, a disk disappeared (--details lists all)."));
    sentence.chain(rest).collect()
}

#[cfg(test)]
mod tests {
    use super::super::report_of;
    use super::*;

    #[test]
    fn devices_in_trouble_come_first_and_those_that_are_ok_keep_their_order() {
        let device = |name: &str, verdict, max_ms| {
            let mut report = DeviceReport { device: name.into(), verdict, ..DeviceReport::default() };
            report.all.await_ms.max = Some(max_ms);
            report
        };
        let devices = [
            device("sda", Some(Verdict::Ok), 1.0),
            device("sdb", Some(Verdict::Ok), 9.0),
            device("sdc", None, 1.0),
            device("sdd", None, 9.0),
            device("sde", Some(Verdict::Capped), 1.0),
            device("sdf", Some(Verdict::Idle), 5.0),
        ];
        let order = devices_worst_first(&report_of(&devices));
        let names: Vec<&str> = order.into_iter().map(|at| devices[at].device.as_str()).collect();
        assert_eq!(names, ["sde", "sdd", "sdc", "sda", "sdb", "sdf"]);
    }
}
