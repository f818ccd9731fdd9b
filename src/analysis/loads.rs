//! The loads of a device over any length of time in bounded memory.

use libm::log2;

use super::load::{Load, Side};

/// The most loads that are kept; beyond it, those alike and near in time are put together.
const MOST: usize = 2048;
/// Loads are put together only within so many neighbours in time.
const NEIGHBOURS: usize = 32;
/// Rate and concurrency within this share are the same load.
const SAME: f64 = 0.15;

/// The loads of a device in the order of time. When there are too many, each pair of near ones of the same
/// concurrency (within half a power of two) becomes one that remembers how much their rates differed.
#[derive(Clone, Debug, Default)]
pub struct Loads {
    kept: Vec<Load>,
    /// The last one, whose successor is not known yet, and whether its predecessor was like it.
    last: Option<Load>,
}

impl Loads {
    /// Takes the load of the next interval.
    pub fn push(&mut self, load: Load) {
        let is_like = self.last.as_ref().is_some_and(|last| last.is_like(&load, SAME));
        if let Some(mut last) = self.last.replace(Load { steady: is_like, ..load }) {
            last.steady |= is_like;
            self.keep(last);
        }
    }

    /// The next load does not follow on the last one: a reset, a gap, an interval without requests.
    pub fn interrupt(&mut self) {
        if let Some(last) = self.last.take() {
            self.keep(last);
        }
    }

    /// All of them, in the order of time.
    pub fn finish(mut self) -> Vec<Load> {
        self.interrupt();
        self.kept
    }

    fn keep(&mut self, load: Load) {
        if self.kept.len() >= MOST {
            self.kept = compacted(&self.kept);
        }
        self.kept.push(load);
    }
}

/// Pairs of loads of the same concurrency and steadiness within each run of neighbours put together.
fn compacted(loads: &[Load]) -> Vec<Load> {
    loads
        .chunks(NEIGHBOURS)
        .flat_map(|chunk| {
            let mut paired: Vec<Load> = Vec::with_capacity(NEIGHBOURS);
            let mut single: Vec<Load> = Vec::new();
            for load in chunk {
                match single.iter().position(|other| class(other) == class(load)) {
                    Some(index) => paired.push(single.swap_remove(index).plus(load)),
                    None => single.push(*load),
                }
            }
            paired.append(&mut single);
            paired.sort_by(|a, b| a.place.total_cmp(&b.place));
            paired
        })
        .collect()
}

fn class(load: &Load) -> (i32, bool) {
    let halves = (log2(load.concurrency(Side::Both).max(1e-3)) * 2.0).round() as i32;
    (halves, load.steady)
}

#[cfg(test)]
mod tests {
    use super::super::load::{Measure, Work};
    use super::*;

    fn load(place: usize, ios: f64, ms: f64) -> Load {
        let reads = Work { ios, kib: ios * 4.0, ms };
        Load { place: place as f64, seconds: 1.0, intervals: 1.0, reads, ..Load::default() }
    }

    #[test]
    fn where_the_load_changed_it_is_not_steady() {
        let mut loads = Loads::default();
        for (place, ios) in [100.0, 101.0, 70.0, 50.0, 50.0, 90.0].into_iter().enumerate() {
            loads.push(load(place, ios, 1000.0));
        }
        let steady: Vec<bool> = loads.finish().iter().map(|load| load.steady).collect();
        assert_eq!(steady, [true, true, false, true, true, false]);
    }

    #[test]
    fn any_number_of_intervals_takes_the_same_memory() {
        let mut loads = Loads::default();
        for place in 0..100_000 {
            let factor = f64::from(1 << (place % 7));
            loads.push(load(place, 100.0 * factor, 100.0 * factor * factor));
        }
        let kept = loads.finish();
        assert!(kept.len() <= MOST + 1);
        assert_eq!(kept.iter().map(|load| load.intervals).sum::<f64>(), 100_000.0);
        // Levels were not mixed.
        assert!(kept.iter().all(|load| load.variation < 1e-9));
        assert!(kept.iter().all(|load| load.rate(Side::Reads, Measure::Requests) >= 100.0));
    }
}
