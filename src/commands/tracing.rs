//! Traced requests beside the intervals of the running system.

use std::cell::RefCell;
use std::path::Path;

use anyhow::Result;

use crate::clock::Clock;
use crate::counters::{DeviceNumber, Sample, TracedIo};
use crate::intervals::{Intervals, TracedInterval};
use crate::source::{TraceOptions, Tracer};

/// A tracer that is read at each sample, and the requests since the beginning of the interval.
#[derive(Default)]
pub(super) struct Tracing {
    /// `None` until it is started.
    tracer: RefCell<Option<Tracer>>,
    /// The devices that are traced; all if empty.
    devices: RefCell<Vec<DeviceNumber>>,
    counted: RefCell<Option<TracedIo>>,
}

impl Tracing {
    /// Starts to trace latencies, or with `users` the threads that submit I/O, on these devices (all if empty), unless that
    /// takes more than this percentage of the CPUs.
    ///
    /// # Errors
    /// If this system cannot trace.
    pub(super) fn start(
        &self,
        root: &Path,
        devices: Vec<DeviceNumber>,
        users: bool,
        max_overhead_pct: f64,
        clock: &dyn Clock,
    ) -> Result<()> {
        let options = TraceOptions {
            latencies: !users,
            users,
            devices: devices.clone(),
            user_devices: devices.clone(),
            max_overhead: max_overhead_pct / 100.0,
        };
        self.tracer.replace(Some(Tracer::start(root, options, clock)?));
        self.devices.replace(devices);
        Ok(())
    }

    /// Traces other devices from now on. While all of them are gone, the devices that are traced stay the same: an empty
    /// list would mean all.
    pub(super) fn select(&self, devices: Vec<DeviceNumber>) {
        if let Some(tracer) = self.tracer.borrow().as_ref()
            && !devices.is_empty()
            && devices != *self.devices.borrow()
        {
            tracer.select(&devices, &devices);
            self.devices.replace(devices);
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
