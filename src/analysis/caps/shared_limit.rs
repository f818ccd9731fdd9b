//! A limit that several devices share, such as that of the instance for all of its volumes: the sum of their rates is
//! far steadier than each of them.

use std::collections::VecDeque;

use crate::analysis::load::RateUnit;
use crate::analysis::stats::{IoTotals, median};
use crate::analysis::thresholds::{
    LATE_SAMPLE_STEPS, MAX_LEFT_OUT_DEVICES, MAX_REGULAR_RATIO, MAX_SHARED_VARIANCE_RATIO,
    MIN_CONFIRMATIONS, MIN_SATURATED_QUEUE, MIN_SHARED_FRACTION, MIN_SHARING_VARIATION,
    ON_PLATEAU_TOLERANCE, SHARED_LIMIT_INTERVALS, STEADY_TOLERANCE,
};
use crate::metrics::Interval;

/// The limit that a device shares with others.
#[derive(Clone, Debug, PartialEq)]
pub struct SharedLimit {
    /// The other devices, by the kernel's names.
    pub others: Vec<String>,
    pub unit: RateUnit,
    /// Requests or KiB per second of all of them together.
    pub rate: f64,
    /// Relative standard deviation of that sum.
    pub variation: f64,
    /// Seconds for which it has been reached at least.
    pub lasted_s: f64,
}

/// The queue and the rates of a device in a step.
#[derive(Clone, Copy, Debug)]
struct DeviceRate {
    queue: f64,
    /// Requests and KiB per second.
    rates: [f64; 2],
    /// Requests and KiB per second by which those in flight became more.
    growth: [f64; 2],
}

/// The latest steps in a row in which a device had requests, [`SHARED_LIMIT_INTERVALS`] at most.
#[derive(Clone, Debug, Default)]
struct DeviceSteps {
    /// The number of the latest of them.
    latest: u64,
    steps: VecDeque<DeviceRate>,
}

/// Searches for limits that devices share, from step to step. Its memory is bounded.
#[derive(Clone, Debug, Default)]
pub struct SharedLimits {
    /// The number of the present step.
    step: u64,
    devices: Vec<DeviceSteps>,
    /// The devices that share a limit in the latest step; empty without one.
    members: Vec<usize>,
    unit: Option<RateUnit>,
    rate: f64,
    variation: f64,
    /// The latest steps in a row whose window shows the limit.
    windows: usize,
    lasted_s: f64,
}

