//! Turns samples into the blocks of a recording.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jiff::tz::TimeZone;

use crate::capture::{
    ClockChange, RecordFilter, RecordingHeader, SampleText, ScanWriter, write_clock_change, write_header,
    write_health, write_sample,
};
use crate::counters::{DeviceNumber, HealthFacts, Sample};
use crate::intervals::BaselineStore;
use crate::sink::SampleBlock;
use crate::source::{Live, read_recording_header};
use crate::topology::Topology;
use crate::units::SampleTime;

pub(super) struct Recorder<'a> {
    root: &'a Path,
    interval: Duration,
    filter: RecordFilter,
    pub(super) zone: TimeZone,
    baselines: &'a BaselineStore,
    /// The names of the devices in the last sample.
    pub(super) devices: Vec<String>,
    /// The number of requests that each of them had completed.
    completed: Vec<[u64; 4]>,
    topology: Topology,
    /// The text of the last header.
    header: Vec<u8>,
    /// The facts about the health of devices that were recorded last.
    health: Arc<HealthFacts>,
    scans: ScanWriter,
    /// The devices whose cgroups are recorded: the requested ones and those below them; all if empty.
    scanned_devices: HashSet<DeviceNumber>,
    /// The number of scans that were skipped because they would have cost too much.
    pub(super) skipped_scans: u64,
    /// The time of the last sample.
    last_at: SampleTime,
    pub(super) samples: u64,
}

impl<'a> Recorder<'a> {
    /// Creates a recorder of the host below `root` with samples `interval` apart, whose times are in `zone`.
    pub(super) fn new(
        root: &'a Path,
        filter: RecordFilter,
        baselines: &'a BaselineStore,
        interval: Duration,
        zone: TimeZone,
    ) -> Self {
        Self {
            root,
            interval,
            filter,
            zone,
            baselines,
            devices: Vec::new(),
            completed: Vec::new(),
            topology: Topology::default(),
            header: Vec::new(),
            health: Arc::default(),
            scans: ScanWriter::default(),
            scanned_devices: HashSet::new(),
            skipped_scans: 0,
            last_at: SampleTime::default(),
            samples: 0,
        }
    }

    /// Returns the block of the sample that `source` read last. A header precedes the first sample and each sample
    /// whose devices differ from those of the sample before it, or had their counters reset: they may be other devices
    /// with the same names. So it does once a loop device has got a file.
    pub(super) fn block(
        &mut self,
        sample: &mut Sample,
        source: &Live<'_>,
        on_mismatch: &mut dyn FnMut(String),
    ) -> SampleBlock {
        self.filter.apply(sample);
        let names = || sample.devices.iter().map(|device| device.name.as_str());
        let completed = || sample.devices.iter().map(|device| device.counters.completed());
        let is_less =
            |(now, before): ([u64; 4], &[u64; 4])| now.iter().zip(before).any(|(now, before)| now < before);
        let needs_header = self.samples == 0
            || !names().eq(self.devices.iter().map(String::as_str))
            || completed().zip(&self.completed).any(is_less)
            || self.has_new_loop(sample);
        if needs_header {
            self.devices = names().map(str::to_owned).collect();
        }
        self.completed.clear();
        self.completed.extend(completed());
        let mut block = SampleBlock { at: sample.at.wall, ..SampleBlock::default() };
        let facts = sample.health.as_ref().filter(|facts| self.has_changed(facts)).cloned();
        if needs_header {
            self.header.clear();
            self.write_header(sample, on_mismatch);
        }
        if needs_header || facts.is_some() {
            self.health = facts.unwrap_or_else(|| Arc::clone(&self.health));
            // The header is not read again: that might hang with a device that is in trouble now.
            block.header.clone_from(&self.header);
            write_health(&self.health, &mut block.header);
        }
        write_clock_change(&ClockChange::between(&self.last_at, &sample.at), &mut block.notes);
        if let Some(scan) = &sample.io_scan {
            block.scan = self.scans.growth(scan, &self.scanned_devices);
            self.skipped_scans += block.scan.as_ref().map_or(0, |_| scan.skipped);
        }
        let text = SampleText {
            at: sample.at,
            diskstats: &source.text,
            cpu: &source.cpu_line,
            host: sample.host,
            missed_samples: sample.missed_samples,
        };
        write_sample(&text, &self.filter, &self.zone, &mut block.text);
        // Many blocks may be waiting to be written.
        block.text.shrink_to_fit();
        block.utc_offset_s = sample.at.wall.map_or(0, |wall| self.zone.to_offset(wall).seconds().into());
        self.last_at = sample.at;
        self.samples += 1;
        block
    }

    /// Returns whether a loop device that had no file has completed requests since the sample before, which had the same
    /// devices.
    fn has_new_loop(&self, sample: &Sample) -> bool {
        self.topology.unbound_loops().any(|name| {
            let at = self.devices.iter().position(|device| device == name);
            at.is_some_and(|at| sample.devices[at].counters.completed() != self.completed[at])
        })
    }

    /// Returns whether facts about the health of devices differ from those that were recorded last.
    fn has_changed(&self, facts: &Arc<HealthFacts>) -> bool {
        !Arc::ptr_eq(facts, &self.health)
            && (facts.len() != self.health.len()
                || facts.iter().any(|(name, facts)| {
                    self.health.get(name).is_none_or(|recorded| facts.differs(recorded))
                }))
    }

    /// Renews the text of the header of the recording. Before the first sample, `on_mismatch` gets a message if a given baseline
    /// is for other devices.
    fn write_header(&mut self, sample: &Sample, on_mismatch: &mut dyn FnMut(String)) {
        let header = read_recording_header(self.root, &self.topology);
        if self.samples == 0 {
            let names = sample.devices.iter().map(|device| device.name.as_str());
            if let Some(message) = self.baselines.mismatches(names, &header.topology) {
                on_mismatch(message);
            }
        }
        let baselines = self.baselines.to_record(&sample.devices, &header.topology);
        let header = RecordingHeader {
            interval_ns: u64::try_from(self.interval.as_nanos()).ok(),
            baselines,
            ..header
        };
        write_header(&header, &mut self.header);
        self.topology = header.topology;
        self.scanned_devices =
            self.filter.devices.iter().flat_map(|name| self.numbers_down_from(name)).collect();
    }

    /// Returns the numbers of a device and of those below it: the kernel counts the I/O of cgroups on whole disks, and
    /// limits may apply to a device below.
    fn numbers_down_from(&self, name: &str) -> Vec<DeviceNumber> {
        let names = std::iter::once(name.to_owned()).chain(self.topology.devices_below(name));
        let nodes = names.filter_map(|name| self.topology.node(&name));
        nodes.map(|node| (node.major, node.minor)).collect()
    }
}
