//! `blkstat iostat`: reports on the live system or on a capture.

use std::io;
use std::path::PathBuf;

use anyhow::{Result, anyhow};

use super::options::{DefaultDevices, DeviceFiles, Options, RequestedItem};
use super::reporter::{Reporter, is_boot};
use super::rows::{DeviceRows, DisplayNames};
use super::selection::Selection;
use crate::clock::WaitOutcome;
use crate::console::{RunContext, Warnings, require_text, require_values};
use crate::counters::{Device, Sample};
use crate::exit::Exit;
use crate::os_error::os_error_text;
use crate::sanitize::sanitize;
use crate::schedule::{Deadlines, Resampling};
use crate::source::{
    DeviceResolver, Host, Live, Precedence, Replay, local_time_zone, open_range, read_partitions,
};
use crate::time_range::Place;
use crate::topology::{NamedDevice, Topology};
use crate::units::{SampleTime, Span};

pub fn run(options: &Options, context: &mut RunContext<'_>) -> Result<Exit> {
    let ended = match &options.from {
        Some(path) => match Replay::open_all(path, &options.more, options.every, context.clock) {
            // Like a live run, this ends normally at a signal.
            Err(_) if context.clock.signal().is_some() => Ok(Exit::Success),
            source => source.and_then(|source| run_replay(options, source, context)),
        },
        None => run_live(options, context),
    };
    // Use the message and the exit code of iostat.
    context.handle_stdout_error(ended, "stdout", Exit::IostatOutput)
}

fn run_live(options: &Options, context: &mut RunContext<'_>) -> Result<Exit> {
    let lists_all = options.default_devices.are_in_diskstats_order();
    let mut source = Live::new(&options.root, context.clock);
    source = match &options.device_files {
        // iostat reads /proc/diskstats only for the list of all devices, otherwise the file of each in /sys.
        DeviceFiles::System if lacks_devices(options, lists_all) => {
            source.with_device_files(&options.root.join("sys"), Precedence::Alone, lists_all)
        }
        DeviceFiles::System => source,
        DeviceFiles::Only(directory) => source.with_device_files(directory, Precedence::Alone, lists_all),
        DeviceFiles::Also(directory) => {
            let is_named_only = options.default_devices == DefaultDevices::None;
            let precedence = if is_named_only { Precedence::System } else { Precedence::Directory };
            source.with_device_files(directory, precedence, lists_all)
        }
    };
    let host = LiveHost::new(options);
    let mut warnings = Warnings::about(&source.name());
    let (mut oldest, mut older, mut newer) = (Sample::default(), Sample::default(), Sample::default());
    let start = context.clock.monotonic();
    let mut deadlines = options.interval.map(|interval| Deadlines::new(start, interval));
    context.read_live(&mut source, &mut newer, &mut warnings)?;

    let devices = DeviceRows::new(options, host.selection(&newer.devices), true);
    let zone = local_time_zone((context.environment)("TZ").as_deref());
    let mut reporter = Reporter::new(options, devices, zone, context.is_terminal);
    let mut text = Vec::new();
    let this = Host::this(&options.root);
    if let Some(error) = source.stat_error().filter(|_| this.cpus.is_none()) {
        // iostat counts the CPUs first.
        print_stat_error(options, &error, context);
        return Ok(Exit::NoData);
    }
    reporter.begin(&this, context.clock.wall(), &mut text);
    let mut skips_report = options.skip_first && deadlines.is_some();
    loop {
        if newer.at.uptime.is_none() {
            context.emit(&mut text)?;
            let _ = writeln!(context.err, "Cannot read {}", options.root.join("proc/uptime").display());
            return Ok(Exit::Error);
        }
        if let Some(error) = source.stat_error().filter(|_| newer.cpu.is_none()) {
            context.emit(&mut text)?;
            print_stat_error(options, &error, context);
            return Ok(Exit::Error);
        }
        let unreadable = host.update_devices(&mut reporter.devices, [&oldest, &older, &newer]);
        let interval = live_interval(options, &older, &newer);
        let is_complete = if std::mem::take(&mut skips_report) {
            reporter.skip_report(&older, &newer, interval)
        } else {
            reporter.report(&older, &newer, interval, &mut text)
        };
        if !is_complete {
            context.emit(&mut text)?;
            let directory = options.root.join("dev/mapper");
            let why = unreadable.map_or_else(String::new, |error| os_error_text(&error));
            let _ = writeln!(context.err, "Cannot open {}: {why}", directory.display());
            return Ok(Exit::IostatMapper);
        }
        context.emit(&mut text)?;
        let Some(deadlines) = deadlines.as_mut().filter(|_| !reporter.is_done()) else { break };
        let (deadline, _missed) = deadlines.next(context.clock.monotonic());
        if let WaitOutcome::Signal(_) = context.clock.wait_until(deadline) {
            break;
        }
        std::mem::swap(&mut oldest, &mut newer);
        std::mem::swap(&mut oldest, &mut older);
        context.read_live(&mut source, &mut newer, &mut warnings)?;
    }
    warnings.finish(context.err);
    reporter.end(&mut text);
    context.emit(&mut text)?;
    Ok(Exit::Success)
}

