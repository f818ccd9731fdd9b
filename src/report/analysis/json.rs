//! The result for programs: as one JSON document, in which values that are not known are `null`, field names are stable, and
//! new ones may be added.

use serde::Serialize;

use super::{AnalysisReport, cause_sentences, host_sentences, link_text, not_the_disk_sentences};
use crate::attribution::Limit;
use crate::intervals::{Cause, Course, Departure, Event, IncidentSummary, RunClock};
use crate::judge::{DeviceReport, LayerLink, PlateauInRun, QueueByLayer, WaitLocation};
use crate::report::evidence::{explanation_text, incident_parts, limit_name};
use crate::report::json_csv::time_text;
use crate::sanitize::json_text;

/// Appends the document. Every device and event is on a line of its own, so that a line found by a search is complete.
pub fn json(report: &AnalysisReport, out: &mut Vec<u8>) {
    let (events, incidents) = (&report.events.list, &report.events.incidents);
    let document = Object::document()
        .lines(
            "devices",
            report.devices.iter().map(|one| device(one, report)),
        )
        .object(
            "queue_by_layer",
            report.queue_by_layer.as_ref().map(queue_by_layer),
        )
        .field("host", &report.host)
        .field("not_the_disk", not_the_disk_sentences(report))
        .field("host_findings", host_sentences(report))
        .lines("incidents", incidents.iter().map(incident))
        .lines("events", events.iter().map(event))
        .field("dropped_events", report.events.dropped)
        .list(
            "disappeared",
            report.events.departures.iter().map(departure),
        );
    out.extend_from_slice(document.text().as_bytes());
}

/// A JSON object with its fields in the order in which they are added.
pub(super) struct Object {
    text: String,
    separator: &'static str,
    end: &'static str,
}

impl Object {
    /// Begins an object on one line.
    pub(super) fn new() -> Self {
        Self {
            text: "{".to_owned(),
            separator: ",",
            end: "}",
        }
    }

    /// Begins a document with its fields on lines of their own.
    pub(super) fn document() -> Self {
        Self {
            separator: ",\n",
            end: "\n}\n",
            ..Self::new()
        }
    }

    pub(super) fn field(self, name: &str, value: impl Serialize) -> Self {
        // Text and numbers can always be written.
        let text = serde_json::to_string(&value).unwrap_or_else(|_| "null".to_owned());
        self.push(name, &json_text(text))
    }

    pub(super) fn object(self, name: &str, object: Option<Self>) -> Self {
        let text = object.map_or_else(|| "null".to_owned(), Self::text);
        self.push(name, &text)
    }

    pub(super) fn list(self, name: &str, objects: impl Iterator<Item = Self>) -> Self {
        let texts: Vec<String> = objects.map(Self::text).collect();
        self.push(name, &format!("[{}]", texts.join(",")))
    }

    /// Adds a list with each object on a line of its own.
    pub(super) fn lines(self, name: &str, objects: impl Iterator<Item = Self>) -> Self {
        let texts: Vec<String> = objects
            .map(|object| format!("\n{}", object.text()))
            .collect();
        self.push(name, &format!("[{}\n]", texts.join(",")))
    }

    fn push(mut self, name: &str, value: &str) -> Self {
        let separator = if self.text.len() > 1 {
            self.separator
        } else {
            ""
        };
        self.text += &format!("{separator}\"{name}\":{value}");
        self
    }

    pub(super) fn text(self) -> String {
        self.text + self.end
    }
}

fn device(report: &DeviceReport, whole: &AnalysisReport) -> Object {
    let incidents = whole.events.incident_total(&report.device);
    let plateaus = report.plateaus.iter();
    Object::new()
        .field("device", &report.device)
        .field("verdict", report.verdict)
        .field("incidents", incidents.map_or(0, |total| total.count))
        .field("worst_incident_verdict", incidents.map(|total| total.worst))
        .field("incident_s", incidents.map_or(0.0, |total| total.seconds))
        .field("explanation", explanation_text(report))
        .field("intervals", report.intervals)
        .field("seconds", report.seconds)
        .field("busy_intervals", report.busy_intervals)
        .field("excluded", report.excluded)
        .field("longest_stall_s", report.longest_stall_s)
        .field("util_pct", report.util_pct)
        .field("read", report.read)
        .field("write", report.write)
        .field("all", report.all)
        .field("levels", &report.levels)
        .field("capacity", report.capacity)
        .field("capacity_by_direction", report.capacity_by_direction)
        .list(
            "plateaus",
            plateaus.map(|one| plateau(one, &whole.history.clock)),
        )
        .field("baseline", &report.baseline)
        .field("other_causes", cause_sentences(report))
}

