//! What is told of an incident, as plain data.

use std::cmp::Ordering;
use std::sync::Arc;

use super::second::{Moment, RequestKind};
use crate::attribution::Limit;
use crate::judge::{Verdict, VerdictTimes};
use crate::topology::DeviceNames;

/// An incident with all that is known of it now.
#[derive(Clone, Debug, PartialEq)]
pub struct Told {
    /// Its number, from 1.
    pub id: u64,
    /// The topmost device that suffers.
    pub victim: Arc<DeviceNames>,
    /// The lowest device that is as bad.
    pub bottleneck: Arc<DeviceNames>,
    /// All devices of it, the victim first.
    pub devices: Vec<DeviceTimes>,
    pub begin: Moment,
    /// False if it may have begun before the first sample, or the first after a break in time.
    pub begin_is_known: bool,
    pub end: Moment,
    pub is_ongoing: bool,
    /// The most severe word with a quarter of the bad seconds.
    pub word: Verdict,
    /// The bad seconds of the victim.
    pub bad_s: f64,
    pub cause: Cause,
    /// The kind of requests of the victim that wait most; `None` if none completed.
    pub requests: Option<RequestKind>,
    /// Their latency in milliseconds, and before the incident.
    pub await_ms: Option<f64>,
    pub await_before_ms: Option<f64>,
    /// Their rate.
    pub per_s: f64,
    /// The mean queue of the victim.
    pub queue: f64,
    /// The requests per second of the bottleneck, and before the incident.
    pub iops: f64,
    pub iops_before: Option<f64>,
    /// Whose load it is; `None` if nobody's, or if that is not known.
    pub owner: Option<Owner>,
    /// Those that wait for it, the most often seen first.
    pub waits: Vec<Waiter>,
    /// Others than the owner, or than the cgroup with the limit, wait as well.
    pub others_wait: bool,
    pub advice: Option<Advice>,
    /// How much it harms: seconds, times tasks that wait, times the share of the latency that is new.
    pub harm: f64,
}

/// A device of an incident.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceTimes {
    pub names: Arc<DeviceNames>,
    pub begin: Moment,
    pub end: Moment,
    /// Its bad seconds by word.
    pub times: VerdictTimes,
    /// The most severe word with a quarter of them.
    pub word: Verdict,
}

/// Why.
#[derive(Clone, Debug, PartialEq)]
pub enum Cause {
    /// A cgroup is held at its limit.
    Limit(Limit),
    /// This volume is suspended.
    Suspended(Arc<str>),
    /// Requests are in flight, and none completes.
    Stall,
    /// A task waits, and nothing is in flight: a frozen file system, or a server that does not answer.
    Frozen,
    /// This array is being checked or rebuilt.
    Sync(Arc<str>),
    /// The device is swap.
    Swap,
    /// The load of the owner.
    Load,
    /// The device does less than before, and nobody's load rose.
    Less,
    /// Who makes the load is not known.
    Unknown(Unknown),
    /// The rate stays constant, as if this limit held it; `None` if it is shared with others, or one of flushes.
    Capped(Option<Limit>),
    /// No CPU was available, and few requests waited.
    Cpu,
    /// In use all the time, although every request is served as fast as ever.
    Used,
}

/// Why it is not known who makes the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// There are no cgroups and processes in the recording.
    NotRecorded,
    /// They were not read in time.
    NotRead,
    /// They were, but nobody's load rose.
    NoRise,
}

/// Whose load it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Owner {
    /// The paths of the cgroups: one, or those in which the program runs.
    pub cgroups: Vec<Arc<str>>,
    /// `None` if it is not known.
    pub program: Option<Arc<str>>,
    /// By how much its load rose, in KiB per second; 0 if that is not known.
    pub rise_kib_per_s: f64,
    pub because: Because,
    /// What was before is not known: it has most of the bytes, which need not be more than before.
    pub is_by_share: bool,
}

/// How an owner is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Because {
    /// The kernel counts the bytes of its cgroup on the device.
    DeviceBytes,
    /// The kernel counts the bytes of its processes on all devices together.
    ProcessBytes,
    /// It waits for the device since then, and did not before.
    Newcomer,
}

/// A program that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiter {
    pub program: Arc<str>,
    pub cgroup: Option<Arc<str>>,
}

/// What to do. There is none where it could harm somebody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advice {
    /// Raise the limit, unless it is meant.
    RaiseLimit,
    Resume,
    Unfreeze,
    LookAtPath,
    SlowSync,
    Memory,
    CpuFirst,
    LookAtDevice,
    LimitOwner,
}

impl Told {
    pub fn duration_s(&self) -> f64 {
        self.end.run_s - self.begin.run_s
    }

    /// Returns whether a device is part of it.
    pub fn has(&self, device: &str) -> bool {
        self.devices.iter().any(|one| one.names.device == device)
    }

    /// Compares two incidents for a list with the worst first; those that only the CPU made slow come last, then those of devices
    /// that are only in use all the time.
    pub fn worst_first(&self, other: &Self) -> Ordering {
        let rank = |told: &Self| (told.cause == Cause::Cpu, told.word == Verdict::Busy);
        rank(self)
            .cmp(&rank(other))
            .then(other.harm.total_cmp(&self.harm))
    }

    /// The limit that is the cause, known or inferred; `None` if none is.
    pub fn limit(&self) -> Option<&Limit> {
        match &self.cause {
            Cause::Limit(limit) => Some(limit),
            Cause::Capped(limit) => limit.as_ref(),
            _ => None,
        }
    }
}

impl Cause {
    /// Its name in machine formats.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Limit(_) => "cgroup_limit",
            Self::Suspended(_) => "suspended",
            Self::Stall => "stall",
            Self::Frozen => "frozen",
            Self::Sync(_) => "sync",
            Self::Swap => "swap",
            Self::Load => "load",
            Self::Less => "less",
            Self::Unknown(_) => "unknown",
            Self::Capped(_) => "constant_rate",
            Self::Cpu => "cpu",
            Self::Used => "used",
        }
    }
}

impl Advice {
    /// Its name in machine formats.
    pub fn name(self) -> &'static str {
        match self {
            Self::RaiseLimit => "raise_limit",
            Self::Resume => "resume",
            Self::Unfreeze => "unfreeze",
            Self::LookAtPath => "look_at_path",
            Self::SlowSync => "slow_sync",
            Self::Memory => "memory",
            Self::CpuFirst => "cpu_first",
            Self::LookAtDevice => "look_at_device",
            Self::LimitOwner => "limit_owner",
        }
    }
}

#[cfg(test)]
mod examples {
    use super::*;

    impl Told {
        /// An incident of `sda` of which nothing more is known.
        pub(crate) fn example() -> Self {
            let names = DeviceNames::without_alias("sda");
            Self {
                id: 1,
                victim: Arc::clone(&names),
                bottleneck: Arc::clone(&names),
                devices: vec![DeviceTimes {
                    names,
                    begin: Moment::default(),
                    end: Moment::default(),
                    times: VerdictTimes::default(),
                    word: Verdict::Saturated,
                }],
                begin: Moment::default(),
                begin_is_known: true,
                end: Moment::default(),
                is_ongoing: false,
                word: Verdict::Saturated,
                bad_s: 0.0,
                cause: Cause::Unknown(Unknown::NoRise),
                requests: None,
                await_ms: None,
                await_before_ms: None,
                per_s: 0.0,
                queue: 0.0,
                iops: 0.0,
                iops_before: None,
                owner: None,
                waits: Vec::new(),
                others_wait: false,
                advice: None,
                harm: 0.0,
            }
        }
    }
}
