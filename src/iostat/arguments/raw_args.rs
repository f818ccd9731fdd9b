//! The options of iostat as typed, before they are combined.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::super::options::{DeviceFiles, RequestedItem};
use super::super::text::Unit;
use super::{VERSION, is_number, usage};
use crate::console::ArgError;
use crate::exit::Exit;

/// The options as they were typed.
#[derive(Default)]
pub(super) struct RawArgs {
    pub(super) cpu: bool,
    pub(super) disk: bool,
    /// True if an option about devices was given, which shows devices even with `-c`.
    pub(super) needs_disk: bool,
    pub(super) extended: bool,
    pub(super) short: bool,
    pub(super) unit: Option<Unit>,
    pub(super) decimals: Option<usize>,
    pub(super) human: bool,
    pub(super) pretty: bool,
    pub(super) compact: bool,
    pub(super) json: bool,
    pub(super) timestamps: bool,
    pub(super) epoch: bool,
    pub(super) skip_first: bool,
    pub(super) active_only: bool,
    pub(super) mapper_names: bool,
    pub(super) persistent_names: Option<String>,
    pub(super) device_files: DeviceFiles,
    pub(super) items: Vec<RequestedItem>,
    pub(super) groups_only: bool,
    /// True if ALL is among the devices.
    pub(super) all: bool,
    /// True if `-p` is given without devices, or with ALL.
    pub(super) all_partitions: bool,
    /// True if unused devices are shown, too.
    pub(super) includes_unused: bool,
    pub(super) unsorted_from: Option<usize>,
    pub(super) interval: Option<RawInterval>,
    pub(super) count: Option<u64>,
    pub(super) from: Option<PathBuf>,
    pub(super) root: Option<PathBuf>,
}

/// An interval as it was typed.
pub(super) enum RawInterval {
    /// Whole seconds; may be zero.
    Seconds(u64),
    /// With a fraction, which iostat does not support.
    Fraction(Duration),
}

impl RawArgs {
    /// Adds `-p [DEVICE[,...]|ALL]`.
    pub(super) fn add_partitions(&mut self, devices: Option<&str>) {
        self.needs_disk = true;
        let Some(devices) = devices else {
            self.add_all_partitions();
            return;
        };
        for name in devices.split(',').filter(|name| !name.is_empty()) {
            if name == "ALL" {
                self.add_all_partitions();
            } else {
                self.add_device(name, true);
            }
        }
        // An empty list has the same effect.
        self.includes_unused = true;
    }

    fn add_all_partitions(&mut self) {
        self.all_partitions = true;
        self.unsorted_from.get_or_insert(self.items.len());
    }

    fn add_device(&mut self, name: &str, partitions: bool) {
        self.needs_disk = true;
        self.includes_unused = true;
        let persistent = self.persistent_names.clone();
        self.items.push(RequestedItem::Device { name: name.to_owned(), partitions, persistent });
    }

    /// Adds `-g NAME`, unless there is a group with this name: then the devices after it belong to the last group.
    pub(super) fn add_group(&mut self, name: &str) {
        let group = RequestedItem::Group(name.to_owned());
        if !self.items.contains(&group) {
            self.unsorted_from.get_or_insert(self.items.len());
            self.items.push(group);
        }
    }

    /// Sets `-j TYPE`.
    pub(super) fn set_persistent_names(&mut self, kind: &str, root: &Path) -> Result<(), ArgError> {
        let root = self.root.as_deref().unwrap_or(root);
        let kind = kind.to_lowercase();
        if kind.is_empty() || !root.join(format!("dev/disk/by-{kind}")).is_dir() {
            let message = "Invalid type of persistent device name\n".to_owned();
            return Err(ArgError { message, exit: Exit::IostatUsage });
        }
        self.persistent_names = Some(kind);
        self.pretty = true;
        Ok(())
    }

    /// Sets `-f DIR` or `+f DIR`.
    pub(super) fn set_device_files(&mut self, option: &str, directory: &str) -> Result<(), ArgError> {
        let directory = PathBuf::from(directory);
        if self.device_files != DeviceFiles::System || !directory.is_dir() {
            return Err(usage());
        }
        self.device_files =
            if option == "-f" { DeviceFiles::Only(directory) } else { DeviceFiles::Also(directory) };
        Ok(())
    }

    /// Sets a cluster of one-letter options. A single dash is ignored.
    pub(super) fn set_letters(&mut self, letters: &str) -> Result<(), ArgError> {
        for letter in letters.chars() {
            match letter {
                'c' => self.cpu = true,
                'd' => self.disk = true,
                'h' => (self.human, self.pretty) = (true, true),
                'k' => self.set_unit(Unit::Kilo)?,
                'm' => self.set_unit(Unit::Mega)?,
                'G' => self.set_unit(Unit::Giga)?,
                'H' => self.groups_only = true,
                'N' => self.mapper_names = true,
                'p' => self.add_partitions(None),
                's' => self.short = true,
                't' => self.timestamps = true,
                'U' => self.epoch = true,
                'V' => return Err(ArgError { message: VERSION.to_owned(), exit: Exit::Success }),
                'x' => (self.extended, self.needs_disk) = (true, true),
                'y' => self.skip_first = true,
                'z' => self.active_only = true,
                _ => return Err(usage()),
            }
        }
        Ok(())
    }

    fn set_unit(&mut self, unit: Unit) -> Result<(), ArgError> {
        if self.unit.replace(unit).is_some_and(|before| before != unit) { Err(usage()) } else { Ok(()) }
    }

    /// Adds a device, the interval or the count.
    pub(super) fn add_operand(&mut self, operand: &str) -> Result<(), ArgError> {
        if operand == "ALL" {
            self.needs_disk = true;
            self.all = true;
        } else if !is_number(operand) {
            self.add_device(operand, false);
        } else if self.interval.is_none() {
            let fraction = operand.parse().ok().filter(|_| operand.contains('.'));
            let fraction = fraction.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
            self.interval = Some(match fraction {
                Some(duration) if duration.is_zero() => return Err(usage()),
                Some(duration) => RawInterval::Fraction(duration),
                None => RawInterval::Seconds(parse_number(operand)),
            });
        } else if self.count.is_none() && !operand.contains('.') {
            self.count = Some(parse_number(operand));
        } else {
            return Err(usage());
        }
        Ok(())
    }
}

/// Returns a number as iostat reads it: an empty text is 0, and a number that is too large is the largest one.
fn parse_number(digits: &str) -> u64 {
    const MAX: u64 = i64::MAX as u64;
    if digits.is_empty() { 0 } else { digits.parse().unwrap_or(MAX).min(MAX) }
}
