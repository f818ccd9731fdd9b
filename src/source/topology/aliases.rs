//! Alternative names of devices: links in /dev/md and /dev/mapper.

use std::collections::HashMap;
use std::fs::read_dir;
use std::path::Path;

use crate::source::link::{file_name, link_target_name};
use crate::topology::Node;

/// Sets the aliases of devices that have none, from links below `root/dev`: `md/home` for `md127`, and `vg0-root` from
/// /dev/mapper if sysfs has no name for the device.
pub(super) fn add_aliases(root: &Path, nodes: &mut [Node]) {
    let mut aliases = HashMap::new();
    for (dir, prefix) in [("md", "md/"), ("mapper", "")] {
        let entries = read_dir(root.join("dev").join(dir)).into_iter().flatten().flatten();
        let mut links: Vec<_> = entries.map(|entry| entry.path()).collect();
        links.sort();
        for link in links {
            // The name `md/0` says no more than `md0`.
            let name = file_name(&link).filter(|name| !is_number(name));
            if let (Some(name), Some(target)) = (name, link_target_name(&link)) {
                aliases.entry(target).or_insert(format!("{prefix}{name}"));
            }
        }
    }
    for node in nodes.iter_mut().filter(|node| node.alias.is_none()) {
        node.alias = aliases.remove(&node.name);
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}
