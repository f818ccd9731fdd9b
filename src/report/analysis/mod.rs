//! The result of an analysis: as text for people, as JSON, and as a fio job file.

mod compare;
mod findings;
mod fio;
mod json;
mod text;
mod times;

pub use compare::{Comparison, compare_json, compare_text};
pub use fio::fio_job;
pub use json::json;
pub use text::text;

pub(super) use findings::{
    capacity_sentences, cause_sentences, departure_sentences, devices_worst_first, host_sentences,
    incidents_worst_first, link_text, not_the_disk_sentences, worse_verdict,
};
pub(super) use text::verdict_sentence;

use crate::analysis::{DeviceReport, HostReport, QueueByLayer};
use crate::intervals::{Events, LatencySeries, RunClock};
use crate::topology::Topology;
use jiff::tz::TimeZone;
use std::collections::HashMap;

/// Everything that the text, the document and the page show.
pub struct AnalysisReport {
    /// The devices, in the order in which they are shown.
    pub devices: Vec<DeviceReport>,
    /// The queue at each layer; `None` if no two devices are stacked.
    pub queue_by_layer: Option<QueueByLayer>,
    /// The devices of the host as far as they are known, including its swap devices.
    pub topology: Topology,
    /// True if other devices of the host were left out, so that nothing is known about them.
    pub is_selection: bool,
    /// The host over the same time.
    pub host: HostReport,
    pub events: Events,
    /// The latency of devices with I/O over time, by the kernel's name.
    pub latencies: HashMap<String, LatencySeries>,
    pub clock: RunClock,
    /// The identity of each device that has one, by the kernel's name.
    pub identities: HashMap<String, String>,
    /// The time zone of printed times.
    pub time_zone: TimeZone,
    /// True if the text has all details of each device.
    pub has_details: bool,
    /// True if the terminal shows more than ASCII.
    pub is_unicode: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A report of these devices only.
    pub(in crate::report::analysis) fn report_of(devices: &[DeviceReport]) -> AnalysisReport {
        AnalysisReport {
            devices: devices.to_vec(),
            queue_by_layer: None,
            topology: Topology::default(),
            is_selection: false,
            host: HostReport::default(),
            events: Events::default(),
            latencies: HashMap::new(),
            clock: RunClock::default(),
            identities: HashMap::new(),
            time_zone: TimeZone::UTC,
            has_details: true,
            is_unicode: false,
        }
    }
}
