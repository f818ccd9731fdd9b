//! One order for text and page: the worst incident first, then the devices in the order of theirs.

use super::AnalysisReport;
use crate::analysis::{DeviceReport, Verdict};
use crate::intervals::{Event, Incident};
use std::cmp::Reverse;

/// The incidents, the worst first, by the events that lead them.
pub(in crate::report) fn incidents_worst_first<'a>(report: &AnalysisReport<'a>) -> Vec<&'a Incident> {
    let mut incidents: Vec<&Incident> = report.incidents.iter().collect();
    let lead = |incident: &Incident| &report.events.list[incident.lead];
    incidents.sort_by(|a, b| lead(a).worst_first(lead(b)));
    incidents
}

/// The positions of the devices, the worst first: those of the worst incident, the one that leads it before the others, then
/// those of the next; then those without any, by verdict and latency.
pub(in crate::report) fn devices_worst_first(report: &AnalysisReport<'_>) -> Vec<usize> {
    let in_order = |incident: &'_ Incident| {
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
    let key = |at: &usize| {
        let device = &report.devices[*at];
        let incident = in_trouble.iter().position(|name| *name == device.device);
        (incident.unwrap_or(usize::MAX), Reverse(rank(device.verdict)))
    };
    let latency = |at: &usize| report.devices[*at].all.await_ms.max.unwrap_or(0.0);
    let mut order: Vec<(_, usize)> = (0..report.devices.len()).map(|at| (key(&at), at)).collect();
    order.sort_by(|(a, at), (b, other)| a.cmp(b).then(latency(other).total_cmp(&latency(at))));
    order.into_iter().map(|(_, at)| at).collect()
}

/// The worst verdict of a device's events where it is worse than that on the whole run.
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
