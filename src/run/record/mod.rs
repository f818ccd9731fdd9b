//! Recording: samples of a live machine into a file that every view can replay.

mod progress;
mod recorder;

use std::collections::HashMap;
use std::time::Duration;

use anyhow::{Result, bail};

use self::progress::{conclude, how_far, is_wanted};
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

/// The time between samples where nothing is said of it.
const EVERY: Duration = Duration::from_secs(1);

/// Records until all intervals are there, or a signal comes. The first sample is taken at once, so that there is one
/// sample more than intervals.
///
/// # Errors
/// When a sample can be read or written no more: what the system says, and how much is whole.
pub(super) fn run(plan: &Record, world: &mut RunContext<'_>) -> Result<Exit> {
    let mut source = Live::new(&plan.root, world.clock).with_machine_state();
    let mut warnings = Warnings::about(&source.name());
    let mut sample = Sample::default();
    source.read(&mut sample, |line, fault| warnings.warn(line as u64, &fault, world.err))?;
    let devices = match kernel_names(plan, &sample.devices) {
        Ok(devices) => devices,
        Err(why) => {
            let _ = writeln!(world.err, "blkstat: {} has no device {why}", source.name());
            return Ok(Exit::NoData);
        }
    };
    let every = plan.pace.every.unwrap_or(EVERY);
    let mut recorder = Recorder::open(plan, devices, every)?;
    let start = sample.at.monotonic.unwrap_or_default();
    let mut deadlines = Deadlines::new(start, every);
    let mut progress = Progress::new(is_wanted(plan, every, &recorder, world), start);
    let ended = loop {
        if let Err(error) = recorder.add(&mut sample, &source, world) {
            break Err(error);
        }
        if plan.pace.count.is_some_and(|count| recorder.samples > count) {
            break Ok(Exit::Success);
        }
        progress.show(|| how_far(&recorder), world);
        let (due, missed) = deadlines.next(world.clock.monotonic());
        if let WaitOutcome::Signal(signal) = world.clock.wait_until(due) {
            break Ok(Exit::Signal(signal));
        }
        if let Err(error) =
            source.read(&mut sample, |line, fault| warnings.warn(line as u64, &fault, world.err))
        {
            break Err(error);
        }
        sample.missed_samples = missed;
    };
    let finished = recorder.finish();
    progress.clear(world);
    warnings.finish(world.err);
    match ended.and_then(|exit| finished.map(|()| exit)) {
        Err(error) if !is_closed_pipe(&error) => bail!("{error:#}; {}", recorder.safe()),
        ended => {
            conclude(plan, &recorder, world);
            ended
        }
    }
}

/// What the kernel calls the devices that were asked for by any of their names, or the first word that means none.
fn kernel_names(plan: &Record, devices: &[Device]) -> Result<Vec<String>, String> {
    if plan.devices.is_empty() {
        return Ok(Vec::new());
    }
    let stack = read_topology(&plan.root);
    let by_kernel: HashMap<&str, &String> =
        stack.nodes().iter().filter_map(|node| Some((node.name.as_str(), node.alias.as_ref()?))).collect();
    let alias = |device: &Device| by_kernel.get(device.name.as_str()).map(|name| name.as_str());
    let names = DeviceResolver::new(&plan.root, &plan.root.join("sys"));
    let found = |word: &String| match device_named(word, devices, alias, Some(&names)) {
        Some(at) => Ok(devices[at].name.clone()),
        None => {
            let all = devices.iter().map(|device| &device.name).chain(by_kernel.values().copied());
            Err(format!("'{}'{}", sanitize(word), did_you_mean(word, all)))
        }
    };
    plan.devices.iter().map(found).collect()
}