fn print_stat_error(options: &Options, error: &io::Error, context: &mut RunContext<'_>) {
    let path = options.root.join("proc/stat");
    let _ = writeln!(context.err, "Cannot open {}: {}", path.display(), os_error_text(error));
}

/// Returns whether the system lacks the files that a report shares with iostat's.
fn lacks_devices(options: &Options, lists_all: bool) -> bool {
    let lacks = |path: &str| !options.root.join(path).exists();
    lacks("proc/diskstats") || !lists_all && lacks("sys/block")
}

/// Not inlined, so that a live run does not touch the memory that this needs on the stack.
#[inline(never)]
fn run_replay(options: &Options, mut source: Replay<'_>, context: &mut RunContext<'_>) -> Result<Exit> {
    let mut warnings = Warnings::about(source.name());
    let mut range = match options.range.is_everything() {
        true => None,
        false => Some(open_range(&options.range, &source)?),
    };
    // The first sample of an interval that has more than two.
    let mut first: Option<Sample> = None;
    let (mut previous, mut newer) = (Sample::default(), Sample::default());
    let mut resampling = Resampling::new(options.interval, SampleTime::default());
    let selection = Selection::from_options(options, |name, _| {
        Some(NamedDevice::plain(name.strip_prefix("/dev/").unwrap_or(name)))
    });
    let devices = DeviceRows::new(options, selection, false);
    let zone = local_time_zone((context.environment)("TZ").as_deref());
    let mut reporter = Reporter::new(options, devices, zone, context.is_terminal);
    let mut text = Vec::new();
    let mut samples = 0u64;
    let ended = loop {
        let has_sample = source.next(&previous, &mut newer);
        warnings.warn_all(&source.take_warnings(), context.err);
        let found = match has_sample
            .and_then(|found| require_values(&source, options.style.shown()).map(|()| found))
        {
            Ok(found) => found,
            Err(_) if context.clock.signal().is_some() => break Ok(()),
            Err(error) => break Err(error),
        };
        samples += u64::from(found);
        let place = match (&mut range, newer.at.wall.filter(|_| found)) {
            (Some(range), Some(at)) => range.place(at),
            (Some(range), None) if !found => range.finish().map(|()| Place::Within),
            _ => Ok(Place::Within),
        };
        let place = match place {
            Ok(place) => place,
            Err(message) => break Err(anyhow!("{}: {message}", sanitize(source.name()))),
        };
        let has_ended = !found || place == Place::Following;
        let interval = elapsed(&previous, &newer).filter(|_| !has_ended);
        if let Some(older) = first.take_if(|_| interval.is_none())
            && let Some(interval) = elapsed(&older, &previous)
        {
            // The rest before a break or before the end.
            match_devices(&mut reporter, &older, &previous);
            report(&mut reporter, &source, (&older, &previous, interval), &mut text);
            context.emit(&mut text)?;
            if reporter.is_done() {
                break Ok(());
            }
        }
        if has_ended {
            break Ok(());
        }
        match_devices(&mut reporter, &previous, &newer);
        match interval.filter(|_| place == Place::Within) {
            None => resampling = Resampling::new(options.interval, newer.at),
            Some(interval) if resampling.is_due(&previous.at, &newer.at) => {
                let first = first.take();
                if let Some(first) = &first {
                    match_devices(&mut reporter, first, &newer);
                }
                let older = first.as_ref().unwrap_or(&previous);
                let interval = elapsed(older, &newer).unwrap_or(interval);
                report(&mut reporter, &source, (older, &newer, interval), &mut text);
                context.emit(&mut text)?;
                if reporter.is_done() {
                    break Ok(());
                }
            }
            Some(_) => {
                first.get_or_insert_with(|| previous.clone());
            }
        }
        std::mem::swap(&mut previous, &mut newer);
    };
    warnings.finish(context.err);
    if reporter.count() > 0 {
        reporter.end(&mut text);
        context.emit(&mut text)?;
        return ended.map(|()| Exit::Success);
    }
    ended?;
    if context.clock.signal().is_some() {
        return Ok(Exit::Success);
    }
    require_text(&source)?;
    let why = match samples {
        0 if source.state().lacks_times => {
            "copies of /proc/diskstats without times; state their distance: --every 1s"
        }
        0 if source.state().is_truncated => "truncated before the end of its first sample",
        0 | 1 => "fewer than two complete samples",
        _ if options.style.disk => "no two samples in chronological order",
        _ => "no CPU times",
    };
    context.print_error(format_args!("{}: {why}; nothing to report", sanitize(source.name())));
    Ok(Exit::NoData)
}

