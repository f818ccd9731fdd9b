//! The numbers of an event in words.

use super::{limit_of_cgroup, plateau_rate};
use crate::analysis::{IoDirection, RateUnit};
use crate::attribution::cgroup_name;
use crate::intervals::{Event, EventEvidence, EventLimit, EventRate, TopCgroup};
use crate::report::layout::sentence_numbers::{duration, number, per_second, percent, queue, time};
use crate::sanitize::sanitize;

/// The fraction of an event without the worst verdict from which the time of that verdict is given, too.
const MIN_OTHER_FRACTION: f64 = 0.1;

/// The rate of an event: `2,000 reads/s`, `12.0 MiB/s of reads`.
pub(crate) fn event_rate_text(rate: &EventRate) -> String {
    match rate.unit {
        RateUnit::Requests => per_second(rate.per_s, rate.direction.noun()),
        RateUnit::Kib => {
            let direction = match rate.direction {
                IoDirection::Both => String::new(),
                direction => format!(" of {}", direction.noun()),
            };
            format!("{} MiB/s{direction}", number(rate.per_s / 1024.0))
        }
    }
}

/// The queue of an event: `queue 24.0`, or `24 in flight` if nothing completed; `None` if it is not known.
pub(crate) fn event_queue_text(event: &Event) -> Option<String> {
    let mean = event.mean_queue?;
    Some(match event.evidence {
        Some(EventEvidence::NothingCompleted) => {
            format!("{:.0} in flight", event.peak_queue.unwrap_or(mean))
        }
        _ => format!("queue {}", queue(mean)),
    })
}

/// The length of an event, and that of its worst verdict if it is much shorter: `41 s, capped for 31 s`.
pub(crate) fn event_length_text(event: &Event) -> String {
    let other_s = event.duration_s - event.verdict_s;
    let worst = (event.course.len() > 1 && other_s >= MIN_OTHER_FRACTION * event.duration_s)
        .then(|| format!(", {} for {}", event.verdict.name(), duration(event.verdict_s)));
    let ongoing = if event.is_ongoing { ", ongoing" } else { "" };
    let or_more = if event.begin_is_known { "" } else { " or more" };
    format!("{}{or_more}{}{ongoing}", duration(event.duration_s), worst.unwrap_or_default())
}

/// The limit of an event: `3,000 reads/s`, `50 reads/s of db.service on vda`. Names are escaped for terminals.
pub(crate) fn event_limit_text(limit: &EventLimit) -> String {
    match limit {
        EventLimit::Cap(plateau) => plateau_rate(plateau),
        EventLimit::Cgroup(limit) => format!(
            "{} of {} on {}",
            limit_of_cgroup(limit.kind, limit.value),
            sanitize(&cgroup_name(&limit.cgroup)),
            sanitize(&limit.limited_device)
        ),
    }
}

/// The cgroup with most of an event's bytes, with its share: `db.service 97%`. The name is escaped for terminals.
pub(crate) fn top_cgroup_text(top: &TopCgroup) -> String {
    format!("{} {}", sanitize(&cgroup_name(&top.path)), share_text(top))
}

/// The share of a cgroup: `97%` or `at least 17%`.
pub(crate) fn share_text(top: &TopCgroup) -> String {
    let at_least = if top.is_at_least { "at least " } else { "" };
    format!("{at_least}{}", percent(top.share_pct))
}

/// The highest latency of an event, with its direction if that differs from the direction of the rate: `27.5 ms
/// (writes)`.
pub(crate) fn event_latency_text(event: &Event) -> Option<String> {
    let peak = event.peak_latency?;
    let is_other = event.rate.is_some_and(|rate| rate.direction != peak.direction);
    let direction = if is_other { format!(" ({})", peak.direction.noun()) } else { String::new() };
    Some(format!("{}{direction}", time(peak.await_ms)))
}

/// The other devices of an incident, each once, in the order in which their trouble began: the first event of each,
/// with a text like `throttled for 32 s (limit 400 reads/s of db.service on vda)`, with the limit if it differs from
/// that of the leading event.
pub(crate) fn other_device_texts<'a>(lead: &Event, others: &[&'a Event]) -> Vec<(&'a Event, String)> {
    let mut devices: Vec<&Event> = Vec::new();
    for event in others.iter().filter(|event| event.device != lead.device) {
        if !devices.iter().any(|known| known.device == event.device) {
            devices.push(event);
        }
    }
    let lead_limit = lead.limit.as_ref().map(event_limit_text);
    let text = |first: &'a Event| {
        let of_device = || others.iter().filter(|event| event.device == first.device);
        let worst = of_device().max_by_key(|event| event.verdict.severity()).unwrap_or(&first);
        let seconds: f64 = of_device().map(|event| event.duration_s).sum();
        let limit = worst.limit.as_ref().map(event_limit_text);
        let limit = limit.filter(|limit| lead_limit.as_ref() != Some(limit));
        let limit = limit.map(|limit| format!(" (limit {limit})")).unwrap_or_default();
        (first, format!("{} for {}{limit}", worst.verdict.name(), duration(seconds)))
    };
    devices.into_iter().map(text).collect()
}
