//! An incident as a sentence: its cause, harm and owner; and what the kernel says is wrong with a device.

use super::{at_limit_text, plateau_rate};
use crate::analysis::{HealthEvidence, IoDirection};
use crate::attribution::{ReachedLimit, cgroup_name};
use crate::counters::{Fact, FactKind, FactValue, Health, SYNC_ACTION, SYNC_COMPLETED, SYNC_SPEED};
use crate::intervals::{Cause, Harm, Incident, IncidentSummary};
use crate::metrics::Interval;
use crate::report::layout::sentence_numbers::{counted, duration, named, number, per_second, queue, time};
use crate::sanitize::sanitize;

/// The most waiting tasks that are named.
const MAX_NAMED: usize = 2;

/// The fraction of an incident without its verdict from which the time of that verdict is given, too.
const MIN_OTHER_FRACTION: f64 = 0.1;

/// An incident as a sentence without a period; `times` are those of its beginning and its end:
/// `loop0 throttled 16:04:47-16:05:12 (25 s): /tenant-a is at its limit of 300 reads/s on vda (blkio.throttle); reads take
/// 53.6 ms, 190 µs before`.
pub(crate) fn incident_sentence(summary: &IncidentSummary, times: &[String; 2]) -> String {
    let victim = sanitize(&summary.incident.victim.label);
    let heading = format!("{victim} {}", incident_heading(summary, times));
    let parts = incident_parts(&summary.incident, &summary.harm);
    if parts.is_empty() { heading } else { format!("{heading}: {}", parts.join("; ")) }
}

/// The verdict on the victim and the time of an incident: `throttled 16:04:47-16:05:12 (25 s)`.
pub(crate) fn incident_heading(summary: &IncidentSummary, times: &[String; 2]) -> String {
    format!(
        "{} {} ({})",
        summary.verdict.name(),
        incident_time_text(summary, times),
        incident_length_text(summary)
    )
}

/// When it was: `16:04:47-16:05:12`, or `since before 16:04:14` if its beginning is not known and it goes on.
pub(crate) fn incident_time_text(summary: &IncidentSummary, [begin, end]: &[String; 2]) -> String {
    match (summary.incident.begin_is_known, summary.is_ongoing) {
        (true, false) => format!("{begin}-{end}"),
        (true, true) => format!("since {begin}"),
        (false, false) => format!("since before {begin}, until {end}"),
        (false, true) => format!("since before {begin}"),
    }
}

/// How long it was, and for how long it had its verdict if that is much shorter: `>41 s, stalled for 3.0 s`.
pub(crate) fn incident_length_text(summary: &IncidentSummary) -> String {
    let duration_s = summary.duration_s();
    let sign = sign_of_begin(&summary.incident);
    let has_other = duration_s - summary.verdict_s >= MIN_OTHER_FRACTION * duration_s;
    let verdict =
        has_other.then(|| format!(", {} for {}", summary.verdict.name(), duration(summary.verdict_s)));
    let ongoing = if summary.is_ongoing { ", ongoing" } else { "" };
    format!("{sign}{}{}{ongoing}", duration(duration_s), verdict.unwrap_or_default())
}

/// The sign before the time for which an incident has lasted: `>` if it may have begun earlier.
pub(crate) fn sign_of_begin(incident: &Incident) -> &'static str {
    if incident.begin_is_known { "" } else { ">" }
}

/// The harm in an interval of the victim, whose rate and queue stand in the same view.
pub(crate) fn present_harm(incident: &Incident, stats: Option<&Interval>) -> Harm {
    let latency_ms = |stats: &Interval| match incident.requests? {
        IoDirection::Reads => stats.reads.await_ms(),
        IoDirection::Writes => stats.writes.await_ms(),
        IoDirection::Both => stats.reads.beside(&stats.writes).await_ms(),
        IoDirection::Flushes => stats.flushes.await_ms(),
    };
    Harm { await_ms: stats.and_then(latency_ms), ..Harm::default() }
}

/// The cause, harm and owner of an incident, as the parts of a sentence without the victim's name, the most important
/// first: `tenant-a is at its limit of 300 reads/s on vda (blkio.throttle); reads take 53.6 ms, 190 µs before; fio(812)
/// waiting`.
pub(crate) fn incident_parts(incident: &Incident, harm: &Harm) -> Vec<String> {
    let parts = [
        incident.cause.as_ref().and_then(|cause| cause_text(cause, incident)),
        latency_text(incident, harm),
        load_text(incident.requests, harm),
        owner_text(incident),
        waiting_text(incident),
    ];
    parts.into_iter().flatten().map(|part| sanitize(&part).into_owned()).collect()
}

