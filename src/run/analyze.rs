//! Judging devices by many intervals: of a capture, or of this machine for a while.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};

use super::native::{Feed, Gathered, Settler, gather};
use super::{WIDTH, World, put};
use crate::analysis::{
    DeviceReport, MachineAnalysis, MachineReport, SavedBaselines, where_requests_wait,
};
use crate::exit::Exit;
use crate::metrics::MachineFigures;
use crate::plan::{Analyze, AnalyzeFormat};
use crate::report::analysis::{fio_job, json, text};
use crate::sanitize::sanitize;
use crate::sink::write_document;
use crate::view::terminal::screen_size;

pub(super) fn run(plan: &Analyze, world: &mut World<'_>) -> Result<Exit> {
    let settler = Settler::new(&plan.judging, world)?;
    let clock = world.clock;
    let mut feed = Feed::open(&plan.input, clock)?;
    let mut machine = MachineAnalysis::default();
    let gathered = gather(&mut feed, &plan.choice, plan.input.pace.count, world, &mut |older, newer, interval, _| {
        machine.see(&MachineFigures::between(older, newer, interval), interval.seconds());
    })?;
    let Gathered { devices, stack, intervals, signal, missing } = gathered;
    let ended = signal.map_or(Exit::Done, Exit::Signal);
    let found_none = devices.is_empty();
    if intervals == 0 || found_none {
        let why = missing.filter(|_| intervals > 0).unwrap_or_else(|| feed.nothing());
        let _ = writeln!(world.err, "blkstat: {}: {why}", sanitize(&feed.name()));
        return Ok(if ended == Exit::Done { Exit::Nothing } else { ended });
    }
    if let Some(text) = missing {
        // The others are worth their report.
        let _ = writeln!(world.err, "blkstat: {}: {text}", sanitize(&feed.name()));
    }
    let reports: Vec<DeviceReport> = devices
        .into_iter()
        .map(|device| {
            let settings = settler.settings(device.name());
            device.finish(&settings)
        })
        .collect();
    if let Some(path) = &plan.save_baseline {
        save_baseline(path, &reports)?;
    }
    write(plan, &reports, &stack, &machine.finish(), world)?;
    Ok(ended)
}
