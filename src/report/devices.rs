//! The block devices: as a tree for people, as one document of JSON, and as CSV.

use std::collections::HashSet;

use Field::{Flag, Json, Sentences, Text, Whole, Word};
use unicode_width::UnicodeWidthStr;

use crate::counters::HealthFacts;
use crate::report::evidence::health_text;
use crate::report::fields::{RecordField, cell, field, push_header, push_record, text_table};
use crate::report::json_csv::LineFormat;
use crate::report::json_csv::value::Field;
use crate::report::layout::{KEEP, ellipsize, push_lines, sentence_width};
use crate::sanitize::{json_text, sanitize};
use crate::topology::{Node, Topology};

/// The devices of a host of which some are shown.
pub struct ShownDevices<'a> {
    pub topology: &'a Topology,
    pub facts: &'a HealthFacts,
    /// The kernel's names of those that are shown.
    pub names: HashSet<&'a str>,
}

impl<'a> ShownDevices<'a> {
    fn nodes(&self) -> impl Iterator<Item = &'a Node> {
        let nodes = self.topology.nodes().iter();
        nodes.filter(|node| self.names.contains(node.name.as_str()))
    }

    /// Returns what is known of a device, in the order of JSON and CSV. Names are stable; new ones are added at the end.
    fn fields(&self, node: &'a Node) -> Vec<RecordField<'a>> {
        let holders = self.topology.holders(&node.name);
        let holders = holders.map(|holder| holder.name.clone()).collect();
        let depth = self.topology.depth(&node.name) as u64;
        let health = self.facts.get(&node.name).cloned().unwrap_or_default();
        // Serializing words and numbers cannot fail.
        let health = serde_json::to_string(&*health).unwrap_or_default();
        vec![
            field("name", Text(Some(&node.name))),
            field("major", Whole(Some(node.major.into()))),
            field("minor", Whole(Some(node.minor.into()))),
            field("kind", Word(Some(node.kind.name()))).titled("type"),
            field("alias", Text(node.alias.as_deref())),
            field("backing_devices", Sentences(node.backing_devices.clone())),
            field("size_bytes", Whole(node.size_bytes)).titled("size"),
            field("model", Text(node.model.as_deref())),
            field("rotational", Flag(node.rotational)).titled("rotational"),
            field("scheduler", Text(node.scheduler.as_deref())).titled("scheduler"),
            field("nr_requests", Whole(node.nr_requests)).titled("queue"),
            field("iostats_enabled", Flag(node.iostats_enabled)),
            field("ignores_iostats", Flag(node.ignores_iostats)),
            field("backing_file", Text(node.backing_file.as_deref())),
            field("mountpoints", Sentences(node.mountpoints.clone())),
            field("identity", Text(node.identity.as_deref())),
            field("diskseq", Whole(node.diskseq)),
            field("serial", Text(node.serial.as_deref())),
            field("depth", Whole(Some(depth))),
            field("holders", Sentences(holders)),
            field("health", Json(json_text(health))),
            cell("iostats", iostats(node)),
        ]
    }
}

/// Appends every device as `{"devices":[...]}`, one to a line.
pub fn json(shown: &ShownDevices<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"devices\":[");
    for (index, node) in shown.nodes().enumerate() {
        out.extend_from_slice(if index == 0 { b"\n" } else { b",\n" });
        push_record(shown.fields(node), LineFormat::Json, out);
        out.pop();
    }
    out.extend_from_slice(b"\n]}\n");
}

/// Appends the names of the fields, and a line for each device.
pub fn csv(shown: &ShownDevices<'_>, out: &mut Vec<u8>) {
    for (index, node) in shown.nodes().enumerate() {
        let fields = shown.fields(node);
        if index == 0 {
            push_header(&fields, out);
        }
        push_record(fields, LineFormat::Csv, out);
    }
}

/// The titles of the columns before the mount points. Those of the lowest rank are dropped first from a tree that is too
/// wide.
const COLUMNS: [&str; 7] = [
    "device",
    "type",
    "size",
    "rotational",
    "scheduler",
    "queue",
    "iostats",
];
const RANKS: [u8; 7] = [KEEP, 4, 5, 0, 2, 1, 3];
/// The last column, which is never dropped.
const MOUNTPOINTS: &str = "mountpoints";
/// Width that longer mount points get before other columns are dropped for them.
const MIN_MOUNTPOINTS_WIDTH: usize = 16;

