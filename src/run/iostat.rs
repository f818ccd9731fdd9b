//! Being iostat: live, or on a capture.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::warnings::Warnings;
use super::{World, put};
use crate::clock::Woken;
use crate::counters::{Columns, Counters, CpuTimes, Device, Sample};
use crate::exit::Exit;
use crate::metrics::{CpuShares, Pairs, Rates, was_replugged};
use crate::plan::Iostat;
use crate::report::iostat::{Heading, Printer, Report, Row};
use crate::select::{Place, Wanted};
use crate::source::{Live, Machine, Replay, local_time_zone, read_topology, resolve_name};
use crate::topology::{Named, Topology};
use crate::units::{Elapsed, Interval, Moment};

pub(super) fn run(plan: &Iostat, world: &mut World<'_>) -> Result<Exit> {
    match &plan.from {
        Some(path) => replay(plan, path, world),
        None => live(plan, world),
    }
}

fn live(plan: &Iostat, world: &mut World<'_>) -> Result<Exit> {
    let mut source = Live::new(&plan.root, world.clock);
    let mut warnings = Warnings::about(&source.diskstats().display().to_string());
    let (mut older, mut newer) = (Sample::default(), Sample::default());
    let start = world.clock.monotonic();
    let mut read = |newer: &mut Sample, err: &mut dyn std::io::Write| {
        source.read(newer, |line, fault| warnings.warn(line as u64, &fault, err))
    };
    read(&mut newer, world.err)?;

    let wanted = Wanted {
        named: named(plan, |word| resolve_name(&plan.root, word, &newer.devices)),
        others: plan.others,
    };
    let mut reporter = Reporter::new(plan, wanted, NewDevice::FromZero);
    reporter.devices.pair(&older, &newer, |devices| read_topology(&plan.root, devices));
    reporter.begin(Machine::this(&plan.root), world.clock.wall());
    let mut is_first = true;
    loop {
        if !(is_first && plan.skip_first && plan.pace.every.is_some()) {
            reporter.report(&older, &newer, live_interval(plan, &older, &newer));
        }
        is_first = false;
        put(world.out, &mut reporter.text)?;
        let Some(every) = plan.pace.every.filter(|_| !reporter.is_done()) else { break };
        if let Woken::Signal(_) = world.clock.wait_until(next_deadline(start, every, world.clock.monotonic()))
        {
            break;
        }
        std::mem::swap(&mut older, &mut newer);
        read(&mut newer, world.err)?;
        reporter.devices.pair(&older, &newer, |devices| read_topology(&plan.root, devices));
    }
    warnings.finish(world.err);
    reporter.end(world)
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
    let elapsed = if is_boot(older) {
        newer.at.uptime_since(&Moment { uptime: Some(0), ..Moment::default() })
    } else if by_uptime && newer.at.uptime.is_some() {
        newer.at.uptime_since(&older.at)
    } else {
        newer.at.since(&older.at)
    };
    match elapsed {
        Elapsed::Forward(interval) => interval,
        // As iostat, which takes the least time that its clock knows.
        Elapsed::Unknown => Interval::HUNDREDTH,
    }
}

/// Before the first sample everything was zero.
fn is_boot(sample: &Sample) -> bool {
    sample.at == Moment::default()
}

