//! `blkstat version`, `-V` and `--version`: prints the version, or all facts for the report of a bug.

use std::collections::BTreeSet;
use std::env::consts::ARCH;
use std::io::{self, ErrorKind};
use std::path::Path;

use anyhow::Result;
use clap::Args;
use rustix::process::{Resource, geteuid, getrlimit};
use rustix::thread::{CapabilitySet, capabilities};

use super::options::Host;
use crate::capture::proc_files::parse_pressure;
use crate::console::RunContext;
use crate::counters::CgroupHierarchy;
use crate::exit::Exit;
use crate::os_error::os_error_text;
use crate::report::layout::number_format::lsblk_size;
use crate::sanitize::sanitize;
use crate::source::{
    cgroup_mount, count_cpus, has_process_io_capabilities, list_devices, list_ids, read_text_file,
};

#[derive(Args, Clone, Debug)]
#[command(override_usage = "blkstat version [OPTIONS]")]
pub struct Version {
    /// Also print the build and what can be read on this host, for bug reports
    #[arg(short, long)]
    pub(super) verbose: bool,
}

impl Version {
    pub(super) fn run(&self, host: &Host, context: &mut RunContext<'_>) -> Result<Exit> {
        let mut text = concat!("blkstat ", env!("CARGO_PKG_VERSION"), "\n").to_owned();
        if self.verbose {
            for (name, fact) in facts(&host.root) {
                text += &format!("{name}: {}\n", sanitize(&fact));
            }
        }
        context.emit(&mut text.into_bytes())?;
        Ok(Exit::Success)
    }
}

/// The most processes that are checked.
const MAX_PROCESSES: usize = 20_000;

