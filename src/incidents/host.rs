//! What happened to the host, whatever the disks did.

use jiff::Timestamp;

use super::cause::NO_CPU_PCT;
use super::second::{Moment, Second};

/// A step this many seconds long, and so many times the usual one, is a time without samples.
const MIN_GAP_S: f64 = 5.0;
const GAP_STEPS: f64 = 5.0;
/// A wall clock that differs by more from the time that passed was set.
const MIN_CLOCK_STEP_S: f64 = 60.0;
/// Pages a second from which the host swaps.
const MIN_SWAPPED_PAGES: f64 = 20.0;
/// Cgroups that are read in a smaller part of the seconds were read too seldom.
const MIN_READ: f64 = 0.4;
const HALF: f64 = 0.5;
/// The most gaps and clock steps that are kept.
const MAX_KEPT: usize = 100;

#[derive(Clone, Debug, PartialEq)]
pub enum HostFact {
    /// No samples for these seconds, until then: the host or blkstat stood still.
    Gap {
        seconds: f64,
        until: Moment,
    },
    /// The wall clock went forward by these seconds, or back by negative ones.
    ClockStep {
        seconds: f64,
        at: Timestamp,
    },
    /// None was available in these of so many seconds.
    NoCpu {
        seconds: f64,
        of_s: f64,
    },
    Swapping {
        pages_per_s: f64,
    },
    /// Cgroups and processes were read in so many of the seconds only.
    SeldomRead {
        scans: u64,
        steps: u64,
    },
}

#[derive(Clone, Debug, Default)]
pub struct HostFacts {
    latest: Option<Moment>,
    usual_s: f64,
    moments: Vec<HostFact>,
    steps: u64,
    scans: u64,
    cpu_s: f64,
    no_cpu_s: f64,
    swap_s: f64,
    swapped_pages: f64,
}

impl HostFacts {
    pub fn observe(&mut self, second: &Second) {
        let seconds = second.seconds;
        if second.missed as f64 >= MIN_GAP_S
            && seconds > MIN_GAP_S
            && seconds > GAP_STEPS * self.usual_s
        {
            self.note(HostFact::Gap {
                seconds,
                until: second.end,
            });
        } else {
            self.usual_s = seconds;
        }
        if let (Some(before), Some(at)) = (self.latest.and_then(|latest| latest.at), second.end.at)
        {
            let passed_s = at.duration_since(before).as_secs_f64();
            if (passed_s - seconds).abs() > MIN_CLOCK_STEP_S {
                self.note(HostFact::ClockStep {
                    seconds: passed_s - seconds,
                    at: before,
                });
            }
        }
        self.latest = Some(second.end);
        self.steps += 1;
        self.scans += u64::from(second.scan.is_some());
        if let Some(pct) = second.host.cpu_available_pct {
            self.cpu_s += seconds;
            if pct < NO_CPU_PCT {
                self.no_cpu_s += seconds;
            }
        }
        if let Some(pages_per_s) = second.host.swapped_pages_per_s {
            self.swap_s += seconds;
            self.swapped_pages += pages_per_s * seconds;
        }
    }

    fn note(&mut self, fact: HostFact) {
        if self.moments.len() < MAX_KEPT {
            self.moments.push(fact);
        }
    }

    /// The facts so far, those of a moment first.
    pub fn list(&self) -> Vec<HostFact> {
        let mut facts = self.moments.clone();
        if self.cpu_s > 0.0 && self.no_cpu_s >= HALF * self.cpu_s {
            facts.push(HostFact::NoCpu {
                seconds: self.no_cpu_s,
                of_s: self.cpu_s,
            });
        }
        let pages_per_s = self.swapped_pages / self.swap_s.max(1.0);
        if pages_per_s >= MIN_SWAPPED_PAGES {
            facts.push(HostFact::Swapping { pages_per_s });
        }
        if self.scans > 0 && (self.scans as f64) < MIN_READ * self.steps as f64 {
            facts.push(HostFact::SeldomRead {
                scans: self.scans,
                steps: self.steps,
            });
        }
        facts
    }
}
