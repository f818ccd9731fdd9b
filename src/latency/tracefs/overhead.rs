//! The CPU time that tracing takes, as measured on this computer, and the pauses while tracing would take too much.

use std::time::Duration;

use anyhow::Result;

use super::trace_dir::{Owner, TraceDir, remove_instance};
use crate::clock::thread_cpu_time;

/// The time for which tracing must be cheap enough before it is resumed.
const RESUME_AFTER: Duration = Duration::from_secs(3);
/// The part of the permitted cost below which tracing is resumed.
const RESUME_FRACTION: f64 = 0.7;

/// The cost of tracing and its limit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Guard {
    /// The CPU time in seconds that tracing a request takes.
    cost_s: f64,
    cpus: usize,
    /// The most CPU time that tracing may take, as a fraction of that of all CPUs.
    max_fraction: f64,
    pub(super) is_paused: bool,
    cheap_since: Option<Duration>,
}

impl Guard {
    pub(super) fn new(cost_s: f64, cpus: usize, max_fraction: f64) -> Self {
        Self {
            cost_s,
            cpus: cpus.max(1),
            max_fraction,
            is_paused: false,
            cheap_since: None,
        }
    }

    /// Decides at a monotonic time whether tracing is paused, based on the requests per second of all devices.
    pub(super) fn decide(&mut self, now: Duration, requests_per_s: f64) {
        let fraction = requests_per_s * self.cost_s / self.cpus as f64;
        if !self.is_paused {
            // The cost is an estimate: a user who permits all CPU time wants no limit.
            self.is_paused = fraction > self.max_fraction && self.max_fraction < 1.0;
            self.cheap_since = None;
        } else if fraction > self.max_fraction * RESUME_FRACTION {
            self.cheap_since = None;
        } else {
            let since = *self.cheap_since.get_or_insert(now);
            self.is_paused = now.saturating_sub(since) < RESUME_AFTER;
        }
    }
}

/// The CPU time that tracing takes per request, as a multiple of that of a plain histogram for an event: two histograms add
/// an entry each, and one out of several with filters counts the latency. On an emulated computer a request took 24 to
/// 139 µs longer (Linux 6.1 and 6.12, five runs), and a plain histogram 1.06 µs. The median is a little below this. Bios
/// cost nothing more: a device that passes them on makes no requests, and the device below is not traced by the pair for
/// bios.
pub(super) const REQUEST_WEIGHT: f64 = 60.0;

/// The histograms that are measured together, by their keys.
const HISTOGRAMS: [&str; 4] = ["ip", "common_pid", "ip,common_pid", "common_pid,ip"];
/// The number of events in an attempt, so few that it is seldom interrupted.
const EVENTS: u32 = 25;
/// The number of attempts in a measurement.
const TRIES: u32 = 16;
/// The lowest result in seconds: no CPU of today looks up and counts an event faster. On a busy host, the measurement
/// without histograms may take longer than the one with them, and a cost of zero would permit any rate.
const MIN_COST_S: f64 = 50e-9;

/// Measures the CPU time in seconds that tracing a request takes.
///
/// # Errors
/// If the kernel refuses it.
pub(super) fn request_cost_s(dir: &TraceDir, owner: &Owner) -> Result<f64> {
    let name = owner.name("c");
    dir.make_instance(&name)?;
    let histogram_s = histogram_cost_s(dir, &name);
    remove_instance(dir, &name)?;
    Ok(histogram_s? * REQUEST_WEIGHT)
}

/// Returns the CPU time in seconds that a histogram in the instance `name` takes to count an event; at least [`MIN_COST_S`].
fn histogram_cost_s(dir: &TraceDir, name: &str) -> Result<f64> {
    let [marker, trigger] = ["trace_marker", "events/ftrace/print/trigger"]
        .map(|file| format!("instances/{name}/{file}"));
    let without_s = measure_event_s(dir, &marker)?;
    for keys in HISTOGRAMS {
        dir.write(&trigger, &format!("hist:keys={keys}:size=256"))?;
    }
    let added_s = measure_event_s(dir, &marker)? - without_s;
    Ok((added_s / HISTOGRAMS.len() as f64).max(MIN_COST_S))
}

/// Measures the CPU time of an event in seconds: the best of several attempts, since an interrupt or another program can
/// only add time.
fn measure_event_s(dir: &TraceDir, marker: &str) -> Result<f64> {
    let mut best = f64::MAX;
    for _ in 0..TRIES {
        let begin = thread_cpu_time();
        for _ in 0..EVENTS {
            dir.write(marker, "x")?;
        }
        best = best.min(thread_cpu_time().saturating_sub(begin).as_secs_f64());
    }
    Ok(best / f64::from(EVENTS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tracing_pauses_above_the_limit_and_resumes_after_a_time_well_below_it() {
        // 10 µs per request on two CPUs: 2% are 4000 requests per second.
        let mut guard = Guard::new(10e-6, 2, 0.02);
        let mut is_paused = |second: f64, rate: f64| {
            guard.decide(Duration::from_secs_f64(second), rate);
            guard.is_paused
        };
        assert_eq!(
            [is_paused(0.0, 3990.0), is_paused(1.0, 4010.0)],
            [false, true]
        );
        // Not low enough, then low for too short a time.
        assert_eq!(
            [
                is_paused(2.0, 3500.0),
                is_paused(3.0, 2000.0),
                is_paused(5.9, 2000.0)
            ],
            [true; 3]
        );
        assert_eq!([is_paused(6.0, 3500.0), is_paused(7.0, 100.0)], [true; 2]);
        assert_eq!([is_paused(10.0, 100.0), is_paused(11.0, 100.0)], [false; 2]);
        let mut without_limit = Guard::new(10e-6, 2, 1.0);
        without_limit.decide(Duration::ZERO, 1e6);
        assert!(!without_limit.is_paused);
    }
}
