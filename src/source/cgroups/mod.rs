//! Reads the counters and limits of cgroups.

#[cfg(test)]
mod tests;

use std::collections::{HashMap, VecDeque};
use std::fs::{metadata, read_dir};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use procfs::process::MountInfo;

use super::small_file::{mountinfos, read_bytes, read_bytes_into};
use super::topology::unescape;
use crate::attribution::files::{
    parse_blkio_counter, parse_blkio_limit, parse_io_max, parse_io_stat,
};
use crate::capture::proc_files::parse_pressure;
use crate::counters::{Cgroup, CgroupDevice, CgroupHierarchy, IoScan, Pressure, ScanProblem};

/// The counters of version 2.
const IO_STAT: &str = "io.stat";
/// The bytes of version 1, without descendants: the recursive files do not keep those of a removed child either.
const SERVICE_BYTES: &str = "blkio.throttle.io_service_bytes";
/// The requests of version 1.
const SERVICED: &str = "blkio.throttle.io_serviced";
/// The limits of version 1, in the order of [`CgroupDevice::limits`].
const BLKIO_LIMITS: [&str; 4] = [
    "blkio.throttle.read_iops_device",
    "blkio.throttle.write_iops_device",
    "blkio.throttle.read_bps_device",
    "blkio.throttle.write_bps_device",
];

/// The time after which the reader looks for new cgroups although the kernel does not say that there are any. Until then, their
/// I/O is part of their parent's in version 2.
const DISCOVERY_PERIOD: Duration = Duration::from_secs(5);
/// The same in bad seconds.
const BAD_PERIOD: Duration = Duration::from_secs(1);
/// The time after which the limits of cgroups without I/O are read again.
const LIMITS_PERIOD: Duration = Duration::from_secs(10);
/// A cgroup that has neither limits nor I/O is included only in one of this many rereads of limits. Once it has I/O,
/// its limits are read at once.
const IDLE_LIMITS_PERIOD: usize = 6;
/// The number of cgroups from which those that are idle are read less often.
const MANY_CGROUPS: usize = 500;
/// The number of scans without I/O after which a cgroup without limits is read less often.
const IDLE_SCANS: u32 = 10;
/// Such a cgroup is read in only one of this many scans. When it has I/O again, the start of that I/O is not known, as
/// for a new cgroup.
const IDLE_PERIOD: usize = 5;
/// The most cgroups that are read; hosts with thousands of containers have fewer.
const MAX_CGROUPS: usize = 20_000;

/// Reads the cgroups of the system below a root.
#[derive(Default)]
pub(super) struct CgroupReader {
    hierarchy: Option<Hierarchy>,
    /// The mount point below the root of the system that is read.
    top: PathBuf,
    /// Parents before their children.
    cgroups: Vec<KnownCgroup>,
    discovered_at: Option<Duration>,
    /// What the kernel says of the number of cgroups; `None` if it does not say it.
    population: Option<Vec<u8>>,
    population_file: PathBuf,
    limits_read_at: Option<Duration>,
    /// The number of times that limits were read again.
    limit_reads: usize,
    /// The number of scans so far.
    scans: usize,
    problem: Option<ScanProblem>,
}

/// A cgroup, and what its files had when they were last read.
#[derive(Default)]
struct KnownCgroup {
    path: Arc<str>,
    dir: PathBuf,
    version: CgroupHierarchy,
    /// The file that changes with each I/O.
    counters: PathBuf,
    text: Vec<u8>,
    /// A buffer for the text of the next reading.
    incoming: Vec<u8>,
    counted: Vec<CgroupDevice>,
    limited: Vec<CgroupDevice>,
    /// The position of its parent; `None` for a cgroup whose parent is not read.
    parent: Option<usize>,
    /// Its counters changed in the last scan, or it is new.
    has_changed: bool,
    /// It has not been read yet, or was not read in the last scan.
    is_unread: bool,
    /// It was created since the last scan: its counters began at zero then.
    was_created: bool,
    /// The number of scans since its counters changed, including those that did not read it.
    idle_scans: u32,
    /// Its counters did not exist in the last scan.
    is_gone: bool,
}

/// A directory in which cgroups are still to be looked for.
struct PendingDir {
    dir: PathBuf,
    /// The path of its cgroup.
    path: String,
    /// That of [`KnownCgroup`].
    parent: Option<usize>,
    is_top: bool,
}

impl KnownCgroup {
    /// Returns whether it has had no I/O for long and has no limits.
    fn is_idle(&self) -> bool {
        self.idle_scans >= IDLE_SCANS && self.limited.is_empty()
    }