impl SharedLimits {
    /// Forgets all: the next step does not follow the latest, or devices changed.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    pub fn begin_step(&mut self) {
        self.step += 1;
    }

    /// Adds a device to the present step.
    pub fn add(&mut self, device: usize, stats: &Interval) {
        let totals = IoTotals::of(&stats.reads).zip(IoTotals::of(&stats.writes));
        let totals = totals
            .map(|(reads, writes)| reads.plus(&writes))
            .filter(|totals| totals.ios > 0.0);
        let Some(IoTotals { ios, kib, ms }) = totals else {
            return;
        };
        let seconds = stats.seconds();
        let growth = stats.in_flight.zip(stats.in_flight_before);
        let growth = growth.map_or(0.0, |(end, begin)| end as f64 - begin as f64) / seconds;
        if self.devices.len() <= device {
            self.devices.resize_with(device + 1, DeviceSteps::default);
        }
        let DeviceSteps { latest, steps } = &mut self.devices[device];
        if *latest + 1 < self.step {
            steps.clear();
        } else if steps.len() == SHARED_LIMIT_INTERVALS {
            steps.pop_front();
        }
        *latest = self.step;
        steps.push_back(DeviceRate {
            queue: ms / 1000.0 / seconds,
            rates: [ios / seconds, kib / seconds],
            growth: [growth, growth * kib / ios],
        });
    }

    /// Ends the present step of this length in seconds.
    pub fn end_step(&mut self, seconds: f64) {
        let before = (std::mem::take(&mut self.members), self.windows);
        self.windows = 0;
        let found = self.search();
        match found {
            Some((members, unit, rate, variation)) => {
                let is_same = before.0 == members || before.0.is_empty();
                self.windows = if is_same { before.1 + 1 } else { 1 };
                (self.unit, self.rate, self.variation) = (Some(unit), rate, variation);
                let window_s = seconds * SHARED_LIMIT_INTERVALS as f64;
                self.lasted_s = if self.windows == 1 {
                    window_s
                } else {
                    self.lasted_s + seconds
                };
                self.members = members;
            }
            None if before.1 >= MIN_CONFIRMATIONS && self.is_at_limit(&before.0) => {
                (self.members, self.windows) = before;
                self.lasted_s += seconds;
            }
            None => {}
        }
    }

    /// The limit that a device shares; `None` if it shares none.
    pub fn of<'n>(&self, device: usize, name: impl Fn(usize) -> &'n str) -> Option<SharedLimit> {
        let is_member = self.windows >= MIN_CONFIRMATIONS && self.members.contains(&device);
        let others = self
            .members
            .iter()
            .filter(|other| **other != device)
            .map(|other| name(*other).to_owned());
        Some(SharedLimit {
            others: others.collect(),
            unit: self.unit.filter(|_| is_member)?,
            rate: self.rate,
            variation: self.variation,
            lasted_s: self.lasted_s,
        })
    }

    /// The latest steps of a device with requests in the present one; `None` without.
    fn steps_of(&self, device: usize) -> Option<&VecDeque<DeviceRate>> {
        self.devices
            .get(device)
            .filter(|one| one.latest == self.step)
            .map(|one| &one.steps)
    }

    /// Returns whether these devices are at the limit in the latest step, although the window may lack it.
    fn is_at_limit(&self, members: &[usize]) -> bool {
        let latest = |device: &usize| self.steps_of(*device)?.back();
        let own: Vec<&DeviceRate> = members.iter().filter_map(latest).collect();
        let Some(unit) = self.unit else { return false };
        let sum: f64 = own.iter().map(|one| one.rates[place(unit)]).sum();
        own.len() == members.len()
            && own.iter().all(|one| one.queue >= MIN_SATURATED_QUEUE)
            && (sum / self.rate - 1.0).abs() <= ON_PLATEAU_TOLERANCE
    }

    /// Searches the latest steps for devices that share a limit, with its unit, rate and variation.
    fn search(&self) -> Option<(Vec<usize>, RateUnit, f64, f64)> {
        let is_busy = |steps: &VecDeque<DeviceRate>| {
            let waiting = steps
                .iter()
                .filter(|one| one.queue >= MIN_SATURATED_QUEUE)
                .count();
            steps.len() == SHARED_LIMIT_INTERVALS && 2 * waiting >= steps.len()
        };
        let steps = |device: usize| self.steps_of(device).filter(|steps| is_busy(steps));
        let busy: Vec<(usize, &VecDeque<DeviceRate>)> = (0..self.devices.len())
            .filter_map(|device| Some((device, steps(device)?)))
            .collect();
        // One of them may have nothing to do with the limit.
        let left_out =
            (busy.len() > 2 && busy.len() <= MAX_LEFT_OUT_DEVICES).then_some(0..busy.len());
        let left_out = std::iter::once(None).chain(left_out.into_iter().flatten().map(Some));
        let mut sets = left_out.map(|left_out| {
            let kept = busy
                .iter()
                .enumerate()
                .filter(|(index, _)| Some(*index) != left_out);
            kept.map(|(_, device)| *device).collect::<Vec<_>>()
        });
        sets.find_map(|set| {
            RateUnit::ALL
                .into_iter()
                .find_map(|unit| sharing(&set, unit))
        })
    }
}

fn place(unit: RateUnit) -> usize {
    usize::from(unit == RateUnit::Kib)
}

/// Those of these devices that share a limit of a unit, if there is one, with its rate and variation.
fn sharing(
    devices: &[(usize, &VecDeque<DeviceRate>)],
    unit: RateUnit,
) -> Option<(Vec<usize>, RateUnit, f64, f64)> {
    if devices.len() < 2 {
        return None;
    }
    let at = place(unit);
    let mut sums = [0.0; SHARED_LIMIT_INTERVALS];
    for (_, steps) in devices {
        sums.iter_mut()
            .zip(*steps)
            .for_each(|(sum, step)| *sum += step.rates[at]);
    }
    // A late sample lengthens a step and shortens the next.
    let kept = nearest_median(&sums, SHARED_LIMIT_INTERVALS - LATE_SAMPLE_STEPS);
    let (rate, variance) = mean_and_variance(kept.iter().map(|step| sums[*step]));
    let variation = variance.sqrt() / rate;
    if variation.is_nan() || variation >= STEADY_TOLERANCE {
        return None;
    }
    let parts = devices.iter().map(|(device, steps)| {
        let (mean, variance) = mean_and_variance(kept.iter().map(|step| steps[*step].rates[at]));
        (*device, mean, variance)
    });
    let parts: Vec<(usize, f64, f64)> = parts.collect();
    let by_chance: f64 = parts.iter().map(|(_, _, variance)| variance).sum();
    let large = || {
        parts
            .iter()
            .filter(|(_, mean, _)| *mean >= MIN_SHARED_FRACTION * rate)
    };
    let varies =
        |(_, mean, variance): &(usize, f64, f64)| variance.sqrt() >= MIN_SHARING_VARIATION * mean;
    // Requests that arrive as regularly are the pace of a client that spreads them over the devices.
    let arrivals = |step: usize| {
        sums[step]
            + devices
                .iter()
                .map(|(_, steps)| steps[step].growth[at])
                .sum::<f64>()
    };
    let (_, of_arrivals) = mean_and_variance(kept.iter().map(|step| arrivals(*step)));
    let is_paced = of_arrivals.sqrt() < MAX_REGULAR_RATIO * variance.sqrt();
    let is_shared = large().nth(1).is_some()
        && variance < MAX_SHARED_VARIANCE_RATIO * by_chance
        && large().all(varies)
        && !is_paced;
    is_shared.then(|| {
        (
            large().map(|(device, ..)| *device).collect(),
            unit,
            rate,
            variation,
        )
    })
}

