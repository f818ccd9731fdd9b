//! `blkstat iostat`: reports on the live system or on a capture.

use std::io;
use std::path::PathBuf;

use anyhow::Result;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::options::{DefaultDevices, DeviceFiles, Options, RequestedItem};
use super::rows::{DeviceRows, DisplayNames};
use super::selection::Selection;
use super::text::tables::{self, Table, device_tables};
use super::text::{Report, Style, json};
use crate::capture::RecordingHeader;
use crate::clock::WaitOutcome;
use crate::console::{RunContext, Warnings, require_counters, require_text};
use crate::counters::{CpuTimes, Device, Sample};
use crate::exit::Exit;
use crate::metrics::CpuPercentages;
use crate::os_error::os_error_text;
use crate::sanitize::sanitize;
use crate::schedule::Deadlines;
use crate::source::{
    DeviceResolver, Input, Live, Next, Precedence, Replay, StepSource, local_time_zone,
    read_partitions, running_host,
};
use crate::topology::{DeviceKey, NamedDevice, Topology};
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
    let lists_all = options.lists_all();
    let mut source = Live::new(&options.root, context.clock);
    source = match &options.device_files {
        // iostat reads /proc/diskstats only for the list of all devices, otherwise the file of each in /sys.
        DeviceFiles::System if lacks_devices(options, lists_all) => {
            source.with_device_files(&options.root.join("sys"), Precedence::Alone, lists_all)
        }
        DeviceFiles::System => source,
        DeviceFiles::Only(directory) => {
            source.with_device_files(directory, Precedence::Alone, lists_all)
        }
        DeviceFiles::Also(directory) => {
            let is_named_only = options.default_devices == DefaultDevices::None;
            let precedence = if is_named_only {
                Precedence::System
            } else {
                Precedence::Directory
            };
            source.with_device_files(directory, precedence, lists_all)
        }
    };
    let host = LiveHost::new(options);
    let mut warnings = Warnings::about(&source.name());
    let (mut oldest, mut older, mut newer) =
        (Sample::default(), Sample::default(), Sample::default());
    let start = context.clock.monotonic();
    let mut deadlines = options
        .interval
        .map(|interval| Deadlines::new(start, interval));
    context.read_live(&mut source, &mut newer, &mut warnings)?;

    let devices = DeviceRows::new(options, host.selection(&newer.devices), true);
    let zone = local_time_zone((context.environment)("TZ").as_deref());
    let mut reporter = Reporter::new(options, devices, zone, context.is_terminal);
    let (this, hardware) = running_host(&options.root);
    if let Some(error) = source.stat_error().filter(|_| this.cpus.is_none()) {
        // iostat counts the CPUs first.
        print_stat_error(options, &error, context);
        return Ok(Exit::NoData);
    }
    reporter.begin(&this, Some(&hardware), context.clock.wall());
    let mut skips_report = options.skip_first && deadlines.is_some();
    loop {
        if newer.at.uptime.is_none() {
            context.emit(&mut reporter.text)?;
            let _ = writeln!(
                context.err,
                "Cannot read {}",
                options.root.join("proc/uptime").display()
            );
            return Ok(Exit::Error);
        }
        if let Some(error) = source.stat_error().filter(|_| newer.cpu.is_none()) {
            context.emit(&mut reporter.text)?;
            print_stat_error(options, &error, context);
            return Ok(Exit::Error);
        }
        let unreadable = host.update_devices(&mut reporter.devices, [&oldest, &older, &newer]);
        let interval = live_interval(options, &older, &newer);
        let is_complete = if std::mem::take(&mut skips_report) {
            reporter.skip_report(&older, &newer, interval)
        } else {
            reporter.report(&older, &newer, interval)
        };
        context.emit(&mut reporter.text)?;
        if !is_complete {
            let directory = options.root.join("dev/mapper");
            let why = unreadable.map_or_else(String::new, |error| os_error_text(&error));
            let _ = writeln!(context.err, "Cannot open {}: {why}", directory.display());
            return Ok(Exit::IostatMapper);
        }
        let Some(deadlines) = deadlines.as_mut().filter(|_| !reporter.is_done()) else {
            break;
        };
        let (deadline, _missed) = deadlines.next(context.clock.monotonic());
        if let WaitOutcome::Signal(_) = context.clock.wait_until(deadline) {
            break;
        }
        std::mem::swap(&mut oldest, &mut newer);
        std::mem::swap(&mut oldest, &mut older);
        context.read_live(&mut source, &mut newer, &mut warnings)?;
    }
    warnings.finish(context.err);
    reporter.end();
    context.emit(&mut reporter.text)?;
    Ok(Exit::Success)
}

