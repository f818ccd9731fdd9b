//! An incident: the trouble that devices stacked on each other share.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use crate::attribution::{Limit, Program};
use crate::judge::{Assessment, Evidence, HealthEvidence, IoDirection, Plateau, Verdict};
use crate::topology::DeviceNames;

/// A point in time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moment {
    /// The wall clock; `None` if the samples have no time.
    pub at: Option<Timestamp>,
    /// The total length of all intervals before it in seconds. Breaks in time do not count.
    pub run_s: f64,
}

impl Moment {
    /// Returns the moment some seconds earlier, in the same segment.
    pub(super) fn minus(self, seconds: f64) -> Self {
        let duration = SignedDuration::try_from_secs_f64(seconds).unwrap_or_default();
        Self {
            at: self.at.and_then(|at| at.checked_sub(duration).ok()),
            run_s: self.run_s - seconds,
        }
    }

    /// Returns the moment of a second of the run, in the same segment.
    pub(super) fn at_run_s(self, run_s: f64) -> Self {
        self.minus(self.run_s - run_s)
    }
}

/// One trouble, from its beginning to the time at which the devices have been well for a while.
#[derive(Clone, Debug, PartialEq)]
pub struct Incident {
    /// Its number, from 1.
    pub id: u64,
    /// The topmost device whose requests take longer.
    pub victim: Arc<DeviceNames>,
    pub begin: Moment,
    /// True if its beginning was observed. If not, it may have begun before the first sample, or before the first after
    /// a break in time.
    pub begin_is_known: bool,
    /// The kind of requests of the victim that wait most; `None` if nothing completes.
    pub requests: Option<IoDirection>,
    /// Their latency just before it began, in milliseconds; `None` if it is not known.
    pub before_ms: Option<f64>,
    /// The rate just before it began of the requests whose rate is constant now; `None` without such a cause, or if it is not
    /// known.
    pub before_per_s: Option<f64>,
    /// The best known cause.
    pub cause: Option<Cause>,
    /// The cgroup with the limit or, without one, that with most of the victim's bytes; `None` if it is not known.
    pub owner: Option<Arc<str>>,
    /// The program that makes most of the load on the devices, in the cgroup that owns it where one does; `None` if it is
    /// not known.
    pub program: Option<Program>,
    /// The tasks that wait for I/O in the cgroup with the limit or, as far as that is known, on its devices, in its latest
    /// interval with any; the longest wait first.
    pub waiting: Vec<WaitingTask>,
}

/// The incident of a device in an interval.
#[derive(Clone, Debug, PartialEq)]
pub struct OngoingIncident {
    pub incident: Arc<Incident>,
    /// Seconds from its beginning to the end of the interval.
    pub lasted_s: f64,
    /// True if the device is the victim.
    pub is_victim: bool,
}

/// A task that waits for I/O.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingTask {
    pub tid: u32,
    pub comm: String,
    /// The beginning of the command line of its process; `None` if that is not known.
    pub command: Option<Arc<str>>,
    /// The least time for which it has waited; 0 if that is not known.
    pub waited_ms: u64,
}

impl Incident {
    /// An incident of which nothing more is known.
    pub(crate) fn new(
        id: u64,
        victim: Arc<DeviceNames>,
        begin: Moment,
        begin_is_known: bool,
    ) -> Self {
        Self {
            id,
            victim,
            begin,
            begin_is_known,
            requests: None,
            before_ms: None,
            before_per_s: None,
            cause: None,
            owner: None,
            program: None,
            waiting: Vec::new(),
        }
    }

    /// The limit of a cgroup that is the cause; `None` if none is.
    pub fn cgroup_limit(&self) -> Option<&Limit> {
        if let Some(Cause::CgroupLimit(limit)) = &self.cause {
            Some(limit)
        } else {
            None
        }
    }

    /// The limit that is the cause; `None` if none is, or for one of flushes.
    pub fn limit(&self) -> Option<Limit> {
        match self.cause.as_ref()? {
            Cause::CgroupLimit(limit) => Some(limit.clone()),
            Cause::Cap { plateau, device } => plateau.limit(&device.device),
            _ => None,
        }
    }
}

