//! The state of the stream: its source, its devices, and what was not found.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Result, bail};

use super::{Intervals, known_device};
use crate::analysis::Settings;
use crate::baselines::RecordedBaselines;
use crate::counters::{Counters, DeviceNumber, Sample};
use crate::intervals::device_lookup::NotFound;
use crate::intervals::events::{EventTracker, Events};
use crate::intervals::options::Detail;
use crate::intervals::sample_source::HostIdentity;
use crate::intervals::summary::{DeviceSummary, RunSpan};
use crate::sanitize::sanitize;
use crate::source::Replay;
use crate::topology::{Topology, nvme_head};

impl Intervals<'_> {
    /// Returns the fraction of a capture that has been read, from 0 to 1; `None` if its size is not known.
    pub fn progress(&self) -> Option<f64> {
        self.source.samples.replay()?.progress()
    }

    /// Returns the requested time between reports; `None` for a capture that does not record it.
    pub fn requested_interval(&self) -> Option<Duration> {
        self.source.samples.requested_interval()
    }

    pub(super) fn has_reached_count(&self) -> bool {
        self.input.count.is_some_and(|count| self.span.intervals >= count)
    }

    /// Returns whether the range of time that is shown has not begun.
    pub(in crate::intervals) fn is_before_range(&self) -> bool {
        self.is_before_range
    }

    /// The level of detail: which devices intervals list, and with which values.
    pub(in crate::intervals) fn detail(&self) -> Detail {
        self.tracker.detail
    }

    /// Returns whether samples come from the running system.
    pub fn is_live(&self) -> bool {
        self.source.samples.is_live()
    }

    /// Returns whether the stream ends after a given number of intervals.
    pub fn has_count(&self) -> bool {
        self.input.count.is_some()
    }

    /// The name of the source in messages.
    pub fn source_name(&self) -> String {
        self.source.samples.name()
    }

    /// Describes the host that the samples are from. Must be called after [`Self::start`].
    pub fn host(&self) -> HostIdentity {
        self.source.samples.host()
    }

    /// The intervals so far and the time that they span.
    pub fn span(&self) -> &RunSpan {
        &self.span
    }

    pub fn newest(&self) -> &Sample {
        &self.source.newest
    }

    /// The topology, which may be inferred from device names.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// Returns the selected devices of the last sample, by the kernel's names, with their counters.
    pub fn selected_devices(&self) -> impl Iterator<Item = (&str, &Counters)> {
        self.selected_with_peers().map(|(name, counters, _)| (name, counters))
    }

    /// Returns the same, with the latency of reads and of writes as multiples of the median of the peers.
    pub(in crate::intervals) fn selected_with_peers(
        &self,
    ) -> impl Iterator<Item = (&str, &Counters, [Option<f64>; 2])> {
        let devices = self.source.newest.devices.iter().zip(&self.tracker.attributes);
        let selected = devices.zip(&self.tracker.records).filter(|((_, it), _)| self.filter.is_selected(it));
        selected
            .map(|((device, _), record)| (device.name.as_str(), &device.counters, record.judge.peers.usual()))
    }

    /// Returns the whole devices that are selected in the last sample or contain selected partitions, by the kernel's
    /// names, each with its selected partitions.
    pub fn selected_disks(&self) -> BTreeMap<&str, Vec<&str>> {
        let mut disks: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (name, _) in self.selected_devices() {
            match self.topology.disk_of(name).filter(|disk| !disk.is_empty()) {
                Some(disk) => disks.entry(disk).or_default().push(name),
                None => drop(disks.entry(name).or_default()),
            }
        }
        disks
    }

    /// Returns the numbers of the devices of [`Self::selected_disks`], and of the paths of NVMe disks, which have the
    /// requests of those disks.
    pub fn selected_disk_numbers(&self) -> Vec<DeviceNumber> {
        let disks = self.selected_disks();
        let is_selected = |name: &str| disks.contains_key(name);
        let devices = self.source.newest.devices.iter();
        let selected = devices.filter(|device| {
            let head = nvme_head(&device.name);
            is_selected(&device.name) || head.is_some_and(|head| is_selected(&head))
        });
        selected.map(|device| (device.major, device.minor)).collect()
    }

    /// Returns the events of the listed devices so far, with the incidents that they belong to.
    pub fn events(&self) -> Events {
        self.events.events(&self.topology)
    }

    /// Takes the events so far, to be completed by what the analysis of all intervals shows.
    pub(in crate::intervals) fn take_events(&mut self) -> EventTracker {
        std::mem::take(&mut self.events)
    }

    /// Returns the summary of each selected device, by label, worst first ([`DeviceSummary::worst_first`]).
    pub fn summaries(&self) -> Vec<(String, DeviceSummary)> {
        self.tracker.summaries(&self.filter)
    }

    /// The topology; `None` if it could only be inferred from device names.
    pub fn known_topology(&self) -> Option<&Topology> {
        self.source.samples.has_known_topology().then_some(&self.topology)
    }

    /// The number of times that the topology was read or found in a recording.
    pub fn topology_revision(&self) -> u64 {
        self.topology_revision
    }

    /// Returns the settings of the verdict on a device, by its kernel name and its identity, if any.
    pub fn settings(&self, device: &str, identity: Option<&str>) -> Settings {
        let none = RecordedBaselines::default();
        let recorded = self.source.samples.recorded_baselines().unwrap_or(&none);
        Settings {
            device: known_device(&self.topology, &self.machine, device),
            ..self.baselines.settings(device, identity, recorded)
        }
    }

    /// Returns a message about the selected devices whose name belongs to another device in a given baseline; `None` if
    /// there are none.
    pub fn mismatched_baselines(&self) -> Option<String> {
        self.baselines.mismatches(self.selected_devices().map(|(name, _)| name), &self.topology)
    }

    /// Returns the requested devices that were not found so far; `None` if all were.
    pub fn not_found(&self) -> Option<NotFound> {
        let searched = self.input.count.filter(|_| self.has_reached_count());
        let devices = &self.source.newest.devices;
        self.filter.not_found(devices, &self.tracker.attributes, searched, self.input.from.as_deref())
    }

    /// Returns why there are no intervals.
    ///
    /// # Errors
    /// When the capture is not a text file.
    pub fn no_data_reason(&self) -> Result<String> {
        let capture = self.source.samples.replay().map(|replay| replay.state());
        if capture.is_some_and(|capture| capture.is_not_text) {
            bail!(
                "{} is not a text file; expected a diskstats capture",
                sanitize(&self.source.samples.name())
            );
        }
        let look_alike = capture.and_then(|capture| capture.look_alike);
        let reason = match self.source.sample_count {
            // Later samples were not read.
            0 | 1 if self.input.range.end.is_some() => "fewer than two complete samples up to --end",
            0 | 1 if capture.is_some_and(|capture| capture.is_log) => {
                "the log has no interval: its first report has averages since boot; of one of iostat -y, --every 10s \
                 states the length"
            }
            0 => {
                let replay = self.source.samples.replay();
                return Ok(replay.map_or_else(|| "no samples found".to_owned(), Replay::no_samples_reason));
            }
            1 => {
                let why = look_alike.map(|(line, what)| format!("line {line} {what}"));
                let why = why.unwrap_or_else(|| "two are needed".to_owned());
                return Ok(format!("only one complete sample; {why}"));
            }
            _ if !self.input.range.is_everything() => "no interval lies between --begin and --end",
            _ => "no two consecutive samples in order of time",
        };
        Ok(reason.to_owned())
    }
}
