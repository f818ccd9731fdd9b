//! The result as one JSON document. Values that are not known are `null`; field names are stable, and new ones may be
//! added.

use serde::Serialize;

use super::json_events::JsonEvent;
use super::queue_by_layer::link_text;
use super::{AnalysisReport, host_findings, other_causes};
use crate::analysis::{
    CapacityByDirection, CapacityReport, ConcurrencyLevel, DeviceBaseline, DeviceReport, DirectionReport,
    Distribution, Excluded, IoDirection, Layer, LayerLink, Plateau, QueueByLayer, RateUnit, Verdict,
    WaitLocation,
};
use crate::intervals::{Departure, Moment, RunClock};
use crate::report::evidence::{explanation_text, limit_name};
use crate::report::json_csv::time_text;
use crate::sanitize::json_text;

/// Appends `{"devices":[…],"queue_by_layer":…,"host":…,"not_the_disk":…,"host_findings":[…],"events":[…],
/// "dropped_events":…,"disappeared":[…]}`, with one device and one event per line.
pub fn json(report: &AnalysisReport<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"devices\":[");
    for (index, device) in report.devices.iter().enumerate() {
        out.extend_from_slice(if index == 0 { b"\n" } else { b",\n" });
        push_value(&JsonDevice::new(device, report.clock), out);
    }
    out.extend_from_slice(b"\n],\n\"queue_by_layer\":");
    push_value(&report.queue_by_layer.map(JsonQueueByLayer::new), out);
    out.extend_from_slice(b",\n\"host\":");
    push_value(report.host, out);
    out.extend_from_slice(b",\n\"not_the_disk\":");
    push_value(&host_findings::not_the_disk_sentences(report), out);
    out.extend_from_slice(b",\n\"host_findings\":");
    push_value(&host_findings::host_sentences(report), out);
    out.extend_from_slice(b",\n\"events\":[");
    for (index, event) in JsonEvent::all(&report.events.list, report.incidents).iter().enumerate() {
        out.extend_from_slice(if index == 0 { b"\n" } else { b",\n" });
        push_value(event, out);
    }
    out.extend_from_slice(b"\n],\n\"dropped_events\":");
    push_value(&report.events.dropped, out);
    out.extend_from_slice(b",\n\"disappeared\":");
    let disappeared: Vec<JsonDeparture<'_>> =
        report.events.departures.iter().map(JsonDeparture::new).collect();
    push_value(&disappeared, out);
    out.extend_from_slice(b"\n}\n");
}

/// Appends a value; serde_json writes null for a number that is not finite.
pub(super) fn push_value(value: &impl Serialize, out: &mut Vec<u8>) {
    // Text and numbers can always be written.
    let text = serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned());
    out.extend_from_slice(json_text(text).as_bytes());
}

#[derive(Serialize)]
struct JsonDeparture<'a> {
    device: &'a str,
    time: Option<String>,
    /// `null` if no device of this name appeared again.
    back_at: Option<String>,
}

impl<'a> JsonDeparture<'a> {
    fn new(departure: &'a Departure) -> Self {
        let time = |moment: Moment| moment.at.map(time_text);
        let Departure { device, at, back_at } = departure;
        Self { device, time: time(*at), back_at: back_at.and_then(time) }
    }
}

#[derive(Serialize)]
struct JsonDevice<'a> {
    device: &'a str,
    verdict: Option<Verdict>,
    explanation: String,
    intervals: u64,
    seconds: f64,
    busy_intervals: u64,
    excluded: &'a Excluded,
    longest_stall_s: f64,
    util_pct: &'a Distribution,
    read: &'a DirectionReport,
    write: &'a DirectionReport,
    all: &'a DirectionReport,
    levels: &'a [ConcurrencyLevel],
    capacity: &'a CapacityReport,
    capacity_by_direction: &'a CapacityByDirection,
    plateaus: Vec<JsonPlateau>,
    baseline: &'a DeviceBaseline,
    other_causes: Vec<String>,
}

impl<'a> JsonDevice<'a> {
    fn new(report: &'a DeviceReport, clock: &RunClock) -> Self {
        Self {
            device: &report.device,
            verdict: report.verdict,
            explanation: explanation_text(&report.device, &report.explanation),
            intervals: report.intervals,
            seconds: report.seconds,
            busy_intervals: report.busy_intervals,
            excluded: &report.excluded,
            longest_stall_s: report.longest_stall_s,
            util_pct: &report.util_pct,
            read: &report.read,
            write: &report.write,
            all: &report.all,
            levels: &report.levels,
            capacity: &report.capacity,
            capacity_by_direction: &report.capacity_by_direction,
            plateaus: report.plateaus.iter().map(|plateau| JsonPlateau::new(plateau, clock)).collect(),
            baseline: &report.baseline,
            other_causes: other_causes::sentences(report),
        }
    }
}

