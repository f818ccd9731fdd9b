//! The block-device tree: as a table for people, and as JSON.

use std::collections::HashSet;

use serde::Serialize;
use unicode_width::UnicodeWidthStr;

use crate::counters::{Health, HealthFacts};
use crate::report::evidence::health_text;
use crate::report::layout::number_format::lsblk_size;
use crate::report::layout::{KEEP, TextTable, push_lines, sentence_width, wrap_list};
use crate::sanitize::{json_text, sanitize};
use crate::topology::{Node, Topology};

/// A device in the document. Field names are stable; new ones may be added.
#[derive(Serialize)]
struct Device<'a> {
    #[serde(flatten)]
    node: &'a Node,
    /// Number of layers below the device.
    depth: usize,
    /// Devices stacked directly on it.
    holders: Vec<&'a str>,
    /// What the kernel says of its health.
    health: &'a Health,
}

/// Appends every device as `{"devices":[...]}`, one to a line: its [`Node`] with null for unknown values, the number of
/// layers below it, the devices stacked directly on it, and the facts about its health.
pub fn json(topology: &Topology, facts: &HealthFacts, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"devices\":[");
    for (index, node) in topology.nodes().iter().enumerate() {
        let holders = topology
            .holders(&node.name)
            .map(|node| node.name.as_str())
            .collect();
        let health = facts.get(&node.name).cloned().unwrap_or_default();
        let device = Device {
            node,
            depth: topology.depth(&node.name),
            holders,
            health: &health,
        };
        out.extend_from_slice(if index == 0 { b"\n" } else { b",\n" });
        // Serializing text and numbers cannot fail.
        let line = serde_json::to_string(&device).unwrap_or_default();
        out.extend_from_slice(json_text(line).as_bytes());
    }
    out.extend_from_slice(b"\n]}\n");
}

/// Appends a line for each device that something is wrong with, as the kernel says.
pub fn push_troubles(topology: &Topology, facts: &HealthFacts, width: usize, out: &mut Vec<u8>) {
    for node in topology.nodes() {
        if let Some(health) = facts.get(&node.name)
            && let Some(text) = health_text(&node.name, &health.troubles(None), None)
        {
            push_lines(&text, [""; 2], sentence_width(width), out);
        }
    }
}

/// Width that longer mount points get before other columns are dropped for them.
const MIN_MOUNTPOINTS_WIDTH: usize = 16;
/// Title of the last column, which is never dropped.
const MOUNTPOINTS: &str = "mountpoints";

/// Appends the tree: each device is below those that it is stacked on, as in lsblk. `all` includes devices that are not
/// in use.
///
/// Lines are at most `width` columns wide, except that names of devices are never shortened. Columns that do not fit
/// are dropped, and a last line names them.
pub fn tree(topology: &Topology, all: bool, width: usize, out: &mut Vec<u8>) {
    let rows = tree_rows(topology, all);
    let (mut lists, mut longest) = (Vec::new(), 0);
    for row in &rows {
        let list = mountpoints(row);
        for path in &list {
            longest = longest.max(path.width());
        }
        lists.push(list);
    }
    let mountpoints_width = longest.clamp(MOUNTPOINTS.len(), MIN_MOUNTPOINTS_WIDTH);

    let mut table = TextTable::new(&COLUMNS, "llrllrl", rows.iter().map(cells));
    if table.width() + table.gap + mountpoints_width > width {
        table.gap = 1;
    }
    let dropped = table.drop_columns(&RANKS, width.saturating_sub(table.gap + mountpoints_width));
    let mountpoints_width = width.saturating_sub(table.width() + table.gap).max(1);
    let mut mounts = Vec::new();
    for ((cells, row), list) in table.rows.iter_mut().skip(1).zip(&rows).zip(&lists) {
        let lines = wrap_list(list, mountpoints_width);
        for _ in 1..lines.len() {
            cells[0] += &format!("\n{}", row.continuation);
        }
        mounts.push(lines.join("\n"));
    }
    table.add_column(MOUNTPOINTS, mounts);
    table.push(out);
    if !dropped.is_empty() {
        let note = format!(
            "hidden at width {width}: {} (--json shows all)\n",
            dropped.join(", ")
        );
        out.extend_from_slice(note.as_bytes());
    }
}

/// The columns before the mount points.
const COLUMNS: [&str; 7] = [
    "device",
    "type",
    "size",
    "rotational",
    "scheduler",
    "queue",
    "iostats",
];
/// Columns of the lowest rank are dropped first from a table that is too wide.
const RANKS: [u8; 7] = [KEEP, 4, 5, 0, 2, 1, 3];

/// Returns the cells of a row in these columns; only the first if the device is repeated.
fn cells(row: &TreeRow<'_>) -> Vec<String> {
    let node = row.node;
    let others = [
        Some(node.kind.name().to_owned()),
        node.size_bytes.map(lsblk_size),
        node.rotational
            .map(|is_rotational| if is_rotational { "yes" } else { "no" }.to_owned()),
        node.scheduler
            .as_ref()
            .map(|scheduler| sanitize(scheduler).into_owned()),
        node.nr_requests.map(|requests| requests.to_string()),
        iostats(node),
    ];
    let others = others.map(|text| text.filter(|_| !row.is_repeated).unwrap_or_default());
    [device(row)].into_iter().chain(others).collect()
}

