//! The result of an analysis: as text for people, as JSON, and as a fio job file.

mod capacity;
mod fio;
mod host_findings;
mod json;
mod other_causes;
mod paragraph;
mod queue_by_layer;
mod tables;
mod text;

pub use fio::fio_job;
pub use json::json;
pub use text::text;

use crate::analysis::{DeviceReport, HostReport, QueueByLayer};
use crate::topology::Topology;

/// The result of an analysis.
#[derive(Clone, Copy, Debug)]
pub struct AnalysisReport<'a> {
    /// The devices, in the order in which they are shown.
    pub devices: &'a [DeviceReport],
    /// The queue at each layer; `None` where no two devices are stacked.
    pub queue_by_layer: Option<&'a QueueByLayer>,
    /// The devices of the host as far as they are known, which name its swap devices.
    pub topology: &'a Topology,
    /// Other devices of the host were left out, so that nothing is known about them.
    pub is_selection: bool,
    /// The host meanwhile.
    pub host: &'a HostReport,
}
