//! Identities of devices: texts that stay the same when a device gets another name, and change when another device
//! gets its name.
//!
//! | identity | source |
//! | --- | --- |
//! | `dm:LVM-...` | `dm/uuid` |
//! | `md:...` | `md/uuid` |
//! | `wwid:eui....`, `wwid:naa....` | `wwid` (NVMe), `device/wwid` (SCSI, ATA) |
//! | `serial:...` | `device/serial` (NVMe, MMC), `device/vpd_pg80` (SCSI), /dev/disk/by-id or `serial` (virtio) |
//! | `...-part2` | the identity of the disk, and the number of the partition |

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::sysfs_device::SysfsDevice;
use crate::sanitize::sanitize;
use crate::source::small_file::{links_in, read_bytes, read_line, read_within, resolve_in_root};
use crate::topology::{Kind, Node, Topology};

/// The longest value that counts as an identity, in bytes: a WWID of the kernel has up to 255, a UUID of the
/// device-mapper 128. A longer value may have been cut off, and two values may have the same beginning.
const MAX_VALUE_BYTES: usize = 256;
/// Longest wait for the serial number of a virtio disk.
const MAX_SERIAL_WAIT: Duration = Duration::from_millis(200);

/// Returns the identity of a whole device, as far as the kernel knows it without asking the device; `None` if it does
/// not. A path of an NVMe disk has none of its own.
pub(super) fn identity(root: &Path, device: &SysfsDevice, kind: Kind) -> Option<String> {
    if kind == Kind::NvmePath {
        return None;
    }
    if device.has("dm") {
        return tagged("dm", device.line("dm/uuid"));
    }
    if device.has("md") {
        return tagged("md", device.line("md/uuid"));
    }
    let mut wwid = None;
    if device.has("wwid") {
        wwid = tagged("wwid", device.line("wwid"));
    }
    if wwid.is_none() && device.has("device") {
        let driver = resolve_in_root(root, device.file("device"));
        wwid = tagged("wwid", read_line(&driver.join("wwid")));
    }
    if wwid.is_some() {
        return wwid;
    }
    tagged("serial", serial(root, device, kind))
}

/// Returns the serial number that the driver of a device stores; `None` if it stores none. A path of an NVMe disk has
/// the serial number of the disk.
pub(super) fn serial(root: &Path, device: &SysfsDevice, kind: Kind) -> Option<String> {
    if kind == Kind::NvmePath || !device.has("device") {
        return None;
    }
    let dir = resolve_in_root(root, device.file("device"));
    if let Some(line) = read_line(&dir.join("serial"))
        && let Some(serial) = normalize(&line)
    {
        return Some(serial);
    }
    normalize(&vpd_serial(&read_bytes(&dir.join("vpd_pg80"))?)?)
}

/// Returns an identity of this kind; `None` if the text identifies nothing.
fn tagged(kind: &str, text: Option<String>) -> Option<String> {
    let value = normalize(&text?)?;
    Some(format!("{kind}:{value}"))
}

/// Sets the serial numbers of disks whose identity is a serial number.
pub(super) fn add_serials_of_identities(nodes: &mut [Node]) {
    for node in nodes {
        if node.serial.is_none()
            && node.kind != Kind::Partition
            && let Some(identity) = &node.identity
            && let Some(serial) = identity.strip_prefix("serial:")
        {
            node.serial = Some(serial.to_owned());
        }
    }
}

/// Sets the identities of virtio disks, whose serial number in sysfs is not stored but requested from the device.
///
/// A disk that does not answer would block the read, so the read is avoided if possible: `previous` has the identities
/// of disks that were present before, and udev creates links with serial numbers in /dev/disk/by-id. Otherwise the disk
/// is asked once, with a time limit, unless its queue is filling up.
pub(super) fn add_virtio_serials(
    root: &Path,
    nodes: &mut [Node],
    serial_files: &[(usize, PathBuf)],
    previous: &Topology,
) {
    if serial_files.is_empty() {
        return;
    }
    let mut unknown = Vec::new();
    let mut linked = HashMap::new();
    for (link, name) in links_in(&root.join("dev/disk/by-id")) {
        if let Some(serial) = link.strip_prefix("virtio-") {
            linked.insert(name, serial.to_owned());
        }
    }
    for (index, file) in serial_files {
        let node = &mut nodes[*index];
        let before = match previous.node(&node.name) {
            Some(before) if before.is_same_instance(node) => Some(before),
            _ => None,
        };
        node.identity = match (before, linked.get(&node.name)) {
            (Some(before), _) if before.identity.is_some() => before.identity.clone(),
            (_, Some(serial)) => tagged("serial", Some(serial.clone())),
            (Some(_), None) => None,
            (None, None) => {
                if !is_queue_filling_up(file, node) {
                    unknown.push((*index, file.clone()));
                }
                None
            }
        };
    }
    for (index, file) in unknown {
        // Where one does not answer, the others are not asked.
        let Some(serial) = read_within(MAX_SERIAL_WAIT, move || read_line(&file)) else {
            break;
        };
        nodes[index].identity = tagged("serial", serial);
    }
}

