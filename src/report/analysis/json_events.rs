//! The events as flat JSON objects.

use jiff::Timestamp;
use serde::Serialize;

use crate::analysis::{IoDirection, RateUnit, Verdict};
use crate::intervals::{Event, EventLimit, EventRate, Incident};
use crate::report::json_csv::{DeviceLimit, rate_name, time_text};

/// An event. Values that are not known are `null`; times are in UTC, as in JSON Lines. Seconds (`_s`) of a moment are
/// those of all intervals before it, without breaks in time.
#[derive(Serialize)]
pub(super) struct JsonEvent<'a> {
    device: &'a str,
    label: &'a str,
    verdict: Verdict,
    begin: Option<String>,
    /// `false` if the trouble was already present at the first sample, or at the first after a break in time.
    begin_known: bool,
    /// `null` while the event lasts.
    end: Option<String>,
    ongoing: bool,
    claimed_at: Option<String>,
    begin_s: f64,
    end_s: f64,
    duration_s: f64,
    verdict_s: f64,
    /// The verdicts and their onsets, in the order of time.
    course: String,
    rate: Option<f64>,
    /// The kind of the rate, as for limits: `read_iops`, `write_kib_per_s`.
    rate_kind: Option<&'static str>,
    peak_await_ms: Option<f64>,
    peak_await_direction: Option<IoDirection>,
    mean_queue: Option<f64>,
    peak_queue: Option<f64>,
    hung_requests: Option<u64>,
    limit_kind: Option<&'static str>,
    limit_value: Option<f64>,
    limit_source: Option<&'static str>,
    limit_cgroup: Option<&'a str>,
    limit_device: Option<&'a str>,
    top_cgroup: Option<&'a str>,
    top_cgroup_share_pct: Option<f64>,
    evidence: Option<&'static str>,
    /// The devices below, separated by commas, above which requests waited.
    queued_above: Option<String>,
    /// The number of the incident, from 1. Simultaneous events of devices that are stacked on each other have the same
    /// number.
    incident: usize,
    /// True if it leads its incident.
    leads_incident: bool,
}

impl<'a> JsonEvent<'a> {
    /// The events with the incidents that they belong to.
    pub(super) fn all(events: &'a [Event], incidents: &[Incident]) -> Vec<Self> {
        let mut found: Vec<Self> = events.iter().map(Self::new).collect();
        for (number, incident) in (1..).zip(incidents) {
            for member in incident.others.iter().chain([&incident.lead]) {
                found[*member].incident = number;
            }
            found[incident.lead].leads_incident = true;
        }
        found
    }

    fn new(event: &'a Event) -> Self {
        let time = |at: Option<Timestamp>| at.map(time_text);
        let limit = event.limit.as_ref().and_then(|limit| match limit {
            EventLimit::Cap(plateau) => DeviceLimit::of_plateau(plateau),
            EventLimit::Cgroup(limit) => Some(DeviceLimit::of_cgroup(limit)),
        });
        let limit_device = match &event.limit {
            Some(EventLimit::Cgroup(limit)) => Some(limit.limited_device.as_str()),
            _ => None,
        };
        let rate = event.rate.filter(|rate| rate_kind(rate).is_some());
        Self {
            device: &event.device,
            label: &event.label,
            verdict: event.verdict,
            begin: time(event.begin.at),
            begin_known: event.begin_is_known,
            end: time(event.end.at.filter(|_| !event.is_ongoing)),
            ongoing: event.is_ongoing,
            claimed_at: time(event.claimed_at.at),
            begin_s: event.begin.run_s,
            end_s: event.end.run_s,
            duration_s: event.duration_s,
            verdict_s: event.verdict_s,
            course: course(event),
            rate: rate.map(|rate| rate.per_s),
            rate_kind: rate.as_ref().and_then(rate_kind),
            peak_await_ms: event.peak_latency.map(|peak| peak.await_ms),
            peak_await_direction: event.peak_latency.map(|peak| peak.direction),
            mean_queue: event.mean_queue,
            peak_queue: event.peak_queue,
            hung_requests: event.hung_requests,
            limit_kind: limit.as_ref().map(|limit| limit.kind),
            limit_value: limit.as_ref().map(|limit| limit.value),
            limit_source: limit.as_ref().map(|limit| limit.source),
            limit_cgroup: limit.as_ref().and_then(|limit| limit.cgroup),
            limit_device,
            top_cgroup: event.top_cgroup.as_ref().map(|top| &*top.path),
            top_cgroup_share_pct: event.top_cgroup.as_ref().map(|top| top.share_pct),
            evidence: event.evidence.map(|evidence| evidence.name()),
            queued_above: (!event.queued_above.is_empty()).then(|| event.queued_above.join(",")),
            incident: 0,
            leads_incident: false,
        }
    }
}

/// The name of a rate in fields; `None` for flushes, which have no limit.
fn rate_kind(rate: &EventRate) -> Option<&'static str> {
    match rate.direction {
        IoDirection::Flushes => (rate.unit == RateUnit::Requests).then_some("flushes_per_s"),
        direction => rate_name(direction, rate.unit),
    }
}

/// The verdicts of an event with their onsets: `saturated 2026-11-20T18:03:21.000143Z, capped ...`.
fn course(event: &Event) -> String {
    let one = |course: &crate::intervals::Course| match course.begin.at {
        Some(at) => format!("{} {}", course.verdict.name(), time_text(at)),
        None => format!("{} {:.3} s", course.verdict.name(), course.begin.run_s),
    };
    event.course.iter().map(one).collect::<Vec<_>>().join(", ")
}
