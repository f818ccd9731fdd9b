//! The rows of the tree: which devices it shows, in which order, and the lines that connect them.

use std::collections::HashSet;

use crate::topology::{Kind, Node, Topology};

/// Returns whether the tree shows a device. With `all`, it shows every device; otherwise it leaves out unused RAM
/// disks, and unused devices that have no size because nothing backs them, such as a loop device without a file.
pub fn is_shown(node: &Node, topology: &Topology, all: bool) -> bool {
    let is_in_use = !node.mountpoints.is_empty() || topology.holders(&node.name).next().is_some();
    let is_empty = node.size_bytes == Some(0) && node.backing_file.is_none();
    let may_be_unused = matches!(node.kind, Kind::Loop | Kind::Zram | Kind::Virtual) && is_empty;
    all || is_in_use || !(may_be_unused || node.kind == Kind::Ram)
}

pub(super) struct TreeRow<'a> {
    pub(super) node: &'a Node,
    /// Tree lines before the name.
    pub(super) stem: String,
    /// Tree lines on further text lines of the row.
    pub(super) continuation: String,
    /// True if an earlier row shows the device in full.
    pub(super) is_repeated: bool,
}

/// Returns the rows: each shown device is below every device that it is stacked on, in full only the first time.
pub(super) fn tree_rows(topology: &Topology, all: bool) -> Vec<TreeRow<'_>> {
    let nodes = || topology.nodes().iter().filter(|node| is_shown(node, topology, all));
    let is_root = |node: &&Node| !node.backing_devices.iter().any(|below| topology.node(below).is_some());
    let mut drawn = HashSet::new();
    let mut rows = Vec::new();
    for root in nodes().filter(is_root) {
        push_subtree(root, topology, all, &mut drawn, &mut rows);
    }
    // Devices in a circle have no root. No kernel creates one, but a recording may hold anything.
    for node in nodes() {
        if !drawn.contains(node.name.as_str()) {
            push_subtree(node, topology, all, &mut drawn, &mut rows);
        }
    }
    rows
}

/// Appends the rows of a device and of all devices stacked on it. Iterative, because a recording may hold a stack of
/// any depth.
fn push_subtree<'a>(
    root: &'a Node,
    topology: &'a Topology,
    all: bool,
    drawn: &mut HashSet<&'a str>,
    rows: &mut Vec<TreeRow<'a>>,
) {
    // Devices that are still to be drawn, the next one last: node, tree lines before it, tree lines before its holders.
    let mut pending = vec![(root, String::new(), String::new())];
    while let Some((node, stem, prefix)) = pending.pop() {
        let is_repeated = !drawn.insert(&node.name);
        let holders =
            topology.holders(&node.name).filter(|node| !is_repeated && is_shown(node, topology, all));
        let holders: Vec<&Node> = holders.collect();
        for (index, holder) in holders.iter().enumerate().rev() {
            let (branch, line) =
                if index + 1 < holders.len() { ("├─", "│ ") } else { ("└─", "  ") };
            pending.push((holder, format!("{prefix}{branch}"), format!("{prefix}{line}")));
        }
        let continuation = if holders.is_empty() { prefix } else { format!("{prefix}│") };
        rows.push(TreeRow { node, stem, continuation, is_repeated });
    }
}
