//! The samples within a longer interval: accumulated counter differences, and devices that appear or
//! disappear.

use std::collections::BTreeSet;

use super::sample_pair::SamplePair;
use crate::counters::{Counters, Sample};
use crate::metrics::{DeviceMatch, Interval, in_flight};

/// The most transient devices that are named: bounds the memory if new names keep appearing.
const MAX_TRANSIENT_DEVICES: usize = 100;

/// Each device of the last sample, followed from the first through all samples in between.
#[derive(Debug, Default)]
pub(super) struct Aggregate {
    devices: Vec<DeviceSpan>,
    /// Devices that appeared after the first sample and disappeared before the last.
    transient_devices: BTreeSet<String>,
}

/// One device from the first sample to the last.
#[derive(Clone, Copy, Debug)]
struct DeviceSpan {
    /// Its index in the first sample, if it was in every sample.
    first_index: Option<usize>,
    /// What it did; `None` after a reset.
    interval: Option<Interval>,
    /// The most requests in flight in any sample.
    max_in_flight: u64,
}

impl Aggregate {
    /// Starts with two consecutive samples.
    pub(super) fn between(step: &SamplePair<'_>) -> Self {
        let SamplePair { older, newer, device_match, .. } = step;
        let span = |index: usize| {
            let first_index = device_match.previous_index(index);
            let interval = |first: usize| {
                let (older, newer) = (&older.devices[first].counters, &newer.devices[index].counters);
                Interval::between(older, newer, step.span)
            };
            let max_in_flight = in_flight_or_zero(&newer.devices[index].counters);
            DeviceSpan { first_index, interval: first_index.and_then(interval), max_in_flight }
        };
        let devices = (0..newer.devices.len()).map(span).collect();
        Self { devices, transient_devices: BTreeSet::new() }
    }

    /// Extends the span by the sample after the last.
    pub(super) fn extend(&mut self, step: &SamplePair<'_>) {
        if *step.device_match == DeviceMatch::Identical {
            self.extend_in_place(step);
            return;
        }
        let last = step.older;
        let step = Self::between(step);
        self.note_transient_devices(last, &step);
        let combined = |step: &DeviceSpan| {
            let before = step.first_index.and_then(|index| self.devices.get(index));
            let intervals = before.and_then(|span| span.interval).zip(step.interval);
            DeviceSpan {
                first_index: before.and_then(|span| span.first_index),
                interval: intervals.map(|(before, step)| before.followed_by(&step)),
                max_in_flight: before.map_or(0, |span| span.max_in_flight).max(step.max_in_flight),
            }
        };
        self.devices = step.devices.iter().map(combined).collect();
    }

    /// Extends the span in the usual case: the same devices in the same order.
    fn extend_in_place(&mut self, step: &SamplePair<'_>) {
        let pairs = step.older.devices.iter().zip(&step.newer.devices);
        for (span, (older, newer)) in self.devices.iter_mut().zip(pairs) {
            let step = Interval::between(&older.counters, &newer.counters, step.span);
            span.interval = span.interval.zip(step).map(|(before, step)| before.followed_by(&step));
            span.max_in_flight = span.max_in_flight.max(in_flight_or_zero(&newer.counters));
        }
    }

    /// Remembers the devices of `last` that were not in the first sample and disappeared in `step`.
    fn note_transient_devices(&mut self, last: &Sample, step: &Self) {
        let mut stays = vec![false; last.devices.len()];
        step.devices.iter().filter_map(|span| span.first_index).for_each(|index| stays[index] = true);
        let spans = self.devices.iter().zip(stays).zip(&last.devices);
        for (_, device) in spans.filter(|((span, stays), _)| span.first_index.is_none() && !stays) {
            if self.transient_devices.len() < MAX_TRANSIENT_DEVICES {
                self.transient_devices.insert(device.name.clone());
            }
        }
    }

    /// Matches the last sample to the first, which had `first_count` devices. A device that was missing in between
    /// has no match.
    pub(super) fn device_match(&self, first_count: usize) -> DeviceMatch {
        let stayed = |(index, span): (usize, &DeviceSpan)| span.first_index == Some(index);
        if first_count == self.devices.len() && self.devices.iter().enumerate().all(stayed) {
            return DeviceMatch::Identical;
        }
        DeviceMatch::Mapped(self.devices.iter().map(|span| span.first_index).collect())
    }

    /// The devices that appeared after the first sample and disappeared again. Some may also be in the first or last
    /// sample.
    pub(super) fn transient_devices(&self) -> impl Iterator<Item = &str> {
        self.transient_devices.iter().map(String::as_str)
    }

    /// The most requests in flight in any sample after the first, of a device of the last sample.
    pub(super) fn max_in_flight(&self, index: usize) -> u64 {
        self.devices.get(index).map_or(0, |span| span.max_in_flight)
    }

    /// What a device of the last sample did; `None` after a reset.
    pub(super) fn interval(&self, index: usize) -> Option<Interval> {
        self.devices.get(index).and_then(|span| span.interval)
    }
}

fn in_flight_or_zero(counters: &Counters) -> u64 {
    in_flight(counters).unwrap_or(0)
}
