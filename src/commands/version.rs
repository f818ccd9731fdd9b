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
            text.extend(
                facts(&host.root)
                    .iter()
                    .map(|(name, fact)| format!("{name}: {}\n", sanitize(fact))),
            );
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
    let top = if cfg!(feature = "top") {
        "top"
    } else {
        "without top"
    };
    let read = |path: &str| read_text_file(&root.join(path));
    let line =
        |path: &str| Some(read(path).ok()?.trim().to_owned()).filter(|line| !line.is_empty());
    let unknown = || "not known".to_owned();
    let task_delays = line("proc/sys/kernel/task_delayacct").map(|value| match value.as_str() {
        "1" => "on".to_owned(),
        _ => "off: the time that a task waits for devices is not known".to_owned(),
    });
    let pressure = |path: &str| {
        let is_valid = parse_pressure(read(path)?.as_bytes()).is_some();
        is_valid
            .then_some(())
            .ok_or_else(|| io::Error::other("not the text of a pressure file"))
    };
    let events = |place: &str| list_devices(&root.join(place).join("events/block")).map(drop);
    // tracefs is mounted by itself or in debugfs.
    let tracing = || {
        events("sys/kernel/tracing")
            .or_else(|error| events("sys/kernel/debug/tracing").map_err(|_| error))
    };
    let blocks =
        list_devices(&root.join("sys/block")).map(|names| format!("{} listed", names.len()));
    let (user, lockable) = privileges();
    let mut facts = vec![
        (
            "target",
            format!("{ARCH}-linux-{libc}, linked {linked}{profile}"),
        ),
        (
            "features",
            format!("{top}; gzip is read and written, zstd is read"),
        ),
        (
            "kernel",
            line("proc/sys/kernel/osrelease").unwrap_or_else(unknown),
        ),
        (
            "CPUs",
            count_cpus(root).map_or_else(unknown, |cpus| cpus.to_string()),
        ),
        ("user", user),
        ("lockable memory", lockable),
        (
            "/proc/diskstats",
            shown(read("proc/diskstats").map(|text| diskstats(&text))),
        ),
        ("/sys/block", shown(blocks)),
        ("/proc/pressure/io", readable(pressure("proc/pressure/io"))),
        (
            "/proc/pressure/memory",
            readable(pressure("proc/pressure/memory")),
        ),
        ("/proc/PID/io", shown(process_io(&root.join("proc")))),
        ("kernel.task_delayacct", task_delays.unwrap_or_else(unknown)),
        ("trace events of block devices", readable(tracing())),
    ];
    let Some((version, mountpoint, counters)) = cgroup_mount(root) else {
        facts.push(("cgroups", "none that count I/O are mounted".to_owned()));
        return facts;
    };
    let (file, controllers) = match version {
        CgroupHierarchy::V1 => (
            "blkio.throttle.io_service_bytes",
            read("proc/cgroups").map(|text| mounted_controllers(&text)),
        ),
        CgroupHierarchy::V2 => {
            let text = read_text_file(&counters.with_file_name("cgroup.controllers"));
            (
                "io.stat",
                text.map(|text| text.split_whitespace().map(str::to_owned).collect()),
            )
        }
    };
    facts.push((
        "cgroups",
        format!("version {} at {mountpoint}", version as u8),
    ));
    facts.push((
        "cgroup controllers",
        shown(controllers.map(|names| list(&names, " "))),
    ));
    facts.push((file, readable(read_text_file(&counters).map(drop))));
    facts
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
    let held = CAPABILITIES
        .iter()
        .filter(|(capability, _)| effective.contains(*capability));
    let names: Vec<&str> = held.map(|(_, name)| *name).collect();
    let names = if names.is_empty() {
        "no relevant capabilities".to_owned()
    } else {
        names.join(" ")
    };
    let limit = getrlimit(Resource::Memlock).current;
    let limit = limit.filter(|_| !effective.contains(CapabilitySet::IPC_LOCK));
    (
        format!("uid {}, {names}", geteuid().as_raw()),
        limit.map_or_else(|| "no limit".to_owned(), lsblk_size),
    )
}

/// Describes the lines of /proc/diskstats, with the numbers of columns that they have.
fn diskstats(text: &str) -> String {
    let columns = text
        .lines()
        .map(|line| line.split_whitespace().count())
        .filter(|columns| *columns > 0);
    let columns: Vec<usize> = columns.collect();
    let different: Vec<String> = BTreeSet::from_iter(&columns)
        .into_iter()
        .map(usize::to_string)
        .collect();
    format!(
        "{} lines, {} columns",
        columns.len(),
        list(&different, " or ")
    )
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
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let fields = lines.map(|line| line.split_whitespace().collect::<Vec<_>>());
    let mounted = fields.filter(|fields| fields.get(1) != Some(&"0"));
    mounted
        .filter_map(|fields| Some((*fields.first()?).to_owned()))
        .collect()
}
