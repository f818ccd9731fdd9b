//! The result for programs: as one JSON document, in which values that are not known are `null`, field names are stable, and
//! new ones may be added.

use anyhow::Result;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use super::{
    AnalysisReport, cause_sentences, host_fact_sentences, host_sentences, link_text,
    not_the_disk_sentences,
};
use crate::attribution::Limit;
use crate::incidents::{Because, DeviceTimes, Told};
use crate::intervals::{Departure, RunClock};
use crate::judge::{DeviceReport, PlateauInRun, QueueByLayer, WaitLocation};
use crate::report::evidence::{explanation_text, incident_parts, limit_name, waiting_names};
use crate::report::json_csv::{owner_paths, time_text};
use crate::sanitize::json_text;

/// The text of a value.
type Json = Box<RawValue>;

fn json_of(value: &impl Serialize) -> Json {
    // Text and numbers can always be written.
    to_raw_value(value).unwrap_or_default()
}

/// An object on one line, with its fields in their order.
macro_rules! object {
    ($($name:literal: $value:expr),* $(,)?) => {{
        let fields = [$(concat!("\"", $name, "\":").to_owned() + json_of(&$value).get()),*];
        RawValue::from_string(format!("{{{}}}", fields.join(","))).unwrap_or_default()
    }};
}

/// Shows a line of a document.
type Show<'a> = &'a mut dyn FnMut(&mut Vec<u8>) -> Result<()>;

/// A document with each field on a line of its own. Each line is shown when it is complete: the document of many devices is large.
struct Document<'a> {
    show: Show<'a>,
    line: String,
}

impl<'a> Document<'a> {
    fn new(show: Show<'a>) -> Self {
        let line = String::new();
        Self { show, line }
    }

    fn field(&mut self, name: &str, value: &impl Serialize) -> Result<()> {
        self.begin_field(name)?;
        self.line += json_of(value).get();
        Ok(())
    }

    /// A list with each value on a line of its own, so that a line found by a search is complete.
    fn list(&mut self, name: &str, values: impl Iterator<Item = Json>) -> Result<()> {
        self.begin_field(name)?;
        self.line.push('[');
        for (index, value) in values.enumerate() {
            if index > 0 {
                self.line.push(',');
            }
            self.end_line()?;
            self.line += value.get();
        }
        self.end_line()?;
        self.line.push(']');
        Ok(())
    }

    fn end(mut self) -> Result<()> {
        self.end_line()?;
        self.line.push('}');
        self.end_line()
    }

    fn begin_field(&mut self, name: &str) -> Result<()> {
        if self.line.is_empty() {
            self.line.push('{');
        } else {
            self.line.push(',');
            self.end_line()?;
        }
        self.line += &format!("\"{name}\":");
        Ok(())
    }

    fn end_line(&mut self) -> Result<()> {
        let line = json_text(std::mem::take(&mut self.line)) + "\n";
        (self.show)(&mut line.into_bytes())
    }
}

/// Gives each line of the document to `show`.
///
/// # Errors
/// The first error of `show`.
pub fn json(report: &AnalysisReport, show: Show<'_>) -> Result<()> {
    let incidents = &report.incidents;
    let departures: Vec<Json> = incidents.departures.iter().map(departure).collect();
    let mut out = Document::new(show);
    let devices = report.devices.iter().map(|one| device(one, report));
    out.list("devices", devices)?;
    let queues = report.queue_by_layer.as_ref().map(queue_by_layer);
    out.field("queue_by_layer", &queues)?;
    out.field("host", &report.host)?;
    out.field("not_the_disk", &not_the_disk_sentences(report))?;
    out.field("host_findings", &host_sentences(report))?;
    out.field("host_facts", &host_fact_sentences(report))?;
    out.list("incidents", incidents.list.iter().map(incident))?;
    let mut events = Vec::new();
    for told in &incidents.list {
        events.extend(told.devices.iter().map(|one| event(told, one)));
    }
    out.list("events", events.into_iter())?;
    out.field("dropped_incidents", &incidents.dropped)?;
    out.field("disappeared", &departures)?;
    out.end()
}

fn device(report: &DeviceReport, whole: &AnalysisReport) -> Json {
    let incidents = whole.incidents.total(&report.device);
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

/// An incident, flat, with the fields of the incident view's lines.
fn incident(told: &Told) -> Json {
    let devices: Vec<&str> = told.devices.iter().map(|one| &*one.names.device).collect();
    let limit = told.limit();
    let owner = told.owner.as_ref();
    object! {
        "incident": told.id,
        "victim": told.victim.device,
        "bottleneck": told.bottleneck.device,
        "devices": devices.join(","),
        "verdict": told.word,
        "verdict_s": told.bad_s,
        "begin": told.begin.at.map(time_text),
        "begin_known": told.begin_is_known,
        "end": told.end.at.filter(|_| !told.is_ongoing).map(time_text),
        "ongoing": told.is_ongoing,
        "begin_s": told.begin.run_s,
        "end_s": told.end.run_s,
        "cause": told.cause.name(),
        "owner": owner_paths(told),
        "program": owner.and_then(|owner| owner.program.as_deref()),
        "owner_known_by": owner.map(|owner| match owner.because {
            Because::DeviceBytes => "device_bytes",
            Because::ProcessBytes => "process_bytes",
            Because::Newcomer => "waits",
        }),
        "owner_rise_kib_per_s": owner.map(|owner| owner.rise_kib_per_s),
        "owner_is_by_share": owner.map(|owner| owner.is_by_share),
        "requests": told.requests.map(|kind| kind.name()),
        "await_ms": told.await_ms,
        "await_before_ms": told.await_before_ms,
        "requests_per_s": told.per_s,
        "queue": told.queue,
        "iops": told.iops,
        "iops_before": told.iops_before,
        "waiting": waiting_names(told).join(", "),
        "limit_kind": limit.map(Limit::rate_name),
        "limit_value": limit.map(|limit| limit.value),
        "limit_source": limit.map(|limit| limit.source.name()),
        "limit_device": limit.map(|limit| &*limit.device),
        "advice": told.advice.map(|advice| advice.name()),
        "harm": told.harm,
        "text": incident_parts(told).join("; "),
    }
}

/// The time in which one device of an incident was in trouble, flat.
fn event(told: &Told, one: &DeviceTimes) -> Json {
    object! {
        "device": one.names.device,
        "label": one.names.label,
        "verdict": one.word,
        "begin": one.begin.at.map(time_text),
        "begin_known": told.begin_is_known,
        "end": one.end.at.filter(|_| !told.is_ongoing).map(time_text),
        "ongoing": told.is_ongoing,
        "begin_s": one.begin.run_s,
        "end_s": one.end.run_s,
        "verdict_s": one.times.of(one.word),
        "incident": told.id,
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
        let report = AnalysisReport {
            queue_by_layer: queue_by_layer.cloned(),
            ..report_of(devices)
        };
        let mut out = Vec::new();
        json(&report, &mut |line| {
            out.append(line);
            Ok(())
        })
        .unwrap();
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
