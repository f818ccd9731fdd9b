//! What the machine is called, and how many CPUs it has.

use std::fs::{OpenOptions, read_dir};
use std::io::Read;
use std::path::Path;

use rustix::system::uname;

use super::read_topology;
use crate::capture::RecordingHeader;

/// What uname(2) says of a machine; `None` where it is not known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Host {
    /// The host's name.
    pub nodename: Option<String>,
    /// The kernel's release.
    pub release: Option<String>,
    /// The hardware's name, as `x86_64`.
    pub hardware: Option<String>,
    /// CPUs that the kernel has, off-line ones too.
    pub cpus: Option<usize>,
}

impl Host {
    /// This machine; its CPUs are counted below `root`.
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

/// What a recording of the machine below `root` says of it: all from files there, for a copied tree is another
/// machine than the one that it is read on.
pub fn describe(root: &Path) -> RecordingHeader {
    let kernel = root.join("proc/sys/kernel");
    RecordingHeader {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        host: read_line(&kernel.join("hostname")),
        kernel: read_line(&kernel.join("osrelease")),
        boot: read_line(&kernel.join("random/boot_id")),
        cpus: count_cpus(root),
        every: None,
        stack: read_topology(root),
    }
}

fn read_line(path: &Path) -> Option<String> {
    let mut text = String::new();
    OpenOptions::new().read(true).open(path).ok()?.read_to_string(&mut text).ok()?;
    let line = text.lines().next()?.trim();
    (!line.is_empty()).then(|| line.to_owned())
}

fn count_cpus(root: &Path) -> Option<usize> {
    let is_cpu = |name: &str| {
        name.strip_prefix("cpu").is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
    };
    let entries = read_dir(root.join("sys/devices/system/cpu")).ok()?;
    Some(entries.flatten().filter(|entry| entry.file_name().to_str().is_some_and(is_cpu)).count())
}