fn match_devices(reporter: &mut Reporter<'_>, older: &Sample, newer: &Sample) {
    if reporter.devices.match_devices(&Sample::default(), older, newer) {
        reporter.devices.update_entries(newer, &Topology::from_names(&newer.devices));
    }
}

/// Reports on the time between two samples of a capture, unless it holds nothing that is shown.
fn report(
    reporter: &mut Reporter<'_>,
    source: &Replay<'_>,
    (older, newer, interval): (&Sample, &Sample, Span),
    text: &mut Vec<u8>,
) {
    if !reporter.shows_devices() && (older.cpu.is_none() || newer.cpu.is_none()) {
        return;
    }
    if reporter.count() == 0 {
        let host = source.header().map_or_else(Host::default, |header| Host {
            nodename: header.host.clone(),
            release: header.kernel.clone(),
            hardware: None,
            cpus: header.cpus,
        });
        reporter.begin(&host, newer.at.wall.unwrap_or_default(), text);
    }
    reporter.report(older, newer, interval, text);
}

/// Returns the time between two samples of a capture; `None` across a break.
fn elapsed(older: &Sample, newer: &Sample) -> Option<Span> {
    newer.at.since(&older.at).filter(|_| newer.segment == older.segment)
}

/// Returns the time between two live samples. As in iostat, an interval of whole seconds is measured by the uptime; for
/// fractions of a second the hundredths of the uptime are too coarse, so the monotonic clock is used.
fn live_interval(options: &Options, older: &Sample, newer: &Sample) -> Span {
    let is_by_uptime = options.interval.is_none_or(|interval| interval.subsec_nanos() == 0);
    if is_boot(older) || is_by_uptime {
        let older = SampleTime { uptime: older.at.uptime.or(Some(0)), ..SampleTime::default() };
        return newer.at.uptime_since(&older);
    }
    // The monotonic clock advances between two samples.
    newer.at.since(&older.at).unwrap_or(Span::HUNDREDTH)
}

/// The names and the partitions of the live system's devices.
pub(super) struct LiveHost<'a> {
    options: &'a Options,
    resolver: DeviceResolver,
    /// The directories that describe the devices: /sys, that of `-f`, or both.
    sys: Vec<PathBuf>,
}

impl<'a> LiveHost<'a> {
    /// Describes the system below the root of the options.
    pub(super) fn new(options: &'a Options) -> Self {
        let sys = match &options.device_files {
            DeviceFiles::System => vec![options.root.join("sys")],
            DeviceFiles::Also(directory) => vec![options.root.join("sys"), directory.clone()],
            DeviceFiles::Only(directory) => vec![directory.clone()],
        };
        Self { options, resolver: DeviceResolver::new(&options.root, &sys), sys }
    }

    /// Returns the devices that the options select among these.
    pub(super) fn selection(&self, devices: &[Device]) -> Selection {
        let lists_all = self.options.default_devices.are_in_diskstats_order();
        let mut selection = Selection::from_options(self.options, |name, persistent| {
            let named = self.resolver.resolve(name, persistent, self.options.mapper_names, devices);
            // If all devices are listed, one that appears later has its position reserved.
            named.or_else(|| lists_all.then(|| NamedDevice::plain(name)))
        });
        let has_partitions =
            |item: &RequestedItem| matches!(item, RequestedItem::Device { partitions: true, .. });
        if self.options.items.iter().any(has_partitions) {
            let list_partitions = |disk: &str| self.resolver.partitions(disk);
            selection.fix_partitions(devices, &self.topology(devices), list_partitions);
        }
        selection
    }

    /// Updates the devices of the report for the last three samples, oldest first. /sys is read only when device
    /// names change. Returns the error, if any, that makes device-mapper names unreadable.
    pub(super) fn update_devices(
        &self,
        rows: &mut DeviceRows<'_>,
        samples: [&Sample; 3],
    ) -> Option<io::Error> {
        let [oldest, older, newer] = samples;
        if rows.match_devices(oldest, older, newer) {
            rows.update_entries(newer, &self.topology(&newer.devices));
        }
        // Labels may change while the devices stay the same.
        let mut display_names = DisplayNames::new();
        let mut unreadable = None;
        if self.options.mapper_names {
            match self.resolver.mapper(&newer.devices) {
                Ok(names) => display_names = names,
                Err(error) => unreadable = Some(error),
            }
        }
        if let Some(kind) = &self.options.persistent_names {
            display_names.extend(self.resolver.persistent(kind, &newer.devices));
        }
        rows.display_names = display_names;
        rows.unreadable_major = unreadable.as_ref().map(|(major, _)| *major);
        unreadable.map(|(_, error)| error)
    }

    fn topology(&self, devices: &[Device]) -> Topology {
        let topologies = self.sys.iter().map(|sys| read_partitions(sys, devices));
        // The second directory may have devices that the first one lacks.
        topologies.reduce(|topology, more| topology.merge(&more)).unwrap_or_default()
    }
}
