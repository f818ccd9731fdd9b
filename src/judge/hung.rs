//! Requests that hang while others complete.

use super::load::Load;
use super::thresholds::{LEAKED_S, MAX_STEPS, ON_TIME, PATIENCE_S, PATIENCE_STEPS};
use super::verdict::{Assessment, Evidence, Verdict};
use crate::metrics::HostStats;

/// Standard deviations of a Poisson number by which more requests are in flight than completions explain: chance hardly ever
/// does that for five seconds.
const POISSON_SIGMA: f64 = 3.0;

/// A step in the memory.
#[derive(Clone, Copy, Debug)]
struct HungStep {
    seconds: f64,
    /// The lower one of the numbers in flight at both ends.
    in_flight: f64,
    /// The mean queue of all requests that completed.
    queue: f64,
}

/// Finds requests that hang: for five seconds, each sample has more in flight than those that complete explain: the longest mean
/// queue, and [`POISSON_SIGMA`]. The kernel adds a request's time only when it completes.
#[derive(Clone, Debug, Default)]
pub(super) struct HungRequests {
    /// The latest steps: five, or as many as take five seconds.
    window: Vec<HungStep>,
    /// The requests that hung in the step before; 0 without any.
    hanging: f64,
    for_s: f64,
    /// The fewest requests in flight in the window.
    least: f64,
    /// The seconds for which these have been as many while no task waited.
    not_waited_for_s: f64,
}

impl HungRequests {
    /// Takes a step. Returns the judgement that requests hang, also in the step in which they come back; `None` if none do.
    pub(super) fn observe(&mut self, load: &Load, host: &HostStats) -> Option<Assessment> {
        let Some([begin, end]) = load.in_flight else {
            *self = Self::default();
            return None;
        };
        self.window.push(HungStep {
            seconds: load.seconds,
            in_flight: begin.min(end),
            queue: load.queue_of_all,
        });
        if self.window.len() > MAX_STEPS {
            self.window.remove(0);
        }
        while self.window.len() > PATIENCE_STEPS && seconds(&self.window[1..]) >= PATIENCE_S {
            self.window.remove(0);
        }
        let (mut least, mut longest_queue) = (f64::INFINITY, 0.0);
        for step in &self.window {
            least = step.in_flight.min(least);
            longest_queue = step.queue.max(longest_queue);
        }
        self.observe_waits(least, load.seconds, host);
        let was_hanging = std::mem::take(&mut self.hanging);
        if load.completed == 0.0 || self.is_leaked() {
            return None;
        }
        let noise = POISSON_SIGMA * longest_queue.sqrt();
        let window_s = seconds(&self.window);
        let is_long = self.window.len() >= PATIENCE_STEPS && window_s >= ON_TIME * PATIENCE_S;
        if is_long && least > longest_queue + noise {
            self.hanging = least;
            self.for_s = if was_hanging > 0.0 {
                self.for_s + load.seconds
            } else {
                window_s
            };
            return Some(self.hung(least));
        }
        let have_returned = was_hanging > 0.0 && end <= begin - was_hanging + noise + 1.0;
        have_returned.then(|| self.hung(was_hanging))
    }

    fn hung(&self, requests: f64) -> Assessment {
        let evidence = Evidence::Hung {
            requests: requests as u64,
            for_s: self.for_s,
        };
        Assessment::of(Verdict::Stalled, evidence)
    }

    /// Counts the time in which the same requests are in flight although no task waits for I/O.
    fn observe_waits(&mut self, in_flight: f64, seconds: f64, host: &HostStats) {
        /// With more pressure, some task waits.
        const NO_PRESSURE_PCT: f64 = 0.5;
        let has_pressure = host
            .pressure_some_pct
            .is_none_or(|some| some > NO_PRESSURE_PCT);
        let may_be_waited_for = host.blocked != Some(0) || has_pressure;
        if may_be_waited_for || in_flight == 0.0 || in_flight != self.least {
            self.not_waited_for_s = 0.0;
        } else {
            self.not_waited_for_s += seconds;
        }
        self.least = in_flight;
    }

    /// Returns whether the kernel may have lost count of requests: no task has waited for them for minutes.
    pub(super) fn is_leaked(&self) -> bool {
        self.not_waited_for_s >= LEAKED_S
    }
}

fn seconds(steps: &[HungStep]) -> f64 {
    steps.iter().map(|step| step.seconds).sum()
}
