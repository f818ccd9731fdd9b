//! Traced requests beside the intervals of the running system.

use std::cell::RefCell;

use crate::counters::{DeviceNumber, Sample, TracedIo};
use crate::intervals::{Intervals, TracedInterval};
use crate::source::Tracer;

/// A tracer that is read at each sample, and the requests since the beginning of the interval.
#[derive(Default)]
pub(super) struct Tracing {
    /// `None` until it is started.
    tracer: RefCell<Option<Tracer>>,
    counted: RefCell<Option<TracedIo>>,
}

impl Tracing {
    pub(super) fn start(&self, tracer: Tracer) {
        self.tracer.replace(Some(tracer));
    }

    /// Traces other devices from now on: the latencies of the devices `whole`, and the threads on the devices and
    /// partitions `of_threads`.
    pub(super) fn select(&self, whole: &[DeviceNumber], of_threads: &[DeviceNumber]) {
        if let Some(tracer) = &*self.tracer.borrow() {
            tracer.select(whole, of_threads);
        }
    }

    /// Adds the requests up to a sample.
    pub(super) fn read(&self, sample: &Sample) {
        if let Some(tracer) = &*self.tracer.borrow() {
            let traced = tracer.read(sample.at.monotonic.unwrap_or_default());
            self.counted.borrow_mut().get_or_insert_default().extend(&traced);
        }
    }

    /// Takes the requests of the interval that has just ended; `None` if they were not traced.
    pub(super) fn take(&self, intervals: &Intervals<'_>) -> Option<TracedInterval> {
        let traced = self.counted.take()?;
        Some(TracedInterval::new(traced, &intervals.newest().devices, intervals.topology()))
    }
}
