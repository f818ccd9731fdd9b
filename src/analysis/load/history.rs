//! The loads of a device over any length of time in bounded memory.

use super::sample::{IoDirection, LoadSample, RateUnit};
use crate::analysis::thresholds::{MOST_FRACTION, SAME_LOAD_TOLERANCE};

/// Loads kept at most; beyond that, similar loads near in time are merged.
const MAX_LOADS: usize = 2048;
/// Loads kept after merging, at most.
const MAX_MERGED_LOADS: usize = MAX_LOADS / 4 * 3;
/// Loads are merged only within this many neighbors in time.
const MERGE_WINDOW: usize = 32;

/// The loads of a device in the order of time. When there are too many, pairs of near ones with the same rate and
/// queue, or at least the same queue, are merged; a merged load remembers how much their rates differed.
#[derive(Clone, Debug, Default)]
pub(crate) struct LoadHistory {
    kept: Vec<LoadSample>,
    /// The latest load; the load after it is not known yet.
    latest: Option<LoadSample>,
}

impl LoadHistory {
    /// Adds the load of the next interval.
    pub(crate) fn push(&mut self, load: LoadSample) {
        let is_steady = self
            .latest
            .as_ref()
            .is_some_and(|last| last.is_similar(&load, SAME_LOAD_TOLERANCE));
        if let Some(mut last) = self.latest.replace(LoadSample { is_steady, ..load }) {
            last.is_steady |= is_steady;
            self.keep(last);
        }
    }

    /// Marks that the next load does not follow the latest: after a reset, a gap or an interval without requests.
    pub(crate) fn interrupt(&mut self) {
        if let Some(last) = self.latest.take() {
            self.keep(last);
        }
    }

    /// The latest loads, `count` at most.
    pub(crate) fn latest(&self, count: usize) -> Vec<LoadSample> {
        let first = (self.kept.len() + 1).saturating_sub(count);
        self.kept
            .iter()
            .skip(first)
            .chain(&self.latest)
            .copied()
            .collect()
    }

    /// All loads, in the order of time.
    pub(crate) fn finish(mut self) -> Vec<LoadSample> {
        self.interrupt();
        self.kept
    }

    fn keep(&mut self, load: LoadSample) {
        if self.kept.len() >= MAX_LOADS {
            self.compact();
        }
        self.kept.push(load);
    }

    /// Merges pairs of loads, the most similar first, until enough memory is free.
    fn compact(&mut self) {
        for class in [rate_and_queue_class, queue_class, |_: &LoadSample| {
            LoadClass::default()
        }] {
            self.kept = merge_similar(&self.kept, class);
            if self.kept.len() <= MAX_MERGED_LOADS {
                break;
            }
        }
    }
}

/// The properties that merged loads share: half power of two of the queue, eighth power of two of the rate, steadiness.
type LoadClass = (i32, i32, bool);

fn rate_and_queue_class(load: &LoadSample) -> LoadClass {
    let rate = load.rate(IoDirection::Both, RateUnit::Requests);
    let (queue, _, is_steady) = queue_class(load);
    (
        queue,
        (rate.max(1e-3).log2() * 8.0).round() as i32,
        is_steady,
    )
}

fn queue_class(load: &LoadSample) -> LoadClass {
    (
        (load.queue(IoDirection::Both).max(1e-3).log2() * 2.0).round() as i32,
        0,
        load.is_steady,
    )
}

/// The loads in the order of time; within each window of neighbors, pairs of the same class are merged.
fn merge_similar(loads: &[LoadSample], class: fn(&LoadSample) -> LoadClass) -> Vec<LoadSample> {
    let mut merged = Vec::with_capacity(loads.len());
    loads
        .chunks(MERGE_WINDOW)
        .for_each(|window| merge_window(window, class, &mut merged));
    merged
}

