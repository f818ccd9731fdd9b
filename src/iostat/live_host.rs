//! The devices of the live system: their names, their partitions, and the selected ones.

use std::io;
use std::path::PathBuf;

use super::options::{DeviceFiles, Options, RequestedItem};
use super::rows::{DeviceRows, DisplayNames};
use super::selection::Selection;
use crate::counters::{Device, Sample};
use crate::source::{DeviceResolver, read_partitions};
use crate::topology::{NamedDevice, Topology};

/// The names and the partitions of the live system's devices.
pub(super) struct LiveHost<'a> {
    options: &'a Options,
    resolver: DeviceResolver,
    /// The directories that describe the devices: /sys, that of `-f`, or both.
    sys: Vec<PathBuf>,
}

impl<'a> LiveHost<'a> {
    /// Describes the system below the root of the options.
    pub(super) fn new(options: &'a Options) -> Self {
        let sys = match &options.device_files {
            DeviceFiles::System => vec![options.root.join("sys")],
            DeviceFiles::Also(directory) => vec![options.root.join("sys"), directory.clone()],
            DeviceFiles::Only(directory) => vec![directory.clone()],
        };
        Self { options, resolver: DeviceResolver::new(&options.root, &sys), sys }
    }

    /// Returns the devices that the options select among these.
    pub(super) fn selection(&self, devices: &[Device]) -> Selection {
        let lists_all = self.options.default_devices.are_in_diskstats_order();
        let mut selection = Selection::from_options(self.options, |name, persistent| {
            let named = self.resolver.resolve(name, persistent, self.options.mapper_names, devices);
            // If all devices are listed, one that appears later has its position reserved.
            named.or_else(|| lists_all.then(|| NamedDevice::plain(name)))
        });
        let has_partitions =
            |item: &RequestedItem| matches!(item, RequestedItem::Device { partitions: true, .. });
        if self.options.items.iter().any(has_partitions) {
            let list_partitions = |disk: &str| self.resolver.partitions(disk);
            selection.fix_partitions(devices, &self.topology(devices), list_partitions);
        }
        selection
    }

    /// Updates the devices of the report for the last three samples, oldest first. /sys is read only when device
    /// names change. Returns the error, if any, that makes device-mapper names unreadable.
    pub(super) fn update_devices(
        &self,
        rows: &mut DeviceRows<'_>,
        samples: [&Sample; 3],
    ) -> Option<io::Error> {
        let [oldest, older, newer] = samples;
        if rows.match_devices(oldest, older, newer) {
            rows.update_entries(newer, &self.topology(&newer.devices));
        }
        // Labels may change while the devices stay the same.
        let mut display_names = DisplayNames::new();
        let mut unreadable = None;
        if self.options.mapper_names {
            match self.resolver.mapper(&newer.devices) {
                Ok(names) => display_names = names,
                Err(error) => unreadable = Some(error),
            }
        }
        if let Some(kind) = &self.options.persistent_names {
            display_names.extend(self.resolver.persistent(kind, &newer.devices));
        }
        rows.display_names = display_names;
        rows.unreadable_major = unreadable.as_ref().map(|(major, _)| *major);
        unreadable.map(|(_, error)| error)
    }

    fn topology(&self, devices: &[Device]) -> Topology {
        let topologies = self.sys.iter().map(|sys| read_partitions(sys, devices));
        // The second directory may have devices that the first one lacks.
        topologies.reduce(|topology, more| topology.merge(&more)).unwrap_or_default()
    }
}
