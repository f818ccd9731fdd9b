//! The loads of a device between resets of its counters. After a reset, the name may belong to another device, so loads
//! are compared with each other only within such a lifetime.

use std::collections::VecDeque;

use super::baseline::{Baselines, SinceBoot};
use super::capacity::{CapacityByDirection, DIRECTIONS, VonNeumannRatio};
use super::caps::{SteadyRates, find_steady_rates_after};
use super::load::{LoadHistory, LoadSample};
use super::settings::Settings;

/// Lifetimes kept at most; bounds the memory for a device that is reset again and again.
const MAX_LIFETIMES: usize = 8;

/// The latest lifetimes of a device.
#[derive(Clone, Debug, Default)]
pub(super) struct Lifetimes {
    ended: VecDeque<Lifetime>,
    present: Lifetime,
}

#[derive(Clone, Debug, Default)]
struct Lifetime {
    /// `None` without a load.
    first_interval: Option<f64>,
    loads: LoadHistory,
    /// The loads before the range of time that is analyzed, which show what the device can do.
    preceding: LoadHistory,
    preceding_count: f64,
    learned: Baselines,
    since_boot: Option<SinceBoot>,
    /// The values given for the device; `None` if the values of the present device apply.
    given: Option<Settings>,
    sweeps: [VonNeumannRatio; 3],
}

impl Lifetimes {
    /// Adds the load of the next interval.
    pub(super) fn push(&mut self, load: LoadSample) {
        let present = &mut self.present;
        present.first_interval.get_or_insert(load.interval_index);
        present.learned.learn(&load, |_| false);
        for (sweep, direction) in present.sweeps.iter_mut().zip(DIRECTIONS) {
            sweep.observe(&load, direction);
        }
        present.loads.push(load);
    }

    /// Takes a load before those that are analyzed; `None` for an interval without one. Unloaded latencies are learned
    /// from it, and caps are searched for in it, too.
    pub(super) fn observe_preceding(&mut self, load: Option<LoadSample>) {
        let present = &mut self.present;
        match load {
            Some(load) => {
                present.learned.learn(&load, |_| false);
                present.preceding.push(LoadSample {
                    interval_index: present.preceding_count,
                    ..load
                });
            }
            None => present.preceding.interrupt(),
        }
        present.preceding_count += 1.0;
    }

    /// The latest loads of the present lifetime, `count` at most.
    pub(super) fn latest(&self, count: usize) -> Vec<LoadSample> {
        self.present.loads.latest(count)
    }

    /// Marks that the next load does not follow the latest.
    pub(super) fn interrupt(&mut self) {
        self.present.loads.interrupt();
    }

    /// Takes the counters of the device at the beginning of the lifetime. Later calls change nothing until it ends.
    pub(super) fn set_history(&mut self, since_boot: SinceBoot) {
        self.present.since_boot.get_or_insert(since_boot);
    }

    /// Ends the lifetime: the next load may be of another device.
    pub(super) fn end(&mut self) {
        let ended = std::mem::take(&mut self.present);
        if ended.first_interval.is_some() {
            self.ended.push_back(ended);
        }
        if self.ended.len() == MAX_LIFETIMES {
            self.ended.pop_front();
        }
    }

    /// Ends the lifetime, as [`Lifetimes::end`] does: the next load is of another device. `settings` are those of the
    /// device that had the name until now.
    pub(super) fn end_device(&mut self, settings: &Settings) {
        self.end();
        for ended in &mut self.ended {
            ended.given.get_or_insert_with(|| settings.clone());
        }
    }

    /// The lifetimes that ended, in the order of time, and the present one, with the settings of the present device.
    pub(super) fn finish(self, settings: &Settings) -> (Vec<FinishedLifetime>, FinishedLifetime) {
        let finish = |lifetime: Lifetime| {
            let loads = lifetime.loads.finish();
            let given = lifetime.given.as_ref().unwrap_or(settings);
            let preceding = (lifetime.preceding.finish().into_iter()).map(|load| LoadSample {
                interval_index: load.interval_index - lifetime.preceding_count,
                ..load
            });
            FinishedLifetime {
                steady_rates: find_steady_rates_after(
                    preceding.collect(),
                    &loads,
                    settings.cap,
                    &given.device,
                ),
                capacity: CapacityByDirection::measure(&loads, &lifetime.sweeps),
                loads,
                baselines: lifetime
                    .learned
                    .with_given(given, lifetime.since_boot.unwrap_or_default()),
            }
        };
        (
            self.ended.into_iter().map(finish).collect(),
            finish(self.present),
        )
    }
}

/// The loads of a lifetime, the baselines that they are compared with, and what they show.
pub(super) struct FinishedLifetime {
    pub(super) loads: Vec<LoadSample>,
    pub(super) baselines: Baselines,
    pub(super) steady_rates: SteadyRates,
    pub(super) capacity: CapacityByDirection,
}

impl FinishedLifetime {
    pub(super) fn seconds(&self) -> f64 {
        self.loads.iter().map(|load| load.seconds).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::saved_baselines::DeviceBaseline;
    use crate::analysis::stats::IoTotals;

    /// A load of one second at a light queue.
    fn load(index: usize, await_ms: f64) -> LoadSample {
        let ios = 100.0;
        let reads = IoTotals {
            ios,
            kib: ios * 4.0,
            ms: ios * await_ms,
        };
        LoadSample {
            interval_index: index as f64,
            seconds: 1.0,
            intervals: 1.0,
            reads,
            ..LoadSample::default()
        }
    }

    fn read_baselines(lifetimes: Lifetimes, settings: &Settings) -> Vec<Option<f64>> {
        let of = |lifetime: FinishedLifetime| lifetime.baselines.reads.unloaded_latency(4.0);
        let (ended, present) = lifetimes.finish(settings);
        ended
            .into_iter()
            .chain([present])
            .map(|lifetime| of(lifetime).map(|one| one.await_ms.round()))
            .collect()
    }

    #[test]
    fn a_load_is_compared_with_the_baseline_of_its_own_lifetime() {
        let mut lifetimes = Lifetimes::default();
        (0..20).for_each(|index| lifetimes.push(load(index, 1.0)));
        lifetimes.end();
        lifetimes.end();
        (20..40).for_each(|index| lifetimes.push(load(index, 5.0)));
        assert_eq!(
            read_baselines(lifetimes, &Settings::default()),
            [Some(1.0), Some(5.0)]
        );
    }

    #[test]
    fn a_given_baseline_is_that_of_its_device() {
        let settings = |ms| Settings {
            baseline: Some(DeviceBaseline::stated(Some(ms), None)),
            ..Settings::default()
        };
        let mut lifetimes = Lifetimes::default();
        lifetimes.push(load(0, 1.0));
        lifetimes.end();
        lifetimes.push(load(1, 1.0));
        lifetimes.end_device(&settings(2.0));
        lifetimes.push(load(2, 1.0));
        assert_eq!(
            read_baselines(lifetimes, &settings(3.0)),
            [Some(2.0), Some(2.0), Some(3.0)]
        );
    }

    #[test]
    fn a_device_that_is_reset_for_ever_takes_no_more_memory() {
        let mut lifetimes = Lifetimes::default();
        for index in 0..1000 {
            lifetimes.push(load(index, 1.0));
            lifetimes.end();
        }
        assert!(lifetimes.finish(&Settings::default()).0.len() < MAX_LIFETIMES);
    }
}
