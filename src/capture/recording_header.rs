//! The header of a recording: the host that was recorded, its devices, and the baselines for them.

use std::time::Duration;

use crate::baselines::RecordedBaselines;
use crate::topology::{Machine, Topology};

/// The header of a recording. Values that are not known are `None`, or an empty topology.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordingHeader {
    /// The version of blkstat that made the recording.
    pub version: String,
    /// The host's name.
    pub host: Option<String>,
    /// The kernel's release.
    pub kernel: Option<String>,
    /// The kernel's random identifier of this boot (`/proc/sys/kernel/random/boot_id`).
    pub boot_id: Option<String>,
    /// The number of CPUs, including those that are offline.
    pub cpus: Option<usize>,
    /// The machine as its firmware identifies itself.
    pub machine: Machine,
    /// The requested time between samples.
    pub interval: Option<Duration>,
    /// The block devices and how they are stacked.
    pub topology: Topology,
    /// The baselines that were given or saved for them.
    pub baselines: RecordedBaselines,
}

impl RecordingHeader {
    /// Returns whether both headers are known to be from different hosts.
    pub(super) fn is_other_host(&self, other: &Self) -> bool {
        differ(self.host.as_ref(), other.host.as_ref())
    }

    /// Returns whether the host is known to have been rebooted between the two headers.
    pub(super) fn is_other_boot(&self, other: &Self) -> bool {
        differ(self.boot_id.as_ref(), other.boot_id.as_ref())
    }
}

fn differ<T: PartialEq>(a: Option<T>, b: Option<T>) -> bool {
    a.zip(b).is_some_and(|(a, b)| a != b)
}
