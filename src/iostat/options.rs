//! The options of iostat, parsed.

use std::path::PathBuf;
use std::time::Duration;

use super::text::{Palette, Style};
use crate::time_range::TimeRange;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The parts and the format of a report, except for its colors.
    pub style: Style,
    pub colors: Colors,
    /// Devices and groups in the order of the command line.
    pub items: Vec<RequestedItem>,
    /// The devices that are shown in addition.
    pub default_devices: DefaultDevices,
    /// The index of the first item that is not sorted by name; `None` if all devices are.
    pub unsorted_from: Option<usize>,
    /// `-H`: groups without their devices.
    pub groups_only: bool,
    /// `-N`: device-mapper names.
    pub mapper_names: bool,
    /// `-j`: persistent names of this type, a directory /dev/disk/by-TYPE.
    pub persistent_names: Option<String>,
    /// The files that devices are read from.
    pub device_files: DeviceFiles,
    /// `-y`: no report since boot.
    pub skip_first: bool,
    /// `-t`: the time above each report.
    pub timestamps: bool,
    /// The format of that time.
    pub time_style: TimeStyle,
    /// True if the date in the heading is in the format of ISO 8601.
    pub iso_date: bool,
    /// The time between reports; `None` for a single live report, or for every sample of a capture.
    pub interval: Option<Duration>,
    /// The number of reports; `None` for no limit.
    pub count: Option<u64>,
    /// `--from`: the capture to replay; `None` for a live system.
    pub from: Option<PathBuf>,
    /// Further files of the capture.
    pub more: Vec<PathBuf>,
    /// `--begin` and `--end`: the part of the capture that is shown.
    pub range: TimeRange,
    /// `--every`: the distance of samples of a capture without times.
    pub every: Option<Duration>,
    /// `--root`: the directory that contains `proc`, `sys` and `dev`.
    pub root: PathBuf,
}

/// The devices that are shown in addition to those on the command line. A device is used once it has completed a
/// request since boot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DefaultDevices {
    None,
    #[default]
    UsedWhole,
    AllWhole,
    /// Used devices and partitions, in the order of /proc/diskstats.
    UsedWithPartitions,
    /// All devices and partitions, in the order of /proc/diskstats.
    AllWithPartitions,
}

impl DefaultDevices {
    /// Returns whether they are in the order of /proc/diskstats.
    pub fn are_in_diskstats_order(self) -> bool {
        matches!(self, DefaultDevices::AllWithPartitions | DefaultDevices::UsedWithPartitions)
    }

    /// Returns whether those that were never used are hidden.
    pub fn are_used_only(self) -> bool {
        matches!(self, DefaultDevices::UsedWhole | DefaultDevices::UsedWithPartitions)
    }
}

/// A device or a group on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestedItem {
    Device {
        /// The argument, which may be any name of the device.
        name: String,
        /// True if its partitions are also shown.
        partitions: bool,
        /// The type of persistent names that `name` may be one of.
        persistent: Option<String>,
    },
    /// The start of a group with this name.
    Group(String),
}

/// The files that devices are read from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum DeviceFiles {
    /// /proc and /sys.
    #[default]
    System,
    /// `-f`: this directory instead of /proc and /sys.
    Only(PathBuf),
    /// `+f`: this directory in addition to /proc and /sys.
    Also(PathBuf),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Colors {
    #[default]
    Never,
    OnTerminal(Palette),
    Always(Palette),
}

/// The format of the time above a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimeStyle {
    /// The date and time of the C locale.
    #[default]
    Local,
    /// ISO 8601 with the offset from UTC.
    Iso,
    /// `-U`: seconds since the epoch.
    Epoch,
}
