//! Intervals add: those of a device, and those of all devices.

use super::device_interval::{
    DeviceActivity, DeviceInterval, DeviceState, IntervalHeader, IntervalRows,
};
use super::series::{Extent, Fold, LatencyCounts};
use super::spread::{HostSpread, Spread};
use crate::quantities::{HostQuantity, Quantity};

impl DeviceActivity {
    /// Its reads, writes and flushes by the mean latency of their step.
    pub fn latencies(&self) -> LatencyCounts {
        match &self.spread {
            Some(spread) => spread.latencies.clone(),
            None => Spread::of(&self.judged).latencies,
        }
    }

    /// Returns a quantity that charts have; empty if it is not known.
    pub fn extent(&self, quantity: &Quantity) -> Extent {
        if let Some(spread) = &self.spread {
            return spread.extent(quantity);
        }
        let mut extent = Extent::default();
        if let Some((value, weight)) = quantity.weighted(&self.judged) {
            extent.observe(value, weight);
        }
        extent
    }
}

impl Fold for DeviceActivity {
    fn add(&mut self, later: Self) {
        let mut spread = self
            .spread
            .take()
            .unwrap_or_else(|| Box::new(Spread::of(&self.judged)));
        match later.spread {
            Some(later) => spread.add(*later),
            None => spread.observe(&later.judged),
        }
        let mut judged = std::mem::take(&mut self.judged);
        judged += &later.judged;
        *self = Self {
            judged,
            flag: self.flag.or(later.flag),
            stalled_s: self.stalled_s.max(later.stalled_s),
            shown_verdict: self.shown_verdict.max(later.shown_verdict),
            top_cgroup: None,
            incident: None,
            health: later.health,
            spread: Some(spread),
        };
    }
}

impl Fold for DeviceInterval {
    /// A time without statistics adds nothing.
    fn add(&mut self, later: Self) {
        self.names = later.names;
        match (&mut self.state, later.state) {
            (DeviceState::Active(own), DeviceState::Active(later)) => own.add(*later),
            (DeviceState::Active(_), _) => {}
            (own, later) => *own = later,
        }
    }
}

impl IntervalHeader {
    /// Returns a quantity of the host that charts have; empty if it is not known.
    pub fn host_extent(&self, quantity: &HostQuantity) -> Extent {
        match &self.host_spread {
            Some(spread) => spread.extent(quantity),
            None => HostSpread::of(&self.host, self.elapsed_s).extent(quantity),
        }
    }
}

impl Fold for IntervalHeader {
    fn add(&mut self, later: Self) {
        let mut spread = self
            .host_spread
            .take()
            .unwrap_or_else(|| Box::new(HostSpread::of(&self.host, self.elapsed_s)));
        spread.add(match later.host_spread {
            Some(later) => *later,
            None => HostSpread::of(&later.host, later.elapsed_s),
        });
        *self = Self {
            start: self.start,
            end: later.end.or(self.end),
            elapsed_s: self.elapsed_s + later.elapsed_s,
            missed_samples: self.missed_samples.saturating_add(later.missed_samples),
            missed_scans: self.missed_scans.saturating_add(later.missed_scans),
            host_spread: Some(spread),
            ..Self::default()
        };
    }
}

impl Fold for IntervalRows {
    /// Adds a later interval. Of its events, cgroups and processes nothing is kept.
    fn add(&mut self, later: Self) {
        self.header.add(later.header);
        let mut place = 0;
        for device in later.devices {
            match self.position_near(place, device.device()) {
                Some(at) => {
                    self.devices[at].add(device);
                    place = at + 1;
                }
                None => self.devices.push(device),
            }
        }
        match (&mut self.total, later.total) {
            (Some(own), Some(later)) => own.add(later),
            (own, later) => *own = own.take().or(later),
        }
        self.events.clear();
        self.attribution = None;
        self.has_found_any |= later.has_found_any;
    }
}

impl IntervalRows {
    /// Returns the place of a device by the kernel's name, which is looked for from the place where it is expected;
    /// `None` if it was not present.
    pub fn position_near(&self, expected: usize, name: &str) -> Option<usize> {
        let start = expected.min(self.devices.len());
        let mut places = (start..self.devices.len()).chain(0..start);
        places.find(|at| self.devices[*at].device() == name)
    }

    /// Returns a device by the kernel's name; `None` if it was not present.
    pub fn device(&self, name: &str) -> Option<&DeviceInterval> {
        self.position_near(0, name).map(|at| &self.devices[at])
    }
}
