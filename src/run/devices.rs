//! What is stacked on what, once.

use anyhow::{Result, bail};

use super::{WIDTH, World, put, reason};
use crate::exit::Exit;
use crate::plan::Devices;
use crate::report::devices::{is_shown, json, tree};
use crate::source::read_stack;
use crate::view::terminal::screen_size;

pub(super) fn run(plan: &Devices, world: &mut World<'_>) -> Result<Exit> {
    let block = plan.root.join("sys/block");
    if let Err(error) = block.read_dir() {
        bail!("cannot read {}: {}", block.display(), reason(&error));
    }
    let stack = read_stack(&plan.root);
    let in_use = || stack.nodes().iter().any(|node| is_shown(node, &stack, plan.all));
    if stack.nodes().is_empty() {
        return Ok(nothing(world, &format!("no block devices in {}", block.display())));
    }
    if !plan.json && !in_use() {
        let why = format!("no block device in {} is in use; --all shows those there are", block.display());
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
    Ok(Exit::Done)
}

/// Says why there is nothing to show.
fn nothing(world: &mut World<'_>, why: &str) -> Exit {
    // If that cannot be said, the exit code still tells.
    let _ = writeln!(world.err, "blkstat: {why}");
    Exit::Nothing
}