/// The indices of the values that are nearest to the median.
fn nearest_median(values: &[f64], count: usize) -> Vec<usize> {
    let median = median(values.iter().copied()).unwrap_or_default();
    let mut nearest: Vec<usize> = (0..values.len()).collect();
    nearest.sort_by(|a, b| {
        (values[*a] - median)
            .abs()
            .total_cmp(&(values[*b] - median).abs())
    });
    nearest.truncate(count);
    nearest
}

fn mean_and_variance(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let count = values.clone().count() as f64;
    let mean = values.clone().sum::<f64>() / count;
    (
        mean,
        values.map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Completed;

    /// Returns, for each device, whether it shares a limit after these steps of 4 KiB reads at a queue of 8.
    fn sharing_after(steps: impl Iterator<Item = Vec<(u64, i64)>>) -> Vec<bool> {
        let mut limits = SharedLimits::default();
        let mut count = 0;
        let mut in_flight = [1000_u64; 8];
        for step in steps {
            limits.begin_step();
            count = step.len();
            for (device, (ios, growth)) in step.into_iter().enumerate() {
                let before = in_flight[device];
                in_flight[device] = before.saturating_add_signed(growth);
                let stats = Interval {
                    reads: Completed::example(1.0, ios, 8000.0 / ios as f64),
                    writes: Completed::example(1.0, 0, 0.0),
                    in_flight: Some(in_flight[device]),
                    in_flight_before: Some(before),
                    ..Interval::idle(crate::units::Span::from_nanos(1_000_000_000).unwrap())
                };
                limits.add(device, &stats);
            }
            limits.end_step(1.0);
        }
        (0..count)
            .map(|device| limits.of(device, |_| "sda").is_some())
            .collect()
    }

    /// A number up to a bound that looks random.
    fn varied(step: u64, device: u64, bound: u64) -> u64 {
        (step * 7919 + device * 104_729 + step * step * 31) % bound
    }

    /// Rates of two devices that vary, and what is left of 3,000 for a third.
    fn shared(step: u64) -> [u64; 3] {
        let (first, second) = (800 + varied(step, 1, 100), 1000 + varied(step, 2, 100));
        [first, second, 3000 - first - second]
    }

    #[test]
    fn a_steady_sum_of_varied_rates_is_a_shared_limit() {
        let found = |steps: u64| {
            sharing_after((0..steps).map(|step| shared(step).map(|ios| (ios, 0)).to_vec()))
        };
        assert_eq!(found(30), [true; 3]);
        assert_eq!(found(17), [false; 3]);
        let beside_another = sharing_after((0..30).map(|step| {
            let [first, second, third] = shared(step);
            [first, second, third, 500 + varied(step, 3, 200)]
                .map(|ios| (ios, 0))
                .to_vec()
        }));
        assert_eq!(beside_another, [true, true, true, false]);
    }

    #[test]
    fn rates_of_their_own_and_the_pace_of_a_client_are_none() {
        let own = sharing_after((0..60).map(|step| {
            (0..3)
                .map(|device| (1000 + varied(step, device, 20), 0))
                .collect()
        }));
        assert_eq!(own, [false; 3]);
        let caps =
            sharing_after((0..60).map(|step| vec![(1000 + step % 2, 0), (1500 - step % 2, 0)]));
        assert_eq!(caps, [false; 2]);
        // Exactly 3,000 requests come in each step, and a few more or fewer are done.
        let paced = sharing_after((0..60).map(|step| {
            let [first, second, third] = shared(step);
            let late = varied(step, 5, 9) as i64 - 4;
            vec![
                (first, 0),
                (second, 0),
                (third.saturating_add_signed(-late), late),
            ]
        }));
        assert_eq!(paced, [false; 3]);
    }
}
