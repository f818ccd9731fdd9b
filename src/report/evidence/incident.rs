//! Incidents in words: what, when, why, and who has it.

use super::health_evidence_text;
use super::limits::{at_limit_text, plateau_rate};
use super::remedy::remedy_text;
use crate::attribution::{DeviceUse, Program, cgroup_name};
use crate::counters::WATCHED_WAIT_MS;
use crate::intervals::{Cause, Harm, Incident, IncidentSummary};
use crate::judge::IoDirection;
use crate::metrics::Interval;
use crate::report::layout::sentence_numbers::{duration, named, per_second, queue, time};
use crate::sanitize::sanitize;

/// The most waiting tasks that are named.
const MAX_NAMED: usize = 2;

/// The fraction of an incident without its verdict from which the time of that verdict is given, too.
const MIN_OTHER_FRACTION: f64 = 0.1;

/// An incident as a sentence without a period; `times` are those of its beginning and its end:
/// `loop0 throttled 16:04:47-16:05:12 (25 s): /tenant-a is at its limit of 300 reads/s on vda (blkio.throttle); reads take
/// 53.6 ms (was 190 µs)`.
pub(crate) fn incident_sentence(summary: &IncidentSummary, times: &[String; 2]) -> String {
    let victim = sanitize(&summary.incident.victim.label);
    let heading = format!("{victim} {}", incident_heading(summary, times));
    let parts = incident_parts(&summary.incident, &summary.harm);
    if parts.is_empty() {
        heading
    } else {
        format!("{heading}: {}", parts.join("; "))
    }
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
    let mut text = format!("{sign}{}", duration(duration_s));
    if has_other {
        let (word, seconds) = (summary.verdict.name(), duration(summary.verdict_s));
        text += &format!(", {word} for {seconds}");
    }
    if summary.is_ongoing {
        text += ", ongoing";
    }
    text
}

/// The sign before the time for which an incident has lasted: `>` if it may have begun earlier.
pub(crate) fn sign_of_begin(incident: &Incident) -> &'static str {
    if incident.begin_is_known { "" } else { ">" }
}

/// The harm in an interval of the victim, whose rate and queue stand in the same view.
pub(crate) fn present_harm(incident: &Incident, stats: Option<&Interval>) -> Harm {
    Harm {
        await_ms: stats.and_then(|stats| latency_ms(stats, incident.requests?)),
        ..Harm::default()
    }
}

fn latency_ms(stats: &Interval, requests: IoDirection) -> Option<f64> {
    match requests {
        IoDirection::Reads => stats.reads.await_ms(),
        IoDirection::Writes => stats.writes.await_ms(),
        IoDirection::Both => stats.reads_and_writes().await_ms(),
        IoDirection::Flushes => stats.flushes.await_ms(),
    }
}

/// The cause, harm and owner of an incident, and what to do, as the parts of a sentence without the victim's name, the most important
/// first: `tenant-a is at its limit of 300 reads/s on vda (blkio.throttle); reads take 53.6 ms (was 190 µs); fio(812)
/// waiting`.
pub(crate) fn incident_parts(incident: &Incident, harm: &Harm) -> Vec<String> {
    let cause = incident.cause.as_ref();
    let parts = [
        cause.and_then(|cause| cause_text(cause, incident)),
        harm_text(incident, harm),
        load_text(incident, harm),
        owner_text(incident),
        waiting_text(incident),
        remedy_text(incident),
    ];
    let parts = parts.into_iter().flatten();
    parts.map(|part| sanitize(&part).into_owned()).collect()
}

/// Above this multiple of a constant rate, the rate before it is told.
const CLEARLY_MORE: f64 = 1.5;

/// The cause; `None` if the verdict says as much.
fn cause_text(cause: &Cause, incident: &Incident) -> Option<String> {
    Some(match cause {
        Cause::CgroupLimit(limit) => at_limit_text(limit),
        Cause::Cap { plateau, device } => {
            // Such as that of a volume whose burst credits are spent.
            let before = match incident.before_per_s {
                Some(per_s) if per_s > CLEARLY_MORE * plateau.iops => {
                    format!(" ({} before)", per_second(per_s, plateau.direction.noun()))
                }
                _ => String::new(),
            };
            format!(
                "{} stays at {}{before}, as if limited",
                device.label,
                plateau_rate(plateau)
            )
        }
        Cause::Health(health) => health_evidence_text(health),
        Cause::DeviceBelow(below) => format!("{} below it is in trouble", below.label),
        Cause::QueuedAbove(below) => {
            format!(
                "requests wait between {} and {}",
                incident.victim.label,
                below.join(", ")
            )
        }
        Cause::Evidence("waiting_task") => {
            "a task waits although nothing is in flight, as when the file system is frozen"
                .to_owned()
        }
        Cause::Evidence("hung_requests") => "some requests hang while others complete".to_owned(),
        Cause::Evidence("peers") => "slower than its peers at a like load".to_owned(),
        Cause::Evidence("shared_limit") => "other devices share the limit that it is at".to_owned(),
        Cause::Evidence(_) => return None,
    })
}

/// The latency of the requests that wait most: `reads take 53.6 ms (was 190 µs)`; with a limit on the device itself
/// `writes wait before vda counts them`.
fn harm_text(incident: &Incident, harm: &Harm) -> Option<String> {
    if let Some(limit) = incident.cgroup_limit()
        && *limit.device == *incident.victim.device
    {
        // The device does not count requests while the limit holds them back.
        return Some(format!(
            "{} wait before {} counts them",
            incident.requests?.noun(),
            incident.victim.label
        ));
    }
    // Less is no harm.
    const CLEARLY_LONGER: f64 = 1.2;
    let await_ms = harm.await_ms.filter(|ms| *ms > 0.0)?;
    let before = match incident.before_ms {
        Some(ms) if ms > 0.0 && await_ms >= CLEARLY_LONGER * ms => format!(" (was {})", time(ms)),
        _ => String::new(),
    };
    let (noun, latency) = (incident.requests?.noun(), time(await_ms));
    Some(format!("{noun} take {latency}{before}"))
}

