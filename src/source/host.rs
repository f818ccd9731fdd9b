//! The host: its name, its kernel and the number of its CPUs.

use std::fs::read_dir;
use std::path::Path;

use rustix::system::uname;

use super::reread_topology;
use super::small_file::{read_line, read_line_lossy};
use crate::capture::RecordingHeader;
use crate::topology::{Machine, Topology};

/// The host as uname(2) describes it. Values that are not known are `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Host {
    pub nodename: Option<String>,
    pub release: Option<String>,
    /// The hardware's name, such as `x86_64`.
    pub hardware: Option<String>,
    /// The number of CPUs, including those that are offline.
    pub cpus: Option<usize>,
}

impl Host {
    /// Describes the running host. Its CPUs are counted below `root`.
    pub fn this(root: &Path) -> Self {
        let names = uname();
        let text = |name: &std::ffi::CStr| Some(name.to_string_lossy().into_owned());
        Self {
            nodename: text(names.nodename()),
            release: text(names.release()),
            hardware: text(names.machine()),
            cpus: count_cpus(root),
        }
    }
}

/// Describes the host below `root` for the header of a recording. All values come from files there, because a
/// copied tree belongs to another host than the running one. `previous` are the devices of an earlier header.
pub fn read_recording_header(root: &Path, previous: &Topology) -> RecordingHeader {
    let kernel = root.join("proc/sys/kernel");
    RecordingHeader {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        host: read_line(&kernel.join("hostname")),
        kernel: read_line(&kernel.join("osrelease")),
        boot_id: read_line(&kernel.join("random/boot_id")),
        cpus: count_cpus(root),
        machine: read_machine(root),
        topology: reread_topology(root, previous),
        ..RecordingHeader::default()
    }
}

/// Reads the name of the host below `root`; `None` if it has none.
pub fn read_hostname(root: &Path) -> Option<String> {
    read_line(&root.join("proc/sys/kernel/hostname"))
}

/// Reads how the firmware of the host below `root` identifies the machine.
pub fn read_machine(root: &Path) -> Machine {
    let dmi = root.join("sys/class/dmi/id");
    let line = |name: &str| read_line_lossy(&dmi.join(name));
    let machine = Machine {
        sys_vendor: line("sys_vendor"),
        product_name: line("product_name"),
        chassis_asset_tag: line("chassis_asset_tag"),
    };
    machine.bounded()
}

/// Counts the CPUs, including those that are offline; `None` if they are not listed.
pub(super) fn count_cpus(root: &Path) -> Option<usize> {
    let is_cpu = |name: &str| {
        name.strip_prefix("cpu").is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
    };
    let entries = read_dir(root.join("sys/devices/system/cpu")).ok()?;
    Some(entries.flatten().filter(|entry| entry.file_name().to_str().is_some_and(is_cpu)).count())
}
