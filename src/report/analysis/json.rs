//! The result for programs: as one JSON document, in which values that are not known are `null`, field names are stable, and
//! new ones may be added.

use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use super::{AnalysisReport, cause_sentences, host_sentences, link_text, not_the_disk_sentences};
use crate::attribution::{Limit, Program};
use crate::intervals::{Cause, Course, Departure, Event, IncidentSummary, RunClock};
use crate::judge::{DeviceReport, PlateauInRun, QueueByLayer, WaitLocation};
use crate::report::evidence::{explanation_text, incident_parts, limit_name, waiting_tasks};
use crate::report::json_csv::time_text;
use crate::sanitize::json_text;

/// The text of a value.
pub(super) type Json = Box<RawValue>;

pub(super) fn json_of(value: &impl Serialize) -> Json {
    // Text and numbers can always be written.
    to_raw_value(value).unwrap_or_default()
}

/// A list with each value on a line of its own.
pub(super) fn list_in_lines(values: impl Iterator<Item = Json>) -> Json {
    let lines: Vec<String> = values.map(|value| format!("\n{value}")).collect();
    RawValue::from_string(format!("[{}\n]", lines.join(","))).unwrap_or_default()
}

/// The names and values of an object in their order.
macro_rules! fields {
    ($($name:literal: $value:expr),* $(,)?) => {
        &[$(concat!("\"", $name, "\":").to_owned() + json_of(&$value).get()),*]
    };
}

/// An object on one line, with its fields in their order.
macro_rules! object {
    ($($fields:tt)*) => {
        RawValue::from_string(format!("{{{}}}", fields!($($fields)*).join(","))).unwrap_or_default()
    };
}

pub(super) use {fields, object};

/// Appends a document with each field on a line of its own.
pub(super) fn push_document(fields: &[String], out: &mut Vec<u8>) {
    // Strings have no ends of lines.
    for line in format!("{{{}\n}}", fields.join(",\n")).lines() {
        out.extend_from_slice(json_text(line.to_owned()).as_bytes());
        out.push(b'\n');
    }
}

/// Appends the document. Every device and event is on a line of its own, so that a line found by a search is complete.
pub fn json(report: &AnalysisReport, out: &mut Vec<u8>) {
    let events = &report.events;
    let devices = report.devices.iter().map(|one| device(one, report));
    let departures: Vec<Json> = events.departures.iter().map(departure).collect();
    let fields = fields! {
        "devices": list_in_lines(devices),
        "queue_by_layer": report.queue_by_layer.as_ref().map(queue_by_layer),
        "host": report.host,
        "not_the_disk": not_the_disk_sentences(report),
        "host_findings": host_sentences(report),
        "incidents": list_in_lines(events.incidents.iter().map(incident)),
        "events": list_in_lines(events.list.iter().map(event)),
        "dropped_events": events.dropped,
        "dropped_incidents": events.dropped_incidents,
        "disappeared": departures,
    };
    push_document(fields, out);
}

fn device(report: &DeviceReport, whole: &AnalysisReport) -> Json {
    let incidents = whole.events.incident_total(&report.device);
    let clock = &whole.history.clock;
    let plateaus: Vec<Json> = report
        .plateaus
        .iter()
        .map(|one| plateau(one, clock))
        .collect();
    object! {
        "device": report.device,
        "verdict": report.verdict,
        "incidents": incidents.map_or(0, |total| total.count),
        "worst_incident_verdict": incidents.map(|total| total.worst),
        "incident_s": incidents.map_or(0.0, |total| total.seconds),
        "explanation": explanation_text(report),
        "intervals": report.intervals,
        "seconds": report.seconds,
        "busy_intervals": report.busy_intervals,
        "excluded": report.excluded,
        "longest_stall_s": report.longest_stall_s,
        "util_pct": report.util_pct,
        "read": report.read,
        "write": report.write,
        "all": report.all,
        "levels": report.levels,
        "capacity": report.capacity,
        "capacity_by_direction": report.capacity_by_direction,
        "plateaus": plateaus,
        "baseline": report.baseline,
        "other_causes": cause_sentences(report),
    }
}

fn plateau(one: &PlateauInRun, clock: &RunClock) -> Json {
    let plateau = &one.plateau;
    object! {
        "direction": plateau.direction,
        "unit": plateau.unit,
        "iops": plateau.iops,
        "mib_per_s": plateau.mib_per_s,
        "variation": plateau.variation,
        "intervals": one.intervals,
        "seconds": one.seconds,
        "begin": clock.moment(one.begin_s).at.map(time_text),
        "queue_from": plateau.queue_from,
        "queue_to": plateau.queue_to,
        "await_from_ms": plateau.await_from_ms,
        "await_to_ms": plateau.await_to_ms,
        "matches_limit": limit_name(plateau),
    }
}