/// The cause of an incident, the most certain first.
#[derive(Clone, Debug, PartialEq)]
pub enum Cause {
    /// A device is at the limit of a cgroup.
    CgroupLimit(Limit),
    /// The kernel says what is wrong.
    Health(HealthEvidence),
    /// A device stays at a constant rate, as if limited.
    Cap {
        plateau: Plateau,
        device: Arc<DeviceNames>,
    },
    /// A device below the victim is in trouble itself.
    DeviceBelow(Arc<DeviceNames>),
    /// Requests wait between the victim and these devices below it.
    QueuedAbove(Vec<String>),
    /// Nothing more is known than what the verdict is based on, by its name in machine formats.
    Evidence(&'static str),
}

impl Cause {
    /// The most certain cause that a judgement shows; `None` if its verdict needs none.
    pub(super) fn of(assessment: &Assessment, names: &Arc<DeviceNames>) -> Option<Self> {
        let verdict = assessment.verdict?;
        let mut found: Option<Self> = None;
        for evidence in &assessment.evidence {
            let cause = match evidence {
                Evidence::AtLimit(reached) if reached.holds_device => {
                    Some(Self::CgroupLimit(reached.limit.clone()))
                }
                Evidence::Health(health) => Some(Self::Health(health.clone())),
                Evidence::ConstantRate(plateau) if verdict == Verdict::Capped => Some(Self::Cap {
                    plateau: (**plateau).clone(),
                    device: Arc::clone(names),
                }),
                Evidence::HeldBetween { below, .. } if !below.is_empty() => {
                    Some(Self::QueuedAbove(below.clone()))
                }
                other => evidence_name(other, verdict).map(Self::Evidence),
            };
            if let Some(cause) = cause
                && found
                    .as_ref()
                    .is_none_or(|known| cause.rank() > known.rank())
            {
                found = Some(cause);
            }
        }
        found
    }

    /// Its name in machine formats.
    pub fn name(&self) -> &'static str {
        self.rank_and_name().1
    }

    /// Its rank: a cause replaces one of a lower rank.
    pub(super) fn rank(&self) -> u8 {
        self.rank_and_name().0
    }

    /// Returns whether it is about the device of which it is known rather than about what it depends on.
    pub(super) fn is_of_victim(&self) -> bool {
        matches!(self, Self::QueuedAbove(_) | Self::Evidence(_))
    }

    /// Returns whether it is a fact that the kernel states: when it changes, the trouble is another one.
    pub(super) fn is_fact(&self) -> bool {
        matches!(self, Self::CgroupLimit(_) | Self::Health(_))
    }

    /// Returns whether two facts are the same, though a count may have grown or the value of a limit changed.
    pub(super) fn is_same_fact(&self, other: &Self) -> bool {
        match (self, other) {
            // The members of an array have a limit each.
            (Self::CgroupLimit(one), Self::CgroupLimit(other)) => {
                (&one.owner, one.rate_name()) == (&other.owner, other.rate_name())
            }
            (Self::Health(one), Self::Health(other)) => {
                let mut facts = one.troubles.iter().map(|(fact, _)| fact.name);
                one.device == other.device && facts.any(|fact| has_fact(other, fact))
            }
            _ => false,
        }
    }

    fn rank_and_name(&self) -> (u8, &'static str) {
        match self {
            Self::CgroupLimit(_) => (5, "cgroup_limit"),
            Self::Health(_) => (4, "health"),
            Self::Cap { .. } => (3, "constant_rate"),
            Self::DeviceBelow(_) => (2, "device_below"),
            Self::QueuedAbove(_) => (1, "queued_between"),
            Self::Evidence(name) => (0, name),
        }
    }
}

fn has_fact(health: &HealthEvidence, name: &str) -> bool {
    health.troubles.iter().any(|(fact, _)| fact.name == name)
}

/// The name of the evidence in machine formats, if it supports a verdict; otherwise `None`.
fn evidence_name(evidence: &Evidence, verdict: Verdict) -> Option<&'static str> {
    match (evidence, verdict) {
        (Evidence::NothingCompleted { .. }, Verdict::Stalled) => Some("nothing_completed"),
        (Evidence::TaskWaits { .. }, Verdict::Stalled) => Some("waiting_task"),
        (Evidence::Hung { .. }, Verdict::Stalled) => Some("hung_requests"),
        (_, Verdict::Stalled | Verdict::Throttled) => None,
        (Evidence::SharedLimit(_), Verdict::Capped) => Some("shared_limit"),
        (_, Verdict::Capped) => None,
        (Evidence::SlowBesidePeers(_), _) => Some("peers"),
        (Evidence::Latency(latency), _) if latency.doubt.is_none() => Some("latency"),
        _ => None,
    }
}