/// Appends the tree: each device is below those that it is stacked on, as in lsblk. A line for each device that something is
/// wrong with follows, as the kernel says.
///
/// Lines are at most `width` columns wide, except that names of devices are never shortened. Columns that do not fit
/// are dropped, and a line names them; mount points that do not fit on one line have a line each.
pub fn tree(shown: &ShownDevices<'_>, width: usize, out: &mut Vec<u8>) {
    let rows = tree_rows(shown);
    let mut records = Vec::new();
    let mut longest = MOUNTPOINTS.len();
    for row in &rows {
        let mut fields = vec![cell("device", device(row))];
        if !row.is_repeated {
            fields.extend(shown.fields(row.node));
        }
        records.push(fields);
        longest = longest.max(mountpoints(row).join(", ").width());
    }
    let mut table = text_table(&COLUMNS, "llrllrl", &records);
    let min_width = longest.min(MIN_MOUNTPOINTS_WIDTH);
    if table.width() + table.gap + min_width > width {
        table.gap = 1;
    }
    let dropped = table.drop_columns(&RANKS, width.saturating_sub(table.gap + min_width));
    let space = width.saturating_sub(table.width() + table.gap).max(1);
    let mut mounts = Vec::new();
    for (row, cells) in rows.iter().zip(&mut table.rows[1..]) {
        let mut places = mountpoints(row);
        let on_a_line = places.join(", ");
        if on_a_line.width() <= space {
            mounts.push(on_a_line);
            continue;
        }
        for place in &mut places {
            *place = ellipsize(place, space);
        }
        for _ in 1..places.len() {
            cells[0] += &format!("\n{}", row.continuation);
        }
        mounts.push(places.join("\n"));
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
    for node in shown.nodes() {
        if let Some(health) = shown.facts.get(&node.name)
            && let Some(text) = health_text(&node.name, &health.troubles(None), None)
        {
            push_lines(&text, [""; 2], sentence_width(width), out);
        }
    }
}

/// Returns the setting `queue/iostats` with its effect: `OFF` in capitals if requests are not counted, which explains
/// counters that do not change; `ignored` if they are counted although the setting is off; `off?` if that is not known.
fn iostats(node: &Node) -> String {
    let text = match (node.iostats_enabled, node.ignores_iostats) {
        (None, _) => "",
        (Some(true), _) => "on",
        (Some(false), _) if node.is_accounting_off() => "OFF",
        (Some(false), Some(true)) => "ignored",
        (Some(false), _) => "off?",
    };
    text.to_owned()
}

/// Returns the tree lines, the kernel's name and the alias of a device.
fn device(row: &TreeRow<'_>) -> String {
    let mut text = format!("{}{}", row.stem, row.node.name);
    if let Some(alias) = &row.node.alias {
        text += &format!(" {alias}");
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
        for path in &row.node.mountpoints {
            places.push(sanitize(path).into_owned());
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
fn tree_rows<'a>(shown: &ShownDevices<'a>) -> Vec<TreeRow<'a>> {
    let mut drawn = HashSet::new();
    let mut rows = Vec::new();
    for node in shown.nodes() {
        let mut below = node.backing_devices.iter();
        if !below.any(|name| shown.topology.node(name).is_some()) {
            push_subtree(node, shown, &mut drawn, &mut rows);
        }
    }
    // Devices in a circle have no root. No kernel creates one, but a recording may hold anything.
    for node in shown.nodes() {
        if !drawn.contains(node.name.as_str()) {
            push_subtree(node, shown, &mut drawn, &mut rows);
        }
    }
    rows
}

/// Appends the rows of a device and of all devices stacked on it. Iterative, because a recording may hold a stack of
/// any depth.
fn push_subtree<'a>(
    root: &'a Node,
    shown: &ShownDevices<'a>,
    drawn: &mut HashSet<&'a str>,
    rows: &mut Vec<TreeRow<'a>>,
) {
    // Devices that are still to be drawn, the next one last: node, tree lines before it, tree lines before its holders.
    let mut pending = vec![(root, String::new(), String::new())];
    while let Some((node, stem, prefix)) = pending.pop() {
        let is_repeated = !drawn.insert(&node.name);
        let mut holders = Vec::from_iter(shown.topology.holders(&node.name));
        holders.retain(|node| !is_repeated && shown.names.contains(node.name.as_str()));
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
        let continuation = match holders.as_slice() {
            [] => prefix,
            _ => format!("{prefix}│"),
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
mod tests {
    use super::*;
    use crate::topology::Kind;

    #[test]
    fn neither_json_nor_csv_can_control_a_terminal() {
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
        let topology = Topology::new(vec![disk, part]);
        let shown = ShownDevices {
            topology: &topology,
            facts: &HealthFacts::new(),
            names: HashSet::from([hostile, "sda1"]),
        };
        let is_unsafe = |c: char| c != '\n' && (c.is_control() || c == '\u{202e}');
        let mut out = Vec::new();
        json(&shown, &mut out);
        let text = String::from_utf8(out).unwrap();
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

        let mut out = Vec::new();
        csv(&shown, &mut out);
        let text = String::from_utf8(out).unwrap();
        assert!(
            !text.contains(is_unsafe) && text.lines().count() == 3,
            "{text:?}"
        );
        assert!(text.starts_with("name,major,minor,kind,"), "{text}");
    }

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
        assert_eq!(text(Kind::Disk, Some(true), Some(false)), "on");
        assert_eq!(text(Kind::Disk, Some(false), Some(false)), "OFF");
        assert_eq!(text(Kind::Zram, Some(false), Some(true)), "ignored");
        assert_eq!(text(Kind::Lvm, Some(false), None), "off?");
        assert_eq!(text(Kind::Disk, None, None), "");
    }
}
