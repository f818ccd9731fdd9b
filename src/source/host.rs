//! The host: its name, its kernel, the number of its CPUs, its time zone, and what this process may read of it.

use std::ffi::OsStr;
use std::path::Path;

use jiff::tz::TimeZone;
use rustix::system::uname;
use rustix::thread::{CapabilitySet, capabilities};

use super::reread_topology;
use super::small_file::{file_name, paths_in, read_bytes, read_line, read_text};
use super::topology::is_number;
use crate::capture::RecordingHeader;
use crate::topology::{Machine, Topology};

/// Describes the running host, whose CPUs are counted below `root`, as uname(2) does; and its hardware, such as `x86_64`.
pub fn running_host(root: &Path) -> (RecordingHeader, String) {
    let uname = uname();
    let [host, kernel, hardware] = [uname.nodename(), uname.release(), uname.machine()]
        .map(|name| name.to_string_lossy().into_owned());
    let header = RecordingHeader {
        host: Some(host),
        kernel: Some(kernel),
        cpus: count_cpus(root),
        ..RecordingHeader::default()
    };
    (header, hardware)
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
    let machine = Machine {
        sys_vendor: read_line(&dmi.join("sys_vendor")),
        product_name: read_line(&dmi.join("product_name")),
        chassis_asset_tag: read_line(&dmi.join("chassis_asset_tag")),
    };
    machine.bounded()
}

/// Counts the CPUs, including those that are offline, or without /sys those in /proc/stat; `None` if neither lists them.
pub fn count_cpus(root: &Path) -> Option<usize> {
    let mut count = 0;
    for path in paths_in(&root.join("sys/devices/system/cpu")) {
        count += usize::from(is_cpu(&file_name(&path).unwrap_or_default()));
    }
    if count == 0 {
        for line in read_text(&root.join("proc/stat"))?.lines() {
            count += usize::from(is_cpu(line.split(' ').next().unwrap_or_default()));
        }
    }
    if count == 0 { None } else { Some(count) }
}

/// Returns whether this is `cpu` with a number.
fn is_cpu(name: &str) -> bool {
    match name.strip_prefix("cpu") {
        Some(number) => is_number(number),
        None => false,
    }
}

/// Returns whether this process has the capabilities that permit it to read `/proc/PID/io` of all processes. A security
/// policy, or processes of another user namespace, may need more.
pub fn has_process_io_capabilities() -> bool {
    let needed = CapabilitySet::DAC_READ_SEARCH | CapabilitySet::SYS_PTRACE;
    capabilities(None).is_ok_and(|sets| sets.effective.contains(needed))
}

/// Returns whether this process ignores SIGHUP, as one that `nohup` started does. `false` if that is not known.
pub fn ignores_hangup() -> bool {
    read_text(Path::new("/proc/self/status")).is_some_and(|status| has_hangup(&status))
}

/// Returns whether the ignored signals in a status file include SIGHUP: the lowest bit is signal 1
/// (proc_pid_status(5)).
fn has_hangup(status: &str) -> bool {
    for line in status.lines() {
        if let Some(mask) = line.strip_prefix("SigIgn:") {
            return u64::from_str_radix(mask.trim(), 16).unwrap_or(0) & 1 == 1;
        }
    }
    false
}

/// Returns the local time zone as [`find_time_zone`] does; UTC if the variable TZ names none.
pub fn local_time_zone(tz: Option<&OsStr>) -> TimeZone {
    find_time_zone(tz).unwrap_or(TimeZone::UTC)
}

/// Reads the local time zone: from the variable TZ (tzset(3)), else from /etc/localtime, else UTC. `None` if TZ names
/// no time zone.
///
/// This reads one file. jiff would list every zone of the system first, which takes longer than a report.
pub fn find_time_zone(tz: Option<&OsStr>) -> Option<TimeZone> {
    let Some(tz) = tz else {
        return Some(read_zone(Path::new("/etc/localtime")).unwrap_or(TimeZone::UTC));
    };
    let text = tz.to_string_lossy();
    let name = text.strip_prefix(':').unwrap_or(&text);
    if name.is_empty() {
        return Some(TimeZone::UTC);
    }
    if let Some(zone) = read_zone(&Path::new("/usr/share/zoneinfo").join(name)) {
        return Some(zone);
    }
    match TimeZone::posix(name) {
        Ok(zone) => Some(zone),
        // UTC needs no file: a small container has none.
        Err(_) if matches!(name, "UTC" | "Etc/UTC" | "GMT") => Some(TimeZone::UTC),
        Err(_) => None,
    }
}

fn read_zone(path: &Path) -> Option<TimeZone> {
    TimeZone::tzif(&path.to_string_lossy(), &read_bytes(path)?).ok()
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    #[test]
    fn the_lowest_bit_of_the_ignored_signals_is_hangup() {
        assert!(has_hangup(
            "Name:\tblkstat\nSigIgn:\t0000000000001001\nSigCgt:\t0000000000000000\n"
        ));
        assert!(!has_hangup(
            "SigBlk:\t0000000000000001\nSigIgn:\t0000000000001000\n"
        ));
        assert!(!has_hangup(""));
    }

    fn at_epoch(tz: &str) -> String {
        Timestamp::UNIX_EPOCH
            .to_zoned(local_time_zone(Some(OsStr::new(tz))))
            .strftime("%Y-%m-%dT%H:%M:%S%z")
            .to_string()
    }

    #[test]
    fn a_posix_rule_needs_no_file() {
        assert_eq!(at_epoch("IST-5:30"), "1970-01-01T05:30:00+0530");
        assert_eq!(
            at_epoch(":EST5EDT,M3.2.0,M11.1.0"),
            "1969-12-31T19:00:00-0500"
        );
    }

    #[test]
    fn an_empty_or_unknown_zone_is_utc() {
        assert!(find_time_zone(Some(OsStr::new("No/Such_Zone"))).is_none());
        assert!(find_time_zone(Some(OsStr::new("UTC"))).is_some());
        assert_eq!(at_epoch(""), "1970-01-01T00:00:00+0000");
        assert_eq!(at_epoch("No/Such_Zone"), "1970-01-01T00:00:00+0000");
    }
}
