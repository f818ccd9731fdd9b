//! The version of the program with the facts that a bug report needs, one per line.

use std::env::consts::ARCH;

use super::layout::number_format::lsblk_size;
use crate::counters::{Access, CgroupHierarchy, CgroupSource, HostSources, Privileges, ProcessIoSource};
use crate::sanitize::sanitize;

/// Formats the version, how the program was built, and the sources of a host that it can read.
pub fn version(sources: &HostSources) -> String {
    let mut lines = vec![concat!("blkstat ", env!("CARGO_PKG_VERSION")).to_owned()];
    let mut push = |name: &str, fact: &str| lines.push(format!("{name}: {}", sanitize(fact)));
    push("target", &target());
    push("features", &features());
    push("kernel", sources.kernel.as_deref().unwrap_or(UNKNOWN));
    push("CPUs", &sources.cpus.map_or_else(|| UNKNOWN.to_owned(), |cpus| cpus.to_string()));
    push("user", &user(&sources.privileges));
    push("lockable memory", &lockable(&sources.privileges));
    push(
        "/proc/diskstats",
        &access(&sources.diskstats, |found| {
            format!("{} lines, {} columns", found.devices, list(&found.columns, " or "))
        }),
    );
    push("/sys/block", &access(&sources.block_devices, |devices| format!("{devices} listed")));
    push("/proc/pressure/io", &access(&sources.io_pressure, readable));
    push("/proc/pressure/memory", &access(&sources.memory_pressure, readable));
    push("/proc/PID/io", &access(&sources.process_io, |found| process_io(found, &sources.privileges)));
    push(
        "kernel.task_delayacct",
        match sources.has_task_delays {
            Some(true) => "on",
            Some(false) => "off: the time that a task waits for devices is not known",
            None => UNKNOWN,
        },
    );
    push("trace events of block devices", &access(&sources.block_events, readable));
    push_cgroups(sources.cgroups.as_ref(), &mut push);
    lines.join("\n") + "\n"
}

const UNKNOWN: &str = "not known";

/// Returns the target as Debian names it, and how the program is linked.
fn target() -> String {
    let libc = if cfg!(target_env = "musl") { "musl" } else { "gnu" };
    let linked = if cfg!(target_feature = "crt-static") { "statically" } else { "dynamically" };
    let profile = if cfg!(debug_assertions) { ", debug build" } else { "" };
    format!("{ARCH}-linux-{libc}, linked {linked}{profile}")
}

/// Returns the features of the build.
fn features() -> String {
    let top = if cfg!(feature = "top") { "top" } else { "without top" };
    format!("{top}; gzip is read and written, zstd is read")
}

fn access<T>(access: &Access<T>, describe: impl FnOnce(&T) -> String) -> String {
    access.as_ref().map_or_else(|error| format!("not readable: {error}"), describe)
}

fn readable(_: &()) -> String {
    "readable".to_owned()
}

fn list<T: ToString>(items: &[T], separator: &str) -> String {
    let items: Vec<String> = items.iter().map(T::to_string).collect();
    if items.is_empty() { "none".to_owned() } else { items.join(separator) }
}

fn user(privileges: &Privileges) -> String {
    let capabilities = match privileges.capabilities.as_slice() {
        [] => "no relevant capabilities".to_owned(),
        held => list(held, " "),
    };
    format!("uid {}, {capabilities}", privileges.uid)
}

fn lockable(privileges: &Privileges) -> String {
    match privileges.memory_lock_bytes {
        _ if privileges.capabilities.contains(&"CAP_IPC_LOCK") => "no limit".to_owned(),
        None => "no limit".to_owned(),
        Some(limit) => lsblk_size(limit),
    }
}

fn process_io(found: &ProcessIoSource, privileges: &Privileges) -> String {
    let ProcessIoSource { readable, refused } = *found;
    if refused == 0 {
        return format!("readable for all processes ({readable})");
    }
    let has = |name: &str| privileges.capabilities.contains(&name);
    let remedy = match has("CAP_DAC_READ_SEARCH") && has("CAP_SYS_PTRACE") {
        true => "",
        false => "; those of other users need root, or CAP_DAC_READ_SEARCH and CAP_SYS_PTRACE",
    };
    format!("readable for {readable} of {} processes{remedy}", readable + refused)
}

fn push_cgroups(source: Option<&CgroupSource>, push: &mut impl FnMut(&str, &str)) {
    let Some(source) = source else {
        return push("cgroups", "none that count I/O are mounted");
    };
    let (version, file) = match source.version {
        CgroupHierarchy::V1 => (1, "blkio.throttle.io_service_bytes"),
        CgroupHierarchy::V2 => (2, "io.stat"),
    };
    push("cgroups", &format!("version {version} at {}", source.mountpoint));
    push("cgroup controllers", &access(&source.controllers, |names| list(names, " ")));
    push(file, &access(&source.io, readable));
}
