//! `blkstat version`, `-V` and `--version`: prints the version, or all facts for the report of a bug.

use std::collections::BTreeSet;
use std::env::consts::ARCH;
use std::io;
use std::path::Path;

use anyhow::Result;
use clap::Args;
use rustix::process::geteuid;
use rustix::thread::{CapabilitySet, capabilities};

use super::options::Host;
use crate::capture::proc_files::parse_pressure;
use crate::console::RunContext;
use crate::exit::Exit;
use crate::os_error::os_error_text;
use crate::sanitize::sanitize;
use crate::source::{cgroup_mount, count_cpus, list_devices, read_text_file};

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

/// The capabilities that give blkstat more to read or lock.
const CAPABILITIES: [(CapabilitySet, &str); 5] = [
    (CapabilitySet::DAC_OVERRIDE, "DAC_OVERRIDE"),
    (CapabilitySet::DAC_READ_SEARCH, "DAC_READ_SEARCH"),
    (CapabilitySet::SYS_PTRACE, "SYS_PTRACE"),
    (CapabilitySet::SYS_ADMIN, "SYS_ADMIN"),
    (CapabilitySet::IPC_LOCK, "IPC_LOCK"),
];

/// Returns how the program was built, and which sources of the host below `root` it can read: names and facts.
fn facts(root: &Path) -> Vec<(&'static str, String)> {
    let proc = root.join("proc");
    let diskstats = read_text_file(&proc.join("diskstats"));
    let cpus = count_cpus(root);
    vec![
        ("target", target()),
        ("kernel", kernel_setting("osrelease", root)),
        (
            "CPUs",
            cpus.map_or(UNKNOWN.to_owned(), |cpus| cpus.to_string()),
        ),
        ("user", user()),
        (
            "/proc/diskstats",
            shown(diskstats.map(|text| lines_and_columns(&text))),
        ),
        (
            "/proc/pressure/io",
            readable(read_pressure(&proc.join("pressure/io"))),
        ),
        (
            "kernel.task_delayacct",
            kernel_setting("task_delayacct", root),
        ),
        ("trace events of block devices", readable(list_events(root))),
        ("cgroups", cgroups(root)),
    ]
}

const UNKNOWN: &str = "not known";

fn target() -> String {
    let libc = if cfg!(target_env = "musl") {
        "musl"
    } else {
        "gnu"
    };
    let profile = if cfg!(debug_assertions) {
        ", debug build"
    } else {
        ""
    };
    format!("{ARCH}-linux-{libc}{profile}")
}

/// Returns a setting in /proc/sys/kernel.
fn kernel_setting(name: &str, root: &Path) -> String {
    let text = read_text_file(&root.join("proc/sys/kernel").join(name)).unwrap_or_default();
    match text.trim() {
        "" => UNKNOWN.to_owned(),
        setting => setting.to_owned(),
    }
}

/// Returns the user with the relevant capabilities.
fn user() -> String {
    let effective = capabilities(None).map_or(CapabilitySet::empty(), |sets| sets.effective);
    let mut user = format!("uid {}", geteuid().as_raw());
    for (capability, name) in CAPABILITIES {
        if effective.contains(capability) {
            user += &format!(", {name}");
        }
    }
    user
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

/// Returns the version of the cgroups that count I/O, and whether their counters can be read.
fn cgroups(root: &Path) -> String {
    let Some((version, mountpoint, counters)) = cgroup_mount(root) else {
        return "none that count I/O are mounted".to_owned();
    };
    let access = readable(read_text_file(&counters).map(drop));
    format!(
        "version {} at {mountpoint}, counters {access}",
        version as u8
    )
}

/// Returns a fact, or why it cannot be read.
fn shown(fact: io::Result<String>) -> String {
    fact.unwrap_or_else(|error| format!("not readable: {}", os_error_text(&error)))
}

fn readable(access: io::Result<()>) -> String {
    shown(access.map(|()| "readable".to_owned()))
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
    format!("{lines} lines, {} columns", counts.join(" or "))
}
