//! The first sentences of a page: the main trouble, and the names of other incidents.

use std::collections::HashSet;
use std::fmt::Write;

use super::chart::ChartTime;
use super::escape::{escape, name};
use super::incidents::{PlacedEvent, PlacedIncident};
use crate::analysis::{DeviceReport, IoDirection, Verdict};
use crate::attribution::cgroup_name;
use crate::intervals::{Event, EventLimit};
use crate::report::evidence::{
    event_length_text, event_limit_text, event_queue_text, event_rate_text, other_device_texts, share_text,
};
use crate::report::layout::sentence_numbers::{counted, time};

/// The most other incidents that are named.
const MAX_NAMED: usize = 3;
/// The rise of latency, as a factor, from which it is compared with that of the unloaded device.
const MIN_RISE: f64 = 1.5;

/// Appends the sentences on the incidents, the first of which is the main one.
pub(super) fn push_headline(
    incidents: &[PlacedIncident<'_>],
    reports: &[DeviceReport],
    time_of: ChartTime<'_>,
    out: &mut String,
) {
    let Some((main, others)) = incidents.split_first() else { return };
    let report = reports.iter().find(|report| report.device == main.main.event.device);
    let _ = write!(out, "<h1>{}.</h1>", main_sentence(&main.main, report, time_of));
    let details = details(main.main.event);
    if !details.is_empty() {
        let _ = write!(out, "<p class=\"main\">{}.</p>", escape(&details.join(", ")));
    }
    let layers = other_layers(main);
    if !layers.is_empty() {
        let _ = write!(out, "<p class=\"main\">Same incident: {}.</p>", layers.join("; "));
    }
    if !others.is_empty() {
        let named: Vec<String> =
            others.iter().take(MAX_NAMED).map(|incident| short(&incident.main, time_of)).collect();
        let devices: HashSet<&str> = others.iter().map(|incident| &*incident.main.event.device).collect();
        let on_devices = match devices.len() {
            1 => String::new(),
            several => format!(" on {several} devices"),
        };
        let more = others.len().saturating_sub(MAX_NAMED);
        let more = if more > 0 { format!("; {more} more") } else { String::new() };
        let _ = write!(
            out,
            "<p class=\"main\"><a href=\"#events\">{}</a>{on_devices}: {}{more}.</p>",
            counted(others.len() as u64, "other incident"),
            named.join("; ")
        );
    }
}

/// The first sentence, without its period: `loop0 was capped at 2,000 reads/s from 16:04:47 to 16:05:12 (25 s); latency
/// rose from 400 µs (unloaded) to 11.9 ms`.
fn main_sentence(placed: &PlacedEvent<'_>, report: Option<&DeviceReport>, time_of: ChartTime<'_>) -> String {
    let event = placed.event;
    let limit = match (&event.limit, event.verdict) {
        (Some(limit @ EventLimit::Cap(_)), Verdict::Capped) => format!(" at {}", event_limit_text(limit)),
        _ => String::new(),
    };
    let latency = latency_text(event, report).map(|text| format!("; {text}")).unwrap_or_default();
    format!(
        "{} was {}{} {} ({}){}",
        name(&event.label),
        event.verdict.name(),
        escape(&limit),
        range_text(placed, time_of),
        escape(&event_length_text(event)),
        escape(&latency)
    )
}

/// The time of an event: `from 16:04:47 to 16:05:12`, `from before 16:04:14 on`.
fn range_text(placed: &PlacedEvent<'_>, time_of: ChartTime<'_>) -> String {
    let before = if placed.event.begin_is_known { "" } else { "before " };
    let outside = if placed.is_cut(time_of.axis) { ", before the time shown," } else { "" };
    let end = match placed.event.is_ongoing {
        true => "on".to_owned(),
        false => format!("to {}", time_of.axis.end_moment(placed.begin_s, placed.end_s)),
    };
    format!("from {before}{}{outside} {end}", time_of.axis.moment(placed.begin_s))
}

/// The highest latency, compared with that of the unloaded device if it is known.
fn latency_text(event: &Event, report: Option<&DeviceReport>) -> Option<String> {
    let peak = event.peak_latency?;
    let direction = report.and_then(|report| match peak.direction {
        IoDirection::Reads => Some(&report.read),
        IoDirection::Writes => Some(&report.write),
        IoDirection::Both | IoDirection::Flushes => None,
    });
    // A baseline measured under load says nothing about the unloaded device.
    let direction = direction.filter(|direction| direction.saturation.max.is_some());
    let unloaded_ms = direction.and_then(|direction| direction.baseline_await_ms);
    let or_less =
        if direction.is_some_and(|direction| direction.baseline_is_upper_bound) { " or less" } else { "" };
    let rise = unloaded_ms.filter(|unloaded_ms| peak.await_ms >= MIN_RISE * unloaded_ms);
    Some(match rise {
        Some(unloaded_ms) => {
            format!("latency rose from {}{or_less} (unloaded) to {}", time(unloaded_ms), time(peak.await_ms))
        }
        None => format!("latency up to {}", time(peak.await_ms)),
    })
}

/// The rate, the queue, the limit and the cgroup of an event.
fn details(event: &Event) -> Vec<String> {
    let limit = event.limit.as_ref().filter(|limit| {
        // The first sentence contains the other limits.
        event.verdict != Verdict::Capped || matches!(limit, EventLimit::Cgroup(_))
    });
    let details = [
        event.rate.as_ref().map(event_rate_text),
        event_queue_text(event),
        limit.map(|limit| format!("limit {}", event_limit_text(limit))),
        event
            .top_cgroup
            .as_ref()
            .map(|top| format!("{} of the bytes by {}", share_text(top), cgroup_name(&top.path))),
    ];
    details.into_iter().flatten().collect()
}

/// The other devices of an incident, each once: `vda throttled for 32 s (limit 400 reads/s of db.service on vda)`.
fn other_layers(incident: &PlacedIncident<'_>) -> Vec<String> {
    let others: Vec<&Event> = incident.others.iter().map(|placed| placed.event).collect();
    let texts = other_device_texts(incident.main.event, &others).into_iter();
    texts.map(|(first, text)| format!("{} {}", name(&first.label), escape(&text))).collect()
}

/// Another incident in a few words: `sdb stalled at 16:04:02 (1.0 s)`.
fn short(placed: &PlacedEvent<'_>, time_of: ChartTime<'_>) -> String {
    let event = placed.event;
    let before = if event.begin_is_known { "at" } else { "before" };
    format!(
        "{} {} {before} {} ({})",
        name(&event.label),
        event.verdict.name(),
        time_of.axis.moment(placed.begin_s),
        escape(&event_length_text(event))
    )
}