fn print_stat_error(options: &Options, error: &io::Error, context: &mut RunContext<'_>) {
    let path = options.root.join("proc/stat");
    let _ = writeln!(
        context.err,
        "Cannot open {}: {}",
        path.display(),
        os_error_text(error)
    );
}

/// Returns whether the system lacks the files that a report shares with iostat's.
fn lacks_devices(options: &Options, lists_all: bool) -> bool {
    let lacks = |path: &str| !options.root.join(path).exists();
    lacks("proc/diskstats") || !lists_all && lacks("sys/block")
}

/// Not inlined, so that a live run does not touch the memory that this needs on the stack.
#[inline(never)]
fn run_replay(options: &Options, source: Replay<'_>, context: &mut RunContext<'_>) -> Result<Exit> {
    let mut warnings = Warnings::about(source.name());
    let input = Input {
        interval: options.interval,
        range: options.range.clone(),
        ..Input::default()
    };
    let mut steps = StepSource::of_capture(&input, source, context.clock)?;
    let selection = Selection::from_options(options, |name, _| {
        Some(NamedDevice::plain(
            name.strip_prefix("/dev/").unwrap_or(name),
        ))
    });
    let devices = DeviceRows::new(options, selection, false);
    let zone = local_time_zone((context.environment)("TZ").as_deref());
    let mut reporter = Reporter::new(options, devices, zone, context.is_terminal);
    let ended = report_steps(&mut steps, &mut reporter, &mut warnings, context);
    warnings.finish(context.err);
    if reporter.count > 0 {
        reporter.end();
        context.emit(&mut reporter.text)?;
        return match context.clock.signal() {
            Some(_) => Ok(Exit::Success),
            None => ended.map(|()| Exit::Success),
        };
    }
    if context.clock.signal().is_some() {
        return Ok(Exit::Success);
    }
    ended?;
    let Some(source) = steps.samples.replay() else {
        return Ok(Exit::Success);
    };
    require_text(source)?;
    let why = match steps.sample_count {
        0 if source.state().lacks_times => {
            "copies of /proc/diskstats without times; state their distance: --every 1s"
        }
        0 if source.state().is_truncated => "truncated before the end of its first sample",
        0 | 1 => "fewer than two complete samples",
        _ if options.style.disk => "no two samples in chronological order",
        _ => "no CPU times",
    };
    context.print_error(format_args!(
        "{}: {why}; nothing to report",
        sanitize(source.name())
    ));
    Ok(Exit::NoData)
}

/// Reports on the intervals of a capture to its end, or until the requested number of reports is reached.
fn report_steps(
    steps: &mut StepSource<'_>,
    reporter: &mut Reporter<'_>,
    warnings: &mut Warnings,
    context: &mut RunContext<'_>,
) -> Result<()> {
    let has_sample = steps.start(&mut |warning| warnings.warn_capture(warning, context.err))?;
    require_counters(steps.samples.replay())?;
    if !has_sample {
        return Ok(());
    }
    while !reporter.is_done() {
        let next = steps.next(&mut |warning| warnings.warn_capture(warning, context.err))?;
        require_counters(steps.samples.replay())?;
        let ends = match next {
            Next::End | Next::Signal(_) => return Ok(()),
            Next::Step { ends, is_preceding } => ends && !is_preceding,
            Next::Rest => true,
            Next::Break => false,
        };
        if next != Next::Rest {
            let step = steps.step();
            reporter.match_devices(step.older, step.newer);
        }
        if ends {
            if !steps.is_first_step() {
                reporter.match_devices(steps.first(), &steps.newest);
            }
            reporter.report_step(steps);
            context.emit(&mut reporter.text)?;
        }
    }
    Ok(())
}

