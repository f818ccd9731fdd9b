//! `blkstat record`: writes samples of a live host to a file that every view can replay.

mod progress;
mod recorder;

use std::collections::HashMap;
use std::time::Duration;

use anyhow::{Result, bail};

use self::progress::{print_summary, shows_progress, status};
use self::recorder::Recorder;
use super::hints::did_you_mean;
use super::named::device_named;
use super::progress::Progress;
use super::warnings::Warnings;
use super::{RunContext, is_closed_pipe};
use crate::clock::WaitOutcome;
use crate::counters::{Device, Sample};
use crate::deadlines::Deadlines;
use crate::exit::Exit;
use crate::plan::Record;
use crate::sanitize::sanitize;
use crate::source::{DeviceResolver, Live, read_topology};

/// The default time between samples.
const DEFAULT_INTERVAL: Duration = Duration::from_secs(1);

/// Records the requested number of intervals, or until a signal comes. The first sample is taken at once, so there is
/// one more sample than intervals.
///
/// # Errors
/// When a sample cannot be read or written, with the number of samples that were saved.
pub(super) fn run(plan: &Record, context: &mut RunContext<'_>) -> Result<Exit> {
    let mut source = Live::new(&plan.root, context.clock).with_host_state();
    let mut warnings = Warnings::about(&source.name());
    let mut sample = Sample::default();
    source.read(&mut sample, |line, error| warnings.warn_line(line as u64, &error, context.err))?;
    let devices = match kernel_names(plan, &sample.devices) {
        Ok(devices) => devices,
        Err(word) => {
            let _ = writeln!(context.err, "blkstat: {} has no device {word}", source.name());
            return Ok(Exit::NoData);
        }
    };
    let interval = plan.schedule.every.unwrap_or(DEFAULT_INTERVAL);
    let mut recorder = Recorder::open(plan, devices, interval)?;
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
        if let Err(error) =
            source.read(&mut sample, |line, error| warnings.warn_line(line as u64, &error, context.err))
        {
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

/// Resolves the requested devices, given by any of their names, to kernel names. The error quotes the first word that
/// names no device, with a similar name if there is one.
fn kernel_names(plan: &Record, devices: &[Device]) -> Result<Vec<String>, String> {
    if plan.devices.is_empty() {
        return Ok(Vec::new());
    }
    let topology = read_topology(&plan.root);
    let aliases: HashMap<&str, &String> =
        topology.nodes().iter().filter_map(|node| Some((node.name.as_str(), node.alias.as_ref()?))).collect();
    let alias = |device: &Device| aliases.get(device.name.as_str()).map(|name| name.as_str());
    let resolver = DeviceResolver::new(&plan.root, &plan.root.join("sys"));
    let resolve = |word: &String| match device_named(word, devices, alias, Some(&resolver)) {
        Some(at) => Ok(devices[at].name.clone()),
        None => {
            let all = devices.iter().map(|device| &device.name).chain(aliases.values().copied());
            Err(format!("'{}'{}", sanitize(word), did_you_mean(word, all)))
        }
    };
    plan.devices.iter().map(resolve).collect()
}