/// The cause; `None` if the verdict says as much.
fn cause_text(cause: &Cause, incident: &Incident) -> Option<String> {
    Some(match cause {
        Cause::CgroupLimit(limit) => at_limit_text(limit),
        Cause::Cap { plateau, device } => {
            format!("{} stays at {}, as at a limit", device.label, plateau_rate(plateau))
        }
        Cause::Health(health) => health_evidence_text(health),
        Cause::DeviceBelow(below) => format!("{} below it is in trouble", below.label),
        Cause::QueuedAbove(below) => {
            format!("requests wait between {} and {}", incident.victim.label, below.join(", "))
        }
        Cause::Evidence("hung_requests") => "some requests hang while others complete".to_owned(),
        Cause::Evidence("peers") => "slower than its peers at a like load".to_owned(),
        Cause::Evidence("shared_limit") => "other devices share the limit that it is at".to_owned(),
        Cause::Evidence(_) => return None,
    })
}

/// The latency of the requests that wait most: `reads take 53.6 ms, 190 µs before`; with a limit on the device itself
/// `writes wait before vda counts them`.
fn latency_text(incident: &Incident, harm: &Harm) -> Option<String> {
    let is_own = |limit: &ReachedLimit| limit.limited_device == incident.victim.device;
    if incident.cgroup_limit().is_some_and(is_own) {
        // The device does not count requests while the limit holds them back.
        return Some(format!(
            "{} wait before {} counts them",
            incident.requests?.noun(),
            incident.victim.label
        ));
    }
    let before = incident.before_ms.filter(|ms| *ms > 0.0).map(|ms| format!(", {} before", time(ms)));
    let await_ms = harm.await_ms.filter(|ms| *ms > 0.0)?;
    Some(format!("{} take {}{}", incident.requests?.noun(), time(await_ms), before.unwrap_or_default()))
}

/// The rate of these requests and the queue: `300 reads/s, queue 16.0`, or `24 in flight, none completed`.
fn load_text(requests: Option<IoDirection>, harm: &Harm) -> Option<String> {
    match requests.zip(harm.per_s) {
        Some((requests, per_s)) => {
            let queue = harm.queue.map(|length| format!(", queue {}", queue(length)));
            Some(format!("{}{}", per_second(per_s, requests.noun()), queue.unwrap_or_default()))
        }
        None => harm.queue.map(|in_flight| format!("{in_flight:.0} in flight, none completed")),
    }
}

/// The cgroup that has most of the bytes, unless the limit names it.
fn owner_text(incident: &Incident) -> Option<String> {
    let owner = incident.owner.as_ref().filter(|_| incident.cgroup_limit().is_none())?;
    Some(format!("most bytes by {}", cgroup_name(owner)))
}

fn waiting_text(incident: &Incident) -> Option<String> {
    let tasks: Vec<String> =
        incident.waiting.iter().map(|task| format!("{}({})", task.comm, task.tid)).collect();
    (!tasks.is_empty()).then(|| format!("{} waiting", named(&tasks, MAX_NAMED, " ")))
}

/// Returns the troubles of a device as a sentence without a period: `sdb: 2 timeouts, 5 errors in the last 40 s`. Counts are
/// of the last `counted_s` seconds, or of the time since the device appeared. `None` if nothing is wrong.
pub(crate) fn health_text(device: &str, troubles: &Health, counted_s: Option<f64>) -> Option<String> {
    let counts: Vec<String> = texts(troubles, |kind| kind.errors().is_some());
    let span = counted_s.map(|seconds| format!(" in the last {}", duration(seconds))).unwrap_or_default();
    let counts = (!counts.is_empty()).then(|| format!("{}{span}", counts.join(", ")));
    let states = texts(troubles, |kind| kind.errors().is_none());
    let all: Vec<String> = states.into_iter().chain(counts).collect();
    (!all.is_empty()).then(|| format!("{}: {}", sanitize(device), all.join("; ")))
}