    /// Reads the counters. Returns whether they have changed.
    fn read_counters(&mut self) -> io::Result<bool> {
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
                parse_blkio_counter(
                    &self.incoming,
                    |io| [&mut io.reads, &mut io.writes],
                    &mut self.counted,
                );
            }
        }
        Ok(true)
    }

    /// Reads the limits; none if they cannot be read.
    fn read_limits(&mut self) {
        self.limited.clear();
        let read = |name: &str| read_bytes(&self.dir.join(name)).unwrap_or_default();
        match self.version {
            CgroupHierarchy::V2 => parse_io_max(&read("io.max"), &mut self.limited),
            CgroupHierarchy::V1 => {
                for (index, name) in BLKIO_LIMITS.into_iter().enumerate() {
                    parse_blkio_limit(&read(name), index, &mut self.limited);
                }
            }
        }
    }

    /// Reads the pressure of a cgroup with limits; `None` if it has no limits, or if its pressure is not known.
    fn read_pressure(&self) -> Option<Pressure> {
        if self.version == CgroupHierarchy::V1 || self.limited.is_empty() {
            return None;
        }
        parse_pressure(&read_bytes(&self.dir.join("io.pressure"))?)
    }

    /// Returns the devices that the cgroup has used or is limited on, by number.
    fn devices(&self) -> Vec<CgroupDevice> {
        let mut devices = self.counted.clone();
        devices.retain(|device| device.io != Default::default());
        for limited in &self.limited {
            CgroupDevice::entry(&mut devices, limited.number).limits = limited.limits;
        }
        devices
    }
}

impl CgroupReader {
    /// Finds the hierarchy in the mounts of the system below `root`.
    pub(super) fn new(root: &Path) -> Self {
        let hierarchy = mountinfos(root).find_map(|text| find_hierarchy(&text));
        let mountpoint = hierarchy
            .as_ref()
            .map_or("", |found| found.mountpoint.trim_start_matches('/'));
        let top = root.join(mountpoint);
        let is_v1 = hierarchy
            .as_ref()
            .is_some_and(|found| found.version == CgroupHierarchy::V1);
        Self {
            population_file: if is_v1 {
                root.join("proc/cgroups")
            } else {
                top.join("cgroup.stat")
            },
            top,
            hierarchy,
            ..Self::default()
        }
    }

    /// The version of the hierarchy; `None` without one.
    pub(super) fn version(&self) -> Option<CgroupHierarchy> {
        self.hierarchy.as_ref().map(|hierarchy| hierarchy.version)
    }

    /// Looks for new cgroups and reads limits, if they are due or in a bad second; `now` is a monotonic time. Slow work is done
    /// here, so that all counters can then be read shortly after each other. Returns whether there was any.
    pub(super) fn prepare(&mut self, now: Duration, is_bad_second: bool) -> bool {
        let Some(version) = self.version() else {
            return false;
        };
        let mut has_worked = self.discover_if_due(version, now, is_bad_second);
        let are_limits_due = take_turn(&mut self.limits_read_at, LIMITS_PERIOD, now);
        self.limit_reads += usize::from(are_limits_due);
        let are_many = self.are_many();
        for (at, cgroup) in self.cgroups.iter_mut().enumerate() {
            let is_in_limits_turn = are_limits_due
                && (!cgroup.is_idle()
                    || at % IDLE_LIMITS_PERIOD == self.limit_reads % IDLE_LIMITS_PERIOD);
            // A limit matters only to a cgroup that does I/O or that it holds back. A new one may hold it back entirely.
            // In bad seconds all are read; otherwise, a change may be noticed a scan later.
            let is_affected = if is_bad_second {
                !are_many || !cgroup.is_idle()
            } else {
                cgroup.has_changed && at % 2 == self.scans % 2
            };
            if is_in_limits_turn || cgroup.is_unread || is_affected {
                cgroup.read_limits();
                has_worked = true;
            }
        }
        has_worked
    }

    /// Lists the cgroups if it is time to, or if the kernel says that their number has changed. Returns whether it did.
    fn discover_if_due(
        &mut self,
        version: CgroupHierarchy,
        now: Duration,
        is_bad_second: bool,
    ) -> bool {
        let period = if is_bad_second {
            BAD_PERIOD
        } else {
            DISCOVERY_PERIOD
        };
        let population = self.read_population(version);
        let before = std::mem::replace(&mut self.population, population);
        let has_changed = self.population != before;
        if has_changed {
            self.discovered_at = None;
        }
        if !take_turn(&mut self.discovered_at, period, now) {
            return false;
        }
        // The kernel said at each scan that there was none, so those that are new were created since the last one.
        self.discover(version, has_changed && before.is_some());
        true
    }

