//! Being iostat: live, or on a capture.

mod reporter;
mod rows;
mod slots;

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;

use self::reporter::Reporter;
use self::rows::{DeviceRows, NewDevice};
use super::warnings::Warnings;
use super::{RunContext, put, reason, refuse_other_than_text, unless_output_lost};
use crate::clock::WaitOutcome;
use crate::counters::{Device, Sample};
use crate::exit::Exit;
use crate::plan::{DeviceFiles, Iostat, Item};
use crate::select::{self, Selection};
use crate::source::{DeviceResolver, Host, Live, Replay, read_partition_map};
use crate::topology::Named;
use crate::units::{Elapsed, Interval, SampleTime};

pub(super) fn run(plan: &Iostat, world: &mut RunContext<'_>) -> Result<Exit> {
    let ended = match &plan.from {
        Some(path) => match Replay::open(path, world.clock) {
            // As a live run ends by a signal.
            Err(_) if world.clock.signal().is_some() => Ok(Exit::Success),
            source => source.and_then(|source| replay(plan, source, world)),
        },
        None => live(plan, world),
    };
    // As iostat says it, and with its exit code.
    unless_output_lost(ended, "stdout", Exit::IostatOutput, world)
}

fn live(plan: &Iostat, world: &mut RunContext<'_>) -> Result<Exit> {
    let listing = plan.others.are_as_listed();
    let source = Live::new(&plan.root, world.clock);
    let (mut source, sys) = match &plan.devices {
        DeviceFiles::System => (source, plan.root.join("sys")),
        DeviceFiles::Only(folder) => (source.with_device_files(folder, false, listing), folder.clone()),
        DeviceFiles::Also(folder) => (source.with_device_files(folder, true, listing), plan.root.join("sys")),
    };
    let machine = LiveMachine { plan, names: DeviceResolver::new(&plan.root, &sys), sys };
    let mut warnings = Warnings::about(&source.name());
    let (mut oldest, mut older, mut newer) = (Sample::default(), Sample::default(), Sample::default());
    let start = world.clock.monotonic();
    source.read(&mut newer, |line, fault| warnings.warn_line(line as u64, &fault, world.err))?;

    let mut wanted = wanted(plan, |word, persistent| {
        let named = machine.names.resolve(word, persistent, plan.mapper_names, &newer.devices);
        // Where all devices are listed, one that comes later has its place kept.
        named.or_else(|| listing.then(|| Named::plain(word)))
    });
    if plan.items.iter().any(|item| matches!(item, Item::Device { partitions: true, .. })) {
        let listed = |disk: &str| machine.names.partitions(disk);
        wanted.fix_partitions(&newer.devices, &machine.topology(&newer.devices), listed);
    }
    let mut reporter =
        Reporter::new(plan, DeviceRows::new(plan, wanted, NewDevice::FromZero), world.is_terminal);
    reporter.begin(Host::this(&plan.root), world.clock.wall());
    let mut is_first = true;
    loop {
        if newer.at.uptime.is_none() {
            put(world.out, &mut reporter.text)?;
            let _ = writeln!(world.err, "Cannot read {}", plan.root.join("proc/uptime").display());
            return Ok(Exit::Error);
        }
        let nameless = machine.pair(&mut reporter, &oldest, &older, &newer);
        let interval = live_interval(plan, &older, &newer);
        if is_first && plan.skip_first && plan.pace.every.is_some() {
            reporter.devices.remember(&newer);
        } else if !reporter.report(&older, &newer, interval) {
            put(world.out, &mut reporter.text)?;
            let folder = plan.root.join("dev/mapper");
            let why = nameless.map_or_else(String::new, |error| reason(&error));
            let _ = writeln!(world.err, "Cannot open {}: {why}", folder.display());
            return Ok(Exit::IostatMapper);
        }
        is_first = false;
        put(world.out, &mut reporter.text)?;
        let Some(every) = plan.pace.every.filter(|_| !reporter.is_done()) else { break };
        if let WaitOutcome::Signal(_) =
            world.clock.wait_until(next_deadline(start, every, world.clock.monotonic()))
        {
            break;
        }
        std::mem::swap(&mut oldest, &mut newer);
        std::mem::swap(&mut oldest, &mut older);
        source.read(&mut newer, |line, fault| warnings.warn_line(line as u64, &fault, world.err))?;
    }
    warnings.finish(world.err);
    reporter.end(world)
}

/// What a live machine says of its devices.
struct LiveMachine<'a> {
    plan: &'a Iostat,
    names: DeviceResolver,
    sys: PathBuf,
}

