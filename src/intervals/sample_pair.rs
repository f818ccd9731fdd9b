//! The two samples at the ends of an interval, and those between them.

use super::aggregate::Aggregate;
use crate::counters::{Device, Sample};
use crate::metrics::{DeviceMatch, Interval};
use crate::units::Span;

/// Two samples with the time between them.
pub(super) struct SamplePair<'a> {
    pub(super) older: &'a Sample,
    pub(super) newer: &'a Sample,
    pub(super) span: Span,
    /// The devices of `newer` in `older`.
    pub(super) device_match: &'a DeviceMatch,
    /// The steps from one to the other, each of which was assessed; `None` for a single step.
    pub(super) aggregate: Option<&'a Aggregate>,
}

/// A device that both samples have.
#[derive(Clone, Copy)]
pub(super) struct DevicePair<'a> {
    pub(super) older: &'a Device,
    pub(super) newer: &'a Device,
    /// The index in the newer sample.
    pub(super) index: usize,
}

impl<'a> SamplePair<'a> {
    /// The device at `index` of the newer sample; `None` if it was not in every sample.
    pub(super) fn device(&self, index: usize) -> Option<DevicePair<'a>> {
        let older = &self.older.devices[self.device_match.previous_index(index)?];
        Some(DevicePair { older, newer: &self.newer.devices[index], index })
    }

    /// What the device did in the interval; `None` after a reset.
    pub(super) fn interval(&self, device: &DevicePair<'_>) -> Option<Interval> {
        match self.aggregate {
            Some(aggregate) => aggregate.interval(device.index),
            None => Interval::between(&device.older.counters, &device.newer.counters, self.span),
        }
    }

    /// The most requests in flight in a sample within the interval; 0 without such samples.
    pub(super) fn max_in_flight(&self, device: &DevicePair<'_>) -> u64 {
        self.aggregate.map_or(0, |aggregate| aggregate.max_in_flight(device.index))
    }

    /// Returns whether the counters are the same at both ends, without a reset in between.
    pub(super) fn is_unchanged(&self, device: &DevicePair<'_>) -> bool {
        device.newer.counters == device.older.counters
            && self.aggregate.is_none_or(|aggregate| aggregate.interval(device.index).is_some())
    }

    /// The names of devices that are only in samples between the ends.
    pub(super) fn transient_devices(&self) -> impl Iterator<Item = &'a str> {
        let (older, newer) = (self.older, self.newer);
        let names = self.aggregate.into_iter().flat_map(Aggregate::transient_devices);
        names.filter(|name| older.device(name).is_none() && newer.device(name).is_none())
    }
}
