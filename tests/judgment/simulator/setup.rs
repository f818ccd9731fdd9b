//! The description of a simulated host.

use super::account::IoTicks;
use super::gate::{Gate, Unit};
use super::load::Load;
use super::request::Operation;
use super::station::{Spread, Station};

/// A stage on the way of a request, from the client to the servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// It enters an accounted device, by index; the uppermost first.
    Device(usize),
    /// It passes a gate, by index.
    Gate(usize),
}

/// An accounted device.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Device {
    pub(crate) name: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) numbers: (u32, u32),
    pub(crate) counts_in_ticks: bool,
}

impl Device {
    pub(crate) const DISK: Self = Self {
        name: "sda",
        kind: "disk",
        numbers: (8, 0),
        counts_in_ticks: false,
    };
    pub(crate) const PARTITION: Self = Self {
        name: "sda1",
        kind: "partition",
        numbers: (8, 1),
        counts_in_ticks: false,
    };
    /// Volumes of one host, which share what is behind them.
    pub(crate) const VOLUMES: [Self; 3] = [
        Self::DISK,
        Self {
            name: "sdb",
            numbers: (8, 16),
            ..Self::DISK
        },
        Self {
            name: "sdc",
            numbers: (8, 32),
            ..Self::DISK
        },
    ];
    pub(crate) const LOOP: Self = Self {
        name: "loop0",
        kind: "loop",
        numbers: (7, 0),
        counts_in_ticks: false,
    };
    pub(crate) const MAPPED: Self = Self {
        name: "dm-0",
        kind: "lvm",
        numbers: (253, 0),
        counts_in_ticks: true,
    };
}

/// Requests counted before the capture, since boot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct History {
    pub(crate) operation: Operation,
    pub(crate) ios: u64,
    pub(crate) sectors: u64,
    pub(crate) mean_s: f64,
}

/// Requests that hang in the device while others complete, in seconds of the capture.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hung {
    pub(crate) from_s: f64,
    pub(crate) until_s: f64,
    pub(crate) requests: u32,
}

/// A host with one disk, its load and the way in which it is sampled.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    /// The number of intervals.
    pub(crate) intervals: u32,
    pub(crate) interval_s: f64,
    /// The mean delay of a sample after its deadline.
    pub(crate) sample_delay_s: f64,
    /// Simulated time before the first sample.
    pub(crate) warm_up_s: f64,
    pub(crate) hz: u64,
    pub(crate) ticks: IoTicks,
    /// The trouble, or the full load, is there from the first sample on.
    pub(crate) begins_loaded: bool,
    /// The devices, the uppermost first.
    pub(crate) devices: Vec<Device>,
    /// Each load uses one of the devices, in turn, which is where its requests enter the first stage.
    pub(crate) has_volumes: bool,
    pub(crate) stages: Vec<Stage>,
    pub(crate) gates: Vec<Gate>,
    pub(crate) station: Station,
    pub(crate) loads: Vec<Load>,
    pub(crate) history: Vec<History>,
    pub(crate) hung: Option<Hung>,
    /// Seconds of the capture and the requests by which the in-flight count is too high from then on.
    pub(crate) leak: Option<(f64, u64)>,
    /// The second of the capture at which another disk takes the place of this one.
    pub(crate) replaced_at_s: Option<f64>,
    /// The capture is blkstat's own recording, with topology, pressure and a monotonic clock.
    pub(crate) is_recording: bool,
}

impl Setup {
    /// One disk without load, for a number of seconds.
    pub(crate) fn new(seconds: u32) -> Self {
        Self {
            intervals: seconds,
            interval_s: 1.0,
            sample_delay_s: 0.0002,
            warm_up_s: 2.0,
            hz: 250,
            ticks: IoTicks::AllBeforeEnd,
            begins_loaded: false,
            devices: vec![Device::DISK],
            has_volumes: false,
            stages: vec![Stage::Device(0)],
            gates: Vec::new(),
            station: Station::new(1, 0.001, Spread::Exponential),
            loads: Vec::new(),
            history: Vec::new(),
            hung: None,
            leak: None,
            replaced_at_s: None,
            is_recording: true,
        }
    }

    /// Returns the length of the capture in seconds.
    pub(crate) fn seconds(&self) -> f64 {
        f64::from(self.intervals) * self.interval_s
    }

    /// Adds a gate inside the disk, behind all accounted devices.
    pub(crate) fn limit_inside(&mut self, gate: Gate) {
        self.gates.push(gate);
        self.stages.push(Stage::Gate(self.gates.len() - 1));
    }

    /// Adds a gate before all accounted devices.
    pub(crate) fn limit_above(&mut self, gate: Gate) {
        self.gates.push(gate);
        self.stages.insert(0, Stage::Gate(self.gates.len() - 1));
    }

    /// Puts a device on the disk, with a gate between them if there is one.
    pub(crate) fn stack(&mut self, upper: Device, gate: Option<Gate>) {
        for stage in &mut self.stages {
            if let Stage::Device(index) = stage {
                *index += 1;
            }
        }
        self.devices.insert(0, upper);
        if let Some(gate) = gate {
            self.limit_above(gate);
        }
        self.stages.insert(0, Stage::Device(0));
    }

    /// Returns whether all requests have the same size, so that bytes and requests cannot be told apart.
    pub(crate) fn has_one_size(&self) -> bool {
        let mut sizes = self.loads.iter().flat_map(|load| load.mix.sectors);
        let first = sizes.next();
        sizes.all(|size| Some(size) == first)
    }

    /// Returns the share of reads if all loads have the same.
    pub(crate) fn common_read_share(&self) -> Option<f64> {
        let mut shares = self.loads.iter().map(|load| load.mix.reads);
        let first = shares.next()?;
        shares.all(|share| share == first).then_some(first)
    }

    /// Returns a rate in requests per second, for loads of one size.
    pub(crate) fn requests_per_s(&self, unit: Unit, rate: f64) -> f64 {
        let size = self.loads.first().map_or(8, |load| load.mix.sectors[0]);
        match unit {
            Unit::Requests => rate,
            Unit::Sectors => rate / f64::from(size),
        }
    }
}
