//! `blkstat record`: writes samples of a live host to a file that every view can replay.

mod progress;
mod recorder;

use std::collections::HashMap;

use anyhow::{Result, bail};

use self::progress::{print_summary, shows_progress, status};
use self::recorder::Recorder;
use super::progress::Progress;
use super::warnings::Warnings;
use super::{RunContext, is_closed_pipe, load_baselines, read_live};
use crate::clock::WaitOutcome;
use crate::counters::{Device, Sample};
use crate::exit::Exit;
use crate::intervals::{NotFound, VerdictOptions, find_device, similar_name};
use crate::plan::Record;
use crate::sanitize::sanitize;
use crate::schedule::{DEFAULT_INTERVAL, Deadlines};
use crate::source::{DeviceResolver, Live, read_topology};

/// Records the requested number of intervals, or until a signal comes. The first sample is taken at once, so there is
/// one more sample than intervals.
///
/// # Errors
/// If a sample cannot be read or written; the message includes the number of samples that were saved.
pub(super) fn run(plan: &Record, context: &mut RunContext<'_>) -> Result<Exit> {
    let options = VerdictOptions { baseline: plan.baseline.clone(), ..VerdictOptions::default() };
    let baselines = load_baselines(&options, context)?;
    let mut source = Live::new(&plan.root, context.clock).with_host_state();
    let mut warnings = Warnings::about(&source.name());
    let mut sample = Sample::default();
    source.read_first(&mut sample, |line, error| warnings.warn_line(line as u64, &error, context.err))?;
    let devices = match kernel_names(plan, &sample.devices) {
        Ok(devices) => devices,
        Err(reason) => {
            context.print_error(format_args!("{}: {reason}", sanitize(&source.name())));
            return Ok(Exit::NoData);
        }
    };
    let interval = plan.schedule.interval.unwrap_or(DEFAULT_INTERVAL);
    let zone = context.time_zone(plan.time_zone.as_deref());
    let mut recorder = Recorder::open(plan, devices, &baselines, interval, zone)?;
    let start = sample.at.monotonic.unwrap_or_default();
    let mut deadlines = Deadlines::new(start, interval);
    let mut progress = Progress::new(shows_progress(plan, interval, &recorder, context), start);
    let ended = loop {
        if let Err(error) = recorder.add(&mut sample, &source, context) {
            break Err(error);
        }
        if plan.schedule.count.is_some_and(|count| recorder.samples > count) {
            break Ok(Exit::Success);
        }
        progress.show(|| status(&recorder), context);
        let (deadline, missed) = deadlines.next(context.clock.monotonic());
        if let WaitOutcome::Signal(signal) = context.clock.wait_until(deadline) {
            break Ok(Exit::Signal(signal));
        }
        if let Err(error) = read_live(&mut source, &mut sample, &mut warnings, context) {
            break Err(error);
        }
        sample.missed_samples = missed;
    };
    let finished = recorder.finish();
    progress.clear(context);
    warnings.finish(context.err);
    match ended.and_then(|exit| finished.map(|()| exit)) {
        Err(error) if !is_closed_pipe(&error) => bail!("{error:#}; {}", recorder.saved()),
        ended => {
            print_summary(plan, &recorder, context);
            ended
        }
    }
}

/// Resolves the requested devices, given by any of their names, to kernel names.
///
/// # Errors
/// The first name that no device has.
fn kernel_names(plan: &Record, devices: &[Device]) -> Result<Vec<String>, NotFound> {
    if plan.devices.is_empty() {
        return Ok(Vec::new());
    }
    let topology = read_topology(&plan.root);
    let aliases: HashMap<&str, &String> =
        topology.nodes().iter().filter_map(|node| Some((node.name.as_str(), node.alias.as_ref()?))).collect();
    let alias = |device: &Device| aliases.get(device.name.as_str()).map(|name| name.as_str());
    let resolver = DeviceResolver::new(&plan.root, &[plan.root.join("sys")]);
    let resolve = |name: &String| match find_device(name, devices, alias, Some(&resolver)) {
        Some(at) => Ok(devices[at].name.clone()),
        None => {
            let names = devices.iter().map(|device| device.name.as_str());
            let similar = similar_name(name, names.chain(aliases.values().map(|name| name.as_str())));
            let (name, list_command) = (name.clone(), "blkstat devices".to_owned());
            Err(NotFound::Name { name, similar: similar.map(str::to_owned), list_command })
        }
    };
    plan.devices.iter().map(resolve).collect()
}
