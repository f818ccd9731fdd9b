//! What an analysis found: as a text that a person reads top to bottom, as JSON, and as a job file for fio.

mod capacity;
mod fio;
mod json;
mod tables;
mod text;
mod words;

pub use fio::fio_job;
pub use json::json;
pub use text::text;

use crate::analysis::{DeviceReport, HostReport, QueueByLayer};

/// All that an analysis found.
#[derive(Clone, Copy, Debug)]
pub struct AnalysisReport<'a> {
    /// The devices, in the order in which they are shown.
    pub devices: &'a [DeviceReport],
    /// Where requests wait; `None` where no two devices are joined.
    pub layers: Option<&'a QueueByLayer>,
    /// The machine meanwhile.
    pub machine: &'a HostReport,
}