fn plateau(one: &PlateauInRun, clock: &RunClock) -> Object {
    let plateau = &one.plateau;
    Object::new()
        .field("direction", plateau.direction)
        .field("unit", plateau.unit)
        .field("iops", plateau.iops)
        .field("mib_per_s", plateau.mib_per_s)
        .field("variation", plateau.variation)
        .field("intervals", one.intervals)
        .field("seconds", one.seconds)
        .field("begin", clock.moment(one.begin_s).at.map(time_text))
        .field("queue_from", plateau.queue_from)
        .field("queue_to", plateau.queue_to)
        .field("await_from_ms", plateau.await_from_ms)
        .field("await_to_ms", plateau.await_to_ms)
        .field("matches_limit", limit_name(plateau))
}

fn queue_by_layer(queues: &QueueByLayer) -> Object {
    let link = |link: &LayerLink| {
        Object::new()
            .field("above", &link.above)
            .field("below", &link.below)
            .field("queued_between", link.queued_between())
            .field("bottleneck", link.waiting == WaitLocation::Between)
            .field("explanation", link_text(link))
    };
    Object::new()
        .field("layers", &queues.layers)
        .list("links", queues.links.iter().map(link))
}

fn departure(departure: &Departure) -> Object {
    Object::new()
        .field("device", &departure.device)
        .field("time", departure.at.at.map(time_text))
        .field(
            "back_at",
            departure
                .back_at
                .and_then(|moment| moment.at)
                .map(time_text),
        )
}

/// An incident, flat, with the fields that lines of the incident view have, too.
fn incident(summary: &IncidentSummary) -> Object {
    let IncidentSummary { incident, harm, .. } = summary;
    let devices: Vec<&str> = summary
        .devices
        .iter()
        .map(|one| &*one.names.device)
        .collect();
    let limit = incident.limit();
    let waiting: Vec<String> = incident
        .waiting
        .iter()
        .map(|task| format!("{}({})", task.comm, task.tid))
        .collect();
    Object::new()
        .field("incident", incident.id)
        .field("victim", &incident.victim.device)
        .field("devices", devices.join(","))
        .field("verdict", summary.verdict)
        .field("verdict_s", summary.verdict_s)
        .field("begin", incident.begin.at.map(time_text))
        .field("begin_known", incident.begin_is_known)
        .field(
            "end",
            summary
                .end
                .at
                .filter(|_| !summary.is_ongoing)
                .map(time_text),
        )
        .field("ongoing", summary.is_ongoing)
        .field("begin_s", incident.begin.run_s)
        .field("end_s", summary.end.run_s)
        .field("cause", incident.cause.as_ref().map(Cause::name))
        .field("owner", &incident.owner)
        .field("requests", incident.requests)
        .field("await_ms", harm.await_ms)
        .field("await_before_ms", incident.before_ms)
        .field("requests_per_s", harm.per_s)
        .field("queue", harm.queue)
        .field("waiting_tasks", waiting.join(","))
        .field("limit_kind", limit.as_ref().map(Limit::rate_name))
        .field("limit_value", limit.as_ref().map(|limit| limit.value))
        .field(
            "limit_source",
            limit.as_ref().map(|limit| limit.source.name()),
        )
        .field("limit_device", limit.as_ref().map(|limit| &*limit.device))
        .field("text", incident_parts(incident, harm).join("; "))
}

/// A time in which one device was in trouble, flat, with the number of its incident.
fn event(event: &Event) -> Object {
    Object::new()
        .field("device", &event.names.device)
        .field("label", &event.names.label)
        .field("verdict", event.verdict)
        .field("begin", event.begin.at.map(time_text))
        .field("begin_known", event.begin_is_known)
        .field(
            "end",
            event.end.at.filter(|_| !event.is_ongoing).map(time_text),
        )
        .field("ongoing", event.is_ongoing)
        .field("begin_s", event.begin.run_s)
        .field("end_s", event.end.run_s)
        .field("verdict_s", event.verdict_s)
        .field(
            "course",
            event
                .course
                .iter()
                .map(course)
                .collect::<Vec<_>>()
                .join(", "),
        )
        .field("incident", event.incident)
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
