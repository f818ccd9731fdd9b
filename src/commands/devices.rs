//! `blkstat devices`: reads the block-device tree and prints it.

use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::Args;

use super::options::Host;
use crate::console::{RunContext, require_text};
use crate::counters::Sample;
use crate::exit::Exit;
use crate::os_error::os_error_text;
use crate::report::devices::{is_shown, json, tree};
use crate::sanitize::sanitize;
use crate::source::{NoBlockDevices, Replay, check_block_dir, read_topology};
use crate::topology::Topology;

#[derive(Args, Clone, Debug)]
#[command(override_usage = "blkstat devices [OPTIONS]")]
pub struct Devices {
    /// Show the devices of the host that FILE was recorded on
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    /// Include unused devices, such as loop devices without a file
    #[arg(long)]
    all: bool,
    /// Print one JSON document with every device
    #[arg(long)]
    json: bool,
}

impl Devices {
    pub(super) fn run(&self, host: &Host, context: &mut RunContext<'_>) -> Result<Exit> {
        let (topology, place) = match &self.from {
            Some(path) => recorded_topology(path, context)?,
            None => live_topology(&host.root)?,
        };
        if topology.nodes().is_empty() {
            if self.from.is_none() {
                return Err(NoBlockDevices::empty_list(&place).into());
            }
            context.print_error(format_args!("no block devices in {place}"));
            return Ok(Exit::NoData);
        }
        let mut text = Vec::new();
        if self.json {
            json(&topology, &mut text);
        } else if topology.nodes().iter().any(|node| is_shown(node, &topology, self.all)) {
            tree(&topology, self.all, context.width(), &mut text);
        } else {
            context
                .print_error(format_args!("no block device in {place} is in use; --all lists unused ones"));
            return Ok(Exit::NoData);
        }
        context.emit(&mut text)?;
        Ok(Exit::Success)
    }
}

/// Reads the devices of the system below `root`. Returns them with the name of the directory that lists them.
///
/// # Errors
/// If that directory does not exist ([`NoBlockDevices`]) or cannot be read.
fn live_topology(root: &Path) -> Result<(Topology, String)> {
    let block = root.join("sys/block");
    let place = sanitize(&block.display().to_string()).into_owned();
    if let Err(error) = check_block_dir(&block) {
        let reason = format!("cannot read {place}: {}", os_error_text(&error));
        if error.kind() == io::ErrorKind::NotFound {
            return Err(NoBlockDevices::missing_list(&reason).into());
        }
        bail!(reason);
    }
    Ok((read_topology(root), place))
}

/// Reads the devices in the header of a recording, or infers them from the names in the first sample of another
/// capture. Returns them with the name of the file; without devices if it has no samples.
///
/// # Errors
/// If the file cannot be read or is not a text file.
fn recorded_topology(path: &Path, context: &RunContext<'_>) -> Result<(Topology, String)> {
    let mut replay = Replay::open(path, None, context.clock)?;
    let mut sample = Sample::default();
    let place = sanitize(replay.name()).into_owned();
    if !replay.next(&Sample::default(), &mut sample)? {
        require_text(&replay)?;
        return Ok((Topology::default(), place));
    }
    let recorded = replay.header().map(|header| header.topology.clone());
    let recorded = recorded.filter(|topology| !topology.nodes().is_empty());
    Ok((recorded.unwrap_or_else(|| Topology::from_names(&sample.devices)), place))
}
