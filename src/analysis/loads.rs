//! The loads of a device over any length of time in bounded memory.

use libm::log2;

use super::load::{IoDirection, LoadSample, RateUnit};

/// The most loads that are kept; beyond it, those alike and near in time are put together.
const MOST: usize = 2048;
/// LoadHistory are put together only within so many neighbours in time.
const NEIGHBOURS: usize = 32;
/// Rate and concurrency within this share are the same load.
const SAME: f64 = 0.15;

/// The loads of a device in the order of time. When there are too many, each pair of near ones of the same rate and
/// concurrency, or at least of the same concurrency, becomes one that remembers how much their rates differed.
#[derive(Clone, Debug, Default)]
pub struct LoadHistory {
    kept: Vec<LoadSample>,
    /// The last one, whose successor is not known yet, and whether its predecessor was like it.
    last: Option<LoadSample>,
}

impl LoadHistory {
    /// Takes the load of the next interval.
    pub fn push(&mut self, load: LoadSample) {
        let is_like = self.last.as_ref().is_some_and(|last| last.is_like(&load, SAME));
        if let Some(mut last) = self.last.replace(LoadSample { steady: is_like, ..load }) {
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
    pub fn finish(mut self) -> Vec<LoadSample> {
        self.interrupt();
        self.kept
    }

    fn keep(&mut self, load: LoadSample) {
        if self.kept.len() >= MOST {
            self.compact();
        }
        self.kept.push(load);
    }

    /// Makes room: pairs those most alike where that is enough.
    fn compact(&mut self) {
        const ENOUGH: usize = MOST / 4 * 3;
        for class in [same_rate_and_queue, same_queue, any] {
            self.kept = compacted(&self.kept, class);
            if self.kept.len() <= ENOUGH {
                return;
            }
        }
    }
}

/// What two loads have in common that are put together.
type Class = (i32, i32, bool);

/// Within half a power of two of the concurrency, an eighth of one of the rate, and as steady.
fn same_rate_and_queue(load: &LoadSample) -> Class {
    let eighths = (log2(load.rate(IoDirection::Both, RateUnit::Requests).max(1e-3)) * 8.0).round() as i32;
    let (halves, _, steady) = same_queue(load);
    (halves, eighths, steady)
}

/// Within half a power of two of the concurrency, and as steady.
fn same_queue(load: &LoadSample) -> Class {
    let halves = (log2(load.concurrency(IoDirection::Both).max(1e-3)) * 2.0).round() as i32;
    (halves, 0, load.steady)
}

fn any(_: &LoadSample) -> Class {
    (0, 0, false)
}

/// DeviceMatch of loads of a class within each run of neighbours put together.
fn compacted(loads: &[LoadSample], class: fn(&LoadSample) -> Class) -> Vec<LoadSample> {
    loads
        .chunks(NEIGHBOURS)
        .flat_map(|chunk| {
            let mut paired: Vec<LoadSample> = Vec::with_capacity(NEIGHBOURS);
            let mut single: Vec<LoadSample> = Vec::new();
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

#[cfg(test)]
mod tests {
    use super::super::load::IoTotals;
    use super::*;

    fn load(place: usize, ios: f64, ms: f64) -> LoadSample {
        let reads = IoTotals { ios, kib: ios * 4.0, ms };
        LoadSample { place: place as f64, seconds: 1.0, intervals: 1.0, reads, ..LoadSample::default() }
    }

    #[test]
    fn where_the_load_changed_it_is_not_steady() {
        let mut loads = LoadHistory::default();
        for (place, ios) in [100.0, 101.0, 70.0, 50.0, 50.0, 90.0].into_iter().enumerate() {
            loads.push(load(place, ios, 1000.0));
        }
        let steady: Vec<bool> = loads.finish().iter().map(|load| load.steady).collect();
        assert_eq!(steady, [true, true, false, true, true, false]);
    }

    #[test]
    fn rates_that_take_turns_at_one_concurrency_stay_apart() {
        let mut loads = LoadHistory::default();
        (0..20_000)
            .for_each(|place| loads.push(load(place, if place % 2 == 0 { 1000.0 } else { 300.0 }, 2000.0)));
        assert!(loads.finish().iter().all(|load| load.variation < 1e-9));
    }

    #[test]
    fn loads_of_which_no_two_are_alike_take_no_more_memory() {
        let mut loads = LoadHistory::default();
        for place in 0..20_000 {
            let factor = f64::from((place as u32).wrapping_mul(2_654_435_761)) + 1.0;
            loads.push(load(place, factor, factor * factor / 1e9));
        }
        assert!(loads.finish().len() <= MOST + 1);
    }

    #[test]
    fn any_number_of_intervals_takes_the_same_memory() {
        let mut loads = LoadHistory::default();
        for place in 0..100_000 {
            let factor = f64::from(1 << (place % 7));
            loads.push(load(place, 100.0 * factor, 100.0 * factor * factor));
        }
        let kept = loads.finish();
        assert!(kept.len() <= MOST + 1);
        assert_eq!(kept.iter().map(|load| load.intervals).sum::<f64>(), 100_000.0);
        // Levels were not mixed.
        assert!(kept.iter().all(|load| load.variation < 1e-9));
        assert!(kept.iter().all(|load| load.rate(IoDirection::Reads, RateUnit::Requests) >= 100.0));
    }
}
