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
    let wwid = || tagged("wwid", device.has("wwid").then(|| device.line("wwid"))?);
    let of_driver = || {
        let dir = device
            .has("device")
            .then(|| resolve_in_root(root, device.file("device")))?;
        tagged("wwid", read_line(&dir.join("wwid")))
    };
    wwid()
        .or_else(of_driver)
        .or_else(|| tagged("serial", serial(root, device, kind)))
}

/// Returns the serial number that the driver of a device stores; `None` if it stores none. A path of an NVMe disk has
/// the serial number of the disk.
pub(super) fn serial(root: &Path, device: &SysfsDevice, kind: Kind) -> Option<String> {
    if kind == Kind::NvmePath || !device.has("device") {
        return None;
    }
    let dir = resolve_in_root(root, device.file("device"));
    let page = || normalize(&vpd_serial(&read_bytes(&dir.join("vpd_pg80"))?)?);
    read_line(&dir.join("serial"))
        .and_then(|line| normalize(&line))
        .or_else(page)
}

/// Returns an identity of this kind; `None` if the text identifies nothing.
fn tagged(kind: &str, text: Option<String>) -> Option<String> {
    normalize(&text?).map(|value| format!("{kind}:{value}"))
}

/// Sets the serial numbers of disks whose identity is a serial number.
pub(super) fn add_serials_of_identities(nodes: &mut [Node]) {
    for node in nodes
        .iter_mut()
        .filter(|node| node.serial.is_none() && node.kind != Kind::Partition)
    {
        let serial = node
            .identity
            .as_deref()
            .and_then(|identity| identity.strip_prefix("serial:"));
        node.serial = serial.map(str::to_owned);
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
    let links = links_in(&root.join("dev/disk/by-id"));
    let serial =
        |(link, name): (String, String)| Some((name, link.strip_prefix("virtio-")?.to_owned()));
    let linked: HashMap<String, String> = links.filter_map(serial).collect();
    for (index, file) in serial_files {
        let node = &mut nodes[*index];
        let before = previous
            .node(&node.name)
            .filter(|before| before.is_same_instance(node));
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
    let disks: HashMap<String, String> = nodes
        .iter()
        .filter_map(|node| Some((node.name.clone(), node.identity.clone()?)))
        .collect();
    for node in nodes.iter_mut().filter(|node| node.kind == Kind::Partition) {
        let disk = node
            .backing_devices
            .first()
            .and_then(|disk| disks.get(disk));
        let number = node
            .name
            .rfind(|c: char| !c.is_ascii_digit())
            .map(|end| &node.name[end + 1..]);
        node.identity = disk
            .zip(number)
            .map(|(disk, number)| format!("{disk}-part{number}"));
    }
}

/// Returns a value in the form in which identities hold it: blanks as `_`, as in the links of udev, and without control
/// characters. `None` for a value that identifies nothing: blank, all zeros, or too long.
fn normalize(value: &str) -> Option<String> {
    let words = value
        .split(|c: char| c.is_whitespace() || c == '\0')
        .filter(|word| !word.is_empty());
    let value = words.collect::<Vec<_>>().join("_");
    let prefixes = ["eui.", "naa.", "uuid.", "0x"];
    let digits = prefixes
        .iter()
        .find_map(|prefix| value.strip_prefix(prefix))
        .unwrap_or(&value);
    let identifies = digits.chars().any(|c| c.is_alphanumeric() && c != '0');
    (identifies && value.len() <= MAX_VALUE_BYTES).then(|| sanitize(&value).into_owned())
}

/// Returns the serial number in the page of that name of the vital product data (SPC-4, 7.8.15): two bytes that
/// identify the page, two with its length, and the text.
fn vpd_serial(page: &[u8]) -> Option<String> {
    let (header, text) = page.split_at_checked(4)?;
    let length = usize::from(u16::from_be_bytes([header[2], header[3]]));
    let text = text.get(..length).filter(|_| header[1] == 0x80)?;
    Some(String::from_utf8_lossy(text).into_owned())
}

/// Returns whether half of the queue is in use, so that another request may have to wait.
fn is_queue_filling_up(serial_file: &Path, node: &Node) -> bool {
    let in_flight = read_line(&serial_file.with_file_name("inflight"));
    let counts = in_flight
        .iter()
        .flat_map(|line| line.split_whitespace())
        .filter_map(|n| n.parse::<u64>().ok());
    let in_flight = counts.fold(0, u64::saturating_add);
    node.nr_requests.is_some_and(|most| in_flight > most / 2)
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
