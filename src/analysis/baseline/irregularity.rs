//! Irregular completions: evidence that nothing limits a device that hardly ever has more than one request in flight.

use std::cell::OnceCell;

use crate::analysis::load::{IoDirection, LoadSample, RateUnit};
use crate::analysis::stats::NORMAL_MAD;
use crate::analysis::thresholds::{
    MAX_UNLOADED_QUEUE, MIN_INTERVAL_REQUESTS, MIN_IRREGULAR_DISPERSION, MIN_IRREGULAR_INTERVALS,
    MIN_IRREGULAR_S,
};

/// The rates that are kept, at most.
const MAX_RATES: usize = 16;

/// The rates of reads and writes together at short queues. A limit makes them regular; requests that arrive, or are
/// served, at random make them vary as much as chance does. Both directions are added up, because a limit on both
/// leaves their mix to chance. Where clients, or the tasks that complete requests, wait for the CPU, every rate is
/// irregular, even under a limit.
#[derive(Clone, Debug, Default)]
pub(super) struct Irregularity {
    rates: [f32; MAX_RATES],
    count: usize,
    /// Requests and seconds of intervals that are still too short for a rate: sample times are uncertain by
    /// milliseconds.
    pending: (f64, f64),
    requests: f64,
    /// Computed on demand: it is needed only until a device has shown that it can do more.
    is_proven: OnceCell<bool>,
}

impl Irregularity {
    pub(super) fn observe(&mut self, load: &LoadSample) {
        if load.total_queue() > MAX_UNLOADED_QUEUE || load.intervals > 1.0 || load.is_cpu_short {
            return;
        }
        self.pending.0 += load.rate(IoDirection::Both, RateUnit::Requests) * load.seconds;
        self.pending.1 += load.seconds;
        if self.pending.1 >= MIN_IRREGULAR_S && self.pending.0 >= MIN_INTERVAL_REQUESTS {
            let (requests, seconds) = std::mem::take(&mut self.pending);
            self.rates[self.count % MAX_RATES] = (requests / seconds) as f32;
            self.count += 1;
            self.requests += requests;
            self.is_proven.take();
        }
    }

    /// Returns whether the rates varied nearly as much as by chance, or more.
    pub(super) fn is_proven(&self) -> bool {
        *self.is_proven.get_or_init(|| self.prove())
    }

    /// Computes the result of [`Self::is_proven`]. The median absolute deviation ignores a few odd rates.
    fn prove(&self) -> bool {
        let requests = self.requests / self.count.max(1) as f64;
        if self.count < MIN_IRREGULAR_INTERVALS || requests < MIN_INTERVAL_REQUESTS {
            return false;
        }
        let mut values = self.rates;
        let values = &mut values[..self.count.min(MAX_RATES)];
        let median = *values
            .select_nth_unstable_by(values.len() / 2, f32::total_cmp)
            .1;
        let is_irregular = |rate: &&f32| {
            let deviation = f64::from((**rate - median).abs()) / NORMAL_MAD / f64::from(median);
            deviation * requests.sqrt() >= MIN_IRREGULAR_DISPERSION
        };
        // The median deviation is irregular if at least half of the deviations are.
        values.iter().filter(is_irregular).count() >= values.len().div_ceil(2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::stats::IoTotals;

    fn is_proven(rates: impl IntoIterator<Item = f64>, queue: f64) -> bool {
        is_proven_on(rates, queue, false)
    }

    fn is_proven_on(rates: impl IntoIterator<Item = f64>, queue: f64, is_cpu_short: bool) -> bool {
        let mut irregularity = Irregularity::default();
        for ios in rates {
            let reads = IoTotals {
                ios,
                kib: 4.0 * ios,
                ms: 1000.0 * queue,
            };
            irregularity.observe(&LoadSample {
                seconds: 1.0,
                intervals: 1.0,
                reads,
                is_cpu_short,
                ..LoadSample::default()
            });
        }
        irregularity.is_proven()
    }

    #[test]
    fn rates_that_vary_by_chance_are_irregular_and_those_of_a_limit_are_not() {
        let random = |k: i32| 1000.0 + 30.0 * f64::from(k * 7 % 5 - 2);
        assert!(is_proven((0..10).map(random), 0.9));
        assert!(!is_proven((0..10).map(|k| 1000.0 + f64::from(k % 2)), 0.9));
        // At a longer queue, requests may wait.
        assert!(!is_proven((0..10).map(random), 4.0));
        assert!(!is_proven((0..5).map(random), 0.9));
        // When the host is short of CPU time, irregular rates show nothing about the device.
        assert!(!is_proven_on((0..10).map(random), 0.9, true));
    }
}