    /// Reads what changes whenever a cgroup is created: in version 2 the numbers of living and of dying ones, in version 1 their
    /// sum.
    fn read_population(&self, version: CgroupHierarchy) -> Option<Vec<u8>> {
        let text = read_bytes(&self.population_file)?;
        if version == CgroupHierarchy::V2 {
            return Some(text);
        }
        let mut lines = text.split(|byte| *byte == b'\n');
        Some(lines.find(|line| line.starts_with(b"blkio\t"))?.to_vec())
    }

    /// Returns whether there are so many cgroups that those that are idle are read less often.
    fn are_many(&self) -> bool {
        self.cgroups.len() >= MANY_CGROUPS
    }

    /// Reads all cgroups with I/O or limits. The rest of the scan is empty.
    pub(super) fn read(&mut self) -> IoScan {
        let Some(version) = self.version() else {
            return IoScan {
                problem: Some(ScanProblem::NoHierarchy),
                ..IoScan::default()
            };
        };
        let are_many = self.are_many();
        let mut problem = self.problem;
        self.scans = self.scans.wrapping_add(1);
        let mut cgroups = Vec::new();
        for at in 0..self.cgroups.len() {
            // The counters of the parent, which include those of this cgroup, are the same as in the last scan.
            let is_parent_idle = self.cgroups[at]
                .parent
                .is_some_and(|parent| !self.cgroups[parent].has_changed);
            let cgroup = &mut self.cgroups[at];
            let is_idle_with_parent =
                version == CgroupHierarchy::V2 && is_parent_idle && !cgroup.has_changed;
            let is_resting = are_many && cgroup.is_idle();
            let is_out_of_turn = is_resting && at % IDLE_PERIOD != self.scans % IDLE_PERIOD;
            let has_changed = if is_idle_with_parent || is_out_of_turn {
                Ok(false)
            } else {
                cgroup.read_counters()
            };
            cgroup.is_gone = false;
            match has_changed {
                Ok(true) => {
                    if is_resting {
                        cgroup.is_unread = true;
                        cgroup.read_limits();
                    }
                    cgroup.has_changed = true;
                    cgroup.idle_scans = 0;
                }
                Ok(false) => {
                    cgroup.has_changed = false;
                    cgroup.idle_scans = cgroup.idle_scans.saturating_add(1);
                }
                Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                    problem = Some(ScanProblem::NotPermitted);
                    continue;
                }
                Err(_) => {
                    cgroup.is_gone = true;
                    continue;
                }
            }
            let was_created = std::mem::take(&mut cgroup.was_created);
            let is_new = std::mem::take(&mut cgroup.is_unread) && !was_created;
            let devices = cgroup.devices();
            if !devices.is_empty() {
                let pressure = cgroup.read_pressure();
                cgroups.push(Cgroup {
                    path: Arc::clone(&cgroup.path),
                    is_new,
                    devices,
                    pressure,
                });
            }
        }
        IoScan {
            hierarchy: Some(version),
            cgroups,
            problem,
            ..IoScan::default()
        }
    }

    /// Lists the cgroups and keeps what is known about those that were listed before. With `are_new_created`, the others were
    /// created since the last scan.
    fn discover(&mut self, version: CgroupHierarchy, are_new_created: bool) {
        let mut known_before = HashMap::new();
        for cgroup in self.cgroups.drain(..) {
            known_before.insert(Arc::clone(&cgroup.path), cgroup);
        }
        let shown = self
            .hierarchy
            .as_ref()
            .map_or("/", |hierarchy| hierarchy.root.as_str());
        // A root with `..` lies outside the namespace of this process.
        let shown = if shown.contains("..") { "/" } else { shown };
        self.problem = None;
        let mut found: Vec<KnownCgroup> = Vec::new();
        if !self.top.exists() {
            self.problem = Some(ScanProblem::ControllerOff);
            return;
        }
        let mut pending = VecDeque::from([PendingDir {
            dir: self.top.clone(),
            path: shown.to_owned(),
            parent: None,
            is_top: true,
        }]);
        while let Some(next) = pending.pop_front() {
            let PendingDir {
                dir,
                path,
                parent,
                is_top,
            } = next;
            let known = known_before.remove(path.as_str());
            let is_there = known.as_ref().is_some_and(|cgroup| !cgroup.is_gone);
            let is_counted = is_there || dir.join(counters_file(version)).exists();
            // In version 2, the root has the counters of the devices, and a cgroup without the controller has no
            // descendant with it.
            if !is_top && !is_counted {
                continue;
            }
            let mut position = None;
            if is_counted && (!is_top || version == CgroupHierarchy::V1 || shown != "/") {
                if found.len() == MAX_CGROUPS {
                    self.problem = Some(ScanProblem::TooManyCgroups);
                    break;
                }
                position = Some(found.len());
                let cgroup = known.unwrap_or_else(|| KnownCgroup {
                    path: Arc::from(path.as_str()),
                    counters: dir.join(counters_file(version)),
                    dir: dir.clone(),
                    has_changed: true,
                    is_unread: true,
                    was_created: are_new_created,
                    ..KnownCgroup::default()
                });
                found.push(KnownCgroup {
                    version,
                    parent,
                    ..cgroup
                });
            }
            match list_children(&dir) {
                Ok(children) => {
                    for (dir, name) in children {
                        pending.push_back(PendingDir {
                            dir,
                            path: format!("{}/{name}", path.trim_end_matches('/')),
                            parent: position,
                            is_top: false,
                        });
                    }
                }
                Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                    self.problem = Some(ScanProblem::NotPermitted);
                }
                // It was removed.
                Err(_) => {}
            }
        }
        if found.is_empty() && self.problem.is_none() {
            self.problem = Some(ScanProblem::ControllerOff);
        }
        self.cgroups = found;
    }
}