/// Returns the time between two live samples. As in iostat, an interval of whole seconds is measured by the uptime; for
/// fractions of a second the hundredths of the uptime are too coarse, so the monotonic clock is used.
fn live_interval(options: &Options, older: &Sample, newer: &Sample) -> Span {
    let is_by_uptime = options
        .interval
        .is_none_or(|interval| interval.subsec_nanos() == 0);
    // An empty sample represents the boot, when every counter was zero.
    if older.at == SampleTime::default() || is_by_uptime {
        let older = SampleTime {
            uptime: older.at.uptime.or(Some(0)),
            ..SampleTime::default()
        };
        return newer.at.uptime_since(&older);
    }
    // The monotonic clock advances between two samples.
    newer.at.since(&older.at).unwrap_or(Span::HUNDREDTH)
}

/// The names and the partitions of the live system's devices.
struct LiveHost<'a> {
    options: &'a Options,
    resolver: DeviceResolver,
    /// The directories that describe the devices: /sys, that of `-f`, or both.
    sys: Vec<PathBuf>,
}

impl<'a> LiveHost<'a> {
    /// Describes the system below the root of the options.
    fn new(options: &'a Options) -> Self {
        let sys = match &options.device_files {
            DeviceFiles::System => vec![options.root.join("sys")],
            DeviceFiles::Also(directory) => vec![options.root.join("sys"), directory.clone()],
            DeviceFiles::Only(directory) => vec![directory.clone()],
        };
        Self {
            options,
            resolver: DeviceResolver::new(&options.root, &sys),
            sys,
        }
    }

    /// Returns the devices that the options select among these.
    fn selection(&self, devices: &[Device]) -> Selection {
        // A device that is known by its number is never found where no number has counters.
        let lacks_numbers = match &self.options.device_files {
            DeviceFiles::Only(directory) => !directory.join("dev/block").exists(),
            _ => false,
        };
        let mut selection = Selection::from_options(self.options, |name, persistent| {
            let mut named =
                self.resolver
                    .resolve(name, persistent, self.options.mapper_names, devices);
            if let Some(named) = &mut named
                && lacks_numbers
                && matches!(named.key, DeviceKey::Number(..))
            {
                named.key = DeviceKey::Name(String::new());
            }
            // If all devices are listed, one that appears later has its position reserved.
            named.or_else(|| self.options.lists_all().then(|| NamedDevice::plain(name)))
        });
        let has_partitions = |item: &RequestedItem| {
            matches!(
                item,
                RequestedItem::Device {
                    partitions: true,
                    ..
                }
            )
        };
        // If all partitions are shown by default, these are not listed separately.
        if !self.options.lists_all() && self.options.items.iter().any(has_partitions) {
            let list_partitions = |disk: &str| self.resolver.partitions(disk);
            selection.fix_partitions(devices, &self.topology(devices), list_partitions);
        }
        selection
    }

    /// Updates the devices of the report for the last three samples, oldest first. /sys is read only when device
    /// names change. Returns the error, if any, that makes device-mapper names unreadable.
    fn update_devices(
        &self,
        rows: &mut DeviceRows<'_>,
        samples: [&Sample; 3],
    ) -> Option<io::Error> {
        let [oldest, older, newer] = samples;
        if rows.match_devices(oldest, older, newer) {
            rows.update_entries(newer, &self.topology(&newer.devices));
        }
        // Labels may change while the devices stay the same.
        let mapper = self
            .options
            .mapper_names
            .then(|| self.resolver.mapper(&newer.devices))
            .transpose();
        let (mut display_names, unreadable) = match mapper {
            Ok(names) => (names.unwrap_or_default(), None),
            Err(error) => (DisplayNames::new(), Some(error)),
        };
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
        topologies
            .reduce(|topology, more| topology.merge(&more))
            .unwrap_or_default()
    }
}

/// Appends the reports of one run to a buffer.
struct Reporter<'a> {
    options: &'a Options,
    devices: DeviceRows<'a>,
    style: Style,
    tables: Vec<Table>,
    /// The text before the next report in JSON: a line break before the first, and a comma between two.
    separator: &'static str,
    time_zone: TimeZone,
    count: u64,
    /// The text that is not printed yet.
    text: Vec<u8>,
}