/// The capabilities that give blkstat more to read or lock.
const CAPABILITIES: [(CapabilitySet, &str); 5] = [
    (CapabilitySet::DAC_OVERRIDE, "CAP_DAC_OVERRIDE"),
    (CapabilitySet::DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH"),
    (CapabilitySet::SYS_PTRACE, "CAP_SYS_PTRACE"),
    (CapabilitySet::SYS_ADMIN, "CAP_SYS_ADMIN"),
    (CapabilitySet::IPC_LOCK, "CAP_IPC_LOCK"),
];

/// Returns how the program was built, and which sources of the host below `root` it can read: names and facts.
fn facts(root: &Path) -> Vec<(&'static str, String)> {
    let (user, lockable) = privileges();
    let proc = root.join("proc");
    let diskstats = read_text_file(&proc.join("diskstats"));
    let blocks = list_devices(&root.join("sys/block"));
    let cpus = count_cpus(root);
    let mut facts = vec![
        ("target", target()),
        ("features", features()),
        ("kernel", kernel_setting("osrelease", root)),
        (
            "CPUs",
            cpus.map_or(UNKNOWN.to_owned(), |cpus| cpus.to_string()),
        ),
        ("user", user),
        ("lockable memory", lockable),
        (
            "/proc/diskstats",
            shown(diskstats.map(|text| lines_and_columns(&text))),
        ),
        (
            "/sys/block",
            shown(blocks.map(|names| format!("{} listed", names.len()))),
        ),
        (
            "/proc/pressure/io",
            readable(read_pressure(&proc.join("pressure/io"))),
        ),
        (
            "/proc/pressure/memory",
            readable(read_pressure(&proc.join("pressure/memory"))),
        ),
        ("/proc/PID/io", shown(process_io(&proc))),
        ("kernel.task_delayacct", task_delays(root)),
        ("trace events of block devices", readable(list_events(root))),
    ];
    facts.extend(cgroup_facts(root));
    facts
}

const UNKNOWN: &str = "not known";

fn target() -> String {
    let libc = if cfg!(target_env = "musl") {
        "musl"
    } else {
        "gnu"
    };
    let linked = if cfg!(target_feature = "crt-static") {
        "statically"
    } else {
        "dynamically"
    };
    let profile = if cfg!(debug_assertions) {
        ", debug build"
    } else {
        ""
    };
    format!("{ARCH}-linux-{libc}, linked {linked}{profile}")
}

fn features() -> String {
    let top = if cfg!(feature = "top") {
        "top"
    } else {
        "without top"
    };
    format!("{top}; gzip is read and written, zstd is read")
}

/// Returns a setting in /proc/sys/kernel.
fn kernel_setting(name: &str, root: &Path) -> String {
    let text = read_text_file(&root.join("proc/sys/kernel").join(name)).unwrap_or_default();
    match text.trim() {
        "" => UNKNOWN.to_owned(),
        setting => setting.to_owned(),
    }
}

fn task_delays(root: &Path) -> String {
    let setting = kernel_setting("task_delayacct", root);
    match setting.as_str() {
        "1" => "on".to_owned(),
        UNKNOWN => setting,
        _ => "off: the time that a task waits for devices is not known".to_owned(),
    }
}

fn read_pressure(path: &Path) -> io::Result<()> {
    match parse_pressure(read_text_file(path)?.as_bytes()) {
        Some(_) => Ok(()),
        None => Err(io::Error::other("not the text of a pressure file")),
    }
}

/// Lists the trace events: tracefs is mounted by itself or in debugfs.
fn list_events(root: &Path) -> io::Result<()> {
    let alone = list_devices(&root.join("sys/kernel/tracing/events/block"));
    if alone.is_err() && list_devices(&root.join("sys/kernel/debug/tracing/events/block")).is_ok() {
        return Ok(());
    }
    alone.map(drop)
}

fn cgroup_facts(root: &Path) -> Vec<(&'static str, String)> {
    let Some((version, mountpoint, counters)) = cgroup_mount(root) else {
        return vec![("cgroups", "none that count I/O are mounted".to_owned())];
    };
    let (file, controllers) = match version {
        CgroupHierarchy::V1 => {
            let text = read_text_file(&root.join("proc/cgroups"));
            let controllers = text.map(|text| mounted_controllers(&text));
            ("blkio.throttle.io_service_bytes", controllers)
        }
        CgroupHierarchy::V2 => {
            let text = read_text_file(&counters.with_file_name("cgroup.controllers"));
            let controllers = text.map(|text| text.split_whitespace().map(str::to_owned).collect());
            ("io.stat", controllers)
        }
    };
    vec![
        (
            "cgroups",
            format!("version {} at {mountpoint}", version as u8),
        ),
        (
            "cgroup controllers",
            shown(controllers.map(|names: Vec<String>| list(&names, " "))),
        ),
        (file, readable(read_text_file(&counters).map(drop))),
    ]
}

/// Returns a fact, or why it cannot be read.
fn shown(fact: io::Result<String>) -> String {
    fact.unwrap_or_else(|error| format!("not readable: {}", os_error_text(&error)))
}

fn readable(access: io::Result<()>) -> String {
    shown(access.map(|()| "readable".to_owned()))
}

fn list(items: &[String], separator: &str) -> String {
    if items.is_empty() {
        "none".to_owned()
    } else {
        items.join(separator)
    }
}

/// Returns the user with the relevant capabilities, and the memory that it may lock.
fn privileges() -> (String, String) {
    let effective = capabilities(None).map_or(CapabilitySet::empty(), |sets| sets.effective);
    let mut names = Vec::new();
    for (capability, name) in CAPABILITIES {
        if effective.contains(capability) {
            names.push(name);
        }
    }
    let held = match names.len() {
        0 => "no relevant capabilities".to_owned(),
        _ => names.join(" "),
    };
    let lockable = match getrlimit(Resource::Memlock).current {
        Some(limit) if !effective.contains(CapabilitySet::IPC_LOCK) => lsblk_size(limit),
        _ => "no limit".to_owned(),
    };
    (format!("uid {}, {held}", geteuid().as_raw()), lockable)
}

/// Describes the lines of /proc/diskstats, with the numbers of columns that they have.
fn lines_and_columns(text: &str) -> String {
    let mut lines = 0;
    let mut counts = BTreeSet::new();
    for line in text.lines() {
        let columns = line.split_whitespace().count();
        if columns > 0 {
            lines += 1;
            counts.insert(columns);
        }
    }
    let counts: Vec<String> = counts.iter().map(usize::to_string).collect();
    format!("{lines} lines, {} columns", list(&counts, " or "))
}

/// Describes the processes whose I/O can be read.
fn process_io(proc: &Path) -> io::Result<String> {
    list_devices(proc)?;
    let (mut readable, mut refused) = (0, 0);
    for pid in list_ids(proc).into_iter().take(MAX_PROCESSES) {
        match read_text_file(&proc.join(pid.to_string()).join("io")) {
            Ok(_) => readable += 1,
            Err(error) if error.kind() == ErrorKind::PermissionDenied => refused += 1,
            // The process ended, or the kernel has no such file.
            Err(_) => {}
        }
    }
    match (readable, refused) {
        (0, 0) => Err(io::Error::other("no process has this file")),
        (_, 0) => Ok(format!("readable for all processes ({readable})")),
        _ => {
            let remedy = match has_process_io_capabilities() {
                true => "",
                false => {
                    "; those of other users need root, or CAP_DAC_READ_SEARCH and CAP_SYS_PTRACE"
                }
            };
            Ok(format!(
                "readable for {readable} of {} processes{remedy}",
                readable + refused
            ))
        }
    }
}

/// Returns the controllers in /proc/cgroups that are in a hierarchy of version 1: their hierarchy has a number.
fn mounted_controllers(text: &str) -> Vec<String> {
    let mut controllers = Vec::new();
    for line in text.lines() {
        let mut fields = line.split_whitespace();
        if let Some(name) = fields.next()
            && !name.starts_with('#')
            && fields.next() != Some("0")
        {
            controllers.push(name.to_owned());
        }
    }
    controllers
}