impl LiveMachine<'_> {
    /// Has the reporter find out which device is which. What the devices are is read when their names changed.
    /// The error, if there was one, that keeps the names of the device-mapper from being read.
    fn pair(
        &self,
        reporter: &mut Reporter<'_>,
        oldest: &Sample,
        older: &Sample,
        newer: &Sample,
    ) -> Option<io::Error> {
        if reporter.devices.pair(oldest, older, newer) {
            reporter.devices.place(newer, &self.topology(&newer.devices));
        }
        // A label may change while the devices stay.
        let mut shown = rows::ShownNames::new();
        let mut nameless = None;
        if self.plan.mapper_names {
            match self.names.mapper(&newer.devices) {
                Ok(names) => shown = names,
                Err(error) => nameless = Some(error),
            }
        }
        if let Some(kind) = &self.plan.persistent_names {
            shown.extend(self.names.persistent(kind, &newer.devices));
        }
        reporter.devices.shown = shown;
        reporter.devices.nameless_major = nameless.as_ref().map(|(major, _)| *major);
        nameless.map(|(_, error)| error)
    }

    fn topology(&self, devices: &[Device]) -> crate::topology::PartitionMap {
        let topology = read_partition_map(&self.sys, devices);
        match &self.plan.devices {
            // A device that only the folder has is known to none but it.
            DeviceFiles::Also(folder) => topology.or(&read_partition_map(folder, devices)),
            DeviceFiles::System | DeviceFiles::Only(_) => topology,
        }
    }
}

/// The next even multiple of the interval; those that were missed are skipped.
fn next_deadline(start: Duration, every: Duration, now: Duration) -> Duration {
    let passed = now.saturating_sub(start).as_nanos() / every.as_nanos().max(1);
    let due = every.as_nanos().saturating_mul(passed + 1);
    start.saturating_add(Duration::from_nanos(u64::try_from(due).unwrap_or(u64::MAX)))
}

/// iostat measures time by the uptime, so whole seconds do here too; a fraction is too short for its hundredths.
fn live_interval(plan: &Iostat, older: &Sample, newer: &Sample) -> Interval {
    let by_uptime = plan.pace.every.is_none_or(|every| every.subsec_nanos() == 0);
    if is_boot(older) || by_uptime {
        return newer
            .at
            .uptime_since(&SampleTime { uptime: older.at.uptime.or(Some(0)), ..SampleTime::default() });
    }
    match newer.at.since(&older.at) {
        Elapsed::Forward(interval) => interval,
        // The monotonic clock cannot stand still for long.
        Elapsed::Unknown => Interval::HUNDREDTH,
    }
}

/// Before the first sample everything was zero.
fn is_boot(sample: &Sample) -> bool {
    sample.at == SampleTime::default()
}

fn replay(plan: &Iostat, mut source: Replay<'_>, world: &mut RunContext<'_>) -> Result<Exit> {
    let mut warnings = Warnings::about(source.name());
    let (mut older, mut newer) = (Sample::default(), Sample::default());
    let wanted = wanted(plan, |word, _| Some(Named::plain(word.strip_prefix("/dev/").unwrap_or(word))));
    let mut reporter =
        Reporter::new(plan, DeviceRows::new(plan, wanted, NewDevice::Excluded), world.is_terminal);
    let mut samples = 0u64;
    let ended = loop {
        let more = source.next(&older, &mut newer);
        source.take_warnings().iter().for_each(|fault| warnings.warn_capture(fault, world.err));
        match more {
            Ok(true) => samples += 1,
            Ok(false) => break Ok(()),
            Err(_) if world.clock.signal().is_some() => break Ok(()),
            Err(error) => break Err(error),
        }
        if reporter.devices.pair(&Sample::default(), &older, &newer) {
            reporter.devices.place(&newer, &source.partition_map(&newer.devices));
        }
        let has_something = plan.style.disk || older.cpu.is_some() && newer.cpu.is_some();
        if let Elapsed::Forward(interval) = newer.at.since(&older.at)
            && newer.segment == older.segment
            && has_something
        {
            if reporter.count == 0 {
                reporter.begin(Host::default(), newer.at.wall.unwrap_or_default());
            }
            reporter.report(&older, &newer, interval);
            put(world.out, &mut reporter.text)?;
            if reporter.is_done() {
                break Ok(());
            }
        }
        std::mem::swap(&mut older, &mut newer);
    };
    warnings.finish(world.err);
    if reporter.count > 0 {
        let done = reporter.end(world)?;
        return ended.map(|()| done);
    }
    ended?;
    if world.clock.signal().is_some() {
        return Ok(Exit::Success);
    }
    refuse_other_than_text(&source)?;
    let why = match samples {
        0 | 1 => "does not hold two whole samples",
        _ if plan.style.disk => "holds no two samples in order of time",
        _ => "holds no CPU times",
    };
    // The exit code tells it as well.
    let _ = writeln!(world.err, "blkstat: {} {why}, so there is nothing to report", source.name());
    Ok(Exit::NoData)
}

/// The devices and groups that the plan names, as far as they are known.
fn wanted(plan: &Iostat, resolve: impl Fn(&str, Option<&str>) -> Option<Named>) -> Selection {
    // A word without a device keeps its place, for the items are counted.
    let nothing = || Named::plain("");
    let item = |item: &Item| match item {
        Item::Group(name) => select::Item::Group(name.clone()),
        Item::Device { word, partitions, persistent } => {
            let named = resolve(word, persistent.as_deref()).unwrap_or_else(nothing);
            select::Item::Device(Named { partitions: *partitions, ..named })
        }
    };
    let items = plan.items.iter().map(item).collect();
    Selection { items, others: plan.others, unsorted_from: plan.unsorted_from, ..Selection::default() }
}