impl<'a> Reporter<'a> {
    /// Returns a reporter for these devices. `is_terminal`: the reports go to a terminal.
    fn new(
        options: &'a Options,
        devices: DeviceRows<'a>,
        time_zone: TimeZone,
        is_terminal: bool,
    ) -> Self {
        let mut style = options.style.clone();
        if options.colors_only_terminal && !is_terminal {
            style.palette = None;
        }
        let tables = device_tables(&style);
        Self {
            options,
            devices,
            style,
            tables,
            separator: "",
            time_zone,
            count: 0,
            text: Vec::new(),
        }
    }

    /// Returns whether the requested number of reports is reached.
    fn is_done(&self) -> bool {
        self.options.count.is_some_and(|count| self.count >= count)
    }

    /// Takes the next two samples of a capture.
    fn match_devices(&mut self, older: &Sample, newer: &Sample) {
        if self.devices.match_devices(&Sample::default(), older, newer) {
            self.devices
                .update_entries(newer, &Topology::from_names(&newer.devices));
        }
    }

    /// Appends the report on an interval of a capture, unless it holds nothing that is shown.
    fn report_step(&mut self, steps: &StepSource<'_>) {
        let (older, newer) = (steps.first(), &steps.newest);
        if !self.options.style.disk && (older.cpu.is_none() || newer.cpu.is_none()) {
            return;
        }
        if self.count == 0 {
            let host = steps.samples.host();
            self.begin(&host, None, newer.at.wall.unwrap_or_default());
        }
        self.report(older, newer, steps.span());
    }

    /// Appends the heading, which comes before all reports; its date is that of `now`.
    fn begin(&mut self, host: &RecordingHeader, hardware: Option<&str>, now: Timestamp) {
        let date = now.to_zoned(self.time_zone.clone()).date();
        let (year, month, day) = (date.year(), date.month(), date.day());
        // A format string of jiff is avoided, because its code would have to be loaded only for this.
        let date = if self.options.iso_date {
            format!("{year:04}-{month:02}-{day:02}")
        } else {
            format!("{month:02}/{day:02}/{:02}", year % 100)
        };
        let begin = if self.style.is_json {
            json::begin
        } else {
            tables::begin
        };
        begin(host, hardware, &date, &mut self.text);
    }

    /// Omits the report since boot. Returns whether it would be complete.
    fn skip_report(&mut self, older: &Sample, newer: &Sample, interval: Span) -> bool {
        // iostat puts an empty line before the next one.
        self.separator = "\n";
        let is_truncated =
            self.options.style.disk && self.devices.between(older, newer, interval).1;
        self.devices.store_sums(newer);
        !is_truncated
    }

    /// Appends the report on an interval. Returns whether it is complete; if not, it ends before a device whose
    /// display name cannot be read.
    fn report(&mut self, older: &Sample, newer: &Sample, interval: Span) -> bool {
        let older_cpu = if older.at == SampleTime::default() {
            Some(CpuTimes::default())
        } else {
            older.cpu
        };
        // In a live run, iostat treats missing CPU times as zeros.
        let newer_cpu = newer
            .cpu
            .or_else(|| self.options.from.is_none().then(CpuTimes::default));
        let (rows, is_truncated) = match self.options.style.disk {
            true => self.devices.between(older, newer, interval),
            false => (Vec::new(), false),
        };
        let report = Report {
            time: newer
                .at
                .wall
                .zip(self.options.time_format)
                .map(|(now, format)| {
                    now.to_zoned(self.time_zone.clone())
                        .strftime(format)
                        .to_string()
                }),
            cpu: older_cpu
                .zip(newer_cpu)
                .map(|(older, newer)| CpuPercentages::between(&older, &newer)),
            rows,
            is_truncated,
        };
        match self.style.is_json {
            true => json::report(&self.style, &report, self.separator, &mut self.text),
            false => tables::report(&self.style, &self.tables, &report, &mut self.text),
        }
        self.separator = ",\n";
        self.devices.store_sums(newer);
        self.count += 1;
        !is_truncated
    }

    /// Appends the end of the output.
    fn end(&mut self) {
        if self.style.is_json {
            json::end(&mut self.text);
        } else if self.count == 0 {
            // A signal came before the first report.
            self.text.push(b'\n');
        }
    }
}