fn queue_by_layer(queues: &QueueByLayer) -> Json {
    let mut links = Vec::new();
    for link in &queues.links {
        links.push(object! {
            "above": link.above,
            "below": link.below,
            "queued_between": link.queued_between(),
            "bottleneck": link.waiting == WaitLocation::Between,
            "explanation": link_text(link),
        });
    }
    object! { "layers": queues.layers, "links": links }
}

fn departure(departure: &Departure) -> Json {
    object! {
        "device": departure.device,
        "time": departure.at.at.map(time_text),
        "back_at": departure.back_at.and_then(|moment| moment.at).map(time_text),
    }
}

/// An incident, flat, with the fields that lines of the incident view have, too.
fn incident(summary: &IncidentSummary) -> Json {
    let IncidentSummary { incident, harm, .. } = summary;
    let devices: Vec<&str> = summary
        .devices
        .iter()
        .map(|one| &*one.names.device)
        .collect();
    let limit = incident.limit();
    let limit = limit.as_ref();
    let waiting = waiting_tasks(incident);
    object! {
        "incident": incident.id,
        "victim": incident.victim.device,
        "devices": devices.join(","),
        "verdict": summary.verdict,
        "verdict_s": summary.verdict_s,
        "begin": incident.begin.at.map(time_text),
        "begin_known": incident.begin_is_known,
        "end": summary.end.at.filter(|_| !summary.is_ongoing).map(time_text),
        "ongoing": summary.is_ongoing,
        "begin_s": incident.begin.run_s,
        "end_s": summary.end.run_s,
        "cause": incident.cause.as_ref().map(Cause::name),
        "owner": incident.owner,
        "program_pid": incident.program.as_ref().map(|program| program.pid),
        "program": incident.program.as_ref().map(Program::name),
        "requests": incident.requests,
        "await_ms": harm.await_ms,
        "await_before_ms": incident.before_ms,
        "requests_per_s": harm.per_s,
        "queue": harm.queue,
        "waiting_tasks": waiting.join(","),
        "limit_kind": limit.map(Limit::rate_name),
        "limit_value": limit.map(|limit| limit.value),
        "limit_source": limit.map(|limit| limit.source.name()),
        "limit_device": limit.map(|limit| &*limit.device),
        "text": incident_parts(incident, harm).join("; "),
    }
}

/// A time in which one device was in trouble, flat, with the number of its incident.
fn event(event: &Event) -> Json {
    object! {
        "device": event.names.device,
        "label": event.names.label,
        "verdict": event.verdict,
        "begin": event.begin.at.map(time_text),
        "begin_known": event.begin_is_known,
        "end": event.end.at.filter(|_| !event.is_ongoing).map(time_text),
        "ongoing": event.is_ongoing,
        "begin_s": event.begin.run_s,
        "end_s": event.end.run_s,
        "verdict_s": event.verdict_s,
        "course": event.course.iter().map(course).collect::<Vec<_>>().join(", "),
        "incident": event.incident,
    }
}

/// A verdict and its onset.
fn course(course: &Course) -> String {
    match course.begin.at {
        Some(at) => format!("{} {}", course.verdict.name(), time_text(at)),
        None => format!("{} {:.3} s", course.verdict.name(), course.begin.run_s),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::analysis::tests::report_of;

    fn parsed(
        devices: &[DeviceReport],
        queue_by_layer: Option<&QueueByLayer>,
    ) -> (String, serde_json::Value) {
        let mut out = Vec::new();
        let report = AnalysisReport {
            queue_by_layer: queue_by_layer.cloned(),
            ..report_of(devices)
        };
        json(&report, &mut out);
        let text = String::from_utf8(out).unwrap();
        let value = serde_json::from_str(&text).unwrap();
        (text, value)
    }

    #[test]
    fn it_is_one_document_without_control_characters() {
        let hostile = "a\"\\\u{1b}[2J\n\u{7f}\u{9b}\u{202e}";
        let mut report = DeviceReport {
            device: hostile.into(),
            seconds: f64::NAN,
            ..DeviceReport::default()
        };
        report.read.iops.mean = Some(f64::INFINITY);
        let (text, value) = parsed(
            &[report, DeviceReport::default()],
            Some(&QueueByLayer::default()),
        );
        assert!(
            !text.contains(|c: char| c != '\n' && (c.is_control() || c == '\u{202e}')),
            "{text:?}"
        );
        assert_eq!(value["devices"][0]["device"], hostile);
        assert!(
            value["devices"][0]["seconds"].is_null()
                && value["devices"][0]["read"]["iops"]["mean"].is_null()
        );
        assert_eq!(value["queue_by_layer"]["layers"], serde_json::json!([]));
    }

    #[test]
    fn no_devices_are_an_empty_list() {
        let (_, value) = parsed(&[], None);
        assert_eq!(value["devices"], serde_json::json!([]));
        assert!(value["queue_by_layer"].is_null() && value["host"]["blocked"]["mean"].is_null());
    }
}
