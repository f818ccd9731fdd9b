//! The files of one cgroup.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use crate::attribution::files::{parse_blkio_counter, parse_blkio_limit, parse_io_max, parse_io_stat};
use crate::capture::proc_files::parse_pressure;
use crate::counters::{CgroupDevice, CgroupHierarchy, Pressure};
use crate::source::small_file::{read_bytes, read_bytes_into};

/// The counters of version 2.
const IO_STAT: &str = "io.stat";
/// The bytes of version 1, without descendants: the recursive files do not keep those of a removed child either.
const SERVICE_BYTES: &str = "blkio.throttle.io_service_bytes";
/// The requests of version 1.
const SERVICED: &str = "blkio.throttle.io_serviced";
/// The limits of version 1.
const BLKIO_LIMITS: [&str; 4] = [
    "blkio.throttle.read_iops_device",
    "blkio.throttle.write_iops_device",
    "blkio.throttle.read_bps_device",
    "blkio.throttle.write_bps_device",
];

/// The outcome of reading the counters of a cgroup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// The counters differ from the last reading.
    Changed,
    Same,
    Gone,
    /// This user may not read them.
    Refused,
}

/// The files of one cgroup, with their contents as last read.
pub(super) struct CgroupFiles {
    dir: PathBuf,
    version: CgroupHierarchy,
    /// The file that changes with each I/O.
    counters: PathBuf,
    text: Vec<u8>,
    /// A buffer for the text of the next reading.
    incoming: Vec<u8>,
    counted: Vec<CgroupDevice>,
    limited: Vec<CgroupDevice>,
}

impl CgroupFiles {
    pub(super) fn new(dir: &Path, version: CgroupHierarchy) -> Self {
        Self {
            dir: dir.to_owned(),
            version,
            counters: dir.join(counters_file(version)),
            text: Vec::new(),
            incoming: Vec::new(),
            counted: Vec::new(),
            limited: Vec::new(),
        }
    }

    /// Returns whether the I/O of a cgroup is counted.
    pub(super) fn is_counted(dir: &Path, version: CgroupHierarchy) -> bool {
        dir.join(counters_file(version)).exists()
    }

    pub(super) fn read_counters(&mut self) -> Reading {
        match self.read_changed_counters() {
            Ok(true) => Reading::Changed,
            Ok(false) => Reading::Same,
            Err(error) if error.kind() == ErrorKind::PermissionDenied => Reading::Refused,
            Err(_) => Reading::Gone,
        }
    }

    fn read_changed_counters(&mut self) -> io::Result<bool> {
        read_bytes_into(&self.counters, &mut self.incoming)?;
        if self.incoming == self.text {
            return Ok(false);
        }
        std::mem::swap(&mut self.text, &mut self.incoming);
        self.counted.clear();
        match self.version {
            CgroupHierarchy::V2 => parse_io_stat(&self.text, &mut self.counted),
            CgroupHierarchy::V1 => {
                parse_blkio_counter(
                    &self.text,
                    |io| [&mut io.read_bytes, &mut io.write_bytes],
                    &mut self.counted,
                );
                read_bytes_into(&self.dir.join(SERVICED), &mut self.incoming)?;
                parse_blkio_counter(&self.incoming, |io| [&mut io.reads, &mut io.writes], &mut self.counted);
            }
        }
        Ok(true)
    }

    /// Reads the limits; none if they cannot be read.
    pub(super) fn read_limits(&mut self) {
        self.limited.clear();
        let read = |name: &str| read_bytes(&self.dir.join(name)).unwrap_or_default();
        match self.version {
            CgroupHierarchy::V2 => parse_io_max(&read("io.max"), &mut self.limited),
            CgroupHierarchy::V1 => {
                for (limit, name) in BLKIO_LIMITS.iter().enumerate() {
                    parse_blkio_limit(&read(name), limit, &mut self.limited);
                }
            }
        }
    }

    /// Returns whether the cgroup has limits.
    pub(super) fn is_limited(&self) -> bool {
        !self.limited.is_empty()
    }

    /// Reads the pressure of a cgroup with limits; `None` if it has no limits, or if its pressure is not known.
    pub(super) fn read_pressure(&self) -> Option<Pressure> {
        let is_known = self.version == CgroupHierarchy::V2 && !self.limited.is_empty();
        parse_pressure(&read_bytes(&self.dir.join("io.pressure")).filter(|_| is_known)?)
    }

    /// Returns the devices that the cgroup has used or is limited on, by number.
    pub(super) fn devices(&self) -> Vec<CgroupDevice> {
        let has_io = |device: &&CgroupDevice| device.io != Default::default();
        let mut devices: Vec<CgroupDevice> = self.counted.iter().filter(has_io).copied().collect();
        for limited in &self.limited {
            CgroupDevice::entry(&mut devices, limited.number).limits = limited.limits;
        }
        devices
    }
}

/// Returns the name of the file with the bytes of a cgroup.
pub(super) fn counters_file(version: CgroupHierarchy) -> &'static str {
    match version {
        CgroupHierarchy::V1 => SERVICE_BYTES,
        CgroupHierarchy::V2 => IO_STAT,
    }
}
