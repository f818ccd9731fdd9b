//! The common order of text and page: the worst incident first, and the devices in the order of their incidents.

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

/// The indices of the devices, the worst first: those of the worst incident, the leading one before the others, then
/// those of the next incident; then those without an incident, by verdict, and by latency if they are not ok.
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
