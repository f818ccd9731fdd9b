//! What is stacked on what, once.

use std::path::Path;

use anyhow::{Result, bail};

use super::{RunContext, WIDTH, put, reason, refuse_other_than_text};
use crate::counters::Sample;
use crate::exit::Exit;
use crate::plan::Devices;
use crate::report::devices::{is_shown, json, tree};
use crate::sanitize::sanitize;
use crate::source::{Replay, read_topology, topology_from_names};
use crate::topology::Topology;
use crate::view::terminal::screen_size;

pub(super) fn run(plan: &Devices, world: &mut RunContext<'_>) -> Result<Exit> {
    let (stack, place) = match &plan.from {
        Some(path) => recorded(path, world)?,
        None => live(plan)?,
    };
    let in_use = || stack.nodes().iter().any(|node| is_shown(node, &stack, plan.all));
    if stack.nodes().is_empty() {
        return Ok(nothing(world, &format!("no block devices in {place}")));
    }
    if !plan.json && !in_use() {
        let why = format!("no block device in {place} is in use; --all shows those there are");
        return Ok(nothing(world, &why));
    }
    let mut text = Vec::new();
    if plan.json {
        json(&stack, &mut text);
    } else {
        let columns = world.is_terminal.then(screen_size).flatten().map(|(columns, _)| columns);
        tree(&stack, plan.all, columns.unwrap_or(WIDTH), &mut text);
    }
    put(world.out, &mut text)?;
    Ok(Exit::Success)
}

/// The devices of this machine, and where they are listed.
fn live(plan: &Devices) -> Result<(Topology, String)> {
    let block = plan.root.join("sys/block");
    let place = sanitize(&block.display().to_string()).into_owned();
    if let Err(error) = block.read_dir() {
        bail!("cannot read {place}: {}", reason(&error));
    }
    Ok((read_topology(&plan.root), place))
}

/// The devices that a recording tells of at its first sample; of another capture, what their names tell.
fn recorded(path: &Path, world: &RunContext<'_>) -> Result<(Topology, String)> {
    let mut replay = Replay::open(path, world.clock)?;
    let mut sample = Sample::default();
    let place = sanitize(replay.name()).into_owned();
    if !replay.next(&Sample::default(), &mut sample)? {
        refuse_other_than_text(&replay)?;
        return Ok((Topology::default(), place));
    }
    let known = replay.header().map(|header| header.topology.clone());
    let stack = known.filter(|stack| !stack.nodes().is_empty());
    Ok((stack.unwrap_or_else(|| topology_from_names(&sample.devices)), place))
}

/// Says why there is nothing to show.
fn nothing(world: &mut RunContext<'_>, why: &str) -> Exit {
    // If that cannot be said, the exit code still tells.
    let _ = writeln!(world.err, "blkstat: {why}");
    Exit::NoData
}
