//! Proof of an unloaded latency by stillness: where the latency hardly scatters, nobody waits.
//!
//! The queue of a load that does not wait for its own requests (an open one) swings, and slowly: if a third of the latency were
//! waiting, it would scatter about twice as much as [`MAX_STILL_VARIANCE`] allows. The queue of a load whose requests follow
//! each other (a closed one) may stand still as well, so it proves nothing. It is told by its rate, which falls as the latency
//! rises (elasticity -1), or by arrivals that are no more even than completions. A closed load whose depth and rate never change
//! cannot be told apart by any counter.

use std::collections::VecDeque;

use super::best::upper_median;
use super::load::Load;
use super::thresholds::{
    CLEARLY_LESS, EVEN, MAX_STEPS, MAX_STILL_VARIANCE, MIN_QUEUE, MIN_SHARE, STANDARD_ERRORS,
    STILL_RUN,
};

/// Times a rate, or the variance of completions: with less, it is another load, or arrivals pace themselves.
const HALF: f64 = 0.5;

/// A step with requests of one kind.
#[derive(Clone, Copy, Debug)]
struct StillStep {
    size: i32,
    /// Mean latency.
    ms: f64,
    /// Reads and writes of the device per second.
    rate: f64,
    /// The mean number of requests of this kind in flight.
    queue: f64,
    requests: f64,
    /// Requests of all kinds per second that arrived.
    arrivals: f64,
    /// Requests of all kinds per second that completed.
    completions: f64,
    /// The fraction of the time with a request in flight.
    busy: f64,
}

/// The latest steps with requests of one kind, [`MAX_STEPS`] at most.
#[derive(Clone, Debug, Default)]
pub(super) struct StillSteps(VecDeque<StillStep>);

impl StillSteps {
    /// Takes a step. Returns the mean rate per second and the mean latency in milliseconds of the latest steps if nobody waited
    /// in them; `None` if that is not shown.
    pub(super) fn observe(
        &mut self,
        size: i32,
        ms: f64,
        requests: f64,
        load: &Load,
    ) -> Option<(f64, f64)> {
        if self.0.len() == MAX_STEPS {
            self.0.pop_front();
        }
        self.0.push_back(StillStep {
            size,
            ms,
            rate: load.rate(),
            queue: ms * requests / 1000.0 / load.seconds,
            requests,
            arrivals: load.arrived() / load.seconds,
            completions: load.completed / load.seconds,
            busy: load.busy,
        });
        let run = self.run();
        if run.len() < STILL_RUN {
            return None;
        }
        let rate = mean(&run, |step| step.rate);
        let latency = mean(&run, |step| step.ms);
        let queue = mean(&run, |step| step.queue);
        let requests = upper_median(run.iter().map(|step| step.requests));
        let scatter = variance(&run, |step| step.ms) / latency.powi(2) * requests;
        let is_in_use = mean(&run, |step| step.busy) >= 1.0 - MIN_SHARE;
        if queue < MIN_QUEUE || !is_in_use || scatter >= MAX_STILL_VARIANCE * queue {
            return None;
        }
        let arrivals = variance(&run, |step| step.arrivals);
        let completions = variance(&run, |step| step.completions);
        if arrivals >= HALF * completions && !is_open(&run, rate, latency, requests) {
            return None;
        }
        Some((rate, latency))
    }

    /// The latest steps in a row with requests of one size, at about one rate.
    fn run(&self) -> Vec<StillStep> {
        let mut run = Vec::new();
        for step in self.0.iter().rev() {
            let latest = run.first().unwrap_or(step);
            let times = step.rate / latest.rate;
            if step.size != latest.size || !(HALF..=1.0 / HALF).contains(&times) {
                break;
            }
            run.push(*step);
        }
        run
    }
}

fn mean(run: &[StillStep], value: fn(&StillStep) -> f64) -> f64 {
    run.iter().map(value).sum::<f64>() / run.len() as f64
}

fn variance(run: &[StillStep], value: fn(&StillStep) -> f64) -> f64 {
    let mean = mean(run, value);
    let squares: f64 = run.iter().map(|step| (value(step) - mean).powi(2)).sum();
    squares / (run.len() - 1) as f64
}

/// Whether the arrivals do not follow the completions: the rate moves, and falls by clearly less than the latency rises.
fn is_open(run: &[StillStep], rate: f64, latency: f64, requests: f64) -> bool {
    let (mut spread, mut products) = (0.0, 0.0);
    for step in run {
        spread += (step.rate - rate).powi(2);
        products += (step.rate - rate) * (step.ms - latency);
    }
    let count = run.len() as f64;
    // A load paced by a clock or a limit moves too little to show anything.
    if spread <= 0.0 || (spread / count).sqrt() / rate * requests.sqrt() < EVEN {
        return false;
    }
    let slope = products / spread;
    let mut squares = 0.0;
    for step in run {
        squares += (step.ms - latency - slope * (step.rate - rate)).powi(2);
    }
    let error = (squares / (count - 2.0) / spread).sqrt();
    (slope - STANDARD_ERRORS / CLEARLY_LESS * error) * rate / latency >= -1.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::{Completed, Interval};

    /// What is proven in the last of these steps of a second, each with requests and milliseconds for each of them.
    fn proven(steps: &[(u64, f64)]) -> Option<(f64, f64)> {
        let mut still = StillSteps::default();
        let mut last = None;
        for (requests, ms) in steps {
            let mut load = Load::of(&Interval {
                reads: Completed::example(1.0, *requests, *ms),
                in_flight_before: Some(4),
                in_flight: Some(4),
                ..Interval::unknown(1.0)
            });
            load.busy = 1.0;
            last = still.observe(2, *ms, *requests as f64, &load);
        }
        last
    }

    /// Twelve rates that move by 5% up and down.
    const RATES: [u64; 12] = [
        1000, 1050, 960, 1030, 950, 1010, 1040, 970, 1000, 1050, 960, 1020,
    ];

    #[test]
    fn nobody_waits_where_the_latency_of_an_open_load_stands_still() {
        let still = RATES.map(|rate| (rate, 4.0 + 0.001 * (rate % 7) as f64));
        let (rate, ms) = proven(&still).unwrap();
        assert!((rate - 1003.0).abs() < 1.0 && (ms - 4.0).abs() < 0.01);
        assert_eq!(proven(&still[..9]), None);
    }

    #[test]
    fn nothing_is_proven_by_a_load_that_waits_for_itself_or_swings() {
        // About four in flight all the time: the rate is 4 / latency.
        let closed = RATES.map(|rate| (rate, (4000 + rate % 7) as f64 / rate as f64));
        assert_eq!(proven(&closed), None);
        let paced = [(1000, 4.0); 12];
        assert_eq!(proven(&paced), None);
        let swinging = RATES.map(|rate| (rate, 4.0 + (rate % 7) as f64));
        assert_eq!(proven(&swinging), None);
        // Fewer than two at a time.
        let quiet = RATES.map(|rate| (rate, 0.5 + 0.0001 * (rate % 7) as f64));
        assert_eq!(proven(&quiet), None);
    }
}
