//! Measures on this computer how much CPU time tracing takes per request.

use super::error::TraceError;
use super::leftovers::remove_instance;
use super::owner::Owner;
use super::trace_dir::TraceDir;
use crate::clock::thread_cpu_time;

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
pub(super) fn histogram_cost_s(dir: &TraceDir, owner: &Owner) -> Result<f64, TraceError> {
    let name = owner.name("c");
    dir.make_instance(&name)?;
    let cost = measure(dir, &name);
    remove_instance(dir, &name)?;
    cost
}

fn measure(dir: &TraceDir, name: &str) -> Result<f64, TraceError> {
    let [marker, trigger] =
        ["trace_marker", "events/ftrace/print/trigger"].map(|file| format!("instances/{name}/{file}"));
    // The best of several attempts: an interrupt or another program can only add time.
    let seconds = || -> Result<f64, TraceError> {
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
