//! What is known of a capture beside its samples.

use std::sync::Arc;

use crate::baselines::RecordedBaseline;
use crate::capture::limits::{MAX_BASELINE_NAME_BYTES, MAX_BASELINES, MAX_DEVICES_PER_SAMPLE};
use crate::capture::recording_header::RecordingHeader;
use crate::capture::warning::{CaptureWarning, CaptureWarningKind};
use crate::topology::{Node, Topology};

/// What is known of a capture so far.
#[derive(Debug, Default)]
pub struct CaptureState {
    /// The header of the recording that contains the last sample; `None` for any other capture.
    pub header: Option<Arc<RecordingHeader>>,
    /// The number of headers so far: a recording repeats its header when its devices change.
    pub header_count: u64,
    /// True if the capture was found to end within a sample or within its compressed data.
    pub is_truncated: bool,
    /// True if the stream so far is not text and has no `TS` line.
    pub is_not_text: bool,
    /// The warnings that were not taken yet.
    pub warnings: Vec<CaptureWarning>,
    /// Devices of the header from further lines, not yet part of its topology.
    pub(super) more_devices: Vec<Node>,
}

impl CaptureState {
    /// Begins or continues a recording. Returns the reason if no interval may span this point: the recording is from
    /// another host or another boot.
    pub(super) fn begin_recording(&mut self, header: RecordingHeader) -> Option<CaptureWarningKind> {
        self.more_devices.clear();
        self.header_count += 1;
        let header = Arc::new(header);
        let previous = self.header.replace(Arc::clone(&header))?;
        let differ = |of: fn(&RecordingHeader) -> &Option<String>| {
            of(&previous).is_some() && of(&header).is_some() && of(&previous) != of(&header)
        };
        if differ(|header| &header.host) {
            return Some(CaptureWarningKind::HostChanged);
        }
        differ(|header| &header.boot_id).then_some(CaptureWarningKind::Rebooted)
    }

    /// Adds devices to the current recording.
    pub(super) fn append_devices(&mut self, nodes: Vec<Node>) {
        let Some(header) = &self.header else { return };
        let count = header.topology.nodes().len() + self.more_devices.len();
        self.more_devices.extend(nodes.into_iter().take(MAX_DEVICES_PER_SAMPLE.saturating_sub(count)));
    }

    /// Adds baselines to the current recording.
    pub(super) fn append_baselines(&mut self, baselines: Vec<RecordedBaseline>) {
        let Some(header) = &mut self.header else { return };
        for baseline in baselines {
            let is_named = baseline.device.as_ref().is_none_or(|name| name.len() <= MAX_BASELINE_NAME_BYTES);
            if is_named && header.baselines.len() < MAX_BASELINES {
                Arc::make_mut(header).baselines.insert(baseline);
            }
        }
    }

    /// Builds the topology from all devices. Called once per sample, because this is slow.
    pub(super) fn complete_topology(&mut self) {
        if let Some(header) = self.header.as_mut().filter(|_| !self.more_devices.is_empty()) {
            let nodes = [header.topology.nodes(), &self.more_devices].concat();
            Arc::make_mut(header).topology = Topology::new(nodes);
            self.more_devices.clear();
        }
    }
}
