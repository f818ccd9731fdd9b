//! A limit that several devices share, such as that of the instance for all of its volumes: the sum of their rates is even,
//! and each of them is not.

use std::collections::VecDeque;

use super::load::Load;
use super::thresholds::{
    MIN_CONFIRMATIONS, MIN_QUEUE, MIN_SHARE, SHARED_EVEN, SHARED_OWN, SHARED_PART, SHARED_RUN,
};
use crate::attribution::RateUnit;

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
}

/// What a disk shows in a step.
#[derive(Clone, Copy, Debug)]
struct Part {
    queue: f64,
    /// Requests and KiB per second.
    rates: [f64; 2],
}

impl Part {
    fn of(load: &Load) -> Self {
        Self {
            queue: load.queue,
            rates: [load.rate(), load.kib_rate()],
        }
    }
}

/// The latest steps of all whole disks, each by its index; cleared when devices change.
#[derive(Clone, Debug, Default)]
pub(super) struct SharedLimits {
    /// [`SHARED_RUN`] at most. A disk without data in a step is `None`.
    steps: VecDeque<Vec<Option<Part>>>,
    /// The steps in a row that show a limit.
    hits: usize,
}

/// The disks at a limit, and the limit without their names.
pub(super) struct Found {
    pub(super) members: Vec<usize>,
    pub(super) limit: SharedLimit,
}

impl SharedLimits {
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Takes a step with the load of each disk; `None` for a device that is no whole disk, or without data. Returns the limit
    /// that disks share, once three steps in a row show one.
    pub(super) fn observe(&mut self, loads: &[Option<Load>]) -> Option<Found> {
        if self.steps.len() == SHARED_RUN {
            self.steps.pop_front();
        }
        let mut parts = Vec::with_capacity(loads.len());
        for load in loads {
            parts.push(load.as_ref().map(Part::of));
        }
        self.steps.push_back(parts);
        let found = self.search();
        self.hits = if found.is_some() { self.hits + 1 } else { 0 };
        found.filter(|_| self.hits >= MIN_CONFIRMATIONS)
    }

    fn search(&self) -> Option<Found> {
        if self.steps.len() < SHARED_RUN {
            return None;
        }
        let mut disks: Vec<(usize, Vec<Part>)> = Vec::new();
        for index in 0..self.steps[0].len() {
            let parts = self.steps.iter().map_while(|step| *step.get(index)?);
            let steps: Vec<Part> = parts.collect();
            let waiting = steps.iter().filter(|part| part.queue >= MIN_QUEUE).count();
            // The median is the higher of two values in the middle.
            if steps.len() == SHARED_RUN && waiting >= SHARED_RUN - SHARED_RUN / 2 {
                disks.push((index, steps));
            }
        }
        if disks.len() < 2 {
            return None;
        }
        // Bytes first: where the sums of both are even, the limit on bytes is the narrower one.
        sharing(&disks, 1, RateUnit::Kib).or_else(|| sharing(&disks, 0, RateUnit::Requests))
    }
}

/// The limit on the rates at an index of [`Part::rates`] that these disks share; `None` if they share none.
fn sharing(disks: &[(usize, Vec<Part>)], at: usize, unit: RateUnit) -> Option<Found> {
    let mut sums = vec![0.0; SHARED_RUN];
    let mut variances = 0.0;
    for (_, steps) in disks {
        let own = rates(steps, at);
        for (sum, rate) in sums.iter_mut().zip(&own) {
            *sum += rate;
        }
        variances += mean_and_variance(&own).1;
    }
    let (rate, variance) = mean_and_variance(&sums);
    let variation = variance.sqrt() / rate;
    let is_even = variation < SHARED_EVEN && variance < MIN_SHARE * variances;
    if !is_even {
        return None;
    }
    let mut members = Vec::new();
    for (index, steps) in disks {
        let (mean, variance) = mean_and_variance(&rates(steps, at));
        if mean <= SHARED_PART * rate {
            continue;
        }
        if variance.sqrt() / mean <= SHARED_OWN {
            return None;
        }
        members.push(*index);
    }
    (members.len() > 1).then_some(Found {
        members,
        limit: SharedLimit {
            others: Vec::new(),
            unit,
            rate,
            variation,
        },
    })
}

fn rates(steps: &[Part], at: usize) -> Vec<f64> {
    steps.iter().map(|part| part.rates[at]).collect()
}

fn mean_and_variance(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, squares / (count - 1.0))
}
