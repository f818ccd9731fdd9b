//! Incidents in words: what, when, why, and who has it. All views have their sentences from here.

use super::limits::{at_limit_text, limit_value};
use super::remedy::advice_text;
use crate::attribution::{DeviceUse, Limit, Program, RateUnit, cgroup_name};
use crate::incidents::{Because, Cause, Owner, Told, Unknown, Waiter};
use crate::judge::Verdict;
use crate::report::layout::sentence_numbers::{duration, mib, number, per_second, queue, time};
use crate::sanitize::sanitize;

/// The fraction of an incident without its word from which the time of that word is given, too.
const MIN_OTHER_FRACTION: f64 = 0.1;
/// A rise below this is not told, in KiB per second.
const MIN_RISE_KIB: f64 = 100.0;
/// A latency of a smaller multiple of that before is no longer.
const CLEARLY_LONGER: f64 = 1.2;
/// Above this multiple of a constant rate, the rate before it is told.
const CLEARLY_MORE: f64 = 1.5;

/// An incident as a sentence without a period; `times` are those of its beginning and its end:
/// `loop0 throttled 16:04:47-16:05:12 (25 s): /tenant-a is at its limit of 300 reads/s on vda (blkio.throttle); reads take
/// 53.6 ms (was 190 µs)`.
pub(crate) fn incident_sentence(told: &Told, times: &[String; 2]) -> String {
    let victim = sanitize(&told.victim.label);
    let parts = incident_parts(told).join("; ");
    format!("{victim} {}: {parts}", incident_heading(told, times))
}

/// The word for an incident and its time: `throttled 16:04:47-16:05:12 (25 s)`.
pub(crate) fn incident_heading(told: &Told, times: &[String; 2]) -> String {
    format!(
        "{} {} ({})",
        told.word.name(),
        incident_time_text(told, times),
        incident_length_text(told)
    )
}

/// When it was: `16:04:47-16:05:12`, or `since before 16:04:14` if its beginning is not known and it goes on.
pub(crate) fn incident_time_text(told: &Told, [begin, end]: &[String; 2]) -> String {
    match (told.begin_is_known, told.is_ongoing) {
        (true, false) => format!("{begin}-{end}"),
        (true, true) => format!("since {begin}"),
        (false, false) => format!("since before {begin}, until {end}"),
        (false, true) => format!("since before {begin}"),
    }
}

/// How long it was, and for how long the victim was in trouble if that is much shorter: `>41 s, 30 s of it in trouble`.
pub(crate) fn incident_length_text(told: &Told) -> String {
    let duration_s = told.duration_s();
    let mut text = format!("{}{}", sign_of_begin(told), duration(duration_s));
    if duration_s - told.bad_s >= MIN_OTHER_FRACTION * duration_s && told.word != Verdict::Stalled {
        text += &format!(", {} of it in trouble", duration(told.bad_s));
    }
    if told.is_ongoing {
        text += ", ongoing";
    }
    text
}

/// The sign before the time for which an incident has lasted: `>` if it may have begun earlier.
pub(crate) fn sign_of_begin(told: &Told) -> &'static str {
    if told.begin_is_known { "" } else { ">" }
}

/// The cause, harm and owner of an incident, who waits, and what to do, as the parts of a sentence without the victim's name, the
/// most important first.
pub(crate) fn incident_parts(told: &Told) -> Vec<String> {
    let parts = [
        cause_text(told),
        harm_text(told),
        unknown_text(told),
        waiting_text(told),
        advice_text(told),
    ];
    let parts = parts.into_iter().flatten();
    parts.map(|part| sanitize(&part).into_owned()).collect()
}

/// The cause; `None` if it is not known.
fn cause_text(told: &Told) -> Option<String> {
    let bottleneck = &told.bottleneck.label;
    let at_bottleneck = if told.bottleneck == told.victim {
        String::new()
    } else {
        format!(" at {bottleneck}")
    };
    let owner = told.owner.as_ref();
    Some(match &told.cause {
        Cause::Limit(limit) if told.others_wait => at_limit_text(limit),
        Cause::Limit(limit) => format!("{}; nobody else waits", at_limit_text(limit)),
        Cause::Suspended(device) => format!("{device} is suspended"),
        Cause::Stall => format!("{:.0} in flight{at_bottleneck}, none completed", told.queue.max(1.0)),
        Cause::Frozen => "a task waits and nothing is in flight: its file system is frozen, or its server does not answer".to_owned(),
        Cause::Sync(array) => format!("{array} is being checked or rebuilt"),
        Cause::Swap => format!("swapping{}", by_text(owner)),
        Cause::Load => owner.map_or(String::new(), |owner| load_text(owner, &at_bottleneck)),
        Cause::Less => format!(
            "{bottleneck} does less than before ({}, was {}), and no load rose",
            per_second(told.iops, "requests"),
            number(told.iops_before.unwrap_or_default())
        ),
        Cause::Unknown(_) => return None,
        Cause::Capped(limit) => capped_text(told, limit.as_ref()),
        Cause::Cpu => "no CPU was available, and few requests waited: not the disk first".to_owned(),
        Cause::Used => format!("in use all the time{}", by_text(owner)),
    })
}

