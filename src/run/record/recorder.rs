//! Turns samples into the blocks of a recording and hands these to the file.

use std::time::Duration;

use anyhow::{Result, bail};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::capture::{RecordFilter, RecordingHeader, SampleText, write_header, write_sample};
use crate::counters::Sample;
use crate::plan::Record;
use crate::run::{RunContext, put};
use crate::sanitize::sanitize;
use crate::sink::{IfExists, RecordingFile, Rotation};
use crate::source::{Live, describe, local_time_zone};

/// Where a recording goes.
enum Target {
    File(Box<RecordingFile>),
    Output,
}

/// A recording that is being made.
pub(super) struct Recorder<'a> {
    plan: &'a Record,
    every: Duration,
    target: Target,
    kept: RecordFilter,
    zone: TimeZone,
    /// The devices that the file says something of.
    names: Vec<String>,
    block: Vec<u8>,
    /// What the recording is called in messages.
    pub(super) name: String,
    /// Samples so far.
    pub(super) samples: u64,
    /// Bytes that they took.
    pub(super) bytes: u64,
    last: Option<Timestamp>,
}

impl<'a> Recorder<'a> {
    /// Opens the file of a plan for these devices, by the kernel's names, or all, and for samples that are to be so
    /// far apart.
    ///
    /// # Errors
    /// When it exists and is to be left alone, or cannot be written.
    pub(super) fn open(plan: &'a Record, devices: Vec<String>, every: Duration) -> Result<Self> {
        let is_output = plan.file.as_os_str() == "-";
        let name = if is_output { "standard output".into() } else { plan.file.display().to_string() };
        let name = sanitize(&name).into_owned();
        let existing = match (plan.append, plan.force) {
            (true, _) => IfExists::Append,
            (_, true) => IfExists::Replace,
            _ => IfExists::Refuse,
        };
        let rotation = plan.rotate.map(|size| Rotation { size, keep: plan.keep });
        let target = match rotation {
            Some(_) if is_output => bail!("standard output cannot be rotated; name a file"),
            _ if is_output => Target::Output,
            _ => Target::File(Box::new(RecordingFile::open(&plan.file, &name, existing, rotation)?)),
        };
        Ok(Self {
            plan,
            every,
            target,
            kept: RecordFilter { devices, columns: plan.legacy_14_columns.then_some(14) },
            zone: local_time_zone(plan.time_zone.as_deref()),
            names: Vec::new(),
            block: Vec::new(),
            name,
            samples: 0,
            bytes: 0,
            last: None,
        })
    }

    /// Adds the sample that was read last, behind what was recorded if its devices are others than before.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn add(
        &mut self,
        sample: &mut Sample,
        source: &Live<'_>,
        world: &mut RunContext<'_>,
    ) -> Result<()> {
        self.kept.apply(sample);
        let names = || sample.devices.iter().map(|device| device.name.as_str());
        let is_new = self.samples == 0 || !names().eq(self.names.iter().map(String::as_str));
        if is_new {
            self.names = names().map(str::to_owned).collect();
        }
        self.block.clear();
        if is_new {
            self.write_header();
        }
        let (diskstats, cpu) = (source.text(), source.cpu_line());
        let reading = SampleText {
            at: sample.at,
            diskstats,
            cpu,
            host: sample.host,
            missed_samples: sample.missed_samples,
        };
        write_sample(&reading, &self.kept, &self.zone, &mut self.block);
        if let Target::File(file) = &mut self.target
            && file.is_full_for(self.block.len())
        {
            file.rotate()?;
            self.block.clear();
            self.write_header();
            write_sample(&reading, &self.kept, &self.zone, &mut self.block);
        }
        self.bytes += match &mut self.target {
            Target::File(file) => file.write(&self.block)?,
            Target::Output => {
                let length = self.block.len() as u64;
                put(world.out, &mut self.block)?;
                length
            }
        };
        self.samples += 1;
        self.last = sample.at.wall;
        Ok(())
    }

    fn write_header(&mut self) {
        let recorded = RecordingHeader { every: Some(self.every), ..describe(&self.plan.root) };
        write_header(&recorded, &mut self.block);
    }

    /// Whether the recording itself is what a terminal shows.
    pub(super) fn is_shown_on_terminal(&self, world: &RunContext<'_>) -> bool {
        matches!(self.target, Target::Output) && world.is_terminal
    }

    /// Devices in the last sample.
    pub(super) fn devices(&self) -> usize {
        self.names.len()
    }

    /// Gives the file its end.
    ///
    /// # Errors
    /// What the system says; every sample can be read even so.
    pub(super) fn finish(&mut self) -> Result<()> {
        match &mut self.target {
            Target::File(file) => file.finish(),
            Target::Output => Ok(()),
        }
    }

    /// How much was recorded, in words.
    pub(super) fn safe(&self) -> String {
        let Some(last) = self.last else { return "nothing was recorded".into() };
        let until = last.to_zoned(self.zone.clone()).strftime("%H:%M:%S").to_string();
        match self.samples {
            1 => format!("1 sample of {until} is whole"),
            n => format!("{n} samples up to {until} are whole"),
        }
    }
}
