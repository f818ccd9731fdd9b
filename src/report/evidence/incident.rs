//! An incident in words: the same in every view.

use super::health_evidence_text;
use super::limits::{limit_of_cgroup, plateau_rate};
use crate::analysis::IoDirection;
use crate::attribution::cgroup_name;
use crate::counters::CgroupHierarchy;
use crate::intervals::{Cause, EventEvidence, EventLimit, Incident};
use crate::metrics::Interval;
use crate::report::layout::sentence_numbers::time;
use crate::sanitize::sanitize;

/// The most waiting tasks that are named.
const MAX_NAMED: usize = 2;

/// What is known of an incident, as the parts of a sentence without the victim's name, the most important first; `stats`
/// are those of the victim now: `tenant-a is at its limit of 300 reads/s on vda (blkio.throttle); reads take 53.6 ms, 0.19 ms before;
/// fio(812) waits`.
pub(crate) fn incident_parts(incident: &Incident, stats: Option<&Interval>) -> Vec<String> {
    let parts = [
        incident.cause.as_ref().and_then(|cause| cause_text(cause, incident)),
        stats.and_then(|stats| latency_text(incident, stats)),
        owner_text(incident),
        waiting_text(incident),
    ];
    parts.into_iter().flatten().map(|part| sanitize(&part).into_owned()).collect()
}

/// The cause; `None` if the verdict says as much.
fn cause_text(cause: &Cause, incident: &Incident) -> Option<String> {
    Some(match cause {
        Cause::Limit { limit: EventLimit::Cgroup(limit), .. } => {
            let file = match limit.hierarchy {
                CgroupHierarchy::V2 => "io.max",
                CgroupHierarchy::V1 => "blkio.throttle",
            };
            let value = limit_of_cgroup(limit.kind, limit.value);
            let (name, device) = (cgroup_name(&limit.cgroup), &limit.limited_device);
            format!("{name} is at its limit of {value} on {device} ({file})")
        }
        Cause::Limit { limit: EventLimit::Cap(plateau), device } => {
            format!("{} stays at {}, as at a limit", device.label, plateau_rate(plateau))
        }
        Cause::Health(health) => health_evidence_text(health),
        Cause::DeviceBelow(below) => format!("{} below it is in trouble", below.label),
        Cause::QueuedAbove(below) => {
            format!("requests wait between {} and {}", incident.victim.label, below.join(", "))
        }
        Cause::Evidence(EventEvidence::HungRequests) => "some requests hang while others complete".to_owned(),
        Cause::Evidence(_) => return None,
    })
}

/// The latency of the requests that wait most: `reads take 53.6 ms, 0.19 ms before`.
fn latency_text(incident: &Incident, stats: &Interval) -> Option<String> {
    let requests = incident.requests?;
    let await_ms = match requests {
        IoDirection::Reads => stats.reads.await_ms(),
        IoDirection::Writes => stats.writes.await_ms(),
        IoDirection::Both => stats.reads.beside(&stats.writes).await_ms(),
        IoDirection::Flushes => stats.flushes.await_ms(),
    };
    let before = incident.before_ms.filter(|ms| *ms > 0.0).map(|ms| format!(", {} before", time(ms)));
    Some(format!("{} take {}{}", requests.noun(), time(await_ms?), before.unwrap_or_default()))
}

/// The cgroup that has most of the bytes, unless the limit names it.
fn owner_text(incident: &Incident) -> Option<String> {
    let owner = incident.owner.as_ref().filter(|_| incident.cgroup_limit().is_none())?;
    Some(format!("most bytes by {}", cgroup_name(owner)))
}

fn waiting_text(incident: &Incident) -> Option<String> {
    let waiting = &incident.waiting;
    let named: Vec<String> =
        waiting.iter().take(MAX_NAMED).map(|task| format!("{}({})", task.comm, task.tid)).collect();
    let more = waiting.len() - named.len();
    let more = if more > 0 { format!(" +{more}") } else { String::new() };
    (!named.is_empty()).then(|| format!("{}{more} waiting", named.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attribution::{LimitKind, ReachedLimit};
    use crate::intervals::{DeviceNames, WaitingTask};
    use crate::metrics::Completed;

    #[test]
    fn the_cause_comes_first_then_the_harm() {
        let limit = ReachedLimit {
            cgroup: "/tenant-a".into(),
            limited_device: "vda".into(),
            kind: LimitKind::ReadIops,
            value: 300,
            hierarchy: CgroupHierarchy::V1,
            share_pct: None,
            holds_device: true,
        };
        let device = DeviceNames::without_alias("loop0");
        let limit = Cause::Limit { limit: EventLimit::Cgroup(limit), device: device.clone() };
        let waiting = |tid| WaitingTask { tid, comm: "fio".to_owned() };
        let incident = Incident {
            victim: device,
            requests: Some(IoDirection::Reads),
            before_ms: Some(0.19),
            cause: Some(limit),
            owner: Some("/tenant-a".into()),
            waiting: (1..=3).map(waiting).collect(),
            ..Incident::example()
        };
        let reads = Completed::example(1.0, 300, 53.6);
        let stats = Interval { reads, ..Interval::unknown(1.0) };
        assert_eq!(
            incident_parts(&incident, Some(&stats)).join("; "),
            "/tenant-a is at its limit of 300 reads/s on vda (blkio.throttle); reads take 53.6 ms, 190 \u{b5}s before; \
             fio(1) fio(2) +1 waiting"
        );
        let below = Some(Cause::DeviceBelow(DeviceNames::without_alias("vda")));
        let incident = Incident { cause: below, before_ms: None, waiting: Vec::new(), ..incident };
        assert_eq!(
            incident_parts(&incident, None),
            ["vda below it is in trouble", "most bytes by /tenant-a"]
        );
    }
}
