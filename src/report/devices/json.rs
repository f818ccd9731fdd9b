//! The stack as one JSON document.

use serde::Serialize;

use crate::sanitize::json_text;
use crate::topology::{Node, Topology};

/// A device as it is written. The names are a contract: they are only ever added to.
#[derive(Serialize)]
struct Device<'a> {
    #[serde(flatten)]
    node: &'a Node,
    depth: usize,
    above: Vec<&'a str>,
}

/// Writes every device of the stack into `out`, as `{"devices":[…]}` with a device a line: all that is known of it,
/// with null for what is not, how many layers lie below it, and the names of what is stacked on it.
pub fn json(stack: &Topology, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"devices\":[");
    for (index, node) in stack.nodes().iter().enumerate() {
        let above = stack.holders(&node.name).map(|node| node.name.as_str()).collect();
        let device = Device { node, depth: stack.depth(&node.name), above };
        out.extend_from_slice(if index == 0 { b"\n" } else { b",\n" });
        // Text and numbers can always be written.
        let line = serde_json::to_string(&device).unwrap_or_default();
        out.extend_from_slice(json_text(line).as_bytes());
    }
    out.extend_from_slice(b"\n]}\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_one_document_that_cannot_steer_a_terminal() {
        let hostile = "a\"\\\u{1b}[2J\n\u{7f}\u{9b}\u{202e}";
        let disk = Node { name: hostile.into(), major: 8, size_bytes: Some(512), ..Node::default() };
        let part = Node { name: "sda1".into(), backing_devices: vec![hostile.into()], ..Node::default() };
        let mut out = Vec::new();
        json(&Topology::new(vec![disk, part]), &mut out);
        let text = String::from_utf8(out).unwrap();
        let steers = |c: char| c != '\n' && (c.is_control() || c == '\u{202e}');
        assert!(!text.contains(steers) && text.lines().count() == 4, "{text:?}");
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        let devices = &value["devices"];
        assert_eq!(devices[0]["name"], hostile);
        assert_eq!(devices[0]["above"][0], "sda1");
        assert_eq!((&devices[0]["size_bytes"], &devices[1]["depth"]), (&512.into(), &1.into()));
        assert!(devices[0]["scheduler"].is_null() && devices[0]["alias"].is_null());
    }

    #[test]
    fn no_devices_are_an_empty_list() {
        let mut out = Vec::new();
        json(&Topology::default(), &mut out);
        assert_eq!(out, b"{\"devices\":[\n]}\n");
    }
}
