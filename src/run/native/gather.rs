//! All intervals of a capture, or of a live machine for a while, into an analysis of each device.

use std::collections::HashMap;

use anyhow::Result;

use super::choose::{Chooser, Facts};
use super::feed::{Feed, Step};
use crate::analysis::{DeviceAnalysis, Observation};
use crate::counters::Sample;
use crate::metrics::{DeviceMatch, UtilCheck};
use crate::plan::DeviceSelection;
use crate::run::RunContext;
use crate::topology::Topology;
use crate::units::Interval;

/// What was seen.
pub(in crate::run) struct Gathered {
    /// The devices that were asked for, in the order in which they came.
    pub(in crate::run) devices: Vec<DeviceAnalysis>,
    /// What is stacked on what; empty where that is not known.
    pub(in crate::run) stack: Topology,
    /// Intervals.
    pub(in crate::run) intervals: u64,
    /// The signal that ended it.
    pub(in crate::run) signal: Option<u8>,
    /// What was asked for and never seen, in words.
    pub(in crate::run) missing: Option<String>,
}

/// What is remembered of a device.
struct Memory {
    analysis: DeviceAnalysis,
    history: UtilCheck,
    /// Intervals that were over before it was there.
    since: u64,
}

/// Collects intervals.
struct Gatherer<'a> {
    chooser: Chooser<'a>,
    memories: Vec<Memory>,
    by_name: HashMap<String, usize>,
    /// For each device of the sample its memory, if it was asked for, and what is known of it.
    places: Vec<Option<usize>>,
    facts: Vec<Facts>,
    stack: Topology,
    /// Intervals seen.
    intervals: u64,
}

/// Reads the feed to its end, or `count` intervals of it. `each` sees every interval's two samples.
///
/// # Errors
/// When the source cannot be read.
pub(in crate::run) fn gather(
    feed: &mut Feed<'_>,
    choice: &DeviceSelection,
    count: Option<u64>,
    world: &mut RunContext<'_>,
    each: &mut dyn FnMut(&Sample, &Sample, Interval, &mut RunContext<'_>),
) -> Result<Gathered> {
    let mut gatherer = Gatherer {
        chooser: Chooser::new(choice)?,
        memories: Vec::new(),
        by_name: HashMap::new(),
        places: Vec::new(),
        facts: Vec::new(),
        stack: Topology::default(),
        intervals: 0,
    };
    let mut signal = None;
    if feed.first(world)? {
        gatherer.learn(feed);
        let missing =
            gatherer.chooser.missing(feed.devices(), &gatherer.facts, None).filter(|_| feed.is_live());
        if let Some(missing) = missing {
            // A capture may have it later; this machine is asked before anybody waits.
            let is_unlike_any = missing.ends_with("lists them");
            let also = if is_unlike_any { "; nor is there such a file" } else { "" };
            let missing = Some(missing + also);
            return Ok(Gathered {
                devices: Vec::new(),
                stack: Topology::default(),
                intervals: 0,
                signal,
                missing,
            });
        }
        while count.is_none_or(|count| gatherer.intervals < count) {
            match feed.next(world)? {
                Step::Interval { interval, .. } => {
                    gatherer.see(feed, interval);
                    each(&feed.older, &feed.newer, interval, world);
                }
                Step::Break => gatherer.interrupt(feed),
                Step::End => break,
                Step::Signal(number) => {
                    signal = Some(number);
                    break;
                }
            }
        }
    }
    feed.finish(world);
    let intervals = gatherer.intervals;
    let looked_at = count.filter(|count| intervals >= *count);
    let missing = gatherer.chooser.missing(feed.devices(), &gatherer.facts, looked_at);
    let devices = gatherer.memories.into_iter().map(|Memory { mut analysis, since, .. }| {
        analysis.set_intervals_since_first(intervals.saturating_sub(since));
        analysis
    });
    let devices = devices.collect();
    let stack = if feed.knows_stack() { gatherer.stack } else { Topology::default() };
    Ok(Gathered { devices, stack, intervals, signal, missing })
}

impl Gatherer<'_> {
    /// Finds out what the devices of the last sample are.
    fn learn(&mut self, feed: &mut Feed<'_>) {
        self.stack = feed.stack();
        let names = feed.names();
        (self.facts, _) = self.chooser.facts(feed.devices(), &self.stack, names.as_ref());
        let wanted = self.facts.iter().map(|facts| self.chooser.is_news(facts));
        let places = feed.devices().iter().zip(wanted).map(|(device, is_wanted)| {
            let memories = &mut self.memories;
            is_wanted.then(|| {
                *self.by_name.entry(device.name.clone()).or_insert_with(|| {
                    let analysis = DeviceAnalysis::new(&device.name);
                    memories.push(Memory { analysis, history: UtilCheck::default(), since: self.intervals });
                    memories.len() - 1
                })
            })
        });
        self.places = places.collect();
    }

    fn interrupt(&mut self, feed: &mut Feed<'_>) {
        for memory in &mut self.memories {
            memory.analysis.gap();
            memory.history = UtilCheck::default();
        }
        self.learn(feed);
    }

    fn see(&mut self, feed: &mut Feed<'_>, interval: Interval) {
        let pairs = feed.pairs();
        if pairs != DeviceMatch::Identical {
            self.learn(feed);
        }
        let at = feed.newer.at;
        let wall = || at.wall.map(|wall| wall.as_nanosecond() as f64 / 1e9);
        let at_s = at.monotonic.map(|monotonic| monotonic.as_secs_f64()).or_else(wall);
        for (index, place) in self.places.iter().enumerate() {
            let Some(place) = *place else { continue };
            let memory = &mut self.memories[place];
            let Some(earlier) = pairs.previous_index(index) else {
                // It came, and nobody knows since when it counts; a first sight is no gap.
                memory.history = UtilCheck::default();
                if memory.analysis.has_intervals() {
                    memory.analysis.reappear();
                } else {
                    memory.since = self.intervals + 1;
                }
                continue;
            };
            let Some(figures) = feed.figures(earlier, index, interval) else {
                memory.analysis.reset();
                memory.history = UtilCheck::default();
                continue;
            };
            memory.history.see_in_flight(feed.most_in_flight(index));
            memory.history.see(&figures);
            let is_counted = self.facts[index].accounting_off.then_some(false);
            let (flag, stalled_s) = (memory.history.mark(&figures), memory.history.stalled_s());
            memory.analysis.observe(&Observation { stats: &figures, flag, at_s, stalled_s, is_counted });
        }
        self.intervals += 1;
    }
}
