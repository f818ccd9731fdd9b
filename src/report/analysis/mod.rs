//! The result of an analysis: as text for people, as JSON, and as a fio job file.

mod compare;
mod findings;
mod fio;
mod host;
mod json;
mod text;
mod times;

pub use compare::{ComparedCapture, Comparison, compare_json, compare_text};
pub use fio::fio_job;
pub use json::json;
pub use text::text;

pub(super) use findings::{
    capacity_sentences, cause_sentences, departure_sentences, devices_worst_first, incidents_worst_first,
    link_text, worse_verdict,
};
pub(super) use host::{host_sentences, not_the_disk_sentences};
pub(super) use text::verdict_sentence;

use crate::analysis::{DeviceReport, HostReport, QueueByLayer};
use crate::intervals::{Events, LatencySeries, RunClock};
use crate::topology::Topology;
use jiff::tz::TimeZone;
use std::collections::HashMap;

#[derive(Clone, Copy, Debug)]
pub struct AnalysisReport<'a> {
    /// The devices, in the order in which they are shown.
    pub devices: &'a [DeviceReport],
    /// The queue at each layer; `None` if no two devices are stacked.
    pub queue_by_layer: Option<&'a QueueByLayer>,
    /// The devices of the host as far as they are known, including its swap devices.
    pub topology: &'a Topology,
    /// True if other devices of the host were left out, so that nothing is known about them.
    pub is_selection: bool,
    /// The host over the same time.
    pub host: &'a HostReport,
    pub events: &'a Events,
    /// The latency of devices over time, by the kernel's name.
    pub latencies: &'a HashMap<String, LatencySeries>,
    pub clock: &'a RunClock,
    /// The time zone of printed times.
    pub time_zone: &'a TimeZone,
    /// True if the text has all details of each device.
    pub has_details: bool,
    /// True if the terminal shows more than ASCII.
    pub is_unicode: bool,
}

/// A report of these devices only.
#[cfg(test)]
pub(super) fn report_of(devices: &[DeviceReport]) -> AnalysisReport<'_> {
    use std::sync::LazyLock;
    type Empty = (Topology, HostReport, Events, HashMap<String, LatencySeries>, RunClock);
    static EMPTY: LazyLock<Empty> = LazyLock::new(Default::default);
    let (topology, host, events, latencies, clock) = &*EMPTY;
    AnalysisReport {
        devices,
        queue_by_layer: None,
        topology,
        is_selection: false,
        host,
        events,
        latencies,
        clock,
        time_zone: const { &TimeZone::UTC },
        has_details: true,
        is_unicode: false,
    }
}
