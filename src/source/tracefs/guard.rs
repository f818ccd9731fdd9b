//! The CPU time that tracing takes, as measured on this computer, and the pauses while it would take too much.

use std::time::Duration;

use anyhow::Result;

use super::leftovers::{Owner, remove_instance};
use super::trace_dir::TraceDir;
use crate::clock::thread_cpu_time;

/// The time for which tracing must be cheap enough before it is resumed.
const RESUME_AFTER: Duration = Duration::from_secs(3);
/// The part of the permitted cost below which tracing is resumed.
const RESUME_FRACTION: f64 = 0.7;

/// The cost of tracing and its limit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Guard {
    /// The CPU time in seconds that tracing a request takes.
    pub(super) cost_s: f64,
    pub(super) cpus: usize,
    /// The most CPU time that tracing may take, as a fraction of that of all CPUs.
    pub(super) max_fraction: f64,
    is_paused: bool,
    cheap_since: Option<Duration>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    Keep,
    Pause,
    Resume,
}

impl Guard {
    pub(super) fn new(cost_s: f64, cpus: usize, max_fraction: f64) -> Self {
        Self { cost_s, cpus: cpus.max(1), max_fraction, is_paused: false, cheap_since: None }
    }

    pub(super) fn is_paused(&self) -> bool {
        self.is_paused
    }

    /// Decides at a monotonic time, based on the requests per second of all devices.
    pub(super) fn decide(&mut self, now: Duration, requests_per_s: f64) -> Decision {
        let fraction = requests_per_s * self.cost_s / self.cpus as f64;
        if !self.is_paused {
            // The cost is an estimate: a user who permits all CPU time wants no limit.
            if fraction <= self.max_fraction || self.max_fraction >= 1.0 {
                return Decision::Keep;
            }
            self.is_paused = true;
            self.cheap_since = None;
            return Decision::Pause;
        }
        if fraction > self.max_fraction * RESUME_FRACTION {
            self.cheap_since = None;
            return Decision::Keep;
        }
        let since = *self.cheap_since.get_or_insert(now);
        if now.saturating_sub(since) < RESUME_AFTER {
            return Decision::Keep;
        }
        self.is_paused = false;
        Decision::Resume
    }
}

/// The histograms that are measured together, by their keys.
const HISTOGRAMS: [&str; 4] = ["ip", "common_pid", "ip,common_pid", "common_pid,ip"];
/// The number of events in an attempt, so few that it is seldom interrupted, and the number of attempts in a
/// measurement.
const EVENTS: u32 = 25;
const TRIES: u32 = 16;
/// The lowest result in seconds: no CPU of today looks up and counts an event faster. On a busy host, the measurement
/// without histograms may take longer than the one with them, and a cost of zero would permit any rate.
const MIN_COST_S: f64 = 50e-9;

/// Returns the CPU time in seconds that a histogram takes to count an event; at least [`MIN_COST_S`].
///
/// # Errors
/// If the kernel refuses it.
pub(super) fn histogram_cost_s(dir: &TraceDir, owner: &Owner) -> Result<f64> {
    let name = owner.name("c");
    dir.make_instance(&name)?;
    let cost = measure(dir, &name);
    remove_instance(dir, &name)?;
    cost
}

fn measure(dir: &TraceDir, name: &str) -> Result<f64> {
    let [marker, trigger] =
        ["trace_marker", "events/ftrace/print/trigger"].map(|file| format!("instances/{name}/{file}"));
    // The best of several attempts: an interrupt or another program can only add time.
    let seconds = || -> Result<f64> {
        let mut best = f64::MAX;
        for _ in 0..TRIES {
            let begin = thread_cpu_time();
            (0..EVENTS).try_for_each(|_| dir.write(&marker, "x"))?;
            best = best.min(thread_cpu_time().saturating_sub(begin).as_secs_f64());
        }
        Ok(best / f64::from(EVENTS))
    };
    let without = seconds()?;
    for keys in HISTOGRAMS {
        dir.write(&trigger, &format!("hist:keys={keys}:size=256"))?;
    }
    Ok(((seconds()? - without) / HISTOGRAMS.len() as f64).max(MIN_COST_S))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tracing_pauses_above_the_limit_and_resumes_after_a_time_well_below_it() {
        // 10 µs per request on two CPUs: 2% are 4000 requests per second.
        let mut guard = Guard::new(10e-6, 2, 0.02);
        let mut decide = |second: f64, rate: f64| guard.decide(Duration::from_secs_f64(second), rate);
        assert_eq!([decide(0.0, 3990.0), decide(1.0, 4010.0)], [Decision::Keep, Decision::Pause]);
        // Not low enough, then low for too short a time.
        assert_eq!([decide(2.0, 3500.0), decide(3.0, 2000.0), decide(5.9, 2000.0)], [Decision::Keep; 3]);
        assert_eq!([decide(6.0, 3500.0), decide(7.0, 100.0)], [Decision::Keep; 2]);
        assert_eq!([decide(10.0, 100.0), decide(11.0, 100.0)], [Decision::Resume, Decision::Keep]);
        let mut without_limit = Guard::new(10e-6, 2, 1.0);
        assert_eq!(without_limit.decide(Duration::ZERO, 1e6), Decision::Keep);
    }
}
