//! The cells of the tree.

use super::tree_layout::TreeRow;
use crate::report::layout::Align;
use crate::report::layout::number_format::lsblk_size;
use crate::sanitize::sanitize;
use crate::topology::Node;

/// A column between the device and its mount points.
pub(super) struct Column {
    pub(super) title: &'static str,
    pub(super) align: Align,
    /// Columns of the lowest rank are dropped first from a table that is too wide.
    pub(super) rank: u8,
    /// Returns the cell of a device; `None` for an unknown value.
    pub(super) text: fn(&Node) -> Option<String>,
}

const fn column(title: &'static str, align: Align, rank: u8, text: fn(&Node) -> Option<String>) -> Column {
    Column { title, align, rank, text }
}

pub(super) static COLUMNS: [Column; 6] = [
    column("type", Align::Left, 4, |node| Some(node.kind.name().to_owned())),
    column("size", Align::Right, 5, |node| node.size_bytes.map(lsblk_size)),
    column("rotational", Align::Left, 0, |node| Some(if node.rotational? { "yes" } else { "no" }.to_owned())),
    column("scheduler", Align::Left, 2, |node| Some(sanitize(node.scheduler.as_deref()?).into_owned())),
    column("queue", Align::Right, 1, |node| Some(node.nr_requests?.to_string())),
    column("iostats", Align::Left, 3, iostats),
];

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
pub(super) fn device(row: &TreeRow<'_>) -> String {
    let alias = row.node.alias.iter().map(|name| format!(" {}", sanitize(name)));
    let note = if row.is_repeated { " (above)" } else { "" };
    format!("{}{}{}{note}", row.stem, sanitize(&row.node.name), alias.collect::<String>())
}

/// Returns the mount points of a device and the file behind it.
pub(super) fn mountpoints(node: &Node) -> Vec<String> {
    let mountpoints = node.mountpoints.iter().map(|mountpoint| sanitize(mountpoint).into_owned());
    let file = node.backing_file.iter().map(|file| format!("file {}", sanitize(file)));
    mountpoints.chain(file).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::Kind;

    #[test]
    fn a_setting_that_is_off_is_shown_with_its_effect() {
        let text = |kind, iostats_enabled, ignores_iostats| {
            iostats(&Node { kind, iostats_enabled, ignores_iostats, ..Node::default() })
        };
        assert_eq!(text(Kind::Disk, Some(true), Some(false)).as_deref(), Some("on"));
        assert_eq!(text(Kind::Disk, Some(false), Some(false)).as_deref(), Some("OFF"));
        assert_eq!(text(Kind::Zram, Some(false), Some(true)).as_deref(), Some("ignored"));
        assert_eq!(text(Kind::Lvm, Some(false), None).as_deref(), Some("off?"));
        assert_eq!(text(Kind::Disk, None, None), None);
    }
}