/// Returns the same of a device in trouble, for its evidence.
pub(crate) fn health_evidence_text(evidence: &HealthEvidence) -> String {
    health_text(&evidence.device, &evidence.troubles, Some(evidence.counted_s)).unwrap_or_default()
}

fn texts(troubles: &Health, is_wanted: impl Fn(FactKind) -> bool) -> Vec<String> {
    let wanted = troubles.iter().filter(|(fact, _)| is_wanted(fact.kind));
    wanted.filter_map(|(fact, value)| fact_text(fact, value, troubles)).collect()
}

/// Returns the text of a fact; `None` for one that is only the extent of another.
fn fact_text(fact: &Fact, value: &FactValue, troubles: &Health) -> Option<String> {
    Some(match (fact.kind, value) {
        (FactKind::State(..), FactValue::Word(word)) if fact.name == SYNC_ACTION => sync_text(word, troubles),
        (FactKind::State(noun, _), FactValue::Word(word)) => format!("{noun} is {}", sanitize(word)),
        (FactKind::Trouble("suspended"), _) => "suspended".to_owned(),
        (FactKind::Trouble(noun), FactValue::Number(count)) => counted(*count, noun),
        (kind, FactValue::Number(count)) => counted(*count, kind.errors()?),
        _ => return None,
    })
}

/// Returns the activity of an array: `rebuilding, 43% done, 180 MiB/s`.
fn sync_text(action: &str, troubles: &Health) -> String {
    let action = match action {
        "recover" => "rebuilding".into(),
        "resync" => "resyncing".into(),
        "check" => "being checked".into(),
        "repair" => "being repaired".into(),
        "reshape" => "being reshaped".into(),
        other => sanitize(other),
    };
    let done = troubles.number(SYNC_COMPLETED).map(|percent| format!(", {percent}% done"));
    let speed = troubles.number(SYNC_SPEED).map(|kib| format!(", {} MiB/s", number(kib as f64 / 1024.0)));
    format!("{action}{}{}", done.unwrap_or_default(), speed.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attribution::{LimitKind, ReachedLimit};
    use crate::counters::CgroupHierarchy;
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
        let limit = Cause::CgroupLimit(limit);
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
            incident_parts(&incident, &present_harm(&incident, Some(&stats))).join("; "),
            "/tenant-a is at its limit of 300 reads/s on vda (blkio.throttle); reads take 53.6 ms, 190 \u{b5}s before; \
             fio(1) fio(2) +1 waiting"
        );
        let below = Some(Cause::DeviceBelow(DeviceNames::without_alias("vda")));
        let incident = Incident { cause: below, before_ms: None, waiting: Vec::new(), ..incident };
        assert_eq!(
            incident_parts(&incident, &Harm::default()),
            ["vda below it is in trouble", "most bytes by /tenant-a"]
        );
    }
}

#[cfg(test)]
mod health_tests {
    use super::*;

    fn text(json: &str, counted_s: Option<f64>) -> Option<String> {
        let health: Health = serde_json::from_str(json).unwrap();
        let before = r#"{"errors":0,"timeouts":0,"file_system_errors":0}"#;
        health_text("sdb", &health.troubles(Some(&serde_json::from_str(before).unwrap())), counted_s)
    }

    #[test]
    fn a_sentence_says_what_is_wrong() {
        assert_eq!(
            text(r#"{"suspended":0,"state":"running","errors":0,"commands":9,"sync_action":"idle"}"#, None),
            None
        );
        assert_eq!(text(r#"{"suspended":1}"#, None).as_deref(), Some("sdb: suspended"));
        assert_eq!(
            text(r#"{"errors":5,"timeouts":2,"state":"offline","file_system_errors":1}"#, Some(40.0))
                .as_deref(),
            Some("sdb: state is offline; 2 timeouts, 5 errors, 1 file system error in the last 40 s")
        );
        let rebuild = r#"{"sync_action":"recover","sync_completed_pct":43,"sync_kib_per_s":184320,"missing_members":1}"#;
        assert_eq!(
            text(rebuild, None).as_deref(),
            Some("sdb: rebuilding, 43% done, 180 MiB/s; 1 missing member")
        );
    }

    #[test]
    fn words_of_a_recording_cannot_control_a_terminal() {
        let text = text(r#"{"state":"\u202eon","sync_action":"\u202eon"}"#, None).unwrap();
        assert!(!text.contains('\u{202e}'), "{text}");
    }
}