/// Returns the setting `queue/iostats` with its effect: `OFF` in capitals if requests are not counted, which explains
/// counters that do not change; `ignored` if they are counted although the setting is off; `off?` if that is not known.
fn iostats(node: &Node) -> Option<String> {
    let text = match (node.iostats_enabled?, node.ignores_iostats) {
        (true, _) => "on",
        (false, _) if node.is_accounting_off() => "OFF",
        (false, Some(true)) => "ignored",
        (false, _) => "off?",
    };
    Some(text.to_owned())
}

/// Returns the tree lines, the kernel's name and the alias of a device.
fn device(row: &TreeRow<'_>) -> String {
    let name = sanitize(&row.node.name);
    let mut text = format!("{}{name}", row.stem);
    if let Some(alias) = &row.node.alias {
        text += &format!(" {}", sanitize(alias));
    }
    if row.is_repeated {
        text += " (above)";
    }
    text
}

/// Returns the mount points of a device and the file behind it; nothing if it is repeated.
fn mountpoints(row: &TreeRow<'_>) -> Vec<String> {
    let mut places = Vec::new();
    if !row.is_repeated {
        for mountpoint in &row.node.mountpoints {
            places.push(sanitize(mountpoint).into_owned());
        }
        if let Some(file) = &row.node.backing_file {
            places.push(format!("file {}", sanitize(file)));
        }
    }
    places
}

struct TreeRow<'a> {
    node: &'a Node,
    /// Tree lines before the name.
    stem: String,
    /// Tree lines on further text lines of the row.
    continuation: String,
    /// True if an earlier row shows the device in full.
    is_repeated: bool,
}

/// Returns the rows: each shown device is below every device that it is stacked on, in full only the first time.
fn tree_rows(topology: &Topology, all: bool) -> Vec<TreeRow<'_>> {
    let mut nodes = Vec::from_iter(topology.nodes());
    nodes.retain(|node| all || topology.is_of_use(node));
    let mut drawn = HashSet::new();
    let mut rows = Vec::new();
    for node in &nodes {
        let mut below = node.backing_devices.iter();
        if !below.any(|name| topology.node(name).is_some()) {
            push_subtree(node, topology, all, &mut drawn, &mut rows);
        }
    }
    // Devices in a circle have no root. No kernel creates one, but a recording may hold anything.
    for node in nodes {
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
        let mut holders: Vec<&Node> = topology.holders(&node.name).collect();
        holders.retain(|node| !is_repeated && (all || topology.is_of_use(node)));
        for (index, holder) in holders.iter().enumerate().rev() {
            let (branch, line) = if index + 1 < holders.len() {
                ("├─", "│ ")
            } else {
                ("└─", "  ")
            };
            pending.push((
                holder,
                format!("{prefix}{branch}"),
                format!("{prefix}{line}"),
            ));
        }
        let continuation = if holders.is_empty() {
            prefix
        } else {
            format!("{prefix}│")
        };
        rows.push(TreeRow {
            node,
            stem,
            continuation,
            is_repeated,
        });
    }
}

#[cfg(test)]
mod json_tests {
    use super::*;

    #[test]
    fn the_document_cannot_control_a_terminal() {
        let hostile = "a\"\\\u{1b}[2J\n\u{7f}\u{9b}\u{202e}";
        let disk = Node {
            name: hostile.into(),
            major: 8,
            size_bytes: Some(512),
            ..Node::default()
        };
        let part = Node {
            name: "sda1".into(),
            backing_devices: vec![hostile.into()],
            ..Node::default()
        };
        let mut out = Vec::new();
        json(
            &Topology::new(vec![disk, part]),
            &HealthFacts::new(),
            &mut out,
        );
        let text = String::from_utf8(out).unwrap();
        let is_unsafe = |c: char| c != '\n' && (c.is_control() || c == '\u{202e}');
        assert!(
            !text.contains(is_unsafe) && text.lines().count() == 4,
            "{text:?}"
        );
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        let devices = &value["devices"];
        assert_eq!(devices[0]["name"], hostile);
        assert_eq!(devices[0]["holders"][0], "sda1");
        assert_eq!(
            (&devices[0]["size_bytes"], &devices[1]["depth"]),
            (&512.into(), &1.into())
        );
        assert!(devices[0]["scheduler"].is_null() && devices[0]["alias"].is_null());
    }

    #[test]
    fn without_devices_the_list_is_empty() {
        let mut out = Vec::new();
        json(&Topology::default(), &HealthFacts::new(), &mut out);
        assert_eq!(out, b"{\"devices\":[\n]}\n");
    }
}

#[cfg(test)]
mod tree_cells_tests {
    use super::*;
    use crate::topology::Kind;

    #[test]
    fn a_setting_that_is_off_is_shown_with_its_effect() {
        let text = |kind, iostats_enabled, ignores_iostats| {
            iostats(&Node {
                kind,
                iostats_enabled,
                ignores_iostats,
                ..Node::default()
            })
        };
        assert_eq!(
            text(Kind::Disk, Some(true), Some(false)).as_deref(),
            Some("on")
        );
        assert_eq!(
            text(Kind::Disk, Some(false), Some(false)).as_deref(),
            Some("OFF")
        );
        assert_eq!(
            text(Kind::Zram, Some(false), Some(true)).as_deref(),
            Some("ignored")
        );
        assert_eq!(text(Kind::Lvm, Some(false), None).as_deref(), Some("off?"));
        assert_eq!(text(Kind::Disk, None, None), None);
    }
}
