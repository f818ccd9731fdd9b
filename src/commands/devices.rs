//! `blkstat devices`: reads the block-device tree and prints it.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Result, bail};
use clap::Args;

use super::options::{ANY_FIRST, CaptureOptions, Host, Operands, WidthOption, usage_error};
use crate::console::{RunContext, require_text};
use crate::counters::{Device, HealthFacts, Sample};
use crate::exit::{Exit, NoData};
use crate::intervals::find_devices;
use crate::os_error::os_error_text;
use crate::report::devices::{ShownDevices, csv, json, tree};
use crate::sanitize::{path_text, sanitize};
use crate::schedule::Schedule;
use crate::source::{
    DeviceResolver, HealthReader, Input, Replay, check_stated, list_devices, read_topology,
    with_stated,
};
use crate::time_range::TimeRange;
use crate::topology::Topology;

#[derive(Args, Clone, Debug)]
#[command(override_usage = "blkstat devices [OPTIONS] [FILE | DEVICE]...")]
pub struct Devices {
    // Completion scripts show these words; --help shows VIEW_OPERANDS.
    /// Recording, and devices
    #[arg(value_name = "DEVICE", hide = true)]
    operands: Vec<String>,
    /// Show the devices of the host on which FILE was recorded
    #[arg(short, long, value_name = "FILE")]
    from: Option<PathBuf>,
    #[command(flatten)]
    capture: CaptureOptions,
    /// Include unused devices, such as loop devices without a file
    #[arg(short, long)]
    all: bool,
    /// Print one JSON document with every device
    #[arg(short, long, conflicts_with = "csv")]
    json: bool,
    /// Print lines of CSV
    #[arg(long)]
    csv: bool,
    #[command(flatten)]
    width: WidthOption,
}

impl Devices {
    pub(super) fn run(&self, host: &Host, context: &mut RunContext<'_>) -> Result<Exit> {
        let operands = Operands::split(&self.operands, ANY_FIRST, self.from.as_ref(), &host.root);
        let Operands {
            files,
            devices,
            schedule,
        } = operands.map_err(usage_error)?;
        if schedule != Schedule::default() {
            return Err(usage_error(
                "devices shows the devices once, without INTERVAL and COUNT",
            ));
        }
        let input = host.input(&files, TimeRange::default(), schedule, &self.capture)?;
        let (topology, facts, place) = match &input.from {
            Some(first) => recorded_topology(first, &input, context)?,
            None => live_topology(&host.root, context)?,
        };
        if topology.nodes().is_empty() {
            let reason = format!("no block devices in {place}");
            let error = match input.from {
                Some(_) => NoData(reason),
                None => NoData::without_devices(&reason),
            };
            return Err(error.into());
        }
        let named = find_named(&devices, &topology, &input)?;
        let is_complete = self.all || self.json || self.csv;
        let mut names = HashSet::new();
        for node in topology.nodes() {
            let is_shown = match &named {
                Some(named) => named.contains(&node.name),
                None => is_complete || topology.is_of_use(node),
            };
            if is_shown {
                names.insert(node.name.as_str());
            }
        }
        if names.is_empty() {
            let reason = format!("no block device in {place} is in use; --all lists unused ones");
            return Err(NoData(reason).into());
        }
        let shown = ShownDevices {
            topology: &topology,
            facts: &facts,
            names,
        };
        let mut text = Vec::new();
        if self.json {
            json(&shown, &mut text);
        } else if self.csv {
            csv(&shown, &mut text);
        } else {
            tree(&shown, self.width.or_available(context), &mut text);
        }
        context.show(&mut text)?;
        Ok(Exit::Success)
    }
}

/// Returns the devices that words name, with all below and above them; `None` without words.
///
/// # Errors
/// If no device has one of the names ([`NoData`]).
fn find_named(
    words: &[String],
    topology: &Topology,
    input: &Input,
) -> Result<Option<HashSet<String>>> {
    if words.is_empty() {
        return Ok(None);
    }
    let mut devices = Vec::new();
    for node in topology.nodes() {
        devices.push(Device {
            major: node.major,
            minor: node.minor,
            name: node.name.clone(),
            ..Device::default()
        });
    }
    let resolver = DeviceResolver::new(&input.root, &[input.root.join("sys")]);
    let resolver = input.from.is_none().then_some(&resolver);
    let found = find_devices(words, &devices, topology, resolver);
    let mut names = HashSet::new();
    for index in found.map_err(|not_found| NoData(not_found.to_string()))? {
        let name = &devices[index].name;
        names.extend(topology.devices_below(name));
        names.extend(topology.devices_above(name));
        names.insert(name.clone());
    }
    Ok(Some(names))
}

/// Devices, the facts about their health, and where they are from.
type Described = (Topology, Arc<HealthFacts>, String);

/// Reads the devices of the system below `root`. Returns them with what the kernel says of
/// their health and the name of the directory that lists them.
///
/// # Errors
/// If that directory does not exist ([`NoData`]) or cannot be read.
fn live_topology(root: &Path, context: &RunContext<'_>) -> Result<Described> {
    let block = root.join("sys/block");
    let place = path_text(&block);
    if let Err(error) = list_devices(&block) {
        let reason = format!("cannot read {place}: {}", os_error_text(&error));
        if error.kind() == io::ErrorKind::NotFound {
            return Err(NoData::without_devices(&reason).into());
        }
        bail!(reason);
    }
    let reader = HealthReader::start(root, context.clock)?;
    let topology = read_topology(root);
    reader.wait_for_first();
    let facts = reader.latest(context.clock.monotonic()).unwrap_or_default();
    Ok((topology, facts, place))
}

/// Reads the devices in the header of a recording, or infers them from the names in the first sample of another
/// capture. Returns them with what is recorded of their health and the name of the file; without devices if it has no
/// samples.
///
/// # Errors
/// If the file cannot be read or is not a text file.
fn recorded_topology(first: &Path, input: &Input, context: &RunContext<'_>) -> Result<Described> {
    let mut replay = Replay::open_all(first, &input.more, input.every, context.clock)?;
    let mut sample = Sample::default();
    let place = sanitize(replay.name()).into_owned();
    if !replay.next(&Sample::default(), &mut sample)? {
        require_text(&replay)?;
        return Ok((Topology::default(), Arc::default(), place));
    }
    let topology = match replay.header() {
        Some(header) if !header.topology.nodes().is_empty() => header.topology.clone(),
        _ => Topology::from_names(&sample.devices),
    };
    check_stated(&topology, input)?;
    Ok((
        with_stated(topology, input),
        sample.health.unwrap_or_default(),
        place,
    ))
}
