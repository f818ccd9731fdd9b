//! Writes samples to a recording, each as one block.

use std::time::Duration;

use anyhow::{Result, bail};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::capture::{RecordFilter, RecordingHeader, SampleText, write_header, write_sample};
use crate::counters::Sample;
use crate::intervals::BaselineStore;
use crate::plan::Record;
use crate::run::{RunContext, emit};
use crate::sanitize::sanitize;
use crate::sink::{IfExists, RecordingFile, Rotation};
use crate::source::{Live, read_recording_header};
use crate::topology::Topology;

/// The destination of a recording.
enum Target {
    File(Box<RecordingFile>),
    StandardOutput,
}

/// A recording in progress.
pub(super) struct Recorder<'a> {
    plan: &'a Record,
    interval: Duration,
    target: Target,
    filter: RecordFilter,
    zone: TimeZone,
    baselines: &'a BaselineStore,
    /// The names of the devices in the last sample.
    devices: Vec<String>,
    /// The requests that each of them had completed.
    completed: Vec<[u64; 4]>,
    topology: Topology,
    block: Vec<u8>,
    /// The name of the recording in messages, without control characters.
    pub(super) name: String,
    /// Samples written.
    pub(super) samples: u64,
    /// Bytes written.
    pub(super) bytes: u64,
    /// The wall-clock time of the last sample.
    last_time: Option<Timestamp>,
}

impl<'a> Recorder<'a> {
    /// Opens the file of a plan for a recording of `devices`, by kernel name (all if empty), with samples `interval`
    /// apart, whose times are in `zone`.
    ///
    /// # Errors
    /// If the file exists and must not be changed, or cannot be written.
    pub(super) fn open(
        plan: &'a Record,
        devices: Vec<String>,
        baselines: &'a BaselineStore,
        interval: Duration,
        zone: TimeZone,
    ) -> Result<Self> {
        let is_output = plan.file.as_os_str() == "-";
        let name = if is_output { "standard output".into() } else { plan.file.display().to_string() };
        let name = sanitize(&name).into_owned();
        let if_exists = match (plan.append, plan.force) {
            (true, _) => IfExists::Append,
            (_, true) => IfExists::Replace,
            _ => IfExists::Refuse,
        };
        let rotation = plan.rotate.map(|size| Rotation { size, keep: plan.keep });
        let target = match rotation {
            Some(_) if is_output => bail!("cannot rotate standard output; --rotate needs a file name"),
            _ if is_output => Target::StandardOutput,
            _ => Target::File(Box::new(RecordingFile::open(&plan.file, &name, if_exists, rotation)?)),
        };
        Ok(Self {
            plan,
            interval,
            target,
            filter: RecordFilter { devices, columns: plan.legacy_14_columns.then_some(14) },
            zone,
            baselines,
            devices: Vec::new(),
            completed: Vec::new(),
            topology: Topology::default(),
            block: Vec::new(),
            name,
            samples: 0,
            bytes: 0,
            last_time: None,
        })
    }

    /// Adds the sample that `source` read last. A header precedes the first sample and each sample whose devices differ
    /// from those of the sample before it, or whose counters were reset: they may be other devices of the same names.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(super) fn add(
        &mut self,
        sample: &mut Sample,
        source: &Live<'_>,
        context: &mut RunContext<'_>,
    ) -> Result<()> {
        self.filter.apply(sample);
        let names = || sample.devices.iter().map(|device| device.name.as_str());
        let completed = || sample.devices.iter().map(|device| device.counters.completed());
        let is_less =
            |(now, before): ([u64; 4], &[u64; 4])| now.iter().zip(before).any(|(now, before)| now < before);
        let needs_header = self.samples == 0
            || !names().eq(self.devices.iter().map(String::as_str))
            || completed().zip(&self.completed).any(is_less);
        if needs_header {
            self.devices = names().map(str::to_owned).collect();
        }
        self.completed.clear();
        self.completed.extend(completed());
        self.block.clear();
        if needs_header {
            self.write_header(sample, context);
        }
        let text = SampleText {
            at: sample.at,
            diskstats: source.text(),
            cpu: source.cpu_line(),
            host: sample.host,
            missed_samples: sample.missed_samples,
        };
        write_sample(&text, &self.filter, &self.zone, &mut self.block);
        if let Target::File(file) = &mut self.target
            && file.is_full_for(self.block.len())
        {
            file.rotate()?;
            self.block.clear();
            self.write_header(sample, context);
            write_sample(&text, &self.filter, &self.zone, &mut self.block);
        }
        self.bytes += match &mut self.target {
            Target::File(file) => file.write(&self.block)?,
            Target::StandardOutput => {
                let length = self.block.len() as u64;
                emit(context.out, &mut self.block)?;
                length
            }
        };
        self.samples += 1;
        self.last_time = sample.at.wall;
        Ok(())
    }

    /// Writes the header of a file or before a sample. The first one is followed by a message if a given baseline is for
    /// other devices.
    fn write_header(&mut self, sample: &Sample, context: &mut RunContext<'_>) {
        let header = read_recording_header(&self.plan.root, &self.topology);
        if self.samples == 0 {
            let names = sample.devices.iter().map(|device| device.name.as_str());
            if let Some(message) = self.baselines.mismatches(names, &header.topology) {
                context.print_error(message);
            }
        }
        let baselines = self.baselines.to_record(&sample.devices, &header.topology);
        let header = RecordingHeader { interval: Some(self.interval), baselines, ..header };
        write_header(&header, &mut self.block);
        self.topology = header.topology;
    }

    /// Returns whether the recording itself goes to a terminal.
    pub(super) fn writes_to_terminal(&self, context: &RunContext<'_>) -> bool {
        matches!(self.target, Target::StandardOutput) && context.is_terminal
    }

    /// Returns the number of devices in the last sample.
    pub(super) fn device_count(&self) -> usize {
        self.devices.len()
    }

    /// Completes the file.
    ///
    /// # Errors
    /// If it cannot be written; every earlier sample can still be read.
    pub(super) fn finish(&mut self) -> Result<()> {
        match &mut self.target {
            Target::File(file) => file.finish(),
            Target::StandardOutput => Ok(()),
        }
    }

    /// Describes what was saved, for an error message.
    pub(super) fn saved(&self) -> String {
        let Some(last) = self.last_time else { return "no samples saved".into() };
        let time = last.to_zoned(self.zone.clone()).strftime("%H:%M:%S").to_string();
        match self.samples {
            1 => format!("1 complete sample saved, taken at {time}"),
            n => format!("{n} complete samples saved, up to {time}"),
        }
    }
}