/// Sets the identities of partitions: that of the disk, and the number of the partition, which ends its name.
pub(super) fn add_partition_identities(nodes: &mut [Node]) {
    let mut disks = HashMap::new();
    for node in nodes.iter() {
        if let Some(identity) = &node.identity {
            disks.insert(node.name.clone(), identity.clone());
        }
    }
    for node in nodes.iter_mut() {
        if node.kind == Kind::Partition {
            node.identity = partition_identity(node, &disks);
        }
    }
}

fn partition_identity(partition: &Node, disks: &HashMap<String, String>) -> Option<String> {
    let disk = disks.get(partition.backing_devices.first()?)?;
    let name = partition
        .name
        .trim_end_matches(|c: char| c.is_ascii_digit());
    if name.is_empty() {
        return None;
    }
    let number = &partition.name[name.len()..];
    Some(format!("{disk}-part{number}"))
}

/// Returns a value in the form in which identities hold it: blanks as `_`, as in the links of udev, and without control
/// characters. `None` for a value that identifies nothing: blank, all zeros, or too long.
fn normalize(value: &str) -> Option<String> {
    let mut words = Vec::from_iter(value.split(|c: char| c.is_whitespace() || c == '\0'));
    words.retain(|word| !word.is_empty());
    let joined = words.join("_");
    let mut digits = joined.as_str();
    for prefix in ["eui.", "naa.", "uuid.", "0x"] {
        if let Some(rest) = joined.strip_prefix(prefix) {
            digits = rest;
        }
    }
    let identifies = digits.contains(|c: char| c.is_alphanumeric() && c != '0');
    if !identifies || joined.len() > MAX_VALUE_BYTES {
        return None;
    }
    Some(sanitize(&joined).into_owned())
}

/// Returns the serial number in the page of that name of the vital product data (SPC-4, 7.8.15): two bytes that
/// identify the page, two with its length, and the text.
fn vpd_serial(page: &[u8]) -> Option<String> {
    let (header, text) = page.split_at_checked(4)?;
    let length = usize::from(u16::from_be_bytes([header[2], header[3]]));
    if header[1] != 0x80 {
        return None;
    }
    Some(String::from_utf8_lossy(text.get(..length)?).into_owned())
}

/// Returns whether half of the queue is in use, so that another request may have to wait.
fn is_queue_filling_up(serial_file: &Path, node: &Node) -> bool {
    let Some(queue_size) = node.nr_requests else {
        return false;
    };
    let counts = read_line(&serial_file.with_file_name("inflight")).unwrap_or_default();
    let mut in_flight = 0_u64;
    for count in counts.split_whitespace() {
        in_flight = in_flight.saturating_add(count.parse().unwrap_or(0));
    }
    in_flight > queue_size / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blank_zero_and_huge_values_identify_nothing() {
        for value in [
            "",
            "   ",
            "\0\0",
            "0",
            "0000 0000",
            "eui.0000000000000000",
            "naa.0",
            "0x00000000",
            "-- .",
        ] {
            assert_eq!(normalize(value), None, "{value:?}");
        }
        assert_eq!(normalize(&"x".repeat(MAX_VALUE_BYTES + 1)), None);
        assert_eq!(
            normalize(&"x".repeat(MAX_VALUE_BYTES)).map(|value| value.len()),
            Some(MAX_VALUE_BYTES)
        );
    }

    #[test]
    fn values_are_written_as_udev_writes_them_and_without_control_characters() {
        assert_eq!(normalize(" WD  Blue 1\0\0").as_deref(), Some("WD_Blue_1"));
        assert_eq!(
            normalize("eui.0025385b71b00001").as_deref(),
            Some("eui.0025385b71b00001")
        );
        assert_eq!(
            normalize("S\u{1b}[2J\u{202e}").as_deref(),
            Some("S\\u{1b}[2J\\u{202e}")
        );
    }

    #[test]
    fn the_page_with_the_serial_number_has_a_header_and_a_length() {
        assert_eq!(vpd_serial(b"\0\x80\0\x04 ABC__").as_deref(), Some(" ABC"));
        for page in [
            &b""[..],
            b"\0\x80\0",
            b"\0\x80\0\x09ABC",
            b"\0\x83\0\x03ABC",
        ] {
            assert_eq!(vpd_serial(page), None, "{page:?}");
        }
    }

    #[test]
    fn a_partition_has_the_identity_of_its_disk_and_its_number() {
        let node = |name: &str, on: &[&str], identity: Option<&str>| Node {
            name: name.into(),
            kind: if on.is_empty() {
                Kind::Disk
            } else {
                Kind::Partition
            },
            backing_devices: on.iter().map(|name| (*name).to_owned()).collect(),
            identity: identity.map(str::to_owned),
            ..Node::default()
        };
        let mut nodes = vec![
            node("nvme0n1", &[], Some("wwid:eui.1")),
            node("nvme0n1p12", &["nvme0n1"], None),
            node("sda", &[], None),
            node("sda1", &["sda"], None),
        ];
        add_partition_identities(&mut nodes);
        let identities: Vec<_> = nodes.iter().map(|node| node.identity.as_deref()).collect();
        assert_eq!(
            identities,
            [Some("wwid:eui.1"), Some("wwid:eui.1-part12"), None, None]
        );
    }
}
