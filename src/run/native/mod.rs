//! blkstat's own view: the lines of each interval, live or from a capture, as a table, JSON or CSV.

mod choose;
mod feed;
mod gather;
mod judging;
mod leaves;
mod output;
mod together;
mod total;
mod tracker;

use anyhow::Result;
use jiff::tz::TimeZone;

use self::choose::Chooser;
pub(super) use self::feed::Feed;
use self::feed::Step;
pub(super) use self::gather::{Gathered, gather};
pub(super) use self::judging::Settler;
use self::output::Output;
use self::tracker::Tracker;
use super::RunContext;
use crate::counters::{Counters, CpuTimes, Device, HostState, Pressure, Sample};
use crate::exit::Exit;
use crate::metrics::HostStats;
use crate::plan::{SummaryMode, View};
use crate::report::native::{Block, Extent};
use crate::sanitize::sanitize;
use crate::source::local_time_zone;
use crate::units::Interval;

pub(super) fn run(plan: &View, world: &mut RunContext<'_>) -> Result<Exit> {
    let mut chooser = Chooser::new(&plan.choice)?;
    let clock = world.clock;
    let mut feed = Feed::open(&plan.input, clock)?;
    let zone = local_time_zone(plan.time_zone.as_deref());
    let mut output = Output::new(plan, world.is_terminal, zone.clone());
    let settler = Settler::new(&plan.judging, world)?;
    let mut tracker = Tracker::new(&settler);
    let mut extent = Extent::default();
    let mut ended = Exit::Success;
    if feed.first(world)? {
        tracker.begin(&mut feed, &mut chooser);
        if let Some(text) = chooser.missing(feed.devices(), tracker.facts(), None).filter(|_| feed.is_live())
        {
            let _ = writeln!(world.err, "blkstat: {text}");
            return Ok(Exit::NoData);
        }
        if plan.input.since_boot {
            since_boot(plan, &mut feed, &mut chooser, &settler, &mut output, world);
        }
        output.flush(world)?;
        while plan.input.pace.count.is_none_or(|count| extent.intervals < count) {
            match feed.next(world) {
                Ok(Step::Interval { interval, missed }) => {
                    let news = tracker.advance(&mut feed, &mut chooser);
                    let block = block(&feed.older, &feed.newer, interval, missed);
                    let shown = tracker.shown(&feed, &chooser, interval, plan.choice.total);
                    // A device of a capture may come later; until then there is nothing to say.
                    if chooser.found_any() {
                        output.block(&block, shown, &news);
                        output.flush(world)?;
                    }
                    extent.see(interval.seconds(), feed.older.at.wall, feed.newer.at.wall);
                }
                Ok(Step::Break) => tracker.begin(&mut feed, &mut chooser),
                Ok(Step::End) => break,
                Ok(Step::Signal(signal)) => {
                    ended = Exit::Signal(signal);
                    break;
                }
                Err(error) => {
                    // What was read before is worth its summary.
                    summarize(plan, (&tracker, &chooser), extent, &zone, false, &mut output, world)?;
                    return Err(error);
                }
            }
        }
    }
    feed.finish(world);
    let interrupted = ended == Exit::Signal(2);
    summarize(plan, (&tracker, &chooser), extent, &zone, interrupted, &mut output, world)?;
    if ended != Exit::Success {
        return Ok(ended);
    }
    let looked_at = plan.input.pace.count.filter(|count| extent.intervals >= *count);
    let missing = chooser.missing(feed.devices(), tracker.facts(), looked_at);
    if extent.intervals == 0 || missing.is_some() {
        let why = missing.filter(|_| extent.intervals > 0).map_or_else(|| feed.nothing(), Ok)?;
        // The exit code tells it as well.
        let _ = writeln!(world.err, "blkstat: {}: {why}", sanitize(&feed.name()));
        return Ok(Exit::NoData);
    }
    Ok(ended)
}

fn block(older: &Sample, newer: &Sample, interval: Interval, missed: u64) -> Block {
    Block {
        time: newer.at.wall,
        elapsed_s: interval.seconds(),
        missed,
        machine: HostStats::between(older, newer, interval),
    }
}

/// The block from zero over the uptime, where that is known.
fn since_boot(
    plan: &View,
    feed: &mut Feed<'_>,
    chooser: &mut Chooser<'_>,
    settler: &Settler,
    output: &mut Output<'_>,
    world: &mut RunContext<'_>,
) {
    let Some(interval) = feed.newer.at.uptime.and_then(Interval::from_hundredths) else {
        let name = feed.name();
        let _ = writeln!(
            world.err,
            "blkstat: {}: the uptime is not known, so there is no block since boot",
            sanitize(&name)
        );
        return;
    };
    let zero = |device: &Device| Device {
        counters: Counters { columns: device.counters.columns, ..Counters::ZERO },
        ..device.clone()
    };
    let boot = Sample {
        devices: feed.newer.devices.iter().map(zero).collect(),
        cpu: feed.newer.cpu.map(|_| CpuTimes::default()),
        host: HostState {
            pressure: feed.newer.host.pressure.map(|_| Pressure::default()),
            ..feed.newer.host
        },
        ..Sample::default()
    };
    let before = std::mem::replace(&mut feed.older, boot);
    let mut tracker = Tracker::new(settler);
    tracker.advance(feed, chooser);
    let block = block(&feed.older, &feed.newer, interval, 0);
    output.note("since boot:");
    output.block(&block, tracker.shown(feed, chooser, interval, plan.choice.total), &[]);
    feed.older = before;
}

fn summarize(
    plan: &View,
    (tracker, chooser): (&Tracker<'_>, &Chooser<'_>),
    extent: Extent,
    zone: &TimeZone,
    interrupted: bool,
    output: &mut Output<'_>,
    world: &mut RunContext<'_>,
) -> Result<()> {
    let wanted = match plan.summary {
        SummaryMode::Never => false,
        SummaryMode::OnInterrupt => interrupted && world.is_terminal,
        SummaryMode::Always => true,
    };
    if wanted {
        output.summary(|| tracker.summaries(chooser), &extent, zone);
    }
    output.flush(world)
}
