//! The lines of our own in a recording: `#blkstat ` and a JSON object. One in front says what was recorded, one
//! ends each sample.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::line::excerpt;
use super::lines::LONGEST_LINE;
use crate::counters::{HostState, Pressure};
use crate::topology::{Node, Topology};

/// What begins such a line.
pub(super) const MARK: &[u8] = b"#blkstat ";

/// Longer lists of devices go on in a line of their own, for a reader passes over lines that are too long.
const LONGEST_LIST: usize = LONGEST_LINE / 2;

/// What a recording says of the machine that was recorded. What is not known is `None`, or an empty stack.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordingHeader {
    /// The version of blkstat that recorded.
    pub version: String,
    /// The host's name.
    pub host: Option<String>,
    /// The kernel's release.
    pub kernel: Option<String>,
    /// What the kernel calls the time since it was started (`/proc/sys/kernel/random/boot_id`).
    pub boot: Option<String>,
    /// CPUs that the kernel has, off-line ones too.
    pub cpus: Option<usize>,
    /// The time between samples that was asked for.
    pub every: Option<Duration>,
    /// What was stacked on what.
    pub stack: Topology,
}

impl RecordingHeader {
    /// Whether both are known to be of different hosts.
    pub(super) fn is_other_host(&self, other: &Self) -> bool {
        differ(self.host.as_ref(), other.host.as_ref())
    }

    /// Whether the machine is known to have been started anew between the two.
    pub(super) fn is_other_boot(&self, other: &Self) -> bool {
        differ(self.boot.as_ref(), other.boot.as_ref())
    }
}

fn differ<T: PartialEq>(a: Option<T>, b: Option<T>) -> bool {
    a.zip(b).is_some_and(|(a, b)| a != b)
}

/// The object of such a line. DeviceResolver that it does not have are passed over: later versions may write more.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Annotation {
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kernel: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    boot: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cpus: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    every_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    devices: Option<Vec<Node>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) monotonic_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) uptime_cs: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    blocked: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pressure_us: Option<[u64; 2]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dirty_kib: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    writeback_kib: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) missed: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    complete: Option<bool>,
}

/// What is wrong with the JSON of such a line.
pub(super) enum AnnotationError {
    /// It stops before its end.
    Cut,
    /// This.
    Bad(String),
}

impl Annotation {
    /// Reads what follows the mark.
    pub(super) fn parse(json: &[u8]) -> Result<Self, AnnotationError> {
        serde_json::from_slice(json).map_err(|error| {
            if error.is_eof() {
                AnnotationError::Cut
            } else {
                AnnotationError::Bad(excerpt(error.to_string().as_bytes()))
            }
        })
    }

    /// What ends a sample.
    pub(super) fn end_of_sample(
        monotonic: Option<Duration>,
        uptime: Option<u64>,
        machine: &HostState,
        missed: u64,
    ) -> Self {
        Self {
            monotonic_ns: monotonic.and_then(nanoseconds),
            uptime_cs: uptime,
            blocked: machine.blocked,
            pressure_us: machine.pressure.map(|pressure| [pressure.some_us, pressure.full_us]),
            dirty_kib: machine.dirty_kib,
            writeback_kib: machine.writeback_kib,
            missed: Some(missed).filter(|missed| *missed > 0),
            complete: Some(true),
            ..Self::default()
        }
    }

    /// Whether it ends a sample.
    pub(super) fn is_complete(&self) -> bool {
        self.complete == Some(true)
    }

    /// The machine at the time of the sample.
    pub(super) fn machine(&self) -> HostState {
        HostState {
            blocked: self.blocked,
            pressure: self.pressure_us.map(|[some_us, full_us]| Pressure { some_us, full_us }),
            dirty_kib: self.dirty_kib,
            writeback_kib: self.writeback_kib,
        }
    }

    /// What was recorded, if this line begins a recording.
    pub(super) fn take_recorded(&mut self) -> Option<RecordingHeader> {
        Some(RecordingHeader {
            version: self.version.take()?,
            host: self.host.take(),
            kernel: self.kernel.take(),
            boot: self.boot.take(),
            cpus: self.cpus,
            every: self.every_ns.map(Duration::from_nanos),
            stack: Topology::new(self.devices.take().unwrap_or_default()),
        })
    }

    /// More devices of a list that was too long for one line; empty if there are none.
    pub(super) fn take_devices(&mut self) -> Vec<Node> {
        self.devices.take().unwrap_or_default()
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(MARK);
        // Such a plain struct can always be written, and a Vec takes everything.
        let _ = serde_json::to_writer(&mut *out, self);
        out.push(b'\n');
    }
}

fn nanoseconds(time: Duration) -> Option<u64> {
    u64::try_from(time.as_nanos()).ok()
}

/// Writes the line that begins a recording, and those that its list of devices goes on in.
pub(super) fn write_recorded(recorded: &RecordingHeader, out: &mut Vec<u8>) {
    let mut note = Annotation {
        version: Some(recorded.version.clone()),
        host: recorded.host.clone(),
        kernel: recorded.kernel.clone(),
        boot: recorded.boot.clone(),
        cpus: recorded.cpus,
        every_ns: recorded.every.and_then(nanoseconds),
        devices: Some(Vec::new()),
        ..Annotation::default()
    };
    let mut length = 0;
    for node in recorded.stack.nodes() {
        let Some((node, takes)) = fitting(node) else { continue };
        if length > 0 && length + takes > LONGEST_LIST {
            note.write(out);
            note = Annotation { devices: Some(Vec::new()), ..Annotation::default() };
            length = 0;
        }
        note.devices.get_or_insert_default().push(node);
        length += takes;
    }
    note.write(out);
}

/// A device as it is written, and the bytes that it takes. Of very many mount points the last are left out; `None`
/// if it is too long without them.
fn fitting(node: &Node) -> Option<(Node, usize)> {
    let takes = |node: &Node| serde_json::to_vec(node).map_or(usize::MAX, |json| json.len() + 1);
    let mut node = node.clone();
    loop {
        let length = takes(&node);
        if length <= LONGEST_LIST {
            return Some((node, length));
        }
        let half = node.mountpoints.len().checked_sub(1)? / 2;
        node.mountpoints.truncate(half);
    }
}

/// What stands before and after the mark of a line of ours that begins inside of another: the start of a recording
/// that was put right behind one whose last line was cut off.
pub(super) fn glued(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = memchr::memmem::find(line.get(1..)?, b"#blkstat {")? + 1;
    Some((&line[..at], &line[at + MARK.len()..]))
}
