//! The block-device tree as one JSON document.

use serde::Serialize;

use crate::sanitize::json_text;
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
}

/// Appends every device as `{"devices":[...]}`, one to a line: its [`Node`] with null for unknown values, the number of
/// layers below it, and the devices stacked directly on it.
pub fn json(topology: &Topology, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"devices\":[");
    for (index, node) in topology.nodes().iter().enumerate() {
        let holders = topology.holders(&node.name).map(|node| node.name.as_str()).collect();
        let device = Device { node, depth: topology.depth(&node.name), holders };
        out.extend_from_slice(if index == 0 { b"\n" } else { b",\n" });
        // Serializing text and numbers cannot fail.
        let line = serde_json::to_string(&device).unwrap_or_default();
        out.extend_from_slice(json_text(line).as_bytes());
    }
    out.extend_from_slice(b"\n]}\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_cannot_control_a_terminal() {
        let hostile = "a\"\\\u{1b}[2J\n\u{7f}\u{9b}\u{202e}";
        let disk = Node { name: hostile.into(), major: 8, size_bytes: Some(512), ..Node::default() };
        let part = Node { name: "sda1".into(), backing_devices: vec![hostile.into()], ..Node::default() };
        let mut out = Vec::new();
        json(&Topology::new(vec![disk, part]), &mut out);
        let text = String::from_utf8(out).unwrap();
        let is_unsafe = |c: char| c != '\n' && (c.is_control() || c == '\u{202e}');
        assert!(!text.contains(is_unsafe) && text.lines().count() == 4, "{text:?}");
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        let devices = &value["devices"];
        assert_eq!(devices[0]["name"], hostile);
        assert_eq!(devices[0]["holders"][0], "sda1");
        assert_eq!((&devices[0]["size_bytes"], &devices[1]["depth"]), (&512.into(), &1.into()));
        assert!(devices[0]["scheduler"].is_null() && devices[0]["alias"].is_null());
    }

    #[test]
    fn without_devices_the_list_is_empty() {
        let mut out = Vec::new();
        json(&Topology::default(), &mut out);
        assert_eq!(out, b"{\"devices\":[\n]}\n");
    }
}