#[derive(Serialize)]
struct JsonPlateau {
    direction: IoDirection,
    unit: RateUnit,
    iops: f64,
    mib_per_s: f64,
    variation: f64,
    intervals: u64,
    seconds: f64,
    /// The time at which the plateau began.
    begin: Option<String>,
    /// The number of the first interval, from 1.
    first_interval: u64,
    queue_from: f64,
    queue_to: f64,
    await_from_ms: f64,
    await_to_ms: f64,
    matches_limit: Option<String>,
    certain: bool,
}

impl JsonPlateau {
    fn new(plateau: &Plateau, clock: &RunClock) -> Self {
        Self {
            direction: plateau.direction,
            unit: plateau.unit,
            iops: plateau.iops,
            mib_per_s: plateau.mib_per_s,
            variation: plateau.variation,
            intervals: plateau.intervals,
            seconds: plateau.seconds,
            begin: clock.moment(plateau.begin_s).at.map(time_text),
            first_interval: plateau.first_interval + 1,
            queue_from: plateau.queue_from,
            queue_to: plateau.queue_to,
            await_from_ms: plateau.await_from_ms,
            await_to_ms: plateau.await_to_ms,
            matches_limit: plateau.matches_limit.as_ref().map(limit_name),
            certain: plateau.is_certain,
        }
    }
}

#[derive(Serialize)]
struct JsonQueueByLayer<'a> {
    layers: Vec<JsonLayer<'a>>,
    links: Vec<JsonLink<'a>>,
}

impl<'a> JsonQueueByLayer<'a> {
    fn new(queues: &'a QueueByLayer) -> Self {
        Self {
            layers: queues.layers.iter().map(JsonLayer::new).collect(),
            links: queues.links.iter().map(JsonLink::new).collect(),
        }
    }
}

#[derive(Serialize)]
struct JsonLayer<'a> {
    device: &'a str,
    depth: usize,
    iops: Option<f64>,
    queue: Option<f64>,
    await_ms: Option<f64>,
}

impl<'a> JsonLayer<'a> {
    fn new(layer: &'a Layer) -> Self {
        let Layer { device, depth, iops, queue, await_ms } = layer;
        Self { device, depth: *depth, iops: *iops, queue: *queue, await_ms: *await_ms }
    }
}

#[derive(Serialize)]
struct JsonLink<'a> {
    above: &'a str,
    below: &'a [String],
    queued_between: f64,
    bottleneck: bool,
    explanation: String,
}

impl<'a> JsonLink<'a> {
    fn new(link: &'a LayerLink) -> Self {
        Self {
            above: &link.above,
            below: &link.below,
            queued_between: link.queued_between(),
            bottleneck: link.waiting == WaitLocation::Between,
            explanation: link_text(link),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::analysis::report_of;

    fn parsed(
        devices: &[DeviceReport],
        queue_by_layer: Option<&QueueByLayer>,
    ) -> (String, serde_json::Value) {
        let mut out = Vec::new();
        let report = AnalysisReport { queue_by_layer, ..report_of(devices) };
        json(&report, &mut out);
        let text = String::from_utf8(out).unwrap();
        let value = serde_json::from_str(&text).unwrap();
        (text, value)
    }

    #[test]
    fn it_is_one_document_without_control_characters() {
        let hostile = "a\"\\\u{1b}[2J\n\u{7f}\u{9b}\u{202e}";
        let mut report =
            DeviceReport { device: hostile.into(), seconds: f64::NAN, ..DeviceReport::default() };
        report.read.iops.mean = Some(f64::INFINITY);
        let (text, value) = parsed(&[report, DeviceReport::default()], Some(&QueueByLayer::default()));
        assert!(!text.contains(|c: char| c != '\n' && (c.is_control() || c == '\u{202e}')), "{text:?}");
        assert_eq!(value["devices"][0]["device"], hostile);
        assert!(
            value["devices"][0]["seconds"].is_null() && value["devices"][0]["read"]["iops"]["mean"].is_null()
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
