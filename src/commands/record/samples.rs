//! Writes samples of this host as blocks of a recording, with a header before those that need a new one.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jiff::tz::TimeZone;

use crate::capture::{
    ClockChange, RecordFilter, ScanWriter, write_annotation, write_header, write_health,
};
use crate::counters::{DeviceNumber, HealthFacts, Sample};
use crate::intervals::BaselineStore;
use crate::sink::SampleBlock;
use crate::source::{Live, read_recording_header};
use crate::topology::Topology;
use crate::units::SampleTime;

pub(in crate::commands) struct Recorder<'a> {
    root: &'a Path,
    /// The time between samples.
    interval: Duration,
    filter: RecordFilter,
    pub(in crate::commands) zone: TimeZone,
    baselines: &'a BaselineStore,
    /// The names of the devices in the last sample.
    pub(in crate::commands) devices: Vec<String>,
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
    pub(in crate::commands) skipped_scans: u64,
    /// The time of the last sample.
    last_at: SampleTime,
    pub(in crate::commands) samples: u64,
}

impl<'a> Recorder<'a> {
    /// Creates a recorder of the host below `root` with samples `interval` apart, whose times are in `zone`.
    pub(in crate::commands) fn new(
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
    pub(in crate::commands) fn block(
        &mut self,
        sample: &mut Sample,
        source: &Live<'_>,
    ) -> SampleBlock {
        self.filter.apply(sample);
        let mut block = SampleBlock {
            at: sample.at.wall,
            ..SampleBlock::default()
        };
        let needs_header = self.needs_header(sample);
        if needs_header {
            self.header.clear();
            self.write_header(sample);
            let names = sample.devices.iter().map(|device| device.name.clone());
            self.devices = names.collect();
        }
        self.completed.clear();
        let counters = sample.devices.iter().map(|device| device.counters);
        self.completed
            .extend(counters.map(|counters| counters.completed()));
        let mut has_news = false;
        if let Some(facts) = &sample.health
            && self.has_changed(facts)
        {
            has_news = true;
            self.health = Arc::clone(facts);
        }
        if needs_header || has_news {
            // The header is not read again: that might hang with a device that is in trouble now.
            block.header.clone_from(&self.header);
            write_health(&self.health, &mut block.header);
        }
        let change = ClockChange::between(&self.last_at, &sample.at);
        if change != ClockChange::default() {
            write_annotation(&change, &mut block.notes);
        }
        if let Some(scan) = &sample.io_scan
            && self
                .scans
                .write(scan, &self.scanned_devices, &mut block.text)
        {
            self.skipped_scans += scan.skipped;
        }
        self.filter
            .write_sample(sample, &source.text, &self.zone, &mut block.text);
        // Many blocks may be waiting to be written.
        block.text.shrink_to_fit();
        if let Some(wall) = sample.at.wall {
            block.utc_offset_s = self.zone.to_offset(wall).seconds().into();
        }
        self.last_at = sample.at;
        self.samples += 1;
        block
    }

    fn needs_header(&self, sample: &Sample) -> bool {
        if self.samples == 0 || self.devices.len() != sample.devices.len() {
            return true;
        }
        for (at, device) in sample.devices.iter().enumerate() {
            let completed = device.counters.completed().into_iter();
            let is_reset = completed
                .zip(self.completed[at])
                .any(|(now, before)| now < before);
            if device.name != self.devices[at] || is_reset {
                return true;
            }
        }
        self.has_new_loop(sample)
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
        if Arc::ptr_eq(facts, &self.health) {
            return false;
        }
        if facts.len() != self.health.len() {
            return true;
        }
        for (name, facts) in facts.iter() {
            match self.health.get(name) {
                Some(recorded) if !facts.differs(recorded) => {}
                _ => return true,
            }
        }
        false
    }

    /// Renews the text of the header of the recording.
    fn write_header(&mut self, sample: &Sample) {
        let mut header = read_recording_header(self.root, &self.topology);
        header.baselines = self.baselines.to_record(&sample.devices, &header.topology);
        header.interval_ns = u64::try_from(self.interval.as_nanos()).ok();
        write_header(&header, &mut self.header);
        self.topology = header.topology;
        self.find_scanned_devices();
    }

    /// Finds the numbers of the requested devices and of those below them: the kernel counts the I/O of cgroups on whole
    /// disks, and limits may apply to a device below.
    fn find_scanned_devices(&mut self) {
        self.scanned_devices.clear();
        for device in &self.filter.devices {
            let mut names = self.topology.devices_below(device);
            names.push(device.clone());
            for name in names {
                if let Some(node) = self.topology.node(&name) {
                    self.scanned_devices.insert((node.major, node.minor));
                }
            }
        }
    }
}