/// The rate of these requests, unless it is that of the limit that the cause names, and the queue: `300 reads/s, queue 16.0`, or
/// `24 in flight, none completed`.
fn load_text(incident: &Incident, harm: &Harm) -> Option<String> {
    let Some((requests, per_s)) = incident.requests.zip(harm.per_s) else {
        // A suspended volume holds requests back before they are counted.
        return match harm.queue? {
            0.0 => Some("none completed".to_owned()),
            in_flight => Some(format!("{in_flight:.0} in flight, none completed")),
        };
    };
    let mut parts = Vec::new();
    if incident.limit().is_none() {
        parts.push(per_second(per_s, requests.noun()));
    }
    if let Some(length) = harm.queue {
        parts.push(format!("queue {}", queue(length)));
    }
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// The cgroup and the program that have most of the bytes: `most bytes by backup.service: tar cf - /data (812) and 3 more`.
/// A limit that is the cause names its cgroup itself.
fn owner_text(incident: &Incident) -> Option<String> {
    if incident.cgroup_limit().is_some() {
        return None;
    }
    most_bytes_text(incident.owner.as_deref(), incident.program.as_ref())
}

/// The cgroup and the program with most of the bytes of a device in this time; `None` if nobody has half of them.
pub(crate) fn user_text(usage: &DeviceUse) -> Option<String> {
    let owner = usage.loading_cgroup();
    most_bytes_text(owner.map(|owner| &*owner.path), usage.loading_program(None))
}

fn most_bytes_text(owner: Option<&str>, program: Option<&Program>) -> Option<String> {
    // Everything may be in the root of the hierarchy: its name says nothing.
    let mut names = Vec::new();
    if let Some(path) = owner
        && path != "/"
    {
        names.push(cgroup_name(path));
    }
    names.extend(program.map(program_text));
    if names.is_empty() {
        return None;
    }
    Some(format!("most bytes by {}", names.join(": ")))
}

/// A program by its busiest process: `'tar cf - /data' (812) and 3 more`.
pub(crate) fn program_text(program: &Program) -> String {
    let process = process_text(program.command.as_deref(), &program.comm, program.pid);
    match program.process_count {
        0 | 1 => process,
        count => format!("{process} and {} more", count - 1),
    }
}

/// A process or task by its command line, quoted where that has several words, or else by its name: `'tar cf - /data' (812)`
/// or `tar (812)`.
pub(crate) fn process_text(command: Option<&str>, comm: &str, number: u32) -> String {
    let name = sanitize(command.unwrap_or(comm));
    match (name.contains(' '), name.contains('\'')) {
        (false, _) => format!("{name} ({number})"),
        (true, false) => format!("'{name}' ({number})"),
        (true, true) => format!("\"{name}\" ({number})"),
    }
}

fn waiting_text(incident: &Incident) -> Option<String> {
    let tasks = waiting_tasks(incident);
    (!tasks.is_empty()).then(|| format!("waiting: {}", named(&tasks, MAX_NAMED, ", ")))
}

/// The tasks that wait: `fio (812)`, or with what is known of them `'postgres: app db SELECT' (812) for 12 s`.
pub(crate) fn waiting_tasks(incident: &Incident) -> Vec<String> {
    let mut texts = Vec::new();
    for task in &incident.waiting {
        let mut text = process_text(task.command.as_deref(), &task.comm, task.tid);
        if task.waited_ms >= WATCHED_WAIT_MS {
            text += &format!(" for {}", duration(task.waited_ms as f64 / 1000.0));
        }
        texts.push(text);
    }
    texts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attribution::Limit;
    use crate::attribution::LimitSource;
    use crate::counters::CgroupHierarchy;
    use crate::intervals::{DeviceNames, WaitingTask};
    use crate::judge::RateUnit;
    use crate::metrics::Completed;

    #[test]
    fn the_cause_comes_first_then_the_harm() {
        let limit = Limit {
            owner: Some("/tenant-a".into()),
            device: "vda".into(),
            direction: IoDirection::Reads,
            unit: RateUnit::Requests,
            value: 300.0,
            source: LimitSource::Cgroup(CgroupHierarchy::V1),
        };
        let device = DeviceNames::without_alias("loop0");
        let limit = Cause::CgroupLimit(limit);
        let waiting = |tid| WaitingTask {
            tid,
            comm: "fio".to_owned(),
            command: (tid == 2).then(|| "fio --name=a".into()),
            waited_ms: 1000 * u64::from(tid - 1),
        };
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
        let stats = Interval {
            reads,
            ..Interval::unknown(1.0)
        };
        assert_eq!(
            incident_parts(&incident, &present_harm(&incident, Some(&stats))).join("; "),
            "/tenant-a is at its limit of 300 reads/s on vda (blkio.throttle); reads take 53.6 ms (was 190 \u{b5}s); \
             waiting: fio (1), 'fio --name=a' (2) for 1.0 s +1; raise it in blkio.throttle.read_iops_device of /tenant-a, or read less"
        );
        let below = Some(Cause::DeviceBelow(DeviceNames::without_alias("vda")));
        let incident = Incident {
            cause: below,
            before_ms: None,
            waiting: Vec::new(),
            ..incident
        };
        assert_eq!(
            incident_parts(&incident, &Harm::default()),
            ["vda below it is in trouble", "most bytes by /tenant-a"]
        );
    }
}