/// Returns the version and the mount point of the hierarchy below `root`, and the file there that counts bytes; `None` if
/// none that counts I/O is mounted.
pub fn cgroup_mount(root: &Path) -> Option<(CgroupHierarchy, String, PathBuf)> {
    let CgroupReader { hierarchy, top, .. } = CgroupReader::new(root);
    let Hierarchy {
        version,
        mountpoint,
        ..
    } = hierarchy?;
    Some((version, mountpoint, top.join(counters_file(version))))
}

/// Returns the directories in the directory of a cgroup, with their names, in which bytes that are not UTF-8 are
/// replaced; ordered by name.
///
/// # Errors
/// If the directory is gone or cannot be read.
fn list_children(dir: &Path) -> io::Result<Vec<(PathBuf, String)>> {
    // The links of a directory without children: its name in its parent, and its own `.`. Most cgroups have none.
    if metadata(dir)?.nlink() == 2 {
        return Ok(Vec::new());
    }
    let mut children = Vec::new();
    for entry in read_dir(dir)?.flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            let name = entry.file_name().to_string_lossy().into_owned();
            children.push((entry.path(), name));
        }
    }
    children.sort();
    Ok(children)
}

/// Returns whether a period has passed since `last`, which is then set to now.
fn take_turn(last: &mut Option<Duration>, period: Duration, now: Duration) -> bool {
    let is_due = last.is_none_or(|last| now >= last + period);
    if is_due {
        *last = Some(now);
    }
    is_due
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hierarchy {
    pub(super) version: CgroupHierarchy,
    pub(super) mountpoint: String,
    /// The cgroup that the mount point shows, `/` unless in a container.
    pub(super) root: String,
}

/// Finds the hierarchy that counts I/O in the text of /proc/PID/mountinfo: `blkio` of version 1 if it is mounted,
/// because a controller belongs to only one hierarchy; otherwise the hierarchy of version 2. `None` without either.
///
/// In a hybrid system both are mounted, and the one of version 2 has no controllers.
pub(super) fn find_hierarchy(mountinfo: &str) -> Option<Hierarchy> {
    let mut v2 = None;
    for line in mountinfo.lines() {
        let Ok(mount) = MountInfo::from_line(line) else {
            continue;
        };
        let version = match mount.fs_type.as_str() {
            "cgroup" if mount.super_options.contains_key("blkio") => CgroupHierarchy::V1,
            "cgroup2" if v2.is_none() => CgroupHierarchy::V2,
            _ => continue,
        };
        let found = Hierarchy {
            version,
            mountpoint: unescape(mount.mount_point.to_str()?),
            root: unescape(&mount.root),
        };
        if version == CgroupHierarchy::V1 {
            return Some(found);
        }
        v2 = Some(found);
    }
    v2
}

/// Returns the name of the file with the bytes of a cgroup.
pub(super) fn counters_file(version: CgroupHierarchy) -> &'static str {
    match version {
        CgroupHierarchy::V1 => SERVICE_BYTES,
        CgroupHierarchy::V2 => IO_STAT,
    }
}
