//! The order in which devices are drawn, and the branches between them.

use std::collections::HashSet;

use crate::topology::{Kind, Node, Topology};

/// Whether a device belongs into the tree: with `all` each does. Else disks in memory that nothing uses are left out,
/// and what has no size because nothing is behind it, such as a loop device without a file.
pub fn is_shown(node: &Node, stack: &Topology, all: bool) -> bool {
    let in_use = !node.mountpoints.is_empty() || stack.holders(&node.name).next().is_some();
    let is_empty = node.size_bytes == Some(0) && node.backing_file.is_none();
    let may_be_unused = matches!(node.kind, Kind::Loop | Kind::Zram | Kind::Virtual) && is_empty;
    all || in_use || !(may_be_unused || node.kind == Kind::Ram)
}

/// A line of the tree.
pub(super) struct Branch<'a> {
    pub(super) node: &'a Node,
    /// The lines that lead to it.
    pub(super) stem: String,
    /// The lines below it, for what of it needs more room.
    pub(super) below: String,
    /// It stands further up in full.
    pub(super) again: bool,
}

/// Each shown device below everything that it stands on; again only as a name.
pub(super) fn branches(stack: &Topology, all: bool) -> Vec<Branch<'_>> {
    let nodes = || stack.nodes().iter().filter(|node| is_shown(node, stack, all));
    let is_root = |node: &&Node| !node.backing_devices.iter().any(|below| stack.node(below).is_some());
    let mut drawn = HashSet::new();
    let mut branches = Vec::new();
    for root in nodes().filter(is_root) {
        grow(root, stack, all, &mut drawn, &mut branches);
    }
    // What is left stands on itself, in a circle that no real machine has.
    for node in nodes() {
        if !drawn.contains(node.name.as_str()) {
            grow(node, stack, all, &mut drawn, &mut branches);
        }
    }
    branches
}

/// Adds a device and all that is stacked on it. Not by recursion: a stack may be made up, and very deep.
fn grow<'a>(
    root: &'a Node,
    stack: &'a Topology,
    all: bool,
    drawn: &mut HashSet<&'a str>,
    branches: &mut Vec<Branch<'a>>,
) {
    // What is still to be drawn, the next at the end, with what leads to it and to what is stacked on it.
    let mut waiting = vec![(root, String::new(), String::new())];
    while let Some((node, stem, under)) = waiting.pop() {
        let again = !drawn.insert(&node.name);
        let above: Vec<&Node> = stack.holders(&node.name).filter(|node| is_shown(node, stack, all)).collect();
        let above = if again { Vec::new() } else { above };
        for (index, node) in above.iter().enumerate().rev() {
            let (turn, pass) = if index + 1 < above.len() { ("├─", "│ ") } else { ("└─", "  ") };
            waiting.push((node, format!("{under}{turn}"), format!("{under}{pass}")));
        }
        let below = if above.is_empty() { under } else { format!("{under}│") };
        branches.push(Branch { node, stem, below, again });
    }
}
