//! `blkstat iostat`: reports on the live system or on a capture.

use anyhow::Result;

use super::live_host::LiveHost;
use super::options::{DefaultDevices, DeviceFiles, Options};
use super::reporter::Reporter;
use super::rows::{DeviceRows, NewDevice};
use super::selection::Selection;
use crate::clock::WaitOutcome;
use crate::console::{RunContext, Warnings, require_text, require_values};
use crate::counters::Sample;
use crate::exit::Exit;
use crate::os_error::os_error_text;
use crate::sanitize::sanitize;
use crate::schedule::Deadlines;
use crate::source::{Host, Live, Precedence, Replay, local_time_zone};
use crate::topology::{NamedDevice, Topology};
use crate::units::{Elapsed, SampleTime, Span};

pub fn run(options: &Options, context: &mut RunContext<'_>) -> Result<Exit> {
    let ended = match &options.from {
        Some(path) => match Replay::open(path, None, context.clock) {
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

    let devices = DeviceRows::new(options, host.selection(&newer.devices), NewDevice::FromZero);
    let zone = local_time_zone((context.environment)("TZ").as_deref());
    let mut reporter = Reporter::new(options, devices, zone, context.is_terminal);
    let mut text = Vec::new();
    reporter.begin(&Host::this(&options.root), context.clock.wall(), &mut text);
    let mut skips_report = options.skip_first && deadlines.is_some();
    loop {
        if newer.at.uptime.is_none() {
            context.emit(&mut text)?;
            let _ = writeln!(context.err, "Cannot read {}", options.root.join("proc/uptime").display());
            return Ok(Exit::Error);
        }
        let unreadable = host.update_devices(&mut reporter.devices, [&oldest, &older, &newer]);
        let interval = live_interval(options, &older, &newer);
        if std::mem::take(&mut skips_report) {
            reporter.skip_report(&newer);
        } else if !reporter.report(&older, &newer, interval, &mut text) {
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

/// Not inlined, so that a live run does not touch the memory that this needs on the stack.
#[inline(never)]
fn run_replay(options: &Options, mut source: Replay<'_>, context: &mut RunContext<'_>) -> Result<Exit> {
    let mut warnings = Warnings::about(source.name());
    let (mut older, mut newer) = (Sample::default(), Sample::default());
    let selection = Selection::from_options(options, |name, _| {
        Some(NamedDevice::plain(name.strip_prefix("/dev/").unwrap_or(name)))
    });
    let devices = DeviceRows::new(options, selection, NewDevice::Excluded);
    let zone = local_time_zone((context.environment)("TZ").as_deref());
    let mut reporter = Reporter::new(options, devices, zone, context.is_terminal);
    let mut text = Vec::new();
    let mut samples = 0u64;
    let ended = loop {
        let has_sample = source.next(&older, &mut newer);
        source.take_warnings().iter().for_each(|warning| warnings.warn_capture(warning, context.err));
        match has_sample.and_then(|found| require_values(&source, options.style.shown()).map(|()| found)) {
            Ok(true) => samples += 1,
            Ok(false) => break Ok(()),
            Err(_) if context.clock.signal().is_some() => break Ok(()),
            Err(error) => break Err(error),
        }
        if reporter.devices.match_devices(&Sample::default(), &older, &newer) {
            reporter.devices.update_entries(&newer, &Topology::from_names(&newer.devices));
        }
        let has_content = options.style.disk || older.cpu.is_some() && newer.cpu.is_some();
        if let Elapsed::Forward(interval) = newer.at.since(&older.at)
            && newer.segment == older.segment
            && has_content
        {
            if reporter.count() == 0 {
                reporter.begin(&Host::default(), newer.at.wall.unwrap_or_default(), &mut text);
            }
            reporter.report(&older, &newer, interval, &mut text);
            context.emit(&mut text)?;
            if reporter.is_done() {
                break Ok(());
            }
        }
        std::mem::swap(&mut older, &mut newer);
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
        0 if source.state().is_truncated => "truncated before the end of its first sample",
        0 | 1 => "fewer than two complete samples",
        _ if options.style.disk => "no two samples in chronological order",
        _ => "no CPU times",
    };
    context.print_error(format_args!("{}: {why}; nothing to report", sanitize(source.name())));
    Ok(Exit::NoData)
}

/// Returns the time between two live samples. As in iostat, an interval of whole seconds is measured by the uptime; for
/// fractions of a second the hundredths of the uptime are too coarse, so the monotonic clock is used.
fn live_interval(options: &Options, older: &Sample, newer: &Sample) -> Span {
    let is_by_uptime = options.interval.is_none_or(|interval| interval.subsec_nanos() == 0);
    if is_boot(older) || is_by_uptime {
        let older = SampleTime { uptime: older.at.uptime.or(Some(0)), ..SampleTime::default() };
        return newer.at.uptime_since(&older);
    }
    match newer.at.since(&older.at) {
        Elapsed::Forward(interval) => interval,
        // Does not occur: the monotonic clock advances between two samples.
        Elapsed::Unknown => Span::HUNDREDTH,
    }
}

/// Returns whether this is the empty sample that represents the boot, when every counter was zero.
pub(super) fn is_boot(sample: &Sample) -> bool {
    sample.at == SampleTime::default()
}
