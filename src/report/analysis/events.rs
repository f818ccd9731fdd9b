//! The incidents, one per line, each with its time, so that a line found by a search shows when it was; the order of
//! incidents and devices; and the disks that disappeared.

use std::cmp::Reverse;

use super::AnalysisReport;
use super::times::Times;
use crate::analysis::{DeviceReport, Verdict};
use crate::intervals::IncidentSummary;
use crate::report::evidence::incident_sentence;
use crate::report::layout::sentence_numbers::named;
use crate::sanitize::sanitize;

/// The most incidents that are listed without `--details`.
const MAX_LISTED: usize = 20;

/// The most devices of an incident that are named besides the victim.
const MAX_OTHERS: usize = 4;

/// Appends the incidents in the order of time, if there are several, and the number of those not listed.
pub(super) fn push_incidents(report: &AnalysisReport<'_>, times: &Times<'_>, out: &mut Vec<u8>) {
    if report.events.incidents.len() < 2 {
        return;
    }
    out.push(b'\n');
    let worst = incidents_worst_first(report);
    let listed_count = if report.has_details { worst.len() } else { MAX_LISTED.min(worst.len()) };
    let is_listed =
        |incident: &&IncidentSummary| worst[..listed_count].iter().any(|one| std::ptr::eq(*one, *incident));
    push_line("Incidents", out);
    for incident in report.events.incidents.iter().filter(is_listed) {
        push_line(&incident_line(incident, times), out);
    }
    let milder = worst.len() - listed_count;
    if milder > 0 {
        push_line(&format!("+ {milder} milder or shorter ones (--details lists all)"), out);
    }
    if report.events.dropped > 0 {
        push_line(&format!("+ {} times of trouble were too many to keep", report.events.dropped), out);
    }
}

fn push_line(text: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(text.as_bytes());
    out.push(b'\n');
}

/// An incident as in all views, with the other devices in trouble: `...; also vda, sda1`.
pub(super) fn incident_line(incident: &IncidentSummary, times: &Times<'_>) -> String {
    let sentence = incident_sentence(incident, &times.both(incident.incident.begin, incident.end));
    let others: Vec<String> =
        incident.devices[1..].iter().map(|one| sanitize(&one.names.label).into_owned()).collect();
    match others.is_empty() {
        true => sentence,
        false => format!("{sentence}; also {}", named(&others, MAX_OTHERS, ", ")),
    }
}

/// The incidents, the worst first.
pub(in crate::report) fn incidents_worst_first<'a>(report: &AnalysisReport<'a>) -> Vec<&'a IncidentSummary> {
    let mut incidents: Vec<&IncidentSummary> = report.events.incidents.iter().collect();
    incidents.sort_by(|a, b| a.worst_first(b));
    incidents
}

/// The indices of the devices, the worst first: those of the worst incident, the victim before the others, then
/// those of the next incident; then those without an incident, by verdict, and by latency if they are not ok.
pub(in crate::report) fn devices_worst_first(report: &AnalysisReport<'_>) -> Vec<usize> {
    let in_trouble: Vec<&str> = incidents_worst_first(report)
        .into_iter()
        .flat_map(|incident| incident.devices.iter().map(|one| &*one.names.device))
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

/// The worst verdict on a device in its incidents, if it is worse than the verdict on the whole run.
pub(in crate::report) fn worse_verdict(
    report: &AnalysisReport<'_>,
    device: &DeviceReport,
) -> Option<Verdict> {
    let own = device.verdict.map(Verdict::severity);
    let verdicts = report.events.incidents_of(&device.device).filter_map(|(_, verdict)| Some(verdict?.0));
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
