//! What the columns say.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::sanitize::sanitize;
use crate::topology::{Kind, Node};

/// The kind, as it is called in JSON.
pub(super) fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Disk => "disk",
        Kind::Partition => "partition",
        Kind::Loop => "loop",
        Kind::Ram => "ram",
        Kind::Zram => "zram",
        Kind::Dm => "dm",
        Kind::Lvm => "lvm",
        Kind::Crypt => "crypt",
        Kind::Multipath => "multipath",
        Kind::Md => "md",
        Kind::NvmePath => "nvme_path",
        Kind::Optical => "optical",
        Kind::Virtual => "virtual",
    }
}

/// Bytes as lsblk has them: `953.9G`, in powers of 1024, with a decimal where it is not 0.
pub(super) fn size(bytes: u64) -> String {
    let mut unit: u128 = 1;
    let mut letters = "BKMGTPE".chars();
    let mut letter = letters.next();
    let tenths = |unit: u128| (u128::from(bytes) * 10 + unit / 2) / unit;
    while tenths(unit) >= 10_240 {
        unit *= 1024;
        letter = letters.next();
    }
    let (whole, decimal) = (tenths(unit) / 10, tenths(unit) % 10);
    let letter = letter.unwrap_or('B');
    if decimal == 0 { format!("{whole}{letter}") } else { format!("{whole}.{decimal}{letter}") }
}

/// Whether it spins.
pub(super) fn rotational(yes: bool) -> String {
    if yes { "yes" } else { "no" }.to_owned()
}

/// Whether its requests are counted. That they are not is what should be seen.
pub(super) fn accounting(on: bool) -> String {
    if on { "on" } else { "OFF" }.to_owned()
}

/// Where it is mounted, and which file is behind it.
pub(super) fn places(node: &Node) -> Vec<String> {
    let mounts = node.mountpoints.iter().map(|mount| sanitize(mount).into_owned());
    let file = node.backing_file.iter().map(|file| format!("file {}", sanitize(file)));
    mounts.chain(file).collect()
}

/// The items in lines of `width` columns at most, with commas between them; an item is only broken where it has no
/// room on a line of its own.
pub(super) fn wrapped(items: &[String], width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let comma = if index + 1 < items.len() { "," } else { "" };
        let item = format!("{item}{comma}");
        match lines.last_mut() {
            Some(line) if line.width() + 1 + item.width() <= width => {
                line.push(' ');
                line.push_str(&item);
            }
            _ => lines.extend(broken(&item, width)),
        }
    }
    lines
}

/// A text in pieces of `width` columns at most, broken behind a slash or a blank where there is one.
fn broken(text: &str, width: usize) -> Vec<String> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while rest.width() > width {
        let fits = fitting(rest, width);
        let nice = rest[..fits].rfind(['/', ' ']).map(|at| at + 1).filter(|at| *at > fits / 4);
        let (piece, after) = rest.split_at(nice.unwrap_or(fits));
        pieces.push(piece.to_owned());
        rest = after;
    }
    pieces.push(rest.to_owned());
    pieces
}

/// How many bytes of a text fit into `width` columns; a character at least.
fn fitting(text: &str, width: usize) -> usize {
    let mut used = 0;
    let too_far = |(at, c): &(usize, char)| {
        used += c.width().unwrap_or(0);
        used > width && *at > 0
    };
    text.char_indices().find(too_far).map_or(text.len(), |(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_lsblk() {
        let sizes =
            [0, 512, 1023, 1024, 1536, 274_877_906_944, 1_024_209_543_168, 2_000_398_934_016, u64::MAX];
        let expected = ["0B", "512B", "1023B", "1K", "1.5K", "256G", "953.9G", "1.8T", "16E"];
        assert_eq!(sizes.map(size), expected);
        assert_eq!(size(1_048_575), "1M");
    }

    #[test]
    fn a_kind_is_called_as_in_json() {
        let kinds =
            [Kind::Disk, Kind::Partition, Kind::NvmePath, Kind::Multipath, Kind::Virtual, Kind::Optical];
        for known in kinds {
            assert_eq!(serde_json::to_value(known).unwrap(), kind(known));
        }
    }

    #[test]
    fn items_stay_whole_where_they_can() {
        let items = ["/", "/boot/efi", "/var/lib/containers"].map(str::to_owned);
        assert_eq!(wrapped(&items, 100), ["/, /boot/efi, /var/lib/containers"]);
        assert_eq!(wrapped(&items, 13), ["/, /boot/efi,", "/var/lib/", "containers"]);
        assert_eq!(wrapped(&items[..1], 1), ["/"]);
        assert_eq!(wrapped(&["磁盘".to_owned()], 3), ["磁", "盘"]);
        assert!(wrapped(&[], 10).is_empty());
    }
}