fn replay(plan: &Iostat, path: &Path, world: &mut World<'_>) -> Result<Exit> {
    let mut source = Replay::open(path)?;
    let mut warnings = Warnings::about(source.name());
    let (mut older, mut newer) = (Sample::default(), Sample::default());
    let plain = |word: &str| Some(Named::plain(word.strip_prefix("/dev/").unwrap_or(word)));
    let wanted = Wanted { named: named(plan, plain), others: plan.others };
    let mut reporter = Reporter::new(plan, wanted, NewDevice::LeftOut);
    let mut samples = 0u64;
    let ended = loop {
        let more = source.next(&older, &mut newer);
        source.take_faults().iter().for_each(|fault| warnings.warn(fault.line, &fault.kind, world.err));
        match more {
            Ok(true) => samples += 1,
            Ok(false) => break Ok(()),
            Err(error) => break Err(error),
        }
        reporter.devices.pair(&older, &newer, |devices| source.topology(devices));
        let has_something = plan.style.disk || older.cpu.is_some() && newer.cpu.is_some();
        if let Elapsed::Forward(interval) = newer.at.since(&older.at)
            && newer.stretch == older.stretch
            && has_something
        {
            if reporter.count == 0 {
                reporter.begin(Machine::default(), newer.at.wall.unwrap_or_default());
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
    let why = match samples {
        0 | 1 => "does not hold two whole samples",
        _ if plan.style.disk => "holds no two samples in order of time",
        _ => "holds no CPU times",
    };
    // The exit code tells it as well.
    let _ = writeln!(world.err, "blkstat: {} {why}, so there is nothing to report", source.name());
    Ok(Exit::Nothing)
}

/// The devices that the plan names, as far as they are known.
fn named(plan: &Iostat, resolve: impl Fn(&str) -> Option<Named>) -> Vec<Named> {
    let resolved = |name: &crate::plan::DeviceName| {
        resolve(&name.word).map(|named| Named { partitions: name.partitions, ..named })
    };
    plan.names.iter().filter_map(resolved).collect()
}

/// What to make of a device that the earlier sample does not have.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NewDevice {
    /// It was plugged in since: its counters began at zero.
    FromZero,
    /// Nobody knows since when it counts: a capture may lack a line.
    LeftOut,
}

/// Turns pairs of samples into the text of reports.
struct Reporter<'a> {
    plan: &'a Iostat,
    devices: DeviceRows<'a>,
    printer: Printer,
    time_zone: TimeZone,
    /// What is not written yet.
    text: Vec<u8>,
    /// Reports so far.
    count: u64,
}

impl<'a> Reporter<'a> {
    fn new(plan: &'a Iostat, wanted: Wanted, new_device: NewDevice) -> Self {
        let printer = Printer::new(plan.style);
        let devices = DeviceRows { plan, wanted, new_device, pairs: Pairs::Same, places: Vec::new() };
        let time_zone = local_time_zone(plan.time_zone.as_deref());
        Self { plan, devices, printer, time_zone, text: Vec::new(), count: 0 }
    }

    fn is_done(&self) -> bool {
        self.plan.pace.count.is_some_and(|count| self.count >= count)
    }

    fn begin(&mut self, machine: Machine, now: Timestamp) {
        let format = if self.plan.iso_time { "%Y-%m-%d" } else { "%m/%d/%y" };
        let heading = Heading {
            nodename: machine.nodename,
            release: machine.release,
            hardware: machine.hardware,
            cpus: machine.cpus,
            date: self.local_time(now, format),
        };
        self.printer.begin(&heading, &mut self.text);
    }

    fn report(&mut self, older: &Sample, newer: &Sample, interval: Interval) {
        let format = if self.plan.iso_time { "%Y-%m-%dT%H:%M:%S%z" } else { "%m/%d/%y %H:%M:%S" };
        let older_cpu = if is_boot(older) { Some(CpuTimes::default()) } else { older.cpu };
        let report = Report {
            time: newer.at.wall.filter(|_| self.plan.timestamps).map(|now| self.local_time(now, format)),
            cpu: older_cpu.zip(newer.cpu).map(|(older, newer)| CpuShares::between(&older, &newer)),
            rows: self.devices.between(older, newer, interval),
        };
        self.printer.report(&report, &mut self.text);
        self.count += 1;
    }

    fn local_time(&self, at: Timestamp, format: &str) -> String {
        at.to_zoned(self.time_zone.clone()).strftime(format).to_string()
    }

    fn end(mut self, world: &mut World<'_>) -> Result<Exit> {
        self.printer.end(&mut self.text);
        put(world.out, &mut self.text)?;
        Ok(Exit::Done)
    }
}

/// The device report of two samples: which devices, and their numbers.
struct DeviceRows<'a> {
    plan: &'a Iostat,
    wanted: Wanted,
    new_device: NewDevice,
    pairs: Pairs,
    places: Vec<Place>,
}

impl DeviceRows<'_> {
    /// Finds out which device is which in two samples; what the devices are is asked only when names changed.
    fn pair(&mut self, older: &Sample, newer: &Sample, topology: impl FnOnce(&[Device]) -> Topology) {
        self.pairs = Pairs::between(&older.devices, &newer.devices);
        if self.pairs != Pairs::Same {
            self.places = self.wanted.places(&newer.devices, &topology(&newer.devices));
        }
    }

    /// The rows of the report on two samples that [`Self::pair`] has seen.
    fn between<'s>(&'s self, older: &Sample, newer: &'s Sample, interval: Interval) -> Vec<Row<'s>> {
        let mut rows = Vec::with_capacity(self.places.len());
        for place in self.places.iter().filter(|place| place.is_shown(&newer.devices)) {
            let now = &newer.devices[place.index].counters;
            let before = match self.pairs.earlier(place.index).map(|at| &older.devices[at].counters) {
                Some(before) if was_replugged(before, now) => &Counters::ZERO,
                Some(before) => before,
                None if self.new_device == NewDevice::FromZero => &Counters::ZERO,
                None => continue,
            };
            if !self.leaves_out(before, now) {
                let name = place.shown(&newer.devices);
                rows.push(Row { name, rates: Rates::between(before, now, interval) });
            }
        }
        rows
    }

    fn leaves_out(&self, before: &Counters, now: &Counters) -> bool {
        let has_no_times = now.columns == Columns::Partition;
        (self.plan.active_only && before.completed() == now.completed())
            || (self.plan.style.extended && self.plan.others.are_as_listed() && has_no_times)
    }
}