/// `loop0 stays at 3,000 reads/s (was 9,100), as if limited, under the load of fio of batch.service`.
fn capped_text(told: &Told, limit: Option<&Limit>) -> String {
    let rate = limit.map_or("a constant rate".to_owned(), limit_value);
    let before = match (limit, told.iops_before) {
        (Some(limit), Some(before))
            if limit.unit == RateUnit::Requests && before > CLEARLY_MORE * limit.value =>
        {
            format!(" (was {})", number(before))
        }
        _ => String::new(),
    };
    let owner = match &told.owner {
        Some(owner) => format!(", under the load of {}", owner_name(owner)),
        None => String::new(),
    };
    format!(
        "{} stays at {rate}{before}, as if limited{owner}",
        told.bottleneck.label
    )
}

fn by_text(owner: Option<&Owner>) -> String {
    owner.map_or(String::new(), |owner| format!(" by {}", owner_name(owner)))
}

/// `dd of backup.service began: its bytes on the device rose by 815 MiB/s at vda`.
fn load_text(owner: &Owner, at_bottleneck: &str) -> String {
    let name = owner_name(owner);
    if owner.is_by_share {
        return format!(
            "{name}: it has most of the bytes; what was before is not known{at_bottleneck}"
        );
    }
    let because = match owner.because {
        Because::DeviceBytes => "its bytes on the device rose",
        Because::ProcessBytes => "its bytes rose",
        Because::Newcomer => "waits on the device since then, not before",
    };
    let rise = if owner.rise_kib_per_s > MIN_RISE_KIB {
        format!(" by {}/s", mib(owner.rise_kib_per_s))
    } else {
        String::new()
    };
    format!("{name} began: {because}{rise}{at_bottleneck}")
}

/// The owner of a load: `dd of backup.service`, `fio of alpha.service, beta.service`.
pub(crate) fn owner_name(owner: &Owner) -> String {
    // Everything may be in the root of the hierarchy: its name says nothing.
    let cgroups: Vec<String> = owner
        .cgroups
        .iter()
        .filter(|path| &***path != "/")
        .map(|path| cgroup_name(path))
        .collect();
    match (&owner.program, cgroups.is_empty()) {
        (Some(program), true) => program.to_string(),
        (Some(program), false) => format!("{program} of {}", cgroups.join(", ")),
        (None, true) => "the root cgroup".to_owned(),
        (None, false) => cgroups.join(", "),
    }
}

/// Why it is not known who makes the load; `None` if it is, or if nothing of the kind was read at all.
fn unknown_text(told: &Told) -> Option<String> {
    let why = match told.cause {
        Cause::Unknown(Unknown::NotRead) => "cgroups and processes were not read in time",
        Cause::Unknown(Unknown::NoRise) => "no load rose",
        _ => return None,
    };
    Some(format!("who makes the load is not known ({why})"))
}

/// The latency of the requests that wait most, and the queue: `reads take 53.6 ms (was 190 µs), queue 16.0`.
fn harm_text(told: &Told) -> Option<String> {
    let requests = told
        .requests
        .filter(|_| told.word != Verdict::Stalled)?
        .noun();
    if let Cause::Limit(limit) = &told.cause
        && *limit.device == *told.victim.device
    {
        // The device does not count requests while the limit holds them back.
        return Some(format!(
            "{requests} wait before {} counts them",
            told.victim.label
        ));
    }
    let await_ms = told.await_ms.filter(|ms| *ms > 0.0)?;
    let before = match told.await_before_ms {
        Some(ms) if ms > 0.0 && await_ms >= CLEARLY_LONGER * ms => format!(" (was {})", time(ms)),
        _ => String::new(),
    };
    Some(format!(
        "{requests} take {}{before}, queue {}",
        time(await_ms),
        queue(told.queue)
    ))
}

fn waiting_text(told: &Told) -> Option<String> {
    let waits = waiting_names(told);
    (!waits.is_empty()).then(|| format!("waiting: {}", waits.join(", ")))
}

/// The programs that wait: `postgres: client of postgresql.service`.
pub(crate) fn waiting_names(told: &Told) -> Vec<String> {
    let name = |Waiter { program, cgroup }: &Waiter| match cgroup.as_deref() {
        None | Some("/") => program.to_string(),
        Some(path) => format!("{program} of {}", cgroup_name(path)),
    };
    told.waits.iter().map(name).collect()
}

/// The cgroup and the program with most of the bytes of a device in this time: `most bytes by backup.service: tar cf - /data (812)`;
/// `None` if nobody has half of them.
pub(crate) fn user_text(usage: &DeviceUse) -> Option<String> {
    let mut names = Vec::new();
    if let Some(owner) = usage.loading_cgroup()
        && &*owner.path != "/"
    {
        names.push(cgroup_name(&owner.path));
    }
    names.extend(usage.loading_program(None).map(program_text));
    (!names.is_empty()).then(|| format!("most bytes by {}", names.join(": ")))
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