/// Appends the loads of a window to `merged`; each pair of the same class is merged at the place of the earlier load.
fn merge_window(
    window: &[LoadSample],
    class: fn(&LoadSample) -> LoadClass,
    merged: &mut Vec<LoadSample>,
) {
    let mut single: Vec<(LoadClass, usize)> = Vec::with_capacity(MERGE_WINDOW);
    for load in window {
        let class = class(load);
        match single.iter().position(|(other, _)| *other == class) {
            Some(at) => {
                let (_, place) = single.swap_remove(at);
                merged[place] = merged[place].merge(load);
            }
            None => {
                single.push((class, merged.len()));
                merged.push(*load);
            }
        }
    }
}

/// The steady loads if they are at least [`MOST_FRACTION`] of all; otherwise all loads.
pub(crate) fn steady_or_all<'a>(loads: &[&'a LoadSample]) -> Vec<&'a LoadSample> {
    those_or_all(loads, |load| load.is_steady)
}

/// The steady items if they are at least [`MOST_FRACTION`] of all; otherwise all items.
pub(super) fn those_or_all<T: Copy>(all: &[T], is_steady: impl Fn(&T) -> bool) -> Vec<T> {
    let mut steady = Vec::with_capacity(all.len());
    steady.extend(all.iter().copied().filter(is_steady));
    let is_enough = steady.len() as f64 >= MOST_FRACTION * all.len() as f64;
    if is_enough { steady } else { all.to_vec() }
}

/// The number of intervals in which the load changed; 0 if fewer than [`MOST_FRACTION`] are steady, because then
/// none is left out.
pub(crate) fn count_transitions(loads: &[LoadSample]) -> u64 {
    let changing = loads
        .iter()
        .filter(|load| !load.is_steady)
        .map(|load| load.intervals)
        .sum::<f64>() as u64;
    let total = loads.iter().map(|load| load.intervals).sum::<f64>() as u64;
    if changing as f64 <= (1.0 - MOST_FRACTION) * total as f64 {
        changing
    } else {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::stats::IoTotals;

    fn load(index: usize, ios: f64, ms: f64) -> LoadSample {
        let reads = IoTotals {
            ios,
            kib: ios * 4.0,
            ms,
        };
        LoadSample {
            interval_index: index as f64,
            seconds: 1.0,
            intervals: 1.0,
            reads,
            ..LoadSample::default()
        }
    }

    #[test]
    fn an_interval_in_which_the_load_changed_is_not_steady() {
        let mut history = LoadHistory::default();
        for (index, ios) in [100.0, 101.0, 70.0, 50.0, 50.0, 90.0]
            .into_iter()
            .enumerate()
        {
            history.push(load(index, ios, 1000.0));
        }
        let steady: Vec<bool> = history.finish().iter().map(|load| load.is_steady).collect();
        assert_eq!(steady, [true, true, false, true, true, false]);
    }

    #[test]
    fn alternating_rates_at_one_queue_are_not_merged() {
        let mut history = LoadHistory::default();
        (0..20_000).for_each(|index| {
            history.push(load(
                index,
                if index % 2 == 0 { 1000.0 } else { 300.0 },
                2000.0,
            ))
        });
        assert!(history.finish().iter().all(|load| load.variation < 1e-9));
    }

    #[test]
    fn loads_that_are_all_different_take_no_more_memory() {
        let mut history = LoadHistory::default();
        for index in 0..20_000 {
            let factor = f64::from((index as u32).wrapping_mul(2_654_435_761)) + 1.0;
            history.push(load(index, factor, factor * factor / 1e9));
        }
        assert!(history.finish().len() <= MAX_LOADS + 1);
    }

    #[test]
    fn any_number_of_intervals_takes_the_same_memory() {
        let mut history = LoadHistory::default();
        for index in 0..100_000 {
            let factor = f64::from(1 << (index % 7));
            history.push(load(index, 100.0 * factor, 100.0 * factor * factor));
        }
        let kept = history.finish();
        assert!(kept.len() <= MAX_LOADS + 1);
        assert_eq!(
            kept.iter().map(|load| load.intervals).sum::<f64>(),
            100_000.0
        );
        // Levels were not mixed.
        assert!(kept.iter().all(|load| load.variation < 1e-9));
        assert!(
            kept.iter()
                .all(|load| load.rate(IoDirection::Reads, RateUnit::Requests) >= 100.0)
        );
    }
}
