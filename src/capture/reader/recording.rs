//! The header of the recording that is being read.

use crate::baselines::RecordedBaseline;
use crate::capture::limits::{MAX_BASELINE_NAME_BYTES, MAX_BASELINES, MAX_DEVICES_PER_SAMPLE};
use crate::capture::recording_header::RecordingHeader;
use crate::capture::warning::CaptureWarningKind;
use crate::topology::{Node, Topology};

/// The header of the current recording, whose list of devices may span several lines.
#[derive(Default)]
pub(super) struct RecordingState {
    header: Option<RecordingHeader>,
    /// Devices from further lines, not yet part of the topology.
    pending: Vec<Node>,
    /// The number of headers so far.
    header_count: u64,
    /// The number of changes to the header so far.
    revision: u64,
}

impl RecordingState {
    pub(super) fn header(&self) -> Option<&RecordingHeader> {
        self.header.as_ref()
    }

    pub(super) fn header_count(&self) -> u64 {
        self.header_count
    }

    pub(super) fn revision(&self) -> u64 {
        self.revision
    }

    /// Begins or continues a recording. Returns the reason if no interval may span this point: the recording is from
    /// another host or another boot.
    pub(super) fn begin(&mut self, header: RecordingHeader) -> Option<CaptureWarningKind> {
        self.pending.clear();
        self.header_count += 1;
        self.revision += 1;
        let previous = self.header.replace(header)?;
        let header = self.header.as_ref()?;
        if previous.is_other_host(header) {
            Some(CaptureWarningKind::HostChanged)
        } else {
            previous.is_other_boot(header).then_some(CaptureWarningKind::Rebooted)
        }
    }

    /// Adds devices of the current recording.
    pub(super) fn append_devices(&mut self, nodes: Vec<Node>) {
        let Some(header) = &self.header else { return };
        let count = header.topology.nodes().len() + self.pending.len();
        self.pending.extend(nodes.into_iter().take(MAX_DEVICES_PER_SAMPLE.saturating_sub(count)));
    }

    /// Adds baselines to the current recording.
    pub(super) fn append_baselines(&mut self, baselines: Vec<RecordedBaseline>) {
        let Some(header) = &mut self.header else { return };
        self.revision += u64::from(!baselines.is_empty());
        for baseline in baselines {
            let is_named = baseline.device.as_ref().is_none_or(|name| name.len() <= MAX_BASELINE_NAME_BYTES);
            if is_named && header.baselines.len() < MAX_BASELINES {
                header.baselines.insert(baseline);
            }
        }
    }

    /// Builds the topology from all devices. Called once per sample, because this is slow.
    pub(super) fn complete_topology(&mut self) {
        if let Some(header) = self.header.as_mut().filter(|_| !self.pending.is_empty()) {
            self.revision += 1;
            header.topology = Topology::new([header.topology.nodes(), &self.pending].concat());
            self.pending.clear();
        }
    }
}
