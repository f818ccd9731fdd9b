//! Samples of a capture that are put together into one interval: what happened between the first and the last.

use std::collections::BTreeSet;

use crate::counters::{Counters, Sample};
use crate::metrics::{CounterDelta, DeviceMatch, in_flight};
use crate::units::{Elapsed, Interval};

/// What is known of each device of the last sample since the first.
#[derive(Debug, Default)]
pub(super) struct Together {
    runs: Vec<Run>,
    /// Devices that came and went on the way; of a stream of names that are always new, only the first.
    passed_by: BTreeSet<String>,
}

/// So many devices that came and went are named.
const MOST_PASSED_BY: usize = 100;

/// One device, from the first sample to the last.
#[derive(Clone, Copy, Debug)]
struct Run {
    /// Its place in the first sample, if it was there all the time.
    earlier: Option<usize>,
    /// How far its counters went; `None` when they started anew on the way.
    advance: Option<CounterDelta>,
    /// The most requests that a sample saw in flight.
    most_in_flight: u64,
}

impl Together {
    /// From one sample to the next.
    pub(super) fn between(older: &Sample, newer: &Sample) -> Self {
        let pairs = DeviceMatch::between(&older.devices, &newer.devices);
        let interval = passed(older, newer);
        let run = |at: usize| {
            let earlier = pairs.previous_index(at);
            let step = |earlier: usize| {
                CounterDelta::between(
                    &older.devices[earlier].counters,
                    &newer.devices[at].counters,
                    interval?,
                )
            };
            let most_in_flight = seen_in_flight(&newer.devices[at].counters);
            Run { earlier, advance: earlier.and_then(step), most_in_flight }
        };
        Self { runs: (0..newer.devices.len()).map(run).collect(), passed_by: BTreeSet::new() }
    }

    /// The same up to the sample that followed `before`, the last so far.
    pub(super) fn then(&mut self, before: &Sample, newer: &Sample) {
        if DeviceMatch::between(&before.devices, &newer.devices) == DeviceMatch::Identical {
            let interval = passed(before, newer);
            let devices = before.devices.iter().zip(&newer.devices);
            // Most devices of a machine with many do nothing.
            let moved = self.runs.iter_mut().zip(devices).filter(|(_, (a, b))| a.counters != b.counters);
            for (run, (older, newer)) in moved {
                let step =
                    interval.and_then(|it| CounterDelta::between(&older.counters, &newer.counters, it));
                run.advance = run.advance.zip(step).map(|(so_far, step)| so_far.then(&step));
                run.most_in_flight = run.most_in_flight.max(seen_in_flight(&newer.counters));
            }
            return;
        }
        let next = Self::between(before, newer);
        let mut stayed = vec![false; before.devices.len()];
        next.runs.iter().filter_map(|step| step.earlier).for_each(|at| stayed[at] = true);
        let came = self.runs.iter().zip(stayed).zip(&before.devices);
        for (_, device) in came.filter(|((run, stayed), _)| run.earlier.is_none() && !stayed) {
            if self.passed_by.len() < MOST_PASSED_BY {
                self.passed_by.insert(device.name.clone());
            }
        }
        let run = |step: &Run| {
            let so_far = step.earlier.and_then(|at| self.runs.get(at));
            let advances = so_far.and_then(|run| run.advance).zip(step.advance);
            Run {
                earlier: so_far.and_then(|run| run.earlier),
                advance: advances.map(|(so_far, step)| so_far.then(&step)),
                most_in_flight: so_far.map_or(0, |run| run.most_in_flight).max(step.most_in_flight),
            }
        };
        self.runs = next.runs.iter().map(run).collect();
    }

    /// Where each device was in the first sample, of so many devices, if it was there all the time.
    pub(super) fn pairs(&self, devices: usize) -> DeviceMatch {
        let stayed = |(at, run): (usize, &Run)| run.earlier == Some(at);
        if devices == self.runs.len() && self.runs.iter().enumerate().all(stayed) {
            return DeviceMatch::Identical;
        }
        DeviceMatch::Mapped(self.runs.iter().map(|run| run.earlier).collect())
    }

    /// Devices that came after the first sample and went again. Some may be in the first or the last nevertheless.
    pub(super) fn passed_by(&self) -> impl Iterator<Item = &str> {
        self.passed_by.iter().map(String::as_str)
    }

    /// The most requests that a sample after the first saw in flight at the device at this place of the last sample.
    pub(super) fn most_in_flight(&self, at: usize) -> u64 {
        self.runs.get(at).map_or(0, |run| run.most_in_flight)
    }

    /// How far the counters of the device at this place of the last sample went.
    pub(super) fn advance(&self, at: usize) -> Option<CounterDelta> {
        self.runs.get(at).and_then(|run| run.advance)
    }
}

fn seen_in_flight(counters: &Counters) -> u64 {
    in_flight(counters).unwrap_or(0)
}

fn passed(older: &Sample, newer: &Sample) -> Option<Interval> {
    match newer.at.since(&older.at) {
        Elapsed::Forward(interval) => Some(interval),
        Elapsed::Unknown => None,
    }
}
