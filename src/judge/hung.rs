//! Requests that hang while others complete.

use super::load::Load;
use super::thresholds::{LEAKED_S, ON_TIME, PATIENCE, RING};
use crate::metrics::HostStats;

/// A step in the memory.
#[derive(Clone, Copy, Debug)]
struct Held {
    seconds: f64,
    /// The lower one of the numbers in flight at both ends.
    in_flight: f64,
    /// The mean queue of all requests that completed.
    queue: f64,
}

/// Requests that hang.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Hung {
    /// At least this number of requests.
    pub(super) requests: u64,
    /// Seconds for which they have been in flight at least.
    pub(super) for_s: f64,
}

/// Finds requests that hang: for five seconds, each sample has more in flight than those that complete explain (three standard
/// deviations of a Poisson number above the longest mean queue). The kernel adds a request's time only when it completes.
#[derive(Clone, Debug, Default)]
pub(super) struct HungRequests {
    held: Vec<Held>,
    /// The requests that hung in the step before; 0 without any.
    hanging: f64,
    for_s: f64,
    /// The number in flight, and the seconds for which it has been the lowest while no task waited.
    unmissed: f64,
    unmissed_s: f64,
}

impl HungRequests {
    /// Takes a step. Returns the requests that hang, also in the step in which they come back; `None` if none do.
    pub(super) fn observe(&mut self, load: &Load, host: &HostStats) -> Option<Hung> {
        let Some([begin, end]) = load.in_flight else {
            *self = Self::default();
            return None;
        };
        self.held.push(Held {
            seconds: load.seconds,
            in_flight: begin.min(end),
            queue: load.queue + load.others_ms / 1000.0 / load.seconds,
        });
        if self.held.len() > RING {
            self.held.remove(0);
        }
        while self.held.len() as f64 > PATIENCE && seconds(&self.held[1..]) >= PATIENCE {
            self.held.remove(0);
        }
        let least = self
            .held
            .iter()
            .map(|held| held.in_flight)
            .fold(f64::INFINITY, f64::min);
        self.observe_waits(least, load.seconds, host);
        let was_hanging = std::mem::take(&mut self.hanging);
        if load.done() + load.others == 0.0 || self.is_leaked() {
            return None;
        }
        let most = self.held.iter().map(|held| held.queue).fold(0.0, f64::max);
        let noise = 3.0 * most.sqrt();
        let window_s = seconds(&self.held);
        let is_long = self.held.len() as f64 >= PATIENCE && window_s >= ON_TIME * PATIENCE;
        if is_long && least > most + noise {
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

    fn hung(&self, requests: f64) -> Hung {
        Hung {
            requests: requests as u64,
            for_s: self.for_s,
        }
    }

    /// Counts the time in which the same requests are in flight although no task waits for I/O.
    fn observe_waits(&mut self, in_flight: f64, seconds: f64, host: &HostStats) {
        const NO_PRESSURE_PCT: f64 = 0.5;
        let has_pressure = host
            .pressure_some_pct
            .is_none_or(|some| some > NO_PRESSURE_PCT);
        let may_be_waited_for = host.blocked != Some(0) || has_pressure;
        if may_be_waited_for || in_flight == 0.0 || in_flight != self.unmissed {
            self.unmissed_s = 0.0;
        } else {
            self.unmissed_s += seconds;
        }
        self.unmissed = in_flight;
    }

    /// Returns whether the kernel may have lost count of requests: no task has waited for them for minutes.
    pub(super) fn is_leaked(&self) -> bool {
        self.unmissed_s >= LEAKED_S
    }
}

fn seconds(held: &[Held]) -> f64 {
    held.iter().map(|held| held.seconds).sum()
}
